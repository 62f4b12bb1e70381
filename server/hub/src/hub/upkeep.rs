//! Upkeep: what the hub does beside the traffic, a little in each round. It gives the log the rows that
//! changed, fills the log's holes, and lets conversations that nobody uses leave memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use event_log::blocking;
use model::frame::ConversationRow;
use model::limits::{
    CONVERSATION_BYTES_MAX, CONVERSATIONS_MAX, CROWDED_CONVERSATION_BYTES_MAX, CROWDED_PERCENT,
    RING_BYTES_CROWDED,
};

use super::conversation::ConversationUse;
use super::{Conversation, Hub, OpenError};

/// A conversation at rest is given to the log as a whole once events of this weight came since it last was,
/// in bytes. So reading it back never takes long.
const KEEP_EVERY_BYTES: usize = 4 << 20;

/// About how many bytes of memory an event takes per byte of its weight, in view and ring together, if it is
/// small. An estimate, corrected in each round.
const HELD_FOR_EACH_BYTE: u64 = 4;

/// How many references exist to a conversation that nobody uses: the map's, and that of the round of upkeep.
const HELD_HERE: usize = 2;

/// Most whole states that one round gives to the log. With one round a second, as many small conversations leave memory.
const KEPT_AT_ONCE: usize = 1_024;

/// A round gives the log no further state once those that it gave hold so many bytes of memory. It is a sixteenth of the log's queue, so that
/// a round delays nothing that is published.
const KEPT_BYTES_AT_ONCE: u64 = 4 << 20;

/// What may stay in memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryBounds {
    /// How long a conversation that nobody uses stays.
    pub idle: Duration,
    /// Beyond so many conversations, unused ones leave earlier.
    pub conversations: usize,
    /// Beyond so many bytes of memory that all of them hold, unused ones leave earlier.
    pub bytes: u64,
}

impl MemoryBounds {
    /// Bounds with these values, and nine tenths of the limit of conversations.
    pub fn idle_after(idle: Duration, bytes: u64) -> Self {
        Self { idle, conversations: CONVERSATIONS_MAX / 10 * 9, bytes }
    }
}

/// What is in memory at one moment, for the metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryFigures {
    /// The number of conversations in memory.
    pub conversations: u64,
    /// About the memory that they hold, in bytes.
    pub bytes: u64,
    /// The number of viewers of all conversations.
    pub viewers: u64,
}

impl Hub {
    /// Counts what is in memory. Walks all conversations.
    pub fn in_use(&self) -> MemoryFigures {
        self.all().iter().fold(MemoryFigures::default(), |sum, found| MemoryFigures {
            conversations: sum.conversations + 1,
            bytes: sum.bytes + found.usage().bytes,
            viewers: sum.viewers + found.viewers(),
        })
    }

    /// The conversations in memory, in no order. The map is not locked afterwards: whoever locks a large
    /// conversation may wait for it, and must not keep the others that share its part of the map waiting.
    fn all(&self) -> Vec<Arc<Conversation>> {
        self.conversations.iter().map(|found| Arc::clone(&found)).collect()
    }

    /// Does one round of upkeep. `now` is in milliseconds since 1970. Call it regularly, and when
    /// [`Hub::crowded`] is ready.
    pub fn keep_up(&self, now: u64, bounds: MemoryBounds) {
        // So that the next page of the list has little to bring up to date.
        drop(self.order());
        if !self.log.indexes() {
            return;
        }
        self.tell_rows();
        self.heal();
        self.let_rest(now, bounds);
    }

    /// Gives the log the whole state of each conversation in which it lacks events.
    pub fn heal(&self) {
        for id in self.log.awaiting_checkpoint() {
            let known = self.conversations.get(&id).map(|found| Arc::clone(&found));
            if let Some(conversation) = known {
                conversation.keep(self.log());
            }
        }
    }

    /// Gives the log the rows that changed.
    pub fn tell_rows(&self) {
        let noted = std::mem::take(&mut *self.noted.lock());
        let rows: Vec<ConversationRow> = noted
            .iter()
            .filter(|conversation| !conversation.is_over())
            .map(|conversation| {
                // Cleared before the reading: what happens meanwhile is noted again.
                conversation.noted.store(false, Ordering::Release);
                conversation.row()
            })
            .filter(|row| row.head > 0)
            .collect();
        if !rows.is_empty() {
            self.log.put_rows(rows);
        }
    }

    /// Lets conversations that nobody uses leave memory: those idle for long, and the longest idle ones while
    /// there is too much. If that is not enough, the rings of conversations in use are shortened. A
    /// conversation leaves in two rounds: in the first the log is given its state, and in a later one, when
    /// the log has it, the conversation is dropped.
    fn let_rest(&self, now: u64, bounds: MemoryBounds) {
        let all = self.all().into_iter().map(|found| (found.usage(), found));
        let all: Vec<(ConversationUse, Arc<Conversation>)> = all.collect();
        let (mut count, mut bytes) = (all.len(), all.iter().map(|(usage, _)| usage.bytes).sum::<u64>());
        self.held.store(bytes, Ordering::Relaxed);
        self.counted.store(bytes, Ordering::Relaxed);
        let (busy, mut all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(usage, _)| usage.is_busy);
        all.sort_unstable_by_key(|(usage, _)| usage.at);
        let idle = u64::try_from(bounds.idle.as_millis()).unwrap_or(u64::MAX);
        let progress = self.log.progress().borrow().clone();
        let (mut kept, mut kept_bytes) = (0, 0);
        for (usage, conversation) in all {
            let is_over = count > bounds.conversations || bytes > bounds.bytes;
            let leaves = is_over || now.saturating_sub(usage.at) >= idle;
            let due = (leaves && usage.since_kept > 0) || usage.since_kept >= KEEP_EVERY_BYTES;
            if due && kept < KEPT_AT_ONCE && kept_bytes < KEPT_BYTES_AT_ONCE {
                kept += 1;
                kept_bytes += usage.bytes;
                conversation.keep(self.log());
            }
            if leaves {
                count -= 1;
                bytes = bytes.saturating_sub(usage.bytes);
                let rests = |_: &_, found: &Arc<Conversation>| {
                    Arc::ptr_eq(found, &conversation) && !is_held(found) && found.retire_if_kept(&progress)
                };
                self.dropped(self.conversations.remove_if(conversation.id(), rests));
            }
        }
        // What cannot leave gives up its older events, which the log has too.
        if bytes > bounds.bytes {
            for (_, conversation) in &busy {
                conversation.keep_newest(RING_BYTES_CROWDED);
            }
        }
    }

    /// Adds the memory for events that weigh `bytes` to the estimate. If that exceeds the target, a round of
    /// upkeep is due at once.
    pub(super) fn grew(&self, bytes: u64) {
        let grown = bytes.saturating_mul(HELD_FOR_EACH_BYTE);
        let held = self.held.fetch_add(grown, Ordering::Relaxed).saturating_add(grown);
        if held >= self.memory_target {
            self.crowded.notify_one();
        }
    }

    /// The most memory, in bytes, that the state of a conversation may hold now and still grow. It is lower
    /// while the newest round of upkeep counted more than the target for all conversations together; the
    /// estimate since does not count.
    pub(super) fn room(&self) -> u64 {
        let counted = self.counted.load(Ordering::Relaxed);
        if counted > self.memory_target.saturating_mul(CROWDED_PERCENT) / 100 {
            CROWDED_CONVERSATION_BYTES_MAX
        } else {
            CONVERSATION_BYTES_MAX
        }
    }

    /// Waits until the conversations may hold more memory than the target; a round of upkeep is due then. May
    /// be cancelled.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }

    /// Reads back the conversations in which runs were going on when the hub stopped, so that they are seen
    /// and can end. A conversation that cannot be read is logged and left out. Waits for the disk.
    pub fn read_back(&self) -> Vec<Arc<Conversation>> {
        let unfinished = blocking(|| self.log.unfinished()).unwrap_or_else(|error| {
            tracing::warn!(%error, "what was going on cannot be read back");
            Vec::new()
        });
        let found = unfinished.iter().filter_map(|id| match self.find(id) {
            Ok(found) => found,
            // Another hub was faster.
            Err(OpenError::Elsewhere { .. }) => None,
            Err(error) => {
                tracing::warn!(conversation = %id, %error, "cannot be read back");
                None
            }
        });
        let found: Vec<_> = found.collect();
        // Their rows in the log may be older than they are.
        for conversation in &found {
            self.touch(conversation);
        }
        found
    }
}

/// Whether somebody besides the hub holds `conversation`. If it left memory all the same, its memory would
/// stay in use, and the next reader would read a second copy back beside it.
fn is_held(conversation: &Arc<Conversation>) -> bool {
    let in_lists = [&conversation.listed, &conversation.noted].map(|list| list.load(Ordering::Acquire));
    let lists = in_lists.into_iter().filter(|is_in| *is_in).count();
    Arc::strong_count(conversation) > HELD_HERE + lists
}

#[cfg(test)]
mod tests;
