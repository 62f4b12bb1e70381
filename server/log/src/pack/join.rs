//! Joins blocks whose events follow one another into one, as if their events had been packed together:
//! `join([pack(a), pack(b)]) == pack(a ++ b)`. Joined deltas stay joined, so it costs a part of unpacking and packing.

use std::collections::HashMap;

use model::Envelope;

use super::{Delta, LastDelta, PackError, TextKey, text_mut, write_line};

/// What [`join`] makes of several blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinedBlock {
    /// The block.
    pub(crate) body: Vec<u8>,
    /// The number of events in it.
    pub(crate) events: u64,
}

/// Joins `blocks`, the oldest first. Fails if one of them is damaged.
pub(crate) fn join(blocks: &[Vec<u8>]) -> Result<JoinedBlock, PackError> {
    let mut lines = Vec::new();
    for block in blocks {
        let mut rest = std::str::from_utf8(block)?.lines().peekable();
        while let Some(line) = rest.next() {
            lines.push(PackedLine::parse(line, rest.next_if(|line| line.starts_with('[')))?);
        }
    }
    let mut records: Vec<Record<'_>> = Vec::new();
    let mut open: HashMap<TextKey<'_>, usize> = HashMap::new();
    for line in &lines {
        let Some(delta) = Delta::of(&line.envelope) else {
            records.push(Record::Alone(line));
            continue;
        };
        let place = open.entry(delta.of.clone()).or_insert(records.len());
        if records.get_mut(*place).is_some_and(|record| record.join(line, &delta)) {
            continue;
        }
        *place = records.len();
        records.push(Record::Text(JoinedText::of(line, &delta)));
    }
    let mut body = Vec::with_capacity(blocks.iter().map(Vec::len).sum());
    for record in &records {
        record.write(&mut body);
    }
    let events = lines.iter().map(|line| line.events).sum();
    Ok(JoinedBlock { body, events })
}

/// A line of a block with the cuts that follow it, read and found to fit.
struct PackedLine<'a> {
    /// The line as it stands in the block.
    line: &'a str,
    envelope: Envelope,
    /// How the text is cut apart; empty for an event by itself.
    cuts: Vec<i64>,
    /// The number of events.
    events: u64,
    /// The bytes of the first delta; 0 for an event that is no delta.
    first_bytes: usize,
    last: LastDelta,
}

impl<'a> PackedLine<'a> {
    /// Reads a line, and the line of cuts that follows it, if there is one.
    fn parse(line: &'a str, cuts: Option<&str>) -> Result<Self, PackError> {
        let envelope = Envelope::parse(line)?;
        let delta = Delta::of(&envelope);
        let last = LastDelta::of(&envelope);
        let Some(cuts) = cuts else {
            let first_bytes = delta.map_or(0, |delta| delta.text.len());
            return Ok(Self { line, envelope, cuts: Vec::new(), events: 1, first_bytes, last });
        };
        let cuts: Vec<i64> = serde_json::from_str(cuts).ok().ok_or(PackError::Cuts)?;
        let (events, first_bytes, last) =
            delta.and_then(|delta| follow(delta.text, delta.off, &cuts, last)).ok_or(PackError::Cuts)?;
        Ok(Self { line, envelope, cuts, events, first_bytes, last })
    }
}

/// Follows the cuts of `text` from its first delta to its last: the number of deltas, the bytes of the first, and the last.
/// `None` if the cuts do not fit.
fn follow(
    text: &str,
    off: Option<u64>,
    cuts: &[i64],
    mut last: LastDelta,
) -> Option<(u64, usize, LastDelta)> {
    let width = if last.producer_at.is_some() { 4 } else { 3 };
    if cuts.is_empty() || !cuts.len().is_multiple_of(width) {
        return None;
    }
    let mut later: usize = 0;
    for step in cuts.chunks_exact(width) {
        later = later.checked_add(usize::try_from(*step.get(1)?).ok()?)?;
    }
    let first_bytes = text.len().checked_sub(later)?;
    off.unwrap_or(0).checked_add(text.len() as u64)?;
    let mut end = first_bytes;
    for step in cuts.chunks_exact(width) {
        if !text.is_char_boundary(end) {
            return None;
        }
        end += usize::try_from(*step.get(1)?).ok()?;
        last.seq = last.seq.checked_add_signed(*step.first()?)?;
        last.at = last.at.checked_add_signed(*step.get(2)?)?;
        if let Some(producer_at) = &mut last.producer_at {
            *producer_at = producer_at.checked_add_signed(*step.get(3)?)?;
        }
    }
    Some((1 + (cuts.len() / width) as u64, first_bytes, last))
}

/// One or two lines of the joined block.
enum Record<'a> {
    /// An event that nothing can be joined to.
    Alone(&'a PackedLine<'a>),
    /// Deltas of one text.
    Text(JoinedText<'a>),
}

/// Deltas of one text, from one block or several.
struct JoinedText<'a> {
    first: &'a PackedLine<'a>,
    /// What later lines add to the text of the first.
    more: String,
    cuts: Vec<i64>,
    /// Whether the deltas say offsets.
    has_offsets: bool,
    /// The offset at which the next delta must begin, if they do.
    end: Option<u64>,
    last: LastDelta,
}

impl<'a> JoinedText<'a> {
    fn of(line: &'a PackedLine<'a>, delta: &Delta<'_>) -> Self {
        Self {
            first: line,
            more: String::new(),
            cuts: line.cuts.clone(),
            has_offsets: delta.off.is_some(),
            end: delta.end(),
            last: line.last,
        }
    }

    /// Joins a line of the same text; `None` if it could not be cut off again.
    fn join(&mut self, line: &PackedLine<'_>, delta: &Delta<'_>) -> Option<()> {
        if delta.off != self.end || delta.off.is_some() != self.has_offsets {
            return None;
        }
        let step = self.last.step(&line.envelope, line.first_bytes)?;
        self.cuts.extend(step);
        self.cuts.extend(&line.cuts);
        self.more.push_str(delta.text);
        (self.end, self.last) = (delta.end(), line.last);
        Some(())
    }
}

impl Record<'_> {
    /// Joins a line of the same text; false if it could not be cut off again.
    fn join(&mut self, line: &PackedLine<'_>, delta: &Delta<'_>) -> bool {
        match self {
            Self::Alone(_) => false,
            Self::Text(text) => text.join(line, delta).is_some(),
        }
    }

    /// Appends the record to `block`.
    fn write(&self, block: &mut Vec<u8>) {
        let joined = match self {
            Self::Alone(line) => {
                block.extend_from_slice(line.line.as_bytes());
                return block.push(b'\n');
            }
            Self::Text(joined) => joined,
        };
        if joined.more.is_empty() {
            block.extend_from_slice(joined.first.line.as_bytes());
            block.push(b'\n');
        } else {
            let mut envelope = joined.first.envelope.clone();
            if let Some(text) = text_mut(&mut envelope.event.kind) {
                text.push_str(&joined.more);
            }
            write_line(&envelope, block);
        }
        if !joined.cuts.is_empty() {
            write_line(&joined.cuts, block);
        }
    }
}
