//! Sinks: they pass events on, to a file or to another hub.
//!
//! A sink is a cursor in each conversation, without a queue. It is told which conversations moved, reads what
//! comes after its cursor from the ring or the log, and moves on when that is delivered. So a sink that is
//! slow or cannot deliver costs nobody anything: it is behind, and reads later what it has not delivered.
//!
//! ```text
//! a conversation moved ─▶ follower ─▶ read after the cursor, once it is stored ─▶ file, or another hub
//!                                        delivered: the cursor moves │ not delivered: tried again
//! ```
//!
//! Only what would survive a crash of this hub is passed on (I9), as far as its log promises that.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use event_log::{EventPage, ListQuery, LogError, blocking, reached};
use indexmap::IndexSet;
use model::frame::{ConversationRow, Durability};
use model::wildcard::matches;
use model::{ConversationId, Envelope, Seq};

use ::hub::{ChangeFeed, Conversation, Hub};
use client::HubAddress;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

mod file;
mod hub;

/// Most events that are read at once.
const PAGE_EVENTS: usize = 1_000;

/// Most rows of the list that are read at once.
const LIST_PAGE: usize = 1_000;

/// A sink in the settings: which conversations are passed on, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sink {
    /// A pattern of names, in which `*` stands for any characters.
    pub conversations: String,
    /// The target that its events are passed on to.
    pub target: Target,
}

/// The targets of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file with one envelope per line.
    File(FileTarget),
    /// Another hub, by its address.
    Hub(HubAddress),
}

/// A file that is rotated by size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    /// The file that is written. Older ones have a number appended; `.1` is the newest of them.
    pub path: PathBuf,
    /// Most bytes of one file. The last line may exceed them.
    pub max_bytes: u64,
    /// The number of older files that are kept.
    pub keep: usize,
    /// The moment from which written events count as delivered.
    pub flush: Flush,
}

/// When a file sink counts what it has written as delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flush {
    /// When the operating system has it: it survives the death of the hub.
    #[default]
    Written,
    /// When the disk has it: it survives a loss of power.
    Synced,
}

/// Starts all sinks; each runs until the hub drains. Call it before anybody can publish: a sink distinguishes
/// older events from new ones by whether they were there when it was set up.
pub(crate) fn start(hub: &Arc<Hub>, sinks: &[Sink], tasks: &TaskTracker, drain: &CancellationToken) {
    for sink in sinks.iter().cloned() {
        let source = Source {
            hub: Arc::clone(hub),
            drain: drain.clone(),
            follower: hub.follow(),
            conversations: sink.conversations,
        };
        match sink.target {
            Target::File(target) => {
                let files = blocking(|| file::Files::set_up(target, &source));
                drop(tasks.spawn(file::run(source, files)));
            }
            Target::Hub(address) => drop(tasks.spawn(hub::run(source, address))),
        }
    }
}

/// What a sink reads from. Owned by its task.
#[derive(Debug)]
struct Source {
    /// The hub whose events are passed on.
    hub: Arc<Hub>,
    /// Cancelled when the hub begins to drain.
    drain: CancellationToken,
    /// Remembers which conversations moved since it was last asked.
    follower: Arc<ChangeFeed>,
    /// The pattern of names that are passed on.
    conversations: String,
}

impl Source {
    /// Takes the conversations that moved and fit the pattern.
    fn moved(&self) -> IndexSet<ConversationId> {
        let mut moved = self.follower.take();
        moved.retain(|id| matches(&self.conversations, id.as_str()));
        moved
    }

    /// All conversations that fit the pattern, in memory and in the log, newest activity first.
    fn all(&self) -> IndexSet<ConversationId> {
        self.rows().into_iter().map(|row| row.conversation).collect()
    }

    /// Their rows. Rows that cannot be read are missing; a warning says so.
    fn rows(&self) -> Vec<ConversationRow> {
        let mut all = Vec::new();
        let mut query = ListQuery { limit: LIST_PAGE, ..ListQuery::default() };
        loop {
            let listed = match blocking(|| self.hub.list(&query)) {
                Ok(listed) => listed,
                Err(error) => {
                    tracing::warn!(%error, "a sink cannot read the list");
                    return all;
                }
            };
            query.after = listed.rows.last().map(|row| (row.at, row.conversation.clone()));
            let wanted = |row: &ConversationRow| matches(&self.conversations, row.conversation.as_str());
            all.extend(listed.rows.into_iter().filter(wanted));
            if !listed.more || query.after.is_none() {
                return all;
            }
        }
    }

    /// Finds a conversation; one that cannot be read is logged and left out.
    fn find(&self, id: &ConversationId) -> Option<Arc<Conversation>> {
        self.hub.find(id).unwrap_or_else(|error| {
            tracing::warn!(conversation = %id, %error, "a sink cannot read a conversation");
            None
        })
    }

    /// The event with its result whole, if the log has that.
    fn whole<'a>(&self, conversation: &Conversation, envelope: &'a Envelope) -> Cow<'a, Envelope> {
        self.hub.made_whole(conversation, envelope)
    }

    /// When the event `seq` was taken, in milliseconds since 1970; `None` if it cannot be read. Two histories
    /// with the same name differ in it.
    fn taken_at(&self, conversation: &Conversation, seq: Seq) -> Option<u64> {
        let before = seq.checked_sub(1)?;
        let page = conversation.page(before, 1).filter(|page| !page.envelopes.is_empty());
        let at = page.map(|page| taken_in(&page, seq));
        at.unwrap_or_else(|| self.logged_at(conversation.id(), seq))
    }

    /// The time of the event `seq` as the log has it, in milliseconds since 1970. `None`, and a line in the trace, if the log cannot be read.
    fn logged_at(&self, id: &ConversationId, seq: Seq) -> Option<u64> {
        let before = seq.checked_sub(1)?;
        let page = blocking(|| self.hub.log().read(id, before, 1));
        let page = page.inspect_err(|error| {
            tracing::debug!(conversation = %id, seq, %error, "a sink cannot compare");
        });
        taken_in(&page.ok()?, seq)
    }

    /// Reads up to [`PAGE_EVENTS`] events after `after`, once they would survive a crash of this hub: what
    /// others were told must not be lost here. Waits for the log. Fails with `Gone` if it no longer has them.
    async fn read(&self, conversation: &Conversation, after: Seq) -> Result<Vec<Arc<Envelope>>, LogError> {
        let head = conversation.head();
        let log = self.hub.log();
        reached(log, conversation.ticket(), Durability::Stored.min(log.durability())).await?;
        let limit = usize::try_from(head.saturating_sub(after)).unwrap_or(usize::MAX).min(PAGE_EVENTS);
        if limit == 0 {
            return Ok(Vec::new());
        }
        Ok(self.hub.read(conversation, after, limit).await?.envelopes)
    }
}

/// When the event `seq` was taken, if `page` begins with it.
fn taken_in(page: &EventPage, seq: Seq) -> Option<u64> {
    page.envelopes.first().filter(|envelope| envelope.seq == seq).map(|envelope| envelope.at)
}

#[cfg(test)]
mod tests;
