//! The laws of events, for each recording.

use crate::lawful::assert_lawful;
use crate::recordings::recorded;

#[test]
fn every_recording_gives_lawful_events() {
    for stream in recorded().into_iter().filter(|stream| stream.dialect != "fanlight") {
        let what = stream.path.display().to_string();
        assert_lawful(&stream.decoded(), stream.options().run_goes_on, &what);
    }
}
