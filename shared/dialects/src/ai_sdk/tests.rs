//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn texts_that_never_end_are_ended_when_there_are_too_many() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for number in 0..300 {
        let start = format!("data: {{\"type\":\"text-start\",\"id\":\"{number}\"}}\n\n");
        let delta = format!("data: {{\"type\":\"text-delta\",\"id\":\"{number}\",\"delta\":\"x\"}}\n\n");
        decoder.feed(start.as_bytes(), &mut out);
        decoder.feed(delta.as_bytes(), &mut out);
    }
    let ended = out.envelopes.iter().filter(|envelope| matches!(envelope.event.kind, Kind::PartEnd(_)));
    assert_eq!(ended.count(), 300 - 256);
}
