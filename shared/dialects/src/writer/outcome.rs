//! Writes what becomes of calls after their arguments: they run, print, and return something.

use compact_str::CompactString;

use super::{
    AgentId, Decoded, Event, EventWriter, Kind, NamedId, OpenCall, RunId, ToolCallId, ToolState,
    ToolStateChange,
};
use model::event::{ToolProgress, ToolResult};
use model::json::Json;

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) output: Json,
    pub(crate) is_error: bool,
    /// How long the call was executed, in milliseconds, as the stream says.
    pub(crate) exec_ms: Option<u64>,
    pub(crate) files: Option<Json>,
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

    /// Sets how long the call was executed, in milliseconds.
    pub(crate) fn took(self, exec_ms: Option<u64>) -> Self {
        Self { exec_ms, ..self }
    }
}

impl EventWriter {
    /// Sets the time of the next events, in milliseconds since 1970 by the stream's own clock.
    pub(crate) fn set_time(&mut self, time: Option<u64>) {
        self.time = time.or(self.time);
    }

    /// Writes a complete call of an agent that executes its calls itself; it does not run yet.
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

    /// The call to which the dialect's `id` refers, and its run.
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

    /// Writes the state of a call.
    pub(crate) fn state(&mut self, id: &str, state: ToolState, agent: Option<&AgentId>, out: &mut Decoded) {
        let (run, tool) = self.named(id);
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        self.put(Event::new(&run, Kind::ToolState(change)).by(agent.cloned()), out);
    }

    /// Writes more output of a call.
    pub(crate) fn output(&mut self, id: &str, text: &str, agent: Option<&AgentId>, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let (run, tool) = self.named(id);
        let kind = Kind::ToolOutput { tool, off: None, text: CompactString::new(text) };
        self.put(Event::new(&run, kind).by(agent.cloned()), out);
    }

    /// Writes the progress of a call as a text.
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
