//! What the hub adds to an event before it logs it, from the view that the event will be folded onto.

use crate::event::{Event, Kind};
use crate::view::{RunView, Streamed, View};

/// Fills in what the publisher left out: the offset of a delta, the length and hash at the end of a part. Call it with
/// the view as it is before the event.
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
            if let Some(part) = run.and_then(|run| run.parts.get(&end.part)) {
                end.len.get_or_insert(part.body.len);
                end.hash.get_or_insert_with(|| part.body.hash_hex().into());
            }
        }
        _ => {}
    }
}

fn len(text: Option<&Streamed>) -> u64 {
    text.map_or(0, |text| text.len)
}
