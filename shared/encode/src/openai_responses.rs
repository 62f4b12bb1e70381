//! Encodes OpenAI responses, as its server streams them: events about the items of an output. One run is one
//! response.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts | `response.created`, `response.in_progress` |
//! | text, refusal | an item `message` with one part of content: `added`, deltas, `done` |
//! | thinking | an item `reasoning` with one part of its summary |
//! | a call | an item `function_call`, with its arguments in pieces |
//! | a run is complete | `response.completed`, or `response.incomplete` where the model had no room; with all items and the tokens |
//! | a run failed | `response.failed` with the error |
//! | a run broke off or was cancelled | nothing |
//!
//! The stream carries one assistant's answer: what sub-agents say and call is left out, and so are files.
//! Text cannot be taken back, so one that was replaced follows after an empty line.
//!
//! A caller executes each call in the answer, so the answer has only the caller's own calls; see [`Caller`].
//!
//! ```text
//! event: response.created
//! data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_r1.chat","object":"response","status":"in_progress",…}}
//!
//! event: response.output_text.delta
//! data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_0.r1.chat","output_index":0,"content_index":0,"delta":"Noon.","logprobs":[]}
//! ```

use compact_str::CompactString;

use super::object::named_event;
use super::{
    Caller, Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep,
    RunSequencer, ToolStep,
};
use model::event::{PartKind, RunStatus};
use model::ids::{PartId, ToolCallId};
use model::view::{PartView, ToolView};

mod item;
mod response;

use item::{ItemSource, ItemStatus, OutputItem};
use response::ResponseStatus;
use response::response_id;
pub use response::{response, split_item_id, split_response_id};

/// What is written between two versions of a text.
const APART: &str = "\n\n";

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let (conversation, caller) = (options.conversation.clone(), options.caller.clone());
    let encoder = OpenAiResponsesEncoder { conversation, caller, ..OpenAiResponsesEncoder::default() };
    Box::new(RunSequencer::new(FactEncoder::new(encoder)))
}

/// The state of one stream: what the client was already sent.
#[derive(Debug, Default)]
struct OpenAiResponsesEncoder {
    /// The conversation, which is part of the ids of responses.
    conversation: CompactString,
    /// Who reads the stream as the answer to a request; nothing for a viewer.
    caller: Option<Caller>,
    /// The number of the next event. It counts over all responses of the stream.
    sequence: u64,
    /// The id of the open response; nothing between two.
    open: Option<String>,
    /// The items of the open response, by their place in its output.
    items: Vec<OutputItem>,
}

impl FactSink for OpenAiResponsesEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            return self.start(scene, out);
        }
        if self.open.is_none() || scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Part(id, part, step) if part.kind != PartKind::File => self.part((id, part), step, out),
            Fact::Tool(id, tool, step) => self.call((id, tool), step, out),
            Fact::RunEnd => self.end_run(scene, out),
            _ => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

impl OpenAiResponsesEncoder {
    /// Begins a response for a run.
    fn start(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        (self.open, self.items) = (Some(response_id(&self.conversation, scene.run_id)), Vec::new());
        for name in ["response.created", "response.in_progress"] {
            self.tell_response(scene, name, ResponseStatus::InProgress, out);
        }
    }

    /// Writes one step of a part.
    fn part(&mut self, (id, part): (&PartId, &PartView), step: PartStep<'_>, out: &mut Vec<u8>) {
        match step {
            PartStep::Start => self.add(OutputItem::of_part(id, part.kind), out),
            PartStep::Delta(text) => self.say(id, text, out),
            PartStep::Replaced => {
                let text = &part.body.text;
                if !text.is_empty() {
                    self.say(id, APART, out);
                    self.say(id, text, out);
                }
                // The item at its end has what the part has: who replaces a text again and again costs no more than that.
                if let Some(item) = self.item_of(id).and_then(|place| self.items.get_mut(place)) {
                    item.text = text.to_string();
                }
            }
            PartStep::End => {
                if let Some(place) = self.item_of(id) {
                    self.close(place, out);
                }
            }
        }
    }

    /// Writes one step of a call, if it is for the reader: a viewer gets all, a caller those that it has to
    /// execute.
    fn call(&mut self, (id, tool): (&ToolCallId, &ToolView), step: ToolStep<'_>, out: &mut Vec<u8>) {
        let is_meant = self.caller.as_ref().is_none_or(|caller| caller.tools.contains(&tool.name));
        let place = self.place(|source| matches!(source, ItemSource::Call(call) if call == id));
        match (step, place) {
            (ToolStep::Start, None) if is_meant => self.add(OutputItem::of_call(id, &tool.name), out),
            (ToolStep::Args(text), Some(place)) => self.piece(place, text, out),
            (ToolStep::Called | ToolStep::Result { .. } | ToolStep::Closed, Some(place)) => {
                self.close(place, out);
            }
            _ => {}
        }
    }

    /// The place of the open item that `is_it` names.
    fn place(&self, is_it: impl Fn(&ItemSource) -> bool) -> Option<usize> {
        // The open ones are mostly the newest.
        self.items.iter().rposition(|item| item.is_open() && is_it(&item.source))
    }

    /// The place of the open item of a part.
    fn item_of(&self, id: &PartId) -> Option<usize> {
        self.place(|source| matches!(source, ItemSource::Part(part) if part == id))
    }

    /// Adds an item to the output, with its empty content.
    fn add(&mut self, item: OutputItem, out: &mut Vec<u8>) {
        let place = self.items.len();
        let item = item.at(place, self.open.as_deref().unwrap_or_default());
        self.event(out, "response.output_item.added", |event| {
            event.put("output_index", &place).nest("item", |object| item.fill(object));
        });
        if let Some(name) = item.words().part_added {
            self.event(out, name, |event| {
                item.locate(event, place).nest("part", |part| item.fill_content(part, ""));
            });
        }
        self.items.push(item);
    }

    /// Writes more of a part's text.
    fn say(&mut self, id: &PartId, text: &str, out: &mut Vec<u8>) {
        if let Some(place) = self.item_of(id) {
            self.piece(place, text, out);
        }
    }

    /// Writes more of an item.
    fn piece(&mut self, place: usize, text: &str, out: &mut Vec<u8>) {
        let Some(mut item) = self.items.get_mut(place).map(std::mem::take) else { return };
        self.event(out, item.words().delta, |event| {
            item.locate(event, place).put("delta", text);
            item.put_logprobs(event);
        });
        item.text.push_str(text);
        if let Some(empty) = self.items.get_mut(place) {
            *empty = item;
        }
    }

    /// Ends an item. What was written of it is repeated, as clients expect.
    fn close(&mut self, place: usize, out: &mut Vec<u8>) {
        let Some(mut item) = self.items.get_mut(place).map(std::mem::take) else { return };
        let words = item.words();
        self.event(out, words.done, |event| {
            item.locate(event, place);
            item.put_whole(event);
            item.put_logprobs(event);
        });
        if let Some(name) = words.part_done {
            self.event(out, name, |event| {
                item.locate(event, place).nest("part", |part| item.fill_content(part, &item.text));
            });
        }
        item.status = ItemStatus::Completed;
        self.event(out, "response.output_item.done", |event| {
            event.put("output_index", &place).nest("item", |object| item.fill(object));
        });
        if let Some(empty) = self.items.get_mut(place) {
            *empty = item;
        }
    }

    /// Ends a response. A run that broke off has no event, so that its stream has no end.
    fn end_run(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        for place in 0..self.items.len() {
            if self.items.get(place).is_some_and(OutputItem::is_open) {
                self.close(place, out);
            }
        }
        let status = match scene.run.status {
            RunStatus::Complete => Some(ResponseStatus::of_complete(scene.run)),
            RunStatus::Error => Some(ResponseStatus::Failed),
            _ => None,
        };
        if let Some(status) = status {
            self.tell_response(scene, status.event(), status, out);
        }
        (self.open, self.items) = (None, Vec::new());
    }

    /// Writes an event with the response as it is.
    fn tell_response(
        &mut self,
        scene: &FactContext<'_>,
        name: &str,
        status: ResponseStatus,
        out: &mut Vec<u8>,
    ) {
        let (items, open) = (std::mem::take(&mut self.items), self.open.take());
        let id = open.as_deref().unwrap_or_default();
        self.event(out, name, |event| {
            event.nest("response", |object| {
                response::fill(object, id, scene.run, status, &items);
            });
        });
        (self.items, self.open) = (items, open);
    }

    /// Writes one event, numbered in sequence.
    fn event(&mut self, out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
        let sequence = self.sequence;
        self.sequence += 1;
        named_event(out, name, |event| {
            event.put("type", name).put("sequence_number", &sequence);
            fill(event);
        });
    }
}

#[cfg(test)]
mod tests;
