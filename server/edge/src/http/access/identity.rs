//! What a trusted proxy says of the sender of a request, in headers. From anybody else these headers are refused, not passed over: who
//! sends them tries something, or reaches the hub past its proxy.

use access::Denial;
use axum::http::HeaderMap;
use axum::http::HeaderName;
use axum::http::request::Parts;
use serde_json::{Map, Value};

use crate::access::Gate;
use crate::access::{GROUPS_CLAIM, USER_CLAIM};
use crate::inbound::caller::Peer;

/// Most groups of one user that are looked at; the others are ignored.
const GROUPS_MAX: usize = 500;

/// Takes the headers out of the request, so that nobody behind the hub sees them, and returns what they say
/// as the claims `user` and `groups`; `None` if the settings name no proxy, or if the request has no such
/// header. Fails with `ForgedIdentity` if they come from an address that is not a proxy's, come twice, or
/// name groups without a user.
pub(super) fn take(gate: &Gate, parts: &mut Parts) -> Result<Option<Map<String, Value>>, Denial> {
    let Some(trusted) = gate.trusted() else { return Ok(None) };
    let user = only(&mut parts.headers, &trusted.user)?;
    let groups =
        trusted.groups.as_ref().map(|groups| only(&mut parts.headers, groups)).transpose()?.flatten();
    if user.is_none() && groups.is_none() {
        return Ok(None);
    }
    let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
    // A comma is how two headers are joined to one.
    let user = user.filter(|user| trusted.is_from(peer.address) && !user.contains(','));
    let user = user.ok_or(Denial::ForgedIdentity)?;
    let groups = groups.unwrap_or_default();
    let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty()).take(GROUPS_MAX);
    let claims = [(USER_CLAIM, Value::from(user.trim())), (GROUPS_CLAIM, groups.map(Value::from).collect())];
    Ok(Some(claims.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

/// Removes a header; its only value. Several values are refused: one of them is somebody else's.
fn only(headers: &mut HeaderMap, name: &HeaderName) -> Result<Option<String>, Denial> {
    let is_repeated = headers.get_all(name).iter().nth(1).is_some();
    let Some(value) = headers.remove(name) else { return Ok(None) };
    let text = value.to_str().ok().filter(|_| !is_repeated);
    text.map(|text| Some(text.to_owned())).ok_or(Denial::ForgedIdentity)
}
