//! Bounds of the decoder. What transcripts mean is tested on fixtures, in the package `tests`.

use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn a_line_of_several_megabytes_is_one_result() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    let text = "x".repeat(3 << 20);
    let call = r#"{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]}}"#;
    let result = format!(
        "{call}\n{{\"type\":\"user\",\"uuid\":\"b\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"{text}\"}}]}}}}\n"
    );
    for piece in result.as_bytes().chunks(100_000) {
        decoder.feed(piece, &mut out);
    }
    let results = out.envelopes.iter().filter_map(|envelope| match &envelope.event.kind {
        Kind::ToolResult(result) => Some(result.output.as_str().len()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [text.len() + 2]);
}
