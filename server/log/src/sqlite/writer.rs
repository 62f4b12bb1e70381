//! The writer: the one thread that writes to the database. It takes what waits, writes it in one transaction,
//! and reports how far it has come.
//!
//! ```text
//!        ┌──────────────── well ────────────────┐
//! wait ──▶ take ──▶ write as one transaction ──▶ say so ──▶ hand on what can be packed
//!                        │ the disk fails         ▲
//!                        ├──▶ say so ──▶ pause ───┤ the same again, conversations that go first
//!                        │ the database refuses   │
//!                        └──▶ write each half ────┘ one op that is refused alone is set aside
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::frame::Durability;
use model::{ConversationId, Seq};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use parking_lot::Mutex;

use super::aside::AsideFile;
use super::commit::{Commit, CommitEffects};
use super::journal::Journal;
use super::known::ConversationCache;
use super::ops::{Op, PackedView, Queued};
use super::pace::WriterPace;
use super::packer::Packer;
use super::purge::PendingPurge;
use super::queue::{LogLifecycle, Queue, WriterStep};
use super::schema::integer;
use super::sweep;
use super::watermark::WatermarkWriter;
use crate::WriteFault;
use crate::clock;
use crate::conversation_count::ConversationCount;

/// The first pause after a failure; each further pause is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How many failures make a log give up that is to be closed.
const TRIES_WHEN_CLOSING: u32 = 3;

/// How many operations in a row may be refused before the database counts as broken and nothing more is set
/// aside.
const REFUSED_IN_A_ROW_MAX: u32 = 32;

/// How many steps of deleting are made at once when the disk is full: 64 MiB.
const SWEEPS_WHEN_FULL: usize = 64;

/// The writing thread and everything that it needs. It owns the one connection that writes. Whichever way it
/// ends, it says how far it came, so that nobody waits for it forever.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    /// The only connection that writes.
    pub(super) connection: Connection,
    /// Where it takes what waits, and reports what is written.
    pub(super) queue: Arc<Queue>,
    /// Gets states and blocks to pack after each commit.
    pub(super) packer: Arc<Packer>,
    /// The number of conversations, brought up to date after each commit.
    pub(super) conversation_count: Arc<ConversationCount>,
    /// The life of the file that writes.
    pub(super) life: i64,
    /// Where conversations stand, emptied when a commit fails.
    pub(super) known: ConversationCache,
    /// Since when writing has failed, in milliseconds since 1970; `None` while it works.
    pub(super) failing_since: Option<u64>,
    /// Whether commits are synced at present.
    pub(super) synced: bool,
    /// The watermark of this life.
    pub(super) marker: Arc<Mutex<WatermarkWriter>>,
    /// The journal, which is emptied as its appends become rows; `None` if it cannot be written.
    pub(super) journal: Option<Arc<Journal>>,
    /// The file for what the database refuses.
    pub(super) aside: AsideFile,
    /// How many operations were refused since the last commit.
    pub(super) refused: u32,
    /// How often the group that is being written was cut in half.
    pub(super) halvings: u32,
    /// What removed conversations have left behind and is being overwritten.
    pub(super) purging: PendingPurge,
}

impl SqliteWriter {
    /// The body of the writing thread: writes until the log is closed or dropped.
    pub(super) fn run(mut self) {
        loop {
            let left = match self.queue.next() {
                WriterStep::Write(group) => self.write(group),
                WriterStep::Sweep => {
                    if !self.sweep() {
                        self.purge();
                    }
                    Ok(())
                }
                WriterStep::IndexWords => {
                    self.index_words();
                    Ok(())
                }
                WriterStep::Close => {
                    self.close();
                    break;
                }
                WriterStep::Leave => break,
            };
            if left.is_err() {
                break;
            }
        }
    }

    /// Writes `group`, however long that takes. Fails if the log ends before.
    fn write(&mut self, mut group: Vec<Queued>) -> Result<(), ()> {
        let mut pause = PAUSE_MIN;
        let mut tries = 0;
        while !group.is_empty() {
            let began = Instant::now();
            let error = match self.commit(&group, GroupPart::Next) {
                Ok((outcome, synced)) => {
                    self.queue.committed(began.elapsed());
                    self.wrote(group, outcome, synced);
                    return Ok(());
                }
                Err(error) => error,
            };
            if is_refusal(&error) && self.refused < REFUSED_IN_A_ROW_MAX {
                return self.halve(group, &error);
            }
            self.failed(&error);
            tries += 1;
            match self.queue.pause(pause) {
                LogLifecycle::Dropped => return self.leave(&group),
                LogLifecycle::Closing if tries >= TRIES_WHEN_CLOSING => return self.leave(&group),
                _ => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
            self.make_room(&mut group);
        }
        Ok(())
    }

    /// Counts `group` as not written.
    fn leave(&self, group: &[Queued]) -> Result<(), ()> {
        self.queue.unwritten(group.iter());
        Err(())
    }

    /// Writes each half of a group that the database refuses, so that only those operations are left out that
    /// it refuses by themselves.
    fn halve(&mut self, mut group: Vec<Queued>, error: &rusqlite::Error) -> Result<(), ()> {
        // Progress is reported by ticket, so no ticket of the second half may be below one of the first.
        group.sort_by_key(|queued| queued.ticket);
        let second = group.split_off(group.len() / 2);
        if group.is_empty() {
            return second.into_iter().try_for_each(|queued| self.set_aside(queued, error));
        }
        self.halvings += 1;
        let written = match self.write(group) {
            Ok(()) => self.write(second),
            Err(()) => self.leave(&second),
        };
        self.halvings -= 1;
        written
    }

    /// Sets an operation aside that the database refuses by itself, and goes on.
    #[expect(clippy::unnecessary_wraps, reason = "it is one of the ways in which a group ends")]
    fn set_aside(&mut self, queued: Queued, error: &rusqlite::Error) -> Result<(), ()> {
        self.refused += 1;
        self.aside.put([(&queued.op, error.to_string())]);
        self.queue.count_aside(1);
        let Queued { ticket, bytes, op, .. } = queued;
        if let Some(conversation) = op.conversation() {
            let place = self.known.find(&self.connection, conversation);
            let head = place.ok().flatten().map_or(0, |place| place.head);
            match &op {
                Op::Append(_) => self.queue.misfit(conversation, head),
                Op::Keep(_) => self.queue.give_up(conversation, head),
                _ => {}
            }
        }
        self.queue.lose(ticket);
        self.queue.wrote(ticket, bytes, Durability::Stored);
        Ok(())
    }

    /// Writes `group` as one transaction. Also returns whether it survives a loss of power.
    fn commit(&mut self, group: &[Queued], part: GroupPart) -> rusqlite::Result<(CommitEffects, bool)> {
        #[cfg(any(test, feature = "testkit"))]
        full(&self.queue)?;
        let synced = group.iter().any(|queued| queued.op.is_synced());
        if synced != self.synced {
            let word = if synced { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", word)?;
            self.synced = synced;
        }
        self.known.trim();
        let now = clock::now_ms();
        let number = self.marker.lock().begin();
        let newest = group.iter().map(|queued| queued.ticket).max().unwrap_or(0);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let inline = self.queue.lifecycle() != LogLifecycle::Open;
        let pace = WriterPace::of(&*self.queue);
        let mut commit = Commit::new(&transaction, &mut self.known, self.life, inline, pace);
        let applied = group.iter().try_for_each(|queued| commit.apply(queued)).and_then(|()| commit.finish());
        let committed = applied.and_then(|outcome| {
            let applied = match part {
                GroupPart::Next => newest,
                GroupPart::Ahead => {
                    record_removals(&transaction, group)?;
                    0
                }
            };
            // This is also the change that syncs a commit without other changes.
            let count = "UPDATE life SET commits = ?2, written_at = ?3, synced_at = synced_at + ?4, \
                         applied = max(applied, ?5) WHERE number = ?1";
            let mut count = transaction.prepare_cached(count)?;
            count.execute((self.life, integer(number), integer(now), synced, integer(applied)))?;
            drop(count);
            transaction.commit()?;
            Ok((outcome, synced))
        });
        match &committed {
            Ok(_) => {
                self.marker.lock().committed(number, now, synced);
                self.refused = 0;
            }
            Err(_) => self.known.forget(),
        }
        committed
    }

    /// Reports that `group` is written, and hands on what can be packed.
    fn wrote(&mut self, group: Vec<Queued>, outcome: CommitEffects, synced: bool) {
        if self.failing_since.take().is_some() {
            tracing::info!("the log writes again");
        }
        self.count(&outcome, &group);
        let ticket = group.last().map_or(0, |queued| queued.ticket);
        if let Some(journal) = &self.journal {
            journal.applied(ticket);
        }
        self.queue.wrote(ticket, group.iter().map(|queued| queued.bytes).sum(), level_of(synced));
        for (conversation, key) in outcome.ripe {
            self.packer.compact(conversation, key);
        }
        let mut pace = WriterPace::of(&*self.queue);
        for queued in group {
            pace.step();
            if let Op::Keep(checkpoint) = queued.op
                && let Some(key) = outcome.to_pack.get(&queued.ticket)
            {
                let kept = self.packer.keep(*key, checkpoint);
                if let Err(checkpoint) = kept {
                    // The packer has ended. The view goes by key, because the name may belong to another
                    // conversation by now.
                    self.queue.put(Op::View(Box::new(PackedView::of(*key, *checkpoint))));
                }
            }
        }
    }

    /// Acts on the outcome of a commit of `group`, before its tickets are reported as written.
    fn count(&mut self, outcome: &CommitEffects, group: &[Queued]) {
        self.conversation_count.commit(outcome.made, outcome.removed);
        self.leave_out(&outcome.misfits, group);
        for ticket in &outcome.lost {
            self.queue.lose(*ticket);
        }
        self.ask_to_purge(group);
        if let Some(documents) = outcome.documents {
            self.queue.has_documents(documents);
        }
        if outcome.sweeps {
            self.queue.sweep_after(Duration::ZERO);
        }
    }

    /// Sets appends aside that do not continue what is written, for example after one that the database
    /// refused.
    fn leave_out(&self, misfits: &[(u64, Seq)], group: &[Queued]) {
        let of = |ticket: u64| group.iter().find(|queued| queued.ticket == ticket).map(|queued| &queued.op);
        let why = |head: Seq| format!("the events do not continue the log, which ends at {head}");
        self.aside.put(misfits.iter().filter_map(|(ticket, head)| Some((of(*ticket)?, why(*head)))));
        self.queue.count_aside(misfits.len() as u64);
        for (ticket, head) in misfits {
            if let Some(conversation) = of(*ticket).and_then(Op::conversation) {
                self.queue.misfit(conversation, *head);
            }
        }
    }

    /// Deletes some rows of removed conversations. Returns whether more can be deleted.
    fn sweep(&mut self) -> bool {
        let began = Instant::now();
        match sweep::step(&mut self.connection) {
            Ok(true) => {
                self.queue.sweep_after(began.elapsed());
                true
            }
            Ok(false) => {
                self.queue.swept();
                false
            }
            Err(error) => {
                tracing::warn!(%error, "conversations that went still take room");
                self.queue.sweep_after(PAUSE_MAX);
                false
            }
        }
    }

    /// Reports that nothing can be written, and why.
    fn failed(&mut self, error: &rusqlite::Error) {
        let since = *self.failing_since.get_or_insert_with(|| {
            tracing::warn!(%error, "the log cannot write");
            clock::now_ms()
        });
        let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        let code = if full { "disk_full" } else { "disk_failing" };
        self.queue.failed(WriteFault { code, what: Arc::from(error.to_string()), since });
    }

    /// Makes room before the next attempt: removals are written first, and rows are deleted.
    fn make_room(&mut self, group: &mut Vec<Queued>) {
        // What waits must come after the other half of a group that was cut in half.
        if self.halvings == 0 {
            group.extend(self.queue.take_if_removals_wait());
            self.remove_first(group);
        }
        for _ in 0..SWEEPS_WHEN_FULL {
            if !self.sweep() {
                break;
            }
        }
        // This moves the write-ahead log into the file, and the log begins again in the room that it has. If
        // that fails too, the next commit reports it.
        drop(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_row| Ok(())));
    }

    /// Commits the removals of `group` by themselves, if possible.
    fn remove_first(&mut self, group: &mut Vec<Queued>) {
        removals_first(group);
        let removals = group.iter().take_while(|queued| matches!(queued.op, Op::Remove(_))).count();
        let rest = group.split_off(removals);
        let removals = std::mem::replace(group, rest);
        if removals.is_empty() {
            return;
        }
        let Ok((outcome, synced)) = self.commit(&removals, GroupPart::Ahead) else {
            group.splice(0..0, removals);
            return;
        };
        self.count(&outcome, &removals);
        let bytes: usize = removals.iter().map(|queued| queued.bytes).sum();
        let last = removals.iter().map(|queued| queued.ticket).max().unwrap_or(0);
        match group.last_mut() {
            // Their tickets are reported once everything before them is written.
            Some(end) => {
                end.ticket = end.ticket.max(last);
                end.bytes += bytes;
            }
            None => self.queue.wrote(last, bytes, level_of(synced)),
        }
    }

    /// Records that the log ended well.
    fn close(&mut self) {
        let closed = self.note_the_end();
        if let Err(error) = closed {
            tracing::warn!(%error, "the log could not note that it ended well");
        }
    }

    /// Writes the end of this life. Conversations with a hole are marked as unsound, so that they go on in a
    /// new epoch.
    fn note_the_end(&mut self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "synchronous", "full")?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for conversation in self.queue.holed() {
            let unsound = "UPDATE conversation SET life = 0 WHERE id = ?1";
            transaction.execute(unsound, [conversation.as_str()])?;
        }
        transaction.execute("UPDATE life SET ended_well = 1 WHERE number = ?1", [self.life])?;
        transaction.commit()?;
        if let Some(journal) = &self.journal {
            journal.applied(u64::MAX);
        }
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_row| Ok(()))
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (what, since) = (Arc::from("a fault of the log"), clock::now_ms());
            self.queue.failed(WriteFault { code: "disk_failing", what, since });
        }
        // Nobody waits any longer for a thread that has ended.
        self.queue.end(LogLifecycle::Dropped);
    }
}

/// What a commit comes to on a disk that a test makes out to be full.
#[cfg(any(test, feature = "testkit"))]
pub(super) fn full(queue: &Queue) -> rusqlite::Result<()> {
    if !queue.is_full() {
        return Ok(());
    }
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    Err(rusqlite::Error::SqliteFailure(error, Some(String::from("made up: the disk is full"))))
}

/// The part of the queue that a transaction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupPart {
    /// The operations that come next.
    Next,
    /// Removals, before older operations.
    Ahead,
}

/// Records that the conversations of `removals` went before older operations on them were written, so that a
/// replay of the journal does not bring them back.
fn record_removals(connection: &Connection, removals: &[Queued]) -> rusqlite::Result<()> {
    let note = "INSERT OR REPLACE INTO void (conversation, ticket) VALUES (?1, ?2)";
    let mut note = connection.prepare_cached(note)?;
    for removal in removals {
        if let Some(conversation) = removal.op.conversation() {
            note.execute((conversation.as_str(), integer(removal.ticket)))?;
        }
    }
    Ok(())
}

/// Whether the database refuses the values themselves, although the disk works. All other errors count as
/// temporary.
pub(super) fn is_refusal(error: &rusqlite::Error) -> bool {
    use ErrorCode::{ApiMisuse, ConstraintViolation, ParameterOutOfRange, TooBig, TypeMismatch, Unknown};

    match error.sqlite_error_code() {
        Some(code) => {
            matches!(
                code,
                ApiMisuse | ConstraintViolation | ParameterOutOfRange | TooBig | TypeMismatch | Unknown
            )
        }
        // A value that cannot be converted to one of the database, or back.
        None => true,
    }
}

/// Moves removals to the front, and drops older operations on their conversations.
fn removals_first(group: &mut Vec<Queued>) {
    let is_removal = |queued: &Queued| matches!(queued.op, Op::Remove(_));
    let gone: Vec<(u64, ConversationId)> = group
        .iter()
        .filter(|queued| is_removal(queued))
        .filter_map(|queued| queued.op.conversation().map(|id| (queued.ticket, id.clone())))
        .collect();
    let moot = |queued: &Queued| {
        let of = queued.op.conversation();
        gone.iter().any(|(ticket, id)| queued.ticket < *ticket && of == Some(id))
    };
    let last = group.iter().map(|queued| queued.ticket).max().unwrap_or(0);
    let mut bytes = 0;
    group.retain(|queued| {
        let stays = is_removal(queued) || !moot(queued);
        bytes += if stays { 0 } else { queued.bytes };
        stays
    });
    group.sort_by_key(|queued| (!is_removal(queued), queued.ticket));
    // The group is reported as a whole: by its last ticket and all its bytes, dropped ones included.
    if let Some(end) = group.last_mut() {
        end.ticket = end.ticket.max(last);
        end.bytes += bytes;
    }
}

/// What a commit means, by whether it was synced.
fn level_of(synced: bool) -> Durability {
    if synced { Durability::Synced } else { Durability::Stored }
}

#[cfg(test)]
mod tests;
