//! The packer: a thread that packs states, and joins small blocks into few large ones. It reads by itself and
//! leaves the writing to the writer, in steps that are small compared with a commit. All its work only saves
//! time and space later, so work beyond its bounds is dropped.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use model::{ConversationId, Envelope, Seq};
use parking_lot::{Condvar, Mutex};

use crate::blocks::{self, BLOCK_BYTES, Loose};
use crate::ops::{CompactedBlocks, Op, PackedView};
use crate::queue::Queue;
use crate::{Checkpoint, LogError};

/// Most states that wait to be packed. Each is as large as the one in memory.
const VIEWS_MAX: usize = 64;

/// Most conversations that wait to have their blocks joined. Those beyond it wait until they grow again.
const RIPE_MAX: usize = 10_000;

/// Most blocks that are joined in one step.
const STEP_ROWS_MAX: usize = 1024;

/// A block is joined with the one before it only while that one is at most this many times as large. So each
/// event is packed again only a few times, however long its conversation gets.
const GROWTH: u64 = 2;

/// A row that a step joins: its key, and the seq of its last event.
type JoinedRow = (i64, Seq);

/// The source from which the packer reads what it packs.
pub(crate) trait BlockSource {
    /// Up to `limit` rows of the conversation `key`, the newest first.
    fn newest_first(&mut self, key: i64, limit: usize) -> Result<Vec<Loose>, LogError>;

    /// The events of `rows` of the conversation `key`, which are the newest first; the events are the oldest
    /// first. Fails if one of the rows is gone.
    fn events(&mut self, key: i64, rows: &[Loose]) -> Result<Vec<Envelope>, LogError>;
}

/// The jobs of the packing thread. Owned by the log together with the thread. When the log ends, waiting
/// states are still packed, and waiting joins are dropped.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    jobs: Mutex<Jobs>,
    /// Notified when there is a job or the end has come.
    work: Condvar,
}

/// What waits. States come before joins.
#[derive(Debug, Default)]
struct Jobs {
    views: IndexMap<ConversationId, (i64, Box<Checkpoint>)>,
    ripe: IndexSet<(ConversationId, i64)>,
    ends: bool,
}

/// The next thing for the thread to do.
enum Job {
    Keep(i64, Box<Checkpoint>),
    Compact(ConversationId, i64),
    End,
}

impl Packer {
    /// Queues a state of the conversation `key` to be packed and written. It is dropped if [`VIEWS_MAX`] wait
    /// already, which only makes the next load slower. Returns it as an error if the thread is about to end:
    /// the caller then packs it.
    pub(crate) fn keep(&self, key: i64, checkpoint: Box<Checkpoint>) -> Result<(), Box<Checkpoint>> {
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

    /// Queues the blocks of the conversation `key` to be joined. Does nothing if too many conversations wait.
    pub(crate) fn compact(&self, conversation: ConversationId, key: i64) {
        let mut jobs = self.jobs.lock();
        if jobs.ends || jobs.ripe.len() >= RIPE_MAX {
            return;
        }
        jobs.ripe.insert((conversation, key));
        drop(jobs);
        self.work.notify_one();
    }

    /// Ends the thread once the waiting states are packed.
    pub(crate) fn end(&self) {
        self.jobs.lock().ends = true;
        self.work.notify_all();
    }

    /// Takes the next job; waits for one.
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

    /// The body of the packing thread: works until [`Packer::end`]. Blocks stay as they are where there
    /// is no `source`.
    pub(crate) fn run(&self, mut source: Option<&mut dyn BlockSource>, queue: &Arc<Queue>) {
        loop {
            match self.next() {
                Job::Keep(key, checkpoint) => {
                    queue.put(Op::View(Box::new(PackedView::of(key, *checkpoint))));
                }
                Job::Compact(conversation, key) => {
                    let Some(source) = &mut source else { continue };
                    if queue.is_failing() {
                        continue;
                    }
                    if let Err(error) = self.join_blocks(&mut **source, queue, &conversation, key) {
                        tracing::debug!(%error, %conversation, "blocks stay as they are");
                    }
                }
                Job::End => return,
            }
        }
    }

    /// Joins the newest blocks of a conversation, step by step, until nothing is worth joining, the log ends, or a step
    /// was not written: the rows of a removed conversation are there until they are deleted, and stay as they are.
    fn join_blocks(
        &self,
        source: &mut dyn BlockSource,
        queue: &Queue,
        conversation: &ConversationId,
        key: i64,
    ) -> Result<(), LogError> {
        let mut joined: Vec<JoinedRow> = Vec::new();
        while !self.jobs.lock().ends {
            let rows = source.newest_first(key, STEP_ROWS_MAX)?;
            if !joined.is_empty() && all_remain(&joined, &rows) {
                return Ok(());
            }
            let rows = choose(&rows);
            if rows.len() < 2 {
                return Ok(());
            }
            let envelopes: Vec<_> = source.events(key, rows)?.into_iter().map(Arc::new).collect();
            let packed = blocks::compress(&envelopes);
            if packed.len() >= rows.len() {
                return Ok(());
            }
            joined = rows.iter().map(|row| (row.id, row.last)).collect();
            let ticket = queue.put(Op::Compact(Box::new(CompactedBlocks {
                conversation: conversation.clone(),
                key,
                instead_of: rows.iter().map(|row| row.id).collect(),
                bytes_before: rows.iter().map(|row| row.bytes).sum(),
                blocks: packed,
            })));
            queue.settle_to(ticket.0)?;
        }
        Ok(())
    }
}

/// Whether all of `rows` are still among `now`: nothing has replaced them.
fn all_remain(rows: &[JoinedRow], now: &[Loose]) -> bool {
    rows.iter().all(|row| now.iter().any(|found| (found.id, found.last) == *row))
}

/// Chooses from `rows`, newest first, the blocks to join next, without a hole between them. Fewer than two
/// means none.
fn choose(rows: &[Loose]) -> &[Loose] {
    let mut begin = 0;
    let mut sum = 0;
    for (place, row) in rows.iter().enumerate() {
        let later = place.checked_sub(1).and_then(|place| rows.get(place));
        let continues = later.is_some_and(|later| row.last.checked_add(1) == Some(later.first));
        // A damaged file may name any size.
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
