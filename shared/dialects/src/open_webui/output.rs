//! The items of a message, as servers from 0.10 on have them (`chat:completion` with `output`): all of them
//! each time.

use std::borrow::Cow;

use super::page::{MessageCall, OpenWebUiMessage};
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter};
use model::json::Json;

/// Takes all items of the message, and writes what is new or has changed.
pub(super) fn set(
    items: ForeignField<'_>,
    page: &mut OpenWebUiMessage,
    w: &mut EventWriter,
    out: &mut Decoded,
) {
    page.begin_again();
    for item in items.list() {
        tell(item, page, w, out);
    }
    page.end_again(w, out);
}

/// Writes one item of the output.
fn tell(item: ForeignField<'_>, page: &mut OpenWebUiMessage, w: &mut EventWriter, out: &mut Decoded) {
    let fields = ForeignFields::of(item);
    let status = fields.get("status").text();
    let is_over = status.as_deref() != Some("in_progress");
    match fields.get("type").text().as_deref().unwrap_or_default() {
        "message" => {
            page.set_text(&texts(fields.get("content")), w, out);
            if is_over {
                page.next_text(w, out);
            }
        }
        "reasoning" => {
            let content = texts(fields.get("content"));
            let text = if content.is_empty() { texts(fields.get("summary")) } else { content };
            page.thought(&text, is_over, w, out);
        }
        "function_call" => {
            let told = call(&fields);
            // Arguments that are still being written come again, whole.
            if is_over || ForeignField::parse(&told.arguments).is_some() {
                page.call(told, w, out);
            }
        }
        "function_call_output" => {
            let id = fields.get("call_id").words().unwrap_or_default();
            let output = fields.get("output");
            let value = if output.is_list() { Json::string(&texts(output)) } else { output.json() };
            let is_error = matches!(status.as_deref(), Some("failed" | "error"));
            page.result(&id, CallOutcome { is_error, ..CallOutcome::of(value) }, w, out);
        }
        "open_webui:code_interpreter" | "code_interpreter_call" => {
            let arguments = fields.pick(&["lang", "code"]);
            let output = fields.any(&["output", "outputs"]);
            let outcome = (is_over && output.is_some()).then(|| CallOutcome::of(output.json()));
            let told = MessageCall {
                id: fields.get("id").words().unwrap_or_default(),
                name: Cow::Borrowed("code_interpreter"),
                arguments: Cow::Owned(arguments),
                outcome,
            };
            page.call(told, w, out);
        }
        _ => {}
    }
}

/// The call in the fields of an item.
fn call<'a>(fields: &ForeignFields<'a>) -> MessageCall<'a> {
    MessageCall {
        id: fields.any(&["call_id", "id"]).words().unwrap_or_default(),
        name: fields.get("name").words().unwrap_or_default(),
        arguments: fields.get("arguments").words().unwrap_or_default(),
        outcome: None,
    }
}

/// The text of a string, or of the pieces of a list, joined.
fn texts(content: ForeignField<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let pieces = content
        .list()
        .into_iter()
        .filter_map(|piece| ForeignFields::of(piece).any(&["text", "content"]).text());
    pieces.map(Cow::into_owned).collect()
}
