//! What sub-agents use. The result of a run tells only its sum, so what is found here is told for the agents alone. Lines of
//! one message repeat its tokens, most of them as they were when it began: the highest counts are the newest.

use compact_str::CompactString;

use super::work::{SYNTHETIC, Work};
use crate::anthropic::Counts;
use crate::field::Field;
use model::event::Usage;

/// The tokens of one agent.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The message that is told.
    message: CompactString,
    counts: Counts,
    /// The messages before it.
    before: Option<Usage>,
}

/// What a line says about the tokens of a message; without an id it is of the message before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used<'a> {
    pub(super) message: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) usage: Field<'a>,
}

impl Tally {
    fn total(&self) -> Option<Usage> {
        self.before.into_iter().chain(self.counts.usage()).reduce(Usage::plus)
    }
}

impl Work {
    /// Counts what the agent of the call `by` used; nothing for the main one.
    pub(super) fn used(&mut self, by: &str, used: Used<'_>) {
        let (run, id) = (self.runs, used.message);
        let Some(agent) = self.agents.get_mut(by).filter(|agent| agent.run == run) else { return };
        let tally = &mut agent.tally;
        if !id.is_empty() && tally.message != id {
            if self.seen.again(&["tokens", by, id]) {
                return;
            }
            tally.before = tally.total();
            (tally.message, tally.counts) = (CompactString::new(id), Counts::default());
        }
        tally.counts.raise(used.usage);
        if let Some(total) = tally.total() {
            self.writer.spent(&agent.id, total, used.model.filter(|model| *model != SYNTHETIC));
        }
    }
}
