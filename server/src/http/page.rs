//! The page, from inside the binary: `/`, `/c/{conversation}`, and its files. Names of files carry a hash of their
//! content, so browsers keep them for ever; the page itself is asked for each time.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use shared::code::ErrorCode;

use super::problem::Problem;

#[derive(RustEmbed)]
#[folder = "../dist"]
struct Dist;

/// Shown where the hub was built without the page.
const NO_PAGE: &str = "<!doctype html><title>Fanlight</title><p>This hub was built without its page. Run \
    <code>cargo xtask build</code>, or use the <a href=/v1/conversations>interface</a>.";

/// `GET /` and `GET /c/{conversation}`: which conversation it is, the page finds out by itself.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    match Dist::get("index.html") {
        Some(file) => send("index.html", file, &headers, "no-cache"),
        None => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NO_PAGE).into_response(),
    }
}

/// `GET /{file}`.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match Dist::get(&path) {
        Some(file) => send(&path, file, &headers, kept(&path)),
        None => Problem::new(ErrorCode::NotFound, "there is nothing here").into_response(),
    }
}

/// How long a browser may keep a file: for ever when its name changes with its content.
fn kept(path: &str) -> &'static str {
    let hashed = path
        .split(['-', '.', '_'])
        .any(|piece| piece.len() >= 16 && piece.bytes().all(|b| b.is_ascii_hexdigit()));
    if hashed { "public, max-age=31536000, immutable" } else { "no-cache" }
}

/// Sends the file, or the same file compressed where the build left one and the browser takes it.
fn send(path: &str, file: EmbeddedFile, request: &HeaderMap, cache: &'static str) -> Response {
    let kind = file.metadata.mimetype().to_owned();
    let accepts =
        request.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let packed = [("br", "br"), ("gzip", "gz")].into_iter().find_map(|(name, ending)| {
        let taken =
            accepts.split(',').any(|offer| offer.split(';').next().unwrap_or_default().trim() == name);
        taken.then(|| Dist::get(&format!("{path}.{ending}")))?.map(|file| (name, file))
    });
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    let known = request.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let common = [(header::CACHE_CONTROL, cache), (header::VARY, "accept-encoding")];
    if known == Some(tag.as_str()) {
        return (axum::http::StatusCode::NOT_MODIFIED, common, [(header::ETAG, tag)]).into_response();
    }
    let own = [(header::CONTENT_TYPE, kind), (header::ETAG, tag)];
    match packed {
        Some((name, file)) => {
            (common, own, [(header::CONTENT_ENCODING, name)], Body::from(file.data.into_owned()))
                .into_response()
        }
        None => (common, own, Body::from(file.data.into_owned())).into_response(),
    }
}

/// The first 64 bits: enough to tell builds apart.
fn hex(hash: &[u8; 32]) -> String {
    let first = hash.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}
