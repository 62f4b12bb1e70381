//! The format of an entry of the journal, and its reading. It is read as a whole or not at all.
//!
//! ```text
//! length of the body │ CRC-32 of the body │ body                       4 bytes, 4 bytes, little-endian
//! {"life":7,"commit":41}                                               the entry: EntryHeader
//! +{"ticket":90,"conversation":"c","epoch":"e","after":4}              an append: AppendHeader
//! {"k":"part.delta","part":"p1","text":"Hi","run":"r","seq":5,"at":…}  its events, as on the wire
//! +{"ticket":91,…}                                                     the next append
//! -{"ticket":92,"conversation":"d"}                                    a removal: RemovalHeader
//! !{"ticket":93,"conversation":"d"}                                    a purge, likewise
//! ```

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use flate2::Crc;
use model::frame::Durability;
use model::{ConversationId, Envelope, Epoch, Position};
use serde::{Deserialize, Serialize};

use crate::ops::{JournalOp, QueuedEvents};
use crate::{Attachment, EndedToolCall, Measurement, PublisherMark, SearchDocument};

/// Bytes before an entry: its length and its checksum, four bytes each, little-endian.
const HEAD_BYTES: usize = 8;

/// Most bytes of one entry. The queue's bounds keep entries far below it.
const ENTRY_BYTES_MAX: usize = 1 << 30;

/// How the first line of an append begins.
const APPEND: &str = "+";

/// How the line of a removal begins.
const REMOVAL: &str = "-";

/// How the line of a purge begins.
const PURGE: &str = "!";

/// The first line of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct EntryHeader {
    /// The life that wrote the entry.
    pub(in super::super) life: i64,
    /// The number of the entry among all commits of this life.
    pub(in super::super) commit: u64,
}

/// The first line of an append, before its events. What is empty is left out. The level is not written: what
/// is in the journal is stored.
#[derive(Serialize, Deserialize)]
struct AppendHeader<'a> {
    /// The ticket that the append got from the queue.
    ticket: u64,
    conversation: Cow<'a, ConversationId>,
    epoch: Cow<'a, Epoch>,
    /// The seq that its events continue, in `epoch`.
    after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<Cow<'a, PublisherMark>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    documents: Cow<'a, [SearchDocument]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    calls: Cow<'a, [EndedToolCall]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    measurements: Cow<'a, [Measurement]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    attachments: Cow<'a, [Attachment]>,
}

/// The line of a removal, and of a purge.
#[derive(Serialize, Deserialize)]
struct RemovalHeader<'a> {
    /// The ticket that the operation got from the queue.
    ticket: u64,
    conversation: Cow<'a, ConversationId>,
}

/// An entry as it was read back.
#[derive(Debug)]
pub(in super::super) struct JournalEntry {
    /// The header of the entry: the life that wrote it, and its number.
    pub(in super::super) head: EntryHeader,
    /// The operations, each with its ticket.
    pub(in super::super) ops: Vec<(u64, JournalOp)>,
}

/// Builds an entry in the buffer `entry`. Fails if it is larger than its length can say.
pub(super) fn encode(entry: &mut Vec<u8>, head: EntryHeader, ops: &[(u64, JournalOp)]) -> io::Result<()> {
    entry.clear();
    entry.extend_from_slice(&[0; HEAD_BYTES]);
    line(entry, "", &head)?;
    for (ticket, op) in ops {
        match op {
            JournalOp::Append(events) => encode_append(entry, *ticket, events)?,
            JournalOp::Remove(conversation) => encode_removal(entry, REMOVAL, *ticket, conversation)?,
            JournalOp::Purge(conversation) => encode_removal(entry, PURGE, *ticket, conversation)?,
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

/// Appends the line of a removal or a purge, which begins with `before`.
fn encode_removal(
    entry: &mut Vec<u8>,
    before: &str,
    ticket: u64,
    conversation: &ConversationId,
) -> io::Result<()> {
    line(entry, before, &RemovalHeader { ticket, conversation: Cow::Borrowed(conversation) })
}

/// Appends the lines of an append.
fn encode_append(entry: &mut Vec<u8>, ticket: u64, events: &QueuedEvents) -> io::Result<()> {
    let lead = AppendHeader {
        ticket,
        conversation: Cow::Borrowed(&events.conversation),
        epoch: Cow::Borrowed(&events.after.epoch),
        after: events.after.seq,
        mark: events.mark.as_ref().map(Cow::Borrowed),
        documents: Cow::Borrowed(&events.documents),
        calls: Cow::Borrowed(&events.calls),
        measurements: Cow::Borrowed(&events.measurements),
        attachments: Cow::Borrowed(&events.attachments),
    };
    line(entry, APPEND, &lead)?;
    events.envelopes.iter().try_for_each(|envelope| line(entry, "", envelope))
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
pub(super) fn decode(bytes: &[u8], entries: &mut Vec<JournalEntry>) -> u64 {
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
    let mut ops: Vec<(u64, JournalOp)> = Vec::new();
    // The append whose events are being read.
    let mut append: Option<(u64, QueuedEvents)> = None;
    let whole = |append: Option<(u64, QueuedEvents)>| {
        append.map(|(ticket, events)| (ticket, JournalOp::Append(Arc::new(events))))
    };
    for line in lines {
        if let Some(lead) = line.strip_prefix(APPEND) {
            let lead: AppendHeader<'_> = serde_json::from_str(lead).ok()?;
            ops.extend(whole(append.replace((lead.ticket, lead.into_events()))));
        } else if let Some((header, make)) = removal(line) {
            let RemovalHeader { ticket, conversation } = serde_json::from_str(header).ok()?;
            ops.extend(whole(append.take()));
            ops.push((ticket, make(conversation.into_owned())));
        } else {
            let (_, events) = append.as_mut()?;
            events.envelopes.push(Arc::new(Envelope::parse(line).ok()?));
        }
    }
    ops.extend(whole(append));
    Some(JournalEntry { head, ops })
}

/// Makes an operation on a conversation.
type MakeOp = fn(ConversationId) -> JournalOp;

/// The header of a line that is a removal or a purge, and what makes the operation; `None` for other lines.
fn removal(line: &str) -> Option<(&str, MakeOp)> {
    if let Some(header) = line.strip_prefix(REMOVAL) {
        return Some((header, JournalOp::Remove));
    }
    Some((line.strip_prefix(PURGE)?, JournalOp::Purge))
}

impl AppendHeader<'_> {
    /// The append as it waits in the queue, before its events are added.
    fn into_events(self) -> QueuedEvents {
        QueuedEvents {
            conversation: self.conversation.into_owned(),
            after: Position { epoch: self.epoch.into_owned(), seq: self.after },
            envelopes: Vec::new(),
            mark: self.mark.map(Cow::into_owned),
            level: Durability::Memory,
            documents: self.documents.into_owned(),
            calls: self.calls.into_owned(),
            measurements: self.measurements.into_owned(),
            attachments: self.attachments.into_owned(),
            bytes: 0,
            shared_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests;
