//! Reads APIs with one list of messages with roles: OpenAI's chat completions, which other vendors offer too,
//! Ollama's chat, Cohere's chat.
//!
//! ```json
//! {"model": "m", "tools": [{"type": "function", "function": {"name": "look"}}], "messages": [
//!   {"role": "system", "content": "…"}, {"role": "user", "content": "…"},
//!   {"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "look", "arguments": "{}"}}]},
//!   {"role": "tool", "tool_call_id": "t", "content": "…"}]}
//! ```

use super::{
    ForeignField, ForeignFields, MessagePiece, ModelRequest, RequestRole, call, file, part, result, say,
    system_message, tools,
};

/// Reads the fields of the body.
pub(super) fn read(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    tools(fields.any(&["tools", "functions"]), request);
    for message in fields.get("messages").list() {
        read_message(&message.fields(), request);
    }
}

/// Reads one message. The results of tools are messages of their own, and never say that they failed.
fn read_message(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    let role = fields.get("role").text().unwrap_or_default();
    let content = fields.get("content");
    match &*role {
        "system" | "developer" => {
            let pieces = part::pieces(content, request);
            system_message(request, pieces);
        }
        "tool" | "function" => {
            let name = fields.any(&["tool_name", "name"]);
            say(request, RequestRole::Tool, vec![result(fields.get("tool_call_id"), name, content, false)]);
        }
        "assistant" | "model" => {
            let mut pieces = part::pieces(content, request);
            pieces.extend(fields.get("refusal").word().map(|text| MessagePiece::Text(text.into_owned())));
            pieces.extend(fields.get("tool_calls").list().into_iter().map(tool_call));
            let legacy = fields.get("function_call");
            if legacy.is_object() {
                let inner = legacy.fields();
                pieces.push(call(ForeignField::default(), inner.get("name"), inner.get("arguments")));
            }
            say(request, RequestRole::Assistant, pieces);
        }
        other => {
            let mut pieces = part::pieces(content, request);
            let images = fields.get("images").list_of_texts();
            pieces.extend(images.iter().map(|image| MessagePiece::File(file("image", "", image))));
            let role = if other == "user" { RequestRole::User } else { RequestRole::Other(other.into()) };
            say(request, role, pieces);
        }
    }
}

/// Reads a tool call; its fields are in an inner object (OpenAI) or in the call itself.
fn tool_call(field: ForeignField<'_>) -> MessagePiece {
    let outer = field.fields();
    let inner = outer.any(&["function", "custom"]);
    let named = if inner.is_object() { inner.fields() } else { ForeignFields::default() };
    let get = |names: &[&str]| {
        let found = named.any(names);
        if found.is_some() { found } else { outer.any(names) }
    };
    call(outer.get("id"), get(&["name"]), get(&["arguments", "input"]))
}
