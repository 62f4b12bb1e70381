//! Forge: SSE events with names of their own, or objects `{"event", "data"}` as its documents print them. Tokens and
//! thoughts come with all the text so far (`cumulative`), so that what was missed is healed. Of a call's states any may be
//! missing or repeated; what a call gave back is told apart from them, and perhaps before them.

use std::hash::Hasher as _;

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::agents::unwrapped;
use super::fault::fault;
use super::field::Field;
use super::framing::excerpt;
use super::objects::{Meaning, Objects};
use super::openai_chat::usage;
use super::writer::{Ending, Outcome, Writer};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, PartKind, RunStatus, ToolState, Usage};

mod sum;

use sum::Sum;

/// The name of the dialect.
pub const NAME: &str = "forge";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(Objects::new(Forge {
        writer: Writer::new(NAME, options),
        text: Sum::new(PartKind::Text),
        thinking: Sum::new(PartKind::Thinking),
        calls: IndexMap::new(),
        early: IndexMap::new(),
        is_cancelled: false,
    }))
}

#[derive(Debug)]
struct Forge {
    writer: Writer,
    text: Sum,
    thinking: Sum,
    /// By the dialect's id.
    calls: IndexMap<CompactString, Call>,
    /// Results of calls that were not told yet.
    early: IndexMap<CompactString, Outcome>,
    is_cancelled: bool,
}

#[derive(Debug)]
struct Call {
    /// The id by which the writer knows it.
    id: CompactString,
    runs: bool,
    /// Its result is there.
    is_over: bool,
    /// It was said to be over, and how it ended: where no result comes, that is all that is known.
    end: Option<ToolState>,
    /// Of the arguments that were told last.
    hash: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    token: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
    #[serde(borrow)]
    cumulative: Field<'a>,
    #[serde(borrow)]
    id: Field<'a>,
    #[serde(borrow)]
    tool_call_id: Field<'a>,
    #[serde(borrow)]
    tool_name: Field<'a>,
    #[serde(borrow)]
    arguments: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    result: Field<'a>,
    #[serde(borrow)]
    is_error: Field<'a>,
    #[serde(borrow)]
    latency_ms: Field<'a>,
    #[serde(borrow)]
    response: Field<'a>,
    #[serde(borrow)]
    usage: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    code: Field<'a>,
    #[serde(borrow)]
    retryable: Field<'a>,
}

impl Meaning for Forge {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = Field::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let (kind, payload) = unwrapped(name, whole);
        let body: Body<'_> = payload.object();
        if kind == "ping" || (kind == "complete" && self.writer.has_begun() && !self.writer.is_running()) {
            return;
        }
        self.writer.begin(body.model.text().as_deref(), out);
        let cumulative = body.cumulative.text();
        if matches!(&*kind, "token" | "thinking" | "tool_call" | "tool_result") {
            // The server says first that it has no tools, and answers without them: that did not end the answer.
            self.writer.outlives();
            self.is_cancelled = false;
        }
        match &*kind {
            "token" => {
                let token = body.token.text().or_else(|| body.content.text()).unwrap_or_default();
                self.thinking.close(&self.writer, out);
                self.text.add(&token, cumulative.as_deref(), &mut self.writer, out);
            }
            "thinking" => {
                let thought = body.content.text().or_else(|| body.token.text()).unwrap_or_default();
                self.text.close(&self.writer, out);
                self.thinking.add(&thought, cumulative.as_deref(), &mut self.writer, out);
            }
            "tool_call" => self.call(&body, out),
            "tool_result" => self.result(&body, out),
            "complete" => {
                self.thinking.close(&self.writer, out);
                self.text.finish(&body.response.text().unwrap_or_default(), &mut self.writer, out);
                self.close(Some(RunStatus::Complete), usage(body.usage), out);
            }
            "error" => self.fail(payload, out),
            _ => self.writer.raw(whole, None, out),
        }
    }

    fn fail(&mut self, whole: Field<'_>, out: &mut Decoded) {
        let body: Body<'_> = whole.object();
        let mut fact = fault(whole);
        fact.retryable = body.retryable.switch().or(fact.retryable);
        self.is_cancelled |= body.code.text().is_some_and(|code| code == "CANCELLED");
        self.writer.fail(fact, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let status = self.is_cancelled.then_some(RunStatus::Cancelled);
        self.close(status, None, out);
    }

    fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

impl Forge {
    fn call(&mut self, body: &Body<'_>, out: &mut Decoded) {
        let id = body.id.words().or_else(|| body.tool_call_id.words()).unwrap_or_default();
        self.text.close(&self.writer, out);
        self.thinking.close(&self.writer, out);
        let arguments = body.arguments.words();
        let key = match self.calls.get_mut(&*id).filter(|_| !id.is_empty()) {
            Some(call) => {
                if let Some(arguments) = arguments.filter(|arguments| hash(arguments) != call.hash) {
                    call.hash = hash(&arguments);
                    let (tool, arguments) = (self.writer.tool_id(&call.id), Some(arguments.into_owned()));
                    self.writer.push(Kind::ToolCall { tool, name: None, arguments }, out);
                }
                CompactString::new(&id)
            }
            None if self.writer.has_room(out) => {
                let arguments = arguments.unwrap_or_else(|| "{}".into());
                let name = body.tool_name.word().unwrap_or_default();
                let open = self.writer.whole_call(&id, &name, Some(&arguments), None, out);
                let call = Call {
                    id: open.id().into(),
                    runs: false,
                    is_over: false,
                    end: None,
                    hash: hash(&arguments),
                };
                let key = if id.is_empty() { call.id.clone() } else { CompactString::new(&id) };
                self.calls.insert(key.clone(), call);
                key
            }
            None => return,
        };
        let Some(call) = self.calls.get_mut(&key) else { return };
        // Its result is told in an event of its own: until then even a call that is complete only runs.
        let status = body.status.text();
        let runs = status.as_deref().is_some_and(|status| status != "pending");
        call.end = match status.as_deref() {
            Some("complete") => Some(ToolState::Complete),
            Some("error") => Some(ToolState::Error),
            _ => call.end,
        };
        if runs && !call.is_over && !std::mem::replace(&mut call.runs, true) {
            self.writer.state(&call.id, ToolState::Executing, None, out);
        }
        if let Some(outcome) = self.early.shift_remove(&key) {
            call.is_over = true;
            self.writer.result(&call.id, outcome, None, out);
        }
    }

    fn result(&mut self, body: &Body<'_>, out: &mut Decoded) {
        let id = body.tool_call_id.words().or_else(|| body.id.words()).unwrap_or_default();
        let outcome = Outcome { is_error: body.is_error.is_true(), ..Outcome::of(body.result.json()) };
        let outcome = outcome.took(body.latency_ms.count());
        self.text.close(&self.writer, out);
        self.thinking.close(&self.writer, out);
        let call = if id.is_empty() {
            self.calls.values_mut().find(|call| !call.is_over)
        } else {
            self.calls.get_mut(&*id)
        };
        match call {
            Some(call) => {
                call.is_over = true;
                self.writer.result(&call.id, outcome, None, out);
            }
            None if self.writer.has_room(out) => {
                self.early.insert(CompactString::new(&id), outcome);
            }
            None => {}
        }
    }

    fn close(&mut self, status: Option<RunStatus>, usage: Option<Usage>, out: &mut Decoded) {
        self.thinking.close(&self.writer, out);
        self.text.close(&self.writer, out);
        if self.writer.is_running() {
            for (id, outcome) in std::mem::take(&mut self.early) {
                self.writer.result(&id, outcome, None, out);
            }
            // The server tells no result where the model called what is not there.
            let is_whole = status == Some(RunStatus::Complete);
            for call in self.calls.values().filter(|call| is_whole && !call.is_over) {
                if let Some(end) = call.end {
                    self.writer.state(&call.id, end, None, out);
                }
            }
        }
        (self.text, self.thinking) = (Sum::new(PartKind::Text), Sum::new(PartKind::Thinking));
        self.calls.clear();
        self.is_cancelled = false;
        self.writer.end(Ending { is_whole: status.is_some(), status, usage, ..Ending::default() }, out);
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}
