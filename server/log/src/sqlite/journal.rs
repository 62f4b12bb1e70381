//! The journal: appends to all conversations, their removals and purges, written in one go before they become rows of the database. An
//! event is stored once its entry is in the journal. The writer makes rows of many entries at a time, when
//! that costs least.
//!
//! ```text
//!  append ──▶ queue ──▶ entry ──▶ segment that is written      stored
//!               │                 segment before it ◀─ emptied when all of it is rows
//!               └────── a second later ──▶ writer ──▶ rows
//! ```
//!
//! Two files take turns: one grows while the other waits until the database has what it holds, and is then
//! emptied. An entry is read as a whole or not at all: its length and its checksum come before it. Which
//! appends the database already has is told by the newest ticket that their life has applied, so reading the
//! journal twice adds nothing.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::ops::JournalOp;
use super::private;
use super::watermark::WatermarkWriter;

mod entry;

pub(super) use entry::JournalEntry;
use entry::{EntryHeader, decode, encode};

/// The suffixes of the two files, after the name of the database.
pub(super) const SUFFIXES: [&str; 2] = [".journal.1", ".journal.2"];

/// The journal of an open log. Shared by the thread that writes entries and the writer, which empties files.
#[derive(Debug)]
pub(super) struct Journal {
    /// The life that writes.
    life: i64,
    /// The two files. Locked before the marker.
    segments: Mutex<Segments>,
    /// The marker, which numbers the entries.
    marker: Arc<Mutex<WatermarkWriter>>,
}

/// The two files of a journal, and which of them is written.
#[derive(Debug)]
struct Segments {
    both: [Segment; 2],
    /// The index of the file that is written.
    active: usize,
    /// Up to this ticket everything is rows.
    applied: u64,
    /// The buffer in which entries are built.
    entry: Vec<u8>,
}

/// A file of the journal.
#[derive(Debug)]
struct Segment {
    /// Open for reading and writing, for its owner alone.
    file: File,
    /// The length of its whole entries; the next one begins here.
    bytes: u64,
    /// The oldest and the newest ticket in it.
    oldest: u64,
    newest: u64,
}

/// The contents of both files.
#[derive(Debug, Default)]
pub(super) struct JournalContents {
    /// The whole entries, the oldest first.
    pub(super) entries: Vec<JournalEntry>,
    /// Bytes after the last whole entry of each file, together.
    pub(super) torn: u64,
}

impl Journal {
    /// Opens the journal beside `database` for a new `life`, and empties it: read what an earlier life has
    /// left with [`read`] before.
    pub(super) fn open(database: &Path, life: i64, marker: Arc<Mutex<WatermarkWriter>>) -> io::Result<Self> {
        let open = |suffix: &str| {
            let file = private::open(&private::beside(database, suffix))?;
            file.set_len(0)?;
            Ok::<_, io::Error>(Segment { file, bytes: 0, oldest: 0, newest: 0 })
        };
        let [first, second] = SUFFIXES;
        let both = [open(first)?, open(second)?];
        Ok(Self {
            life,
            segments: Mutex::new(Segments { both, active: 0, applied: 0, entry: Vec::new() }),
            marker,
        })
    }

    /// Writes `ops`, whose tickets rise, as one entry at the time `now`. On an error nothing of it counts.
    pub(super) fn write(&self, ops: &[(u64, JournalOp)], now: u64) -> io::Result<()> {
        if ops.is_empty() {
            return Ok(());
        }
        let mut segments = self.segments.lock();
        let Segments { both, active, entry, .. } = &mut *segments;
        let Some(segment) = both.get_mut(*active) else { return Ok(()) };
        let mut marker = self.marker.lock();
        let commit = marker.begin();
        encode(entry, EntryHeader { life: self.life, commit }, ops)?;
        let is_first = segment.bytes == 0;
        segment.write(entry)?;
        if is_first {
            segment.oldest = ops.first().map_or(0, |(ticket, _)| *ticket);
        }
        segment.newest = ops.last().map_or(segment.newest, |(ticket, _)| *ticket);
        // The memory of a burst is not kept.
        entry.shrink_to(1 << 20);
        marker.committed(commit, now, false);
        Ok(())
    }

    /// Empties files of which everything up to `ticket` is rows, and turns to the other file if that is
    /// empty. A file that cannot be emptied only costs time at the next start.
    pub(super) fn applied(&self, ticket: u64) {
        let mut segments = self.segments.lock();
        segments.applied = segments.applied.max(ticket);
        let mut active = segments.active;
        for segment in
            segments.both.iter_mut().filter(|segment| segment.bytes > 0 && segment.newest <= ticket)
        {
            if let Err(error) = segment.empty() {
                // It is read again at the next start, and adds nothing.
                tracing::warn!(%error, "the journal of the log is not emptied");
            }
        }
        let other = 1 - active;
        if segments.both.get(active).is_some_and(|it| it.bytes > 0)
            && segments.both.get(other).is_some_and(|it| it.bytes == 0)
        {
            active = other;
        }
        segments.active = active;
    }

    /// Empties what can be emptied, and says whether a file still holds entries up to `ticket`.
    pub(super) fn holds(&self, ticket: u64) -> bool {
        let applied = self.segments.lock().applied;
        self.applied(applied);
        self.segments.lock().both.iter().any(|segment| segment.bytes > 0 && segment.oldest <= ticket)
    }
}

impl Segment {
    /// Writes an entry after the last whole one.
    fn write(&mut self, entry: &[u8]) -> io::Result<()> {
        let written = self.file.seek(SeekFrom::Start(self.bytes)).and_then(|_| self.file.write_all(entry));
        if let Err(error) = written {
            // Whatever was written of it is not a whole entry, and the next one overwrites it.
            drop(self.file.set_len(self.bytes));
            return Err(error);
        }
        self.bytes += entry.len() as u64;
        Ok(())
    }

    /// Empties the file of the segment.
    fn empty(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.bytes = 0;
        Ok(())
    }
}

/// Reads what the journal beside `database` has: whole entries, the oldest first. Fails if a file exists and
/// cannot be read. What follows a damaged entry is not read, since nothing says where it begins.
pub(super) fn read(database: &Path) -> io::Result<JournalContents> {
    let mut found = JournalContents::default();
    for suffix in SUFFIXES {
        let bytes = match std::fs::read(private::beside(database, suffix)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        found.torn += decode(&bytes, &mut found.entries);
    }
    found.entries.sort_by_key(|entry| (entry.head.life, entry.ops.first().map_or(0, |(ticket, _)| *ticket)));
    Ok(found)
}
