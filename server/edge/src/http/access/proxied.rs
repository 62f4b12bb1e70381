//! The token of a call through the proxy. It is in `Fanlight-Token` beside the vendor's key, or in the place of
//! that key, where every client of the vendor can put it. In both cases it is taken out of what goes on.
//!
//! ```text
//! Fanlight-Token: fanlight_…        Authorization: Bearer sk-…     the key of the caller goes on
//! Authorization: Bearer fanlight_…, x-api-key, x-goog-api-key      the key of the hub goes out instead
//! ```

use access::{Denial, Secret, SecretKind};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::one;
use crate::inbound::caller::{KeyPlace, TOKEN};
use crate::proxy::KEYS;

/// The token of a call; `None` if it has none. One in the place of the key is taken out with everything that
/// stands in such a place. Fails with `Malformed` for two tokens, and for one in any other place: it would reach
/// the upstream.
pub(super) fn token(parts: &mut Parts) -> Result<Option<String>, Denial> {
    let beside = one(&parts.headers, &TOKEN)?.map(str::to_owned);
    let token = match beside {
        Some(token) => Some(token),
        None => in_place(parts)?,
    };
    refuse_mistaken(parts)?;
    Ok(token)
}

/// The token in the place of the key.
fn in_place(parts: &mut Parts) -> Result<Option<String>, Denial> {
    let mut found: Option<String> = None;
    for name in &KEYS {
        for text in parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()) {
            let text = match text.split_once(' ') {
                Some((scheme, text)) if *name == AUTHORIZATION && scheme.eq_ignore_ascii_case("bearer") => {
                    text
                }
                _ => text,
            };
            if Secret::parse(SecretKind::Token, text.trim()).is_none() {
                continue;
            }
            if found.as_ref().is_some_and(|found| found != text.trim()) {
                return Err(Denial::Malformed);
            }
            found = Some(text.trim().to_owned());
        }
    }
    if found.is_some() {
        for name in &KEYS {
            parts.headers.remove(name);
        }
        parts.extensions.insert(KeyPlace);
    }
    Ok(found)
}

/// The scheme that packs name and password (RFC 7617).
const BASIC: &[u8] = b"basic ";

/// Name and password in a value of the scheme `Basic`; `None` for any other.
fn unpacked(value: &[u8]) -> Option<Vec<u8>> {
    let (scheme, packed) = value.split_at_checked(BASIC.len())?;
    let packed = std::str::from_utf8(packed).ok().filter(|_| scheme.eq_ignore_ascii_case(BASIC))?;
    let packed = packed.trim().trim_end_matches('=');
    STANDARD_NO_PAD.decode(packed).or_else(|_other| URL_SAFE_NO_PAD.decode(packed)).ok()
}

/// Refuses a call through the proxy that would pass a secret of the hub on to the upstream: a token or a
/// session in a header other than `Fanlight-Token`, packed as `Basic` too, or in the query. Bodies are not looked at: they
/// pass unchanged and as they come.
fn refuse_mistaken(parts: &Parts) -> Result<(), Denial> {
    // A session is in a cookie with the hub's name.
    let ours = [SecretKind::Token.prefix(), "fanlight=fls_"];
    let has_ours = |text: &[u8]| {
        ours.iter().any(|ours| text.windows(ours.len()).any(|window| window == ours.as_bytes()))
    };
    let others = parts.headers.iter().filter(|(name, _)| **name != TOKEN);
    let mut values = others.map(|(_, value)| value.as_bytes());
    let in_headers =
        values.any(|value| has_ours(value) || unpacked(value).is_some_and(|value| has_ours(&value)));
    let in_query = parts.uri.query().is_some_and(|query| has_ours(query.as_bytes()));
    if in_headers || in_query { Err(Denial::Malformed) } else { Ok(()) }
}
