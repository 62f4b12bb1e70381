//! What vendors add to a delta beside text and calls: tools that they execute themselves (Groq's
//! `executed_tools`), citations (`annotations`) and images (OpenRouter's `images`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::Decoded;
use crate::openai_chat::wire::{ChatContentPart, ChatDelta, ExecutedTool};
use crate::writer::{CallOutcome, EventWriter, OpenCall};
use model::event::PartKind;
use model::ids::AgentId;

/// The extras of one choice, over all its deltas.
#[derive(Debug, Default)]
pub(super) struct ChoiceExtras {
    /// Executed tools by their index; nothing once the result is there.
    executed: BTreeMap<u64, Option<OpenCall>>,
}

impl ChoiceExtras {
    /// Writes the extras of one delta.
    pub(super) fn take(
        &mut self,
        delta: &ChatDelta<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        for (position, item) in (0_u64..).zip(delta.executed_tools.list()) {
            self.executed(position, &item.object(), agent, w, out);
        }
        for annotation in delta.annotations.list() {
            w.custom("citation", annotation, agent, out);
        }
        for image in delta.images.list() {
            show_image(&image.object(), agent, w, out);
        }
    }

    /// Writes a tool that the provider executes: the call when it is first named, the result when it has an
    /// output. Without an index its `position` in the list counts.
    fn executed(
        &mut self,
        position: u64,
        tool: &ExecutedTool<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let index = tool.index.count().unwrap_or(position);
        if let Entry::Vacant(vacant) = self.executed.entry(index) {
            if !w.has_room(out) {
                return;
            }
            let name = tool.name.word().or_else(|| tool.kind.word()).unwrap_or_default();
            let mut call = w.open_call("", &name, true, agent, out);
            call.args(&tool.arguments.words().unwrap_or_default(), w, out);
            call.written(None, w, out);
            vacant.insert(Some(call));
        }
        if tool.output.is_some()
            && let Some(call) = self.executed.get_mut(&index).and_then(Option::take)
        {
            w.result(call.id(), CallOutcome::of(tool.output.json()), agent, out);
        }
    }
}

/// Writes an image as a file part: its URL, which may be a `data:` URL. Without room in the run nothing is
/// written.
pub(super) fn show_image(
    piece: &ChatContentPart<'_>,
    agent: Option<&AgentId>,
    w: &mut EventWriter,
    out: &mut Decoded,
) {
    let inner: ChatContentPart<'_> = piece.image_url.object();
    let url = inner.url.word().or_else(|| piece.image_url.word()).or_else(|| piece.url.word());
    if let Some(url) = url
        && w.has_room(out)
    {
        w.whole_part(PartKind::File, &url, false, agent, out);
    }
}
