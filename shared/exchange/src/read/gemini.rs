//! Gemini's contents. Calls mostly have no id: results name the tool and stand in the order of the calls.

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

fn declare(declared: ForeignField<'_>, request: &mut ModelRequest) {
    let fields = declared.fields();
    let name = fields.get("name").word().unwrap_or_default();
    let schema = fields.any(&["parameters", "parametersJsonSchema"]);
    offer(request, &name, fields.get("description"), schema);
}

fn text(field: ForeignField<'_>) -> Vec<MessagePiece> {
    field.word().map(|text| MessagePiece::Text(text.into_owned())).into_iter().collect()
}

fn pieces(content: ForeignField<'_>, request: &mut ModelRequest) -> Vec<MessagePiece> {
    let parts = content.fields().get("parts").list();
    parts.into_iter().filter_map(|part| piece(&part.fields(), request)).collect()
}

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
        // The API's word for a failed call; some tools give back both a result and an empty error.
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
    // Of the provider's own tools, and marks of its thinking.
    let known = ["executableCode", "codeExecutionResult", "thoughtSignature", "toolCall", "toolResponse"];
    if !fields.any(&known).is_some() {
        unknown(request, "a part", "");
    }
    None
}
