//! What a graph says beside the messages: the step that writes one, the calls and the tokens of a message,
//! and what tools report while they run. Some graphs say calls and tokens only there.

use compact_str::{CompactString, format_compact};

use super::calls::OpenAiShapedCall;
use super::messages::{MessageMetadata, MessageSource};
use super::spoken::CallDelta;
use super::wire::{LangChainBlock, LangChainMessage, usage};
use super::{LangGraphMeaning, hash_of};
use crate::Decoded;
use crate::field::ForeignField;
use crate::report::ProgressReport;
use model::flow::GRAPH_STEP;
use model::limits::ITEMS_PER_RUN_MAX;

/// The fields of the metadata that name a step.
const STEP: [&str; 4] = ["langgraph_node", "langgraph_step", "langgraph_path", "tags"];

impl LangGraphMeaning {
    /// Writes the step that a message comes from as a custom event, each step once. `whole` is all that
    /// `about` was read from.
    pub(super) fn step_of(
        &mut self,
        about: &MessageMetadata<'_>,
        whole: ForeignField<'_>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        if !about.langgraph_node.is_some() && !about.langgraph_step.is_some() {
            return;
        }
        let step = whole.fields().pick(&STEP);
        let hash = hash_of(&format!("{}|{step}", about.namespace()));
        if self.steps.len() < ITEMS_PER_RUN_MAX && self.steps.insert(hash) {
            let step = ForeignField::parse(&step).unwrap_or_default();
            self.stage.w.custom(GRAPH_STEP, step, place.agent.as_ref(), out);
        }
    }

    /// Takes the calls and the tokens that the graph says beside `message`. If the message has calls itself,
    /// those count.
    pub(super) fn take_metadata(
        &mut self,
        about: &MessageMetadata<'_>,
        message: Option<&LangChainMessage<'_>>,
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        let key = message.map_or_else(|| place.key.clone(), |message| Self::key(message, &place.key));
        let beside = format_compact!("|{key}");
        let is_own = message.is_some_and(LangChainMessage::has_calls)
            || self.open.get(&key).is_some_and(|spoken| spoken.has_calls);
        let pieces = about.tool_calls.list();
        if !is_own && !pieces.is_empty() {
            let goes_on = self.open.get(&key).is_some_and(|spoken| !spoken.is_stopped);
            let into = if goes_on { &key } else { &beside };
            self.calls_beside(into, &pieces, place, out);
            let is_over = message.is_some_and(|message| message.is_last() || message.stopped().is_some());
            if is_over && !goes_on {
                self.end_message(&beside, true, out);
            }
        }
        let Some(more) = usage(about.usage) else { return };
        if let Some(spoken) = self.open.get_mut(&key) {
            spoken.usage_beside = Some(more);
        } else if let Some(spoken) = self.open.get_mut(&beside) {
            spoken.usage_beside = Some(more);
        } else if let Some(is_counted) = self.told.get_mut(&hash_of(&key))
            && !std::mem::replace(is_counted, true)
        {
            self.count(Some(more), place.agent.as_ref());
        }
    }

    /// Takes pieces of calls for the message `key`; they are joined by the ids of their calls.
    fn calls_beside(
        &mut self,
        key: &CompactString,
        pieces: &[ForeignField<'_>],
        place: &MessageSource,
        out: &mut Decoded,
    ) {
        self.stage.w.begin(None, out);
        self.has_state = true;
        self.open_message(key, place, out);
        let Some(spoken) = self.open.get_mut(key) else { return };
        for piece in pieces {
            let call: OpenAiShapedCall<'_> = piece.object();
            let id = call.id.words().unwrap_or_default();
            // Arguments that are whole are told again by servers that repeat all calls with each piece.
            let is_whole =
                spoken.calls.iter_mut().any(|entry| entry.id == *id && entry.call.call().is_whole());
            if !id.is_empty() && (is_whole || self.stage.knows(&id)) {
                continue;
            }
            let function: LangChainBlock<'_> = call.function.object();
            let piece = CallDelta {
                id: call.id,
                name: function.name,
                args: function.arguments,
                ..CallDelta::default()
            };
            spoken.call_piece(&piece, &mut self.stage, out);
        }
        self.is_incomplete = spoken.calls.iter_mut().any(|entry| !entry.call.call().is_whole());
    }

    /// Takes a value of the mode `custom` that may be a tool's report, and writes it as progress of the call
    /// that it is about. False if it is no report, or no such call is open.
    pub(super) fn report(&mut self, value: ForeignField<'_>, out: &mut Decoded) -> bool {
        let Some(report) = ProgressReport::read(value) else { return false };
        let (id, tool) = (report.call(), report.tool());
        let id = if !id.is_empty() && self.ensure_written(&id, out) {
            Some(CompactString::new(&id))
        } else {
            // Who reports has the whole call already.
            for spoken in self.open.values_mut() {
                if spoken.calls.iter_mut().any(|entry| entry.call.call().name() == tool) {
                    spoken.write_calls(true, &mut self.stage, out);
                }
            }
            self.stage.newest(&tool)
        };
        let Some(id) = id.filter(|id| self.stage.call(id).is_some()) else { return false };
        self.stage.report(&id, &report, out);
        true
    }
}
