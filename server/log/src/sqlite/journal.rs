//! The journal: appends of all conversations, written in one go before they become rows of the database. An
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
//!
//! An entry:
//!
//! ```text
//! length of the body │ CRC-32 of the body │ body                       4 bytes, 4 bytes, little-endian
//! {"life":7,"commit":41}                                               the entry: Head
//! +{"ticket":90,"conversation":"c","epoch":"e","after":4}              an append: Lead
//! {"k":"part.delta","part":"p1","text":"Hi","run":"r","seq":5,"at":…}  its events, as on the wire
//! +{"ticket":91,…}                                                     the next append
//! ```

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Crc;
use model::frame::Durability;
use model::{ConversationId, Envelope, Epoch, Position};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::ops::QueuedEvents;
use super::private;
use super::watermark::WatermarkWriter;
use crate::{Attachment, EndedToolCall, Measurement, PublisherMark, SearchDocument};

/// The suffixes of the two files, after the name of the database.
pub(super) const SUFFIXES: [&str; 2] = [".journal.1", ".journal.2"];

/// Bytes before an entry: its length and its checksum, four bytes each, little-endian.
const HEAD_BYTES: usize = 8;

/// Most bytes of one entry. The queue's bound keeps entries far below it.
const ENTRY_BYTES_MAX: usize = 1 << 30;

/// How the first line of an append begins.
const APPEND: &str = "+";

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

/// The first line of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryHeader {
    /// The life that wrote the entry.
    pub(super) life: i64,
    /// The number of the entry among all commits of this life.
    pub(super) commit: u64,
}

/// The first line of an append, before its events. What is empty is left out. The level is not written: what
/// is in the journal is stored.
#[derive(Serialize, Deserialize)]
struct AppendHeader<'a> {
    /// The ticket that the append got from the queue.
    ticket: u64,
    conversation: std::borrow::Cow<'a, ConversationId>,
    epoch: std::borrow::Cow<'a, Epoch>,
    /// The seq that its events continue, in `epoch`.
    after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<std::borrow::Cow<'a, PublisherMark>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    documents: std::borrow::Cow<'a, [SearchDocument]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    calls: std::borrow::Cow<'a, [EndedToolCall]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    measurements: std::borrow::Cow<'a, [Measurement]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    attachments: std::borrow::Cow<'a, [Attachment]>,
}

/// An entry as it was read back.
#[derive(Debug)]
pub(super) struct JournalEntry {
    /// The header of the entry: the life that wrote it, and its number.
    pub(super) head: EntryHeader,
    /// The appends, each with its ticket.
    pub(super) appends: Vec<(u64, QueuedEvents)>,
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

    /// Writes `appends`, whose tickets rise, as one entry at the time `now`. On an error nothing of it
    /// counts.
    pub(super) fn write(&self, appends: &[(u64, Arc<QueuedEvents>)], now: u64) -> io::Result<()> {
        if appends.is_empty() {
            return Ok(());
        }
        let mut segments = self.segments.lock();
        let Segments { both, active, entry, .. } = &mut *segments;
        let Some(segment) = both.get_mut(*active) else { return Ok(()) };
        let mut marker = self.marker.lock();
        let commit = marker.begin();
        encode(entry, EntryHeader { life: self.life, commit }, appends)?;
        let is_first = segment.bytes == 0;
        segment.write(entry)?;
        if is_first {
            segment.oldest = appends.first().map_or(0, |(ticket, _)| *ticket);
        }
        segment.newest = appends.last().map_or(segment.newest, |(ticket, _)| *ticket);
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
    found
        .entries
        .sort_by_key(|entry| (entry.head.life, entry.appends.first().map_or(0, |(ticket, _)| *ticket)));
    Ok(found)
}

/// Builds an entry in the buffer `entry`. Fails if it is larger than its length can say.
fn encode(entry: &mut Vec<u8>, head: EntryHeader, appends: &[(u64, Arc<QueuedEvents>)]) -> io::Result<()> {
    entry.clear();
    entry.extend_from_slice(&[0; HEAD_BYTES]);
    line(entry, "", &head)?;
    for (ticket, events) in appends {
        use std::borrow::Cow::Borrowed;
        let lead = AppendHeader {
            ticket: *ticket,
            conversation: Borrowed(&events.conversation),
            epoch: Borrowed(&events.after.epoch),
            after: events.after.seq,
            mark: events.mark.as_ref().map(Borrowed),
            documents: Borrowed(&events.documents),
            calls: Borrowed(&events.calls),
            measurements: Borrowed(&events.measurements),
            attachments: Borrowed(&events.attachments),
        };
        line(entry, APPEND, &lead)?;
        for envelope in &events.envelopes {
            line(entry, "", envelope)?;
        }
    }
    let body = entry.get(HEAD_BYTES..).unwrap_or_default();
    let length = u32::try_from(body.len()).ok().filter(|length| *length as usize <= ENTRY_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("an entry of the journal is too large"))?;
    let sum = checksum(body);
    for (to, from) in entry.iter_mut().zip(length.to_le_bytes().into_iter().chain(sum.to_le_bytes())) {
        *to = from;
    }
    Ok(())
}

/// Appends `value` as a line of JSON that begins with `before`.
fn line(entry: &mut Vec<u8>, before: &str, value: &impl Serialize) -> io::Result<()> {
    entry.extend_from_slice(before.as_bytes());
    serde_json::to_writer(&mut *entry, value)?;
    entry.push(b'\n');
    Ok(())
}

/// CRC-32, as in gzip.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Adds the whole entries of `bytes` to `entries`; returns how many bytes follow the last of them.
fn decode(bytes: &[u8], entries: &mut Vec<JournalEntry>) -> u64 {
    let mut rest = bytes;
    while let Some((entry, behind)) = whole(rest) {
        entries.push(entry);
        rest = behind;
    }
    rest.len() as u64
}

/// The first entry and the bytes after it; `None` if the entry is not whole or its checksum is wrong.
fn whole(bytes: &[u8]) -> Option<(JournalEntry, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let (body, behind) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    if checksum(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    Some((parse(std::str::from_utf8(body).ok()?)?, behind))
}

/// Reads the lines of an entry; `None` if one of them is not what it should be.
fn parse(body: &str) -> Option<JournalEntry> {
    let mut lines = body.lines();
    let head: EntryHeader = serde_json::from_str(lines.next()?).ok()?;
    let mut appends: Vec<(u64, QueuedEvents)> = Vec::new();
    for line in lines {
        if let Some(lead) = line.strip_prefix(APPEND) {
            let lead: AppendHeader<'_> = serde_json::from_str(lead).ok()?;
            appends.push((lead.ticket, lead.into_events()));
        } else {
            let (_, events) = appends.last_mut()?;
            events.envelopes.push(Arc::new(Envelope::parse(line).ok()?));
        }
    }
    Some(JournalEntry { head, appends })
}

impl AppendHeader<'_> {
    /// The append as it waits in the queue, before its events are added.
    fn into_events(self) -> QueuedEvents {
        QueuedEvents {
            conversation: self.conversation.into_owned(),
            after: Position { epoch: self.epoch.into_owned(), seq: self.after },
            envelopes: Vec::new(),
            mark: self.mark.map(std::borrow::Cow::into_owned),
            level: Durability::Memory,
            documents: self.documents.into_owned(),
            calls: self.calls.into_owned(),
            measurements: self.measurements.into_owned(),
            attachments: self.attachments.into_owned(),
            bytes: 0,
        }
    }
}
