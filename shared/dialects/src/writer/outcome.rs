//! What becomes of calls after they are written: they run, print, and give something back.

use compact_str::CompactString;

use super::{
    AgentId, Decoded, Event, EventWriter, Kind, NamedId, OpenCall, RunId, ToolCallId, ToolState,
    ToolStateChange,
};
use model::event::{ToolProgress, ToolResult};
use model::json::Json;

/// What a call gave back.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) output: Json,
    pub(crate) is_error: bool,
    /// How long it was executed, in milliseconds, as the stream says it.
    pub(crate) exec_ms: Option<u64>,
    pub(crate) files: Option<Json>,
    pub(crate) embeds: Option<Json>,
}

impl CallOutcome {
    /// It gave back `output`.
    pub(crate) fn of(output: Json) -> Self {
        Self { output, is_error: false, exec_ms: None, files: None, embeds: None }
    }

    /// It failed with `output`.
    pub(crate) fn error(output: Json) -> Self {
        Self { is_error: true, ..Self::of(output) }
    }

    /// It was executed for so long.
    pub(crate) fn took(self, exec_ms: Option<u64>) -> Self {
        Self { exec_ms, ..self }
    }
}

impl EventWriter {
    /// What follows happened at `time`, in milliseconds since 1970 by the stream's own clock.
    pub(crate) fn set_time(&mut self, time: Option<u64>) {
        self.time = time.or(self.time);
    }

    /// A call that comes as a whole, by an agent that executes its calls itself: written and not yet running.
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

    /// Whether a call of the run that goes on has the dialect's `id`.
    pub(crate) fn knows_call(&self, id: &str) -> bool {
        self.calls.get(ToolCallId::new(id).as_str()).is_some_and(|named| named.run == self.run)
    }

    /// The call that the dialect means by `id`, and its run.
    fn named(&self, id: &str) -> (RunId, ToolCallId) {
        let tool = ToolCallId::new(id);
        match self.calls.get(tool.as_str()) {
            Some(named) => (named.run.clone(), named.tool.clone()),
            None => (self.run.clone(), tool),
        }
    }

    /// The call that the dialect means by `id`, as the events name it.
    pub(crate) fn tool_id(&self, id: &str) -> ToolCallId {
        self.named(id).1
    }

    /// The dialect calls the call `known`, which began without an id, `id` from now on.
    pub(crate) fn name_call(&mut self, known: &str, id: &str) {
        let (run, tool) = self.named(known);
        if !self.knows_call(id) {
            let named = NamedId { run, tool, times: 1, place: None };
            self.calls.insert(CompactString::new(ToolCallId::new(id).as_str()), named);
        }
    }

    /// The call stands so now.
    pub(crate) fn state(&mut self, id: &str, state: ToolState, agent: Option<&AgentId>, out: &mut Decoded) {
        let (run, tool) = self.named(id);
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        self.put(Event::new(&run, Kind::ToolState(change)).by(agent.cloned()), out);
    }

    /// The call printed more.
    pub(crate) fn output(&mut self, id: &str, text: &str, agent: Option<&AgentId>, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let (run, tool) = self.named(id);
        let kind = Kind::ToolOutput { tool, off: None, text: CompactString::new(text) };
        self.put(Event::new(&run, kind).by(agent.cloned()), out);
    }

    /// The call says how far it is.
    pub(crate) fn progress(&mut self, id: &str, text: &str, agent: Option<&AgentId>, out: &mut Decoded) {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        let progress = ToolProgress { text, ..ToolProgress::new(self.tool_id(id)) };
        self.report(id, progress, None, agent, out);
    }

    /// The call reports `progress`, at `time` in milliseconds since 1970 where the report says when.
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

    /// What the call gave back that the dialect means by `id`. It may be one of a run before this one. An id that no
    /// call had (gateways rewrite them) means the oldest call that the provider still executes.
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
