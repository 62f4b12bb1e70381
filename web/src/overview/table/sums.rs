//! What the rows of the table are together.

use model::event::{Cost, RunStatus};
use model::frame::ConversationRow;

use crate::format;

/// Sums over some rows. Nothing in them depends on the time, so they are right until one of the rows changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowSums {
    /// The number of rows.
    count: u64,
    /// The number of rows whose newest run goes on.
    running: u64,
    /// The number of rows that wait for a person's approval or are stalled.
    needy: u64,
    /// The tokens of all runs.
    tokens: u64,
    /// The money, one amount for each currency, in the order of their names.
    costs: Vec<Cost>,
}

impl RowSums {
    /// The sums of `rows`.
    pub fn of<'a>(rows: impl Iterator<Item = &'a ConversationRow>) -> Self {
        let mut sums = Self::default();
        for row in rows {
            sums.add(row);
        }
        sums
    }

    fn add(&mut self, row: &ConversationRow) {
        let is_running = row.state == Some(RunStatus::Running);
        self.count = self.count.saturating_add(1);
        self.running = self.running.saturating_add(u64::from(is_running));
        let is_needy = row.approvals > 0 || (is_running && row.stalled);
        self.needy = self.needy.saturating_add(u64::from(is_needy));
        if let Some(usage) = row.usage {
            self.tokens = self.tokens.saturating_add(usage.tokens());
            self.pay(usage.cost);
        }
    }

    /// Adds the sums of other rows.
    pub(super) fn plus(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.running = self.running.saturating_add(other.running);
        self.needy = self.needy.saturating_add(other.needy);
        self.tokens = self.tokens.saturating_add(other.tokens);
        for cost in &other.costs {
            self.pay(Some(*cost));
        }
    }

    fn pay(&mut self, cost: Option<Cost>) {
        let Some(cost) = cost else { return };
        let name = |cost: &Cost| cost.currency().as_str().to_owned();
        if let Some(known) = self.costs.iter_mut().find(|known| known.currency() == cost.currency()) {
            *known = known.plus(cost);
        } else {
            self.costs.push(cost);
            self.costs.sort_by_key(name);
        }
    }

    /// The sums in words: how many rows of the hub's `total`, how many of them run and need somebody, tokens and money.
    pub fn words(&self, total: u64) -> String {
        let mut words = vec![format!(
            "{} of {} conversations",
            format::grouped(self.count),
            format::grouped(total.max(self.count))
        )];
        words.extend((self.running > 0).then(|| format!("{} running", format::grouped(self.running))));
        words.extend((self.needy > 0).then(|| {
            let verb = if self.needy == 1 { "needs" } else { "need" };
            format!("{} {verb} you", format::grouped(self.needy))
        }));
        if self.tokens > 0 {
            words.push(format!("{} tokens", format::count(self.tokens)));
            words.extend(self.costs.iter().copied().map(format::cost));
        }
        words.join(" · ")
    }
}
