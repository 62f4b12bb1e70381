//! How far the log has come, in a small file beside the database: so a start notices when the database, or the write-ahead
//! log that belongs to it, has less than was acked.
//!
//! The file holds one line of JSON, which is written over after each commit. It is never ahead of what was committed. It is
//! not brought to the disk: after a loss of power it may be older than the database, and then nothing is noticed.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use model::limits::NUMBER_MAX;
use serde::{Deserialize, Serialize};

use super::private;
use crate::Missing;

/// Bytes of the line, filled up with spaces: it is written over as a whole.
const LINE_BYTES: usize = 256;

/// What is behind the name of the database.
const SUFFIX: &str = ".mark";

/// Where the system says which of its lives this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// How far a log has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Watermark {
    /// The life of the log.
    pub(super) life: i64,
    /// Its transactions so far.
    pub(super) commits: u64,
    /// Those of them that survive the loss of power.
    pub(super) synced: u64,
    /// When the newest was made, in milliseconds since 1970.
    pub(super) at: u64,
    /// The life of the system: what is not synced need not be there in the next.
    boot: String,
}

impl Watermark {
    /// What is missing in a database whose newest life is `life`, with so many `commits`, the newest made at `at`.
    pub(super) fn missing(&self, life: i64, commits: u64, at: u64) -> Option<Missing> {
        let expected = if self.boot == boot() { self.commits } else { self.synced };
        let found = if life == self.life { commits } else { 0 };
        let is_behind = life < self.life || (life == self.life && found < expected);
        // A life of which nothing is there was begun with a transaction of its own.
        let begun = u64::from(life < self.life);
        let commits = expected.saturating_sub(found).saturating_add(begun);
        is_behind.then_some(Missing { commits, from: at, to: self.at })
    }
}

/// What the file beside `database` says; nothing where there is none that can be read, or it names a life that no log
/// reaches: one number more must be left for the life that begins.
pub(super) fn read(database: &Path) -> Option<Watermark> {
    let mut line = String::new();
    let file = File::open(private::beside(database, SUFFIX)).ok()?;
    file.take(LINE_BYTES as u64).read_to_string(&mut line).ok()?;
    let read: Watermark = serde_json::from_str(line.trim()).ok()?;
    u64::try_from(read.life).is_ok_and(|life| life <= NUMBER_MAX).then_some(read)
}

/// Writes the file.
#[derive(Debug)]
pub(super) struct Marker {
    file: Option<File>,
    watermark: Watermark,
    /// The newest number that was given to a transaction or an entry.
    begun: u64,
}

impl Marker {
    /// Of the file beside `database`, for a new `life`.
    pub(super) fn open(database: &Path, life: i64, at: u64) -> Self {
        let path = private::beside(database, SUFFIX);
        let file = private::open(&path).inspect_err(|error| {
            tracing::warn!(%error, path = %path.display(), "what goes missing will not be noticed");
        });
        let watermark = Watermark { life, at, boot: boot(), ..Watermark::default() };
        let mut marker = Self { file: file.ok(), watermark, begun: 0 };
        marker.write();
        marker
    }

    /// The number of a transaction, or an entry of the journal, that begins. They rise; one that fails leaves its own unused.
    pub(super) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// Notes that what has the number `commit` was committed, at `at`.
    pub(super) fn committed(&mut self, commit: u64, at: u64, synced: bool) {
        self.watermark.commits = self.watermark.commits.max(commit);
        self.watermark.at = at;
        if synced {
            self.watermark.synced = self.watermark.synced.max(commit);
        }
        self.write();
    }

    fn write(&mut self) {
        let Some(file) = &mut self.file else { return };
        // Numbers and a short name: this cannot fail to be written, and it fits.
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

/// The life of the system; empty where it does not say.
fn boot() -> String {
    let mut boot = std::fs::read_to_string(BOOT).unwrap_or_default();
    boot.truncate(boot.trim_end().len());
    boot
}
