//! Reads the bodies of requests. Each API has a module that knows its fields; what the APIs have in common is
//! here. Nothing fails: a field of an unexpected type is left out, and a part of an unknown kind is an
//! anomaly.
//!
//! | module | API |
//! |---|---|
//! | `chat` | OpenAI's chat completions, Ollama's chat, Cohere's chat |
//! | `responses` | OpenAI's responses |
//! | `anthropic` | Anthropic's messages |
//! | `gemini` | Gemini's contents |
//! | `prompt` | OpenAI's completions, Ollama's generate |
//!
//! What comes out is the same for all: the system prompt, messages made of pieces, the offered tools.
//! Thinking, and calls that the provider carries out itself, are left out.

use std::borrow::Cow;
use std::hash::Hasher as _;

use compact_str::CompactString;

use super::api::ModelApi;
use super::request::{MessagePiece, ModelRequest, OfferedTool, OmittedFile, RequestMessage, RequestRole};
use super::turns::is_telling;
use dialects::field::{ForeignField, ForeignFields};
use dialects::framing::excerpt;
use model::anomaly::AnomalyCode;
use model::json::Json;
use model::limits::{OFFERED_TOOLS_MAX, SCHEMA_BYTES_MAX};
use model::print::Fingerprint;

mod anthropic;
mod chat;
mod gemini;
mod part;
mod prompt;
mod responses;

pub use part::file_print;

/// Reads `body` into `request`. A body that is no JSON object is an anomaly. `request.is_read` says
/// afterwards whether it was one.
pub(super) fn read(body: &[u8], request: &mut ModelRequest) {
    let text = String::from_utf8_lossy(body);
    if matches!(text, Cow::Owned(_)) {
        request.note(AnomalyCode::Malformed, String::from("the request is not in UTF-8"));
    }
    let Some(whole) =
        ForeignField::parse(text.trim_start_matches('\u{feff}')).filter(|whole| whole.is_object())
    else {
        let begins = excerpt(&text);
        request.note(AnomalyCode::Malformed, format!("the request is not a JSON object: {begins}"));
        return;
    };
    request.is_read = true;
    let fields = whole.fields();
    if let Some(model) = fields.get("model").word() {
        request.model = Some(CompactString::new(model));
    }
    request.streaming |= match request.api {
        // Ollama's API is the only one that streams by default.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => fields.get("stream").as_json_text() != "false",
        _ => fields.get("stream").is_true(),
    };
    request.user = fields.any(&["safety_identifier", "user"]).word().map(CompactString::new);
    session(&fields, request);
    request.forced = forced(&fields);
    request.required = is_required(&fields);
    match request.api {
        ModelApi::OpenAiChat | ModelApi::OllamaChat | ModelApi::Cohere => chat::read(&fields, request),
        ModelApi::OpenAiResponses => responses::read(&fields, request),
        ModelApi::Anthropic => anthropic::read(&fields, request),
        ModelApi::Gemini => gemini::read(&fields, request),
        ModelApi::OpenAiCompletions | ModelApi::OllamaGenerate => prompt::read(&fields, request),
    }
}

/// Reads the session, if the request names one. Keys of prompt caches are not sessions: some clients make
/// them from the prompt alone.
fn session(fields: &ForeignFields<'_>, request: &mut ModelRequest) {
    const NAMES: [&str; 3] = ["session_id", "thread_id", "conversation_id"];
    let metadata = fields.get("metadata").fields();
    let named = metadata.any(&NAMES).word().or_else(|| fields.any(&NAMES).word());
    let found = named.or_else(|| {
        // Anthropic's API has one field for the user; clients write several ids into it.
        let user = metadata.get("user_id").word()?;
        if let Some(inner) = ForeignField::parse(&user).filter(|inner| inner.is_object()) {
            return inner.fields().any(&NAMES).word().map(|id| Cow::Owned(id.into_owned()));
        }
        user.split_once("_session_").map(|(_, id)| Cow::Owned(id.to_owned()))
    });
    request.session = found.filter(|id| is_telling(id)).map(CompactString::new);
    if request.user.is_none() {
        request.user = metadata.get("user_id").word().map(CompactString::new);
    }
}

/// The name of the tool that the request forces the model to call.
fn forced(fields: &ForeignFields<'_>) -> Option<CompactString> {
    let choice = fields.any(&["tool_choice", "function_call"]).fields();
    let named = choice.get("function").fields().get("name").word().or_else(|| choice.get("name").word());
    if let Some(name) = named {
        return Some(CompactString::new(name));
    }
    let calling = fields.get("toolConfig").fields().get("functionCallingConfig").fields();
    match calling.get("allowedFunctionNames").list_of_texts().as_slice() {
        [only] => Some(CompactString::new(only)),
        _ => None,
    }
}

/// Whether the model must call some tool: `required` of OpenAI, `any` of Anthropic and Mistral, `ANY` of
/// Gemini.
fn is_required(fields: &ForeignFields<'_>) -> bool {
    let choice = fields.get("tool_choice");
    let inner = choice.fields();
    let calling = fields.get("toolConfig").fields().get("functionCallingConfig").fields();
    let said = [choice, inner.get("type"), inner.get("mode"), calling.get("mode")];
    said.into_iter()
        .filter_map(ForeignField::word)
        .any(|word| matches!(&*word, "required" | "any" | "ANY" | "REQUIRED"))
}

/// Adds a message, unless it has no pieces.
fn say(request: &mut ModelRequest, role: RequestRole, pieces: Vec<MessagePiece>) {
    if !pieces.is_empty() {
        request.messages.push(RequestMessage { role, pieces });
    }
}

/// Adds a paragraph to the system prompt.
fn instruct(request: &mut ModelRequest, text: &str) {
    if text.is_empty() {
        return;
    }
    match &mut request.system {
        Some(system) => {
            system.push_str("\n\n");
            system.push_str(text);
        }
        None => request.system = Some(text.to_owned()),
    }
}

/// Adds instructions that are among the messages: those before all other messages belong to the system
/// prompt, later ones remain messages.
fn system_message(request: &mut ModelRequest, pieces: Vec<MessagePiece>) {
    if !request.messages.is_empty() {
        return say(request, RequestRole::System, pieces);
    }
    for piece in pieces {
        if let MessagePiece::Text(text) = piece {
            instruct(request, &text);
        }
    }
}

/// Adds an offered tool. Tools over [`OFFERED_TOOLS_MAX`] are left out with an anomaly, schemas over
/// [`SCHEMA_BYTES_MAX`] silently.
fn offer(request: &mut ModelRequest, name: &str, description: ForeignField<'_>, schema: ForeignField<'_>) {
    if request.tools.len() == OFFERED_TOOLS_MAX {
        request.note(AnomalyCode::TooMany, format!("more than {OFFERED_TOOLS_MAX} tools"));
    }
    if name.is_empty() || request.tools.len() >= OFFERED_TOOLS_MAX {
        return;
    }
    request.tools.push(OfferedTool {
        name: CompactString::new(name),
        description: description.word().map(|text| beginning(&text, 1_024).to_owned()),
        schema: Some(schema)
            .filter(|schema| schema.is_object() && schema.as_json_text().len() <= SCHEMA_BYTES_MAX)
            .map(ForeignField::json),
    });
}

/// Reads offered tools in the form of OpenAI and Anthropic, which other vendors use too.
fn tools(list: ForeignField<'_>, request: &mut ModelRequest) {
    for tool in list.list() {
        let outer = tool.fields();
        let inner = outer.get("function");
        let fields = if inner.is_object() { inner.fields() } else { outer };
        let name = fields.any(&["name", "server_label", "type"]).word().unwrap_or_default();
        offer(request, &name, fields.get("description"), fields.any(&["parameters", "input_schema"]));
    }
}

/// Notes a part of a kind that this version does not know.
fn unknown(request: &mut ModelRequest, what: &str, kind: &str) {
    request.note(
        AnomalyCode::Malformed,
        format!("the request has {what} of an unknown kind {:?}", excerpt(kind)),
    );
}

/// The beginning of `text`: at most `most` bytes, cut between characters.
fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// A tool call in a message of the assistant.
fn call(id: ForeignField<'_>, name: ForeignField<'_>, arguments: ForeignField<'_>) -> MessagePiece {
    MessagePiece::Call {
        id: CompactString::new(id.words().unwrap_or_default()),
        name: CompactString::new(name.word().unwrap_or_default()),
        arguments: arguments.words().unwrap_or_default().into_owned(),
    }
}

/// The result of a tool call: text if all of it is text, else the JSON with placeholders for files.
fn result(
    id: ForeignField<'_>,
    name: ForeignField<'_>,
    output: ForeignField<'_>,
    is_error: bool,
) -> MessagePiece {
    MessagePiece::Result {
        id: CompactString::new(id.words().unwrap_or_default()),
        name: CompactString::new(name.word().unwrap_or_default()),
        output: output_json(output),
        is_error,
    }
}

/// The output of a tool: the text of a list of texts, a line for each; anything else as it is, an empty text
/// if it is missing.
fn output_json(output: ForeignField<'_>) -> Json {
    if !output.is_list() {
        return if output.is_some() { output.json() } else { Json::string("") };
    }
    let mut texts = Vec::new();
    for part in output.list() {
        match part::of_result(part) {
            Some(text) => texts.push(text),
            None => return output.json(),
        }
    }
    Json::string(&texts.join("\n"))
}

/// A file whose content is `inside`, in base64, or that is elsewhere (`inside` is empty then). Only its size
/// and a hash of both ends are kept.
fn file(kind: &str, name: &str, inside: &str) -> OmittedFile {
    /// How many bytes of both ends are hashed.
    const LOOKED_AT_BYTES: usize = 4 << 10;
    let mut hasher = Fingerprint::default();
    hasher.write(name.as_bytes());
    let bytes = inside.as_bytes();
    hasher.write_usize(bytes.len());
    hasher.write(bytes.get(..LOOKED_AT_BYTES).unwrap_or(bytes));
    hasher.write(bytes.get(bytes.len().saturating_sub(LOOKED_AT_BYTES)..).unwrap_or_default());
    // In base64, four characters are three bytes.
    let size = u64::try_from(bytes.len() / 4 * 3).unwrap_or(u64::MAX);
    OmittedFile {
        kind: CompactString::new(kind),
        name: CompactString::new(beginning(name, 256)),
        bytes: size,
        print: hasher.finish(),
    }
}

/// A file at `address`, which may contain the file (`data:image/png;base64,…`).
fn file_at(kind: &str, address: &str) -> OmittedFile {
    match address.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((head, inside)) => file(kind, head.split(';').next().unwrap_or_default(), inside),
        None => file(kind, address, ""),
    }
}

#[cfg(test)]
mod tests;
