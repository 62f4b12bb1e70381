//! The history in a request whose messages have a role and a content, as most callers send it:
//!
//! ```json
//! {"messages": [{"role": "system", "content": "Be brief."},
//!               {"role": "user", "content": [{"type": "text", "text": "What is this?"},
//!                                            {"type": "image_url", "image_url": {}}]},
//!               {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {}}]},
//!               {"role": "tool", "tool_call_id": "c1", "content": "noon"}]}
//! ```
//!
//! It is parsed by the reader that the proxy uses for OpenAI's API, so whatever is recognised there is
//! recognised here.

use std::collections::VecDeque;

use exchange::{MessagePiece, ModelApi, ModelRequest, RequestMessage, RequestRole};
use model::ToolCallId;
use model::code::ErrorCode;
use model::event::MessageFile;
use serde_json::{Value, json};

use super::CallResult;
use super::files::file;
use agents::Refusal;
use agents::Spoken;

/// The messages of a request, sorted by what the hub does with them.
#[derive(Debug, Default)]
pub(super) struct History {
    /// What was said, in order, the system's instructions first. None has an id.
    pub(super) messages: Vec<Spoken>,
    /// The results of calls that the caller has executed.
    pub(super) results: Vec<CallResult>,
    /// Files of which the request has no contents, and such that no model takes. Each is replaced by its name in the
    /// text.
    pub(super) left_out: Vec<String>,
    /// The files of the request whose contents are there, in order; what was given to messages is taken out.
    files: VecDeque<(u64, MessageFile)>,
}

impl History {
    /// Sorts the messages of a parsed request. `raw` is its field `messages`, of which the contents of files are read.
    pub(super) fn of(request: &ModelRequest, raw: Option<&Value>) -> Self {
        let parts = raw.and_then(Value::as_array).into_iter().flatten();
        let parts = parts.filter_map(|message| message.get("content")?.as_array()).flatten();
        let known = |part: &Value| Some((exchange::file_print(&part.to_string())?, file(part)?));
        let mut history = Self { files: parts.filter_map(known).collect(), ..Self::default() };
        if let Some(system) = &request.system {
            history.messages.push(Spoken { role: "system".into(), ..Spoken::user(system) });
        }
        for said in &request.messages {
            history.hear(said);
        }
        history.left_out.extend(request.anomalies.iter().map(|anomaly| anomaly.detail.clone()));
        history
    }

    /// Adds one message. Its texts become one text with a line for each; the calls of an assistant are left
    /// out, since the conversation has them. A role that nobody knows counts as a user's.
    fn hear(&mut self, said: &RequestMessage) {
        let (mut texts, mut files, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &said.pieces {
            match piece {
                MessagePiece::Text(text) => texts.push(text.clone()),
                MessagePiece::File(omitted) => match self.taken(omitted.print) {
                    Some(file) if said.role == RequestRole::User => {
                        named.push(omitted.placeholder());
                        files.push(file);
                    }
                    _ => {
                        texts.push(omitted.placeholder());
                        self.left_out.push(omitted.placeholder());
                    }
                },
                MessagePiece::Result { id, output, is_error, .. } => {
                    let (tool, output, is_error) = (ToolCallId::new(id), output.clone(), *is_error);
                    self.results.push(CallResult { tool, output, is_error });
                }
                MessagePiece::Call { .. } | MessagePiece::Consent { .. } => {}
            }
        }
        let role = match &said.role {
            RequestRole::Tool => return,
            RequestRole::Other(_) => RequestRole::User.as_str(),
            role => role.as_str(),
        };
        if texts.is_empty() {
            // Histories are told apart by what is said.
            texts = named;
        }
        if !texts.is_empty() {
            self.messages.push(Spoken { role: role.into(), files, ..Spoken::user(&texts.join("\n")) });
        }
    }

    /// The file with this hash, which nobody has taken yet.
    fn taken(&mut self, print: u64) -> Option<MessageFile> {
        let place = self.files.iter().position(|(known, _)| *known == print)?;
        self.files.remove(place).map(|(_, file)| file)
    }
}

/// The messages of the field `messages`. What the hub ignores of them is added to `left_out`. Fails with
/// `bad_request` if the field is no list or nothing is said in it.
pub(super) fn history(messages: Option<&Value>, left_out: &mut Vec<String>) -> Result<Vec<Spoken>, Refusal> {
    let wrong = |why: &str| Refusal::new(ErrorCode::BadRequest, format!("messages: {why}"));
    let all = messages.and_then(Value::as_array).ok_or_else(|| wrong("a list is expected"))?;
    let body = json!({"messages": all}).to_string();
    let history = History::of(
        &ModelRequest::read(ModelApi::OpenAiChat, "/chat/completions", body.as_bytes()),
        messages,
    );
    left_out.extend(history.left_out);
    if history.messages.is_empty() {
        return Err(wrong("nothing is said in them"));
    }
    Ok(history.messages)
}
