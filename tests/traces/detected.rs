//! No recording is taken for one of another dialect by its beginning.

use shared::dialect::detect;

use crate::streams::recorded;

#[test]
fn no_recording_is_taken_for_one_of_another_dialect() {
    for stream in recorded() {
        // The legacy completions API has the frame of chat completions.
        let dialect = stream.dialect.replace("openai-completions", "openai-chat");
        let found = detect(&stream.bytes);
        assert!(found.is_none_or(|found| found == dialect), "{}: {found:?}", stream.path.display());
    }
}
