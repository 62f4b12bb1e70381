//! Forge: SSE events with names of their own, or objects `{"event", "data"}` as its documents print them.
//!
//! ```text
//! event: thinking     data: {"content":"Hm","cumulative":"Hm"}
//! event: tool_call    data: {"id":"c1","tool_name":"now","arguments":{},"status":"executing"}
//! event: tool_result  data: {"tool_call_id":"c1","result":"noon","is_error":false,"latency_ms":12}
//! event: token        data: {"token":"It is ","cumulative":"It is "}
//! event: complete     data: {"response":"It is noon.","usage":{"prompt_tokens":9,"completion_tokens":3}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `token`, `thinking` | text, reasoning: see `sum` |
//! | `tool_call` | a call, whole; executed unless its status is `pending` |
//! | `tool_result` | its result; one that comes before the call waits for it |
//! | `complete` | the run is complete, with its tokens; `response` is what the text is in the end |
//! | `error` | a failure, unless the answer goes on after it; the code `CANCELLED` cancels the run |
//! | `ping` | nothing |
//! | anything else | raw |
//!
//! Tokens and thoughts come with all the text so far (`cumulative`), so that what was missed is repaired. Of
//! the states of a call any may be missing or repeated. The stream has no terminator but `complete`; without
//! it the run is interrupted.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::agents::unwrapped;
use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::openai_chat::usage;
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, PartKind, RunStatus, ToolState, Usage};
use model::print::Fingerprint;

mod sum;

use sum::CumulativeText;

/// The name of the dialect.
pub const NAME: &str = "forge";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(ForgeMeaning {
        writer: EventWriter::new(NAME, options),
        text: CumulativeText::new(PartKind::Text),
        thinking: CumulativeText::new(PartKind::Thinking),
        calls: IndexMap::new(),
        early: IndexMap::new(),
        is_cancelled: false,
    }))
}

/// The meaning of one stream of events.
#[derive(Debug)]
struct ForgeMeaning {
    writer: EventWriter,
    /// The text of the answer.
    text: CumulativeText,
    /// The reasoning before the answer.
    thinking: CumulativeText,
    /// The calls of the run, by the dialect's id, or the writer's if there is none.
    calls: IndexMap<CompactString, ForgeCall>,
    /// Results of calls that were not received yet.
    early: IndexMap<CompactString, CallOutcome>,
    /// The last failure was that somebody cancelled the run.
    is_cancelled: bool,
}

/// A call that was written.
#[derive(Debug)]
struct ForgeCall {
    /// The id by which the writer knows it.
    id: CompactString,
    /// The event that the call is executing was written.
    runs: bool,
    /// The call has its result.
    is_over: bool,
    /// How it ended, as its status says: if no result comes, that is all that is known.
    end: Option<ToolState>,
    /// The hash of the arguments that were written last.
    hash: u64,
}

/// The fields of all events; each event uses some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForgeFields<'a> {
    #[serde(borrow)]
    token: ForeignField<'a>,
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    cumulative: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    tool_name: ForeignField<'a>,
    #[serde(borrow)]
    arguments: ForeignField<'a>,
    #[serde(borrow)]
    status: ForeignField<'a>,
    #[serde(borrow)]
    result: ForeignField<'a>,
    #[serde(borrow)]
    is_error: ForeignField<'a>,
    /// How long the call was executed, in milliseconds.
    #[serde(borrow)]
    latency_ms: ForeignField<'a>,
    /// The whole text of the answer.
    #[serde(borrow)]
    response: ForeignField<'a>,
    #[serde(borrow)]
    usage: ForeignField<'a>,
    #[serde(borrow)]
    model: ForeignField<'a>,
    #[serde(borrow)]
    code: ForeignField<'a>,
    #[serde(borrow)]
    retryable: ForeignField<'a>,
}

impl ObjectMeaning for ForgeMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let (kind, payload) = unwrapped(name, whole);
        let body: ForgeFields<'_> = payload.object();
        if kind == "ping" || (kind == "complete" && self.writer.has_begun() && !self.writer.is_running()) {
            return;
        }
        self.writer.begin(body.model.text().as_deref(), out);
        let cumulative = body.cumulative.text();
        if matches!(&*kind, "token" | "thinking" | "tool_call" | "tool_result") {
            // The server says first that it has no tools, and answers without them: that did not end the answer.
            self.writer.clear_failure();
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

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let body: ForgeFields<'_> = whole.object();
        let mut fact = fault(whole);
        fact.retryable = body.retryable.switch().or(fact.retryable);
        self.is_cancelled |= body.code.text().is_some_and(|code| code == "CANCELLED");
        self.writer.fail(fact, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let status = self.is_cancelled.then_some(RunStatus::Cancelled);
        self.close(status, None, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl ForgeMeaning {
    /// Takes a call in some state. It is written when it is new, and its arguments again when they change.
    fn call(&mut self, body: &ForgeFields<'_>, out: &mut Decoded) {
        let id = body.id.words().or_else(|| body.tool_call_id.words()).unwrap_or_default();
        self.text.close(&self.writer, out);
        self.thinking.close(&self.writer, out);
        let arguments = body.arguments.words();
        let key = match self.calls.get_mut(&*id).filter(|_| !id.is_empty()) {
            Some(call) => {
                if let Some(arguments) =
                    arguments.filter(|arguments| Fingerprint::of(&[arguments]) != call.hash)
                {
                    call.hash = Fingerprint::of(&[&arguments]);
                    let (tool, arguments) = (self.writer.tool_id(&call.id), Some(arguments.into_owned()));
                    self.writer.push(Kind::ToolCall { tool, name: None, arguments }, out);
                }
                CompactString::new(&id)
            }
            None if self.writer.has_room(out) => {
                let arguments = arguments.unwrap_or_else(|| "{}".into());
                let name = body.tool_name.word().unwrap_or_default();
                let open = self.writer.whole_call(&id, &name, Some(&arguments), None, out);
                let call = ForgeCall {
                    id: open.id().into(),
                    runs: false,
                    is_over: false,
                    end: None,
                    hash: Fingerprint::of(&[&arguments]),
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

    /// Takes the result of a call, or keeps it until the call comes. Without an id it is the oldest call
    /// without one.
    fn result(&mut self, body: &ForgeFields<'_>, out: &mut Decoded) {
        let id = body.tool_call_id.words().or_else(|| body.id.words()).unwrap_or_default();
        let outcome =
            CallOutcome { is_error: body.is_error.is_true(), ..CallOutcome::of(body.result.json()) };
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

    /// Ends the run. Results without a call are written; calls whose status said that they are over end in
    /// that state, since the server sends no result if the model called a tool that does not exist.
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
        (self.text, self.thinking) =
            (CumulativeText::new(PartKind::Text), CumulativeText::new(PartKind::Thinking));
        self.calls.clear();
        self.is_cancelled = false;
        self.writer.end(RunEnding { is_whole: status.is_some(), status, usage, ..RunEnding::default() }, out);
    }
}
