//! The thread that packs: states to be kept, and small blocks into few large ones. It reads by itself and leaves the
//! writing to the writer, in steps that are small against a commit. All of it only saves time and room later, so what
//! it is not given room for is left out.

use std::path::Path;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use model::{ConversationId, Envelope};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::blocks::{self, BLOCK_BYTES, Loose};
use super::ops::{Compacted, Op, PackedView};
use super::queue::Queue;
use super::schema;
use crate::{Checkpoint, LogError};

/// Most states that wait to be packed: they are as large as those in memory.
const VIEWS_MAX: usize = 64;

/// Most conversations that wait to be compacted; the others are when they grow.
const RIPE_MAX: usize = 10_000;

/// Most rows that are packed in one step.
const STEP_ROWS_MAX: usize = 1024;

/// A block takes in the one before it only while that is no larger than so many times itself: so each event is packed
/// again a few times only, however long its conversation gets.
const GROWTH: u64 = 2;

/// The jobs of the packing thread. The log owns it together with the thread; what waits when the log ends is packed if it is a
/// state, and dropped if it is a compaction, which only saves room.
#[derive(Debug, Default)]
pub(super) struct Packer {
    jobs: Mutex<Jobs>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct Jobs {
    views: IndexMap<ConversationId, (i64, Box<Checkpoint>)>,
    ripe: IndexSet<(ConversationId, i64)>,
    ends: bool,
}

enum Job {
    Keep(i64, Box<Checkpoint>),
    Compact(ConversationId, i64),
    End,
}

impl Packer {
    /// Queues a state of the conversation `key` to be packed and written; drops it when [`VIEWS_MAX`] wait already, which costs the
    /// next load time and nothing else. Gives it back when the thread is about to end: the caller then packs it.
    pub(super) fn keep(&self, key: i64, checkpoint: Box<Checkpoint>) -> Result<(), Box<Checkpoint>> {
        let mut jobs = self.jobs.lock();
        if jobs.ends {
            return Err(checkpoint);
        }
        if jobs.views.len() < VIEWS_MAX {
            jobs.views.insert(checkpoint.row.conversation.clone(), (key, checkpoint));
            self.work.notify_one();
        }
        Ok(())
    }

    /// Queues the blocks of the conversation `key` to be packed together. Does nothing when too many wait.
    pub(super) fn compact(&self, conversation: ConversationId, key: i64) {
        let mut jobs = self.jobs.lock();
        if jobs.ends || jobs.ripe.len() >= RIPE_MAX {
            return;
        }
        jobs.ripe.insert((conversation, key));
        drop(jobs);
        self.work.notify_one();
    }

    /// Ends the thread once the states are packed.
    pub(super) fn end(&self) {
        self.jobs.lock().ends = true;
        self.work.notify_all();
    }

    fn next(&self) -> Job {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some((_, (key, checkpoint))) = jobs.views.shift_remove_index(0) {
                return Job::Keep(key, checkpoint);
            }
            if jobs.ends {
                return Job::End;
            }
            if let Some((conversation, key)) = jobs.ripe.shift_remove_index(0) {
                return Job::Compact(conversation, key);
            }
            self.work.wait(&mut jobs);
        }
    }

    /// The body of the packing thread: works off the jobs until [`Packer::end`] was called.
    pub(super) fn run(&self, path: &Path, queue: &Arc<Queue>) {
        let connection = match schema::open_reader(path) {
            Ok(connection) => Some(connection),
            Err(error) => {
                tracing::warn!(%error, "the log cannot be compacted");
                None
            }
        };
        loop {
            match self.next() {
                Job::Keep(key, checkpoint) => {
                    queue.put(Op::View(Box::new(PackedView::of(key, *checkpoint))));
                }
                Job::Compact(conversation, key) => {
                    let Some(connection) = &connection else { continue };
                    if queue.is_failing() {
                        continue;
                    }
                    if let Err(error) = compact(connection, queue, &conversation, key) {
                        tracing::debug!(%error, %conversation, "blocks stay as they are");
                    }
                }
                Job::End => return,
            }
        }
    }
}

/// Packs the newest blocks of a conversation together, step by step.
fn compact(
    connection: &Connection,
    queue: &Queue,
    conversation: &ConversationId,
    key: i64,
) -> Result<(), LogError> {
    loop {
        let rows = blocks::newest_first(connection, key, STEP_ROWS_MAX).map_err(blocks::unreadable)?;
        let rows = choose(&rows);
        if rows.len() < 2 {
            return Ok(());
        }
        let mut envelopes: Vec<Arc<Envelope>> = Vec::new();
        for row in rows.iter().rev() {
            envelopes.extend(blocks::one(connection, row.id)?.into_iter().map(Arc::new));
        }
        let packed = blocks::compress(&envelopes);
        if packed.len() >= rows.len() {
            return Ok(());
        }
        let ticket = queue.put(Op::Compact(Box::new(Compacted {
            conversation: conversation.clone(),
            key,
            instead_of: rows.iter().map(|row| row.id).collect(),
            bytes_before: rows.iter().map(|row| row.bytes).sum(),
            blocks: packed,
        })));
        queue.settle_to(ticket.0)?;
    }
}

/// Of `rows`, the newest first, those that are worth to be packed together next, without a hole between them; fewer than
/// two where none are.
fn choose(rows: &[Loose]) -> &[Loose] {
    let mut begin = 0;
    let mut sum = 0;
    for (place, row) in rows.iter().enumerate() {
        let later = place.checked_sub(1).and_then(|place| rows.get(place));
        let continues = later.is_some_and(|later| row.last.checked_add(1) == Some(later.first));
        // A damaged file may name any sizes.
        let together = row.raw.saturating_add(sum);
        if continues && row.raw <= sum.saturating_mul(GROWTH) && together <= BLOCK_BYTES as u64 {
            sum = together;
            continue;
        }
        if place - begin >= 2 {
            return rows.get(begin..place).unwrap_or_default();
        }
        (begin, sum) = (place, row.raw);
    }
    rows.get(begin..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
