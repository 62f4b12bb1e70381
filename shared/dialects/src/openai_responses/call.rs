//! Items that call a tool, and items that have the result of a call.
//!
//! The arguments of most types stream as deltas and are repeated whole: in a `.done` event and at the end of
//! the item. For some types the arguments are JSON that is made here around a streamed text:
//!
//! ```text
//! code_interpreter_call   {"code":"…"}                                     around the streamed code
//! shell_call              {"commands":["…","…"], …}                        around the streamed commands
//! apply_patch_call        {"type":"…","path":"…","diff":"…"}               around the streamed diff
//! ```
//!
//! Tools that the provider executes run inside of the stream: `searching`, `interpreting` and their like
//! begin the execution, and the end of the item has the result.

use compact_str::CompactString;

use super::tools::{self, ResponsesTool};
use super::wire::{OutputItem, ResponsesObject, ResponsesStreamEvent};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, WholeCall};
use model::event::{Kind, PartKind};

/// A call that has begun.
#[derive(Debug)]
pub(super) struct ResponsesCall {
    /// The call, and what was written of its arguments.
    open: WholeCall,
    /// The type of its item.
    kind: CompactString,
    /// The provider executes it.
    server: bool,
    /// How the arguments begin when a patch streams; empty for other calls.
    patch_start: String,
    /// The number of the command that streams; nothing before the first.
    command: Option<u64>,
    /// Commands were received in an order that cannot be streamed: the end of the item has them.
    is_jumbled: bool,
}

impl ResponsesCall {
    /// Begins the call that an item of type `kind` makes; nothing if it is no call.
    pub(super) fn start(
        kind: &str,
        body: &OutputItem<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Option<Self> {
        let tool = ResponsesTool::of(kind, body)?;
        let call = w.open_call(&tool.id, &tool.name, tool.server, None, out);
        let mut open = WholeCall::new(call);
        if kind == "custom_tool_call" {
            open.call().take_any_text();
        }
        let patch_start =
            if body.operation.is_object() { tools::patch_start(body.operation) } else { String::new() };
        let kind = CompactString::new(kind);
        Some(Self { open, kind, server: tool.server, patch_start, command: None, is_jumbled: false })
    }

    /// Whether it asks a person before it is executed.
    pub(super) fn is_asking(&self) -> bool {
        self.kind == "mcp_approval_request"
    }

    /// Takes an event about the call; returns false if it is none that calls have.
    pub(super) fn fact(
        &mut self,
        fact: &str,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        if self.open.call().is_written() {
            return self.later_fact(fact, event, w, out);
        }
        match fact {
            "function_call_arguments.delta" | "mcp_call_arguments.delta" | "custom_tool_call_input.delta" => {
                self.open.args(&event.delta.text().unwrap_or_default(), w, out);
            }
            "function_call_arguments.done" | "mcp_call_arguments.done" => {
                self.name(event.name);
                self.arguments(event.arguments, w, out);
            }
            "custom_tool_call_input.done" => {
                self.arguments(event.input, w, out);
            }
            "code_interpreter_call_code.delta" => self.string(tools::CODE_START, event.delta, w, out),
            "code_interpreter_call_code.done" => {
                let body = OutputItem { code: event.code, ..OutputItem::default() };
                self.write(&body, w, out);
            }
            "apply_patch_call_operation_diff.delta" if !self.patch_start.is_empty() => {
                let start = std::mem::take(&mut self.patch_start);
                self.string(&start, event.delta, w, out);
                self.patch_start = start;
            }
            "shell_call_command.added" | "shell_call_command.delta" => self.command(event, w, out),
            _ => return self.later_fact(fact, event, w, out),
        }
        true
    }

    /// Takes the events that are also sent for calls whose arguments are final: how far the execution is.
    fn later_fact(
        &mut self,
        fact: &str,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let (about, word) = fact.rsplit_once('.').unwrap_or(("", fact));
        match word {
            "partial_image" => {
                let number = event.partial_image_index.count().unwrap_or(0).saturating_add(1);
                let id = CompactString::new(self.open.call().id());
                w.progress(&id, &format!("partial image {number}"), None, out);
            }
            // Of calls with streamed arguments this is only the beginning of the arguments.
            "in_progress" if matches!(about, "mcp_call" | "code_interpreter_call") => {}
            "in_progress" | "searching" | "generating" | "interpreting" if self.server => {
                self.open.call().executes(w, out);
            }
            // The end of the item says it all.
            "added" | "delta" | "done" | "in_progress" | "completed" | "failed" | "incomplete" => {}
            _ => return false,
        }
        true
    }

    /// Sets the name, if the event has one.
    fn name(&mut self, name: ForeignField<'_>) {
        if let Some(name) = name.word() {
            self.open.call().set_name(&name);
        }
    }

    /// Takes the whole arguments from the event that ends them. Those that are no whole object wait for the
    /// end of the item, which knows whether they were broken off.
    fn arguments(&mut self, arguments: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let any_text = self.kind == "custom_tool_call";
        let Some(arguments) = arguments.text() else { return };
        self.open.set_args(&arguments, w, out);
        if any_text || self.open.call().is_whole() {
            self.open.written(w, out);
        }
    }

    /// Writes more of a text that is inside of a string in the arguments. `start` is the JSON before it,
    /// which is written first.
    fn string(&mut self, start: &str, delta: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if self.open.call().is_empty() {
            self.open.args(start, w, out);
        }
        self.open.args(&tools::escaped(&delta.text().unwrap_or_default()), w, out);
    }

    /// Takes more of a command: one begins, or goes on.
    fn command(&mut self, event: &ResponsesStreamEvent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let index = event.command_index.count().unwrap_or(0);
        let next = self.command.map_or(0, |last| last.saturating_add(1));
        self.is_jumbled |= self.command != Some(index) && index != next;
        if self.is_jumbled {
            return;
        }
        if self.command != Some(index) && self.command.is_some() {
            self.open.args(tools::COMMANDS_BETWEEN, w, out);
        }
        self.command = Some(index);
        self.string(tools::COMMANDS_START, event.delta, w, out);
    }

    /// Takes the arguments out of `body` and writes the call, unless they were broken off or were written
    /// before. An approval request asks its question instead.
    fn write(&mut self, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if self.open.call().is_written() {
            return;
        }
        // What ran before its arguments were known streams none.
        let is_told_at_once = self.server && self.open.call().is_empty();
        let mut whole = tools::arguments(&self.kind, body);
        if !is_told_at_once && let Some(arguments) = whole.take() {
            self.open.set_args(&arguments, w, out);
        }
        let is_cut = body.status.text().is_some_and(|status| status == "incomplete");
        if is_cut && whole.is_none() && !self.open.call().is_whole() {
            return;
        }
        if self.is_asking() {
            let place = body.server_label.word();
            let question = place.map(|place| format!("May {} of {place} run?", self.open.call().name()));
            return self.open.call().asks(whole, question, w, out);
        }
        match whole {
            Some(arguments) => self.open.call().written(Some(arguments), w, out),
            None => self.open.written(w, out),
        }
        self.safety_checks(body, w, out);
    }

    /// Asks a person to confirm what the provider is in doubt about (calls of a computer).
    fn safety_checks(&mut self, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let checks = body.pending_safety_checks.list();
        if checks.is_empty() {
            return;
        }
        let lines: Vec<_> = checks
            .into_iter()
            .filter_map(|check| check.object::<ResponsesObject<'_>>().message.word())
            .collect();
        let text = Some(lines.join("\n")).filter(|text| !text.is_empty());
        w.push(Kind::ApprovalRequest { tool: w.tool_id(self.open.call().id()), text }, out);
    }

    /// Takes the end of the item: the final name and arguments, a picture, and the result if the provider
    /// executed the call.
    pub(super) fn whole(&mut self, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.name(body.name);
        self.write(body, w, out);
        if let Some(url) = tools::picture(&self.kind, body)
            && w.has_room(out)
        {
            w.whole_part(PartKind::File, &url, false, None, out);
        }
        if self.server
            && let Some(outcome) = tools::outcome(&self.kind, body)
        {
            let id = CompactString::new(self.open.call().id());
            w.result(&id, outcome, None, out);
        }
    }

    /// Ends the call at the end of its response, without an end of its own. It is written if the response or
    /// its arguments are whole.
    pub(super) fn stop(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        if !self.is_asking() && (is_whole || self.open.call().is_whole()) {
            self.open.written(w, out);
        }
    }
}

/// The result of a call that another item began.
#[derive(Debug)]
pub(super) struct ResponsesResult {
    /// The id of the call, as that item had it.
    id: CompactString,
}

impl ResponsesResult {
    /// The result in the item `body`.
    pub(super) fn start(body: &OutputItem<'_>) -> Self {
        let id = body.call_id.words().or_else(|| body.id.words()).unwrap_or_default();
        Self { id: CompactString::new(&id) }
    }

    /// Whether the call was in this stream.
    pub(super) fn is_known(&self, w: &EventWriter) -> bool {
        w.knows_call(&self.id)
    }

    /// Takes an event about the result: more output of a shell. Returns false if the event is another one.
    pub(super) fn fact(
        &self,
        fact: &str,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let Some(word) = fact.strip_prefix("shell_call_output_content.") else { return false };
        if word == "delta" && w.knows_call(&self.id) {
            let printed: ResponsesObject<'_> = event.delta.object();
            for text in [printed.stdout, printed.stderr].into_iter().filter_map(ForeignField::word) {
                w.output(&self.id, &text, None, out);
            }
        }
        true
    }

    /// Writes the result, as `body` has it.
    pub(super) fn whole(&self, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) {
        w.result(&self.id, tools::told_outcome(body), None, out);
    }
}
