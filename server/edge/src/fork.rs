//! Forks: a new conversation with the history of another one up to a place. The other conversation stays as
//! it is.
//!
//! ```text
//! other:  1 2 3 4 5 6 7 8 9
//! fork:   1 2 3 4 5 6 │ fork { from: other, 6 } │ run.end interrupted, for each run that was going on
//! ```
//!
//! The events keep their seqs, so the fork's seqs go on where the shared history ends (I1).

use std::sync::Arc;

use compact_str::format_compact;
use event_log::blocking;
use model::code::ErrorCode;
use model::event::{Event, Kind, LabelChange, Origin, RunEnd, RunStatus};
use model::fold::fold;
use model::{ConversationId, Envelope, MessageId, RunId, Seq, View};

use crate::work::{TURN, Task, Work};
use agents::Refusal;
use event_log::clock;
use hub::{Conversation, Fanout, History, Hub};

/// Most events that are read at once.
const EVENTS_AT_ONCE: usize = 2_000;

/// How much of the other conversation's name the name of a fork begins with, in bytes.
const NAME_BYTES: usize = 100;

/// Where a fork leaves the other conversation. The default is the end.
#[derive(Debug, Default)]
pub(crate) struct ForkPlace {
    /// The seq of the last event that the fork has.
    pub(crate) at: Option<Seq>,
    /// The first message that the fork does not have.
    pub(crate) before: Option<MessageId>,
}

/// Makes the conversation `into`, or one with a fresh name, from the history of `from` up to `cut`. Runs that
/// were going on there are interrupted in the fork. Waits for its turn among the hub's expensive work and for
/// the disk.
///
/// Fails with `bad_request` for a place that is not there, with `conversation_exists` if `into` has events,
/// with `gone` if the log no longer has all events before the place, with `too_many` without a turn.
pub(crate) async fn fork(
    fanout: &Fanout,
    work: &Work,
    from: &Arc<Conversation>,
    cut: ForkPlace,
    into: Option<ConversationId>,
) -> Result<ConversationId, Refusal> {
    let head = from.head();
    let ForkPlace { at, before } = cut;
    let at = at.unwrap_or(head);
    if at > head {
        let why = format!("the conversation has {head} events, and none with the seq {at}");
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    let into = match into {
        Some(into) => into,
        None => fresh(from.id())?,
    };
    let Some(_turn) = work.turn_within(from.read_view(Task::of), TURN).await else {
        return Err(Refusal::new(
            ErrorCode::TooMany,
            "the hub was busy with other work; try again in a moment",
        ));
    };
    let mut envelopes = read(fanout.hub(), from, at).await?;
    if let Some(before) = before {
        let is_it = |it: &Envelope| matches!(&it.event.kind, Kind::Message(it) if it.message == before);
        let place = envelopes.iter().position(is_it).ok_or_else(|| {
            Refusal::new(ErrorCode::BadRequest, format!("no message {before} is among the events"))
        })?;
        envelopes.truncate(place);
    }
    envelopes.push(mark(from, envelopes.last().map_or(0, |last| last.seq)));
    blocking(|| close(&mut envelopes));
    let history = History::of_hub(envelopes);
    let imported = fanout.hub().import(&into, history).await;
    imported.map_err(|error| Refusal::new(error.code(), format!("{into}: {error}")))?;
    fanout.deliver(&into);
    Ok(into)
}

/// The event at the end of the shared history that says where the fork comes from.
fn mark(from: &Conversation, seq: Seq) -> Envelope {
    let from = Origin { conversation: from.id().clone(), epoch: from.epoch().clone(), seq };
    said(Event::new(&RunId::none(), Kind::Fork { from }), seq.saturating_add(1))
}

/// A fresh name that begins with that of the other conversation.
fn fresh(from: &ConversationId) -> Result<ConversationId, Refusal> {
    // The prefix of frozen copies is the hub's; a fork is a conversation like others.
    let name = from.unfrozen();
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = format_compact!("{}-fork-{}", name.get(..end).unwrap_or_default(), clock::fresh_name());
    ConversationId::parse(&name).map_err(|error| Refusal::new(ErrorCode::BadConversation, error.to_string()))
}

/// Reads the events up to `at`, with their large results, into memory. Fails with `gone` if one is missing.
pub(crate) async fn read(hub: &Hub, from: &Arc<Conversation>, at: Seq) -> Result<Vec<Envelope>, Refusal> {
    let mut envelopes: Vec<Envelope> = Vec::new();
    loop {
        let after = envelopes.last().map_or(0, |envelope| envelope.seq);
        if after >= at {
            return Ok(envelopes);
        }
        let page = hub.read(from, after, EVENTS_AT_ONCE).await;
        let page = page.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
        if page.envelopes.is_empty() {
            return Err(Refusal::new(
                ErrorCode::Gone,
                "the log no longer has all events before the place to fork from",
            ));
        }
        let page = page.envelopes.iter().take_while(|envelope| envelope.seq <= at);
        envelopes.extend(page.map(|envelope| hub.made_whole(from, envelope).into_owned()));
    }
}

/// Ends the runs that were going on at the cut, as part of the fork's history, and takes pin and archive back, which are about the other. So a hub that dies leaves no
/// fork with a run that seems to go on, and nothing of it is executed again.
fn close(envelopes: &mut Vec<Envelope>) {
    let mut view = View::default();
    for envelope in envelopes.iter() {
        fold(&mut view, envelope, &mut |_| {});
    }
    if view.label.pinned || view.label.archived {
        let change = LabelChange { pinned: Some(false), archived: Some(false), ..LabelChange::default() };
        let seq = envelopes.last().map_or(0, |last| last.seq).saturating_add(1);
        envelopes.push(said(Event::new(&RunId::none(), Kind::Label(Box::new(change))), seq));
    }
    for end in ends(&view) {
        let seq = envelopes.last().map_or(0, |last| last.seq).saturating_add(1);
        envelopes.push(said(end, seq));
    }
}

/// The ends of the runs that go on in `view`, as interrupted, for a copy in which nobody goes on with them.
pub(crate) fn ends(view: &View) -> impl Iterator<Item = Event> {
    view.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| {
        let end = RunEnd { status: RunStatus::Interrupted, ..RunEnd::default() };
        Event::new(id, Kind::RunEnd(end))
    })
}

/// An event that the hub itself appends, stamped with the time of day.
pub(crate) fn said(event: Event, seq: Seq) -> Envelope {
    Envelope { event, seq, at: clock::now_ms(), producer_at: None, publisher: None, by_hub: true }
}
