//! The one thread that writes: takes what waits, writes it in one transaction, says how far it has come.
//!
//! ```text
//!        ┌──────────────── well ────────────────┐
//! wait ──▶ take ──▶ write as one transaction ──▶ say so ──▶ hand on what can be packed
//!                        │ fails                  ▲
//!                        └──▶ say so ──▶ pause ───┘ the same again, conversations that go first
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use shared::ConversationId;

use super::commit::{Commit, Outcome};
use super::known::Known;
use super::ops::{Op, PackedView, Queued};
use super::packer::Packer;
use super::queue::{Next, Queue, Stage};
use super::tally::Tally;
use crate::clock;
use crate::log::Fault;

/// The first pause after a failure; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Failures after which a log that is to be closed gives up.
const TRIES_WHEN_CLOSING: u32 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) queue: Arc<Queue>,
    pub(super) packer: Arc<Packer>,
    pub(super) tally: Arc<Tally>,
    /// Which life of the file this is.
    pub(super) life: i64,
    pub(super) known: Known,
    /// Since when it fails, in milliseconds since 1970.
    pub(super) failing_since: Option<u64>,
    /// Whether commits reach the disk at once.
    pub(super) synced: bool,
}

impl Writer {
    /// Writes until the log ends.
    pub(super) fn run(mut self) {
        loop {
            let left = match self.queue.next() {
                Next::Write(group) => self.write(group),
                Next::Close => {
                    self.close();
                    break;
                }
                Next::Leave => break,
            };
            if left.is_err() {
                break;
            }
        }
    }

    /// Writes `group`, however long that takes. Fails when the log ends before.
    fn write(&mut self, mut group: Vec<Queued>) -> Result<(), ()> {
        let mut pause = PAUSE_MIN;
        let mut tries = 0;
        loop {
            let began = Instant::now();
            let error = match self.commit(&group) {
                Ok((outcome, synced)) => {
                    self.queue.committed(began.elapsed());
                    self.wrote(group, outcome, synced);
                    return Ok(());
                }
                Err(error) => error,
            };
            self.failed(&error);
            tries += 1;
            match self.queue.pause(pause) {
                Stage::Dropped => return Err(()),
                Stage::Closing if tries >= TRIES_WHEN_CLOSING => return Err(()),
                _ => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
            self.make_room(&mut group);
        }
    }

    /// One transaction. Also says whether it survives the loss of power.
    fn commit(&mut self, group: &[Queued]) -> rusqlite::Result<(Outcome, bool)> {
        #[cfg(test)]
        self.queue.disk()?;
        let synced = group.iter().any(|queued| queued.op.is_synced());
        if synced != self.synced {
            let word = if synced { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", word)?;
            self.synced = synced;
        }
        self.known.trim();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let inline = self.queue.stage() != Stage::Open;
        let mut commit = Commit::new(&transaction, &mut self.known, self.life, inline);
        let applied = group.iter().try_for_each(|queued| commit.apply(queued)).and_then(|()| commit.finish());
        let committed = applied.and_then(|outcome| {
            if synced {
                // Without a change there would be nothing to bring to the disk.
                let touch = "UPDATE life SET synced_at = synced_at + 1 WHERE number = ?1";
                transaction.execute(touch, [self.life])?;
            }
            transaction.commit()?;
            Ok((outcome, synced))
        });
        if committed.is_err() {
            self.known.forget();
        }
        committed
    }

    fn wrote(&mut self, group: Vec<Queued>, outcome: Outcome, synced: bool) {
        if self.failing_since.take().is_some() {
            tracing::info!("the log writes again");
        }
        self.tally.commit(&outcome);
        for (conversation, head) in &outcome.misfits {
            tracing::error!(%conversation, head, "events do not continue the log and were left out");
            self.queue.misfit(conversation, *head);
        }
        let ticket = group.last().map_or(0, |queued| queued.ticket);
        self.queue.wrote(ticket, group.iter().map(|queued| queued.bytes).sum(), synced);
        for (conversation, key) in outcome.ripe {
            self.packer.compact(conversation, key);
        }
        for queued in group {
            if let Op::Keep(checkpoint) = queued.op
                && let Some(key) = outcome.to_pack.get(&queued.ticket)
            {
                let kept = self.packer.keep(*key, checkpoint);
                if let Err(checkpoint) = kept {
                    // The packer is gone. Under its key: by now the name may be that of another conversation.
                    self.queue.put(Op::View(Box::new(PackedView::of(*key, *checkpoint))));
                }
            }
        }
    }

    fn failed(&mut self, error: &rusqlite::Error) {
        let since = *self.failing_since.get_or_insert_with(|| {
            tracing::warn!(%error, "the log cannot write");
            clock::now_ms()
        });
        let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        let code = if full { "disk_full" } else { "disk_failing" };
        self.queue.failed(Fault { code, what: Arc::from(error.to_string()), since });
    }

    /// Lets conversations go before the rest is tried again: what is to be written may need their room.
    fn make_room(&mut self, group: &mut Vec<Queued>) {
        let waiting = self.queue.rest();
        if waiting.iter().any(|queued| matches!(queued.op, Op::Remove(_))) {
            group.extend(waiting);
        } else {
            self.queue.put_back(waiting);
        }
        removals_first(group);
        // What is in the write-ahead log goes into the file, and the log begins again in the room that it has.
        // When that fails too, the next commit says so.
        drop(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_row| Ok(())));
    }

    /// Notes that the log ended well.
    fn close(&mut self) {
        let closed = self.note_the_end();
        if let Err(error) = closed {
            tracing::warn!(%error, "the log could not note that it ended well");
        }
    }

    fn note_the_end(&mut self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "synchronous", "full")?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for conversation in self.queue.holed() {
            let unsound = "UPDATE conversation SET life = 0 WHERE id = ?1";
            transaction.execute(unsound, [conversation.as_str()])?;
        }
        transaction.execute("UPDATE life SET ended_well = 1 WHERE number = ?1", [self.life])?;
        transaction.commit()?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_row| Ok(()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (what, since) = (Arc::from("a fault of the log"), clock::now_ms());
            self.queue.failed(Fault { code: "disk_failing", what, since });
        }
        // Whoever waits, waits no longer.
        self.queue.end(Stage::Dropped);
    }
}

/// Removals to the front; what was to be written of those conversations before, never is.
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
    // The group counts as a whole: its last ticket and all its bytes, whatever of it went.
    if let Some(end) = group.last_mut() {
        end.ticket = end.ticket.max(last);
        end.bytes += bytes;
    }
}

#[cfg(test)]
mod tests;
