//! The upgrade request: what it must contain, and the answer to its key.

use axum::http::{HeaderMap, HeaderName, header};
use model::frame::SUBPROTOCOL;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::inbound::problem::Problem;

/// The answer to the key of an upgrade request (RFC 6455, 4.2). Fails with `bad_request` and what is missing:
/// the upgrade, version 13, the subprotocol, or the key.
pub(super) fn key(headers: &HeaderMap) -> Result<String, Problem> {
    if !lists(headers, &header::CONNECTION, "upgrade") || !lists(headers, &header::UPGRADE, "websocket") {
        return Err(Problem::bad_request("this is a WebSocket: connect with an upgrade"));
    }
    if !lists(headers, &header::SEC_WEBSOCKET_VERSION, "13") {
        return Err(Problem::bad_request("the version of the WebSocket must be 13"));
    }
    if !lists(headers, &header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        return Err(Problem::bad_request(format!("the subprotocol must be {SUBPROTOCOL}")));
    }
    // The key is 16 bytes in base64.
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let key = key.ok_or_else(|| Problem::bad_request("the key of the WebSocket is missing"))?;
    Ok(derive_accept_key(key.as_bytes()))
}

/// Whether a comma-separated header contains `word`.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}
