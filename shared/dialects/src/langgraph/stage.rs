//! Calls and sub-agents of the open run, beside the messages that speak of them: which calls wait, are
//! executed or are over, and which call a sub-agent works for.
//!
//! Each form of the stream names calls in another way: by their id, by a run id of the tool, by the task of a
//! node, or by name and arguments. What is learned about that is kept here.

use std::collections::BTreeMap;

use compact_str::CompactString;
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use crate::Decoded;
use crate::field::ForeignField;
use crate::report::ProgressReport;
use crate::writer::{CallOutcome, EventWriter};
use model::event::{Kind, ToolState};
use model::ids::AgentId;
use model::limits::ITEMS_PER_RUN_MAX;

/// Bytes of arguments that are kept of a call, to tell calls of the same tool apart. Longer ones are not kept
/// at all.
pub(super) const ARGUMENTS_KEPT_BYTES_MAX: usize = 64 << 10;

/// Most calls that are searched for the one that an event without an id is about. It bounds the time that one
/// event takes.
pub(super) const LOOKED_AT_MAX: usize = 256;

/// Writes the events of a graph, and remembers its calls and sub-agents until the run ends.
#[derive(Debug)]
pub(super) struct LangGraphWriter {
    /// The writer of the events.
    pub(super) w: EventWriter,
    /// The calls that are not over, oldest first.
    pub(super) open: BTreeMap<u64, LangGraphCall>,
    /// The place of each call in `open`; 0 when it is over.
    places: IndexMap<CompactString, u64>,
    /// The last key of `open`.
    last_place: u64,
    /// The key of the last call before the newest message of the main model.
    turn_began: u64,
    /// Runs of tools under ids of their own, and the calls that they execute.
    runs: IndexMap<CompactString, CompactString>,
    /// The call that a namespace came from, if the stream says it.
    causes: IndexMap<CompactString, CompactString>,
    /// The sub-agents by their namespace, and once more by the call that they work for.
    pub(super) agents: IndexMap<CompactString, AgentId>,
    /// Calls whose tools have last reported a failure, and that have no result yet.
    failed: IndexSet<CompactString>,
}

/// A call that is written and not over.
#[derive(Debug)]
pub(super) struct LangGraphCall {
    pub(super) id: CompactString,
    pub(super) name: CompactString,
    /// The arguments of the call; empty if they are too long to be kept.
    pub(super) args: String,
    /// The agent that calls; nothing for the main one.
    pub(super) agent: Option<AgentId>,
    /// A person was asked about it.
    is_asked: bool,
    /// The call is being executed.
    is_running: bool,
    /// When it began by the stream's clock, in milliseconds.
    began: Option<u64>,
    /// A sub-agent works for it.
    pub(super) has_agent: bool,
}

impl LangGraphWriter {
    /// A writer without calls.
    pub(super) fn new(w: EventWriter) -> Self {
        Self {
            w,
            open: BTreeMap::new(),
            places: IndexMap::new(),
            last_place: 0,
            turn_began: 0,
            runs: IndexMap::new(),
            causes: IndexMap::new(),
            agents: IndexMap::new(),
            failed: IndexSet::new(),
        }
    }

    /// Forgets all calls and sub-agents, since the run is over.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.places.clear();
        self.runs.clear();
        self.causes.clear();
        self.agents.clear();
        self.failed.clear();
    }

    /// Notes that the main model begins a message: the calls of its messages before are no longer expected to
    /// have results.
    pub(super) fn begin_turn(&mut self) {
        self.turn_began = self.last_place;
    }

    /// The names of the tools that the main model called in its newest message and that have no result,
    /// without those that a person was asked about.
    pub(super) fn left(&self) -> Vec<CompactString> {
        let newest = self.open.range(self.turn_began.saturating_add(1)..);
        let left = newest.filter(|(_, call)| call.agent.is_none() && !call.is_asked);
        left.map(|(_, call)| call.name.clone()).collect()
    }

    /// Whether the call was written, be it over or not.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The call, if it is open.
    pub(super) fn call(&mut self, id: &str) -> Option<&mut LangGraphCall> {
        self.open.get_mut(self.places.get(id)?)
    }

    /// Notes a call that was written. Beyond the bound of a run it stays unknown.
    pub(super) fn add(&mut self, id: &str, name: &str, args: &str, agent: Option<&AgentId>) {
        if self.places.len() > ITEMS_PER_RUN_MAX {
            return;
        }
        self.last_place = self.last_place.saturating_add(1);
        let args = if args.len() > ARGUMENTS_KEPT_BYTES_MAX { "" } else { args };
        let call = LangGraphCall {
            id: CompactString::new(id),
            name: CompactString::new(name),
            args: args.to_owned(),
            agent: agent.cloned(),
            is_asked: false,
            is_running: false,
            began: None,
            has_agent: false,
        };
        self.places.insert(call.id.clone(), self.last_place);
        self.open.insert(self.last_place, call);
    }

    /// Writes a call that comes whole, with `args` as JSON, and returns the id by which the writer knows it.
    pub(super) fn whole_call(
        &mut self,
        id: &str,
        name: &str,
        args: &str,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> CompactString {
        let args = if args.is_empty() || args == "null" { "{}" } else { args };
        let call = self.w.whole_call(id, name, Some(args), agent, out);
        let id = CompactString::new(call.id());
        self.add(&id, name, args, agent);
        id
    }

    /// The oldest open call of `name` for which `fits` is true: one with the same arguments, else any.
    pub(super) fn find(
        &self,
        name: &str,
        args: ForeignField<'_>,
        fits: fn(&LangGraphCall) -> bool,
    ) -> Option<CompactString> {
        let wanted: Option<Value> = serde_json::from_str(args.as_json_text()).ok().map(unwrapped);
        let named = || self.open.values().take(LOOKED_AT_MAX).filter(|call| call.name == name && fits(call));
        let same = named().find(|call| {
            let args: Option<Value> = serde_json::from_str(&call.args).ok();
            wanted.is_some() && args == wanted
        });
        same.or_else(|| named().next()).map(|call| call.id.clone())
    }

    /// Writes that the call is executed from now on, once. `time` is the stream's own clock, in milliseconds
    /// since 1970.
    pub(super) fn run(&mut self, id: &str, time: Option<u64>, out: &mut Decoded) {
        let Some(call) = self.call(id) else { return };
        if std::mem::replace(&mut call.is_running, true) {
            return;
        }
        call.began = time;
        let (id, agent) = (call.id.clone(), call.agent.clone());
        self.w.state(&id, ToolState::Executing, agent.as_ref(), out);
    }

    /// Notes that the graph in the namespace `path` runs for the call `id`.
    pub(super) fn note_cause(&mut self, path: &[CompactString], id: &str) {
        if self.causes.len() < ITEMS_PER_RUN_MAX {
            self.causes.insert(path.join("|").into(), CompactString::new(id));
        }
    }

    /// The call that the graph in the namespace `path` runs for, if the stream said so.
    pub(super) fn cause(&self, path: &[CompactString]) -> Option<CompactString> {
        self.causes.get(path.join("|").as_str()).cloned()
    }

    /// Notes that the run `run` of a tool or task executes the call `id`.
    pub(super) fn name_run(&mut self, run: &str, id: &CompactString) {
        if self.runs.len() < ITEMS_PER_RUN_MAX {
            self.runs.insert(CompactString::new(run), id.clone());
        }
    }

    /// The call that runs as `run`.
    pub(super) fn call_of_run(&self, run: &str) -> Option<CompactString> {
        self.runs.get(run).cloned()
    }

    /// Writes the result of a call, once, and ends the sub-agent that worked for it. A call that was not
    /// written is written now. The duration is known if the stream's clock said when the call began and ends.
    pub(super) fn result(&mut self, given: &CallResult<'_>, time: Option<u64>, out: &mut Decoded) {
        let CallResult { id, name, output, is_error, agent } = *given;
        if !self.knows(id) {
            if !self.w.has_room(out) {
                return;
            }
            self.whole_call(id, name, "", agent, out);
        }
        let is_error = self.failed.swap_remove(id) || is_error;
        let Some(place) = self.places.get_mut(id).map(std::mem::take) else { return };
        let Some(call) = self.open.remove(&place) else { return };
        let took = call.began.zip(time).map(|(began, time)| time.saturating_sub(began));
        let outcome = CallOutcome { is_error, ..CallOutcome::of(output.json()).took(took) };
        self.w.result(&call.id, outcome, call.agent.as_ref(), out);
        if call.has_agent {
            self.end_agents_of(&call.id, is_error, out);
        }
    }

    /// Writes the progress of a call that its tool reports; the call is executed. If the last report is a
    /// failure, the call has failed, whatever its result says.
    pub(super) fn report(&mut self, id: &str, report: &ProgressReport<'_>, out: &mut Decoded) {
        self.run(id, None, out);
        let Some(call) = self.call(id) else { return };
        let (id, agent) = (call.id.clone(), call.agent.clone());
        let progress = report.progress(self.w.tool_id(&id));
        self.w.report(&id, progress, report.time(), agent.as_ref(), out);
        if report.is_failure() {
            self.failed.insert(id);
        } else {
            self.failed.swap_remove(&id);
        }
    }

    /// Ends the calls that reported a failure and have no result, since the run ends.
    pub(super) fn end_failed(&mut self, out: &mut Decoded) {
        for id in std::mem::take(&mut self.failed) {
            let agent = self.call(&id).and_then(|call| call.agent.clone());
            self.w.state(&id, ToolState::Error, agent.as_ref(), out);
        }
    }

    /// The newest open call of the tool `name`.
    pub(super) fn newest(&self, name: &str) -> Option<CompactString> {
        let mut newest = self.open.values().rev().take(LOOKED_AT_MAX);
        newest.find(|call| call.name == name).map(|call| call.id.clone())
    }

    /// Writes that a person is asked whether the call may run.
    pub(super) fn ask(&mut self, id: &str, question: Option<String>, out: &mut Decoded) {
        let Some(call) = self.call(id) else { return };
        call.is_asked = true;
        let agent = call.agent.clone();
        let tool = self.w.tool_id(id);
        self.w.push_by(agent.as_ref(), Kind::ApprovalRequest { tool, text: question }, out);
    }
}

/// The result of a call, as one of the forms has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallResult<'a> {
    /// The id of the call.
    pub(super) id: &'a str,
    /// The name of the tool, for a call that was not written; may be empty.
    pub(super) name: &'a str,
    pub(super) output: ForeignField<'a>,
    pub(super) is_error: bool,
    /// The agent that called, for a call that was not written.
    pub(super) agent: Option<&'a AgentId>,
}

impl LangGraphCall {
    /// Whether it is not executed yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_running
    }

    /// Whether it is not executed yet, and no person was asked about it.
    pub(super) fn is_unasked(&self) -> bool {
        !self.is_running && !self.is_asked
    }
}

/// The arguments themselves, of a call object that contains them or of their text.
fn unwrapped(value: Value) -> Value {
    match value {
        Value::Object(mut call) if call.get("type").is_some_and(|kind| kind == "tool_call") => {
            call.remove("args").unwrap_or(Value::Object(call))
        }
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        value => value,
    }
}
