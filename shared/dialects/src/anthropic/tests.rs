//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::blocks::OPEN_BLOCKS_MAX;
use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn blocks_that_never_stop_are_stopped_when_there_are_too_many() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for index in 0..OPEN_BLOCKS_MAX + 5 {
        let start = format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"text\",\"text\":\"x\"}}}}\n\n"
        );
        decoder.feed(start.as_bytes(), &mut out);
    }
    let ended = |out: &Decoded| {
        out.envelopes.iter().filter(|envelope| matches!(envelope.event.kind, Kind::PartEnd(_))).count()
    };
    assert_eq!(ended(&out), 5);
    decoder.end(&mut out);
    assert_eq!(ended(&out), OPEN_BLOCKS_MAX + 5);
}
