//! What a native stream gives beside its events. Whole streams are fixtures of the package `tests`.

use super::NativeDecoder;
use crate::{Decode as _, DecodeOptions, Decoded};
use model::event::Kind;
use model::ids::RunId;
use model::limits::LINE_BYTES_MAX;

fn decoded(stream: &str) -> Decoded {
    let options = DecodeOptions { run: RunId::new("given"), ..DecodeOptions::default() };
    let (mut decoder, mut out) = (NativeDecoder::new(options), Decoded::default());
    decoder.feed(stream.as_bytes(), &mut out);
    decoder.end(&mut out);
    out
}

/// The run and the kind of each event, as their JSON has them.
fn told(out: &Decoded) -> Vec<String> {
    let name = |kind: &Kind| match kind {
        Kind::Anomaly(anomaly) => format!("{:?} {}", anomaly.code, anomaly.detail),
        other => {
            let json = serde_json::to_value(other).unwrap();
            json["k"].as_str().unwrap().to_owned()
        }
    };
    out.envelopes.iter().map(|e| format!("{}: {}", e.event.run, name(&e.event.kind))).collect()
}

#[test]
fn events_without_a_run_get_the_one_that_was_given_but_for_those_of_the_conversation() {
    let out = decoded(
        "{\"k\":\"status\",\"text\":\"x\"}\n{\"k\":\"message\",\"message\":\"m\",\"text\":\"y\"}\n{\"k\":\"error\",\"run\":\"own\"}",
    );
    assert_eq!(told(&out), ["given: status", ": message", "own: error"]);
}

#[test]
fn a_line_over_the_limit_is_named_and_left_out() {
    let long = format!("{{\"k\":\"status\",\"text\":\"{}\"}}", "x".repeat(LINE_BYTES_MAX));
    let out =
        decoded(&format!("{{\"k\":\"status\",\"text\":\"a\"}}\n{long}\n{{\"k\":\"status\",\"text\":\"b\"}}"));
    let too_large = format!(": TooLarge line 2: {} bytes in one event", long.len());
    assert_eq!(told(&out), ["given: status", too_large.as_str(), "given: status"]);
}

#[test]
fn a_run_that_was_not_ended_stays_open() {
    assert_eq!(told(&decoded("{\"k\":\"run.start\",\"run\":\"r\"}\n")), ["r: run.start"]);
    assert_eq!(decoded("\n\n"), Decoded::default());
}
