//! Conflation: what waits for a viewer, with the deltas of each text joined. The result folds to the same view
//! (invariant I5), whatever the cut; a merged delta has the seq, time and offset of its first.
//!
//! A delta may be joined with an earlier one of the same text when nothing between them speaks of that text: events
//! about other texts commute with it, events about its own part or call, and about its run as a whole, do not.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;

use crate::envelope::Envelope;
use crate::event::{Class, Event, Kind};
use crate::ids::{PartId, RunId, ToolCallId};

/// A text that deltas build.
#[derive(Clone, PartialEq, Eq, Hash)]
enum DeltaTarget {
    Part(PartId),
    Arguments(ToolCallId),
    Output(ToolCallId),
}

/// An envelope as it was, or several as one.
#[derive(Debug, Clone)]
pub enum Conflated {
    /// An envelope that was joined with no other.
    Same(Arc<Envelope>),
    /// Several deltas of one text.
    Merged(Box<Envelope>),
}

impl std::ops::Deref for Conflated {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        match self {
            Self::Same(envelope) => envelope,
            Self::Merged(envelope) => envelope,
        }
    }
}

/// A delta that more text can be joined to.
struct OpenDelta {
    /// The index of its envelope in the output.
    place: usize,
    /// The offset at which the next delta must start, in bytes.
    end: u64,
}

/// `envelopes` (in order, without holes) with the deltas of each text joined where that changes nothing.
pub fn conflate(envelopes: &[Arc<Envelope>]) -> Vec<Conflated> {
    let mut out: Vec<Conflated> = Vec::with_capacity(envelopes.len());
    let mut open: HashMap<RunId, HashMap<DeltaTarget, OpenDelta>> = HashMap::new();
    for envelope in envelopes {
        let event = &envelope.event;
        if event.kind.class() != Class::Mergeable {
            forget(&mut open, event);
            out.push(Conflated::Same(Arc::clone(envelope)));
            continue;
        }
        let Some((text, off, delta)) = delta_of(&event.kind) else { continue };
        let end = off.map(|off| off.saturating_add(delta.len() as u64));
        let texts = entry(&mut open, &event.run);
        if let DeltaTarget::Output(tool) = &text {
            // Output tells that the call runs, after which more arguments are an oddity: they must stay behind it.
            texts.remove(&DeltaTarget::Arguments(tool.clone()));
        }
        if let (Some(off), Some(known)) = (off, texts.get_mut(&text))
            && known.end == off
            && let Some(first) = out.get_mut(known.place)
            && first.event.agent == event.agent
        {
            append(first, delta);
            known.end = end.unwrap_or(known.end);
            continue;
        }
        if let Some(end) = end {
            texts.insert(text, OpenDelta { place: out.len(), end });
        } else {
            texts.remove(&text);
        }
        out.push(Conflated::Same(Arc::clone(envelope)));
    }
    out
}

fn entry<'a>(
    open: &'a mut HashMap<RunId, HashMap<DeltaTarget, OpenDelta>>,
    run: &RunId,
) -> &'a mut HashMap<DeltaTarget, OpenDelta> {
    open.entry(run.clone()).or_default()
}

/// The text, the offset and the bytes of a delta.
fn delta_of(kind: &Kind) -> Option<(DeltaTarget, Option<u64>, &str)> {
    match kind {
        Kind::PartDelta { part, off, text } => Some((DeltaTarget::Part(part.clone()), *off, text)),
        Kind::ToolArgs { tool, off, text } => Some((DeltaTarget::Arguments(tool.clone()), *off, text)),
        Kind::ToolOutput { tool, off, text } => Some((DeltaTarget::Output(tool.clone()), *off, text)),
        _ => None,
    }
}

/// After `event` nothing more may be joined to what it speaks of.
fn forget(open: &mut HashMap<RunId, HashMap<DeltaTarget, OpenDelta>>, event: &Event) {
    let Some(texts) = open.get_mut(&event.run) else { return };
    match &event.kind {
        Kind::PartStart { part, .. } | Kind::PartReplace { part, .. } => {
            texts.remove(&DeltaTarget::Part(part.clone()));
        }
        Kind::PartEnd(end) => {
            texts.remove(&DeltaTarget::Part(end.part.clone()));
        }
        Kind::ToolStart(start) => forget_tool(texts, &start.tool),
        Kind::ToolCall { tool, .. } => forget_tool(texts, tool),
        Kind::ToolState(change) => forget_tool(texts, &change.tool),
        Kind::ToolResult(result) => forget_tool(texts, &result.tool),
        Kind::ApprovalRequest { tool, .. } | Kind::ApprovalAnswer { tool, .. } => forget_tool(texts, tool),
        Kind::Status { .. } | Kind::ToolProgress(_) | Kind::Rate { .. } => {}
        // The rest touches the run as a whole, or could make it full: the order of items is at stake.
        _ => texts.clear(),
    }
}

fn forget_tool(texts: &mut HashMap<DeltaTarget, OpenDelta>, tool: &ToolCallId) {
    texts.remove(&DeltaTarget::Arguments(tool.clone()));
    texts.remove(&DeltaTarget::Output(tool.clone()));
}

/// Joins `delta` to `first`.
fn append(first: &mut Conflated, delta: &str) {
    if let Conflated::Same(envelope) = first {
        *first = Conflated::Merged(Box::new(Envelope::clone(envelope)));
    }
    let Conflated::Merged(envelope) = first else { return };
    if let Some(text) = text_mut(&mut envelope.event.kind) {
        text.push_str(delta);
    }
}

fn text_mut(kind: &mut Kind) -> Option<&mut CompactString> {
    match kind {
        Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
            Some(text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
