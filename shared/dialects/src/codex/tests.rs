//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::decoder;
use super::items::OPEN_ITEMS_MAX;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn items_that_never_complete_are_closed_when_there_are_too_many() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for item in 0..OPEN_ITEMS_MAX + 5 {
        let line = format!(
            "{{\"type\":\"item.started\",\"item\":{{\"id\":\"item_{item}\",\"type\":\"reasoning\",\"text\":\"x\"}}}}\n"
        );
        decoder.feed(line.as_bytes(), &mut out);
    }
    let ended = |out: &Decoded| {
        out.envelopes.iter().filter(|envelope| matches!(envelope.event.kind, Kind::PartEnd(_))).count()
    };
    assert_eq!(ended(&out), 5);
    decoder.end(&mut out);
    assert_eq!(ended(&out), OPEN_ITEMS_MAX + 5);
}
