//! What links show that are frozen or about one turn: a copy of a conversation, or of one turn of it, as it was when the link was made. Nobody writes to a
//! copy, so nothing that happens later reaches whoever follows the link, in whatever form the hub serves it. The one exception is the copy of a turn that
//! runs, behind a live link: the hub itself goes on with it ([`following`]) until the runs end.
//!
//! ```text
//! make:   events up to now ─▶ of the one turn? ─▶ frozen: runs that go on are interrupted ─▶ archived ─▶ fanlight.frozen.NAME ─▶ link
//! every minute, and when links go:   conversation gone ─▶ its links go     link over ─▶ its copy goes     live, and runs ─▶ goes on
//! ```
//!
//! A copy is a conversation like others, but that it is in no search, no figures and no sink. It goes with its link, and with the conversation.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use access::{FrozenShare, Share};
use agents::Refusal;
use encode::document::only::{ExportSelection, is_of};
use event_log::{EventPage, LogError, clock, reached};
use hub::{Conversation, Fanout, History, OpenError, PendingDeletion};
use model::code::ErrorCode;
use model::event::{Event, Kind, LabelChange};
use model::fold::fold;
use model::frame::Durability;
use model::{ConversationId, Envelope, Epoch, MessageId, RunId, View, unfold};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::following::{Followers, LiveLink, LookVerdict};
use self::listed::CopyState;
use self::looking::{LookPause, SeenOriginals};
use crate::access::{Gate, StoredLinks};
use crate::fork::{ends, read, said};
use crate::peers::Ownership;
use crate::work::{TURN, Task, Work};

pub(crate) mod following;
mod listed;
mod looking;
mod moving;
mod turn;

pub(crate) use moving::GiveUp;

/// The tag of copies, by which the list finds them.
const TAG: &str = "frozen-link";

/// What a link shows of the runs that go on when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyKind {
    /// The runs are shown as broken off.
    Frozen,
    /// The runs are shown until they end.
    Live,
}

/// The copies of this hub that have no link yet, the news that links are gone, and the copies that go on. One for each process.
#[derive(Debug)]
pub(crate) struct Copies {
    /// The conversations, their owners and their viewers.
    ownership: Arc<Ownership>,
    /// Keeps the links.
    gate: Arc<Gate>,
    /// The bounds of expensive work, which a copy is.
    work: Arc<Work>,
    /// The folder of the log, which has the links of a hub on disk; `None` for others.
    links_folder: Option<PathBuf>,
    /// Copies whose links are being made.
    making: Mutex<BTreeSet<ConversationId>>,
    /// Told when a link is revoked, or this hub gets a copy.
    due: Arc<Notify>,
    /// The tasks that write copies on this hub.
    followers: Followers,
    /// The conversations in memory of which it is known that their links are about them.
    seen: SeenOriginals,
}

/// A copy whose link is being made. Dropping it lets the copy go, unless a link has it by then.
#[derive(Debug)]
pub(crate) struct NewCopy<'a> {
    copies: &'a Copies,
    /// The name of the copy.
    pub(crate) conversation: ConversationId,
    /// What the link shows of the conversation.
    pub(crate) shows: FrozenShare,
    /// The epoch of what was copied. A conversation that begins anew under its name has another one.
    pub(crate) epoch: Epoch,
    /// Whether a link shows it, so that nobody need look whether it is over.
    has_link: bool,
}

impl NewCopy<'_> {
    /// Leaves the copy to its link, which is stored.
    pub(crate) fn linked(mut self) {
        self.has_link = true;
        if self.shows.live {
            // Somebody must go on with it.
            self.copies.look();
        }
    }
}

impl Drop for NewCopy<'_> {
    fn drop(&mut self) {
        self.copies.making.lock().remove(&self.conversation);
        if !self.has_link {
            self.copies.look();
        }
    }
}

impl Copies {
    /// The copies of `ownership`'s conversations; none is being made yet. `links_folder` is the folder of the log, if it has one.
    pub(crate) fn new(
        ownership: Arc<Ownership>,
        gate: Arc<Gate>,
        work: Arc<Work>,
        links_folder: Option<PathBuf>,
    ) -> Self {
        Self {
            due: Arc::clone(&ownership.copies_due),
            ownership,
            gate,
            work,
            links_folder,
            making: Mutex::default(),
            followers: Followers::default(),
            seen: SeenOriginals::default(),
        }
    }

    /// Looks soon which copies are over, and which go on.
    pub(crate) fn look(&self) {
        self.due.notify_one();
    }
}

/// Copies `from` as it is now, or the turn of it that begins with the message `turn`. Runs that go on are interrupted in a frozen copy, and must
/// go on in a live one. Waits for its turn among the hub's expensive work and for the disk.
///
/// Fails with `not_found` for a turn that is not there, with `bad_request` for a conversation without events and for a live copy of what does not run,
/// with `too_many` without a turn, with `log_failed` where the log cannot be read.
pub(crate) async fn freeze<'a>(
    copies: &'a Copies,
    from: &Arc<Conversation>,
    turn: Option<MessageId>,
    kind: CopyKind,
) -> Result<NewCopy<'a>, Refusal> {
    let Some(_turn) = copies.work.turn_within(from.read_view(Task::of), TURN).await else {
        let why = "the hub was busy with other work; try again in a moment";
        return Err(Refusal::new(ErrorCode::TooMany, why));
    };
    let mut view = from.view();
    let seq = view.seq;
    if seq == 0 {
        return Err(Refusal::new(
            ErrorCode::BadRequest,
            "the conversation has no events that could be frozen",
        ));
    }
    let only = ExportSelection { message: turn.clone(), run: None };
    if !only.reduce(&mut view) {
        let why = format!("the conversation has no message {:?}", only.name().unwrap_or_default());
        return Err(Refusal::new(ErrorCode::NotFound, why));
    }
    if kind == CopyKind::Live && !view.is_running() {
        let why = "turn: no run of this turn goes on, so there is nothing to follow: say \"frozen\": true";
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    let mut envelopes = match read(&copies.ownership.hub, from, seq).await {
        Ok(mut all) => {
            let is_its = |event: &Event| {
                // A message of the turn that another run repeats is that run's.
                is_of(&view, event) && (event.run.is_none() || view.runs.contains_key(&event.run))
            };
            all.retain(|envelope| turn.is_none() || is_its(&envelope.event));
            all
        }
        // The log has the state alone.
        Err(refusal) if refusal.code == ErrorCode::Gone => {
            if turn.is_some() {
                forget_the_whole(&mut view);
            }
            let told = unfold::unfold(&view);
            told.iter().map(|envelope| copies.ownership.hub.made_whole(from, envelope).into_owned()).collect()
        }
        Err(refusal) => return Err(refusal),
    };
    event_log::blocking(|| finish(&mut envelopes, kind));
    let name = ConversationId::frozen(&clock::fresh_name());
    let name = name.map_err(|error| Refusal::new(ErrorCode::Internal, error.to_string()))?;
    let begins = begins(copies.ownership.hub.read(from, 0, 1).await)?;
    // From here on nothing is waited for until the guard below takes the name out again.
    copies.making.lock().insert(name.clone());
    let shows = FrozenShare { of: from.id().clone(), seq, turn, begins, live: kind == CopyKind::Live };
    let copy = NewCopy { copies, conversation: name, shows, epoch: from.epoch().clone(), has_link: false };
    let imported = copies.ownership.hub.import(&copy.conversation, History::of_hub(envelopes).frozen()).await;
    imported.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(copy)
}

/// When the first event of a conversation was taken, in milliseconds since 1970; `None` if the log no longer has it. Fails if it cannot be read: without it nobody
/// could tell the conversation from another one that takes its name.
fn begins(page: Result<EventPage, LogError>) -> Result<Option<u64>, Refusal> {
    match page {
        Ok(page) => Ok(begin(&page)),
        Err(LogError::Gone { .. }) => Ok(None),
        Err(error) => Err(Refusal::new(error.code(), error.to_string())),
    }
}

/// When the first event of a conversation was taken, in milliseconds since 1970, if `page` begins with it.
fn begin(page: &EventPage) -> Option<u64> {
    page.envelopes.first().filter(|first| first.seq == 1).map(|first| first.at)
}

/// Takes out of a view that was reduced to one turn what it says of the conversation as a whole.
fn forget_the_whole(view: &mut View) {
    view.title = view.runs.values().rev().find_map(|run| run.title.clone());
    view.forked_from = None;
    view.label = model::view::ConversationLabels::default();
}

/// Numbers the events from 1, ends runs that go on in a frozen copy, and puts the copy among the archived ones.
fn finish(envelopes: &mut Vec<Envelope>, kind: CopyKind) {
    let mut view = View::default();
    for (seq, envelope) in (1..).zip(envelopes.iter_mut()) {
        envelope.seq = seq;
        fold(&mut view, envelope, &mut |_| {});
    }
    let label = LabelChange {
        pinned: Some(false),
        archived: Some(true),
        tags: Some(vec![TAG.into()]),
        ..LabelChange::default()
    };
    let label = Event::new(&RunId::none(), Kind::Label(Box::new(label)));
    let first = view.seq.saturating_add(1);
    let ends = (kind == CopyKind::Frozen).then(|| ends(&view)).into_iter().flatten();
    let last = ends.chain([label]).zip(first..).map(|(event, seq)| said(event, seq));
    envelopes.extend(last.collect::<Vec<_>>());
}

/// Deletes copies, and says what to wait for until nothing of them is left. Copies of which another hub is the owner go when that one looks.
pub(crate) fn remove(
    fanout: &Fanout,
    copies: impl IntoIterator<Item = ConversationId>,
) -> Vec<PendingDeletion> {
    let mut pending = Vec::new();
    for copy in copies {
        match fanout.hub().delete(&copy) {
            Ok(deleted) => {
                pending.extend(deleted);
                fanout.fleet.lose(&copy);
            }
            Err(OpenError::Elsewhere { .. }) => {}
            Err(error) => tracing::warn!(%error, %copy, "the copy of a frozen link was not deleted"),
        }
    }
    pending
}

/// Removes links whose conversations are gone, and copies whose links are over, and goes on with live copies: every minute, when links go, when a live one
/// was made, and sooner as long as another hub writes a copy whose runs go on. `give_up` moves a copy to the hub of its original. Never returns.
pub(crate) async fn keep_up(copies: &Arc<Copies>, give_up: GiveUp) {
    let mut pause = LookPause::default();
    loop {
        let its = Arc::clone(copies);
        let round = tokio::task::spawn_blocking(move || round(&its)).await;
        let mut verdict = LookVerdict::Settled;
        match round {
            Ok(Ok(Round { pending, live })) => {
                verdict = following::keep(copies, live, &give_up).await;
                let level = Durability::Stored.min(copies.ownership.hub.log().durability());
                for deletion in pending {
                    // A log that cannot write says so itself, and the next look finds the copy again.
                    drop(reached(copies.ownership.hub.log(), deletion.removal, level).await);
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "copies of frozen links were not looked at"),
            Err(error) => tracing::error!(%error, "looking at copies of frozen links broke off"),
        }
        tokio::select! {
            () = tokio::time::sleep(pause.after(verdict)) => {}
            () = copies.due.notified() => pause = LookPause::default(),
        }
    }
}

/// The outcome of one look.
#[derive(Debug, Default)]
struct Round {
    /// What to wait for until nothing is left of the copies that are over.
    pending: Vec<PendingDeletion>,
    /// The links to turns of which a run may still go on.
    live: Vec<LiveLink>,
}

/// Looks once. Waits for the disk.
fn round(copies: &Copies) -> Result<Round, LogError> {
    // In this order: a copy is among those that are being made until its link is stored.
    let listed = listed::all(&copies.ownership.hub)?;
    copies.seen.forget_gone();
    let mut alive = copies.making.lock().clone();
    let links = copies.gate.all_shares(copies.ownership.hub.log(), copies.links_folder.as_deref())?;
    // Where nobody knows the links nothing is deleted.
    let Some(StoredLinks { links, unread }) = links else { return Ok(Round::default()) };
    let (mut gone, mut live, now) = (BTreeSet::new(), Vec::new(), clock::now_ms());
    for Share { conversation, frozen, expires, .. } in links.into_iter().filter(|link| link.expires > now) {
        let Some(frozen) = frozen else { continue };
        match is_gone(copies, &frozen) {
            Ok(true) => {
                gone.insert(frozen.of);
            }
            Ok(false) => {
                alive.insert(conversation.clone());
                // One without a row was made a moment ago.
                if frozen.live && listed.get(&conversation) != Some(&CopyState::Ended) {
                    live.push(LiveLink { copy: conversation, shows: frozen, expires });
                }
            }
            // One that cannot be read must not keep the others.
            Err(error) => {
                tracing::warn!(%error, conversation = %frozen.of, "whether a conversation with frozen links is there is not known");
                alive.insert(conversation);
            }
        }
    }
    for conversation in &gone {
        match copies.gate.unshare_all(conversation) {
            // While access control is off they stay where they are.
            Ok(links) if links.is_empty() => {}
            Ok(links) => {
                tracing::info!(%conversation, links = links.len(), "links went with their conversation");
            }
            Err(error) => {
                tracing::warn!(%error, %conversation, "links to a conversation that is gone are stored");
            }
        }
        copies.ownership.sockets.wake_due(true);
    }
    if unread > 0 {
        tracing::warn!(
            unread,
            "copies of frozen links stay: another version stored links that this one cannot read"
        );
        return Ok(Round { live, ..Round::default() });
    }
    let pending = remove(&copies.ownership.fanout, listed.into_keys().filter(|copy| !alive.contains(copy)));
    Ok(Round { pending, live })
}

/// Whether the conversation of a frozen link is there no more, or another one has its name.
fn is_gone(copies: &Copies, frozen: &FrozenShare) -> Result<bool, LogError> {
    let found = copies.ownership.hub.in_memory(&frozen.of).filter(|found| found.head() > 0);
    if found.as_ref().is_some_and(|found| copies.seen.has(found, frozen.begins)) {
        return Ok(false);
    }
    let page = found.as_ref().and_then(|found| found.page(0, 1));
    match page.map_or_else(|| copies.ownership.hub.log().read(&frozen.of, 0, 1), Ok) {
        // What was said a moment ago may not be stored yet.
        Err(LogError::Unknown) => Ok(found.is_none()),
        // Whether it has the events one by one does not matter.
        Err(LogError::Gone { .. }) => Ok(false),
        Err(error) => Err(error),
        Ok(page) => {
            let is_other = begin(&page).zip(frozen.begins).is_some_and(|(now, then)| now != then);
            if let Some(found) = found.filter(|_| !is_other) {
                copies.seen.note(&found, frozen.begins);
            }
            Ok(is_other)
        }
    }
}

/// The copies of `links`.
pub(crate) fn copies_of(links: &[Share]) -> impl Iterator<Item = ConversationId> {
    links.iter().filter(|link| link.frozen.is_some()).map(|link| link.conversation.clone())
}

#[cfg(test)]
mod tests {
    //! Tests of when the first event of a conversation is not known.

    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_makes_no_link_without_a_beginning() {
        let failed = begins(Err(LogError::Unreadable(Arc::from("the disk is gone")))).unwrap_err();
        assert_eq!((failed.code, failed.code.status()), (ErrorCode::LogFailed, 503));
        assert!(failed.why.contains("the disk is gone"));
        assert_eq!(begins(Err(LogError::Gone { begins_after: 9 })).unwrap(), None, "it has the state alone");
        assert_eq!(begins(Ok(EventPage { envelopes: Vec::new(), head: 0 })).unwrap(), None);
    }
}
