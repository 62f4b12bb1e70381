//! What sub-agents use. The result of a run tells only its sum, so what is found here is told for the agents alone. Lines of
//! one message repeat its tokens, most of them as they were when it began: the highest counts are the newest.

use compact_str::CompactString;

use super::work::{ClaudeStream, SYNTHETIC};
use crate::anthropic::AnthropicTokens;
use crate::field::ForeignField;
use model::event::Usage;

/// The tokens of one agent.
#[derive(Debug, Default)]
pub(super) struct AgentTokens {
    /// The message that is told.
    message: CompactString,
    counts: AnthropicTokens,
    /// The messages before it.
    before: Option<Usage>,
}

/// What a line says about the tokens of a message; without an id it is of the message before.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineUsage<'a> {
    pub(super) message: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) usage: ForeignField<'a>,
}

impl AgentTokens {
    fn total(&self) -> Option<Usage> {
        self.before.into_iter().chain(self.counts.usage()).reduce(Usage::plus)
    }
}

impl ClaudeStream {
    /// Counts what the agent of the call `by` used; nothing for the main one.
    pub(super) fn used(&mut self, by: &str, used: LineUsage<'_>) {
        let (run, id) = (self.runs, used.message);
        let Some(agent) = self.agents.get_mut(by).filter(|agent| agent.run == run) else { return };
        let tally = &mut agent.tally;
        if !id.is_empty() && tally.message != id {
            if self.seen.again(&["tokens", by, id]) {
                return;
            }
            tally.before = tally.total();
            (tally.message, tally.counts) = (CompactString::new(id), AnthropicTokens::default());
        }
        tally.counts.raise(used.usage);
        if let Some(total) = tally.total() {
            self.writer.spent(&agent.id, total, used.model.filter(|model| *model != SYNTHETIC));
        }
    }
}
