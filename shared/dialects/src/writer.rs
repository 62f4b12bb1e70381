//! Writes the events of decoders: one run at a time, parts and calls with ids that are unique and always the
//! same, deltas with their offsets, exactly one end.
//!
//! A decoder says what happened in the words of its dialect; the writer makes the events. For a stream with
//! one text and one call it writes
//!
//! ```text
//! begin         run.start r1
//! open_part     part.start p1            delta: part.delta p1 off 0, off 5, …     end: part.end p1
//! open_call     tool.start call_7        args: tool.args off 0, …                 written: tool.call call_7
//! result        tool.result call_7
//! end           run.end complete
//! ```
//!
//! * [`OpenPart`] and [`OpenCall`] are owned by the decoder while they are open. Dropping one writes nothing:
//!   the fold closes what a run left open when the run ends.
//! * An id of the dialect is used as it is, if it is not longer than [`model::limits::ID_BYTES_MAX`]. An
//!   empty one is replaced by `call-1`, `call-2`, …; one that the run used before becomes `ID.2`.
//! * A run that was handed back to its caller ([`DecodeOptions::run_goes_on`]) continues with the next
//!   [`EventWriter::begin`].
//! * Bounds (I7): [`ITEMS_PER_RUN_MAX`] parts and calls in a run. Whoever opens one asks
//!   [`EventWriter::has_room`] first.

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
mod whole;

pub(crate) use call::OpenCall;
pub(crate) use outcome::CallOutcome;
pub(crate) use part::OpenPart;
pub(crate) use whole::{EndedPart, TextDigest, WholeCall, WholeOutput, WholePart};

/// Writes the events of one stream. The decoder owns it; it keeps ids and counts, never texts.
#[derive(Debug)]
pub(crate) struct EventWriter {
    /// The name of the dialect, as `run.start` and raw events give it.
    dialect: CompactString,
    /// What the caller of the decoder chose: the id of the first run, the prefix of ids, whether the run goes
    /// on.
    options: DecodeOptions,
    run: RunId,
    /// The number of runs that have begun in this stream.
    runs: u64,
    /// A run has begun and neither ended nor been handed back.
    is_running: bool,
    /// The run was handed back to its caller, and continues with the next model call instead of a new run.
    goes_on: bool,
    /// The model of the open run is known. The first one that the stream names is written, later ones are
    /// ignored.
    has_model: bool,
    /// The last failure of the open run. It decides about the status of its end, and a repetition of it is
    /// not written again.
    failure: Option<ErrorFact>,
    /// The number of parts so far, over all runs. The ids of parts are made of it.
    parts: u64,
    /// The number of parts, calls and other items of the open run, for its bound.
    items: usize,
    /// The number of calls without an id so far, over all runs. Their ids are made of it.
    minted: u64,
    /// The ids of the dialect, and the calls to which they refer now. They outlive their run, since a result
    /// may come in a later one; they are dropped when a run begins and there are more than
    /// [`ITEMS_PER_RUN_MAX`].
    calls: IndexMap<CompactString, NamedId>,
    /// Calls that the provider executes and that have no result yet, oldest first.
    waiting: BTreeMap<u64, (RunId, ToolCallId)>,
    /// The last key of `waiting`.
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

/// The call to which an id of the dialect refers. A later call with the same id takes the id over.
#[derive(Debug)]
struct NamedId {
    /// The run of the call. A result that comes after the end of the run still belongs to it.
    run: RunId,
    /// The id in the events.
    tool: ToolCallId,
    /// How many calls of the run have used the id.
    times: u64,
    /// The key of the call in [`EventWriter::waiting`], while the provider executes it.
    place: Option<u64>,
}

/// How a run ends, as far as the stream says.
#[derive(Debug, Default)]
pub(crate) struct RunEnding {
    /// The stream said that the answer is complete. Without it, and without a status or a failure, the run is
    /// interrupted and an anomaly (`truncated`) says that the stream broke off.
    pub(crate) is_whole: bool,
    /// The provider paused the answer and continues when it is called again. It matters only if the caller
    /// continues the run.
    pub(crate) is_paused: bool,
    /// The status, if the stream states it. It takes precedence over all else.
    pub(crate) status: Option<RunStatus>,
    /// Why the model stopped, in the vendor's own word (`stop`, `tool_use`, `MAX_TOKENS`).
    pub(crate) finish_reason: Option<CompactString>,
    /// The tokens of the whole run; for a model call inside of a run that goes on, those of the call.
    pub(crate) usage: Option<Usage>,
}

impl EventWriter {
    /// A writer for one stream of `dialect`. Nothing is written before [`EventWriter::begin`].
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

    /// Whether a run is open: begun, not ended and not handed back.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether a run has begun in this stream, open or not.
    pub(crate) fn has_begun(&self) -> bool {
        self.runs > 0
    }

    /// Begins a run unless one is open: the first has the id that the caller gave, later ones are numbered
    /// (`r1.2`). A run that was handed back to the caller continues without an event. An empty `model` counts
    /// as none; the first one that is not is written with the start, or as an update if the run is open.
    pub(crate) fn begin(&mut self, model: Option<&str>, out: &mut Decoded) {
        let model = model.filter(|model| !model.is_empty());
        if std::mem::take(&mut self.goes_on) {
            (self.is_running, self.handed_over) = (true, 0);
        }
        if self.is_running {
            if let Some(model) = model.filter(|_| !self.has_model) {
                self.has_model = true;
                let model = Some(CompactString::new(model));
                self.push(Kind::RunUpdate(RunUpdate { model, ..RunUpdate::default() }), out);
            }
            return;
        }
        let model = model.map(CompactString::new);
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
        self.push(Kind::RunStart(RunStart { model, dialect, ..RunStart::default() }), out);
    }

    /// Writes an event of the main agent.
    pub(crate) fn push(&self, kind: Kind, out: &mut Decoded) {
        self.put(Event::new(&self.run, kind), out);
    }

    /// Writes an event of `agent`; nothing stands for the main agent.
    pub(crate) fn push_by(&self, agent: Option<&AgentId>, kind: Kind, out: &mut Decoded) {
        self.put(Event::new(&self.run, kind).by(agent.cloned()), out);
    }

    /// Writes any event with the time of the stream's own clock, if that is known.
    fn put(&self, event: Event, out: &mut Decoded) {
        out.event_at(event, self.time);
    }

    /// Writes an anomaly. `detail` says where and what: a line, an id, an excerpt. It neither begins nor ends
    /// a run.
    pub(crate) fn anomaly(&self, code: AnomalyCode, detail: String, out: &mut Decoded) {
        // Before the first run, an event belongs to no run.
        let run = if self.runs == 0 { RunId::none() } else { self.run.clone() };
        self.put(Event::new(&run, Kind::Anomaly(Anomaly { code, detail })), out);
    }

    /// Writes a failure. Servers repeat failures; the same one is written once.
    ///
    /// A run begins if none is open. The failure does not end it; it decides how [`EventWriter::end`] ends
    /// it.
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
    pub(crate) fn clear_failure(&mut self) {
        self.failure = None;
    }

    /// Whether the open run has a failure that decides about its end.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether there is room for one more item. The first refusal writes an anomaly for all that follow.
    /// It counts the item, so ask once for each.
    pub(crate) fn has_room(&mut self, out: &mut Decoded) -> bool {
        self.items = self.items.saturating_add(1);
        if self.items == ITEMS_PER_RUN_MAX.saturating_add(1) {
            self.anomaly(AnomalyCode::TooMany, format!("more than {ITEMS_PER_RUN_MAX} parts and calls"), out);
        }
        self.items <= ITEMS_PER_RUN_MAX
    }

    /// Begins a part and writes its start. The caller owns the part and ends it; it has asked for room
    /// before.
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

    /// Writes a complete part: start, one delta unless the text is empty, end. `hidden` says that the
    /// provider keeps the text to itself (encrypted reasoning).
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

    /// Begins a call and writes its start. `id` is the dialect's own: an empty one is replaced by a new one,
    /// a repeated one is made unique. `server` says that the provider executes the call itself, so that
    /// nobody else does.
    ///
    /// The caller owns the call, writes its arguments and ends them; it has asked for room before.
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

    /// The id in the events for the next call with the dialect's `id`, which is noted. An id of an earlier
    /// run may be used again without a suffix.
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
    ///
    /// The oldest such call gets the next result whose id is unknown.
    fn note_executing(&mut self, id: &str, tool: &ToolCallId) {
        self.waits = self.waits.saturating_add(1);
        self.waiting.insert(self.waits, (self.run.clone(), tool.clone()));
        if let Some(named) = self.calls.get_mut(ToolCallId::new(id).as_str()) {
            named.place = Some(self.waits);
        }
    }

    /// Ends the open run, or hands it back to the caller. Does nothing if no run is open.
    ///
    /// The status is the one that the stream states; else error after a failure, complete if the answer is
    /// whole, and interrupted otherwise. A run is handed back if its caller continues it, the answer is whole
    /// without a failure, and calls were handed over or the provider paused: then finish reason and usage are
    /// written as an update, which adds to the tokens of other model calls. The usage of sub-agents is
    /// written before the end.
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
        self.write_agent_usage(status, out);
        self.push(Kind::RunEnd(RunEnd { status, finish_reason, usage, lost: false }), out);
    }
}
