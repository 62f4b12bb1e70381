//! What the audit log notes of requests.

use access::audit::{Audited, AuditedAction};
use access::{Need, Principal, Shows, routes};
use axum::extract::MatchedPath;
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::access::Gate;
use crate::inbound::caller::Peer;

/// What is noted of a request that `who` may make, once it is answered; `None` where nothing is.
pub(super) fn of_request(
    gate: &Gate,
    (need, shows): (Need, Shows),
    parts: &Parts,
    (who, conversation): (&Principal, Option<&str>),
) -> Option<Audited> {
    let is_view = || gate.notes_views() && routes::is_view(need, shows);
    let deed = routes::deed(need, parts.method.as_str());
    let deed = deed.or_else(|| is_view().then_some(AuditedAction::View))?;
    Some(about(parts, deed, Some(who), conversation))
}

/// Notes a request that was answered with `status`. Where nothing was shown nothing was viewed. Waits for the disk.
pub(super) fn note(gate: &Gate, told: Audited, status: StatusCode) {
    if status.is_success() {
        gate.audit(told);
    } else if told.deed != AuditedAction::View {
        gate.audit(told.failed(status.as_str()));
    }
}

/// What the audit log says of a request: who, from where, which route.
pub(super) fn about(
    parts: &Parts,
    deed: AuditedAction,
    who: Option<&Principal>,
    conversation: Option<&str>,
) -> Audited {
    let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
    let path = parts.extensions.get::<MatchedPath>().map_or("a file of the page", MatchedPath::as_str);
    let told = Audited::new(deed, who.map_or("", Principal::name)).at(&peer.address.to_string());
    let told = told.with(format!("{} {path}", parts.method));
    match conversation {
        None => told,
        Some(conversation) => told.about(conversation),
    }
}
