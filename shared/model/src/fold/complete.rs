//! What the hub adds to an event before it logs it, from the view that the event will be folded onto.

use compact_str::CompactString;

use crate::anomaly::{Anomaly, AnomalyCode};
use crate::event::{Event, Kind};
use crate::view::{PartView, RunView, Streamed, View};

/// Fills in what the publisher left out: the offset of a delta, the length and hash at the end of a part. Those two are
/// always the view's own, whatever the publisher said, so that a viewer for whom they do not hold knows that it is the
/// viewer who is wrong. Call it with the view as it is before the event.
pub fn complete(view: &View, event: &mut Event) {
    let run = view.runs.get(&event.run);
    match &mut event.kind {
        Kind::PartDelta { part, off, .. } if off.is_none() => {
            *off = Some(len(run.and_then(|run| run.parts.get(part)).map(|part| &part.body)));
        }
        Kind::ToolArgs { tool, off, .. } if off.is_none() => {
            *off = Some(len(run.and_then(|run: &RunView| run.tools.get(tool)).map(|tool| &tool.arguments)));
        }
        Kind::ToolOutput { tool, off, .. } if off.is_none() => {
            *off = Some(len(run.and_then(|run: &RunView| run.tools.get(tool)).map(|tool| &tool.output)));
        }
        Kind::PartEnd(end) => {
            let (len, hash) = told(run.and_then(|run| run.parts.get(&end.part)));
            end.len = Some(len);
            end.hash = Some(hash);
        }
        _ => {}
    }
}

/// What is odd about `event`, of which [`complete`] leaves no trace: the end of a part with another length or hash than
/// its text has. The hub logs it in front of the event.
pub fn mismatch(view: &View, event: &Event) -> Option<Event> {
    let Kind::PartEnd(end) = &event.kind else { return None };
    if end.len.is_none() && end.hash.is_none() {
        return None;
    }
    let run = view.runs.get(&event.run);
    let (len, hash) = told(run.and_then(|run| run.parts.get(&end.part)));
    let fits = end.len.is_none_or(|said| said == len) && end.hash.as_ref().is_none_or(|said| *said == hash);
    let anomaly = Anomaly { code: AnomalyCode::PartMismatch, detail: end.part.to_string() };
    (!fits).then(|| Event::new(&event.run, Kind::Anomaly(anomaly)))
}

/// What is to be said at the end of `part`. One that is not there yet is there with its end, and empty.
fn told(part: Option<&PartView>) -> (u64, CompactString) {
    let empty = Streamed::default();
    let body = part.map_or(&empty, |part| &part.body);
    (body.len, body.hash_hex().into())
}

fn len(text: Option<&Streamed>) -> u64 {
    text.map_or(0, |text| text.len)
}
