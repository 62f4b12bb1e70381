//! Messages of all authors, in whichever form they come: pieces, wholes that grow, wholes.
//!
//! A message is open from its first piece until the stream says that it is complete, the same message comes
//! as a whole, or its author begins another one. What was written is remembered by a hash of its key, so that
//! repetitions in states and updates are ignored.

use compact_str::CompactString;
use serde::Deserialize;

use super::agents::steps;
use super::spoken::StreamedMessage;
use super::stage::CallResult;
use super::wire::{LangChainMessage, MessageSpeaker, text_of, usage};
use super::{LangGraphMeaning, hash_of};
use crate::Decoded;
use crate::field::ForeignField;
use model::ids::AgentId;
use model::limits::{ITEMS_PER_RUN_MAX, MESSAGES_MAX};

/// Most messages that are open at the same time (I7). At the limit the oldest ends.
const OPEN_MESSAGES_MAX: usize = 64;

/// What the graph says beside a message: the second item of a tuple.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct MessageMetadata<'a> {
    /// The namespace of the node that the message comes from.
    #[serde(borrow)]
    langgraph_checkpoint_ns: ForeignField<'a>,
    /// The namespace, in older versions.
    #[serde(borrow)]
    checkpoint_ns: ForeignField<'a>,
    /// The name of the agent.
    #[serde(borrow)]
    lc_agent_name: ForeignField<'a>,
    #[serde(borrow)]
    ls_model_name: ForeignField<'a>,
    #[serde(borrow)]
    run_id: ForeignField<'a>,
    #[serde(borrow)]
    metadata: ForeignField<'a>,
    /// The node that writes the message.
    #[serde(borrow)]
    pub(super) langgraph_node: ForeignField<'a>,
    /// The number of the step in the graph.
    #[serde(borrow)]
    pub(super) langgraph_step: ForeignField<'a>,
    /// Calls of the message, where a graph says them beside it.
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    /// Tokens of the message, where a graph says them beside it.
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
}

/// The source of a message: the agent, and a name for it.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageSource {
    /// The sub-agent; nothing for the main agent.
    pub(super) agent: Option<AgentId>,
    /// The name of the source, for messages that have no id.
    pub(super) key: CompactString,
}

impl MessageMetadata<'_> {
    /// The namespace of the node, written as one string; empty if it is not known.
    pub(super) fn namespace(&self) -> CompactString {
        let namespace = self.langgraph_checkpoint_ns.word().or_else(|| self.checkpoint_ns.word());
        namespace.map(CompactString::from).unwrap_or_default()
    }
}

impl LangGraphMeaning {
    /// The sub-agent whose graph has the namespace `path`; it begins if it is new. Nothing for the main
    /// agent.
    pub(super) fn agent_at(&mut self, path: &[CompactString], out: &mut Decoded) -> Option<AgentId> {
        if path.is_empty() { None } else { self.stage.agent(path, None, None, out) }
    }

    /// The source of a message that `about` describes, in an event of the namespace `path`. A run begins if
    /// none is open.
    pub(super) fn place(
        &mut self,
        path: &[CompactString],
        about: &MessageMetadata<'_>,
        out: &mut Decoded,
    ) -> MessageSource {
        self.stage.w.begin(about.ls_model_name.text().as_deref(), out);
        let key = about.namespace();
        let full = steps(&key);
        // The graph that the node is in: some versions name the node itself in the event, some only its graph.
        let inside = full.split_last().map(|(_, inside)| inside).unwrap_or_default();
        let path = if path.is_empty() {
            inside
        } else if path.len() == full.len() {
            path.split_last().map(|(_, inside)| inside).unwrap_or_default()
        } else {
            path
        };
        let name = about.lc_agent_name.word();
        let agent = if path.is_empty() { None } else { self.stage.agent(path, name.as_deref(), None, out) };
        MessageSource { agent, key }
    }

    /// Takes a message with what the graph says beside it.
    pub(super) fn message_tuple(
        &mut self,
        path: &[CompactString],
        message: ForeignField<'_>,
        about: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let (beside, about) = (about, about.object::<MessageMetadata<'_>>());
        let mut place = self.place(path, &about, out);
        let read = LangChainMessage::read(message);
        // A model that a tool asks by itself speaks for the call, not for the agent that made it.
        if place.agent.is_none() && read.is_none_or(|it| matches!(it.speaker, MessageSpeaker::Model { .. })) {
            place.agent = self.agent_at(&steps(&place.key), out);
        }
        self.step_of(&about, beside, &place, out);
        match read {
            Some(message) => {
                self.message(&message, &place, out);
                self.take_metadata(&about, Some(&message), &place, out);
            }
            None if about.tool_calls.is_truthy() || about.usage.is_object() => {
                self.take_metadata(&about, None, &place, out);
            }
            None if is_block_event(message) => {
                if let Some(run) = about.run_id.word() {
                    place.key = CompactString::new(&run);
                }
                self.block_event(&place, &message.object(), message, out);
            }
            None => self.stage.w.raw(message, place.agent.as_ref(), out),
        }
    }

    /// Takes a message, or a piece of one.
    pub(super) fn message(
        &mut self,
        message: &LangChainMessage<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        self.has_state = true;
        match message.speaker {
            MessageSpeaker::Model { is_piece: true } => self.piece(message, place, out),
            MessageSpeaker::Model { is_piece: false } => self.whole(message, place, out),
            MessageSpeaker::Tool => self.tool_message(message, place, out),
            MessageSpeaker::Other(role) => self.history(role, message, place, out),
            MessageSpeaker::Nobody => {}
        }
    }

    /// The key by which a message is recognised: its id, else `instead`.
    pub(super) fn key(message: &LangChainMessage<'_>, instead: &str) -> CompactString {
        message.body.id.word().map_or_else(|| CompactString::new(instead), CompactString::from)
    }

    /// Takes a piece of a message of the model.
    fn piece(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let key = Self::key(message, &place.key);
        self.piece_of(&key, message, place, out);
    }

    /// Takes a piece of the message that is open as `key`, or begins it.
    pub(super) fn piece_of(
        &mut self,
        key: &CompactString,
        message: &LangChainMessage<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        self.stage.w.begin(message.model().as_deref(), out);
        self.has_state = true;
        self.open_message(key, place, out);
        let Some(spoken) = self.open.get_mut(key) else { return };
        if let Some(id) = message.body.id.word() {
            spoken.id = CompactString::new(&id);
        }
        spoken.piece(message, &mut self.stage, out);
        let reason = message.stopped().filter(|reason| *reason != "completed");
        spoken.is_stopped |= message.stopped().is_some() || message.is_last();
        self.is_incomplete = !spoken.is_stopped;
        if spoken.is_stopped {
            spoken.write_calls(true, &mut self.stage, out);
        }
        if place.agent.is_none()
            && let Some(reason) = reason
        {
            self.finish_reason = Some(CompactString::new(&reason));
        }
        if message.is_last() {
            self.end_message(key, true, out);
        }
    }

    /// Makes sure that the message `key` is open. Messages of the same agent that have stopped end.
    pub(super) fn open_message(&mut self, key: &CompactString, place: &MessageSource, out: &mut Decoded) {
        if self.open.contains_key(key) {
            return;
        }
        let over: Vec<_> =
            self.open.iter().filter(|(_, it)| it.is_stopped && it.agent == place.agent).collect();
        let over: Vec<_> = over.into_iter().map(|(key, _)| key.clone()).collect();
        for key in over {
            self.end_message(&key, true, out);
        }
        if self.open.len() >= OPEN_MESSAGES_MAX
            && let Some(oldest) = self.open.first().map(|(key, _)| key.clone())
        {
            self.end_message(&oldest, false, out);
        }
        if place.agent.is_none() {
            self.stage.begin_turn();
        }
        self.open.insert(key.clone(), StreamedMessage::of(place.agent.clone()));
    }

    /// Takes messages of which each has all so far (`messages/partial`); `is_complete` says that they are
    /// whole.
    pub(super) fn growing(
        &mut self,
        path: &[CompactString],
        messages: ForeignField<'_>,
        is_complete: bool,
        out: &mut Decoded,
    ) {
        for message in LangChainMessage::list(messages) {
            let key = Self::key(&message, "");
            let namespace = self.namespaces.get(&key).cloned().unwrap_or_default();
            let full = steps(&namespace);
            let inside = full.split_last().map(|(_, inside)| inside.to_vec()).unwrap_or_default();
            let path = if path.is_empty() { inside } else { path.to_vec() };
            let place = MessageSource { agent: self.agent_at(&path, out), key: key.clone() };
            if !matches!(message.speaker, MessageSpeaker::Model { .. }) {
                self.message(&message, &place, out);
                continue;
            }
            self.has_state = true;
            if self.told.contains_key(&hash_of(&key)) {
                continue;
            }
            self.stage.w.begin(message.model().as_deref(), out);
            self.open_message(&key, &place, out);
            let Some(spoken) = self.open.get_mut(&key) else { continue };
            spoken.is_stopped |= is_complete;
            spoken.grow(&message, &mut self.stage, out);
            self.is_incomplete = !spoken.is_stopped;
            if let Some(reason) = message.stopped().filter(|_| place.agent.is_none()) {
                self.finish_reason = Some(CompactString::new(&reason));
            }
            if is_complete {
                self.end_message(&key, true, out);
            }
        }
    }

    /// Notes where messages come from (`messages/metadata`), for those that follow.
    pub(super) fn note_namespaces(&mut self, value: ForeignField<'_>) {
        for (id, about) in value.entries() {
            let about: MessageMetadata<'_> = about.object::<MessageMetadata<'_>>().metadata.object();
            if self.namespaces.len() < MESSAGES_MAX {
                self.namespaces.insert(CompactString::from(id), about.namespace());
            }
        }
    }

    /// Takes a message of the model as a whole. It is written if nothing of it was streamed; otherwise it
    /// ends what was, and brings its tokens.
    pub(super) fn whole(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let content = message.whole.as_json_text();
        let key = Self::key(message, content);
        self.is_incomplete = false;
        if let Some(reason) =
            message.stopped().filter(|reason| place.agent.is_none() && reason != "completed")
        {
            self.finish_reason = Some(CompactString::new(&reason));
        }
        if let Some(spoken) = self.open.get_mut(&key) {
            spoken.usage = spoken.usage.or(usage(message.body.usage_metadata));
            return self.end_message(&key, true, out);
        }
        let hash = hash_of(&key);
        let text = message.text();
        if let Some(is_counted) = self.told.get_mut(&hash) {
            let more = usage(message.body.usage_metadata).filter(|_| !std::mem::replace(is_counted, true));
            self.count(more, place.agent.as_ref());
            self.streamed.swap_remove(&hash_of(&text));
            return;
        }
        let same = hash_of(&text);
        let known = self.open.iter().find(|(_, it)| it.agent == place.agent && it.text_hash() == Some(same));
        if let Some(known) = known.map(|(known, _)| known.clone()) {
            self.end_message(&known, true, out);
        }
        let ids: Vec<_> = message.body.tool_calls.list().iter().filter_map(|call| call_id(*call)).collect();
        let is_told = ids.iter().any(|id| self.ensure_written(id, out))
            || (!text.is_empty() && self.streamed.swap_remove(&same));
        if is_told {
            return self.note_told(hash, true);
        }
        self.stage.w.begin(message.model().as_deref(), out);
        if place.agent.is_none() {
            self.stage.begin_turn();
        }
        let mut spoken = StreamedMessage::of(place.agent.clone());
        spoken.whole(message, &mut self.stage, out);
        spoken.end(true, &mut self.stage, out);
        self.count(spoken.usage, spoken.agent.as_ref());
        self.note_told(hash, spoken.usage.is_some());
    }

    /// Ends the open message `key` and counts its tokens. `is_whole` says whether it came to its end.
    pub(super) fn end_message(&mut self, key: &CompactString, is_whole: bool, out: &mut Decoded) {
        let Some(mut spoken) = self.open.shift_remove(key) else { return };
        spoken.end(is_whole, &mut self.stage, out);
        spoken.usage = spoken.usage.or(spoken.usage_beside);
        self.count(spoken.usage, spoken.agent.as_ref());
        if let Some(text) = spoken.text_hash().filter(|_| self.streamed.len() < ITEMS_PER_RUN_MAX) {
            self.streamed.insert(text);
        }
        self.note_told(hash_of(key), spoken.usage.is_some());
        if !spoken.id.is_empty() {
            self.note_told(hash_of(&spoken.id), spoken.usage.is_some());
        }
    }

    /// Adds tokens of a message to those of the run, and to those of its sub-agent.
    pub(super) fn count(&mut self, more: Option<model::event::Usage>, agent: Option<&AgentId>) {
        if let Some(more) = more {
            self.usage = Some(self.usage.unwrap_or_default().plus(more));
            if let Some(agent) = agent {
                self.stage.w.add_agent_usage(agent, more);
            }
        }
    }

    /// Notes that a message was written, and whether its tokens are counted.
    pub(super) fn note_told(&mut self, hash: u64, is_counted: bool) {
        if self.told.len() < ITEMS_PER_RUN_MAX {
            *self.told.entry(hash).or_default() |= is_counted;
        }
    }

    /// Makes sure that the call `id`, which an event is about, is written: its message has ended, whatever
    /// was received of it. False if no message had the call.
    pub(super) fn ensure_written(&mut self, id: &str, out: &mut Decoded) -> bool {
        let key = self.open.iter().find(|(_, spoken)| spoken.calls.iter().any(|call| call.id == id));
        if let Some(key) = key.map(|(key, _)| key.clone())
            && let Some(spoken) = self.open.get_mut(&key)
        {
            spoken.is_stopped = true;
            spoken.write_calls(true, &mut self.stage, out);
        }
        self.stage.knows(id)
    }

    /// Takes the result of a call as a message, once.
    fn tool_message(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let hash = hash_of(&Self::key(message, message.whole.as_json_text()));
        if self.told.contains_key(&hash) {
            return;
        }
        self.note_told(hash, true);
        let id = message.body.tool_call_id.words().unwrap_or_default();
        self.ensure_written(&id, out);
        self.is_incomplete = false;
        let name = message.body.name.word().unwrap_or_default();
        let given = CallResult {
            id: &id,
            name: &name,
            output: message.body.content,
            is_error: message.has_failed(),
            agent: place.agent.as_ref(),
        };
        self.stage.result(&given, None, out);
    }

    /// Writes a message of somebody else, once. What a sub-agent is told is in the call that started it, and
    /// is not written again.
    pub(super) fn history(
        &mut self,
        role: &str,
        message: &LangChainMessage<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        let hash = hash_of(&Self::key(message, message.whole.as_json_text()));
        if place.agent.is_some() || self.told.contains_key(&hash) {
            return;
        }
        self.note_told(hash, true);
        let text = text_of(message.body.content);
        if !text.is_empty() {
            self.stage.w.message(role, &text, out);
        }
    }

    /// Writes a message of an earlier run as history.
    pub(super) fn earlier(&mut self, message: &LangChainMessage<'_>, out: &mut Decoded) {
        let role = match message.speaker {
            MessageSpeaker::Model { .. } => "assistant",
            MessageSpeaker::Tool => "tool",
            MessageSpeaker::Other(role) => role,
            MessageSpeaker::Nobody => return,
        };
        self.history(role, message, &MessageSource::default(), out);
    }
}

/// Whether the object is about a block of a message, in the words of the typed protocol.
fn is_block_event(value: ForeignField<'_>) -> bool {
    let event = value.object::<super::TaggedObject<'_>>().event.text().unwrap_or_default();
    event.starts_with("message-") || event.starts_with("content-block-")
}

/// The id of a call.
fn call_id(call: ForeignField<'_>) -> Option<String> {
    call.object::<super::spoken::CallDelta<'_>>().id.words().map(std::borrow::Cow::into_owned)
}
