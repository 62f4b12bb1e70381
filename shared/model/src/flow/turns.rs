//! Messages and runs in the order of a conversation. A run goes on while people speak, so it is taken apart where a
//! message was said inside it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ids::{MessageId, RunId};
use crate::view::{MessageView, RunView, TopItem, View};

/// Most places at which one run is taken apart; what is said later in it stands behind it.
const PIECES_MAX: usize = 256;

/// A piece of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationSection<'a> {
    /// A message of the history, with its id.
    Message(&'a MessageId, &'a MessageView),
    /// A run, or the stretch of it between two messages.
    Run(RunSection<'a>),
}

/// A run, or a stretch of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSection<'a> {
    /// The id of the run.
    pub id: &'a RunId,
    /// The view of the run.
    pub run: &'a RunView,
    /// The stretch of [`RunView::items`] that this section covers.
    pub items: Range<usize>,
    /// Whether nothing of the run comes behind it.
    pub is_last: bool,
}

/// A message inside of a run: how many items the run had before, its id, and what was said.
type MessageInRun<'a> = (usize, &'a MessageId, &'a MessageView);

/// The range of [`RunView::items`] of the stretch of the run `id` that begins at `from`; all that comes is in it where nothing
/// was said behind it.
pub fn stretch_from(view: &View, id: &RunId, from: usize) -> Range<usize> {
    let within = view.messages.values().filter_map(|message| message.within.as_ref());
    let cuts = within.filter(|within| within.run == *id).take(PIECES_MAX).map(|within| within.items);
    from..cuts.filter(|cut| *cut > from).min().unwrap_or(usize::MAX)
}

/// The pieces of `view`, in order.
pub fn turns(view: &View) -> Vec<ConversationSection<'_>> {
    let mut said: BTreeMap<&RunId, Vec<MessageInRun<'_>>> = BTreeMap::new();
    let mut turns = Vec::with_capacity(view.items.len());
    for (id, message) in &view.messages {
        let Some(within) = &message.within else { continue };
        let of_run = said.entry(&within.run).or_default();
        // Fewer pieces than the limit, and only where the run is there to be taken apart.
        if of_run.len() < PIECES_MAX && view.runs.contains_key(&within.run) {
            of_run.push((within.items, id, message));
        }
    }
    for item in &view.items {
        match item {
            TopItem::Message(id) => {
                let Some(message) = view.messages.get(id) else { continue };
                let is_inside = message.within.as_ref().and_then(|within| said.get(&within.run));
                if !is_inside.is_some_and(|said| said.iter().any(|(_, of_run, _)| *of_run == id)) {
                    turns.push(ConversationSection::Message(id, message));
                }
            }
            TopItem::Run(id) => {
                if let Some(run) = view.runs.get(id) {
                    take_apart(id, run, said.get(id).map(Vec::as_slice).unwrap_or_default(), &mut turns);
                }
            }
        }
    }
    turns
}

fn take_apart<'a>(
    id: &'a RunId,
    run: &'a RunView,
    said: &[MessageInRun<'a>],
    turns: &mut Vec<ConversationSection<'a>>,
) {
    let mut from = 0;
    for (at, message_id, message) in said {
        let at = (*at).clamp(from, run.items.len());
        if at > from {
            turns.push(ConversationSection::Run(RunSection { id, run, items: from..at, is_last: false }));
        }
        turns.push(ConversationSection::Message(message_id, message));
        from = at;
    }
    turns.push(ConversationSection::Run(RunSection { id, run, items: from..run.items.len(), is_last: true }));
}
