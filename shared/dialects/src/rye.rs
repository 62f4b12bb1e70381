//! Rye: the transcript of a thread, one object a line, with what happened in `payload` or, as its documents
//! print it, in the line itself.
//!
//! ```text
//! {"timestamp":1770000000.5,"thread_id":"t1","event_type":"thread_started","payload":{"directive":"fix","model":"m"}}
//! {"thread_id":"t1","event_type":"cognition_in","payload":{"role":"user","text":"Fix it."}}
//! {"thread_id":"t1","event_type":"cognition_out_delta","payload":{"text":"I l","chunk_index":0}}
//! {"thread_id":"t1","event_type":"tool_call_start","payload":{"tool":"ls","call_id":"c1","input":{}}}
//! {"thread_id":"t1","event_type":"tool_call_result","payload":{"call_id":"c1","output":"main.py","duration_ms":8}}
//! {"thread_id":"t1","event_type":"cognition_out","payload":{"text":"I look.","turn":1}}
//! {"thread_id":"t1","event_type":"thread_completed","payload":{"cost":{"spend":0.01}}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `thread_started` | the title of the run, its limits as a custom event |
//! | `cognition_in` | a message; with the role `tool` the result of a call |
//! | `cognition_out_delta`, `cognition_reasoning` | text, reasoning |
//! | `cognition_out` | the whole text of the turn, which counts; a partial one is a status and a custom event too |
//! | `tool_call_start`, `tool_call_result` | a call that is executed, its result |
//! | `child_thread_started` | a sub-agent; so is every other thread in the file |
//! | `thread_completed`, `_cancelled`, `_suspended`, `_failed`, `_error` | the end of the run or of the sub-agent, with cost and tokens |
//! | `error_classified` | an error; the thread goes on, or says itself that it does not |
//! | `limit_escalation_requested` | a status and a custom event |
//! | anything else | raw |
//!
//! A turn is a cognition: its deltas may be incomplete, the text at its end counts, also when the turn broke
//! off. Calls are executed while the text is still streamed.
//!
//! A transcript need not say how its thread ended: then the last event of the thread counts. A whole answer
//! is its end, one that says of itself that it broke off leaves the thread interrupted, and anything else
//! means that lines are missing.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::dialect::rye::{COGNITION_FAILED, PARTIAL};
use model::event::{AgentStart, ErrorFact, Kind, RunStatus, RunUpdate, ToolState};
use model::ids::AgentId;
use model::json::Json;

mod turn;
mod wire;

use turn::RyeTurn;
use wire::{RyeLine, RyePayload, failure, is_partial, millis, usage};

/// The name of the dialect.
pub const NAME: &str = "rye";

/// A decoder for one transcript.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    let writer = EventWriter::new(NAME, options);
    Box::new(ObjectDecoder::records(RyeMeaning {
        writer,
        root: None,
        turns: IndexMap::new(),
        last: ThreadStanding::Open,
    }))
}

/// The meaning of the lines.
#[derive(Debug)]
struct RyeMeaning {
    writer: EventWriter,
    /// The thread of the run: that of its first line.
    root: Option<CompactString>,
    /// The turn of each thread; that of the run under no agent.
    turns: IndexMap<Option<AgentId>, RyeTurn>,
    /// The last work of the thread of the run.
    last: ThreadStanding,
}

/// The last work of a thread, which decides how it ended if the transcript does not say.
#[derive(Debug, Clone, Copy)]
enum ThreadStanding {
    /// An action after which more has to come.
    Open,
    /// A complete answer.
    Whole,
    /// An answer that broke off.
    Partial,
}

impl ObjectMeaning for RyeMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let event: RyeLine<'_> = whole.object();
        let kind = event.event_type.word().or_else(|| event.kind.word()).unwrap_or_else(|| name.into());
        let payload = if event.payload.is_object() { event.payload } else { whole };
        let payload: RyePayload<'_> = payload.object();
        self.writer.set_time(millis(event.timestamp));
        if !self.writer.is_running() {
            self.root = event.thread_id.words().map(|id| CompactString::new(&id));
        }
        // A child's model is not that of the run.
        let is_child =
            event.thread_id.words().is_some_and(|id| self.root.as_ref().is_some_and(|root| *root != id));
        self.writer.begin(payload.model.text().filter(|_| !is_child).as_deref(), out);
        let agent = self.agent(&event, &payload, out);
        self.take(&kind, whole, &payload, agent.as_ref(), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let (is_whole, status) = match self.last {
            ThreadStanding::Open => (false, None),
            ThreadStanding::Whole => (true, None),
            ThreadStanding::Partial => (false, Some(RunStatus::Interrupted)),
        };
        self.close(RunEnding { is_whole, status, ..RunEnding::default() }, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl RyeMeaning {
    /// Takes what a line says, of the sub-agent `agent` or of the run.
    fn take(
        &mut self,
        kind: &str,
        whole: ForeignField<'_>,
        payload: &RyePayload<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let Self { writer: w, turns, last, .. } = self;
        let text = payload.text.text().unwrap_or_default();
        let turn = turns.entry(agent.cloned()).or_default();
        let is_work = kind.starts_with("cognition_") || kind.starts_with("tool_call_");
        if agent.is_none() && (is_work || kind == "error_classified") {
            *last = match kind {
                "cognition_out" if is_partial(payload) => ThreadStanding::Partial,
                "cognition_out" => ThreadStanding::Whole,
                _ => ThreadStanding::Open,
            };
        }
        match kind {
            "cognition_in" if payload.role.word().as_deref() == Some("tool") => {
                self.answered(whole, payload, agent, out);
            }
            "cognition_in" => w.message(payload.role.word().as_deref().unwrap_or("user"), &text, out),
            "cognition_out_delta" => turn.text(payload.turn.count(), &text, agent, w, out),
            "cognition_reasoning" => {
                let is_all = payload.is_partial.is_true() || payload.was_interrupted.is_true();
                turn.reasoning(&text, is_all, agent, w, out);
            }
            "cognition_out" => {
                turn.whole(payload.turn.count(), payload.text.text().as_deref(), agent, w, out);
                // Before its texts end: that they are not whole is known by then.
                partial(payload, agent, w, out);
                turn.close(w, out);
            }
            "tool_call_start" => self.call(payload, agent, out),
            "tool_call_result" => self.result(payload, agent, out),
            _ => self.thread(kind, whole, payload, agent, out),
        }
    }

    /// The sub-agent that the thread of a line is; nothing for the thread of the run.
    fn agent(&mut self, event: &RyeLine<'_>, payload: &RyePayload<'_>, out: &mut Decoded) -> Option<AgentId> {
        let thread = event.thread_id.words()?;
        let root = self.root.get_or_insert_with(|| CompactString::new(&thread));
        if *root == thread {
            return None;
        }
        let directive = payload.directive.word();
        self.child(&thread, directive.as_deref(), None, out)
    }

    /// The sub-agent of a thread below that of the run; it begins if it is new.
    fn child(
        &mut self,
        thread: &str,
        name: Option<&str>,
        parent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> Option<AgentId> {
        let agent = AgentId::new(thread);
        if !self.turns.contains_key(&Some(agent.clone())) {
            if !self.writer.has_room(out) {
                return None;
            }
            let name = name.map(CompactString::new);
            let start = AgentStart { name, parent: parent.cloned(), ..AgentStart::default() };
            self.turns.insert(Some(agent.clone()), RyeTurn::default());
            self.writer.open_agent(thread, start, out);
        }
        Some(agent)
    }

    /// Writes a call that is executed from now on.
    fn call(&mut self, payload: &RyePayload<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let w = &mut self.writer;
        if !w.has_room(out) {
            return;
        }
        let (id, name) =
            (payload.call_id.words().unwrap_or_default(), payload.tool.word().unwrap_or_default());
        let input = payload.input.words().unwrap_or_else(|| "{}".into());
        let call = w.whole_call(&id, &name, Some(&input), agent, out);
        w.state(call.id(), ToolState::Executing, agent, out);
        self.turns.entry(agent.cloned()).or_default().called(call.id());
    }

    /// Writes the result of a call. Whether it failed shows in its `error`.
    fn result(&mut self, payload: &RyePayload<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let id = payload.call_id.words().unwrap_or_default();
        let outcome = if payload.error.is_truthy() {
            CallOutcome::error(payload.error.json())
        } else {
            CallOutcome::of(payload.output.json())
        };
        // What a model is told of a call that failed is its output, where it has one.
        let told = payload.output.words().or_else(|| payload.error.words()).unwrap_or_default();
        self.turns.entry(agent.cloned()).or_default().answered(&id, &told);
        self.writer.result(&id, outcome.took(payload.duration_ms.count()), agent, out);
    }

    /// Takes what a model is told of a call: the result of the newest call that has none. Rye writes both, so
    /// it is mostly what `tool_call_result` said, and then it is not written again; without a call that it
    /// could be of it is passed on raw.
    fn answered(
        &mut self,
        whole: ForeignField<'_>,
        payload: &RyePayload<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let Self { writer: w, turns, .. } = self;
        let turn = turns.entry(agent.cloned()).or_default();
        let text = payload.text.words().unwrap_or_default();
        let Some(id) = turn.open_call(payload.call_id.words().as_deref()) else {
            if !turn.has_told(&text) {
                w.raw(whole, agent, out);
            }
            return;
        };
        turn.answered(&id, &text);
        w.result(&id, CallOutcome::of(payload.text.json()), agent, out);
    }

    /// Takes the end of a thread, or anything else about one.
    fn thread(
        &mut self,
        kind: &str,
        whole: ForeignField<'_>,
        payload: &RyePayload<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let reason = payload.suspend_reason.word().or_else(|| payload.reason.word());
        let status = match (kind, reason.as_deref()) {
            ("thread_completed", _) => RunStatus::Complete,
            ("thread_cancelled", _) => RunStatus::Cancelled,
            ("thread_suspended", Some("error")) | ("thread_failed" | "thread_error", _) => RunStatus::Error,
            ("thread_suspended", _) => RunStatus::Interrupted,
            _ => return self.other(kind, whole, payload, agent, out),
        };
        if payload.cost.is_object() {
            self.writer.custom("cost", payload.cost, agent, out);
        }
        if status == RunStatus::Error
            && let Some(fact) = failure(payload)
        {
            self.writer.push_by(agent, Kind::Error(fact), out);
        }
        if let Some(agent) = agent {
            let Self { writer: w, turns, .. } = self;
            turns.entry(Some(agent.clone())).or_default().close(w, out);
            if let Some(total) = usage(payload.cost) {
                w.set_agent_usage(agent, total, None);
            }
            return w.close_agent(agent, status, out);
        }
        let finish_reason = match (kind, reason) {
            ("thread_suspended", Some(reason)) => Some(compact_str::format_compact!("suspended: {reason}")),
            ("thread_suspended", None) => Some(CompactString::const_new("suspended")),
            (_, reason) => reason.map(|reason| CompactString::new(&reason)),
        };
        let ending = RunEnding {
            status: Some(status),
            finish_reason,
            usage: usage(payload.cost),
            ..RunEnding::default()
        };
        self.close(ending, out);
    }

    /// Takes an event about a thread that does not end it.
    fn other(
        &mut self,
        kind: &str,
        whole: ForeignField<'_>,
        payload: &RyePayload<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        match kind {
            "thread_started" => {
                let title =
                    payload.directive.word().filter(|_| agent.is_none()).map(std::borrow::Cow::into_owned);
                if title.is_some() {
                    self.writer.push(Kind::RunUpdate(RunUpdate { title, ..RunUpdate::default() }), out);
                }
                if payload.limits.is_truthy() {
                    self.writer.custom("limits", payload.limits, agent, out);
                }
            }
            "child_thread_started" => {
                let thread = payload.child_thread_id.words().unwrap_or_default();
                let name = payload.child_directive.word();
                self.child(&thread, name.as_deref(), agent, out);
            }
            "error_classified" => {
                let code = payload.error_code.words().unwrap_or_else(|| "error".into());
                let message = payload.category.words().unwrap_or_default().into_owned();
                let (code, retryable) = (CompactString::new(&code), payload.retryable.switch());
                // Its thread goes on, or says itself that it does not.
                let fact = ErrorFact { code, message, retryable, retry_after_ms: None };
                self.writer.push_by(agent, Kind::Error(fact), out);
            }
            "limit_escalation_requested" => {
                let limit = payload.limit_code.words().unwrap_or_default();
                let [at, most] = [payload.current_value, payload.current_max]
                    .map(|value| value.words().unwrap_or_default());
                self.writer.push_by(
                    agent,
                    Kind::Status { text: format!("asks for more than {most} {limit}, is at {at}") },
                    out,
                );
                self.writer.custom("limit_escalation_requested", whole, agent, out);
            }
            _ => self.writer.raw(whole, agent, out),
        }
    }

    /// Ends all turns and the run.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        for (_, mut turn) in std::mem::take(&mut self.turns) {
            turn.close(&self.writer, out);
        }
        self.last = ThreadStanding::Open;
        self.writer.end(ending, out);
    }
}

/// Writes what is said of a cognition that broke off, and its error.
fn partial(payload: &RyePayload<'_>, agent: Option<&AgentId>, w: &mut EventWriter, out: &mut Decoded) {
    if is_partial(payload) {
        let percentage = payload.completion_percentage;
        let at = percentage.words().map(|at| format!(" at {at} %")).unwrap_or_default();
        w.push_by(agent, Kind::Status { text: format!("the answer was interrupted{at}") }, out);
        let value = Json::of(&serde_json::json!({
            "completion_percentage": percentage.json(),
            "truncated": payload.truncated.is_true(),
        }));
        w.push_by(agent, Kind::Custom { name: CompactString::const_new(PARTIAL), value }, out);
    }
    if let Some(message) = payload.error.words() {
        let fact = ErrorFact {
            code: CompactString::const_new(COGNITION_FAILED),
            message: message.into_owned(),
            retryable: None,
            retry_after_ms: None,
        };
        w.push_by(agent, Kind::Error(fact), out);
    }
}
