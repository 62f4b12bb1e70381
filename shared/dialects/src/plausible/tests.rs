//! Streams that are not what they are said to be.

use super::*;
use crate::{DecodeOptions, decoder};

fn anomalies(dialect: &str, bytes: &[u8]) -> Vec<Anomaly> {
    let mut decoder = decoder(dialect, DecodeOptions::default()).unwrap();
    let mut out = Decoded::default();
    decoder.feed(bytes, &mut out);
    decoder.end(&mut out);
    let found = out.envelopes.into_iter().filter_map(|envelope| match envelope.event.kind {
        Kind::Anomaly(anomaly) => Some(anomaly),
        _ => None,
    });
    found.filter(|anomaly| anomaly.code == AnomalyCode::WrongDialect).collect()
}

#[test]
fn wrong_bytes_are_named() {
    let cases: [(&[u8], &str); 4] = [
        (b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>", "an HTML page"),
        (b"<html>\n<head><title>504</title></head></html>", "an HTML page"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xcb", "compressed with gzip"),
        (
            b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
            "looks like anthropic",
        ),
    ];
    for (bytes, expected) in cases {
        let found = anomalies("openai-chat", bytes);
        assert!(found.len() == 1 && found[0].detail.contains(expected), "{found:?}");
    }
}

#[test]
fn a_stream_of_its_own_dialect_is_not_doubted() {
    let answer =
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<html>\"}}]}\n\ndata: [DONE]\n\n";
    assert!(anomalies("openai-chat", answer).is_empty());
    // Nothing came; nothing is wrong with it.
    assert!(anomalies("openai-chat", b"").is_empty());
    // Broken, but by its looks what it is said to be.
    assert!(anomalies("openai-chat", b"data: {\"choices\":[{\"ind").is_empty());
}
