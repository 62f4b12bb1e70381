//! A conversation as events for the emitter of an Open WebUI function, while it goes on.
//!
//! ```text
//! {"type":"replace","data":{"content":"…"}}        the newest run so far, as a whole
//! {"type":"status","data":{"description":"…","done":false}}
//! {"type":"source","data":{"source":{"name":"🔧 …"},"document":["…"],"metadata":[{"source":"…","full_result":"…"}]}}
//! {"type":"chat:message:error","data":{"error":{"content":"…"}}}
//! ```
//!
//! | event of the hub | becomes |
//! |---|---|
//! | a change of a state | `replace` immediately, while the content is not very long |
//! | a text that grows | `replace` at most ten times a second, less often the longer the content is |
//! | a status | `status` with its text in one line |
//! | a call is executed, waits for consent, failed | `status` with the name of the tool |
//! | a result | `source` with the beginning of its text |
//! | a sub-agent begins, ends | `status` |
//! | the run ends | `replace`, `status` with `done`, and `chat:message:error` if it failed |
//!
//! One message shows one run: as soon as another run starts, the events of all others are left out. Progress
//! and rates are not shown. The stream has no terminator.

use serde_json::{Value, json};

use super::{OpenWebUiOptions, ResultForm, content};
use crate::{Encode, EncodeOptions};
use model::envelope::Envelope;
use model::event::{Class, Kind, RunStatus, ToolState};
use model::fold::{complete, fold};
use model::ids::RunId;
use model::preview;
use model::view::{ToolView, View};

/// The size of the longest result in a content, in bytes. The content is sent again and again; the export has
/// the whole result.
const BYTES_MAX: usize = 16 << 10;

/// The length of the longest result in the document of a source, in characters; its metadata has up to
/// [`BYTES_MAX`] bytes of it.
const DOCUMENT_CHARS_MAX: usize = 500;

/// The shortest time between two contents while a text grows, in milliseconds.
const PAUSE_MS: u64 = 100;

/// The size of the longest content that is sent immediately when a state changes, in bytes; longer ones wait.
const BYTES_AT_ONCE_MAX: usize = 256 << 10;

/// How many bytes of content may be sent in a millisecond: 1 MB a second, whatever the size of the content.
const BYTES_EACH_MS: u64 = 1_000;

/// An encoder for a function that reads these events as a stream, line by line.
pub(crate) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(OpenWebUiEncoder::default())
}

/// Writes the events of an [`OpenWebUiStream`] as lines of an event stream, in the form of the newer versions
/// of Open WebUI.
#[derive(Debug, Default)]
struct OpenWebUiEncoder {
    /// The state of the stream.
    live: OpenWebUiStream,
}

impl Encode for OpenWebUiEncoder {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let mut told = Vec::new();
        self.live.event(envelope, &mut told);
        put(&told, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let mut told = Vec::new();
        self.live.end(&mut told);
        put(&told, out);
    }
}

/// Writes each event as one `data:` line, with an empty line behind it.
fn put(told: &[Value], out: &mut Vec<u8>) {
    for event in told {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(event.to_string().as_bytes());
        out.extend_from_slice(b"\n\n");
    }
}

/// Turns events of a conversation into events for Open WebUI.
///
/// It owns a view of the whole conversation, which grows within the limits of a view. One is made for each
/// reader.
#[derive(Debug, Default)]
pub struct OpenWebUiStream {
    /// The place where results of calls are written.
    form: ResultForm,
    /// What the events so far fold to.
    view: View,
    /// The newest run: the one that is shown.
    run: Option<RunId>,
    /// The content that was sent last.
    sent: String,
    /// When that was, in milliseconds since 1970, by the time of the event.
    sent_at: u64,
    /// The run has changed since `sent`.
    is_stale: bool,
}

impl OpenWebUiStream {
    /// A stream whose content has this form.
    pub fn new(form: ResultForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Takes the next event and adds the events for Open WebUI to `out`.
    ///
    /// How often content is sent depends on the times of the events, not on a clock, so the same events
    /// always give the same stream. A change that came too soon is sent with a later event, or by
    /// [`OpenWebUiStream::end`].
    pub fn event(&mut self, envelope: &Envelope, out: &mut Vec<Value>) {
        let mut envelope = envelope.clone();
        complete(&self.view, &mut envelope.event);
        let before = self.tool(&envelope).map(|tool| tool.state);
        let was_over = self.agent_is_over(&envelope);
        fold(&mut self.view, &envelope, &mut |_change| {});
        let kind = &envelope.event.kind;
        if kind.class() == Class::Ephemeral || envelope.event.run.is_none() {
            return;
        }
        if self.run.as_ref() != Some(&envelope.event.run) && matches!(kind, Kind::RunStart(_))
            || self.run.is_none()
        {
            self.run = Some(envelope.event.run.clone());
            self.sent.clear();
        }
        if self.run.as_ref() != Some(&envelope.event.run) {
            return;
        }
        self.is_stale = true;
        let pause = self.sent.len() as u64 / BYTES_EACH_MS;
        let pause = match kind {
            Kind::RunEnd(_) => 0,
            // A change of a state must not wait for the next event, which may come much later.
            kind if kind.class() == Class::Critical && self.sent.len() < BYTES_AT_ONCE_MAX => 0,
            _ => pause.max(PAUSE_MS),
        };
        if envelope.at.saturating_sub(self.sent_at) >= pause {
            self.replace(envelope.at, out);
        }
        // A second end of a sub-agent, which brings its usage, is not shown.
        if !was_over || !matches!(envelope.event.kind, Kind::AgentEnd(_)) {
            self.tell(&envelope, before, out);
        }
    }

    /// Whether the sub-agent of an event had ended before it.
    fn agent_is_over(&self, envelope: &Envelope) -> bool {
        let run = self.view.runs.get(&envelope.event.run);
        let agent = run.zip(envelope.event.agent.as_ref()).and_then(|(run, id)| run.agents.get(id));
        agent.is_some_and(|agent| agent.status != RunStatus::Running)
    }

    /// Sends the last content, after the last event.
    pub fn end(&mut self, out: &mut Vec<Value>) {
        let at = self.sent_at;
        self.replace(at, out);
    }

    /// Sends the content of the run, if it has changed.
    fn replace(&mut self, at: u64, out: &mut Vec<Value>) {
        let run = self.run.as_ref().and_then(|id| self.view.runs.get(id));
        let Some(run) = run.filter(|_| self.is_stale) else { return };
        self.is_stale = false;
        self.sent_at = at;
        let content = content(run, OpenWebUiOptions { form: self.form, bytes_max: BYTES_MAX });
        if content != self.sent {
            out.push(json!({"type": "replace", "data": {"content": content}}));
            self.sent = content;
        }
    }

    /// The call whose state or result an event is about; nothing for any other event.
    fn tool(&self, envelope: &Envelope) -> Option<&ToolView> {
        let id = match &envelope.event.kind {
            Kind::ToolState(change) => &change.tool,
            Kind::ToolResult(result) => &result.tool,
            _ => return None,
        };
        self.view.runs.get(&envelope.event.run)?.tools.get(id)
    }

    /// Sends the status line for an event.
    ///
    /// `before` is the state of the call before the event; a state that did not change is not told again.
    fn tell(&self, envelope: &Envelope, before: Option<ToolState>, out: &mut Vec<Value>) {
        let mut status = |description: String, done: bool| {
            out.push(json!({"type": "status", "data": {"description": description, "done": done}}));
        };
        match &envelope.event.kind {
            Kind::Status { text } => status(preview::one_line(text), false),
            Kind::ToolState(_) | Kind::ToolResult(_) => {
                let Some(tool) = self.tool(envelope).filter(|tool| Some(tool.state) != before) else {
                    return;
                };
                let name = super::facts::tool_name(tool);
                match tool.state {
                    ToolState::Executing => status(format!("Executing {name}…"), false),
                    ToolState::Approval => status(format!("{name} waits for approval"), false),
                    ToolState::Error => status(format!("{name} failed"), false),
                    _ => {}
                }
                if matches!(envelope.event.kind, Kind::ToolResult(_)) {
                    out.push(source(&name, tool));
                }
            }
            Kind::AgentStart(start) => {
                let name = start.name.as_deref().map(preview::one_line).unwrap_or_default();
                status(format!("Sub-agent: {name}…"), false);
            }
            // The sub-agent is done, not the answer: pages show only the newest line.
            Kind::AgentEnd(_) => status("Sub-agent completed".to_owned(), true),
            Kind::RunEnd(end) => {
                let word = super::facts::status(end.status);
                let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
                status(format!("{}{rest}", first.to_uppercase()), true);
                if end.status == RunStatus::Error {
                    let error = self.view.runs.get(&envelope.event.run).and_then(|run| run.error.as_ref());
                    let text =
                        error.map_or_else(|| "The run failed".to_owned(), |error| error.message.clone());
                    out.push(json!({"type": "chat:message:error", "data": {"error": {"content": text}}}));
                }
            }
            _ => {}
        }
    }
}

/// The result of a call as a source of the answer.
///
/// The document is at most [`DOCUMENT_CHARS_MAX`] characters, the metadata at most [`BYTES_MAX`] bytes and a
/// note of how much is left out. A failed call says so in its text.
fn source(name: &str, tool: &ToolView) -> Value {
    let output = super::facts::output(tool).map_or_else(String::new, |output| output.text);
    let text = if tool.is_error { super::failed(&output) } else { output };
    let document: String = text.chars().take(DOCUMENT_CHARS_MAX).collect();
    let whole = super::shortened(&text, BYTES_MAX);
    json!({"type": "source", "data": {
        "source": {"name": format!("🔧 {name}")},
        "document": [document],
        "metadata": [{"source": name, "full_result": whole}],
    }})
}
