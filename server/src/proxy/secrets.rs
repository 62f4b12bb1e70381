//! The keys of one call, to be struck out of what is kept of it: there are gateways that repeat them in their errors.

use std::fmt;
use std::sync::Arc;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use shared::Json;
use shared::dialect::Decoded;
use shared::event::Kind;

use super::headers::is_secret;

/// What stands in place of a key.
const STRUCK: &str = "[key]";

/// Shorter words are no keys, and stand in sentences.
const KEY_BYTES_MIN: usize = 8;

/// See the module.
#[derive(Default)]
pub(super) struct Secrets {
    /// Each in all the ways in which it may be written, the longest first.
    written: Vec<Vec<u8>>,
    /// The bytes that these begin with, one bit each.
    firsts: [u64; 4],
}

impl fmt::Debug for Secrets {
    /// Without what they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Those of a call with these headers and this query, and `ours`, which the hub shows to a proxy with it.
    pub(super) fn of(headers: &HeaderMap, query: Option<&str>, ours: Option<&HeaderValue>) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers.iter().filter(|(name, _)| is_secret(name.as_str())) {
            if *name == COOKIE {
                value.as_bytes().split(|byte| *byte == b';').for_each(|cookie| secrets.add_cookie(cookie));
                continue;
            }
            secrets.add_value(value);
        }
        if let Some(value) = ours {
            secrets.add_value(value);
        }
        for pair in query.unwrap_or_default().split('&') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            if is_secret(name) {
                secrets.add(value.as_bytes());
                secrets.add(&percent_decode_str(value).collect::<Vec<u8>>());
            }
        }
        secrets.written.sort_by_key(|written| std::cmp::Reverse(written.len()));
        secrets.written.dedup();
        for first in secrets.written.iter().filter_map(|written| written.first()) {
            if let Some(bits) = secrets.firsts.get_mut(usize::from(first >> 6)) {
                *bits |= 1 << (first & 63);
            }
        }
        secrets
    }

    fn add_value(&mut self, value: &HeaderValue) {
        let words = value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t' | b',' | b';'));
        for word in words {
            self.add(word);
            self.add_packed(word);
        }
        self.add(value.as_bytes());
    }

    fn add_cookie(&mut self, cookie: &[u8]) {
        let value = cookie.iter().position(|byte| *byte == b'=').and_then(|at| cookie.get(at..));
        self.add(value.and_then(|value| value.get(1..)).unwrap_or(cookie).trim_ascii());
    }

    /// What `word` says where it is base64, as names with passwords are sent: the upstream sees that, and may repeat it.
    fn add_packed(&mut self, word: &[u8]) {
        let word = word.trim_ascii_end();
        let plain = word.strip_suffix(b"==").or_else(|| word.strip_suffix(b"=")).unwrap_or(word);
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let Some(text) = alphabet.decode(plain).ok().and_then(|text| String::from_utf8(text).ok()) else {
                continue;
            };
            self.add(text.as_bytes());
            if let Some((name, password)) = text.split_once(':') {
                self.add(name.as_bytes());
                self.add(password.as_bytes());
            }
        }
    }

    fn add(&mut self, secret: &[u8]) {
        if secret.len() < KEY_BYTES_MIN {
            return;
        }
        self.written.push(secret.to_vec());
        let Ok(text) = str::from_utf8(secret) else { return };
        let json = Json::string(text);
        let json = json.as_str().trim_matches('"');
        let percents = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        for other in [json.to_owned(), json.replace('/', "\\/"), percents] {
            if other != text {
                self.written.push(other.into_bytes());
            }
        }
    }

    /// Strikes them out of what `decoded` says of failures and of what was odd. What stands in messages is the
    /// conversation's.
    pub(super) fn strike(&self, decoded: &mut Decoded) {
        for envelope in &mut decoded.envelopes {
            match &mut envelope.event.kind {
                Kind::Error(fact) => {
                    self.strike_text(&mut fact.message);
                    if self.is_in(fact.code.as_bytes()) {
                        fact.code = STRUCK.into();
                    }
                }
                Kind::Anomaly(odd) => self.strike_text(&mut odd.detail),
                Kind::Custom { value, .. } | Kind::Raw { value, .. }
                    if self.is_in(value.as_str().as_bytes()) =>
                {
                    let mut text = value.as_str().to_owned();
                    self.strike_text(&mut text);
                    *value = Json::parse(&text).unwrap_or_else(|| Json::string(STRUCK));
                }
                _ => {}
            }
        }
    }

    fn strike_text(&self, text: &mut String) {
        if self.is_in(text.as_bytes()) {
            *text = String::from_utf8_lossy(&self.struck(text.as_bytes())).into_owned();
        }
        // A quotation may have been cut off in the middle of one.
        let quoted = text.trim_end_matches(['…', '.', '"', '\'']);
        let cut = quoted.len().saturating_sub(self.begun(quoted.as_bytes()));
        if quoted.len().saturating_sub(cut) >= KEY_BYTES_MIN && text.is_char_boundary(cut) {
            text.replace_range(cut.., STRUCK);
        }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while let Some((_, after)) = rest.split_first() {
            if self.at(rest).is_some() {
                return true;
            }
            rest = after;
        }
        false
    }

    /// The one that `bytes` begin with. Mostly told by the first byte, since bodies may be long.
    fn at(&self, bytes: &[u8]) -> Option<&[u8]> {
        let first = bytes.first()?;
        let bits = self.firsts.get(usize::from(first >> 6))?;
        if bits >> (first & 63) & 1 == 0 {
            return None;
        }
        self.written.iter().find(|written| bytes.starts_with(written)).map(Vec::as_slice)
    }

    fn struck(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if let Some(written) = self.at(rest) {
                out.extend_from_slice(STRUCK.as_bytes());
                rest = rest.get(written.len()..).unwrap_or_default();
            } else {
                out.push(*first);
                rest = after;
            }
        }
        out
    }

    /// How many bytes at the end of `bytes` may be the beginning of one.
    fn begun(&self, bytes: &[u8]) -> usize {
        let most = self.written.first().map_or(0, Vec::len).saturating_sub(1).min(bytes.len());
        let is_begun = |length: &usize| {
            let tail = bytes.get(bytes.len().saturating_sub(*length)..).unwrap_or_default();
            self.written.iter().any(|written| written.len() > *length && written.starts_with(tail))
        };
        (1..=most).rev().find(is_begun).unwrap_or(0)
    }
}

/// Strikes the keys out of a body as it comes, however it is cut.
#[derive(Debug)]
pub(super) struct Strike {
    secrets: Arc<Secrets>,
    /// What may be the beginning of a key.
    held: Held,
}

/// Bytes that are not printed.
#[derive(Default)]
struct Held(Vec<u8>);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl Strike {
    /// Of these keys.
    pub(super) fn new(secrets: &Arc<Secrets>) -> Self {
        Self { secrets: Arc::clone(secrets), held: Held::default() }
    }

    /// What may be known with `bytes` more.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.held.0);
        whole.extend_from_slice(bytes);
        let mut struck = self.secrets.struck(&whole);
        let begun = self.secrets.begun(&struck);
        self.held.0 = struck.split_off(struck.len().saturating_sub(begun));
        struck
    }

    /// What is left at the end.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held.0)
    }
}

#[cfg(test)]
mod tests;
