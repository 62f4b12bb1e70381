//! Writes the events of an open call: its arguments as they are streamed, then its final name and arguments,
//! then who executes it.
//!
//! ```text
//! open_call ──args*──▶ written ──▶ the caller executes it (handed over), or
//!                      │           the provider does: executing ──▶ result
//!                      └─ asks ──▶ a person decides first
//! ```
//!
//! The arguments are not kept, only what is needed to judge them: their length, their first bytes and their
//! brackets.

use compact_str::CompactString;

use super::{
    AgentId, AnomalyCode, Decoded, EventWriter, JsonNesting, Kind, ToolCallId, ToolState, ToolStateChange,
};

/// A call whose arguments are being written, or were. The decoder owns it; dropping it writes nothing.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(crate) struct OpenCall {
    /// The dialect's own id; empty if it gave none.
    id: CompactString,
    /// The id in the events.
    tool: ToolCallId,
    /// The name that was written at the start.
    told: CompactString,
    /// The name that is known now.
    name: CompactString,
    /// The agent that calls; nothing for the main one.
    agent: Option<AgentId>,
    /// The provider executes the call itself.
    server: bool,
    /// The number of bytes of arguments so far.
    len: u64,
    /// The first four bytes of the arguments, enough to recognise `null`.
    head: String,
    /// The brackets of the arguments, to see whether they are complete.
    nesting: JsonNesting,
    /// The final name and arguments were written; later ones are ignored.
    written: bool,
    /// The provider executes it, and the event that says so was written.
    running: bool,
    /// The arguments must be JSON; if they are not, an anomaly says so.
    promises_json: bool,
}

impl OpenCall {
    /// A call whose start was written with this `name`.
    pub(super) fn new(id: &str, tool: ToolCallId, name: &str, server: bool, agent: Option<AgentId>) -> Self {
        let name = CompactString::new(name);
        Self {
            id: CompactString::new(id),
            tool,
            told: name.clone(),
            name,
            agent,
            server,
            len: 0,
            head: String::new(),
            nesting: JsonNesting::default(),
            written: false,
            running: false,
            promises_json: true,
        }
    }

    /// The id by which the writer knows the call: the dialect's, or a new one.
    pub(crate) fn id(&self) -> &str {
        if self.id.is_empty() { self.tool.as_str() } else { &self.id }
    }

    /// The agent that calls; nothing for the main one.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }

    /// The name as it is known now, which may differ from the one in the start.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the name. It is written with the final arguments if it differs from the one in the start: some
    /// servers send the name after the beginning of the call, or in pieces.
    pub(crate) fn set_name(&mut self, name: &str) {
        self.name = CompactString::new(name);
    }

    /// Whether there are no arguments so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the arguments so far mean that there are none; some servers write `null`.
    fn is_nothing(&self) -> bool {
        self.len == 0 || (self.len == 4 && self.head == "null")
    }

    /// Whether the arguments so far are a complete object.
    pub(crate) fn is_whole(&self) -> bool {
        self.nesting.is_whole()
    }

    /// Allows arguments that are not JSON, such as the input of a custom tool.
    pub(crate) fn take_any_text(&mut self) {
        self.promises_json = false;
    }

    /// Whether the final name and arguments were written.
    pub(crate) fn is_written(&self) -> bool {
        self.written
    }

    /// Writes more of the arguments, with its offset in bytes; an empty piece is ignored.
    pub(crate) fn args(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.nesting.scan(text);
        if self.head.len() < 4 {
            self.head.extend(text.chars().take(4));
            self.head.truncate(self.head.floor_char_boundary(4));
        }
        let kind =
            Kind::ToolArgs { tool: self.tool.clone(), off: Some(self.len), text: CompactString::new(text) };
        self.len = self.len.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        writer.push_by(self.agent.as_ref(), kind, out);
    }

    /// Ends the arguments; `arguments` replaces the streamed ones. A call of the provider's own tools runs
    /// from now on, any other one is handed over to the caller.
    ///
    /// Only the first of [`OpenCall::written`] and [`OpenCall::asks`] has an effect. Arguments that were
    /// streamed, are not empty and are no complete object are an anomaly, `bad_arguments`; the call is
    /// written all the same.
    pub(crate) fn written(&mut self, arguments: Option<String>, writer: &mut EventWriter, out: &mut Decoded) {
        if !self.tell(arguments, writer, out) {
            return;
        }
        if self.server {
            self.executes(writer, out);
        } else {
            writer.handed_over = writer.handed_over.saturating_add(1);
        }
    }

    /// Ends the arguments, and asks a person `question` before the call is executed. The call is not handed
    /// over to the caller.
    pub(crate) fn asks(
        &mut self,
        arguments: Option<String>,
        question: Option<String>,
        writer: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if self.tell(arguments, writer, out) {
            let kind = Kind::ApprovalRequest { tool: self.tool.clone(), text: question };
            writer.push_by(self.agent.as_ref(), kind, out);
        }
    }

    /// Notes that the provider executes the call from now on, even if its arguments are not complete.
    /// Repeating it does nothing.
    pub(crate) fn executes(&mut self, writer: &mut EventWriter, out: &mut Decoded) {
        if std::mem::replace(&mut self.running, true) {
            return;
        }
        writer.note_executing(self.id(), &self.tool);
        let (tool, state) = (self.tool.clone(), ToolState::Executing);
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        writer.push_by(self.agent.as_ref(), Kind::ToolState(change), out);
    }

    /// Writes the final name and arguments. False if they were written before.
    fn tell(&mut self, arguments: Option<String>, writer: &EventWriter, out: &mut Decoded) -> bool {
        if std::mem::replace(&mut self.written, true) {
            return false;
        }
        if arguments.is_none() && self.promises_json && !self.is_nothing() && !self.is_whole() {
            let detail = format!("{}: the arguments of {} are no whole object", self.tool, self.name);
            writer.anomaly(AnomalyCode::BadArguments, detail, out);
        }
        let name = (self.name != self.told).then(|| self.name.clone());
        let tool = self.tool.clone();
        writer.push_by(self.agent.as_ref(), Kind::ToolCall { tool, name, arguments }, out);
        true
    }
}
