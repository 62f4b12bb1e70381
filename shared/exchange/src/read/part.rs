//! Reads the parts of a message's content in the form of OpenAI, Anthropic and Cohere, which other vendors
//! use too.
//!
//! ```json
//! {"type": "text", "text": "…"}
//! {"type": "image_url", "image_url": {"url": "data:image/png;base64,…"}}
//! {"type": "image", "source": {"media_type": "image/png", "data": "…"}}
//! {"type": "document", "document": {"data": "…"}}
//! ```
//!
//! Files are not kept: of each only its kind, a name, its size and a hash of both ends.

use std::borrow::Cow;

use super::{ForeignField, ForeignFields, MessagePiece, ModelRequest, file, file_at, unknown};

/// The pieces of `content`: a string, a list of parts, or nothing.
pub(super) fn pieces(content: ForeignField<'_>, request: &mut ModelRequest) -> Vec<MessagePiece> {
    if let Some(text) = content.text() {
        return if text.is_empty() { Vec::new() } else { vec![MessagePiece::Text(text.into_owned())] };
    }
    let parts = content.list();
    parts.into_iter().filter_map(|part| piece(part, request)).collect()
}

/// Reads one part. Nothing for thinking, empty text and unknown parts; the last are anomalies.
pub(super) fn piece(part: ForeignField<'_>, request: &mut ModelRequest) -> Option<MessagePiece> {
    if let Some(text) = part.word() {
        return Some(MessagePiece::Text(text.into_owned()));
    }
    let fields = part.fields();
    let kind = fields.get("type").text().unwrap_or_default();
    if is_silent(&kind) {
        return None;
    }
    if let Some(text) = words(&kind, &fields) {
        return (!text.is_empty()).then(|| MessagePiece::Text(text));
    }
    let found = known_file(&kind, &fields);
    if found.is_none() {
        unknown(request, "a part", &kind);
    }
    found.map(MessagePiece::File)
}

/// The hash of the file that `part`, some JSON, is: that of its [`OmittedFile`](super::OmittedFile) in a request that was read. `None` for a part that is no
/// file. With it the contents of a file are found in a request of which only descriptions were kept.
pub fn file_print(part: &str) -> Option<u64> {
    let fields = ForeignField::parse(part)?.fields();
    let kind = fields.get("type").text().unwrap_or_default();
    known_file(&kind, &fields).map(|file| file.print)
}

/// A part of a tool result as text; nothing for one that cannot be written as text.
pub(super) fn of_result(part: ForeignField<'_>) -> Option<String> {
    if let Some(text) = part.text() {
        return Some(text.into_owned());
    }
    let fields = part.fields();
    let kind = fields.get("type").text().unwrap_or_default();
    words(&kind, &fields).or_else(|| known_file(&kind, &fields).map(|file| file.placeholder()))
}

/// Whether a part is left out: thinking, and what belongs to the provider.
fn is_silent(kind: &str) -> bool {
    matches!(
        kind,
        "thinking"
            | "redacted_thinking"
            | "reasoning"
            | "reasoning_text"
            | "encrypted_content"
            | "cache_control"
    )
}

/// The text of a part that consists of text.
fn words(kind: &str, fields: &ForeignFields<'_>) -> Option<String> {
    match kind {
        "text" | "input_text" | "output_text" | "summary_text" | "" => {
            fields.get("text").text().map(Cow::into_owned)
        }
        "refusal" => fields.get("refusal").text().map(Cow::into_owned),
        "compaction" => fields.get("content").text().map(Cow::into_owned),
        // Cohere's form of a tool's result; a document of Anthropic has its contents in `source`.
        "document" => fields.get("document").fields().get("data").words().map(Cow::into_owned),
        _ => None,
    }
}

/// The file of a part; nothing if its kind is unknown.
fn known_file(kind: &str, fields: &ForeignFields<'_>) -> Option<super::OmittedFile> {
    let kind = kind.trim_start_matches("input_").trim_end_matches("_url");
    match kind {
        "image"
        | "document"
        | "audio"
        | "file"
        | "video"
        | "search_result"
        | "container_upload"
        | "computer_screenshot"
        | "tool_reference" => {}
        _ => return None,
    }
    let of_kind =
        fields.any(&["source", "image_url", "input_audio", "file", "video_url", "audio_url", "document"]);
    if let Some(address) = of_kind.text() {
        return Some(file_at(kind, &address));
    }
    let inner = if of_kind.is_object() { of_kind.fields() } else { ForeignFields::default() };
    let get = |names: &[&str]| {
        let found = inner.any(names);
        if found.is_some() { found } else { fields.any(names) }
    };
    if let Some(address) = get(&["url", "image_url", "file_url"]).word() {
        return Some(file_at(kind, &address));
    }
    let name = get(&["filename", "title", "media_type", "mime_type", "format", "file_id", "tool_name"]);
    let name = name.word().unwrap_or_default();
    let inside = get(&["data", "file_data"]).text().unwrap_or_default();
    Some(match inside.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((_head, inside)) => file(kind, &name, inside),
        None => file(kind, &name, &inside),
    })
}
