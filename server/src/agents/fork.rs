//! Forks: a new conversation with what was said in another one, up to a place. The other one stays as it is.

use std::sync::Arc;

use compact_str::format_compact;
use shared::code::ErrorCode;
use shared::dialect::Decoded;
use shared::event::{Event, Kind, Origin, RunEnd, RunStatus};
use shared::frame::Durability;
use shared::{ConversationId, Envelope, MessageId, RunId, Seq};

use super::commands::Refusal;
use crate::clock;
use crate::hub::{Conversation, History, Publication};
use crate::log::reached;
use crate::state::Shared;

/// Events that are read at once.
const EVENTS_AT_ONCE: usize = 2_000;

/// Longest beginning of a name that the name of a fork takes over, in bytes.
const NAME_BYTES: usize = 100;

/// Where a fork leaves the other conversation: behind an event, before a message, or at the end.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// The last event that it has.
    pub(crate) at: Option<Seq>,
    /// The message that it does not have any more.
    pub(crate) before: Option<MessageId>,
}

/// Makes the conversation `into`, or one with a name of its own, of what was said in `from` up to `cut`. Runs that went on
/// there are interrupted here.
pub(crate) async fn fork(
    shared: &Shared,
    from: &Arc<Conversation>,
    cut: Cut,
    into: Option<ConversationId>,
) -> Result<ConversationId, Refusal> {
    let head = from.head();
    let Cut { at, before } = cut;
    let at = at.unwrap_or(head);
    if at > head {
        let why = format!("the conversation has {head} events, and none with the seq {at}");
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    let into = match into {
        Some(into) => into,
        None => fresh(from.id())?,
    };
    let mut envelopes = read(shared, from, at).await?;
    if let Some(before) = before {
        let is_it = |it: &Envelope| matches!(&it.event.kind, Kind::Message(it) if it.message == before);
        let place = envelopes.iter().position(is_it).ok_or_else(|| {
            Refusal::new(ErrorCode::BadRequest, format!("no message {before} is among the events"))
        })?;
        envelopes.truncate(place);
    }
    envelopes.push(mark(from, envelopes.last().map_or(0, |last| last.seq)));
    let history = History::of_hub(envelopes);
    let imported = shared.hub.import(&into, history).await;
    imported.map_err(|error| Refusal::new(error.code(), format!("{into}: {error}")))?;
    close(shared, &into).await?;
    Ok(into)
}

/// Says behind the events that both have where they come from.
fn mark(from: &Conversation, seq: Seq) -> Envelope {
    let from = Origin { conversation: from.id().clone(), epoch: from.epoch().clone(), seq };
    Envelope {
        event: Event::new(&RunId::none(), Kind::Fork { from }),
        seq: seq.saturating_add(1),
        at: clock::now_ms(),
        producer_at: None,
        publisher: None,
        by_hub: true,
    }
}

/// A name that says where the fork comes from.
fn fresh(from: &ConversationId) -> Result<ConversationId, Refusal> {
    let name = from.as_str();
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = format_compact!("{}-fork-{}", name.get(..end).unwrap_or_default(), clock::fresh_name());
    ConversationId::parse(&name).map_err(|error| Refusal::new(ErrorCode::BadConversation, error.to_string()))
}

/// The events up to `at`, results whole.
async fn read(shared: &Shared, from: &Arc<Conversation>, at: Seq) -> Result<Vec<Envelope>, Refusal> {
    let mut envelopes: Vec<Envelope> = Vec::new();
    loop {
        let after = envelopes.last().map_or(0, |envelope| envelope.seq);
        if after >= at {
            return Ok(envelopes);
        }
        let page = shared.hub.read(from, after, EVENTS_AT_ONCE).await;
        let page = page.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
        if page.envelopes.is_empty() {
            return Err(Refusal::new(ErrorCode::Gone, "the log has less than was said"));
        }
        let page = page.envelopes.iter().take_while(|envelope| envelope.seq <= at);
        envelopes.extend(page.map(|envelope| shared.hub.made_whole(from, envelope).into_owned()));
    }
}

/// Ends what went on when the fork was cut off, and waits until that is stored too.
async fn close(shared: &Shared, id: &ConversationId) -> Result<(), Refusal> {
    let found = shared.hub.find(id).ok().flatten();
    let open: Vec<RunId> = found.map_or_else(Vec::new, |found| {
        found.look(|view| {
            view.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id.clone()).collect()
        })
    });
    let mut ends = Decoded::default();
    for run in &open {
        ends.push(run, Kind::RunEnd(RunEnd { status: RunStatus::Interrupted, ..RunEnd::default() }));
    }
    if !ends.envelopes.is_empty() {
        let ended = shared.fanout.publish(id, Publication::of_hub(ends.envelopes));
        let ended = ended.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
        let log = shared.hub.log();
        let stored = reached(log, ended.ticket, Durability::Stored.min(log.durability())).await;
        stored.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    }
    Ok(())
}
