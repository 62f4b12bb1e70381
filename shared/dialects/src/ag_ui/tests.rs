//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn messages_that_never_end_are_ended_when_there_are_too_many() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    decoder.feed(b"data: {\"type\":\"RUN_STARTED\"}\n\n", &mut out);
    for number in 0..300 {
        let event =
            format!("{{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m{number}\",\"delta\":\"x\"}}");
        decoder.feed(format!("data: {event}\n\n").as_bytes(), &mut out);
    }
    let ended = out.envelopes.iter().filter(|envelope| matches!(envelope.event.kind, Kind::PartEnd(_)));
    assert_eq!(ended.count(), 300 - 256);
}
