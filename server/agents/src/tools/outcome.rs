//! The result of a tool, from all kinds of content that the protocol has: texts for the model, with files and
//! pages beside them.
//!
//! | content | the model gets | beside it |
//! |---|---|---|
//! | text | the text | |
//! | image, audio | `[image: image/png, 900 bytes]` | a file with a `data:` URL |
//! | link to a resource | `[NAME URL: description]` | a file with the URL |
//! | resource with text | `[URI]` and the text | |
//! | resource with HTML | the same, or for `ui://` only that it is there | a page |
//! | resource with bytes | `[file URI: type, bytes]` | a file with a `data:` URL |
//!
//! Files and pages have [`TOOL_FILES_BYTES_MAX`] bytes together; what does not fit is only named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::event::ToolResult;
use model::limits::TOOL_FILES_BYTES_MAX;
use model::{Json, ToolCallId};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

/// The scheme of resources that a tool made for people to look at, not for the model to read.
const FOR_PERSONS: &str = "ui://";

/// What comes beside the texts of a result.
struct ResultAttachments {
    /// Each with `type`, `mime_type`, `name` and `url`.
    files: Vec<Value>,
    /// Pages of HTML, or addresses of pages.
    embeds: Vec<Value>,
    /// How many more bytes files and pages may have together.
    room: usize,
}

/// Makes the result of a call. Its output is a text if there is only one, a list of texts if there are
/// several, and the structured content if there is nothing else. Images, sounds, pages and other files come
/// beside it; in the list, short texts say what they are.
pub(super) fn outcome(tool: ToolCallId, result: CallToolResult) -> ToolResult {
    let mut texts = Vec::new();
    let mut beside = ResultAttachments { files: Vec::new(), embeds: Vec::new(), room: TOOL_FILES_BYTES_MAX };
    for block in result.content {
        texts.push(beside.text(block));
    }
    let output = match (texts.as_slice(), result.structured_content) {
        ([], Some(structured)) => Json::of(&structured),
        ([], None) => Json::string(""),
        ([text], _) => Json::string(text),
        (texts, _) => {
            let block = |text: &String| json!({"type": "text", "text": text});
            Json::of(&texts.iter().map(block).collect::<Vec<_>>())
        }
    };
    let list = |items: Vec<Value>| (!items.is_empty()).then(|| Json::of(&items));
    let (files, embeds) = (list(beside.files), list(beside.embeds));
    let is_error = result.is_error.unwrap_or_default();
    ToolResult { files, embeds, ..ToolResult::new(tool, output, is_error) }
}

impl ResultAttachments {
    /// The text that the model gets for a piece of content. What is not text is put beside it.
    fn text(&mut self, block: ContentBlock) -> String {
        match block {
            ContentBlock::Text(it) => it.text,
            ContentBlock::Image(it) => self.keep("image", &it.mime_type, &it.data, None),
            ContentBlock::Audio(it) => self.keep("audio", &it.mime_type, &it.data, None),
            ContentBlock::Resource(it) => self.resource(it.resource),
            ContentBlock::ResourceLink(it) => {
                let link = json!({"type": "link", "mime_type": it.mime_type, "name": it.name, "url": it.uri});
                self.files.push(link);
                let description = it.description.map(|text| format!(": {text}")).unwrap_or_default();
                format!("[{} {}{description}]", it.name, it.uri)
            }
            _ => String::from("[content of a kind that is not known here]"),
        }
    }

    /// The text for a resource.
    fn resource(&mut self, resource: ResourceContents) -> String {
        match resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                match Page::of(mime_type.as_deref(), &text) {
                    Some(page) => self.page(&uri, page, &text),
                    None => format!("[{uri}]\n{text}"),
                }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime = mime_type.unwrap_or_else(|| String::from("application/octet-stream"));
                let text = BASE64.decode(&blob).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                match text.as_deref().and_then(|text| Page::of(Some(&mime), text)) {
                    Some(page) => self.page(&uri, page, &format!("{} bytes of {mime}", blob.len() / 4 * 3)),
                    None => self.keep("file", &mime, &blob, Some(&uri)),
                }
            }
            _ => String::from("[a resource of a kind that is not known here]"),
        }
    }

    /// Puts a page beside. Returns what the model is told of it: `text`, unless the page was made for the
    /// person.
    fn page(&mut self, uri: &str, page: Page, text: &str) -> String {
        let Page(page) = page;
        let bytes = page.len();
        let is_left_out = bytes > self.room;
        if !is_left_out {
            self.room -= bytes;
            self.embeds.push(Value::from(page));
        }
        let note = if is_left_out { ", left out" } else { "" };
        if uri.starts_with(FOR_PERSONS) {
            return format!("[page {uri}: {bytes} bytes, for the user{note}]");
        }
        format!("[{uri}]\n{text}")
    }

    /// Puts a file beside, if there is room. Returns what the model is told of it.
    fn keep(&mut self, kind: &str, mime: &str, data: &str, name: Option<&str>) -> String {
        let place = name.map(|name| format!(" {name}")).unwrap_or_default();
        let bytes = data.len() / 4 * 3;
        if data.len() > self.room {
            return format!("[{kind}{place}: {mime}, {bytes} bytes, left out]");
        }
        self.room -= data.len();
        let url = format!("data:{mime};base64,{data}");
        self.files.push(json!({"type": kind, "mime_type": mime, "name": name, "url": url}));
        format!("[{kind}{place}: {mime}, {bytes} bytes]")
    }
}

/// A page of HTML, or the address of one.
struct Page(String);

impl Page {
    /// The page in a resource of this media type, if it is one: HTML, or a list of addresses, of which the
    /// first counts.
    fn of(mime: Option<&str>, text: &str) -> Option<Self> {
        let mime = mime?.split(';').next()?.trim().to_ascii_lowercase();
        match mime.as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self(text.to_owned())),
            "text/uri-list" => {
                let address =
                    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
                address.map(|address| Self(address.to_owned()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
