//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::Kind;
use model::limits::{ITEMS_PER_RUN_MAX, LINE_BYTES_MAX};

fn decoded(pieces: impl Iterator<Item = String>) -> Decoded {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for piece in pieces {
        decoder.feed(piece.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    out
}

fn count(out: &Decoded, wanted: impl Fn(&Kind) -> bool) -> usize {
    out.envelopes.iter().filter(|envelope| wanted(&envelope.event.kind)).count()
}

fn anomalies(out: &Decoded, code: AnomalyCode) -> usize {
    count(out, |kind| matches!(kind, Kind::Anomaly(anomaly) if anomaly.code == code))
}

#[test]
fn nothing_at_all_gives_nothing() {
    assert_eq!(decoded(std::iter::empty()), Decoded::default());
    assert_eq!(decoded([": keep-alive\n\n".to_owned(), "\n".to_owned()].into_iter()), Decoded::default());
}

#[test]
fn an_event_over_the_limit_is_left_out_and_the_rest_survives() {
    let chunk = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let out = decoded([chunk("a"), chunk(&"x".repeat(LINE_BYTES_MAX)), chunk("b")].into_iter());
    assert_eq!(anomalies(&out, AnomalyCode::TooLarge), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartDelta { .. })), 2);
}

#[test]
fn only_a_message_in_words_is_a_failure() {
    let fails = |line: &str| {
        let out = decoded([format!("data: {line}\n\n")].into_iter());
        count(&out, |kind| matches!(kind, Kind::Error(_))) > 0
    };
    assert!(fails(r#"{"message":"the model is overloaded"}"#));
    // Of another dialect, which the advice beside it names.
    assert!(!fails(r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#));
}

#[test]
fn calls_over_the_limit_are_one_oddity() {
    let call = |n: usize| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{n},\"id\":\"c{n}\",\"function\":{{\"name\":\"f\"}}}}]}}}}]}}\n\n"
        )
    };
    let out = decoded((0..ITEMS_PER_RUN_MAX + 10).map(call).chain(["data: [DONE]\n\n".to_owned()]));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolStart(_))), ITEMS_PER_RUN_MAX);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolCall { .. })), ITEMS_PER_RUN_MAX);
    assert_eq!(anomalies(&out, AnomalyCode::TooMany), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunEnd(_))), 1);
}
