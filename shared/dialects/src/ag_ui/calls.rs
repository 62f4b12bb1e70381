//! Tool calls. The end of a call says that its arguments are complete, not that it was executed; the result
//! is an event of its own, and is missing if somebody else executes the tool.
//!
//! ```text
//! TOOL_CALL_START → ARGS* → END → (somebody executes it) → RESULT
//! TOOL_CALL_CHUNK*                 the short form: the first has id and name; any other event ends it
//! ```
//!
//! Adapters send some calls twice: when the model writes them, and when they are executed. The second time is
//! compared with the first and changes it only if the arguments differ.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::ForeignFields;
use crate::writer::{CallOutcome, EventWriter, WholeCall};
use model::anomaly::AnomalyCode;
use model::event::Kind;
use model::ids::AgentId;
use model::json::Json;
use model::limits::{ITEMS_PER_RUN_MAX, PART_BYTES_MAX};

/// The calls of a stream, over all its runs, since results may come in a later run.
#[derive(Debug, Default)]
pub(super) struct AgUiCalls {
    /// The calls by their ids.
    told: IndexMap<CompactString, AgUiCall>,
    /// The id of the call that began last, for events that name none.
    last: CompactString,
    /// The id of the open call in the short form.
    chunk: Option<CompactString>,
    /// The open run has streamed a call.
    has_call: bool,
}

/// One tool call of a run.
#[derive(Debug)]
struct AgUiCall {
    /// The call and a digest of its arguments.
    writing: WholeCall,
    /// The agent that calls; nothing for the main one.
    agent: Option<AgentId>,
    stage: AgUiCallStage,
}

/// The stage of a call.
#[derive(Debug, PartialEq, Eq)]
enum AgUiCallStage {
    /// The arguments are being written.
    Writing,
    /// The arguments are complete.
    Written,
    /// The call is sent a second time; the value is its arguments as they are now, up to [`PART_BYTES_MAX`].
    Again(String),
    /// The call has its result.
    Over,
}

impl AgUiCalls {
    /// Begins a run. Calls of earlier runs stay known, up to a limit.
    pub(super) fn begin(&mut self) {
        (self.chunk, self.has_call) = (None, false);
        if self.told.len() > ITEMS_PER_RUN_MAX {
            self.told.clear();
        }
    }

    /// Whether the open run has streamed a call.
    pub(super) fn has_call(&self) -> bool {
        self.has_call
    }

    /// Whether the call has begun and has no result yet.
    pub(super) fn is_waiting(&self, id: &str) -> bool {
        self.told.get(id).is_some_and(|call| call.stage != AgUiCallStage::Over)
    }

    /// Whether a call with this id was in the stream.
    pub(super) fn is_known(&self, id: &str) -> bool {
        self.told.contains_key(id)
    }

    /// Takes an event `TOOL_CALL_{what}`.
    pub(super) fn event(
        &mut self,
        what: &str,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = event.any(&["toolCallId", "id"]).words();
        let name = || event.any(&["toolCallName", "toolName", "name"]).words().unwrap_or_default();
        let delta = || event.any(&["delta", "args"]).words().unwrap_or_default();
        match what {
            "START" => self.start(&id.unwrap_or_default(), &name(), agent, w, out),
            "ARGS" => {
                let id = self.meant(id);
                if !self.told.contains_key(&id) {
                    w.anomaly(AnomalyCode::ToolWithoutStart, format!("arguments of {id:?}"), out);
                    self.start(&id, &name(), agent, w, out);
                }
                self.args(&id, &delta(), w, out);
            }
            "END" => {
                let id = self.meant(id);
                self.end(&id, true, w, out);
            }
            "RESULT" => {
                let id = self.meant(id);
                self.result(&id, event, w, out);
            }
            "CHUNK" => {
                let id = match (id, &self.chunk) {
                    (None, Some(id)) => id.clone(),
                    (id, _) => CompactString::new(id.unwrap_or_default()),
                };
                if self.chunk.as_ref() != Some(&id) {
                    self.start(&id, &name(), agent, w, out);
                    self.chunk = Some(CompactString::new(&*self.last));
                }
                let id = self.chunk.clone().unwrap_or(id);
                self.args(&id, &delta(), w, out);
            }
            _ => {}
        }
    }

    /// The id of the call that an event is about: if it names none, the one that began last.
    fn meant(&self, id: Option<Cow<'_, str>>) -> CompactString {
        id.map_or_else(|| self.last.clone(), CompactString::new)
    }

    /// Begins a call. An open one with the same id goes on; one whose arguments are complete is sent a second
    /// time.
    fn start(
        &mut self,
        id: &str,
        name: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if let Some(known) = self.told.get_mut(id)
            && w.knows_call(id)
        {
            match known.stage {
                AgUiCallStage::Over => {}
                // Adapters tell a call when the model writes it and again when it is executed.
                AgUiCallStage::Written => {
                    known.stage = AgUiCallStage::Again(String::new());
                    return;
                }
                AgUiCallStage::Writing | AgUiCallStage::Again(_) => return,
            }
        }
        if !w.has_room(out) {
            return;
        }
        self.has_call = true;
        let mut writing = WholeCall::new(w.open_call(id, name, false, agent, out));
        // Without an id the writer gives one.
        self.last = CompactString::new(writing.call().id());
        let call = AgUiCall { writing, agent: agent.cloned(), stage: AgUiCallStage::Writing };
        self.told.insert(self.last.clone(), call);
    }

    /// Takes more of the arguments. Arguments after the end of the call are an anomaly.
    fn args(&mut self, id: &str, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        let Some(known) = self.told.get_mut(id) else { return };
        match &mut known.stage {
            AgUiCallStage::Writing => known.writing.args(text, w, out),
            AgUiCallStage::Again(held) if held.len().saturating_add(text.len()) <= PART_BYTES_MAX => {
                held.push_str(text);
            }
            AgUiCallStage::Again(_) => {}
            AgUiCallStage::Written | AgUiCallStage::Over if text.is_empty() => {}
            AgUiCallStage::Written | AgUiCallStage::Over => {
                w.anomaly(AnomalyCode::AfterToolEnd, format!("arguments of {id:?}"), out);
            }
        }
    }

    /// Ends the arguments. They are written if the stream says that they are complete (`is_whole`) or if they
    /// are an object.
    fn end(&mut self, id: &str, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        if self.chunk.as_deref() == Some(id) {
            self.chunk = None;
        }
        let Some(known) = self.told.get_mut(id) else { return };
        match std::mem::replace(&mut known.stage, AgUiCallStage::Written) {
            AgUiCallStage::Writing if is_whole || known.writing.call().is_whole() => {
                known.writing.written(w, out);
            }
            AgUiCallStage::Again(arguments) if !arguments.is_empty() && !known.writing.is(&arguments) => {
                let kind = Kind::ToolCall { tool: w.tool_id(id), name: None, arguments: Some(arguments) };
                w.push_by(known.agent.as_ref(), kind, out);
            }
            AgUiCallStage::Over => known.stage = AgUiCallStage::Over,
            AgUiCallStage::Writing | AgUiCallStage::Written | AgUiCallStage::Again(_) => {}
        }
    }

    /// Takes a result. The result of a call in another stream becomes a message.
    fn result(&mut self, id: &str, event: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let output = event.any(&["content", "result", "output"]);
        if !self.is_known(id) {
            // Its call was in another stream.
            let message = event.get("messageId").words().unwrap_or_else(|| id.into());
            return w.message_as(&message, "tool", &output.words().unwrap_or_default(), out);
        }
        let is_error = event.get("isError").is_true() || event.get("error").is_truthy();
        self.gave_back(id, output.json(), is_error, w, out);
    }

    /// Writes the result of a call, and ends its arguments before.
    pub(super) fn gave_back(
        &mut self,
        id: &str,
        output: Json,
        failed: bool,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if w.knows_call(id) {
            self.end(id, true, w, out);
        }
        let Some(known) = self.told.get_mut(id) else { return };
        known.stage = AgUiCallStage::Over;
        let outcome = CallOutcome { is_error: failed, ..CallOutcome::of(output) };
        w.result(id, outcome, known.agent.as_ref(), out);
    }

    /// Writes a whole call, from a list of messages.
    pub(super) fn whole(
        &mut self,
        id: &str,
        (name, arguments): (&str, &str),
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let had_call = self.has_call;
        self.start(id, name, agent, w, out);
        self.has_call = had_call;
        let id = if id.is_empty() { self.last.clone() } else { CompactString::new(id) };
        self.args(&id, arguments, w, out);
        self.end(&id, true, w, out);
    }

    /// Ends the call in the short form, unless the event is more of it.
    pub(super) fn end_chunk(
        &mut self,
        kind: &str,
        event: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let Some(chunk) = &self.chunk else { return };
        let id = event.any(&["toolCallId", "id"]).words();
        let goes_on = kind == "TOOL_CALL_CHUNK" && id.is_none_or(|id| id == chunk.as_str());
        if !goes_on {
            let id = chunk.clone();
            self.end(&id, true, w, out);
        }
    }

    /// Ends the open calls of the run. If the run is not whole (`is_whole`), those without complete arguments
    /// stay as they are.
    pub(super) fn end_all(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        let open = self
            .told
            .iter()
            .filter(|(_, known)| matches!(known.stage, AgUiCallStage::Writing | AgUiCallStage::Again(_)));
        let open: Vec<_> = open.map(|(id, _)| id.clone()).collect();
        for id in open {
            if w.knows_call(&id) {
                self.end(&id, is_whole, w, out);
            }
        }
    }
}
