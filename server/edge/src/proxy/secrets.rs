//! The keys of one call, to be removed from everything that is recorded of it: upstreams and gateways repeat
//! them, mostly in errors. What passes through is never changed (I12).
//!
//! A word that was sent as a key is removed everywhere. A word that only may be one (a cookie, a part of a
//! header whose name contains `auth`) is removed from failures and anomalies, and elsewhere only if it looks
//! like a key: cookies have values such as `accepted`, which occur in sentences.
//!
//! ```text
//! Authorization: Bearer sk-live-1234…      ─▶ sure: struck in texts of people and models too
//! Cookie: consent=accepted                 ─▶ may be: struck in failures alone, since it has only letters
//! "invalid api key: sk-live-1234…"         ─▶ "invalid api key: [key]"
//! ```

use std::fmt;
use std::sync::Arc;

use axum::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use model::Json;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::headers::{KEYS, is_secret, is_secret_in_query};

mod events;

pub(super) use events::{Striker, said_bytes};

/// The text in the place of a key.
const STRUCK: &str = "[key]";

/// The prefix of a key that is sent as a WebSocket protocol name, to OpenAI.
const KEY_AS_PROTOCOL: &str = "openai-insecure-api-key.";

/// Shorter words are never taken for keys, because they occur in sentences. In bytes.
const KEY_BYTES_MIN: usize = 8;

/// A word of this length is taken for a key even if it has only letters. In bytes.
const KEY_BYTES_TELLING: usize = 16;

/// What local servers that need no key are sent in its place. These are not removed from conversations.
const PLACEHOLDERS: [&str; 8] = [
    "lm-studio",
    "llama.cpp",
    "llamacpp",
    "not-needed",
    "no-key-needed",
    "dummy-key",
    "anything",
    "undefined",
];

/// The keys of one call in every spelling that is removed. Made of the call's request, shared by the
/// recording and its readers, and dropped with them. Nothing prints it.
#[derive(Default)]
pub(super) struct Secrets {
    /// Every key in all its spellings, the longest first.
    written: Vec<Written>,
    /// The first bytes of these, one bit for each, to skip most positions quickly.
    firsts: [u64; 4],
}

/// A key in one spelling.
#[derive(PartialEq, Eq)]
struct Written {
    bytes: Vec<u8>,
    /// Whether it is removed from conversations too, and not only from failures.
    is_sure: bool,
}

/// What kind of text is searched for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Texts about failures and anomalies.
    Failures,
    /// Texts of people, models and tools.
    Words,
}

/// Where in a request a word was sent, which says how likely it is a key.
#[derive(Debug, Clone, Copy)]
enum Sent {
    /// In the place of a key.
    AsKey,
    /// In a place where a key may be.
    Beside,
}

impl Sent {
    /// Whether `word` is removed from conversations too.
    fn is_sure(self, word: &[u8]) -> bool {
        match self {
            Self::AsKey => !PLACEHOLDERS.iter().any(|placeholder| word == placeholder.as_bytes()),
            Self::Beside => {
                word.len() >= KEY_BYTES_TELLING
                    || word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic)
            }
        }
    }
}

impl fmt::Debug for Secrets {
    /// Prints nothing of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Collects the keys of a call from its headers and its query, and `ours`, the hub's own credentials for
    /// a proxy on the way.
    pub(super) fn of(headers: &HeaderMap, query: Option<&str>, ours: Option<&HeaderValue>) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers.iter().filter(|(name, _)| is_secret(name.as_str())) {
            if *name == COOKIE {
                value.as_bytes().split(|byte| *byte == b';').for_each(|cookie| secrets.add_cookie(cookie));
                continue;
            }
            secrets.add_value(name, value);
        }
        // With a WebSocket browsers can send no other header, so keys may be among the names of protocols.
        for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
            for word in value.as_bytes().split(|byte| matches!(byte, b' ' | b',')) {
                let key = word.strip_prefix(KEY_AS_PROTOCOL.as_bytes());
                secrets.add(key.unwrap_or_default(), Sent::AsKey);
            }
        }
        if let Some(value) = ours {
            secrets.add_value(&PROXY_AUTHORIZATION, value);
        }
        for pair in query.unwrap_or_default().split('&') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let plain = percent_decode_str(value).collect::<Vec<u8>>();
            if is_secret_in_query(name, &plain) {
                secrets.add(value.as_bytes(), Sent::AsKey);
                secrets.add(&plain, Sent::AsKey);
            }
        }
        secrets.sort();
        secrets
    }

    /// Sorts the spellings and removes doubles.
    fn sort(&mut self) {
        self.written.sort_by(|one, other| {
            let length = other.bytes.len().cmp(&one.bytes.len());
            length.then_with(|| one.bytes.cmp(&other.bytes)).then_with(|| other.is_sure.cmp(&one.is_sure))
        });
        // Of two equal spellings, the more certain one comes first.
        self.written.dedup_by(|later, first| later.bytes == first.bytes);
        for first in self.written.iter().filter_map(|written| written.bytes.first()) {
            if let Some(bits) = self.firsts.get_mut(usize::from(first >> 6)) {
                *bits |= 1 << (first & 63);
            }
        }
    }

    /// Whether the call has no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Whether `text`, which is about to name something, contains a key. Names cannot be struck, so such a
    /// text is not used.
    pub(super) fn are_in_name(&self, text: &str) -> bool {
        self.is_in(text.as_bytes(), Within::Words)
    }

    /// Adds the words of a header value.
    fn add_value(&mut self, name: &HeaderName, value: &HeaderValue) {
        let is_key = KEYS.contains(name) || *name == PROXY_AUTHORIZATION;
        let sent = if is_key { Sent::AsKey } else { Sent::Beside };
        let words = value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t' | b',' | b';'));
        let has_scheme =
            matches!(*name, AUTHORIZATION | PROXY_AUTHORIZATION) && value.as_bytes().contains(&b' ');
        for (at, word) in words.enumerate() {
            // The scheme, such as `Negotiate`, occurs in sentences.
            let sent = if at == 0 && has_scheme { Sent::Beside } else { sent };
            self.add(word, sent);
            self.add_packed(word);
        }
        self.add(value.as_bytes(), sent);
    }

    /// Adds the value of one cookie.
    fn add_cookie(&mut self, cookie: &[u8]) {
        let value = cookie.iter().position(|byte| *byte == b'=').and_then(|at| cookie.get(at..));
        self.add(value.and_then(|value| value.get(1..)).unwrap_or(cookie).trim_ascii(), Sent::Beside);
    }

    /// Adds what `word` means in base64, the form in which user names and passwords are sent: the upstream
    /// decodes it and may repeat it.
    fn add_packed(&mut self, word: &[u8]) {
        let word = word.trim_ascii_end();
        let plain = word.strip_suffix(b"==").or_else(|| word.strip_suffix(b"=")).unwrap_or(word);
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let Some(text) = alphabet.decode(plain).ok().and_then(|text| String::from_utf8(text).ok()) else {
                continue;
            };
            match text.split_once(':') {
                Some((name, password)) => {
                    self.add(text.as_bytes(), Sent::AsKey);
                    self.add(name.as_bytes(), Sent::Beside);
                    self.add(password.as_bytes(), Sent::AsKey);
                }
                None => self.add(text.as_bytes(), Sent::Beside),
            }
        }
    }

    /// Adds a key in all its spellings: as it is, in JSON, and percent-encoded. Words of fewer than
    /// [`KEY_BYTES_MIN`] bytes are left out.
    fn add(&mut self, secret: &[u8], sent: Sent) {
        if secret.len() < KEY_BYTES_MIN {
            return;
        }
        let is_sure = sent.is_sure(secret);
        self.written.push(Written { bytes: secret.to_vec(), is_sure });
        let Ok(text) = str::from_utf8(secret) else { return };
        let json = Json::string(text);
        let json = json.as_str().trim_matches('"');
        let percents = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        for other in [json.to_owned(), json.replace('/', "\\/"), percents] {
            if other != text {
                self.written.push(Written { bytes: other.into_bytes(), is_sure });
            }
        }
    }

    /// Removes keys from a text about a failure or an anomaly.
    fn strike_failure(&self, text: &mut String) {
        if self.is_in(text.as_bytes(), Within::Failures) {
            *text = self.without(text, Within::Failures);
        }
        // A quotation may be cut off within a key.
        let quoted = text.trim_end_matches(['…', '.', '"', '\'']);
        let cut = quoted.len().saturating_sub(self.begun(quoted.as_bytes(), Within::Failures));
        if quoted.len().saturating_sub(cut) >= KEY_BYTES_MIN && text.is_char_boundary(cut) {
            text.replace_range(cut.., STRUCK);
        }
    }

    /// `text` without the keys.
    fn without(&self, text: &str, within: Within) -> String {
        String::from_utf8_lossy(&self.struck(text.as_bytes(), within)).into_owned()
    }

    /// Whether a key is in `bytes`, or may begin at their end.
    fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.is_in(bytes, Within::Words) || self.begun(bytes, Within::Words) > 0
    }

    /// Whether a key is in `bytes`.
    fn is_in(&self, bytes: &[u8], within: Within) -> bool {
        let mut rest = bytes;
        while let Some((_, after)) = rest.split_first() {
            if self.at(rest, within).is_some() {
                return true;
            }
            rest = after;
        }
        false
    }

    /// The key with which `bytes` begin. Mostly decided by the first byte, because bodies may be long.
    fn at(&self, bytes: &[u8], within: Within) -> Option<&[u8]> {
        let first = bytes.first()?;
        let bits = self.firsts.get(usize::from(first >> 6))?;
        if bits >> (first & 63) & 1 == 0 {
            return None;
        }
        self.all(within).find(|written| bytes.starts_with(written))
    }

    /// The spellings that are removed from this kind of text, the longest first.
    fn all(&self, within: Within) -> impl Iterator<Item = &[u8]> {
        let written = self.written.iter();
        written.filter(move |it| it.is_sure || within == Within::Failures).map(|it| it.bytes.as_slice())
    }

    /// `bytes` without the keys.
    fn struck(&self, bytes: &[u8], within: Within) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if let Some(written) = self.at(rest, within) {
                out.extend_from_slice(STRUCK.as_bytes());
                rest = rest.get(written.len()..).unwrap_or_default();
            } else {
                out.push(*first);
                rest = after;
            }
        }
        out
    }

    /// How many bytes at the end of `bytes` may be the beginning of a key.
    fn begun(&self, bytes: &[u8], within: Within) -> usize {
        let most = self.written.first().map_or(0, |longest| longest.bytes.len());
        let most = most.saturating_sub(1).min(bytes.len());
        let is_begun = |length: &usize| {
            let tail = bytes.get(bytes.len().saturating_sub(*length)..).unwrap_or_default();
            self.all(within).any(|written| written.len() > *length && written.starts_with(tail))
        };
        (1..=most).rev().find(is_begun).unwrap_or(0)
    }
}

/// Removes keys from a body as it comes, wherever it is cut. Owned by whoever reads the body.
#[derive(Debug)]
pub(super) struct Strike {
    secrets: Arc<Secrets>,
    /// The end of the body so far, which may be the beginning of a key.
    held: Held,
}

/// Bytes that are never printed.
#[derive(Default)]
struct Held(Vec<u8>);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl Strike {
    /// Makes one that removes these keys.
    pub(super) fn new(secrets: &Arc<Secrets>) -> Self {
        Self { secrets: Arc::clone(secrets), held: Held::default() }
    }

    /// Returns what is certain once `bytes` have come. What may be the beginning of a key waits for the next
    /// bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.held.0);
        whole.extend_from_slice(bytes);
        let mut struck = self.secrets.struck(&whole, Within::Failures);
        let begun = self.secrets.begun(&struck, Within::Failures);
        self.held.0 = struck.split_off(struck.len().saturating_sub(begun));
        struck
    }

    /// Returns what was held back, when nothing follows.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held.0)
    }
}

#[cfg(test)]
mod tests;
