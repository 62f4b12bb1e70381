//! Packs events of one conversation into bytes and unpacks them, without loss: `unpack(pack(x)) == x`.
//!
//! A block is text. Each event is a line of JSON, in its form on the wire. The deltas of one text are joined
//! into one line, even if other events came between them, and the next line says how to cut them apart again:
//!
//! ```text
//! {"k":"part.delta","part":"p1","off":0,"text":"Revenue grew","run":"r1","seq":7,"at":1795300000000}
//! [2,5,31]          the second delta: its seq is 2 higher, it has the last 5 bytes, it came 31 ms later
//! ```
//!
//! If the publisher said when a delta happened, the delta has a fourth number: the step of that time. So
//! joining costs a few bytes for each delta and loses neither its seq nor its time, and a replay keeps the
//! original pace.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use compact_str::CompactString;
use model::event::{EventError, Kind};
use model::{AgentId, Envelope, PublisherId};

mod join;

pub(crate) use join::join;

/// Why bytes cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    /// The block is not UTF-8.
    #[error("the block is not text")]
    Text(#[from] std::str::Utf8Error),
    /// A line is not an event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A line of cuts does not fit the event before it.
    #[error("the cuts do not fit their text")]
    Cuts,
}

/// Packs `envelopes`, whose seqs must rise.
pub(crate) fn pack(envelopes: &[Arc<Envelope>]) -> Vec<u8> {
    let mut records: Vec<Record<'_>> = Vec::new();
    let mut open: HashMap<TextKey<'_>, usize> = HashMap::new();
    for envelope in envelopes {
        let Some(delta) = Delta::of(envelope) else {
            records.push(Record::Alone(envelope));
            continue;
        };
        let place = open.entry(delta.of.clone()).or_insert(records.len());
        if records.get_mut(*place).is_some_and(|record| record.join(envelope, &delta)) {
            continue;
        }
        *place = records.len();
        records.push(Record::Delta { first: envelope, end: delta.end() });
    }
    let mut block = Vec::new();
    for record in &records {
        record.write(&mut block);
    }
    block
}

/// Unpacks a block; the events are in order of seq. Fails for a block that is damaged anywhere: none of its
/// events are returned then.
pub(crate) fn unpack(block: &[u8]) -> Result<Vec<Envelope>, PackError> {
    let mut envelopes = Vec::new();
    let mut lines = std::str::from_utf8(block)?.lines().peekable();
    while let Some(line) = lines.next() {
        let envelope = Envelope::parse(line)?;
        match lines.next_if(|line| line.starts_with('[')) {
            Some(cuts) => split_joined(envelope, cuts, &mut envelopes).ok_or(PackError::Cuts)?,
            None => envelopes.push(envelope),
        }
    }
    envelopes.sort_by_key(|envelope| envelope.seq);
    Ok(envelopes)
}

/// What deltas must agree in to be joined: the text that they belong to, and who wrote it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TextKey<'a> {
    run: &'a str,
    /// Whether the text is a part's, a call's arguments or a call's output: ids of parts and calls may be
    /// equal.
    form: DeltaKind,
    /// The id of the part or the call.
    id: &'a str,
    agent: Option<&'a AgentId>,
    publisher: Option<&'a PublisherId>,
}

/// The kind of event that a delta is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum DeltaKind {
    /// Text of a part, `part.delta`.
    Part,
    /// Arguments of a call, `tool.args`.
    Arguments,
    /// Output of a call that still runs, `tool.output`.
    Output,
}

/// An event that adds to a text, taken apart.
struct Delta<'a> {
    /// The text that it belongs to.
    of: TextKey<'a>,
    /// The offset of the delta in bytes, if it says one.
    off: Option<u64>,
    /// The text that it adds.
    text: &'a CompactString,
}

impl<'a> Delta<'a> {
    /// Takes a delta apart; `None` for other events.
    fn of(envelope: &'a Envelope) -> Option<Self> {
        let event = &envelope.event;
        let (form, id, off, text) = match &event.kind {
            Kind::PartDelta { part, off, text } => (DeltaKind::Part, part.as_str(), off, text),
            Kind::ToolArgs { tool, off, text } => (DeltaKind::Arguments, tool.as_str(), off, text),
            Kind::ToolOutput { tool, off, text } => (DeltaKind::Output, tool.as_str(), off, text),
            _ => return None,
        };
        let (agent, publisher) = (event.agent.as_ref(), envelope.publisher.as_ref());
        Some(Self { of: TextKey { run: event.run.as_str(), form, id, agent, publisher }, off: *off, text })
    }

    /// The offset of the next delta of this text; `None` if offsets are not given.
    fn end(&self) -> Option<u64> {
        self.off.and_then(|off| off.checked_add(self.text.len() as u64))
    }
}

/// One line of a block, or two for joined deltas.
enum Record<'a> {
    /// An event that nothing can be joined to.
    Alone(&'a Envelope),
    /// A delta to which more can be joined; `end` is the offset at which the next one must begin.
    Delta { first: &'a Envelope, end: Option<u64> },
    /// Several deltas of one text.
    Joined(Box<Joined<'a>>),
}

/// Deltas that are written as one line and a line of cuts.
struct Joined<'a> {
    first: &'a Envelope,
    /// The newest delta, from which the next step is counted.
    last: &'a Envelope,
    /// The offset at which the next delta must begin; `None` if the deltas say no offsets.
    end: Option<u64>,
    /// The texts of all deltas, one after the other.
    text: CompactString,
    /// For each delta but the first: step of seq, length in bytes, step of time, and perhaps step of the
    /// publisher's time.
    cuts: Vec<i64>,
}

impl<'a> Record<'a> {
    /// Joins a delta of the same text; false if it could not be cut off again.
    fn join(&mut self, envelope: &'a Envelope, delta: &Delta<'a>) -> bool {
        let (last, end) = match self {
            Self::Alone(_) => return false,
            Self::Delta { first, end } => (*first, *end),
            Self::Joined(joined) => (joined.last, joined.end),
        };
        let off_known = Delta::of(last).is_some_and(|last| last.off.is_some());
        if delta.off != end || off_known != delta.off.is_some() {
            return false;
        }
        let Some(step) = LastDelta::of(last).step(envelope, delta.text.len()) else { return false };
        if let Self::Delta { first, end } = self {
            let Some(begun) = Delta::of(first) else { return false };
            let (text, cuts) = (begun.text.clone(), Vec::new());
            *self = Self::Joined(Box::new(Joined { first, last: first, end: *end, text, cuts }));
        }
        let Self::Joined(joined) = self else { return false };
        joined.cuts.extend(step);
        joined.text.push_str(delta.text);
        joined.last = envelope;
        joined.end = delta.end();
        true
    }

    /// Appends the record to `block`.
    fn write(&self, block: &mut Vec<u8>) {
        match self {
            Self::Alone(envelope) | Self::Delta { first: envelope, .. } => write_line(envelope, block),
            Self::Joined(joined) => {
                let mut envelope = joined.first.clone();
                if let Some(text) = text_mut(&mut envelope.event.kind) {
                    text.clone_from(&joined.text);
                }
                write_line(&envelope, block);
                write_line(&joined.cuts, block);
            }
        }
    }
}

/// The newest delta of a text, from which the step to the next is counted.
#[derive(Clone, Copy)]
struct LastDelta {
    seq: u64,
    at: u64,
    producer_at: Option<u64>,
}

impl LastDelta {
    fn of(envelope: &Envelope) -> Self {
        Self { seq: envelope.seq, at: envelope.at, producer_at: envelope.producer_at }
    }

    /// The numbers from which `next`, whose text has `bytes`, is rebuilt after this one; `None` if they do not fit into 64
    /// bits, or if only one of the two says when its publisher made it.
    fn step(&self, next: &Envelope, bytes: usize) -> Option<impl Iterator<Item = i64> + use<>> {
        let seq = between(self.seq, next.seq)?;
        let at = between(self.at, next.at)?;
        let producer_at = match (self.producer_at, next.producer_at) {
            (None, None) => None,
            (Some(from), Some(to)) => Some(between(from, to)?),
            _ => return None,
        };
        let bytes = i64::try_from(bytes).ok()?;
        Some([seq, bytes, at].into_iter().chain(producer_at))
    }
}

/// The signed step from one number to another; `None` if it does not fit.
fn between(from: u64, to: u64) -> Option<i64> {
    i64::try_from(i128::from(to) - i128::from(from)).ok()
}

/// The text of a delta.
fn text_mut(kind: &mut Kind) -> Option<&mut CompactString> {
    match kind {
        Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
            Some(text)
        }
        _ => None,
    }
}

/// The offset of a delta, if it has one.
fn off_mut(kind: &mut Kind) -> Option<&mut u64> {
    match kind {
        Kind::PartDelta { off, .. } | Kind::ToolArgs { off, .. } | Kind::ToolOutput { off, .. } => {
            off.as_mut()
        }
        _ => None,
    }
}

/// Appends `value` as a line of JSON.
fn write_line<T: serde::Serialize>(value: &T, block: &mut Vec<u8>) {
    // Events contain nothing that cannot be written, and writing to memory cannot fail.
    drop(serde_json::to_writer(&mut *block, value));
    drop(block.write_all(b"\n"));
}

/// Cuts a joined event into its deltas; `None` if the cuts do not fit. On `None`, some of the deltas may have
/// been added to `envelopes` already; the caller then drops the block.
fn split_joined(joined: Envelope, cuts: &str, envelopes: &mut Vec<Envelope>) -> Option<()> {
    let numbers: Vec<i64> = serde_json::from_str(cuts).ok()?;
    let width = if joined.producer_at.is_some() { 4 } else { 3 };
    if numbers.is_empty() || !numbers.len().is_multiple_of(width) {
        return None;
    }
    let mut delta = joined;
    let whole = std::mem::take(text_mut(&mut delta.event.kind)?);
    let mut later = 0_usize;
    for step in numbers.chunks_exact(width) {
        later = later.checked_add(usize::try_from(*step.get(1)?).ok()?)?;
    }
    let (first, mut rest) = whole.split_at_checked(whole.len().checked_sub(later)?)?;
    *text_mut(&mut delta.event.kind)? = CompactString::from(first);
    let mut before = first.len() as u64;
    for step in numbers.chunks_exact(width) {
        let (text, tail) = rest.split_at_checked(usize::try_from(*step.get(1)?).ok()?)?;
        rest = tail;
        let mut next = delta.clone();
        next.seq = next.seq.checked_add_signed(*step.first()?)?;
        next.at = next.at.checked_add_signed(*step.get(2)?)?;
        if let Some(producer_at) = &mut next.producer_at {
            *producer_at = producer_at.checked_add_signed(*step.get(3)?)?;
        }
        if let Some(off) = off_mut(&mut next.event.kind) {
            *off = off.checked_add(before)?;
        }
        before = text.len() as u64;
        *text_mut(&mut next.event.kind)? = CompactString::from(text);
        envelopes.push(std::mem::replace(&mut delta, next));
    }
    envelopes.push(delta);
    Some(())
}

#[cfg(test)]
mod tests;
