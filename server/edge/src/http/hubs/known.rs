//! Who is another hub of the same log: whoever shows the token that they have in common. Such a request says for whom it is made, and is
//! never passed on again.
//!
//! ```text
//! Fanlight-On-Behalf: %7B%22name%22%3A%22ann%22%2C%22grants%22%3A%5B…%5D%7D     (JSON, percent-encoded)
//! Fanlight-For: the%20conversation                                               (whose owner is asked)
//! Authorization: Bearer TOKEN-OF-THE-HUBS
//! ```
//!
//! At a door and at the proxy that token is in `Fanlight-Token`, and `Authorization` is that of whoever asked the first hub.

use std::sync::Arc;

use access::{Grant, Principal, Secret, SecretKind};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use model::ConversationId;
use model::code::ErrorCode;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::access::Gate;
use crate::inbound::caller::PassedToken;
use crate::inbound::problem::Problem;
use crate::peers::Ownership;

/// The header that says for whom another hub asks.
pub(super) const ON_BEHALF: HeaderName = HeaderName::from_static("fanlight-on-behalf");

/// The header with the token of the hubs.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("fanlight-token");

/// The header that names the conversation for which another hub asks, percent-encoded.
pub(super) const FOR: HeaderName = HeaderName::from_static("fanlight-for");

/// The header of a request whose caller goes on in that conversation, as the first hub has decided.
pub(super) const CONTINUES: HeaderName = HeaderName::from_static("fanlight-continues");

/// The `Origin` of a request that another hub has passed on.
pub(crate) const ORIGIN: HeaderName = HeaderName::from_static("fanlight-origin");

/// For which conversation another hub asks. [`recognise`] puts it into the request as an extension; nobody else
/// can.
#[derive(Debug, Clone)]
pub(super) struct PassedFor {
    /// The conversation: this hub has it, or refuses the request.
    pub(super) conversation: ConversationId,
    /// Whether the caller goes on in it, so that nothing is to be decided here.
    pub(super) is_decided: bool,
}

/// The request is made by another hub of the log, for this principal if one is named. [`recognise`] puts it
/// into the request as an extension; nobody else can.
#[derive(Debug, Clone)]
pub(crate) struct FromHub(pub(crate) Option<Arc<Principal>>);

/// A principal, as one hub tells it to another: the JSON of the header. The grants are believed as they are,
/// since only who has the token of the hubs can send them.
#[derive(Debug, Serialize, Deserialize)]
struct OnBehalf {
    name: CompactString,
    grants: Vec<Grant>,
    /// The name of the role, which the receiving hub must have too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<CompactString>,
    /// The token of the principal, for a call through the proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<PassedToken>,
}

/// The value of the header for requests of `principal` with `token`. `None` only if it cannot be written as a header.
pub(super) fn on_behalf(principal: &Principal, token: Option<PassedToken>) -> Option<HeaderValue> {
    let told = OnBehalf {
        name: principal.name().into(),
        grants: principal.grants().to_vec(),
        role: principal.role().map(CompactString::from),
        token,
    };
    let json = serde_json::to_string(&told).ok()?;
    HeaderValue::from_str(&utf8_percent_encode(&json, NON_ALPHANUMERIC).to_string()).ok()
}

/// Reads the header. Fails, with the reason, if it is no such JSON or names a role that this hub does not
/// have.
fn told(value: &HeaderValue, gate: &Gate) -> Result<(Principal, Option<PassedToken>), String> {
    let text = value.to_str().map_err(|error| error.to_string())?;
    let json = percent_decode_str(text).decode_utf8().map_err(|error| error.to_string())?;
    let told: OnBehalf = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    let mask = gate.role(told.role.as_deref()).map_err(|denial| denial.to_string())?;
    Ok((Principal::new(&told.name, told.grants, mask), told.token))
}

/// For which conversation another hub asks; takes the headers that say it. `None` without them.
fn asked_for(headers: &mut HeaderMap) -> Option<PassedFor> {
    let is_decided = headers.remove(CONTINUES).is_some();
    let named = headers.remove(FOR)?;
    let named = percent_decode_str(named.to_str().ok()?).decode_utf8().ok()?;
    Some(PassedFor { conversation: ConversationId::parse(&named).ok()?, is_decided })
}

/// Whether `headers` show the token of the hubs.
fn shows(headers: &HeaderMap, token: &Secret) -> bool {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim());
    let own = headers.get(TOKEN).and_then(|value| value.to_str().ok());
    let parsed =
        [bearer, own].into_iter().flatten().filter_map(|text| Secret::parse(SecretKind::Token, text));
    // Hashes are compared in a time that does not depend on where they differ.
    parsed.map(|secret| secret.hash()).any(|hash| hash == token.hash())
}

/// The middleware: notes that a request is made by another hub, and refuses with 401 one that claims so
/// without the token. The header is removed in any case, so no handler and no upstream sees it.
pub(crate) async fn recognise(
    State(gate): State<Arc<Gate>>,
    State(ownership): State<Arc<Ownership>>,
    mut request: Request,
    next: Next,
) -> Response {
    let said = request.headers_mut().remove(ON_BEHALF);
    let asked_for = asked_for(request.headers_mut());
    let is_hub = ownership.peers.as_ref().is_some_and(|peers| shows(request.headers(), &peers.token));
    if is_hub {
        asked_for.map(|asked_for| request.extensions_mut().insert(asked_for));
    } else {
        request.headers_mut().remove(ORIGIN);
    }
    match (is_hub, said) {
        (false, None) => {}
        (false, Some(_)) => {
            let detail = "only another hub of the same log may ask for somebody else, and its secret is not this hub's";
            tracing::warn!("a request for somebody else came without the secret of the hubs");
            return Problem::new(ErrorCode::Unauthenticated, detail).into_response();
        }
        (true, None) => drop(request.extensions_mut().insert(FromHub(None))),
        (true, Some(said)) => match told(&said, &gate) {
            Ok((principal, token)) => {
                request.extensions_mut().insert(FromHub(Some(Arc::new(principal))));
                token.map(|token| request.extensions_mut().insert(token));
            }
            Err(why) => {
                let detail = format!("for whom another hub asks cannot be read: {why}");
                return Problem::new(ErrorCode::Unauthenticated, detail).into_response();
            }
        },
    }
    next.run(request).await
}
