//! Items: texts and calls that start, grow and complete. Many come only when they are complete.
//!
//! | type of item | becomes |
//! |---|---|
//! | `agent_message`, `plan` | text |
//! | `reasoning` | reasoning |
//! | `command_execution`, `file_change`, `mcp_tool_call`, `web_search` | a call that the agent executes |
//! | `collab_tool_call` | a call, and the sub-agents that it is about |
//! | `todo_list` | a custom event, and a status with the next point |
//! | `error` | a status: a warning that is not fatal |
//! | anything else | raw |
//!
//! Ids of items count from the beginning in each process, so they hold only inside of a turn.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::agents::CodexAgents;
use super::call::{CallReport, CodexCall, name_of};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, WholePart};
use model::event::{Kind, PartKind, ToolState};

/// Most items that may be open at the same time (I7). Agents have a few; the limit is for streams that
/// complete none. At the limit the oldest is closed.
pub(super) const OPEN_ITEMS_MAX: usize = 1024;

/// What a line says about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemPhase {
    /// The item begins.
    Started,
    /// More is known of the item.
    Updated,
    /// The item is complete, and the line has all of it.
    Completed,
}

/// The items of the open turn.
#[derive(Debug, Default)]
pub(super) struct CodexItems {
    /// The open items by their ids, oldest first.
    open: IndexMap<CompactString, OpenCodexItem>,
    /// The sub-agents of the turn.
    agents: CodexAgents,
    /// The last question to a person. Its answer is not in the stream.
    asked: Option<CompactString>,
}

/// An item that has begun and is not complete.
#[derive(Debug)]
enum OpenCodexItem {
    /// A text or reasoning that is being written.
    Part(WholePart),
    /// A call that is executed.
    Call(CodexCall),
    /// There was no room for it.
    Silent,
}

impl CodexItems {
    /// Takes a line about `item`.
    pub(super) fn take(
        &mut self,
        phase: ItemPhase,
        item: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let fields = item.fields();
        // Searches have an id of their own beside that of their item.
        let id = fields.last("id").words().unwrap_or_default();
        let kind = fields.get("type").word().or_else(|| fields.get("item_type").word()).unwrap_or_default();
        match &*kind {
            "agent_message" | "assistant_message" | "plan" => {
                self.text(&id, PartKind::Text, fields.get("text"), w, out);
                self.completed(&id, phase, w, out);
            }
            "reasoning" => {
                self.text(&id, PartKind::Thinking, fields.get("text"), w, out);
                self.completed(&id, phase, w, out);
            }
            "todo_list" => {
                w.custom("todo_list", fields.get("items"), None, out);
                w.push(Kind::Status { text: next_todo(fields.get("items")) }, out);
            }
            // Warnings: whatever is fatal fails the turn.
            "error" => {
                let text = fields.get("message").words().unwrap_or_default().into_owned();
                w.push(Kind::Status { text }, out);
            }
            _ => match name_of(&kind, &fields) {
                Some(name) => {
                    let telling = CallReport { id: &id, kind: &kind, fields: &fields };
                    self.call(&telling, &name, phase, w, out);
                }
                None => w.raw(item, None, out),
            },
        }
    }

    /// Writes more of the text of an item, which begins if it is new.
    pub(super) fn delta(
        &mut self,
        id: &str,
        kind: PartKind,
        text: &str,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if let OpenCodexItem::Part(part) = self.part(id, kind, w, out) {
            part.delta(text, w, out);
        }
    }

    /// Makes `text` the text of an item, which begins if it is new.
    fn text(
        &mut self,
        id: &str,
        kind: PartKind,
        text: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if let OpenCodexItem::Part(part) = self.part(id, kind, w, out)
            && let Some(text) = text.word()
        {
            part.set(&text, w, out);
        }
    }

    /// Ends the item, if the line says that it is complete.
    fn completed(&mut self, id: &str, phase: ItemPhase, w: &mut EventWriter, out: &mut Decoded) {
        if phase == ItemPhase::Completed
            && let Some(open) = self.open.shift_remove(id)
        {
            open.close(w, out);
        }
    }

    /// The part of the item `id`, begun if it is new.
    fn part(
        &mut self,
        id: &str,
        kind: PartKind,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> &mut OpenCodexItem {
        if !self.open.contains_key(id) {
            let open = if w.has_room(out) {
                OpenCodexItem::Part(WholePart::new(w.open_part(kind, None, out)))
            } else {
                OpenCodexItem::Silent
            };
            self.add(id, open, w, out);
        }
        self.open.entry(CompactString::new(id)).or_insert(OpenCodexItem::Silent)
    }

    /// Takes a line about a call, which begins if it is new.
    fn call(
        &mut self,
        told: &CallReport<'_, '_>,
        name: &str,
        phase: ItemPhase,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if !matches!(self.open.get(told.id), Some(OpenCodexItem::Call(_))) {
            if !w.has_room(out) {
                return;
            }
            let by = self.agents.sender(told.fields);
            let call = CodexCall::start(told, name, by, w, out);
            self.add(told.id, OpenCodexItem::Call(call), w, out);
        }
        let Some(OpenCodexItem::Call(call)) = self.open.get_mut(told.id) else { return };
        // What came at once is in the result.
        if phase != ItemPhase::Completed || call.has_printed() {
            call.update(told, w, out);
        } else {
            call.arguments(told, w, out);
        }
        if told.kind.starts_with("collab_") {
            self.agents.update(call.id(), told.fields, w, out);
        }
        if phase == ItemPhase::Completed
            && let Some(OpenCodexItem::Call(call)) = self.open.shift_remove(told.id)
        {
            call.complete(told, w, out);
        }
    }

    /// Adds an open item. One with the same id is closed.
    fn add(&mut self, id: &str, open: OpenCodexItem, w: &mut EventWriter, out: &mut Decoded) {
        if self.open.len() >= OPEN_ITEMS_MAX
            && let Some((_, oldest)) = self.open.shift_remove_index(0)
        {
            oldest.close(w, out);
        }
        if let Some(other) = self.open.insert(CompactString::new(id), open) {
            other.close(w, out);
        }
    }

    /// Writes a question to a person: a call of `request_user_input`, and its approval request.
    pub(super) fn ask(
        &mut self,
        id: &str,
        questions: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if !w.has_room(out) {
            return;
        }
        let arguments = format!("{{\"questions\":{}}}", questions.json().as_str());
        let call = w.whole_call(id, "request_user_input", Some(&arguments), None, out);
        let first = questions.list().first().map(|question| question.fields().get("question"));
        let text = first.and_then(|question| question.word().map(std::borrow::Cow::into_owned));
        w.push(Kind::ApprovalRequest { tool: w.tool_id(call.id()), text }, out);
        self.asked = Some(CompactString::new(call.id()));
    }

    /// Completes the last question, since the turn is complete and so it has been answered.
    pub(super) fn answered(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(id) = self.asked.take() {
            w.state(&id, ToolState::Complete, None, out);
        }
    }

    /// Closes all items, since the turn is over.
    pub(super) fn close(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        for (_, open) in std::mem::take(&mut self.open) {
            open.close(w, out);
        }
        self.agents.clear();
        self.asked = None;
    }
}

impl OpenCodexItem {
    /// Closes an item of which no more comes. A call without a result ends with its run.
    fn close(self, w: &mut EventWriter, out: &mut Decoded) {
        if let Self::Part(part) = self {
            part.end(false, w, out);
        }
    }
}

/// How many points of a list are done, and the next one: `1/3 Write tests`.
fn next_todo(items: ForeignField<'_>) -> String {
    let all: Vec<_> = items.list().into_iter().map(ForeignField::fields).collect();
    let done = all.iter().filter(|item| item.get("completed").is_true()).count();
    let next = all.iter().find(|item| !item.get("completed").is_true());
    let next = next.and_then(|item| item.get("text").word()).unwrap_or_default();
    format!("{done}/{} {next}", all.len()).trim_end().to_owned()
}
