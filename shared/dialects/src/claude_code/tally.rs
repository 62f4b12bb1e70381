//! The tokens of sub-agents. The result of a run has only the sum of all, so what is found here is written
//! for the agents alone. Lines of one message repeat its tokens, most of them as they were when it began: the
//! highest counts are the newest.

use compact_str::CompactString;

use super::work::{ClaudeStream, SYNTHETIC};
use crate::anthropic::AnthropicTokens;
use crate::field::ForeignField;
use model::event::Usage;

/// The tokens of one agent.
#[derive(Debug, Default)]
pub(super) struct AgentTokens {
    /// The id of the message that is received.
    message: CompactString,
    /// The tokens of the agent so far.
    counts: AnthropicTokens,
    /// The tokens of the messages before it.
    before: Option<Usage>,
}

/// The tokens of a message as a line has them; without an id it is the message of the line before.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineUsage<'a> {
    pub(super) message: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) usage: ForeignField<'a>,
}

impl AgentTokens {
    /// The tokens of all messages; nothing before the first count.
    fn total(&self) -> Option<Usage> {
        self.before.into_iter().chain(self.counts.usage()).reduce(Usage::plus)
    }
}

impl ClaudeStream {
    /// Counts what the sub-agent of the call `by` used, in the highest counts of each message. Nothing is
    /// counted for the main agent.
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
            self.writer.set_agent_usage(&agent.id, total, used.model.filter(|model| *model != SYNTHETIC));
        }
    }
}
