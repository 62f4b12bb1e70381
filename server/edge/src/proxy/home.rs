//! Chooses the hub that records a call, where several share the log. What follows from earlier calls of its caller only that hub
//! knows, so all calls with the same keys that name no conversation go to one hub.

use axum::http::request::Parts;
use exchange::continuation::Caller;
use model::ConversationId;

use super::call::CONVERSATION;
use super::calls::Proxy;
use super::headers::{IN_QUERIES, keys};
use super::socket;
use super::target::{self, Target};
use crate::inbound::caller::TOKEN;
use crate::sharing::stand_in;

/// The conversation of a call, or the one that stands for its caller; `None` for a call that is not recorded, or
/// that will be refused.
pub(crate) fn home(proxy: &Proxy, parts: &Parts) -> Option<ConversationId> {
    let target = Target::parse(parts.uri.path_and_query()?.as_str()).ok()?;
    let named = parts.headers.get(CONVERSATION).map(|named| named.to_str().ok().map(target::conversation));
    match named {
        Some(Some(Ok(named))) => return Some(named),
        Some(_) => return None,
        None => {}
    }
    if target.conversation.is_some() {
        return target.conversation;
    }
    let upstream = proxy.upstreams().find(|upstream| upstream.name() == target.upstream)?;
    let (path, query) = target.rest.split_once('?').unwrap_or((target.rest, ""));
    let api = if socket::wants_socket(&parts.headers) { target::api_of_socket } else { target::api };
    api(upstream.api(), &parts.method, path)?;
    Some(stand_in("calls", print(parts, query)))
}

/// Distinguishes callers by the keys that they send, or by their tokens if they have no keys.
fn print(parts: &Parts, query: &str) -> u64 {
    let mut caller = Caller::new("proxy");
    let mut own = keys(&parts.headers);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    for (_, key) in pairs.filter(|(name, _)| IN_QUERIES.contains(name)) {
        own.extend_from_slice(key.as_bytes());
    }
    if own.is_empty() {
        own.extend(parts.headers.get(TOKEN).map(|token| token.as_bytes().to_vec()).unwrap_or_default());
    }
    caller.mark("keys", &own);
    caller.print()
}
