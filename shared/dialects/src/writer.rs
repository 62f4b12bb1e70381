//! Writes the events of decoders: one run at a time, parts and calls with ids that are unique and always the
//! same, deltas with their offsets, exactly one end.

use std::collections::BTreeMap;

use compact_str::CompactString;
use indexmap::IndexMap;

use super::framing::JsonNesting;
use super::{DecodeOptions, Decoded};
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{
    ErrorFact, Event, Kind, PartEnd, PartKind, RunEnd, RunStart, RunStatus, RunUpdate, ToolStart, ToolState,
    ToolStateChange, Usage,
};
use model::ids::{AgentId, PartId, RunId, ToolCallId};
use model::limits::ITEMS_PER_RUN_MAX;

mod agent;
mod call;
mod foreign;
mod history;
mod outcome;
mod part;
#[expect(dead_code, reason = "the dialects of agents use it")]
mod whole;

pub(crate) use call::OpenCall;
pub(crate) use outcome::CallOutcome;
pub(crate) use part::OpenPart;
pub(crate) use whole::{EndedPart, TextDigest, WholeCall, WholeOutput, WholePart};

/// Writes the events of one stream.
#[derive(Debug)]
pub(crate) struct EventWriter {
    dialect: CompactString,
    options: DecodeOptions,
    run: RunId,
    /// The number of runs that have begun in this stream.
    runs: u64,
    is_running: bool,
    /// The run was handed back to its caller, and continues with the next model call.
    goes_on: bool,
    has_model: bool,
    /// The failure of the open run.
    failure: Option<ErrorFact>,
    /// The number of parts, calls and agents so far, over all runs.
    parts: u64,
    items: usize,
    minted: u64,
    /// The ids of the dialect, and the calls to which they refer now.
    calls: IndexMap<CompactString, NamedId>,
    /// Calls that the provider executes and that have no result yet, oldest first.
    waiting: BTreeMap<u64, (RunId, ToolCallId)>,
    waits: u64,
    /// The number of messages of the history so far.
    messages: u64,
    /// The time of the next events by the stream's own clock, in milliseconds since 1970.
    time: Option<u64>,
    /// The number of calls of the open run that the caller has to execute.
    handed_over: u64,
    /// The usage of the run's sub-agents.
    accounts: IndexMap<AgentId, agent::AgentUsage>,
}

/// The call to which an id of the dialect refers.
#[derive(Debug)]
struct NamedId {
    run: RunId,
    tool: ToolCallId,
    /// How many calls of the run have used the id.
    times: u64,
    /// Its key in [`EventWriter::waiting`].
    place: Option<u64>,
}

/// How a run ends, as far as the stream says.
#[derive(Debug, Default)]
pub(crate) struct RunEnding {
    /// The stream said that the answer is complete.
    pub(crate) is_whole: bool,
    /// The provider paused the answer and continues when it is called again.
    pub(crate) is_paused: bool,
    /// The status, if the stream states it. It takes precedence over all else.
    pub(crate) status: Option<RunStatus>,
    pub(crate) finish_reason: Option<CompactString>,
    pub(crate) usage: Option<Usage>,
}

impl EventWriter {
    pub(crate) fn new(dialect: &str, options: DecodeOptions) -> Self {
        Self {
            dialect: CompactString::new(dialect),
            run: options.run.clone(),
            options,
            runs: 0,
            is_running: false,
            goes_on: false,
            has_model: false,
            failure: None,
            parts: 0,
            items: 0,
            minted: 0,
            calls: IndexMap::new(),
            waiting: BTreeMap::new(),
            waits: 0,
            messages: 0,
            time: None,
            handed_over: 0,
            accounts: IndexMap::new(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether a run has begun in this stream, open or not.
    pub(crate) fn has_begun(&self) -> bool {
        self.runs > 0
    }

    /// Begins a run unless one is open: the first has the id that the caller gave, later ones are numbered. A
    /// run that was handed back to the caller continues. `model` is used if it is the first one.
    pub(crate) fn begin(&mut self, model: Option<&str>, out: &mut Decoded) {
        let model = model.filter(|model| !model.is_empty()).map(CompactString::new);
        if std::mem::take(&mut self.goes_on) {
            (self.is_running, self.handed_over) = (true, 0);
        }
        if self.is_running {
            if model.is_some() && !self.has_model {
                self.has_model = true;
                self.push(Kind::RunUpdate(RunUpdate { model, ..RunUpdate::default() }), out);
            }
            return;
        }
        self.runs = self.runs.saturating_add(1);
        if self.runs > 1 {
            self.run = RunId::new(&format!("{}.{}", self.options.run, self.runs));
        }
        (self.is_running, self.has_model) = (true, model.is_some());
        (self.failure, self.handed_over, self.items) = (None, 0, 0);
        self.accounts.clear();
        if self.calls.len() > ITEMS_PER_RUN_MAX {
            self.calls.clear();
            self.waiting.clear();
        }
        let dialect = Some(self.dialect.clone());
        self.push(Kind::RunStart(RunStart { model, dialect, title: None, name: None }), out);
    }

    /// Writes an event of the main agent.
    pub(crate) fn push(&self, kind: Kind, out: &mut Decoded) {
        self.put(Event::new(&self.run, kind), out);
    }

    /// Writes an event of `agent`; nothing stands for the main agent.
    pub(crate) fn push_by(&self, agent: Option<&AgentId>, kind: Kind, out: &mut Decoded) {
        self.put(Event::new(&self.run, kind).by(agent.cloned()), out);
    }

    fn put(&self, event: Event, out: &mut Decoded) {
        out.event_at(event, self.time);
    }

    pub(crate) fn anomaly(&self, code: AnomalyCode, detail: String, out: &mut Decoded) {
        // Before the first run, an event belongs to no run.
        let run = if self.runs == 0 { RunId::none() } else { self.run.clone() };
        self.put(Event::new(&run, Kind::Anomaly(Anomaly { code, detail })), out);
    }

    /// Writes a failure. Servers repeat failures; the same one is written once.
    pub(crate) fn fail(&mut self, fact: ErrorFact, out: &mut Decoded) {
        self.begin(None, out);
        if self
            .failure
            .as_ref()
            .is_some_and(|known| (&known.code, &known.message) == (&fact.code, &fact.message))
        {
            return;
        }
        self.failure = Some(fact.clone());
        self.push(Kind::Error(fact), out);
    }

    /// Notes that the run goes on in spite of the failure: only its end decides about its status.
    pub(crate) fn outlives(&mut self) {
        self.failure = None;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether there is room for one more item. The first refusal writes an anomaly for all that follow.
    pub(crate) fn has_room(&mut self, out: &mut Decoded) -> bool {
        self.items = self.items.saturating_add(1);
        if self.items == ITEMS_PER_RUN_MAX.saturating_add(1) {
            self.anomaly(AnomalyCode::TooMany, format!("more than {ITEMS_PER_RUN_MAX} parts and calls"), out);
        }
        self.items <= ITEMS_PER_RUN_MAX
    }

    /// Begins a part.
    pub(crate) fn open_part(
        &mut self,
        kind: PartKind,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> OpenPart {
        self.parts = self.parts.saturating_add(1);
        let id = self.options.part(self.parts);
        self.push_by(agent, Kind::PartStart { part: id.clone(), kind }, out);
        OpenPart::new(id, kind, agent.cloned())
    }

    /// Writes a complete part.
    pub(crate) fn whole_part(
        &mut self,
        kind: PartKind,
        text: &str,
        hidden: bool,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let mut part = self.open_part(kind, agent, out);
        part.delta(text, self, out);
        part.end(hidden, self, out);
    }

    /// Begins a call. `id` is the dialect's own: an empty one is replaced by a new one, a repeated one is
    /// made unique.
    pub(crate) fn open_call(
        &mut self,
        id: &str,
        name: &str,
        server: bool,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> OpenCall {
        let tool = self.call_id(id);
        // The dialect's id is written if it differs from the id in the events.
        let given = ToolCallId::new(id);
        let given_id = (!id.is_empty() && tool != given).then(|| CompactString::new(given.as_str()));
        let start = ToolStart { tool: tool.clone(), name: CompactString::new(name), server, given_id };
        self.push_by(agent, Kind::ToolStart(start), out);
        OpenCall::new(id, tool, name, server, agent.cloned())
    }

    fn call_id(&mut self, id: &str) -> ToolCallId {
        let first = if id.is_empty() {
            self.minted = self.minted.saturating_add(1);
            ToolCallId::new(&format!("{}call-{}", self.options.part_prefix, self.minted))
        } else {
            ToolCallId::new(id)
        };
        let fresh = || NamedId { run: self.run.clone(), tool: first.clone(), times: 0, place: None };
        let named = self.calls.entry(CompactString::new(first.as_str())).or_insert_with(fresh);
        if named.run != self.run {
            *named = fresh();
        }
        named.times = named.times.saturating_add(1);
        if named.times > 1 {
            (named.tool, named.place) = (ToolCallId::new(&format!("{first}.{}", named.times)), None);
        }
        named.tool.clone()
    }

    /// Notes that the provider executes `tool` from now on.
    fn wait_for(&mut self, id: &str, tool: &ToolCallId) {
        self.waits = self.waits.saturating_add(1);
        self.waiting.insert(self.waits, (self.run.clone(), tool.clone()));
        if let Some(named) = self.calls.get_mut(ToolCallId::new(id).as_str()) {
            named.place = Some(self.waits);
        }
    }

    /// Ends the open run, or hands it back to the caller.
    pub(crate) fn end(&mut self, ending: RunEnding, out: &mut Decoded) {
        if !std::mem::take(&mut self.is_running) {
            return;
        }
        let RunEnding { is_whole, is_paused, status, finish_reason, mut usage } = ending;
        if self.options.run_goes_on {
            // The run has other model calls besides this one: an update adds to their tokens, an end would
            // replace them.
            let (finish_reason, usage) = (finish_reason.clone(), usage.take());
            let goes_on =
                is_whole && status.is_none() && self.failure.is_none() && (self.handed_over > 0 || is_paused);
            if goes_on || finish_reason.is_some() || usage.is_some() {
                self.push(Kind::RunUpdate(RunUpdate { finish_reason, usage, ..RunUpdate::default() }), out);
            }
            if goes_on {
                self.goes_on = true;
                return;
            }
        }
        let status = if let Some(status) = status {
            status
        } else if self.failure.is_some() {
            RunStatus::Error
        } else if is_whole {
            RunStatus::Complete
        } else {
            self.anomaly(AnomalyCode::Truncated, String::from("the stream broke off before its end"), out);
            RunStatus::Interrupted
        };
        self.settle_accounts(status, out);
        self.push(Kind::RunEnd(RunEnd { status, finish_reason, usage, lost: false }), out);
    }
}
