//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::{OPEN_STEPS_MAX, decoder};
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn steps_that_never_stop_are_stopped_when_there_are_too_many() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for index in 0..OPEN_STEPS_MAX + 5 {
        let events = format!(
            "data: {{\"event_type\":\"step.start\",\"index\":{index},\"step\":{{\"type\":\"model_output\"}}}}\n\n\
             data: {{\"event_type\":\"step.delta\",\"index\":{index},\"delta\":{{\"type\":\"text\",\"text\":\"x\"}}}}\n\n"
        );
        decoder.feed(events.as_bytes(), &mut out);
    }
    let ended = |out: &Decoded| {
        out.envelopes.iter().filter(|envelope| matches!(envelope.event.kind, Kind::PartEnd(_))).count()
    };
    assert_eq!(ended(&out), 5);
    decoder.end(&mut out);
    assert_eq!(ended(&out), OPEN_STEPS_MAX + 5);
}
