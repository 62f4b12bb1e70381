//! What part of a history is new. Callers who keep the history send all of it each time, and the conversation
//! has most of it already. Only what persons said is compared, in order: clients change the form of answers.

use model::View;
use model::event::RunStatus;
use model::view::{MessageView, TopItem};

use crate::spoken::Spoken;

/// How much of the history a request contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it: the caller has withdrawn what is missing.
    All,
    /// All of it, unless the request contains only a question.
    Perhaps,
}

/// The place of a request's messages in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placing {
    /// The conversation goes on. The messages from this index on are new.
    Rest(usize),
    /// The history differs from the conversation from this item on: the messages from this index on belong
    /// into a fork that begins before the item.
    Before(TopItem, usize),
}

/// Where `messages` belong in the conversation `view`. `extent` says how much of the history they are,
/// `takes` whether they brought results that the newest run of the conversation waited for.
pub fn place(view: &View, messages: &[Spoken], (extent, takes): (Extent, bool)) -> Placing {
    let known: Vec<(usize, &MessageView)> =
        view.items.iter().enumerate().filter_map(|item| said(view, item)).collect();
    let told: Vec<usize> = (0..messages.len()).filter(|at| is_user(messages, *at)).collect();
    let same = |(known, told): &(&(usize, &MessageView), &usize)| {
        messages.get(**told).is_some_and(|spoken| known.1.text == spoken.text.as_str())
    };
    let common = known.iter().zip(&told).take_while(same).count();
    let is_history = messages.iter().any(|spoken| spoken.role == "assistant");
    let replaces =
        messages.iter().any(|spoken| spoken.id.as_ref().is_some_and(|id| view.messages.contains_key(id)));
    if extent == Extent::Perhaps && common == 0 && !is_history && !replaces {
        // The caller leaves the history to the hub.
        return Placing::Rest(told.first().copied().unwrap_or(messages.len()));
    }
    match (known.get(common), told.get(common)) {
        (None, Some(from)) => Placing::Rest(*from),
        (Some((at, _)), Some(from)) => before(view, *at, *from),
        (None, None) if takes => Placing::Rest(messages.len()),
        (more, None) => {
            let last = common.checked_sub(1).and_then(|last| known.get(last));
            let answered = last.map_or(0, |(at, _)| at + 1);
            let goes_on =
                more.is_none() && view.items.get(answered..).is_none_or(|items| have_failed(view, items));
            if goes_on { Placing::Rest(messages.len()) } else { before(view, answered, messages.len()) }
        }
    }
}

/// The message that `item` is, with its index, if a person wrote it.
fn said<'a>(view: &'a View, (at, item): (usize, &TopItem)) -> Option<(usize, &'a MessageView)> {
    let TopItem::Message(id) = item else { return None };
    view.messages.get(id).filter(|message| message.role == "user").map(|message| (at, message))
}

fn is_user(messages: &[Spoken], at: usize) -> bool {
    messages.get(at).is_some_and(|spoken| spoken.role == "user")
}

/// Whether `items` contain no answer, only runs that failed: then the same question may be asked once more.
fn have_failed(view: &View, items: &[TopItem]) -> bool {
    items.iter().all(|item| match item {
        TopItem::Message(_) => false,
        TopItem::Run(id) => view.runs.get(id).is_some_and(|run| {
            matches!(run.status, RunStatus::Error | RunStatus::Interrupted | RunStatus::Cancelled)
        }),
    })
}

/// The place before the item `at`; without such an item the conversation goes on.
fn before(view: &View, at: usize, from: usize) -> Placing {
    view.items.get(at).cloned().map_or(Placing::Rest(from), |item| Placing::Before(item, from))
}

#[cfg(test)]
mod tests;
