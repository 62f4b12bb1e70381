//! Calls in messages of the model: in pieces (`tool_call_chunks`), or as lists that grow
//! (`messages/partial`).

use serde::Deserialize;

use super::spoken::{CallDelta, CallEntry, StreamedMessage};
use super::stage::LangGraphWriter;
use super::wire::{LangChainBlock, LangChainMessage};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::WholeCall;

/// A call in the shape of the chat API: name and arguments in `function`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OpenAiShapedCall<'a> {
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
}

impl StreamedMessage {
    /// Takes a piece of a call: the first has its name and mostly its id, later ones only more of the
    /// arguments. Pieces belong together by their index, else by their id, else to the last call.
    pub(super) fn call_piece(
        &mut self,
        piece: &CallDelta<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let (index, id) = (piece.index.words(), piece.id.words().unwrap_or_default());
        let key = index.unwrap_or_else(|| id.clone());
        let name = piece.name.word().unwrap_or_default();
        let is_same = |entry: &CallEntry| id.is_empty() || entry.id.is_empty() || entry.id == *id;
        let known = if key.is_empty() {
            self.calls.len().checked_sub(1).filter(|_| name.is_empty())
        } else {
            self.calls.iter().rposition(|entry| entry.key == *key && is_same(entry))
        };
        let at = match known {
            Some(at) => at,
            None if name.is_empty() && id.is_empty() && !piece.args.is_truthy() => return,
            None => match self.open_call(&key, &id, &name, stage, out) {
                Some(at) => at,
                None => return,
            },
        };
        let Some(entry) = self.calls.get_mut(at) else { return };
        let call = entry.call.call();
        if known.is_some() && !name.is_empty() && call.is_empty() && id.is_empty() && call.name() != name {
            let whole = format!("{}{name}", call.name());
            call.set_name(&whole);
        }
        let args = piece.args.text().unwrap_or_else(|| piece.args.as_json_text().into());
        entry.args(&args, stage, out);
    }

    /// Begins a call and returns its place among the calls of the message; nothing if there is no room for
    /// it.
    pub(super) fn open_call(
        &mut self,
        key: &str,
        id: &str,
        name: &str,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) -> Option<usize> {
        if !stage.w.has_room(out) {
            return None;
        }
        let call = stage.w.open_call(id, name, false, self.agent.as_ref(), out);
        self.calls.push(CallEntry::new(key, id, WholeCall::new(call)));
        self.calls.len().checked_sub(1)
    }

    /// Takes the calls of a message that has all so far.
    pub(super) fn grow_calls(
        &mut self,
        message: &LangChainMessage<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let calls = message.body.tool_calls.list().into_iter();
        for call in calls.chain(message.body.invalid_tool_calls.list()) {
            let piece: CallDelta<'_> = call.object();
            let id = piece.id.words().unwrap_or_default();
            let name = piece.name.word().unwrap_or_default();
            if name.is_empty() || id.is_empty() || stage.knows(&id) {
                continue;
            }
            let known = self.calls.iter().position(|entry| entry.id == *id);
            let Some(at) = known.or_else(|| self.open_call(&id, &id, &name, stage, out)) else { continue };
            let is_stopped = self.is_stopped;
            let Some(entry) = self.calls.get_mut(at) else { continue };
            if let Some(text) = written_args(message, &id, &piece) {
                entry.set_args(&text, stage, out);
            } else if is_stopped && !entry.call.call().is_whole() {
                // Parsed from what is there of them, the arguments change until the end.
                entry.set_args(piece.args.as_json_text(), stage, out);
            }
        }
        if self.is_stopped {
            self.write_calls(true, stage, out);
        }
    }
}

/// The text of the arguments of the call `id` as the model wrote them so far; nothing if the message has only
/// parsed ones.
fn written_args(message: &LangChainMessage<'_>, id: &str, piece: &CallDelta<'_>) -> Option<String> {
    let blocks = message.body.content.list().into_iter().map(ForeignField::object::<LangChainBlock<'_>>);
    let mut texts = blocks
        .filter(|block| block.id.text().is_some_and(|known| known == id))
        .flat_map(|block| [block.partial_json, block.arguments, block.input, block.args])
        .filter_map(ForeignField::text);
    if let Some(text) = texts.next() {
        return Some(text.into_owned());
    }
    let calls =
        message.extra().tool_calls.list().into_iter().map(ForeignField::object::<OpenAiShapedCall<'_>>);
    let mut texts = calls
        .filter(|call| call.id.text().is_some_and(|known| known == id))
        .filter_map(|call| call.function.object::<LangChainBlock<'_>>().arguments.text());
    texts.next().or_else(|| piece.args.text()).map(std::borrow::Cow::into_owned)
}
