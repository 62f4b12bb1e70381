//! The events of `astream_events`: each runnable begins, streams and ends under a run id of its own. The run
//! id of a tool is not the id of the call that it executes.
//!
//! ```text
//! {"event":"on_chat_model_start","run_id":"u1","parent_ids":["u0"],"data":{"input":{"messages":[[…]]}}}
//! {"event":"on_chat_model_stream","run_id":"u1","data":{"chunk":{"type":"AIMessageChunk","content":"Hi"}}}
//! {"event":"on_tool_start","name":"add","run_id":"u2","data":{"input":{"a":1}}}
//! {"event":"on_tool_end","name":"add","run_id":"u2","data":{"output":{"type":"tool","tool_call_id":"c1","content":"2"}}}
//! {"event":"on_chain_end","run_id":"u0","data":{"output":{…}}}
//! ```
//!
//! The first runnable without a parent is the run; its end ends it. A failure has no event of its own but
//! `on_…_error`, which older versions lack: then the stream breaks off. Events of retrievers are raw; those
//! of inner chains, prompts and parsers are not decoded.

use compact_str::CompactString;
use serde::Deserialize;

use super::messages::{MessageMetadata, MessageSource};
use super::stage::{CallResult, LangGraphCall};
use super::wire::{LangChainBlock, LangChainMessage, MessageSpeaker, usage};
use super::{LangGraphMeaning, TaggedObject};
use crate::Decoded;
use crate::fault::fault;
use crate::field::ForeignField;
use model::event::PartKind;

/// An event of a runnable.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct RunnableEvent<'a> {
    #[serde(borrow)]
    event: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    run_id: ForeignField<'a>,
    #[serde(borrow)]
    metadata: ForeignField<'a>,
    /// The runs around it, outermost first.
    #[serde(borrow)]
    parent_ids: ForeignField<'a>,
    #[serde(borrow)]
    data: ForeignField<'a>,
}

/// The field `data` of such an event; each event uses some of the fields.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct RunnableEventData<'a> {
    #[serde(borrow)]
    input: ForeignField<'a>,
    #[serde(borrow)]
    output: ForeignField<'a>,
    #[serde(borrow)]
    chunk: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
    /// The id of the call, in newer versions; also in the metadata.
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
}

impl LangGraphMeaning {
    /// Takes an event of a runnable.
    pub(super) fn runnable_event(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let it: RunnableEvent<'_> = whole.object();
        let (event, run) = (it.event.text().unwrap_or_default(), it.run_id.words().unwrap_or_default());
        if self.stage.w.has_begun() && !self.stage.w.is_running() && !event.ends_with("_start") {
            return; // What is left to say of a run that was told as over.
        }
        let payload: RunnableEventData<'_> = it.data.object();
        let is_first = !self.stage.w.is_running();
        let mut place = self.place(&[], &it.metadata.object::<MessageMetadata<'_>>(), out);
        place.key = CompactString::new(&run);
        if event.ends_with("_start") && is_first && it.parent_ids.list().is_empty() {
            self.root.run.clone_from(&place.key);
            self.root.is_followed = true;
        }
        let is_root = self.root.run == place.key;
        match &*event {
            "on_chain_start" if is_root => self.question(payload.input, &place, out),
            "on_chat_model_start" => self.question(payload.input, &place, out),
            "on_chat_model_stream" | "on_llm_stream" => self.model_piece(payload.chunk, &place, out),
            "on_chat_model_end" | "on_llm_end" => self.model_end(payload.output, &place, out),
            "on_chain_stream" if is_root => self.root_stream(payload.chunk, out),
            "on_tool_start" => self.tool_start(&it, &payload, &place, out),
            "on_tool_end" | "on_tool_error" => self.tool_end(&it, &payload, &place, out),
            "on_custom_event" => {
                let name = it.name.word().unwrap_or_else(|| "custom".into());
                self.stage.w.custom(&name, it.data, place.agent.as_ref(), out);
            }
            "on_chain_error" | "on_chat_model_error" | "on_llm_error" => {
                self.stage.w.fail(fault(payload.error), out);
            }
            event if event.starts_with("on_retriever_") => {
                self.stage.w.raw(whole, place.agent.as_ref(), out);
            }
            // Chains, prompts and parsers inside of the graph: how it is built, not what it says.
            _ => {}
        }
        if is_root && (event.ends_with("_end") || event.ends_with("_error")) {
            self.close(event.ends_with("_end"), out);
        }
    }

    /// Writes the messages that a graph or a model is given, as history.
    fn question(&mut self, input: ForeignField<'_>, place: &MessageSource, out: &mut Decoded) {
        let messages = input.object::<TaggedObject<'_>>().messages;
        for message in messages.list() {
            // A model may be asked several things at once.
            let batch = if message.is_list() { message.list() } else { vec![message] };
            for message in batch.into_iter().filter_map(LangChainMessage::read) {
                if let MessageSpeaker::Other(role) = message.speaker {
                    self.history(role, &message, place, out);
                }
            }
        }
    }

    /// Takes a piece of a model's answer: a message, or a text of a model that has no messages.
    fn model_piece(&mut self, piece: ForeignField<'_>, place: &MessageSource, out: &mut Decoded) {
        if let Some(message) = LangChainMessage::read(piece) {
            return self.piece_of(&place.key, &message, place, out);
        }
        let text =
            piece.text().or_else(|| piece.object::<LangChainBlock<'_>>().text.text()).unwrap_or_default();
        self.open_message(&place.key, place, out);
        if let Some(spoken) = self.open.get_mut(&place.key) {
            self.is_incomplete = true;
            spoken.delta((PartKind::Text, 0), &text, &mut self.stage, out);
        }
    }

    /// Takes the end of a model's answer, with all of it.
    fn model_end(&mut self, output: ForeignField<'_>, place: &MessageSource, out: &mut Decoded) {
        let message = LangChainMessage::read(output);
        if let (Some(spoken), Some(message)) = (self.open.get_mut(&place.key), &message) {
            spoken.usage = spoken.usage.or(usage(message.body.usage_metadata));
            spoken.id = message.body.id.word().map(CompactString::from).unwrap_or_default();
        }
        self.end_message(&place.key, true, out);
        self.is_incomplete = false;
        if let Some(message) = message {
            self.whole(&message, place, out);
        }
    }

    /// Takes what a node of the graph changed in the state.
    fn root_stream(&mut self, change: ForeignField<'_>, out: &mut Decoded) {
        let entries = change.entries();
        let is_update = entries.iter().all(|(_, value)| value.is_object() || value.is_list());
        if is_update && LangChainMessage::read(change).is_none() && !entries.is_empty() {
            self.updates(&[], change, out);
        }
    }

    /// Takes that a tool is executed. The call is the one that the event names, else the oldest with that
    /// name and arguments that waits; a tool that no model has called gets a call of its own.
    fn tool_start(
        &mut self,
        it: &RunnableEvent<'_>,
        payload: &RunnableEventData<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        let name = it.name.word().unwrap_or_default();
        let given = it.metadata.object::<RunnableEventData<'_>>().tool_call_id.words();
        let given = given.or_else(|| payload.tool_call_id.words());
        let id = match given {
            Some(id) if self.ensure_written(&id, out) => Some(CompactString::new(&id)),
            _ => self.find_call(&name, payload.input, LangGraphCall::is_waiting, out),
        };
        let id = match id {
            Some(id) => id,
            None if !self.stage.w.has_room(out) => return,
            // A tool that no model has called.
            None => {
                let args = payload.input.text().unwrap_or_else(|| payload.input.as_json_text().into());
                self.stage.whole_call(&place.key, &name, &args, place.agent.as_ref(), out)
            }
        };
        self.stage.name_run(&place.key, &id);
        self.stage.run(&id, None, out);
    }

    /// Takes the result or the failure of a tool.
    fn tool_end(
        &mut self,
        it: &RunnableEvent<'_>,
        payload: &RunnableEventData<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        let message =
            LangChainMessage::read(payload.output).or_else(|| LangChainMessage::read(payload.error));
        let id = message.as_ref().and_then(|message| message.body.tool_call_id.words());
        let known = self.stage.call_of_run(&place.key);
        let id = id.map(CompactString::from).or(known).unwrap_or_else(|| place.key.clone());
        self.ensure_written(&id, out);
        if it.event.text().as_deref() == Some("on_tool_end") {
            return self.outcome(&id, payload.output, None, out);
        }
        let name = it.name.word().unwrap_or_default();
        let given = CallResult {
            id: &id,
            name: &name,
            output: payload.error,
            is_error: true,
            agent: place.agent.as_ref(),
        };
        self.stage.result(&given, None, out);
    }
}
