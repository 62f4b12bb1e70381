//! What the documents that the hub writes itself have in common: escaped text, and a policy that allows their one style.

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Escapes `text` for use between tags and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// How a policy names the text of a style sheet or a script that it allows: by its hash.
pub(crate) fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// A content security policy that allows the style sheet `style`, by its hash, and what `more` adds, and nothing else. A policy
/// that is no header allows nothing at all.
pub(crate) fn policy(style: &str, more: &str) -> HeaderValue {
    let policy = format!("default-src 'none'; style-src {}; {more}", source(style));
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
