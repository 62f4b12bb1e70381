//! Reads Gemini's contents. Most calls have no id: results name the tool and come in the order of the calls.
//!
//! ```json
//! {"systemInstruction": {"parts": [{"text": "…"}]}, "tools": [{"functionDeclarations": [{"name": "look"}]}], "contents": [
//!   {"role": "user", "parts": [{"text": "…"}]},
//!   {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
//!   {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": 1}}}]}]}
//! ```

use super::{
    ForeignField, ForeignFields, MessagePiece, ModelRequest, RequestRole, call, file, instruct, offer,
    result, say, unknown,
};

/// Reads the fields of the body.
pub(super) fn read(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    for tool in fields.get("tools").list() {
        for (kind, inner) in tool.fields().into_all() {
            if kind.replace('_', "").eq_ignore_ascii_case("functiondeclarations") {
                inner.list().into_iter().for_each(|declared| declare(declared, request));
            } else if inner.is_object() {
                offer(request, &kind, ForeignField::default(), ForeignField::default());
            }
        }
    }
    let system = fields.get("systemInstruction");
    let instructions = if system.is_object() { pieces(system, request) } else { text(system) };
    for piece in instructions {
        if let MessagePiece::Text(text) = piece {
            instruct(request, &text);
        }
    }
    let contents = fields.get("contents");
    say(request, RequestRole::User, text(contents));
    for content in contents.list() {
        let role = match &*content.fields().get("role").text().unwrap_or_default() {
            "model" => RequestRole::Assistant,
            "user" | "" => RequestRole::User,
            "function" => RequestRole::Tool,
            other => RequestRole::Other(other.into()),
        };
        let pieces = pieces(content, request);
        say(request, role, pieces);
    }
}

/// Adds a declared function to the offered tools.
fn declare(declared: ForeignField<'_>, request: &mut ModelRequest) {
    let fields = declared.fields();
    let name = fields.get("name").word().unwrap_or_default();
    let schema = fields.any(&["parameters", "parametersJsonSchema"]);
    offer(request, &name, fields.get("description"), schema);
}

/// The piece for a field that is a text; empty for other types.
fn text(field: ForeignField<'_>) -> Vec<MessagePiece> {
    field.word().map(|text| MessagePiece::Text(text.into_owned())).into_iter().collect()
}

/// The pieces of the parts of one content.
fn pieces(content: ForeignField<'_>, request: &mut ModelRequest) -> Vec<MessagePiece> {
    let parts = content.fields().get("parts").list();
    parts.into_iter().filter_map(|part| piece(&part.fields(), request)).collect()
}

/// Reads one part. Nothing for thinking, empty text and unknown parts; the last are anomalies.
fn piece(fields: &ForeignFields<'_>, request: &mut ModelRequest) -> Option<MessagePiece> {
    if fields.get("thought").is_true() {
        return None;
    }
    if let Some(text) = fields.get("text").text() {
        return (!text.is_empty()).then(|| MessagePiece::Text(text.into_owned()));
    }
    let (made, back) = (fields.get("functionCall"), fields.get("functionResponse"));
    if made.is_object() {
        let inner = made.fields();
        return Some(call(inner.get("id"), inner.get("name"), inner.get("args")));
    }
    if back.is_object() {
        let inner = back.fields();
        let response = inner.get("response");
        // The API marks a failed call by `error`; some tools return both a result and an empty error.
        let said = response.fields();
        let is_error = said.get("error").is_truthy() && !said.any(&["output", "result"]).is_some();
        return Some(result(inner.get("id"), inner.get("name"), response, is_error));
    }
    let (inside, elsewhere) = (fields.get("inlineData"), fields.get("fileData"));
    if inside.is_object() || elsewhere.is_object() {
        let inner = if inside.is_object() { inside.fields() } else { elsewhere.fields() };
        let kind = inner.get("mimeType").word().unwrap_or_default();
        let name = inner.get("fileUri").word().unwrap_or_else(|| kind.clone());
        let class = match kind.split('/').next().unwrap_or_default() {
            class @ ("image" | "audio" | "video") => class,
            _ => "file",
        };
        return Some(MessagePiece::File(file(class, &name, &inner.get("data").text().unwrap_or_default())));
    }
    // Parts of the provider's own tools, and signatures of its thinking, are left out.
    let known = ["executableCode", "codeExecutionResult", "thoughtSignature", "toolCall", "toolResponse"];
    if !fields.any(&known).is_some() {
        unknown(request, "a part", "");
    }
    None
}
