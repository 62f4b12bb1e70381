//! Headers on their way through. What concerns one connection stays here; everything else goes on in its
//! order. Keys go on, and only a fingerprint of them is known here.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use access::Hash;
use axum::http::header::{
    AUTHORIZATION, CONNECTION, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that concern one connection (RFC 9110, 7.6.1) or are meant for this proxy.
const OF_THE_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers in which callers send keys.
pub(crate) const KEYS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("api-key"),
];

/// Words in names of headers and query parameters whose values may be keys.
const SECRET: [&str; 8] = ["key", "token", "auth", "secret", "password", "credential", "cookie", "signature"];

/// Whether a header or parameter of this name may contain a key.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}

/// Whole words in names of query parameters that contain a key, a signature or a code that stands for one.
/// For headers they are not used, because there such words occur in harmless names
/// (`x-claude-code-session-id`).
const SECRET_IN_QUERIES: [&str; 16] = [
    "sig",
    "sign",
    "code",
    "hmac",
    "sas",
    "jwt",
    "pwd",
    "pass",
    "passwd",
    "sid",
    "session",
    "ticket",
    "assertion",
    "nonce",
    "otp",
    "bearer",
];

/// From this length on, letters and digits in a row in a query are taken for a key, whatever its name.
const RANDOM_BYTES: usize = 16;

/// Whether the query parameter `name` with this value may be a key: by words in its name, or because it looks
/// random. Better too many than one too few, since this decides only what the recording leaves out.
pub(super) fn is_secret_in_query(name: &str, value: &[u8]) -> bool {
    let is_word = |word: &str| SECRET_IN_QUERIES.iter().any(|secret| word.eq_ignore_ascii_case(secret));
    is_secret(name) || name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word) || is_random(value)
}

/// Whether `value` looks random: many letters and digits in a row, and both of them.
fn is_random(value: &[u8]) -> bool {
    value.split(|byte| !byte.is_ascii_alphanumeric()).any(|run| {
        run.len() >= RANDOM_BYTES
            && run.iter().any(u8::is_ascii_digit)
            && run.iter().any(u8::is_ascii_alphabetic)
    })
}

/// The names under which keys are sent in queries.
pub(super) const IN_QUERIES: [&str; 7] =
    ["key", "api_key", "api-key", "apikey", "access_token", "token", "code"];

/// Beginnings of headers that are orders to a web server: nginx, Apache and its relatives, lighttpd,
/// `LiteSpeed`, Perlbal.
const ORDERS: [&str; 5] = ["x-accel-", "x-sendfile", "x-lighttpd-send-", "x-litespeed-", "x-reproxy-"];

/// The beginning of the hub's own headers.
const OURS: &str = "fanlight-";

/// The headers of a request that the upstream gets: all but those of the connection, `Host`, and the hub's
/// own.
pub(super) fn outgoing(headers: &HeaderMap) -> HeaderMap {
    let mut passed = passing(headers, |name| *name != HOST && !name.as_str().starts_with(OURS));
    // Accepting trailers is the only wish of a connection that holds for the whole way.
    if headers.get_all(TE).iter().any(|te| te.to_str().is_ok_and(wants_trailers)) {
        passed.insert(TE, HeaderValue::from_static("trailers"));
    }
    passed
}

/// The headers of an answer that the caller gets: without those that begin with `Fanlight-`, which only the
/// hub writes, and without orders to a server in front of the hub.
pub(super) fn incoming(headers: &HeaderMap) -> HeaderMap {
    passing(headers, |name| !name.as_str().starts_with(OURS) && !is_order(name))
}

/// Removes from trailers what the headers may not contain either.
pub(super) fn strike_trailers(trailers: &mut HeaderMap) {
    let is_struck = |name: &HeaderName| name.as_str().starts_with(OURS) || is_order(name);
    if trailers.keys().any(is_struck) {
        *trailers = passing(trailers, |name| !is_struck(name));
    }
}

/// Whether this header of an answer tells a web server in front of the hub to answer with something else,
/// such as a file, or to treat the answer differently. It is meant for the server of the upstream's operator,
/// never for ours. `X-Accel-Buffering` passes: it only asks not to hold pieces back, which the proxy does not
/// do anyway.
fn is_order(name: &HeaderName) -> bool {
    let name = name.as_str();
    name != "x-accel-buffering" && ORDERS.iter().any(|order| name.starts_with(order))
}

/// Whether a `TE` header accepts trailers.
fn wants_trailers(te: &str) -> bool {
    te.split(',').any(|wish| wish.trim().eq_ignore_ascii_case("trailers"))
}

/// The headers that go on, in their order. The map is built anew, because removing headers from one would
/// change the order of the others.
fn passing(headers: &HeaderMap, wanted: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let of_the_hop = OF_THE_HOP.contains(name) || *name == TE || named.contains(name);
        if !of_the_hop && wanted(name) {
            let mut value = value.clone();
            // So that nothing that prints headers prints these values, and HTTP/2 does not put them into its
            // table.
            value.set_sensitive(is_secret(name.as_str()));
            passed.append(name, value);
        }
    }
    passed
}

/// The headers that `Connection` names as belonging to one connection.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// The keys in `headers`, one after the other, each with a separator; empty for a call without keys.
pub(crate) fn keys(headers: &HeaderMap) -> Vec<u8> {
    let mut keys = Vec::new();
    for name in &KEYS {
        for value in headers.get_all(name) {
            keys.extend_from_slice(value.as_bytes());
            keys.push(0xff);
        }
    }
    keys
}

/// Recognises keys without storing them: a hash with a random key of its own, which is lost with the process.
#[derive(Debug, Default)]
pub(super) struct Fingerprints(RandomState);

impl Fingerprints {
    /// The fingerprint of the keys of a call; equal for two calls with the same keys.
    pub(super) fn of(&self, headers: &HeaderMap, query: Option<&str>) -> u64 {
        let mut hasher = self.0.build_hasher();
        for name in &KEYS {
            for value in headers.get_all(name) {
                hasher.write(value.as_bytes());
                hasher.write_u8(0xff);
            }
        }
        let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        for (_, key) in pairs.filter(|(name, _)| IN_QUERIES.contains(name)) {
            hasher.write(key.as_bytes());
            hasher.write_u8(0xff);
        }
        hasher.finish()
    }

    /// The fingerprint of a caller that is known by its token, since many callers share the hub's key.
    pub(super) fn of_token(&self, token: &Hash) -> u64 {
        self.0.hash_one(String::from(*token))
    }
}

#[cfg(test)]
mod tests;
