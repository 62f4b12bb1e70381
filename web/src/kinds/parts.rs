//! Parts of an MCP result, and results that declare their media type.

use std::sync::Arc;

use super::tree::{Node, container, node};

/// The most parts that are shown.
const PARTS_MAX: usize = 200;

/// The media types of images that are shown: those that browsers draw and that contain no code.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The media types of sounds that are played, after a click.
const SOUNDS: [&str; 8] = [
    "audio/mpeg",
    "audio/mp3",
    "audio/wav",
    "audio/x-wav",
    "audio/ogg",
    "audio/webm",
    "audio/flac",
    "audio/mp4",
];

/// A part of an MCP result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A piece of text.
    Text(String),
    /// Text that is declared as Markdown.
    Markdown(String),
    /// A value as JSON, as written.
    Json(String),
    /// An image that came with the result, as a `data:` URL.
    Image(String),
    /// A sound that came with the result, as a `data:` URL.
    Sound(String),
    /// A link to something elsewhere, which is never fetched by itself.
    Elsewhere {
        /// The name of the link.
        name: String,
        /// The URL of the link.
        url: String,
    },
    /// Anything else, described in words.
    Other(String),
}

impl Part {
    /// The kind of the part, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Markdown(_) => "Markdown",
            Self::Json(_) => "JSON",
            Self::Image(_) => "image",
            Self::Sound(_) => "audio",
            Self::Elsewhere { .. } => "link",
            Self::Other(_) => "1 part",
        }
    }
}

/// The fields of an object, each value as written.
type Fields = [(String, Arc<str>)];

/// The string in the field `name`; `None` if it is missing or not a string.
pub(super) fn text_of(fields: &Fields, name: &str) -> Option<String> {
    let (_, raw) = fields.iter().find(|(key, _)| key == name)?;
    match node(raw) {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// The media type that an object declares (in lower case, without parameters), and its text.
pub(super) fn declared(json: &Node) -> Option<(String, String)> {
    let Node::Object(fields) = json else { return None };
    if fields.len() > 4 {
        return None;
    }
    let types = ["content_type", "contentType", "mimeType", "mime_type", "media_type"];
    let declared = types.iter().find_map(|name| text_of(fields, name))?;
    let body = ["content", "text", "body"].iter().find_map(|name| text_of(fields, name))?;
    let essence = declared.split(';').next().unwrap_or_default().trim().to_lowercase();
    essence.contains('/').then_some((essence, body))
}

/// The parts of an MCP result; `None` if `json` is not one.
pub(super) fn parts(json: &Node) -> Option<Vec<Part>> {
    let list = match json {
        Node::Array(items) => items.clone(),
        Node::Object(fields) => {
            let (_, content) = fields.iter().find(|(key, _)| key == "content")?;
            let Some(Node::Array(items)) = container(content) else { return None };
            items
        }
        Node::Text(_) | Node::Word(_) => return None,
    };
    if list.is_empty() {
        return None;
    }
    list.iter().take(PARTS_MAX).map(|item| part(item)).collect()
}

/// A part of an MCP result; `None` if `item` is not one.
fn part(item: &str) -> Option<Part> {
    let Some(Node::Object(fields)) = container(item) else { return None };
    let text = |name: &str| text_of(&fields, name);
    match text("type")?.as_str() {
        "text" => Some(written(text("text")?, text("mimeType").as_deref())),
        "image" => Some(match text("data") {
            Some(data) => image(&data, &text("mimeType")?),
            None => image_of_source(&fields)?,
        }),
        "audio" => Some(sound(&text("data")?, &text("mimeType")?)),
        "image_url" | "input_image" => image_of_url(&fields),
        "resource" => {
            let (_, raw) = fields.iter().find(|(key, _)| key == "resource")?;
            let Some(Node::Object(resource)) = container(raw) else { return None };
            let of = |name: &str| text_of(&resource, name);
            Some(match (of("text"), of("blob"), of("mimeType")) {
                (Some(text), _, kind) => written(text, kind.as_deref()),
                (None, Some(blob), Some(kind)) if kind.starts_with("image/") => image(&blob, &kind),
                (None, Some(blob), Some(kind)) if kind.starts_with("audio/") => sound(&blob, &kind),
                _ => Part::Other(of("uri").unwrap_or_else(|| "a resource".to_owned())),
            })
        }
        "resource_link" => {
            let url = text("uri")?;
            Some(elsewhere(text("title").or_else(|| text("name")), &url))
        }
        _ => None,
    }
}

/// A text part of the declared media type.
fn written(text: String, declared: Option<&str>) -> Part {
    match declared {
        Some("text/markdown") => Part::Markdown(text),
        Some("application/json") if container(&text).is_some() => Part::Json(text),
        None if container(&text).is_some() => Part::Json(text),
        _ => Part::Text(text),
    }
}

/// An image as Anthropic's API has it: `{"source": {"type": "base64", "media_type", "data"}}`.
fn image_of_source(fields: &Fields) -> Option<Part> {
    let (_, raw) = fields.iter().find(|(key, _)| key == "source")?;
    let Some(Node::Object(source)) = container(raw) else { return None };
    if let Some(url) = text_of(&source, "url") {
        return Some(elsewhere(None, &url));
    }
    Some(image(&text_of(&source, "data")?, &text_of(&source, "media_type")?))
}

/// An image as `OpenAI`'s APIs have it: an address, or an object with one.
fn image_of_url(fields: &Fields) -> Option<Part> {
    let (_, raw) = fields.iter().find(|(key, _)| key == "image_url")?;
    let url = match node(raw) {
        Node::Text(url) => url,
        Node::Object(fields) => text_of(&fields, "url")?,
        Node::Array(_) | Node::Word(_) => return None,
    };
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Some(match inside {
        Some((kind, base64)) => image(base64, kind),
        None => elsewhere(None, &url),
    })
}

/// Whether a text consists of the letters of base64 alone, so that it cannot end an address.
fn is_base64(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}

/// The name of the file in which a sound with this `data:` URL is saved, and its media type.
pub fn sound_file(url: &str) -> (String, String) {
    let kind =
        url.strip_prefix("data:").and_then(|rest| rest.split_once(';')).map_or("audio", |(kind, _)| kind);
    let ending = match kind {
        "audio/mpeg" => "mp3",
        "audio/x-wav" => "wav",
        "audio/mp4" => "m4a",
        kind => kind.rsplit('/').next().unwrap_or_default(),
    };
    (format!("audio.{ending}"), kind.to_owned())
}

/// A sound, if its media type is one of [`SOUNDS`] and the data is base64; otherwise a description.
fn sound(base64: &str, kind: &str) -> Part {
    if SOUNDS.contains(&kind) && is_base64(base64) {
        return Part::Sound(format!("data:{kind};base64,{base64}"));
    }
    let kind: String = kind.chars().take(60).collect();
    Part::Other(format!("audio of the type {kind}"))
}

/// An image, if its media type is one of [`IMAGES`] and the data is base64; otherwise a description.
fn image(base64: &str, kind: &str) -> Part {
    if IMAGES.contains(&kind) && is_base64(base64) {
        return Part::Image(format!("data:{kind};base64,{base64}"));
    }
    let kind: String = kind.chars().take(60).collect();
    Part::Other(format!("an image of the type {kind}"))
}

/// Whether `url` is a `data:` URL of an image that may be drawn.
pub(super) fn is_drawn(url: &str) -> bool {
    let Some((kind, rest)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(';')) else {
        return false;
    };
    IMAGES.contains(&kind) && rest.starts_with("base64,")
}

/// Whether `url` is a `data:` URL of a sound that may be played.
pub(super) fn is_played(url: &str) -> bool {
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    inside.is_some_and(|(kind, base64)| SOUNDS.contains(&kind) && is_base64(base64))
}

/// A link to `url` if it may be followed, otherwise its name.
pub(super) fn elsewhere(name: Option<String>, url: &str) -> Part {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| crate::preview::one_line(url));
    match crate::preview::safe_link(url) {
        Some(url) if is_web => Part::Elsewhere { name, url },
        _ => Part::Other(name),
    }
}
