//! Files and embeds that came with a result.

use super::parts::{Part, elsewhere, is_drawn, is_played, text_of};
use super::tree::{Node, container, node};

/// The most files or embeds that are shown.
const ATTACHED_MAX: usize = 50;

/// A file or an embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attached {
    /// A file: an image, a link, or a name.
    File(Part),
    /// An HTML page. It is drawn in a restricted frame, only after a click.
    Page(String),
}

/// The files in `json`: a list of addresses or of objects with an address.
pub fn files(json: &str) -> Vec<Attached> {
    items(json).iter().filter_map(|item| file(item)).map(Attached::File).collect()
}

/// The embeds in `json`: a list of HTML texts or addresses.
pub fn embeds(json: &str) -> Vec<Attached> {
    let embed = |item: &std::sync::Arc<str>| match node(item) {
        Node::Text(text) if text.trim_start().starts_with('<') => Some(Attached::Page(text)),
        _ => file(item).map(Attached::File),
    };
    items(json).iter().filter_map(embed).collect()
}

/// The items of a list; a single value is a list of one.
fn items(json: &str) -> Vec<std::sync::Arc<str>> {
    match container(json) {
        Some(Node::Array(mut items)) => {
            items.truncate(ATTACHED_MAX);
            items
        }
        _ => vec![json.into()],
    }
}

/// A file, from its address or from an object with an address or a name.
fn file(item: &str) -> Option<Part> {
    let (name, url) = match node(item) {
        Node::Text(url) => (None, url),
        Node::Object(fields) => {
            let text = |names: &[&str]| names.iter().find_map(|name| text_of(&fields, name));
            let name = text(&["name", "filename", "title", "id"]);
            let Some(url) = text(&["url", "uri", "src", "path"]) else {
                return name.map(Part::Other);
            };
            (name, url)
        }
        _ => return None,
    };
    if is_drawn(&url) {
        return Some(Part::Image(url));
    }
    if is_played(&url) {
        return Some(Part::Sound(url));
    }
    if let Some(kind) = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()) {
        let kind: String = kind.chars().take(60).collect();
        return Some(Part::Other(name.unwrap_or_else(|| format!("a file ({kind})"))));
    }
    Some(elsewhere(name, &url))
}
