//! The one thread that writes: takes what waits, makes one transaction of it, says how far it has come.
//!
//! ```text
//!        ┌──────────────── well ────────────────┐
//! wait ──▶ take ──▶ plan ──▶ one transaction ──▶ say so ──▶ hand on what can be packed
//!                             │ unreachable, full  ▲
//!                             ├──▶ say so ─▶ pause ┤ the same again on a new connection; one that may have been made is
//!                             │ refused            │ looked for first
//!                             └──▶ each half ──────┘ an operation that is refused alone is set aside
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::counting::CommitCount;
use super::database::Session;
use super::failure::GroupFailure;
use super::known::WriterCache;
use crate::ops::Queued;
use crate::queue::{LogLifecycle, WriterStep};
use crate::{WriteFault, clock};

mod committing;
mod doubt;
mod refused;
mod reporting;
mod shared;
mod upkeep;

#[cfg(any(test, feature = "testkit"))]
pub(super) use reporting::report;
pub(super) use shared::WriterShared;

/// The first pause after a failure; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Failures after which a log that is to be closed gives up.
const TRIES_WHEN_CLOSING: u32 = 3;

/// Operations in a row that are refused before the database itself counts as broken, and nothing more is set aside.
const REFUSED_IN_A_ROW_MAX: u32 = 32;

/// What must hold for a transaction to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitFence {
    /// The life goes on: it is alone on the database.
    Life,
    /// The life goes on, and has each conversation that it changes.
    Owners,
}

/// The thread that writes. Whatever way it ends, it says how far it came, so that nobody waits for it forever.
pub(super) struct PostgresWriter {
    shared: WriterShared,
    /// The life that writes.
    life: i64,
    /// Whether the owners of conversations are checked too.
    fences: CommitFence,
    /// For how long each commit renews the life.
    lease: Duration,
    /// Drives the connection, on this thread, while the thread waits for the database: an answer that another
    /// thread reads costs two changes of threads.
    runtime: Arc<Runtime>,
    /// The session; nothing while there is no connection.
    session: Option<Session>,
    /// What the database has, as far as it was asked or written.
    known: WriterCache,
    /// The transactions of this life.
    count: CommitCount,
    /// Since when nothing can be written, in milliseconds since 1970; `None` while it works.
    failing_since: Option<u64>,
    /// Operations in a row that were refused, since the last commit.
    refused: u32,
}

impl PostgresWriter {
    /// The writer of a life, as yet without a connection.
    pub(super) fn new(
        shared: WriterShared,
        (life, fences): (i64, CommitFence),
        lease: Duration,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            shared,
            runtime: Arc::new(runtime),
            life,
            fences,
            lease,
            session: None,
            known: WriterCache::default(),
            count: CommitCount::default(),
            failing_since: None,
            refused: 0,
        })
    }

    /// The body of the thread: writes until the log is closed or dropped.
    pub(super) fn run(mut self) {
        // Where this fails, the first commit tries again.
        self.connect_in_time();
        loop {
            let goes_on = match self.shared.queue.next() {
                WriterStep::Write(group) => self.write(group),
                WriterStep::Sweep => {
                    self.sweep();
                    Ok(())
                }
                WriterStep::Close => {
                    self.close();
                    break;
                }
                // PostgreSQL indexes a text when it stores it, so none waits for that.
                WriterStep::IndexWords => Ok(()),
                WriterStep::Leave => break,
            };
            if goes_on.is_err() {
                break;
            }
        }
    }

    /// Writes `group`, however long that takes: it is tried again until it is written, its operations are set
    /// aside, or the log ends. Only the last is an error; then the group is reported as unwritten.
    fn write(&mut self, group: Vec<Queued>) -> Result<(), ()> {
        let (mut pause, mut tries) = (PAUSE_MIN, 0);
        loop {
            let began = Instant::now();
            let failure = match self.commit(&group) {
                Ok((outcome, level)) => {
                    self.shared.queue.committed(began.elapsed());
                    self.wrote(group, outcome, level);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let failure = match failure {
                GroupFailure::Refused(what) if self.refused < REFUSED_IN_A_ROW_MAX => {
                    return self.halve(group, &what);
                }
                GroupFailure::Refused(what) => GroupFailure::Passing { code: "disk_failing", what },
                other => other,
            };
            self.failed(&failure);
            tries += 1;
            match self.shared.queue.pause(pause) {
                LogLifecycle::Dropped => return self.leave(&group),
                LogLifecycle::Closing if tries >= TRIES_WHEN_CLOSING => return self.leave(&group),
                _ => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Notes that `group` will not be written.
    fn leave(&self, group: &[Queued]) -> Result<(), ()> {
        self.shared.queue.unwritten(group.iter());
        Err(())
    }
}

impl Drop for PostgresWriter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (what, since) = (Arc::from("a fault of the log"), clock::now_ms());
            self.shared.queue.failed(WriteFault { code: "disk_failing", what, since });
        }
        // Whoever waits, waits no longer.
        self.shared.queue.end(LogLifecycle::Dropped);
    }
}
