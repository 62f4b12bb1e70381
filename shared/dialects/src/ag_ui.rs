//! AG-UI: SSE or lines of JSON with one event each, from agents of many frameworks. Texts, reasoning and
//! calls have ids of their own and may be open side by side; a stream may hold several runs, and runs inside
//! of runs.
//!
//! ```text
//! data: {"type":"RUN_STARTED","threadId":"t","runId":"r1"}
//! data: {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
//! data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}
//! data: {"type":"TEXT_MESSAGE_END","messageId":"m1"}
//! data: {"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"now","delta":"{}"}
//! data: {"type":"RUN_FINISHED","threadId":"t","runId":"r1"}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `RUN_STARTED` | the start of a run; with the `parentRunId` of an open run, that of a sub-agent |
//! | `RUN_FINISHED` | its end; an `interrupt` outcome asks a person |
//! | `RUN_ERROR` | a failure and the end; `RUN_FINISHED` may follow and is ignored |
//! | `TEXT_MESSAGE_*` | text; with another role than `assistant`, a message |
//! | `REASONING_MESSAGE_*`, `THINKING_TEXT_MESSAGE_*` | reasoning |
//! | `REASONING_ENCRYPTED_VALUE` | a hidden reasoning part, if no other reasoning was written |
//! | `TOOL_CALL_*` | a call and its result |
//! | `MESSAGES_SNAPSHOT` | history, and what the run did without streaming it |
//! | `STEP_STARTED`, the title of `THINKING_START` | a status |
//! | `STATE_*`, `ACTIVITY_*`, `CUSTOM` | custom events |
//! | `USAGE_METADATA` | tokens of one model call |
//! | `SUBAGENT_*` | a sub-agent |
//! | `RAW`, anything else | raw |
//!
//! Producers differ from the protocol in many ways (a strict client would refuse a quarter of the recorded
//! runs): steps that were never started, calls sent twice, events after the end, names in `snake_case`. Only
//! what loses something, or makes it doubtful, becomes an anomaly. A stream that ends without an end of its
//! run is interrupted.

use compact_str::CompactString;
use indexmap::IndexSet;

use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::tokens::usage;
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, RunStatus, RunUpdate};
use model::ids::AgentId;

mod agents;
mod calls;
mod history;
mod interrupt;
mod texts;

use calls::AgUiCalls;
use history::AgUiHistory;
use texts::{AgUiTexts, MessageVoice};

/// The name of the dialect.
pub const NAME: &str = "ag-ui";

/// Most runs inside of runs, most sub-agents and most steps that are open at the same time (I7).
const OPEN_MAX: usize = 64;

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(AgUiMeaning {
        writer: EventWriter::new(NAME, options),
        inner: Vec::new(),
        sub_agents: IndexSet::new(),
        run_id: CompactString::default(),
        texts: AgUiTexts::default(),
        calls: AgUiCalls::default(),
        history: AgUiHistory::default(),
        steps: IndexSet::new(),
        is_late: false,
    }))
}

/// The meaning of one stream of events.
#[derive(Debug)]
struct AgUiMeaning {
    writer: EventWriter,
    /// The dialect's id of the open run.
    run_id: CompactString,
    /// The open runs inside of it, outermost first.
    inner: Vec<AgentId>,
    /// The open sub-agents that were named as such (`SUBAGENT_STARTED`).
    sub_agents: IndexSet<AgentId>,
    /// Text and reasoning, of all agents.
    texts: AgUiTexts,
    /// Calls of all agents.
    calls: AgUiCalls,
    /// The messages of others.
    history: AgUiHistory,
    /// The names of open steps.
    steps: IndexSet<CompactString>,
    /// An anomaly says that events were received between two runs.
    is_late: bool,
}

impl ObjectMeaning for AgUiMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let events = whole.list();
        if events.is_empty() {
            let detail = format!("line {line}: not a valid event: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        }
        for event in events {
            self.event(event, out);
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(RunEnding { is_whole: true, ..RunEnding::default() }, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(RunEnding::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl AgUiMeaning {
    /// Decodes one event.
    fn event(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let event = ForeignFields::of(whole);
        self.writer.set_time(event.get("timestamp").count().map(milliseconds));
        let kind = event.get("type").text().unwrap_or_default();
        self.end_chunks(&kind, &event, out);
        match &*kind {
            "RUN_STARTED" => return self.run_started(&event, out),
            "RUN_FINISHED" => return self.run_finished(&event, out),
            "RUN_ERROR" => return self.run_failed(whole, &event, out),
            "" if event.get("error").is_truthy() => return self.fail(whole, out),
            _ => {}
        }
        if !self.may_go_on(&kind, out) {
            return;
        }
        if let Some(what) = kind.strip_prefix("SUBAGENT_") {
            return self.sub_agent(what, whole, &event, out);
        }
        let agent = self.speaker(&event);
        let agent = agent.as_ref();
        if let Some((voice, what)) = spoken(&kind) {
            return self.texts.event((voice, what), &event, agent, &mut self.writer, out);
        }
        if let Some(what) = kind.strip_prefix("TOOL_CALL_") {
            self.texts.pause(agent, &self.writer, out);
            return self.calls.event(what, &event, agent, &mut self.writer, out);
        }
        self.other(&kind, whole, &event, agent, out);
    }

    /// Takes an event that stands for itself.
    fn other(
        &mut self,
        kind: &str,
        whole: ForeignField<'_>,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        match kind {
            "STEP_STARTED" => {
                let name = event.any(&["stepName", "name"]).words().unwrap_or_default();
                // Some adapters tell each step several times.
                if self.steps.len() < OPEN_MAX && self.steps.insert(CompactString::new(&name)) {
                    self.writer.push_by(agent, Kind::Status { text: name.into_owned() }, out);
                }
            }
            "STEP_FINISHED" => {
                let name = event.any(&["stepName", "name"]).words().unwrap_or_default();
                self.steps.swap_remove(&*name);
            }
            "THINKING_START" => {
                if let Some(title) = event.get("title").word() {
                    self.writer.push_by(agent, Kind::Status { text: title.into_owned() }, out);
                }
            }
            "REASONING_START" => {}
            "THINKING_END" | "REASONING_END" => self.texts.end_thinking(&mut self.writer, out),
            "REASONING_ENCRYPTED_VALUE" => self.texts.hidden(event, agent, &mut self.writer, out),
            "STATE_SNAPSHOT" => self.writer.custom("state_snapshot", event.get("snapshot"), agent, out),
            "STATE_DELTA" => self.writer.custom("state_delta", event.get("delta"), agent, out),
            "ACTIVITY_SNAPSHOT" => self.writer.custom("activity_snapshot", whole, agent, out),
            "ACTIVITY_DELTA" => self.writer.custom("activity_delta", whole, agent, out),
            "CUSTOM" => {
                let name = event.get("name").words().unwrap_or_else(|| "custom".into());
                self.writer.custom(&name, event.get("value"), agent, out);
            }
            "RAW" => self.writer.raw(event.get("event"), agent, out),
            "MESSAGES_SNAPSHOT" => self.snapshot(event.get("messages"), true, out),
            "USAGE_METADATA" => {
                let model = event.get("model").word();
                self.writer.begin(model.as_deref(), out);
                if let Some(usage) = usage(whole) {
                    let update = RunUpdate { usage: Some(usage), ..RunUpdate::default() };
                    self.writer.push_by(agent, Kind::RunUpdate(update), out);
                }
            }
            _ => self.writer.raw(whole, agent, out),
        }
    }

    /// Whether an event that begins no run has one to belong to. Content outside of a run begins one, with an
    /// anomaly; anything else after the end of a run is ignored, with one anomaly.
    fn may_go_on(&mut self, kind: &str, out: &mut Decoded) -> bool {
        if self.writer.is_running() {
            return true;
        }
        let is_content = spoken(kind).is_some() || kind.starts_with("TOOL_CALL_");
        if is_content || !self.writer.has_begun() {
            self.begin(None, out);
            self.writer.anomaly(AnomalyCode::RunWithoutStart, format!("{kind} outside of a run"), out);
            return true;
        }
        if !std::mem::replace(&mut self.is_late, true) {
            self.writer.anomaly(AnomalyCode::AfterRunEnd, format!("{kind} and what follows it"), out);
        }
        false
    }

    /// Ends texts and calls in the short form (`…_CHUNK`), unless the event continues them or is one that may
    /// come between.
    fn end_chunks(&mut self, kind: &str, event: &ForeignFields<'_>, out: &mut Decoded) {
        const PASSING: [&str; 8] = [
            "RAW",
            "CUSTOM",
            "STATE_SNAPSHOT",
            "STATE_DELTA",
            "ACTIVITY_SNAPSHOT",
            "ACTIVITY_DELTA",
            "REASONING_ENCRYPTED_VALUE",
            "USAGE_METADATA",
        ];
        if PASSING.contains(&kind) {
            return;
        }
        self.texts.end_chunk(kind, event, &mut self.writer, out);
        self.calls.end_chunk(kind, event, &mut self.writer, out);
    }

    /// Begins a run, and resets what is about the run before.
    fn begin(&mut self, model: Option<&str>, out: &mut Decoded) {
        self.writer.begin(model, out);
        self.steps.clear();
        self.is_late = false;
        self.texts.begin();
        self.calls.begin();
        self.history.begin();
    }

    /// Takes the start of a run: repeated, inside of the open one, or another one, which interrupts it.
    fn run_started(&mut self, event: &ForeignFields<'_>, out: &mut Decoded) {
        let id = event.get("runId").words().unwrap_or_default();
        if self.writer.is_running() {
            if !id.is_empty() && id == self.run_id.as_str() {
                return;
            }
            if self.starts_inside(event, &id, out) {
                return;
            }
            self.close(RunEnding::default(), out);
        }
        self.run_id = CompactString::new(&id);
        self.begin(event.get("model").text().as_deref(), out);
        let input = ForeignFields::of(event.get("input"));
        self.snapshot(input.get("messages"), false, out);
    }

    /// Takes the end of a run, or of a run inside of it.
    fn run_finished(&mut self, event: &ForeignFields<'_>, out: &mut Decoded) {
        // Adapters that tell an error tell the end too.
        if !self.writer.is_running() && self.writer.has_begun() {
            return;
        }
        if self.ends_inside(event, RunStatus::Complete, out) {
            return;
        }
        self.writer.begin(None, out);
        let result = event.get("result");
        if result.is_truthy() {
            self.writer.custom("result", result, None, out);
        }
        let outcome = event.get("outcome");
        let paused = interrupt::tell(outcome, &self.calls, &mut self.writer, out);
        let reason = ForeignFields::of(outcome).get("type").word().or_else(|| outcome.word());
        let ending = RunEnding {
            is_whole: true,
            is_paused: paused,
            finish_reason: reason.map(|reason| CompactString::new(&reason)),
            usage: usage(event.get("usage")),
            ..RunEnding::default()
        };
        self.close(ending, out);
    }

    /// Takes a failure, which ends a run or a run inside of it.
    fn run_failed(&mut self, whole: ForeignField<'_>, event: &ForeignFields<'_>, out: &mut Decoded) {
        if self.writer.is_running()
            && let Some(agent) = self.inner.last().cloned()
            && self.ends_inside(event, RunStatus::Error, out)
        {
            // The run around it may well go on.
            return self.writer.push_by(Some(&agent), Kind::Error(fault(whole)), out);
        }
        self.fail(whole, out);
        self.close(RunEnding { usage: usage(event.get("usage")), ..RunEnding::default() }, out);
    }

    /// Takes a list of messages. If `has_own`, those that follow the last one of the user may be the run's
    /// own.
    fn snapshot(&mut self, list: ForeignField<'_>, has_own: bool, out: &mut Decoded) {
        let Self { history, texts, calls, writer, inner, .. } = self;
        history.tell(list, has_own, texts, calls, inner.last(), writer, out);
    }

    /// Ends the run, if one is open: the stream said so, or no more of it comes.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        self.texts.end_all(None, &mut self.writer, out);
        self.calls.end_all(ending.is_whole && !self.writer.has_failed(), &mut self.writer, out);
        self.inner.clear();
        self.sub_agents.clear();
        self.run_id.clear();
        self.writer.end(ending, out);
    }
}

/// What kind of text an event is about, and what it does (`START`, `CONTENT`, `END`, `CHUNK`); nothing for
/// other events.
fn spoken(kind: &str) -> Option<(MessageVoice, &str)> {
    const PREFIXES: [(&str, MessageVoice); 3] = [
        ("TEXT_MESSAGE_", MessageVoice::Text),
        ("REASONING_MESSAGE_", MessageVoice::Thinking),
        ("THINKING_TEXT_MESSAGE_", MessageVoice::Thinking),
    ];
    PREFIXES.into_iter().find_map(|(prefix, voice)| Some((voice, kind.strip_prefix(prefix)?)))
}

/// Milliseconds since 1970 of a timestamp, which some producers give in seconds.
fn milliseconds(time: u64) -> u64 {
    const SECONDS_MAX: u64 = 100_000_000_000;
    if time < SECONDS_MAX { time.saturating_mul(1000) } else { time }
}

#[cfg(test)]
mod tests;
