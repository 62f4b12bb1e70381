//! Writes what becomes of calls after their arguments: they run, print, and return something.
//!
//! Here calls are named by the id of the dialect, not by an [`OpenCall`]: a result often comes long after the
//! call, in another message or another run. An id that no call had is used as it is, so that the fold can say
//! what is missing.

use compact_str::CompactString;

use super::{
    AgentId, Decoded, Event, EventWriter, Kind, NamedId, OpenCall, RunId, ToolCallId, ToolState,
    ToolStateChange,
};
use model::event::{ToolProgress, ToolResult};
use model::json::Json;

/// The outcome of a call, as a stream reports it. A second outcome of the same call replaces the first in the
/// view and is counted as an anomaly there, except where it corrects a success into a failure.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    /// What the tool returned, as JSON; a plain text is a JSON string.
    pub(crate) output: Json,
    /// The tool failed, and the output says how.
    pub(crate) is_error: bool,
    /// How long the call was executed, in milliseconds, as the stream says.
    pub(crate) exec_ms: Option<u64>,
    /// Files that came with the result, in the form of the dialect.
    pub(crate) files: Option<Json>,
    /// Embedded pages that came with the result, in the form of the dialect.
    pub(crate) embeds: Option<Json>,
}

impl CallOutcome {
    /// The outcome of a call that returned `output`.
    pub(crate) fn of(output: Json) -> Self {
        Self { output, is_error: false, exec_ms: None, files: None, embeds: None }
    }

    /// The outcome of a call that failed with `output`.
    pub(crate) fn error(output: Json) -> Self {
        Self { is_error: true, ..Self::of(output) }
    }

    /// Sets how long the call was executed, in milliseconds; nothing if the stream does not say.
    pub(crate) fn took(self, exec_ms: Option<u64>) -> Self {
        Self { exec_ms, ..self }
    }
}

impl EventWriter {
    /// Sets the time of the next events, in milliseconds since 1970 by the stream's own clock. Nothing leaves
    /// the last one in place.
    pub(crate) fn set_time(&mut self, time: Option<u64>) {
        self.time = time.or(self.time);
    }

    /// Writes a complete call of an agent that executes its calls itself: start and arguments. It does not
    /// run yet; [`OpenCall::executes`] or [`EventWriter::state`] says so later. Without `arguments` the call has
    /// none.
    pub(crate) fn whole_call(
        &mut self,
        id: &str,
        name: &str,
        arguments: Option<&str>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> OpenCall {
        let mut call = self.open_call(id, name, false, agent, out);
        call.written(arguments.map(str::to_owned), self, out);
        call
    }

    /// Whether a call of the open run has the dialect's `id`.
    pub(crate) fn knows_call(&self, id: &str) -> bool {
        self.calls.get(ToolCallId::new(id).as_str()).is_some_and(|named| named.run == self.run)
    }

    /// The call to which the dialect's `id` refers, and its run. An unknown id refers to a call of that name
    /// in the open run.
    fn named(&self, id: &str) -> (RunId, ToolCallId) {
        let tool = ToolCallId::new(id);
        match self.calls.get(tool.as_str()) {
            Some(named) => (named.run.clone(), named.tool.clone()),
            None => (self.run.clone(), tool),
        }
    }

    /// The id in the events of the call to which the dialect's `id` refers.
    pub(crate) fn tool_id(&self, id: &str) -> ToolCallId {
        self.named(id).1
    }

    /// Notes that the dialect uses `id` from now on for the call `known`, which began without an id.
    pub(crate) fn name_call(&mut self, known: &str, id: &str) {
        let (run, tool) = self.named(known);
        if !self.knows_call(id) {
            let named = NamedId { run, tool, times: 1, place: None };
            self.calls.insert(CompactString::new(ToolCallId::new(id).as_str()), named);
        }
    }

    /// Writes the state of a call, in the run of that call.
    pub(crate) fn state(&mut self, id: &str, state: ToolState, agent: Option<&AgentId>, out: &mut Decoded) {
        let (run, tool) = self.named(id);
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        self.put(Event::new(&run, Kind::ToolState(change)).by(agent.cloned()), out);
    }

    /// Writes more output of a call. Its offset is left to the hub; an empty piece is ignored.
    pub(crate) fn output(&mut self, id: &str, text: &str, agent: Option<&AgentId>, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let (run, tool) = self.named(id);
        let kind = Kind::ToolOutput { tool, off: None, text: CompactString::new(text) };
        self.put(Event::new(&run, kind).by(agent.cloned()), out);
    }

    /// Writes the progress of a call as a text; an empty text says only that the call goes on. Progress is
    /// ephemeral: the newest replaces the others and none is stored.
    pub(crate) fn progress(&mut self, id: &str, text: &str, agent: Option<&AgentId>, out: &mut Decoded) {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        let progress = ToolProgress { text, ..ToolProgress::new(self.tool_id(id)) };
        self.report(id, progress, None, agent, out);
    }

    /// Writes the progress of a call, at `time` in milliseconds since 1970 if the stream says when.
    pub(crate) fn report(
        &mut self,
        id: &str,
        progress: ToolProgress,
        time: Option<u64>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let (run, tool) = self.named(id);
        let kind = Kind::ToolProgress(ToolProgress { tool, ..progress });
        out.event_at(Event::new(&run, kind).by(agent.cloned()), time.or(self.time));
    }

    /// Writes the result of the call to which the dialect's `id` refers, which may belong to an earlier run.
    /// An unknown id (gateways rewrite them) refers to the oldest call that the provider still executes.
    pub(crate) fn result(
        &mut self,
        id: &str,
        outcome: CallOutcome,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let tool = ToolCallId::new(id);
        let (run, tool) = match self.calls.get_mut(tool.as_str()) {
            Some(named) => {
                let place = named.place.take();
                place.map(|place| self.waiting.remove(&place));
                (named.run.clone(), named.tool.clone())
            }
            None => self.waiting.pop_first().map_or((self.run.clone(), tool), |(_, oldest)| oldest),
        };
        let CallOutcome { output, is_error, exec_ms, files, embeds } = outcome;
        let result = ToolResult { exec_ms, files, embeds, ..ToolResult::new(tool, output, is_error) };
        self.put(Event::new(&run, Kind::ToolResult(result)).by(agent.cloned()), out);
    }
}
