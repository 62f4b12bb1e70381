//! The packer: a thread that packs states, and joins small blocks into few large ones. It reads by itself and
//! leaves the writing to the writer, in steps that are small compared with a commit. All its work only saves
//! time and space later, so work beyond its bounds is dropped.
//!
//! Nobody waits for joined blocks, so they become rows together with what the writer writes next. Until then their
//! conversation is left alone; afterwards it is looked at again, because joined blocks may be worth joining with
//! older ones.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use model::{ConversationId, Seq};
use parking_lot::{Condvar, Mutex};

use crate::blocks::{self, BLOCK_BYTES, Loose};
use crate::ops::{CompactedBlocks, Op, PackedView};
use crate::queue::Queue;
use crate::{Checkpoint, LogError, Ticket};

/// Most states that wait to be packed. Each is as large as the one in memory.
const VIEWS_MAX: usize = 64;

/// Most conversations that wait to have their blocks joined. Those beyond it wait until they grow again.
const RIPE_MAX: usize = 10_000;

/// Most blocks that are joined in one step.
const STEP_ROWS_MAX: usize = 1024;

/// A block is joined with the one before it only while that one is at most this many times as large. So each
/// event is packed again only a few times, however long its conversation gets.
const GROWTH: u64 = 2;

/// Most joins that wait to be written, and their most bytes. More are made once these are rows. Without a journal
/// everybody who waits for a commit waits for the joins in it, so one waits at a time.
const WRITING_MAX: usize = 64;
const WRITING_MAX_WITHOUT_JOURNAL: usize = 1;
const WRITING_BYTES_MAX: usize = 4 << 20;

/// How often it is looked whether a join was written, while one waits.
const LOOK: Duration = Duration::from_millis(50);

/// A row that a step joins: its key, and the seq of its last event.
type JoinedRow = (i64, Seq);

/// A join that waits to be written.
#[derive(Debug)]
struct PendingJoin {
    conversation: ConversationId,
    /// The key of the conversation.
    key: i64,
    /// The ticket of the operation that writes it.
    ticket: u64,
    /// The bytes of the block that it makes.
    bytes: usize,
    /// The rows that it replaces.
    rows: Vec<JoinedRow>,
}

/// The source from which the packer reads what it packs.
pub(crate) trait BlockSource {
    /// Up to `limit` rows of the conversation `key`, the newest first.
    fn newest_first(&mut self, key: i64, limit: usize) -> Result<Vec<Loose>, LogError>;

    /// The bodies of `rows` of the conversation `key` before compression. The rows are the newest first, the bodies the
    /// oldest first. Fails if one of the rows is gone.
    fn bodies(&mut self, key: i64, rows: &[Loose]) -> Result<Vec<Vec<u8>>, LogError>;
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
    /// Joins that wait to be written, the oldest first.
    writing: VecDeque<PendingJoin>,
    ends: bool,
}

/// The next thing for the thread to do.
enum Job {
    Keep(i64, Box<Checkpoint>),
    Compact(ConversationId, i64),
    /// Look at the conversation of a join that was written.
    GoOn(PendingJoin),
    End,
}

impl Jobs {
    /// Takes a join of which everything is rows by now, where rows reach up to `indexed`.
    fn written(&mut self, indexed: Ticket) -> Option<PendingJoin> {
        self.writing.pop_front_if(|oldest| Ticket(oldest.ticket) <= indexed)
    }

    /// Takes a conversation whose blocks can be joined now: no join of it waits, and fewer than `writing_max` do.
    fn take_ripe(&mut self, writing_max: usize) -> Option<(ConversationId, i64)> {
        let bytes: usize = self.writing.iter().map(|join| join.bytes).sum();
        if self.writing.len() >= writing_max || bytes > WRITING_BYTES_MAX {
            return None;
        }
        let waits = |key: i64| self.writing.iter().any(|join| join.key == key);
        let place = self.ripe.iter().position(|(_, key)| !waits(*key))?;
        self.ripe.shift_remove_index(place)
    }
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

    /// Takes the next job; waits for one. `queue` says what was written.
    fn next(&self, queue: &Queue) -> Job {
        let writing_max = if queue.has_journal() { WRITING_MAX } else { WRITING_MAX_WITHOUT_JOURNAL };
        let mut jobs = self.jobs.lock();
        loop {
            if let Some((_, (key, checkpoint))) = jobs.views.shift_remove_index(0) {
                return Job::Keep(key, checkpoint);
            }
            if jobs.ends {
                return Job::End;
            }
            if let Some(join) = jobs.written(queue.progress.borrow().indexed) {
                return Job::GoOn(join);
            }
            if let Some((conversation, key)) = jobs.take_ripe(writing_max) {
                return Job::Compact(conversation, key);
            }
            if jobs.writing.is_empty() {
                self.work.wait(&mut jobs);
            } else {
                self.work.wait_for(&mut jobs, LOOK);
            }
        }
    }

    /// The body of the packing thread: works until [`Packer::end`]. Blocks stay as they are where there
    /// is no `source`.
    pub(crate) fn run(&self, mut source: Option<&mut dyn BlockSource>, queue: &Arc<Queue>) {
        loop {
            let (conversation, key, joined) = match self.next(queue) {
                Job::Keep(key, checkpoint) => {
                    queue.put(Op::View(Box::new(PackedView::of(key, *checkpoint))));
                    continue;
                }
                Job::Compact(conversation, key) => (conversation, key, Vec::new()),
                Job::GoOn(join) => (join.conversation, join.key, join.rows),
                Job::End => return,
            };
            let Some(source) = &mut source else { continue };
            if queue.is_failing() {
                continue;
            }
            if let Err(error) = self.join_blocks(&mut **source, queue, &conversation, key, &joined) {
                tracing::debug!(%error, %conversation, "blocks stay as they are");
            }
        }
    }

    /// Joins the newest blocks of a conversation, if that is worth it. `joined` are the rows that the last step was to
    /// replace: where they are still there, the step was not written, and nothing is joined. The rows of a removed
    /// conversation are there until they are deleted.
    fn join_blocks(
        &self,
        source: &mut dyn BlockSource,
        queue: &Queue,
        conversation: &ConversationId,
        key: i64,
        joined: &[JoinedRow],
    ) -> Result<(), LogError> {
        let rows = source.newest_first(key, STEP_ROWS_MAX)?;
        if !joined.is_empty() && all_remain(joined, &rows) {
            return Ok(());
        }
        let rows = choose(&rows);
        let (Some(newest), Some(oldest)) = (rows.first(), rows.last()) else { return Ok(()) };
        if rows.len() < 2 {
            return Ok(());
        }
        let joined_block = blocks::join(&source.bodies(key, rows)?, oldest.first, newest.last)?;
        let bytes = joined_block.body.len();
        let ticket = queue.put(Op::Compact(Box::new(CompactedBlocks {
            conversation: conversation.clone(),
            key,
            instead_of: rows.iter().map(|row| row.id).collect(),
            bytes_before: rows.iter().map(|row| row.bytes).sum(),
            block: joined_block,
        })));
        let rows = rows.iter().map(|row| (row.id, row.last)).collect();
        let join = PendingJoin { conversation: conversation.clone(), key, ticket: ticket.0, bytes, rows };
        self.jobs.lock().writing.push_back(join);
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
    let (mut sum, mut weight) = (0_u64, 0_u64);
    for (place, row) in rows.iter().enumerate() {
        let later = place.checked_sub(1).and_then(|place| rows.get(place));
        let continues = later.is_some_and(|later| row.last.checked_add(1) == Some(later.first));
        // A damaged file may name any size.
        let together = row.weight().saturating_add(weight);
        if continues && row.raw <= sum.saturating_mul(GROWTH) && together <= BLOCK_BYTES as u64 {
            (sum, weight) = (row.raw.saturating_add(sum), together);
            continue;
        }
        if place - begin >= 2 {
            return rows.get(begin..place).unwrap_or_default();
        }
        (begin, sum, weight) = (place, row.raw, row.weight());
    }
    rows.get(begin..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
