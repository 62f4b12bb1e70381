//! The watermark: how far the log has come, in a small file beside the database. With it a start notices when
//! the database, or its write-ahead log, has less than was acknowledged.
//!
//! The file has one line of JSON, which is overwritten after each commit, so it is never ahead of what was
//! committed. It is not synced: after a loss of power it may be older than the database, and then nothing is
//! noticed.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use model::limits::NUMBER_MAX;
use serde::{Deserialize, Serialize};

use super::private;
use crate::LostCommits;

/// The length of the line in bytes. It is filled up with spaces, so that it is overwritten as a whole.
const LINE_BYTES: usize = 256;

/// The suffix of the file, after the name of the database.
const SUFFIX: &str = ".mark";

/// The file in which Linux names the current boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The progress of a log, as its file notes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Watermark {
    /// The life of the log.
    pub(super) life: i64,
    /// How many transactions and entries this life has committed.
    pub(super) commits: u64,
    /// How many of those survive a loss of power.
    pub(super) synced: u64,
    /// When the newest was committed, in milliseconds since 1970.
    pub(super) at: u64,
    /// The boot of the system. What is not synced need not be there after the next boot.
    boot: String,
}

impl Watermark {
    /// What is missing in a database whose newest life is `life`, with `commits` commits, the newest of them
    /// at `at`; `None` if nothing is.
    pub(super) fn missing(&self, life: i64, commits: u64, at: u64) -> Option<LostCommits> {
        let expected = if self.boot == boot_id() { self.commits } else { self.synced };
        let found = if life == self.life { commits } else { 0 };
        let is_behind = life < self.life || (life == self.life && found < expected);
        // A life of which nothing is there had a first transaction too, which began it.
        let begun = u64::from(life < self.life);
        let commits = expected.saturating_sub(found).saturating_add(begun);
        is_behind.then_some(LostCommits { commits, from: at, to: self.at })
    }
}

/// Reads the file beside `database`. `None` if there is none, if it cannot be parsed, or if its life is
/// higher than a log can reach: the life that begins now needs a number above it.
pub(super) fn read(database: &Path) -> Option<Watermark> {
    let mut line = String::new();
    let file = File::open(private::beside(database, SUFFIX)).ok()?;
    file.take(LINE_BYTES as u64).read_to_string(&mut line).ok()?;
    let read: Watermark = serde_json::from_str(line.trim()).ok()?;
    u64::try_from(read.life).is_ok_and(|life| life <= NUMBER_MAX).then_some(read)
}

/// Writes the watermark. Shared by the writer and the journal.
#[derive(Debug)]
pub(super) struct WatermarkWriter {
    /// The file; `None` once it could not be written.
    file: Option<File>,
    watermark: Watermark,
    /// The newest number that was given to a transaction or an entry of the journal.
    begun: u64,
}

impl WatermarkWriter {
    /// Opens the file beside `database` for a new `life`. If it cannot be opened, a warning says so and
    /// missing events go unnoticed.
    pub(super) fn open(database: &Path, life: i64, at: u64) -> Self {
        let path = private::beside(database, SUFFIX);
        let file = private::open(&path).inspect_err(|error| {
            tracing::warn!(%error, path = %path.display(), "the watermark file cannot be written, so lost transactions will not be detected at the next start");
        });
        let watermark = Watermark { life, at, boot: boot_id(), ..Watermark::default() };
        let mut marker = Self { file: file.ok(), watermark, begun: 0 };
        marker.write();
        marker
    }

    /// Gives a number to a transaction or an entry of the journal that begins. Numbers rise; one that fails
    /// leaves its number unused.
    pub(super) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// Notes that `commit` was committed at `at`, and whether it survives a loss of power.
    pub(super) fn committed(&mut self, commit: u64, at: u64, synced: bool) {
        self.watermark.commits = self.watermark.commits.max(commit);
        self.watermark.at = at;
        if synced {
            self.watermark.synced = self.watermark.synced.max(commit);
        }
        self.write();
    }

    /// Overwrites the line. After a failure the watermark is no longer written.
    fn write(&mut self) {
        let Some(file) = &mut self.file else { return };
        // The line has only numbers and a short name, so it can be encoded and fits.
        let mut line = serde_json::to_vec(&self.watermark).unwrap_or_default();
        line.resize(LINE_BYTES - 1, b' ');
        line.push(b'\n');
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&line));
        if let Err(error) = written {
            tracing::warn!(%error, "what goes missing from now on will not be noticed");
            self.file = None;
        }
    }
}

/// The id of the current boot; empty if the system does not name it.
fn boot_id() -> String {
    let mut boot = std::fs::read_to_string(BOOT).unwrap_or_default();
    boot.truncate(boot.trim_end().len());
    boot
}
