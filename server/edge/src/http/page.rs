//! The page, which the binary brings: `/`, `/c/{conversation}`, and its files. The names of files contain
//! a hash of their contents, so browsers may keep them for ever; the page itself is requested each time. Each
//! file was compressed when the page was built (brotli, gzip); nothing is compressed here.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use model::code::ErrorCode;
use parking_lot::Mutex;
use rust_embed::EmbeddedFile;

use crate::config::Config;
use crate::inbound::problem::Problem;
use crate::page_files::PageFiles;

/// The script at `path`, packed with gzip, if it is one of those that are part of the binary in this form alone.
fn packed_alone(page: PageFiles, path: &str) -> Option<EmbeddedFile> {
    let is_script = std::path::Path::new(path).extension().is_some_and(|ending| ending == "js");
    let is_one = is_script && path.starts_with(PACKED_ALONE);
    is_one.then(|| page.get(&format!("{path}.gz"))).flatten()
}

/// Sends a file in the smallest form that the browser accepts and the build has made. `cache` is the value of
/// `Cache-Control`. 304 if `If-None-Match` has the tag of that form.
pub(super) fn send(
    page: PageFiles,
    path: &str,
    plain: EmbeddedFile,
    request: &HeaderMap,
    cache: &'static str,
) -> Response {
    let text = |name| request.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let packed = packings(text(header::ACCEPT_ENCODING))
        .find_map(|packing| Some((packing, page.get(&format!("{path}.{}", packing.ending()))?)));
    let kind = plain.metadata.mimetype().to_owned();
    let (packing, file) = packed.map_or((None, plain), |(packing, file)| (Some(packing), file));
    // Each form has a tag of its own, because its bytes are different.
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    let common = [(header::CACHE_CONTROL, cache), (header::VARY, "accept-encoding")];
    if is_known(text(header::IF_NONE_MATCH), &tag) {
        return (StatusCode::NOT_MODIFIED, common, [(header::ETAG, tag)]).into_response();
    }
    let own = [(header::CONTENT_TYPE, kind), (header::ETAG, tag)];
    let body = match file.data {
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(bytes) => Body::from(bytes),
    };
    let mut response = (common, own, body).into_response();
    if let Some(packing) = packing {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(packing.word()));
    }
    response
}

/// How the names of scripts begin that are part of the binary packed with gzip alone: what draws diagrams is 3 MB, and few need it.
const PACKED_ALONE: &str = "diagrams-";

/// What browsers are told of files whose names change with their contents.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The answer if the hub was built without the page.
const NO_PAGE: &str = "<!doctype html><title>Fanlight</title><p>This hub was built without its page. Run \
    <code>cargo xtask build</code>, or use the <a href=/v1/conversations>interface</a>.";

/// The document into which the page puts an image from elsewhere: empty, with styles that make the image fit.
const IMAGE: &str = "<!doctype html><title>Image</title><style>\
    body{margin:0;font:13px sans-serif;overflow:hidden}img{display:block;max-width:100%;max-height:320px}</style>";

/// The policy of [`IMAGE`]: images from everywhere; the hash is that of its styles. Only the page may frame it, and nothing is loaded before the page
/// puts an image in, after a click.
const IMAGE_POLICY: &str = "default-src 'none'; img-src http: https:; \
    style-src 'sha256-CEh66Zd9Ve02ZgHCdii2wXLMP2mMaw89CFyQVVicE5k='; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'self'; sandbox allow-same-origin";

/// `GET /image`: [`IMAGE`], for frames of the page.
pub(crate) async fn image() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, IMAGE_POLICY),
    ];
    (headers, IMAGE).into_response()
}

/// The document in which an HTML page from a tool's result runs with its scripts. It receives that page once
/// from the page that frames it, and replaces itself with it. It listens to nobody else.
const EMBED: &str = "<!doctype html><title>Embed</title><script>\
    addEventListener('message', function take(said) {\
    if (said.source !== parent || parent === self) return;\
    removeEventListener('message', take);\
    document.open(); document.write(said.data); document.close() })</script>";

/// The policy of the document for embeds: inline scripts and styles, and what they make themselves. It has no origin, so it can use nothing of the
/// hub, and it can request nothing. Where it may navigate to is limited by the policy of the page that frames it.
const EMBED_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; media-src data:; font-src data:; base-uri 'none'; form-action 'none'; webrtc 'block'; \
    frame-ancestors 'self'; sandbox allow-scripts";

/// `GET /embed`: [`EMBED`]. The last two headers concern what browsers do before they apply a policy:
/// connecting in advance to the targets of links and scripts, and looking up names.
pub(crate) async fn embed() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, EMBED_POLICY),
        (HeaderName::from_static("connection-allowlist"), "()"),
        (header::X_DNS_PREFETCH_CONTROL, "off"),
    ];
    (headers, EMBED).into_response()
}

/// `GET /`, `GET /c/{conversation}` and the page's other addresses: the page, which reads from its address
/// what to show.
pub(crate) async fn index(State(config): State<Arc<Config>>, headers: HeaderMap) -> Response {
    document(config.page, "index.html", &headers)
}

/// `GET /runs`, `GET /dashboard` and `GET /search`: the operator's pages, a program of their own.
pub(crate) async fn overview(State(config): State<Arc<Config>>, headers: HeaderMap) -> Response {
    document(config.page, "overview.html", &headers)
}

/// One of the page's documents, or a word on how to build it.
fn document(page: PageFiles, name: &str, headers: &HeaderMap) -> Response {
    match page.get(name) {
        Some(file) => send(page, name, file, headers, "no-cache"),
        None => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NO_PAGE).into_response(),
    }
}

/// Any other path: a file of the page; the page with status 404 for a browser; otherwise a problem.
pub(crate) fn file(page: PageFiles, method: &Method, path: &str, headers: &HeaderMap) -> Response {
    let path = path.trim_start_matches('/');
    let is_read = method == Method::GET || method == Method::HEAD;
    if let Some(packed) = is_read.then(|| packed_alone(page, path)).flatten() {
        return send_packed(packed, headers);
    }
    match page.get(path) {
        Some(file) if is_read => send(page, path, file, headers, kept(path)),
        // Somebody has typed an address: the page shows what there is.
        None if method == Method::GET && wants_page(headers) => {
            let mut response = document(page, "index.html", headers);
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
        _ => Problem::new(ErrorCode::NotFound, "there is nothing here").into_response(),
    }
}

/// Sends such a script as it is, or unpacked to callers that take no gzip. Its name changes with its contents, so that it may be kept for
/// ever.
fn send_packed(file: EmbeddedFile, request: &HeaderMap) -> Response {
    let accepted = request.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip = packings(accepted.unwrap_or_default()).any(|packing| packing == Packing::Gzip);
    let common = [
        (header::CONTENT_TYPE, "text/javascript"),
        (header::CACHE_CONTROL, FOR_EVER),
        (header::VARY, "accept-encoding"),
    ];
    if takes_gzip {
        return (common, [(header::CONTENT_ENCODING, "gzip")], file.data.into_owned()).into_response();
    }
    match unpacked(&file) {
        Some(plain) => (common, plain).into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// What such a script unpacks to; `None` if it is damaged. The newest is kept, so that many requests for it cost no more than one.
fn unpacked(file: &EmbeddedFile) -> Option<Bytes> {
    static NEWEST: Mutex<Option<([u8; 32], Bytes)>> = Mutex::new(None);
    let hash = file.metadata.sha256_hash();
    let mut newest = NEWEST.lock();
    if let Some((of, plain)) = &*newest
        && *of == hash
    {
        return Some(plain.clone());
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*file.data).read_to_end(&mut plain).ok()?;
    let plain = Bytes::from(plain);
    *newest = Some((hash, plain.clone()));
    Some(plain)
}

/// Whether a browser asks for a page, as it does for an address that was typed.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|kind| kind.trim().starts_with("text/html"))
}

/// How long a browser may keep a file: for ever if its name changes with its contents.
fn kept(path: &str) -> &'static str {
    let hashed = path
        .split(['-', '.', '_'])
        .any(|piece| piece.len() >= 12 && piece.bytes().all(|b| b.is_ascii_hexdigit()));
    if hashed { FOR_EVER } else { "no-cache" }
}

/// Whether `tags`, from an `If-None-Match`, contains `tag`. Proxies that compress again make tags weak.
fn is_known(tags: &str, tag: &str) -> bool {
    tags.split(',')
        .map(|known| known.trim().trim_start_matches("W/"))
        .any(|known| known == tag || known == "*")
}

/// A compression of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Brotli,
    Gzip,
}

impl Packing {
    /// All compressions, the smallest result first.
    const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    /// The name of the compression in headers.
    fn word(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The ending of the names of compressed files.
    fn ending(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gz",
        }
    }
}

/// The compressions that an `Accept-Encoding` accepts, the smallest result first. What it does not name, or
/// names with the weight 0, is not accepted.
fn packings(accepted: &str) -> impl Iterator<Item = Packing> {
    let weight = |wanted: &str| {
        accepted.split(',').find_map(|offer| {
            let (name, rest) = offer.split_once(';').unwrap_or((offer, ""));
            let weight = rest.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse::<f32>().ok());
            name.trim().eq_ignore_ascii_case(wanted).then(|| weight.unwrap_or(0.0))
        })
    };
    let any = weight("*");
    Packing::ALL
        .into_iter()
        .filter(move |packing| weight(packing.word()).or(any).is_some_and(|weight| weight > 0.0))
}

/// The first 64 bits of a hash, which are enough to tell builds apart.
fn hex(hash: &[u8; 32]) -> String {
    let first = hash.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests;
