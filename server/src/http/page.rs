//! The page, from inside the binary: `/`, `/c/{conversation}`, and its files. Names of files carry a hash of their
//! content, so browsers keep them for ever; the page itself is asked for each time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
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
        Some(file) => send("index.html", file, &headers, "no-cache").await,
        None => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NO_PAGE).into_response(),
    }
}

/// Any other path: a file of the page, or nothing.
pub(crate) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    match Dist::get(path) {
        Some(file) if method == Method::GET || method == Method::HEAD => {
            send(path, file, &headers, kept(path)).await
        }
        _ => Problem::new(ErrorCode::NotFound, "there is nothing here").into_response(),
    }
}

/// How long a browser may keep a file: for ever when its name changes with its content.
fn kept(path: &str) -> &'static str {
    let hashed = path
        .split(['-', '.', '_'])
        .any(|piece| piece.len() >= 16 && piece.bytes().all(|b| b.is_ascii_hexdigit()));
    if hashed { "public, max-age=31536000, immutable" } else { "no-cache" }
}

/// Sends the file, compressed where the browser takes that and it helps.
pub(super) async fn send(
    path: &str,
    file: EmbeddedFile,
    request: &HeaderMap,
    cache: &'static str,
) -> Response {
    let text = |name| request.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    let common = [(header::CACHE_CONTROL, cache), (header::VARY, "accept-encoding")];
    let own = [(header::CONTENT_TYPE, file.metadata.mimetype().to_owned()), (header::ETAG, tag.clone())];
    if text(header::IF_NONE_MATCH) == tag {
        return (StatusCode::NOT_MODIFIED, common, [(header::ETAG, tag)]).into_response();
    }
    let offers = text(header::ACCEPT_ENCODING).split(',');
    let taken =
        offers.map(|offer| offer.split(';').next().unwrap_or_default().trim()).any(|name| name == "gzip");
    if taken && let Some(packed) = packed(path, tag, file.data.clone()).await {
        return (common, own, [(header::CONTENT_ENCODING, "gzip")], Body::from(packed)).into_response();
    }
    (common, own, Body::from(file.data.into_owned())).into_response()
}

/// The file compressed, once for each content; nothing where that does not help.
async fn packed(path: &str, tag: String, content: Cow<'static, [u8]>) -> Option<Bytes> {
    static PACKED: Mutex<BTreeMap<String, (String, Bytes)>> = Mutex::new(BTreeMap::new());
    if let Some((known, packed)) = PACKED.lock().get(path)
        && *known == tag
    {
        return Some(packed.clone());
    }
    // Some tens of milliseconds for the program of the page: too long for a thread that serves sockets.
    let pack = move || {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer
            .write_all(&content)
            .and_then(|()| packer.finish())
            .ok()
            .filter(|packed| packed.len() < content.len())
    };
    let packed = Bytes::from(tokio::task::spawn_blocking(pack).await.ok()??);
    PACKED.lock().insert(path.to_owned(), (tag, packed.clone()));
    Some(packed)
}

/// The first 64 bits: enough to tell builds apart.
fn hex(hash: &[u8; 32]) -> String {
    let first = hash.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}
