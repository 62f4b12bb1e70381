//! Ralph: an Agno agent behind a server of its own. SSE events called `message`, with an object of a `type`
//! in each. The server executes the calls; their arguments and results come whole.
//!
//! ```text
//! event: message    data: {"type":"status","content":"Thinking..."}
//! event: message    data: {"type":"tool_call_start","tool_call_id":"c1","tool_name":"now","tool_args":{}}
//! event: message    data: {"type":"tool_call_complete","tool_call_id":"c1","tool_name":"now","result":"noon"}
//! event: message    data: {"type":"message","content":"It is noon."}
//! event: message    data: {"type":"done"}
//! ```
//!
//! | type | becomes |
//! |---|---|
//! | `status` | a status; after the end nothing |
//! | `message` | text |
//! | `tool_call_start` | a call that is executed |
//! | `tool_call_complete`, `tool_call_error` | its result |
//! | `error` | a failure |
//! | `done` | the run is complete |
//! | anything else | raw |
//!
//! A call that failed is reported twice, as complete and then as failed: so it has failed. Any other
//! repetition is passed on raw. The server cuts results after 2,000 characters. Without `done` the run is
//! interrupted.

use serde::Deserialize;

use super::agents::{AgentParts, UnansweredCalls};
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, PartKind, RunStatus, ToolState};

/// The name of the dialect.
pub const NAME: &str = "ralph";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    let writer = EventWriter::new(NAME, options);
    Box::new(ObjectDecoder::new(RalphMeaning {
        writer,
        parts: AgentParts::default(),
        open: UnansweredCalls::default(),
        completed: None,
    }))
}

/// The meaning of one stream of objects.
#[derive(Debug)]
struct RalphMeaning {
    writer: EventWriter,
    /// The open text, if there is one.
    parts: AgentParts,
    /// The calls without a result.
    open: UnansweredCalls,
    /// The call that was reported as complete last: the server may still say that it failed.
    completed: Option<compact_str::CompactString>,
}

/// An object of the stream; each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RalphLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    tool_name: ForeignField<'a>,
    #[serde(borrow)]
    tool_args: ForeignField<'a>,
    #[serde(borrow)]
    result: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

impl ObjectMeaning for RalphMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let event: RalphLine<'_> = whole.object();
        let kind = event.kind.word().unwrap_or_else(|| name.into());
        // Nothing is due after the end but what keeps the line alive.
        if kind != "done" && (kind != "status" || !self.writer.has_begun()) {
            self.writer.begin(None, out);
        }
        match &*kind {
            "status" if !self.writer.is_running() => {}
            "status" => {
                let text = event.content.words().unwrap_or_default().into_owned();
                self.writer.push(Kind::Status { text }, out);
            }
            "message" => {
                let text = event.content.text().unwrap_or_default();
                self.parts.write(PartKind::Text, &text, None, &mut self.writer, out);
            }
            "tool_call_start" => {
                self.call(&event, out);
            }
            "tool_call_complete" => self.result(whole, &event, CallOutcome::of(event.result.json()), out),
            "tool_call_error" => {
                let output = if event.error.is_some() { event.error } else { event.result };
                self.result(whole, &event, CallOutcome::error(output.json()), out);
            }
            "error" => self.fail(whole, out),
            "done" => self.close(true, out),
            _ => self.writer.raw(whole, None, out),
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(true, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(false, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl RalphMeaning {
    /// Writes a call that is executed from now on, and returns the id by which the writer knows it.
    fn call(&mut self, event: &RalphLine<'_>, out: &mut Decoded) -> Option<compact_str::CompactString> {
        self.parts.close(None, &self.writer, out);
        if !self.writer.has_room(out) {
            return None;
        }
        let (id, name) =
            (event.tool_call_id.words().unwrap_or_default(), event.tool_name.word().unwrap_or_default());
        let arguments = event.tool_args.words();
        let call = self.writer.whole_call(&id, &name, Some(arguments.as_deref().unwrap_or("{}")), None, out);
        self.writer.state(call.id(), ToolState::Executing, None, out);
        self.open.add(call.id(), &name);
        Some(call.id().into())
    }

    /// Takes the result of a call. Without an id it is the oldest call of that tool; a call whose start was
    /// missed is written now.
    fn result(
        &mut self,
        whole: ForeignField<'_>,
        event: &RalphLine<'_>,
        outcome: CallOutcome,
        out: &mut Decoded,
    ) {
        let (id, name) =
            (event.tool_call_id.words().unwrap_or_default(), event.tool_name.word().unwrap_or_default());
        self.parts.close(None, &self.writer, out);
        let id = if id.is_empty() { self.open.oldest(&name) } else { Some(id.into()) };
        let id = match id {
            Some(id) if self.open.remove(&id) => {
                self.completed = Some(id.clone()).filter(|_| !outcome.is_error);
                id
            }
            Some(id) if outcome.is_error && self.completed.as_ref() == Some(&id) => {
                self.completed = None;
                id
            }
            Some(id) if self.writer.knows_call(&id) => return self.writer.raw(whole, None, out),
            // Its start was missed.
            _ => match self.call(event, out) {
                Some(id) => id,
                None => return,
            },
        };
        self.open.remove(&id);
        self.writer.result(&id, outcome, None, out);
    }

    /// Ends the run, if one is open.
    fn close(&mut self, is_done: bool, out: &mut Decoded) {
        self.parts.close_all(&self.writer, out);
        (self.open, self.completed) = (UnansweredCalls::default(), None);
        let status = (is_done && !self.writer.has_failed()).then_some(RunStatus::Complete);
        self.writer.end(RunEnding { is_whole: is_done, status, ..RunEnding::default() }, out);
    }
}
