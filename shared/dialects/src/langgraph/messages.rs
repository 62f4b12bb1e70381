//! Messages of all speakers, in whichever form they come: pieces, wholes that grow, wholes.

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

/// Most messages that go on at the same time.
const OPEN_MESSAGES_MAX: usize = 64;

/// What the graph says beside a message.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct MessageMetadata<'a> {
    #[serde(borrow)]
    langgraph_checkpoint_ns: ForeignField<'a>,
    #[serde(borrow)]
    checkpoint_ns: ForeignField<'a>,
    #[serde(borrow)]
    lc_agent_name: ForeignField<'a>,
    #[serde(borrow)]
    ls_model_name: ForeignField<'a>,
    #[serde(borrow)]
    run_id: ForeignField<'a>,
    #[serde(borrow)]
    metadata: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) langgraph_node: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) langgraph_step: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
}

/// Where a message comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageSource {
    pub(super) agent: Option<AgentId>,
    /// Names the source of messages that have no id.
    pub(super) key: CompactString,
}

impl MessageMetadata<'_> {
    /// The namespace of the node, written as one string.
    pub(super) fn namespace(&self) -> CompactString {
        let namespace = self.langgraph_checkpoint_ns.word().or_else(|| self.checkpoint_ns.word());
        namespace.map(CompactString::from).unwrap_or_default()
    }
}

impl LangGraphMeaning {
    /// The sub-agent whose graph has the namespace `path`.
    pub(super) fn agent_at(&mut self, path: &[CompactString], out: &mut Decoded) -> Option<AgentId> {
        if path.is_empty() { None } else { self.stage.agent(path, None, None, out) }
    }

    /// Where a node stands that `about` speaks of, in an event of the namespace `path`.
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

    /// A message with what the graph says beside it.
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
                self.said_beside(&about, Some(&message), &place, out);
            }
            None if about.tool_calls.is_truthy() || about.usage.is_object() => {
                self.said_beside(&about, None, &place, out);
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

    /// A message or a piece of one.
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

    /// How a message is known again: by its id, else by `instead`.
    pub(super) fn key(message: &LangChainMessage<'_>, instead: &str) -> CompactString {
        message.body.id.word().map_or_else(|| CompactString::new(instead), CompactString::from)
    }

    fn piece(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let key = Self::key(message, &place.key);
        self.piece_of(&key, message, place, out);
    }

    /// A piece of the message that goes on as `key`.
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
        self.is_mid_air = !spoken.is_stopped;
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

    /// Makes sure that the message `key` goes on, and that not too many do.
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

    /// All of some messages so far.
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
            self.is_mid_air = !spoken.is_stopped;
            if let Some(reason) = message.stopped().filter(|_| place.agent.is_none()) {
                self.finish_reason = Some(CompactString::new(&reason));
            }
            if is_complete {
                self.end_message(&key, true, out);
            }
        }
    }

    /// Remembers where the messages come from that are told from now on.
    pub(super) fn note_namespaces(&mut self, value: ForeignField<'_>) {
        for (id, about) in value.entries() {
            let about: MessageMetadata<'_> = about.object::<MessageMetadata<'_>>().metadata.object();
            if self.namespaces.len() < MESSAGES_MAX {
                self.namespaces.insert(CompactString::from(id), about.namespace());
            }
        }
    }

    /// A message of the model as a whole. Often it was streamed before.
    pub(super) fn whole(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let content = message.whole.as_json_text();
        let key = Self::key(message, content);
        self.is_mid_air = false;
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
        let known = self.open.iter().find(|(_, it)| it.agent == place.agent && it.said() == Some(same));
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

    /// The message is over.
    pub(super) fn end_message(&mut self, key: &CompactString, is_whole: bool, out: &mut Decoded) {
        let Some(mut spoken) = self.open.shift_remove(key) else { return };
        spoken.end(is_whole, &mut self.stage, out);
        spoken.usage = spoken.usage.or(spoken.usage_beside);
        self.count(spoken.usage, spoken.agent.as_ref());
        if let Some(text) = spoken.said() {
            self.streamed.insert(text);
        }
        self.note_told(hash_of(key), spoken.usage.is_some());
        if !spoken.id.is_empty() {
            self.note_told(hash_of(&spoken.id), spoken.usage.is_some());
        }
    }

    /// Counts what a message used, for the run and for the sub-agent that it is of.
    pub(super) fn count(&mut self, more: Option<model::event::Usage>, agent: Option<&AgentId>) {
        if let Some(more) = more {
            self.usage = Some(self.usage.unwrap_or_default().plus(more));
            if let Some(agent) = agent {
                self.stage.w.spend(agent, more);
            }
        }
    }

    pub(super) fn note_told(&mut self, hash: u64, is_counted: bool) {
        if self.told.len() < ITEMS_PER_RUN_MAX {
            *self.told.entry(hash).or_default() |= is_counted;
        }
    }

    /// Makes sure that the call is written which something was told of. False when nobody has told of it.
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

    fn tool_message(&mut self, message: &LangChainMessage<'_>, place: &MessageSource, out: &mut Decoded) {
        let hash = hash_of(&Self::key(message, message.whole.as_json_text()));
        if self.told.contains_key(&hash) {
            return;
        }
        self.note_told(hash, true);
        let id = message.body.tool_call_id.words().unwrap_or_default();
        self.ensure_written(&id, out);
        self.is_mid_air = false;
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

    /// What somebody else said. What a sub-agent is told stands at its call.
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

    /// A message of an earlier run.
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

/// Whether it is about a block of a message, in the words of the typed protocol.
fn is_block_event(value: ForeignField<'_>) -> bool {
    let event = value.object::<super::TaggedObject<'_>>().event.text().unwrap_or_default();
    event.starts_with("message-") || event.starts_with("content-block-")
}

fn call_id(call: ForeignField<'_>) -> Option<String> {
    call.object::<super::spoken::CallChunk<'_>>().id.words().map(std::borrow::Cow::into_owned)
}
