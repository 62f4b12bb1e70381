//! What a tool gave back, of every kind of content that the protocol has: texts for the model, files beside them.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use shared::event::ToolResult;
use shared::limits::TOOL_FILES_BYTES_MAX;
use shared::{Json, ToolCallId};

/// The result of a call. Its output is a text where there is one, a list of texts where there are several, and what is
/// structured where there is nothing else. Images, sounds and other files stand beside it; their places in the list say what
/// they are.
pub(super) fn outcome(tool: ToolCallId, result: CallToolResult) -> ToolResult {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    let mut room = TOOL_FILES_BYTES_MAX;
    for block in result.content {
        texts.push(text(block, &mut files, &mut room));
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
    let files = (!files.is_empty()).then(|| Json::of(&files));
    let is_error = result.is_error.unwrap_or_default();
    ToolResult { files, ..ToolResult::new(tool, output, is_error) }
}

/// What the model is told of a piece. What is no text is put with the files.
fn text(block: ContentBlock, files: &mut Vec<Value>, room: &mut usize) -> String {
    let mut keep = |kind: &str, mime: &str, data: &str, name: Option<&str>| {
        let place = name.map(|name| format!(" {name}")).unwrap_or_default();
        let bytes = data.len() / 4 * 3;
        if data.len() > *room {
            return format!("[{kind}{place}: {mime}, {bytes} bytes, left out]");
        }
        *room -= data.len();
        let url = format!("data:{mime};base64,{data}");
        files.push(json!({"type": kind, "mime_type": mime, "name": name, "url": url}));
        format!("[{kind}{place}: {mime}, {bytes} bytes]")
    };
    match block {
        ContentBlock::Text(it) => it.text,
        ContentBlock::Image(it) => keep("image", &it.mime_type, &it.data, None),
        ContentBlock::Audio(it) => keep("audio", &it.mime_type, &it.data, None),
        ContentBlock::Resource(it) => match it.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime = mime_type.unwrap_or_else(|| String::from("application/octet-stream"));
                keep("file", &mime, &blob, Some(&uri))
            }
            _ => String::from("[a resource of a kind that is not known here]"),
        },
        ContentBlock::ResourceLink(it) => {
            files.push(json!({"type": "link", "mime_type": it.mime_type, "name": it.name, "url": it.uri}));
            let description = it.description.map(|text| format!(": {text}")).unwrap_or_default();
            format!("[{} {}{description}]", it.name, it.uri)
        }
        _ => String::from("[content of a kind that is not known here]"),
    }
}

#[cfg(test)]
mod tests;
