//! The built-in help: `GET /help` and `GET /help/{*document}`. It is the documents of the project, which whoever has only the
//! binary does not have otherwise, as HTML without scripts. The `type` of every problem leads to the line that explains its
//! code, so that it can be read offline and fits this version.
//!
//! ```text
//! docs/*.md, README.md ─▶ Documents (in the binary) ─▶ html::page ─▶ kept as long as the hub runs ─▶ answer
//! ```

mod html;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use model::code::ErrorCode;
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use super::markup;
use crate::inbound::problem::Problem;

/// The files under `docs/`: the documents and their pictures.
#[derive(RustEmbed)]
#[folder = "../../docs"]
struct Documents;

/// What is named first in its chapter of the contents, in this order. What is not named here follows by its path.
const FIRST: [&str; 8] = [
    "readme",
    "commands",
    "operations",
    "access",
    "protocol",
    "dialects/readme",
    "integrations/readme",
    "integrations/proxy",
];

/// The documents about how Fanlight is made and tested; all others outside of folders are about its use.
const ABOUT_THE_MAKING: [&str; 9] =
    ["attacks", "chaos", "fuzzing", "limits", "operator", "performance", "scale", "seeds", DECISIONS];

/// A chapter of the contents, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Chapter {
    Use,
    Integrations,
    Dialects,
    Making,
}

impl Chapter {
    /// The heading under which its documents are listed.
    fn title(self) -> &'static str {
        match self {
            Self::Use => "Using and running Fanlight",
            Self::Integrations => "Agents, clients and frameworks",
            Self::Dialects => "Stream dialects",
            Self::Making => "How Fanlight is built and tested",
        }
    }
}

/// The chapter in which the document of that name is listed.
fn chapter(name: &str) -> Chapter {
    match name.split_once('/') {
        _ if ABOUT_THE_MAKING.contains(&name) => Chapter::Making,
        Some(("integrations", _)) => Chapter::Integrations,
        Some(("dialects", _)) => Chapter::Dialects,
        Some(_) => Chapter::Making,
        None => Chapter::Use,
    }
}

/// The project's README, which stands beside `docs/`.
const README: &str = include_str!("../../../../README.md");

/// The style sheet of the help, which stands in each of its pages. [`policy`] names its hash.
const STYLE: &str = include_str!("help/style.css");

/// A page of the help. [`pages`] makes it once and owns it for as long as the hub runs.
#[derive(Debug)]
pub(super) struct Document {
    /// The first heading of the page.
    pub(super) title: String,
    /// The whole page as HTML.
    html: String,
    /// The entity tag of the page: a hash of it.
    tag: HeaderValue,
}

/// All pages by their names, `contents` too. Made at the first request, from constants.
fn pages() -> &'static BTreeMap<String, Document> {
    static PAGES: OnceLock<BTreeMap<String, Document>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let texts = help_texts();
        let mut pages: BTreeMap<_, _> = texts
            .iter()
            .map(|(name, text)| {
                let written =
                    html::document(name, text, &|name| texts.contains_key(name) || is_picture(name));
                (name.clone(), Document::new(written))
            })
            .collect();
        let listed =
            pages.iter().filter(|(name, _page)| !name.starts_with("decisions/") || *name == DECISIONS);
        let mut names: Vec<_> = listed.map(|(name, page)| (name.as_str(), page.title.as_str())).collect();
        let place = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
        names.sort_by_key(|(name, _title)| (chapter(name), place(name)));
        let contents = Document::new(html::contents(&names, chapter));
        pages.insert(CONTENTS.to_owned(), contents);
        pages
    })
}

/// The name of the list of all documents.
const CONTENTS: &str = "contents";

/// The list of the decisions, which stands in the contents for all of them.
const DECISIONS: &str = "decisions/readme";

/// Whether this is the name of a picture of the documents.
fn is_picture(name: &str) -> bool {
    name.starts_with("images/") && Documents::get(name).is_some()
}

/// The Markdown of all documents by their names: the path under `docs/` without `.md`.
pub fn help_texts() -> BTreeMap<String, String> {
    let named = |path: &str| path.strip_suffix(".md").map(str::to_lowercase);
    let files = Documents::iter().filter_map(|path| {
        let file = Documents::get(&path)?;
        Some((named(&path)?, String::from_utf8(file.data.into_owned()).ok()?))
    });
    files.chain([("readme".to_owned(), README.to_owned())]).collect()
}

impl Document {
    fn new(written: html::Written) -> Self {
        let html::Written { title, html } = written;
        let hash = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(&html));
        // The alphabet of the hash has no character that a header forbids.
        let tag = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Self { title, html, tag }
    }
}

/// `GET /help`: the list of all documents.
pub(crate) async fn contents(headers: HeaderMap) -> Response {
    answer(CONTENTS, &headers)
}

/// `GET /help/{*document}`: one document, for example `/help/dialects/user-defined`, or a picture of one. 404 for a name that
/// no document has.
pub(crate) async fn document(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&name, &headers)
}

/// The page of that name, 304 if the browser has it.
fn answer(name: &str, headers: &HeaderMap) -> Response {
    if let Some(picture) = Documents::get(name).filter(|_file| is_picture(name)) {
        let kind = HeaderValue::from_str(picture.metadata.mimetype());
        let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
        return ([(header::CONTENT_TYPE, kind)], picture.data.into_owned()).into_response();
    }
    let Some(page) = pages().get(name) else {
        let detail = format!("the help has no document named {name:?}; /help lists all");
        return Problem::new(ErrorCode::NotFound, detail).into_response();
    };
    // A browser takes the headers of a 304 for the page that it kept: with another policy its style would be refused.
    let kept = [
        (header::ETAG, page.tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, policy().clone()),
    ];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == page.tag) {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (kept, kind, page.html.as_str()).into_response()
}

/// The policy of the help: its own style and nothing else.
fn policy() -> &'static HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    POLICY.get_or_init(|| {
        markup::policy(STYLE, "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    })
}
