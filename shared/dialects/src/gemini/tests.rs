//! Bounds and errors of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::wire::failure;
use super::{CANDIDATES_MAX, decoder};
use crate::field::ForeignField;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;

#[test]
fn a_stream_has_no_more_candidates_than_the_limit() {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for index in 0..CANDIDATES_MAX + 5 {
        let piece = format!(
            "{{\"candidates\":[{{\"index\":{index},\"content\":{{\"parts\":[{{\"text\":\"x\"}}]}}}}]}}"
        );
        decoder.feed(piece.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    let parts = out.envelopes.iter().filter(|e| matches!(e.event.kind, Kind::PartStart { .. }));
    assert_eq!(parts.count(), CANDIDATES_MAX);
}

#[test]
fn the_vendors_errors_name_their_status_and_the_wait() {
    let text = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}"#;
    let fact = failure(ForeignField::parse(text).unwrap());
    assert_eq!((fact.code.as_str(), fact.message.as_str()), ("RESOURCE_EXHAUSTED", "quota"));
    assert_eq!((fact.retryable, fact.retry_after_ms), (Some(true), Some(34_070)));
    let odd =
        failure(ForeignField::parse(r#"{"error":{"code":500,"details":[{"retryDelay":"s"}]}}"#).unwrap());
    assert_eq!((odd.code.as_str(), odd.retry_after_ms), ("500", None));
}
