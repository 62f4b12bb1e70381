//! Reads requests of OpenAI's responses API. The input is a list of items: all of the history, or only what
//! is new after an answer or a conversation that the server stores.
//!
//! ```json
//! {"model": "m", "instructions": "…", "previous_response_id": "resp_1", "input": [
//!   {"role": "user", "content": [{"type": "input_text", "text": "…"}]},
//!   {"type": "function_call", "call_id": "t", "name": "look", "arguments": "{}"},
//!   {"type": "function_call_output", "call_id": "t", "output": "…"}]}
//! ```
//!
//! `previous_response_id` names the answer that is continued, `conversation` what the server stores: then the
//! input is only what is new.

use std::borrow::Cow;

use compact_str::CompactString;

use super::{
    ForeignField, ForeignFields, MessagePiece, ModelRequest, RequestRole, call, instruct, part, result, say,
    system_message, tools, unknown,
};

/// Reads the fields of the body.
pub(super) fn read(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    tools(fields.get("tools"), request);
    for piece in part::pieces(fields.get("instructions"), request) {
        if let MessagePiece::Text(text) = piece {
            instruct(request, &text);
        }
    }
    request.previous = fields.get("previous_response_id").word().map(CompactString::new);
    let conversation = fields.get("conversation");
    let id = conversation.word().or_else(|| conversation.fields().get("id").word());
    if let Some(id) = id {
        request.session = Some(CompactString::new(id));
        request.continues = true;
    }
    let input = fields.get("input");
    if let Some(text) = input.word() {
        return say(request, RequestRole::User, vec![MessagePiece::Text(text.into_owned())]);
    }
    for item in input.list() {
        read_item(&item.fields(), request);
    }
}

/// Reads one item of the input. An item of an unknown kind is an anomaly.
fn read_item(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    let kind = fields.get("type").text().unwrap_or_default();
    match &*kind {
        "message" | "" => read_message(fields, request),
        // The server's own tool calls, its thinking, and references to what it stores are left out.
        "reasoning"
        | "item_reference"
        | "compaction"
        | "compaction_summary"
        | "mcp_list_tools"
        | "mcp_call"
        | "mcp_approval_request"
        | "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "image_generation_call"
        | "program"
        | "program_output"
        | "additional_tools" => {}
        "mcp_approval_response" => {
            let consent = MessagePiece::Consent {
                id: CompactString::new(fields.get("approval_request_id").words().unwrap_or_default()),
                approved: fields.get("approve").is_true(),
                text: fields.get("reason").word().map(Cow::into_owned),
            };
            say(request, RequestRole::Tool, vec![consent]);
        }
        "function_call" | "custom_tool_call" => {
            let id = fields.any(&["call_id", "id"]);
            let made = call(id, fields.get("name"), fields.any(&["arguments", "input"]));
            say(request, RequestRole::Assistant, vec![made]);
        }
        kind if kind.ends_with("_call") => {
            let made = MessagePiece::Call {
                id: CompactString::new(fields.any(&["call_id", "id"]).words().unwrap_or_default()),
                name: CompactString::new(kind.trim_end_matches("_call")),
                arguments: fields
                    .any(&["action", "operation", "arguments"])
                    .words()
                    .unwrap_or_default()
                    .into_owned(),
            };
            say(request, RequestRole::Assistant, vec![made]);
        }
        kind if kind.ends_with("_output") => {
            let status = fields.get("status").text().unwrap_or_default();
            let output = fields.any(&["output", "tools"]);
            let back =
                result(fields.any(&["call_id", "id"]), ForeignField::default(), output, status == "failed");
            say(request, RequestRole::Tool, vec![back]);
        }
        kind => unknown(request, "an item", kind),
    }
}

/// Reads an item that is a message.
fn read_message(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    let pieces = part::pieces(fields.get("content"), request);
    match &*fields.get("role").text().unwrap_or_default() {
        "user" => say(request, RequestRole::User, pieces),
        "assistant" => say(request, RequestRole::Assistant, pieces),
        "system" | "developer" => system_message(request, pieces),
        other => say(request, RequestRole::Other(other.into()), pieces),
    }
}
