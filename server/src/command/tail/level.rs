//! How much of a conversation passes, at each level.

use std::collections::BTreeMap;

use shared::event::Class;
use shared::{Envelope, Event, Kind, PartId, RunId, Seq, View};

use crate::args::Level;

/// Most parts of which the first seq is remembered; of others the whole text stands at the seq of its end.
const OPEN_PARTS_MAX: usize = 1_000;

/// Lets through what a level is about.
#[derive(Debug)]
pub(super) struct Filter {
    level: Level,
    /// For each part that is being written, the seq of its first delta.
    open: BTreeMap<(RunId, PartId), Seq>,
}

impl Filter {
    pub(super) fn new(level: Level) -> Self {
        Self { level, open: BTreeMap::new() }
    }

    /// The view was replaced.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// What becomes of `envelope`, whose event is in `view`.
    pub(super) fn pass(&mut self, envelope: Envelope, view: &View) -> impl Iterator<Item = Envelope> {
        let (before, itself) = match self.level {
            Level::Deltas => (None, Some(envelope)),
            Level::Critical => (None, critical(envelope)),
            Level::Parts => self.whole(envelope, view),
        };
        before.into_iter().chain(itself)
    }

    /// Before the end of a part its whole text, as one delta; with a call its whole arguments.
    fn whole(&mut self, mut envelope: Envelope, view: &View) -> (Option<Envelope>, Option<Envelope>) {
        let run = &envelope.event.run;
        match &mut envelope.event.kind {
            Kind::PartDelta { part, .. } => {
                if self.open.len() < OPEN_PARTS_MAX {
                    self.open.entry((run.clone(), part.clone())).or_insert(envelope.seq);
                }
                (None, None)
            }
            Kind::PartEnd(end) => {
                let first = self.open.remove(&(run.clone(), end.part.clone())).unwrap_or(envelope.seq);
                let text =
                    view.runs.get(run).and_then(|run| run.parts.get(&end.part)).map(|part| &part.body.text);
                let kind = text.filter(|text| !text.is_empty()).map(|text| Kind::PartDelta {
                    part: end.part.clone(),
                    off: Some(0),
                    text: text.as_str().into(),
                });
                let agent = envelope.event.agent.clone();
                let delta = kind.map(|kind| Envelope {
                    event: Event { kind, run: run.clone(), agent },
                    seq: first,
                    ..envelope.clone()
                });
                (delta, Some(envelope))
            }
            Kind::ToolCall { tool, arguments, .. } => {
                if arguments.is_none() {
                    let call = view.runs.get(run).and_then(|run| run.tools.get(tool));
                    *arguments = call.map(|call| call.arguments.text.clone());
                }
                (None, Some(envelope))
            }
            _ => (None, critical(envelope)),
        }
    }
}

fn critical(envelope: Envelope) -> Option<Envelope> {
    (envelope.event.kind.class() == Class::Critical).then_some(envelope)
}

#[cfg(test)]
mod tests;
