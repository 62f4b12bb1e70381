//! Files in what callers say: images, PDF and texts whose contents are in the request, in the forms of the protocols.
//!
//! ```json
//! {"type": "image_url", "image_url": {"url": "data:image/png;base64,…"}}                      OpenAI, LangChain
//! {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,…"}}          OpenAI
//! {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "…"}}             Anthropic
//! {"type": "binary", "mimeType": "image/png", "data": "…", "filename": "a.png"}                           AG-UI
//! {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,…", "filename": "a.png"}      AI SDK
//! {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "…"}                   LangChain
//! ```
//!
//! A file of which the request has only an address or an id is left out, and named: the hub fetches nothing that a
//! caller names.

use model::event::{FileKind, MessageFile};
use serde_json::Value;

/// Fields that hold a file, beside the part itself.
const INNER: [&str; 5] = ["file", "source", "image_url", "document", "image"];

/// The file of a part of a message; `None` for a part that is none, or whose contents are not in the request, or of which
/// no model takes the type.
pub(super) fn file(part: &Value) -> Option<MessageFile> {
    let inner = INNER.iter().find_map(|name| part.get(*name));
    let places: Vec<&Value> = inner.into_iter().chain([part]).collect();
    let word = |names: &[&str]| {
        let found = places.iter().find_map(|place| names.iter().find_map(|name| place.get(*name)?.as_str()));
        found.filter(|word| !word.is_empty())
    };
    let whole = inner.and_then(Value::as_str);
    let data = whole.or_else(|| word(&["file_data", "data", "base64", "value", "url"]))?;
    let given = word(&["media_type", "mime_type", "mimeType", "mediaType"]);
    let (mime, data) = match data_url(data) {
        Some((mime, data)) => (if mime.is_empty() { given? } else { mime }, data),
        None if is_address(data) => return None,
        None => (given?, data),
    };
    FileKind::of(mime)?;
    let name = word(&["filename", "name", "title"]).map_or_else(|| nameless(mime), ToOwned::to_owned);
    Some(MessageFile::new(&name, mime, data.to_owned()))
}

/// What is said with `files`: `text`, or the names of the files where it is empty. Histories are told apart by what is
/// said.
pub(super) fn named(text: String, files: &[MessageFile]) -> String {
    if !text.is_empty() {
        return text;
    }
    files.iter().map(|file| format!("[file: {}]", file.name)).collect::<Vec<_>>().join("\n")
}

/// The media type and the contents of a `data:` URL in base64; `None` for anything else.
fn data_url(text: &str) -> Option<(&str, &str)> {
    let (head, data) = text.strip_prefix("data:")?.split_once(',')?;
    let mime = head.strip_suffix(";base64")?;
    Some((mime.split(';').next().unwrap_or_default(), data))
}

/// Whether the text leads elsewhere instead of being contents.
fn is_address(text: &str) -> bool {
    text.get(..64).unwrap_or(text).contains(':')
}

/// The name of a file that has none.
fn nameless(mime: &str) -> String {
    let end = mime.split(['/', '+', ';']).nth(1).unwrap_or("file");
    match FileKind::of(mime) {
        Some(FileKind::Image) => format!("image.{end}"),
        Some(FileKind::Pdf) => "document.pdf".to_owned(),
        _ => "text.txt".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the forms.

    use serde_json::json;

    use super::*;

    #[test]
    fn each_protocol_brings_files_in_its_own_form() {
        let url = "data:image/png;base64,QUJD";
        for (part, name) in [
            (json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}}), "image.png"),
            (json!({"type": "image_url", "image_url": url}), "image.png"),
            (json!({"type": "input_image", "image_url": url}), "image.png"),
            (json!({"type": "file", "file": {"filename": "a.png", "file_data": url}}), "a.png"),
            (
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
                "image.png",
            ),
            (
                json!({"type": "binary", "mimeType": "image/png", "data": "QUJD", "filename": "a.png"}),
                "a.png",
            ),
            (
                json!({"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": "QUJD"}}),
                "image.png",
            ),
            (json!({"type": "file", "mediaType": "image/png", "url": url, "filename": "a.png"}), "a.png"),
            (
                json!({"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "QUJD"}),
                "image.png",
            ),
            (json!({"type": "image", "base64": "QUJD", "mime_type": "image/png"}), "image.png"),
        ] {
            let found = file(&part).unwrap_or_else(|| panic!("{part}"));
            let told = (found.name.as_str(), found.mime.as_str(), found.data.as_deref(), found.bytes);
            assert_eq!(told, (name, "image/png", Some("QUJD"), 3), "{part}");
        }
    }

    #[test]
    fn what_is_elsewhere_or_of_another_type_is_no_file_of_the_request() {
        for part in [
            json!({"type": "text", "text": "data:image/png;base64,QUJD"}),
            json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}),
            json!({"type": "file", "file": {"file_id": "file-1"}}),
            json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}),
            json!({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
            json!({"type": "file", "mediaType": "application/zip", "url": "data:application/zip;base64,QUJD"}),
            json!("text"),
        ] {
            assert_eq!(file(&part), None, "{part}");
        }
    }
}
