//! Reads Anthropic's messages. Calls of the provider's own tools are in the messages of the assistant; they
//! are left out here, as in answers, since no caller has to carry them out.
//!
//! ```json
//! {"model": "m", "system": "…", "tools": [{"name": "look", "input_schema": {}}], "messages": [
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "…", "is_error": true}]}]}
//! ```

use super::{
    ForeignField, ForeignFields, MessagePiece, ModelRequest, RequestRole, call, instruct, part, result, say,
    system_message, tools,
};

/// Reads the fields of the body.
pub(super) fn read(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    tools(fields.get("tools"), request);
    for piece in part::pieces(fields.get("system"), request) {
        if let MessagePiece::Text(text) = piece {
            instruct(request, &text);
        }
    }
    for message in fields.get("messages").list() {
        let fields = message.fields();
        let content = fields.get("content");
        let pieces = if content.is_list() {
            content.list().into_iter().filter_map(|block| read_block(block, request)).collect()
        } else {
            part::pieces(content, request)
        };
        match &*fields.get("role").text().unwrap_or_default() {
            "user" => say(request, RequestRole::User, pieces),
            "assistant" => say(request, RequestRole::Assistant, pieces),
            "system" => system_message(request, pieces),
            other => say(request, RequestRole::Other(other.into()), pieces),
        }
    }
}

/// Reads one block of content. Nothing for blocks of the provider's own tools.
fn read_block(block: ForeignField<'_>, request: &mut ModelRequest) -> Option<MessagePiece> {
    let fields = block.fields();
    let kind = fields.get("type").text().unwrap_or_default();
    match &*kind {
        "tool_use" => Some(call(fields.get("id"), fields.get("name"), fields.get("input"))),
        "tool_result" => {
            let is_error = fields.get("is_error").is_true();
            Some(result(fields.get("tool_use_id"), ForeignField::default(), fields.get("content"), is_error))
        }
        "server_tool_use" | "mcp_tool_use" | "fallback" => None,
        kind if kind.ends_with("_tool_result") => None,
        _ => part::piece(block, request),
    }
}
