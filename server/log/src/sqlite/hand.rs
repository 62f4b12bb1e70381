//! For tests: a log that writes only when it is told to, and whose disk is full when that is wanted.

use std::path::Path;
use std::sync::Arc;

use super::queue::{Queue, Stage};
use super::{OpenError, Options, SqliteLog};

/// What holds the writer back.
#[derive(Debug, Default)]
pub(super) struct Strings {
    is_held: bool,
    /// How many wait for something to be written, and so let the writer go on.
    waiting: usize,
    is_full: bool,
    /// One entry is to be written to the journal now.
    wants_entry: bool,
    failures: u64,
}

impl Strings {
    /// Whether the writer is to wait.
    pub(super) fn holds(&self) -> bool {
        self.is_held && self.waiting == 0
    }

    /// Whether the journal cannot be written.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether an entry is to be written now.
    pub(super) fn wants_entry(&self) -> bool {
        self.wants_entry
    }

    /// The entry that was wanted is written, or cannot be.
    pub(super) fn has_entry(&mut self) {
        self.wants_entry = false;
    }

    /// Counts one more commit that failed.
    pub(super) fn failed(&mut self) {
        self.failures += 1;
    }

    /// Whether there is a hand.
    pub(super) fn is_pulled(&self) -> bool {
        self.is_held
    }
}

/// Pulls the strings of one log.
#[derive(Debug)]
pub struct Hand {
    queue: Arc<Queue>,
}

impl SqliteLog {
    /// Opens a log that writes when its hand does.
    pub fn by_hand(path: &Path, options: &Options) -> Result<(Self, Hand), OpenError> {
        let log = Self::open(path, options)?;
        let hand = Hand { queue: Arc::clone(&log.queue) };
        hand.queue.state.lock().strings.is_held = true;
        Ok((log, hand))
    }
}

impl Hand {
    /// Writes everything that waits, or fails to.
    pub fn write(&self) {
        let _goes_on = self.queue.let_go();
        let mut state = self.queue.state.lock();
        let (newest, failures) = (state.tickets, state.strings.failures);
        while self.queue.progress.borrow().indexed.0 < newest && state.strings.failures == failures {
            state.urgent = true;
            self.queue.work.notify_one();
            self.queue.done.wait(&mut state);
        }
    }

    /// Writes what waits to the journal, as one entry, and nothing as rows: as far as it goes, and not on a full disk.
    pub fn write_entry(&self) {
        let mut state = self.queue.state.lock();
        state.strings.wants_entry = true;
        while state.strings.wants_entry && state.stage() == Stage::Open {
            self.queue.entries.notify_all();
            self.queue.done.wait(&mut state);
        }
    }

    /// Whether the disk is full from now on.
    pub fn fill_the_disk(&self, is_full: bool) {
        self.queue.state.lock().strings.is_full = is_full;
    }
}

/// Lets the writer go on as long as it is there.
#[derive(Debug)]
pub(super) struct GoesOn<'a>(&'a Queue);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().strings.waiting -= 1;
    }
}

impl Queue {
    /// Lets the writer go on.
    pub(super) fn let_go(&self) -> GoesOn<'_> {
        self.state.lock().strings.waiting += 1;
        self.work.notify_all();
        GoesOn(self)
    }

    /// What a commit comes to on a full disk.
    pub(super) fn disk(&self) -> rusqlite::Result<()> {
        if !self.state.lock().strings.is_full {
            return Ok(());
        }
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        Err(rusqlite::Error::SqliteFailure(error, Some(String::from("made up: the disk is full"))))
    }
}
