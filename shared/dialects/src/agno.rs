//! Agno: events of agents, teams and workflows, in the transports of all its versions. Objects follow one
//! another without a separator (up to 1.7), in SSE with pretty-printed JSON (`AgentOS` 2.0 to 2.3.8), in SSE by
//! the book (from 2.3.9), or as messages of a WebSocket; the name of the event says what it is.
//!
//! ```text
//! event: RunStarted         data: {"created_at":1770000000,"event":"RunStarted","run_id":"r","model":"gpt"}
//! event: ToolCallStarted    data: {"event":"ToolCallStarted","run_id":"r","tool":{"tool_call_id":"c","tool_name":"add","tool_args":{"a":1}}}
//! event: ToolCallCompleted  data: {"event":"ToolCallCompleted","run_id":"r","tool":{"tool_call_id":"c","result":"2","metrics":{"duration":0.1}}}
//! event: RunContent         data: {"event":"RunContent","run_id":"r","content":"It is "}
//! event: RunCompleted       data: {"event":"RunCompleted","run_id":"r","content":"It is 2.","metrics":{"input_tokens":9}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `RunStarted`, `RunContinued`, `WorkflowStarted` | the start of a run; in a run, that of a sub-agent |
//! | `RunContent` (old: `RunResponseContent`) | text, and reasoning from `reasoning_content` or `thinking`; files, citations |
//! | `RunIntermediateContent` | a text part of its own: the final answer does not contain it |
//! | `ReasoningContentDelta`, `ReasoningStep` | reasoning; steps are cumulative |
//! | `ToolCallArgsDelta` | arguments of a call, of forks and proposed versions |
//! | `ToolCallStarted`, `ToolCallCompleted`, `ToolCallError` | a call, its execution and its result |
//! | `RunPaused` | approval requests of calls, and the whole event as a custom event `interrupt` |
//! | `ModelRequestCompleted` | tokens |
//! | `RunCompleted`, `RunError`, `RunCancelled` | the end of the run or of the sub-agent |
//! | beginnings and ends of hooks, steps, memory, … | a status |
//! | `CustomEvent`, `StepOutput`, `Task…`, followups, new memories | custom events |
//! | an object without a name, with `run_id` | the output of a whole run |
//! | anything else | raw |
//!
//! Team events have the prefix `Team`, which is dropped. Members and steps have run ids of their own and
//! become sub-agents. There is no terminator. Without `stream_events` the stream has only content: then its
//! end is the end of the run. A stream with `RunStarted` and without an end is interrupted. `RunCancelled` is
//! followed by `RunCompleted`, which ends the run as cancelled.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{AgentStart, ErrorFact, Kind, PartKind, RunStatus, Usage};
use model::ids::AgentId;

mod asked;
mod output;
mod tools;
mod voice;
mod wire;

use asked::PauseState;
use tools::AgnoCalls;
use voice::AgnoSpeaker;
use wire::{AgnoEvent, AgnoMetrics};

/// The name of the dialect.
pub const NAME: &str = "agno";

/// The steps of a run that begin and end (`…Started`, `…Completed`); each becomes a status. Events that are
/// not known are passed on raw.
const STEPS: [&str; 19] = [
    "PreHook",
    "PostHook",
    "Reasoning",
    "MemoryUpdate",
    "SessionSummary",
    "ParserModelResponse",
    "OutputModelResponse",
    "ModelRequest",
    "Compression",
    "Compaction",
    "Followups",
    "WorkflowAgent",
    "Step",
    "StepsExecution",
    "LoopExecution",
    "LoopIteration",
    "ParallelExecution",
    "ConditionExecution",
    "RouterExecution",
];

/// Most agents of one run that are told apart (I7). Events of further ones are ignored.
const AGENTS_MAX: usize = 4096;

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::in_text(AgnoMeaning {
        w: EventWriter::new(NAME, options),
        root: CompactString::default(),
        is_followed: false,
        pause: PauseState::No,
        is_cancelled: false,
        last_index: None,
        main: AgnoSpeaker::default(),
        others: IndexMap::new(),
        calls: AgnoCalls::default(),
        tasks: IndexMap::new(),
        usage: None,
    }))
}

/// The meaning of one stream. All that is about the open run is reset when it ends.
#[derive(Debug)]
struct AgnoMeaning {
    /// The writer of the events.
    w: EventWriter,
    /// The id of the outermost run; empty before it is known.
    root: CompactString,
    /// The stream said that the run began, so it says how it ends.
    is_followed: bool,
    /// Whether the run waits for a person.
    pause: PauseState,
    /// The run was cancelled; its end is not written yet.
    is_cancelled: bool,
    /// The `event_index` of the newest event; resumed streams repeat some, which are ignored.
    last_index: Option<u64>,
    /// The texts of the outermost run.
    main: AgnoSpeaker,
    /// The texts of members and steps, by the ids of their runs.
    others: IndexMap<CompactString, AgnoSpeaker>,
    /// The calls of all of them.
    calls: AgnoCalls,
    /// The tasks of child runs, by their ids, until they begin.
    tasks: IndexMap<CompactString, String>,
    /// The tokens of the model calls so far, for runs whose end has none.
    usage: Option<Usage>,
}

impl ObjectMeaning for AgnoMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let it: AgnoEvent<'_> = match crate::field::read(text) {
            Ok(it) => it,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.w.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = ForeignField::parse_read(text);
        let event =
            it.event.word().unwrap_or_else(|| if name == "message" { "".into() } else { name.into() });
        self.w.set_time(it.created_at.count().map(|seconds| seconds.saturating_mul(1000)));
        if event.is_empty() {
            return self.bare(&it, whole, out);
        }
        self.resume(event.strip_prefix("Team").unwrap_or(&event), &it, out);
        if let Some(index) = it.event_index.count() {
            if self.last_index.is_some_and(|last| index <= last) && self.w.is_running() {
                return;
            }
            self.last_index = Some(index);
        }
        self.happened(event.strip_prefix("Team").unwrap_or(&event), &it, whole, out);
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.w.fail(fault(whole), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        if self.is_cancelled {
            return self.close(Some(RunStatus::Cancelled), None, out);
        }
        // Without lifecycle events the end of the bytes is the end of the run.
        let is_whole = self.pause != PauseState::No || (!self.is_followed && self.main.has_text);
        self.close(is_whole.then_some(RunStatus::Complete), None, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.w
    }
}

impl AgnoMeaning {
    /// Takes an event, by its name without the prefix of teams.
    fn happened(&mut self, event: &str, it: &AgnoEvent<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        match event {
            "replay" | "catch_up" | "subscribed" | "stream_expired" => return self.note(event, it, out),
            "connected" | "authenticated" | "pong" | "ping" => return,
            "error" => return self.w.fail(fault(whole), out),
            _ => {}
        }
        if !self.enter(event, it, out) {
            return;
        }
        let Some(key) = self.speaker(it, out) else { return };
        let agent = self.voice(&key).agent.clone();
        let agent = agent.as_ref();
        match event {
            "RunStarted"
            | "RunContinued"
            | "WorkflowStarted"
            | "StepContinued"
            | "StepExecutorContinued"
            | "ModelRequestStarted" => {
                self.is_followed |= event != "ModelRequestStarted";
                let model = it.model.word().filter(|_| agent.is_none());
                self.w.begin(model.as_deref(), out);
                if event == "ModelRequestStarted" {
                    self.settle(agent, out);
                }
            }
            "ModelRequestCompleted" => self.count(it, whole, agent),
            "RunContent" | "RunResponseContent" | "RunResponse" => self.content(&key, it, out),
            "RunIntermediateContent" => {
                let text = it.content.words().unwrap_or_default();
                let Self { w, main, others, .. } = self;
                others.get_mut(&key).unwrap_or(main).aside(&text, w, out);
            }
            "ReasoningContentDelta" | "ReasoningDelta" => {
                let text = it.reasoning_content.word().or_else(|| it.content.word()).unwrap_or_default();
                self.say(&key, PartKind::Thinking, &text, out);
            }
            "ReasoningStep" => {
                let text = it.reasoning_content.text().unwrap_or_default();
                let Self { w, main, others, .. } = self;
                others.get_mut(&key).unwrap_or(main).thoughts(&text, w, out);
            }
            "RunContentCompleted" | "RunResponseContentCompleted" | "ReasoningCompleted" => {
                self.pause(&key, out);
            }
            "ToolCallArgsDelta" => {
                self.pause(&key, out);
                self.tool_grows(it, agent, out);
            }
            "ToolCallStarted" => {
                self.pause(&key, out);
                self.tool_started(it, agent, out);
            }
            "ToolCallCompleted" => self.tool_over(it, false, agent, out),
            "ToolCallError" => self.tool_over(it, true, agent, out),
            "RunPaused" | "WorkflowPaused" | "StepPaused" => self.paused(&key, it, whole, out),
            "RunCompleted" | "WorkflowCompleted" => self.completed(&key, it, out),
            "RunError" | "WorkflowError" => self.failed(&key, it, out),
            "RunCancelled" | "WorkflowCancelled" => self.cancelled(&key, it, out),
            _ => self.other(event, it, whole, agent, out),
        }
    }

    /// Takes a pause: a run waits for a person. It may go on in this stream; if it does not, the end of the
    /// stream is that of the run.
    fn paused(&mut self, key: &str, it: &AgnoEvent<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        self.pause(key, out);
        let agent = self.voice(key).agent.clone();
        if agent.is_none() {
            // Whoever answers gives it back, with the answers in it.
            self.w.custom("interrupt", whole, None, out);
        }
        self.ask(it, agent.as_ref(), out);
        self.pause = PauseState::Event;
    }

    /// Makes sure that a run is open for the event. False if the event is about a run that is over, and is to
    /// be ignored.
    fn enter(&mut self, event: &str, it: &AgnoEvent<'_>, out: &mut Decoded) -> bool {
        let run = it.run_id.words().unwrap_or_default();
        if !self.w.is_running() && self.w.has_begun() {
            let begins = matches!(event, "RunStarted" | "RunContinued" | "WorkflowStarted");
            if !begins && (run.is_empty() || run == self.root.as_str()) {
                return false; // What is left to say of a run that was told as over.
            }
            self.root.clear();
        }
        if self.root.is_empty() {
            let outer = it.workflow_run_id.word().or_else(|| it.parent_run_id.word());
            self.root = outer.map_or_else(|| CompactString::new(&run), CompactString::from);
        }
        self.w.begin(None, out);
        true
    }

    /// The key of whoever the event is about: the id of its run, empty for the outermost one. A run that is
    /// new becomes a sub-agent. Nothing if there is no room for it.
    fn speaker(&mut self, it: &AgnoEvent<'_>, out: &mut Decoded) -> Option<CompactString> {
        let run = CompactString::from(it.run_id.words().unwrap_or_default());
        if run.is_empty() || run == self.root || it.workflow_agent.is_true() {
            return Some(CompactString::default());
        }
        if self.others.contains_key(&run) {
            return Some(run);
        }
        if self.others.len() >= AGENTS_MAX || !self.w.has_room(out) {
            return None;
        }
        let parent =
            it.parent_run_id.word().and_then(|parent| self.others.get(parent.as_ref())?.agent.clone());
        let names = [it.agent_name, it.team_name, it.agent_id, it.team_id];
        let name = names.into_iter().find_map(ForeignField::word).map(CompactString::from);
        let member = it.agent_id.word().or_else(|| it.team_id.word()).unwrap_or_default();
        let call = self.calls.children.get(&run).cloned();
        let call =
            call.or_else(|| self.calls.handed_to(&member, parent.as_ref()).filter(|_| !member.is_empty()));
        let tool = call.map(|id| self.w.tool_id(&id));
        let task = self.tasks.swap_remove(&run).filter(|task| !task.is_empty());
        let text = task.or_else(|| it.step_name.word().map(std::borrow::Cow::into_owned));
        let model = it.model.word().map(CompactString::from);
        let start = AgentStart { name, parent, tool, text, model, ..AgentStart::default() };
        let agent = self.w.open_agent(&run, start, out);
        self.others.insert(run.clone(), AgnoSpeaker::of(Some(agent)));
        Some(run)
    }

    /// The agent of a foreign harness that works inside of the call `id`, and that has no run of its own. It
    /// begins if it is new.
    fn harness_agent(&mut self, id: &str, parent: Option<&AgentId>, out: &mut Decoded) -> AgentId {
        let key = compact_str::format_compact!("call:{id}");
        if let Some(agent) = self.others.get(&key).and_then(|voice| voice.agent.clone()) {
            return agent;
        }
        let tool = Some(self.w.tool_id(id));
        let start = AgentStart { parent: parent.cloned(), tool, ..AgentStart::default() };
        let agent = self.w.open_agent(&key, start, out);
        if self.others.len() < AGENTS_MAX {
            self.others.insert(key, AgnoSpeaker::of(Some(agent.clone())));
        }
        agent
    }

    /// The texts of whoever has this key.
    fn voice(&mut self, key: &str) -> &mut AgnoSpeaker {
        let Self { main, others, .. } = self;
        others.get_mut(key).unwrap_or(main)
    }

    /// Writes text or reasoning.
    fn say(&mut self, key: &str, kind: PartKind, text: &str, out: &mut Decoded) {
        let Self { w, main, others, .. } = self;
        others.get_mut(key).unwrap_or(main).say(kind, text, w, out);
    }

    /// Ends the open part, since something else happens.
    fn pause(&mut self, key: &str, out: &mut Decoded) {
        let Self { w, main, others, .. } = self;
        others.get_mut(key).unwrap_or(main).pause(w, out);
    }

    /// Takes content: text, reasoning, images and citations.
    fn content(&mut self, key: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let Self { w, main, others, .. } = self;
        let voice = others.get_mut(key).unwrap_or(main);
        let thinking = it.reasoning_content.word().or_else(|| it.thinking.word()).unwrap_or_default();
        voice.say(PartKind::Thinking, &thinking, w, out);
        voice.content(it.content, w, out);
        for file in it.image.list().into_iter().chain(it.images.list()) {
            voice.file(file, w, out);
        }
        if it.citations.is_truthy() {
            w.custom("citations", it.citations, voice.agent.as_ref(), out);
        }
    }

    /// Adds the tokens of a model call to those of the run and of its sub-agent.
    fn count(&mut self, it: &AgnoEvent<'_>, whole: ForeignField<'_>, agent: Option<&AgentId>) {
        let more = whole
            .object::<AgnoMetrics<'_>>()
            .usage()
            .or_else(|| it.metrics.object::<AgnoMetrics<'_>>().usage());
        if let Some(more) = more {
            self.usage = Some(self.usage.unwrap_or_default().plus(more));
            if let Some(agent) = agent {
                self.w.add_agent_usage(agent, more);
            }
        }
    }

    /// Writes a message about the connection as a status.
    fn note(&mut self, event: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        self.w.begin(None, out);
        let text = it.message.word().map_or_else(|| event.to_owned(), std::borrow::Cow::into_owned);
        self.w.push(Kind::Status { text }, out);
    }

    /// Takes an event that is no part of the conversation: hooks, steps, memory, tasks.
    fn other(
        &mut self,
        event: &str,
        it: &AgnoEvent<'_>,
        whole: ForeignField<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let has_news =
            [it.memories, it.session_summary, it.followups].into_iter().any(ForeignField::is_truthy);
        if has_news || event == "CustomEvent" || event == "StepOutput" || event.starts_with("Task") {
            return self.w.custom(event, whole, agent, out);
        }
        let step = event.strip_suffix("Started").or_else(|| event.strip_suffix("Completed"));
        if !step.is_some_and(|step| STEPS.contains(&step)) {
            return self.w.raw(whole, agent, out);
        }
        let mut text = spoken(event);
        if let Some(step) = it.step_name.word().filter(|_| agent.is_none()) {
            text = format!("{text}: {step}");
        }
        self.w.push_by(agent, Kind::Status { text }, out);
    }
}

/// The words of a name in which they are joined, in lower case: `MemoryUpdateStarted` gives
/// `memory update started`.
fn spoken(name: &str) -> String {
    let mut words = String::with_capacity(name.len().saturating_add(4));
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests;
