//! What one address and one principal may do over HTTP, so that nobody takes what others need: connections,
//! requests, what is published, bytes, logins that fail. Who does more is answered with 429 and `Retry-After`. The
//! numbers are those of `[access.limits]`; without access control nothing is counted.

use std::net::IpAddr;

use access::{Denial, Need, Principal, QuotaHolder, RatedAct, Right, Shows};
use axum::body::{Body, HttpBody as _};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, header};
use axum::response::Response;
use compact_str::CompactString;
use model::format::counted as counted_with_noun;

use super::counted::{OverQuotaBody, counted};
use crate::access::Gate;
use crate::access::{Counted, CountedFor, Seat};
use crate::http::hubs::known::FromHub;
use crate::inbound::caller::{Peer, TOKEN};
use crate::inbound::problem::Problem;

/// The address for which something is counted. Behind a named proxy it is the last that the proxy has added
/// to `X-Forwarded-For`. `None` behind a proxy that says none: everybody would pay for one.
pub(crate) fn address(gate: &Gate, headers: &HeaderMap, extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<Peer>().copied().unwrap_or_default().address;
    if !gate.is_proxy(peer) {
        return Some(peer);
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    forwarded.rsplit(',').next()?.trim().parse().ok()
}

/// What is counted, if so many logins from the sender's address failed within a minute that no more are looked at now.
pub(super) fn barred<'a>(gate: &'a Gate, parts: &Parts) -> Option<&'a Counted> {
    let counted = gate.counted()?;
    let from = address(gate, &parts.headers, &parts.extensions)?;
    counted.is_barred(from).then_some(counted)
}

/// Fails with `too_many` if so many logins from that address failed within a minute that its credentials are
/// not looked at now. Only requests that show or send a credential are tries.
pub(super) fn may_try(gate: &Gate, parts: &Parts) -> Result<(), Problem> {
    let shows = [header::AUTHORIZATION, TOKEN].iter().any(|name| parts.headers.contains_key(name));
    let path = parts.uri.path();
    let logs_in = matches!(path, "/login" | "/login/callback" | "/v1/ws") && parts.method != "HEAD";
    let is_try =
        shows || path.starts_with("/s/") || (logs_in && (parts.method == "POST" || path != "/login"));
    let Some(counted) = is_try.then(|| barred(gate, parts)).flatten() else { return Ok(()) };
    let detail = format!(
        "{} logins from this address have failed within a minute; another one may be tried in a moment",
        counted.quotas.failed_logins_per_minute
    );
    Err(Problem::busy(detail))
}

/// Whether the sender's address may begin a login at a provider of identities now; it is counted.
pub(super) fn may_begin_login(gate: &Gate, parts: &Parts) -> bool {
    let counted = gate.counted();
    let from = address(gate, &parts.headers, &parts.extensions);
    counted.zip(from).is_none_or(|(counted, from)| counted.may_begin_login(from))
}

/// Counts a login that failed. A request without any credential is none.
pub(super) fn failed(gate: &Gate, parts: &Parts, denial: Denial) {
    let is_try = denial.is_about_credentials() && denial != Denial::Missing;
    let from = is_try.then(|| address(gate, &parts.headers, &parts.extensions)).flatten();
    if let (Some(counted), Some(from)) = (gate.counted(), from) {
        counted.failed(from);
    }
}

/// A place for a request of `principal`, which lasts until it is answered. Fails with `too_many` if the
/// principal has as many as it may, or publishes too fast. `None` if nothing is counted.
fn seat(
    gate: &Gate,
    need: Need,
    parts: &Parts,
    principal: &Principal,
) -> Result<Option<Seat<CompactString>>, Problem> {
    // What another hub passes on was counted there.
    let is_passed_on = parts.extensions.get::<FromHub>().is_some();
    let Some(counted) = gate.counted().filter(|_| !is_passed_on) else { return Ok(None) };
    let publishes = matches!(need, Need::OnNamed(rights) if rights.contains(&Right::Publish));
    if publishes && !counted.may_publish(principal.name()) {
        return Err(Problem::busy(too_fast(counted)));
    }
    let seat = counted.request(principal.name());
    let max = counted.quotas.requests_per_principal;
    let open = counted_with_noun(usize::try_from(max).unwrap_or(usize::MAX), "request");
    seat.map(Some).ok_or_else(|| Problem::busy(format!("this principal already has {open} open")))
}

/// A place for a request, and its body, which is counted as it comes; `principal` is `None` for who is not admitted and has none. Fails with `too_many` as
/// [`seat`] does, and if the principal or its address owes bytes: of what they sent, for a request with a body, commands aside, since who stops something
/// must get through; or of what they were sent, for one that wants to see something. So too where the request counts as an `act` of which there were too
/// many within a minute.
pub(super) fn let_through(
    gate: &Gate,
    (need, shows, act): (Need, Shows, Option<RatedAct>),
    (parts, body): (&Parts, Body),
    principal: Option<&Principal>,
) -> Result<(Option<Seat<CompactString>>, Body), Problem> {
    let seat = principal.map(|principal| seat(gate, need, parts, principal)).transpose()?.flatten();
    let Some((counts, whose)) = counted_for(gate, (&parts.headers, &parts.extensions), principal) else {
        return Ok((seat, body));
    };
    let is_command = matches!(need, Need::OnNamed([Right::Control]));
    let brings = !body.is_end_stream() && !is_command;
    let wants = matches!(parts.method, Method::GET | Method::HEAD) && shows != Shows::Nothing;
    let quotas = counts.quotas;
    let received = [quotas.received_mib_per_minute, quotas.received_mib_per_minute_per_address];
    let sent = [quotas.sent_mib_per_minute, quotas.sent_mib_per_minute_per_address];
    for (is_it, traffic, (did, instead), mib) in [
        (brings, &counts.received, ("sent", "send less"), received),
        (wants, &counts.sent, ("fetched", "ask for less"), sent),
    ] {
        if let Some((owed, holder)) = is_it.then(|| traffic.owes(&whose)).flatten() {
            let [of_principal, of_address] = mib;
            let (who, mib) = match holder {
                QuotaHolder::Principal => ("principal", of_principal),
                QuotaHolder::Address => ("address", of_address),
            };
            let detail =
                format!("this {who} has {did} more than {mib} MiB within a minute: wait, or {instead}");
            return Err(Problem::busy_for(owed, detail));
        }
    }
    act.map_or(Ok(()), |act| counts.act(act).take(&whose))
        .map_err(|(wait, detail)| Problem::busy_for(wait, detail))?;
    Ok((seat, counted(body, &counts.received, whose, OverQuotaBody::Waits)))
}

/// The counts, and for whom the bytes of a request and its answer are counted; `None` where none are: without access control, and for what another hub passes
/// on, which was counted there.
pub(super) fn counted_for<'a>(
    gate: &'a Gate,
    (headers, extensions): (&HeaderMap, &Extensions),
    principal: Option<&Principal>,
) -> Option<(&'a Counted, CountedFor)> {
    let counts = gate.counted().filter(|_| extensions.get::<FromHub>().is_none())?;
    let whose = CountedFor::new(principal.map(Principal::name), address(gate, headers, extensions));
    Some((counts, whose))
}

/// An answer whose body is counted as it goes out, where it is.
pub(super) fn sent(counts: Option<(&Counted, CountedFor)>, response: Response) -> Response {
    match counts {
        Some((counts, whose)) => {
            response.map(|body| counted(body, &counts.sent, whose, OverQuotaBody::GoesOn))
        }
        None => response,
    }
}

/// What somebody hears who publishes too fast, over HTTP or a socket.
pub(crate) fn too_fast(counted: &Counted) -> String {
    let (max, noun) = match counted.quotas.publishes_per_second {
        1 => (1, "frame or request"),
        max => (max, "frames or requests"),
    };
    format!(
        "this principal publishes more than {max} {noun} a second: wait, or put more events into each of them"
    )
}
