//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::blocks::OPEN_BLOCKS_MAX;
use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
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

#[test]
fn events_of_an_sdks_helper_are_counted_and_not_kept() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    let mut feed = |line: &str| decoder.feed(format!("{line}\n").as_bytes(), &mut out);
    feed(r#"{"type":"message_start","message":{"id":"m","model":"c","content":[]}}"#);
    feed(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#);
    let mut said = String::new();
    for n in 0..200 {
        let word = format!("word{n} ");
        said.push_str(&word);
        feed(&format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{word}"}}}}"#
        ));
        feed(&format!(r#"{{"type":"text","text":"{word}","snapshot":"{said}"}}"#));
    }
    feed(r#"{"type":"content_block_stop","index":0,"content_block":{"type":"text"}}"#);
    feed(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#);
    feed(r#"{"type":"message_stop"}"#);
    decoder.end(&mut out);
    let kinds = || out.envelopes.iter().map(|envelope| &envelope.event.kind);
    assert_eq!(kinds().filter(|kind| matches!(kind, Kind::Raw { .. })).count(), 0);
    let told: Vec<&str> = kinds()
        .filter_map(|kind| match kind {
            Kind::Anomaly(anomaly) if anomaly.code == AnomalyCode::Repeated => Some(anomaly.detail.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["200 events of an SDK's helper, which repeat what the stream says"]);
    let words: usize = kinds().filter(|kind| matches!(kind, Kind::PartDelta { .. })).count();
    assert_eq!(words, 200, "the words themselves are there");
}
