//! Runs whose publishers are gone. A run is attended while a connection is open that has published to it; a
//! publisher that sends a request of its own for each frame attends it for that moment. A run that nobody
//! attends is *stalled* after a while and *lost* after a longer one, and the hub says both in the
//! conversation:
//!
//! ```text
//! attended ──last connection gone──▶ unattended ──stalled_after──▶ run.stalled
//!     ▲                                                                │ interrupted_after
//!     └───────────── anything else of that run ◀───────────────── error, run.end (lost)
//! ```
//!
//! A run whose publisher is known not to come back is lost at once: that of a stream in the dialect of another program that was refused,
//! and that of calls through the proxy of this hub's life before.
//!
//! Each conversation keeps who attends what ([`attendance`]). Here is the one timer for all of them; it has
//! at most one time to look for each conversation.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{ConversationId, RunId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Hub;
use super::conversation::Conversation;
use crate::clock;

pub(crate) mod attendance;

pub use attendance::{OrphanTimeouts, PublisherConnection};

/// Most conversations that one connection attends. To those beyond it publishes as if by single requests:
/// their runs stall when it is silent.
pub(crate) const ATTENDED_MAX: usize = 10_000;

/// The longest sleep of the timer, because the time of day may be set while it sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The timer for runs whose publishers are gone: which conversation is to be looked at when. Owned by the
/// hub.
#[derive(Debug, Default)]
pub struct Orphans {
    patience: OrphanTimeouts,
    /// When to look at which conversation, in milliseconds since 1970, the earliest first.
    due: Mutex<BinaryHeap<Reverse<(u64, ConversationId)>>>,
    /// Notified when a conversation is due earlier than all others.
    sooner: Notify,
    /// Numbers the connections that publish.
    attendants: AtomicU64,
    /// The number of runs that were called stalled.
    stalled: AtomicU64,
    /// The number of runs that were ended.
    interrupted: AtomicU64,
}

impl Orphans {
    /// Makes a timer without conversations.
    pub(super) fn new(patience: OrphanTimeouts) -> Self {
        Self { patience, ..Self::default() }
    }

    /// How many runs the hub has called stalled since it began.
    pub fn stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }

    /// How many runs the hub has ended as lost since it began.
    pub fn interrupted(&self) -> u64 {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How many conversations the timer has yet to look at.
    pub fn waiting(&self) -> usize {
        self.due.lock().len()
    }

    /// Makes the timer look at `conversation` at `at`, in milliseconds since 1970; `u64::MAX` is never.
    pub(super) fn look_at(&self, conversation: &ConversationId, at: u64) {
        if at == u64::MAX {
            return;
        }
        let mut due = self.due.lock();
        let is_first = due.peek().is_none_or(|Reverse((first, _))| at < *first);
        due.push(Reverse((at, conversation.clone())));
        drop(due);
        if is_first {
            self.sooner.notify_one();
        }
    }

    /// Makes the timer look at `conversation` as soon as a run can have stalled to which nobody has published
    /// since `now`.
    pub(super) fn unattended(&self, conversation: &Conversation, now: u64) {
        let at = now.saturating_add(self.patience.first_ms());
        self.look_at(conversation.id(), at);
    }

    /// Takes over a conversation that was read back from the log: whatever runs in it is attended by nobody
    /// from now on.
    pub(super) fn adopt(&self, conversation: Conversation) -> Conversation {
        self.adopt_known(&conversation);
        conversation
    }

    /// Takes over a conversation that is in memory already, since it was followed or imported: whatever runs in it is attended by nobody
    /// from now on.
    pub(super) fn adopt_known(&self, conversation: &Conversation) {
        let now = clock::now_ms();
        if conversation.adopt(now) {
            self.unattended(conversation, now);
        }
    }

    /// Waits until conversations are due, and takes them.
    async fn due(&self) -> Vec<ConversationId> {
        loop {
            let now = clock::now_ms();
            let (due, next) = self.take(now);
            if !due.is_empty() {
                return due;
            }
            let sooner = self.sooner.notified();
            match next {
                None => sooner.await,
                Some(next) => {
                    let step = Duration::from_millis(next.saturating_sub(now)).min(LOOK_AGAIN);
                    tokio::select! {
                        () = tokio::time::sleep(step) => {}
                        () = sooner => {}
                    }
                }
            }
        }
    }

    /// Takes the conversations that are due at `now`, and says when the next one is.
    fn take(&self, now: u64) -> (Vec<ConversationId>, Option<u64>) {
        let mut due = self.due.lock();
        let mut taken = Vec::new();
        while let Some(Reverse((at, _))) = due.peek() {
            if *at > now {
                return (taken, Some(*at));
            }
            taken.extend(due.pop().map(|Reverse((_, conversation))| conversation));
        }
        (taken, None)
    }
}

impl Hub {
    /// Sets how long the hub waits for publishers that are gone.
    #[must_use]
    pub fn with_patience(mut self, patience: OrphanTimeouts) -> Self {
        self.orphans = Orphans::new(patience);
        self
    }

    /// Ends those running runs of `conversation` that `is_over` names as lost, without waiting for their publishers, unless somebody
    /// attends them.
    pub fn lose_runs(&self, conversation: &Conversation, is_over: impl Fn(&RunId) -> bool) {
        if conversation.lose_runs(is_over) {
            self.orphans.look_at(conversation.id(), clock::now_ms());
        }
    }

    /// The timer for runs whose publishers are gone, for its figures.
    pub fn orphans(&self) -> &Orphans {
        &self.orphans
    }

    /// Waits until the hub has said of some runs that they are stalled or lost, and returns their
    /// conversations, whose viewers must be woken.
    pub(crate) async fn orphaned(&self) -> Vec<ConversationId> {
        loop {
            let due = self.orphans.due().await;
            let now = clock::now_ms();
            let said: Vec<_> = due.into_iter().filter(|id| self.judge(id, now)).collect();
            if !said.is_empty() {
                return said;
            }
        }
    }

    /// Appends to the conversation `id` what is due at `now`. False if that is nothing.
    fn judge(&self, id: &ConversationId, now: u64) -> bool {
        // A conversation that has left memory has no running run.
        let known = self.conversations.get(id).map(|found| Arc::clone(&found));
        let Some(conversation) = known else { return false };
        let went_on = self.release_overdue(&conversation, now);
        let judged =
            conversation.judge_orphans(&self.orphans.patience, now, self.log(), self.redactor.as_deref());
        if let Some(next) = judged.next {
            self.orphans.look_at(id, next);
        }
        self.orphans.stalled.fetch_add(judged.stalled, Ordering::Relaxed);
        self.orphans.interrupted.fetch_add(judged.interrupted, Ordering::Relaxed);
        let said = went_on || judged.stalled + judged.interrupted > 0;
        if said {
            self.touch(&conversation);
        }
        said
    }
}

/// A connection that publishes. It attends the runs that it publishes to until it is dropped; then they are
/// attended by nobody, unless by another connection.
#[derive(Debug)]
pub struct Attendant {
    hub: Arc<Hub>,
    /// The number of the connection, unique in this process.
    number: u64,
    /// The conversations that it has published to, at most `ATTENDED_MAX`.
    conversations: BTreeSet<ConversationId>,
    /// The conversation of its newest frame: most connections publish to one.
    last: Option<ConversationId>,
}

impl Attendant {
    /// Makes a connection that attends nothing yet.
    pub fn new(hub: &Arc<Hub>) -> Self {
        let number = hub.orphans.attendants.fetch_add(1, Ordering::Relaxed);
        Self { hub: Arc::clone(hub), number, conversations: BTreeSet::new(), last: None }
    }

    /// The speaker to name when this connection publishes to `conversation`. The first call begins to attend
    /// it.
    pub fn speaks_in(&mut self, conversation: &ConversationId) -> PublisherConnection {
        if self.last.as_ref() != Some(conversation) {
            if !self.conversations.contains(conversation) {
                if self.conversations.len() >= ATTENDED_MAX {
                    return PublisherConnection::Passing;
                }
                self.conversations.insert(conversation.clone());
            }
            self.last = Some(conversation.clone());
        }
        PublisherConnection::Connection(self.number)
    }

    /// Ends the connection of a publisher that does not come back: the runs that nobody else attends are ended as lost, without waiting.
    pub fn lose_runs(mut self) {
        self.leave(Conversation::unattend_for_good, |orphans, conversation, now| {
            orphans.look_at(conversation.id(), now);
        });
    }

    /// Leaves all its conversations by `unattend`, and calls `look` for those in which the timer must look.
    fn leave(
        &mut self,
        unattend: fn(&Conversation, u64, u64) -> bool,
        look: fn(&Orphans, &Conversation, u64),
    ) {
        let now = clock::now_ms();
        for id in std::mem::take(&mut self.conversations) {
            let known = self.hub.conversations.get(&id).map(|found| Arc::clone(&found));
            if let Some(conversation) = known
                && unattend(&conversation, self.number, now)
            {
                look(&self.hub.orphans, &conversation, now);
            }
        }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.leave(Conversation::unattend, Orphans::unattended);
    }
}
