//! An item of a response's output: a message, reasoning, or a call.

use compact_str::CompactString;
use model::event::PartKind;
use model::ids::{PartId, ToolCallId};

use super::response::item_id;
use crate::ObjectWriter;

/// The thing in the run that an item shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemSource {
    /// A text, a refusal or thinking.
    Part(PartId),
    /// A tool call.
    Call(ToolCallId),
}

/// The status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemStatus {
    /// The item is open: more may come.
    InProgress,
    /// The item has ended.
    Completed,
}

/// What an item is in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Message,
    Refusal,
    Reasoning,
    FunctionCall,
}

/// The names of the events about one kind of item.
#[derive(Debug)]
pub(super) struct EventNames {
    /// The event with which the content begins; `None` for kinds without parts of content.
    pub(super) part_added: Option<&'static str>,
    /// The event with more of the content.
    pub(super) delta: &'static str,
    /// The event with the whole of the content.
    pub(super) done: &'static str,
    /// The event with which the content ends; `None` for kinds without parts of content.
    pub(super) part_done: Option<&'static str>,
}

/// An item of the output, with what was written of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputItem {
    /// What of the run it shows.
    pub(super) source: ItemSource,
    /// The id of the item, see [`super::response::item_id`].
    id: String,
    /// What was written of its text or of its arguments.
    pub(super) text: String,
    /// The status of the item.
    pub(super) status: ItemStatus,
    /// What it is in the API.
    kind: ItemKind,
    /// The name of the function, for a call.
    name: CompactString,
}

impl Default for OutputItem {
    /// An empty message that has ended: it stands in the place of an item for the moment in which that is written.
    fn default() -> Self {
        let source = ItemSource::Part(PartId::new(""));
        let (id, text, name) = (String::new(), String::new(), CompactString::default());
        Self { source, id, text, status: ItemStatus::Completed, kind: ItemKind::Message, name }
    }
}

impl OutputItem {
    /// The item for a part, which is no file.
    pub(super) fn of_part(id: &PartId, kind: PartKind) -> Self {
        let kind = match kind {
            PartKind::Refusal => ItemKind::Refusal,
            PartKind::Thinking => ItemKind::Reasoning,
            PartKind::Text | PartKind::File => ItemKind::Message,
        };
        let source = ItemSource::Part(id.clone());
        Self { source, kind, status: ItemStatus::InProgress, ..Self::default() }
    }

    /// The item for a call of the function `name`.
    pub(super) fn of_call(id: &ToolCallId, name: &CompactString) -> Self {
        let (source, name) = (ItemSource::Call(id.clone()), name.clone());
        Self { source, name, kind: ItemKind::FunctionCall, status: ItemStatus::InProgress, ..Self::default() }
    }

    /// Sets the id, which follows from the item's `place` in the output of `response`.
    pub(super) fn at(self, place: usize, response: &str) -> Self {
        let prefix = match self.kind {
            ItemKind::FunctionCall => "fc",
            ItemKind::Reasoning => "rs",
            ItemKind::Message | ItemKind::Refusal => "msg",
        };
        Self { id: item_id(prefix, place, response), ..self }
    }

    /// Sets the text and the status.
    pub(super) fn filled(self, text: &str, status: ItemStatus) -> Self {
        Self { text: text.to_owned(), status, ..self }
    }

    /// Whether more may come.
    pub(super) fn is_open(&self) -> bool {
        self.status == ItemStatus::InProgress
    }

    /// The names of the events about it.
    pub(super) fn words(&self) -> &'static EventNames {
        match self.kind {
            ItemKind::Message => &EventNames {
                part_added: Some("response.content_part.added"),
                delta: "response.output_text.delta",
                done: "response.output_text.done",
                part_done: Some("response.content_part.done"),
            },
            ItemKind::Refusal => &EventNames {
                part_added: Some("response.content_part.added"),
                delta: "response.refusal.delta",
                done: "response.refusal.done",
                part_done: Some("response.content_part.done"),
            },
            ItemKind::Reasoning => &EventNames {
                part_added: Some("response.reasoning_summary_part.added"),
                delta: "response.reasoning_summary_text.delta",
                done: "response.reasoning_summary_text.done",
                part_done: Some("response.reasoning_summary_part.done"),
            },
            ItemKind::FunctionCall => &EventNames {
                part_added: None,
                delta: "response.function_call_arguments.delta",
                done: "response.function_call_arguments.done",
                part_done: None,
            },
        }
    }

    /// Writes where the item is, as each event about a piece of it says.
    pub(super) fn locate<'o, 'w>(
        &self,
        event: &'o mut ObjectWriter<'w>,
        place: usize,
    ) -> &'o mut ObjectWriter<'w> {
        event.put("item_id", &self.id).put("output_index", &place);
        match self.kind {
            ItemKind::Message | ItemKind::Refusal => event.put("content_index", &0),
            ItemKind::Reasoning => event.put("summary_index", &0),
            ItemKind::FunctionCall => event,
        }
    }

    /// Writes the probabilities of tokens, which events about text have. There are none.
    pub(super) fn put_logprobs(&self, event: &mut ObjectWriter<'_>) {
        if self.kind == ItemKind::Message {
            event.put::<[(); 0]>("logprobs", &[]);
        }
    }

    /// Writes the whole of what was written in pieces.
    pub(super) fn put_whole(&self, event: &mut ObjectWriter<'_>) {
        match self.kind {
            ItemKind::Message | ItemKind::Reasoning => event.put("text", &self.text),
            ItemKind::Refusal => event.put("refusal", &self.text),
            ItemKind::FunctionCall => event.put("name", self.name.as_str()).put("arguments", &self.text),
        };
    }

    /// Writes the fields of its one part of content, with this text.
    pub(super) fn fill_content(&self, part: &mut ObjectWriter<'_>, text: &str) {
        match self.kind {
            ItemKind::Refusal => part.put("type", "refusal").put("refusal", text),
            ItemKind::Reasoning => part.put("type", "summary_text").put("text", text),
            ItemKind::Message | ItemKind::FunctionCall => part
                .put("type", "output_text")
                .put::<[(); 0]>("annotations", &[])
                .put::<[(); 0]>("logprobs", &[])
                .put("text", text),
        };
    }

    /// Writes the fields of the item. One that has just begun has no content.
    pub(super) fn fill(&self, item: &mut ObjectWriter<'_>) {
        let word = if self.is_open() { "in_progress" } else { "completed" };
        item.put("id", &self.id);
        match self.kind {
            ItemKind::FunctionCall => {
                let ItemSource::Call(call) = &self.source else { return };
                item.put("type", "function_call").put("status", word).put("call_id", call.as_str());
                item.put("name", self.name.as_str()).put("arguments", &self.text);
            }
            ItemKind::Reasoning => {
                item.put("type", "reasoning");
                self.put_content(item, "summary");
            }
            ItemKind::Message | ItemKind::Refusal => {
                item.put("type", "message").put("status", word).put("role", "assistant");
                self.put_content(item, "content");
            }
        }
    }

    /// Writes the list of the parts of its content: none when it has just begun, then one.
    fn put_content(&self, item: &mut ObjectWriter<'_>, key: &str) {
        if self.is_open() && self.text.is_empty() {
            item.put::<[(); 0]>(key, &[]);
        } else {
            item.nest_one(key, |part| self.fill_content(part, &self.text));
        }
    }
}
