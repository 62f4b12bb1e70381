//! What is known of calls and sub-agents, beside the messages that speak of them: which calls wait, run or are over, and
//! which call a sub-agent came from.

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

/// Bytes of arguments that are kept of a call, to tell calls of the same tool apart.
pub(super) const ARGUMENTS_KEPT_BYTES_MAX: usize = 64 << 10;

/// Calls that are looked at to find the one that an event without its id means.
pub(super) const LOOKED_AT_MAX: usize = 256;

/// Where things are told.
#[derive(Debug)]
pub(super) struct LangGraphWriter {
    pub(super) w: EventWriter,
    /// Calls that are not over, oldest first.
    pub(super) open: BTreeMap<u64, LangGraphCall>,
    /// The place of each call in `open`; 0 when it is over.
    places: IndexMap<CompactString, u64>,
    last_place: u64,
    /// The place of the last call before the newest message of the main model.
    turn_began: u64,
    /// What runs under an id of its own, and the call that it is.
    runs: IndexMap<CompactString, CompactString>,
    /// Which call a namespace came from, where the stream says it.
    causes: IndexMap<CompactString, CompactString>,
    /// Sub-agents by their namespace.
    pub(super) agents: IndexMap<CompactString, AgentId>,
    /// Calls whose tools have reported last that they failed, and that have no result yet.
    failed: IndexSet<CompactString>,
}

/// A call that is written and not over.
#[derive(Debug)]
pub(super) struct LangGraphCall {
    pub(super) id: CompactString,
    pub(super) name: CompactString,
    /// Its arguments; empty when they are too long to be kept.
    pub(super) args: String,
    pub(super) agent: Option<AgentId>,
    is_asked: bool,
    is_running: bool,
    /// When it began by the stream's clock, in milliseconds.
    began: Option<u64>,
    /// A sub-agent works for it.
    pub(super) has_agent: bool,
}

impl LangGraphWriter {
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

    /// The run is over: what follows is another.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.places.clear();
        self.runs.clear();
        self.causes.clear();
        self.agents.clear();
        self.failed.clear();
    }

    /// The main model begins a message: whatever it asked for before, it got.
    pub(super) fn begin_turn(&mut self) {
        self.turn_began = self.last_place;
    }

    /// The tools that the main model called in its newest message and that gave nothing back, without those that a person
    /// was asked about.
    pub(super) fn left(&self) -> Vec<CompactString> {
        let newest = self.open.range(self.turn_began.saturating_add(1)..);
        let left = newest.filter(|(_, call)| call.agent.is_none() && !call.is_asked);
        left.map(|(_, call)| call.name.clone()).collect()
    }

    /// A call was told, be it over or not.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    pub(super) fn call(&mut self, id: &str) -> Option<&mut LangGraphCall> {
        self.open.get_mut(self.places.get(id)?)
    }

    /// A call is written from now on.
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

    /// A call that comes as a whole, with `args` as JSON.
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

    /// The oldest call of `name` that fits: best with the same arguments, else any. `fits` says which may be meant.
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

    /// The call runs from now on. `time` is the stream's own clock.
    pub(super) fn run(&mut self, id: &str, time: Option<u64>, out: &mut Decoded) {
        let Some(call) = self.call(id) else { return };
        if std::mem::replace(&mut call.is_running, true) {
            return;
        }
        call.began = time;
        let (id, agent) = (call.id.clone(), call.agent.clone());
        self.w.state(&id, ToolState::Executing, agent.as_ref(), out);
    }

    /// The graph in the namespace `path` runs for the call `id`.
    pub(super) fn note_cause(&mut self, path: &[CompactString], id: &str) {
        if self.causes.len() < ITEMS_PER_RUN_MAX {
            self.causes.insert(path.join("|").into(), CompactString::new(id));
        }
    }

    /// The call that the graph in the namespace `path` runs for.
    pub(super) fn cause(&self, path: &[CompactString]) -> Option<CompactString> {
        self.causes.get(path.join("|").as_str()).cloned()
    }

    /// The run `run` of the stream is the call `id`.
    pub(super) fn name_run(&mut self, run: &str, id: &CompactString) {
        if self.runs.len() < ITEMS_PER_RUN_MAX {
            self.runs.insert(CompactString::new(run), id.clone());
        }
    }

    /// The call that runs as `run`.
    pub(super) fn call_of_run(&self, run: &str) -> Option<CompactString> {
        self.runs.get(run).cloned()
    }

    /// What a call gave back, told once. A call that nobody has told of is told now. `time` is the stream's own clock.
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

    /// The tool of the call reports how it goes on. A call whose tool has said last that it failed has failed.
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

    /// The run ends: calls that have failed and gave nothing back are over as such.
    pub(super) fn end_failed(&mut self, out: &mut Decoded) {
        for id in std::mem::take(&mut self.failed) {
            let agent = self.call(&id).and_then(|call| call.agent.clone());
            self.w.state(&id, ToolState::Error, agent.as_ref(), out);
        }
    }

    /// The newest call of the tool `name` that is not over.
    pub(super) fn newest(&self, name: &str) -> Option<CompactString> {
        let mut newest = self.open.values().rev().take(LOOKED_AT_MAX);
        newest.find(|call| call.name == name).map(|call| call.id.clone())
    }

    /// A person is asked whether the call may run.
    pub(super) fn ask(&mut self, id: &str, question: Option<String>, out: &mut Decoded) {
        let Some(call) = self.call(id) else { return };
        call.is_asked = true;
        let agent = call.agent.clone();
        let tool = self.w.tool_id(id);
        self.w.push_by(agent.as_ref(), Kind::ApprovalRequest { tool, text: question }, out);
    }
}

/// What a call gave back.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallResult<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) output: ForeignField<'a>,
    pub(super) is_error: bool,
    pub(super) agent: Option<&'a AgentId>,
}

impl LangGraphCall {
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_running
    }

    pub(super) fn is_unasked(&self) -> bool {
        !self.is_running && !self.is_asked
    }
}

/// Arguments that came inside of the call that they belong to.
fn unwrapped(value: Value) -> Value {
    match value {
        Value::Object(mut call) if call.get("type").is_some_and(|kind| kind == "tool_call") => {
            call.remove("args").unwrap_or(Value::Object(call))
        }
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        value => value,
    }
}
