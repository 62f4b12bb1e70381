//! What tokens have spent of their budgets, and the file in which it is kept:
//!
//! ```json
//! {"version": 2, "spent": {"9f2c…": [{"since": 1795651200000, "cost": {"amount": "1.25", "currency": "USD"}, "calls": 14, "estimated": 2}]}}
//! ```
//!
//! Version 1 had one period of each token, without the brackets; it is read too.

use std::collections::BTreeMap;

use model::event::Cost;
use serde::{Deserialize, Serialize};

use super::Budget;
use crate::secret::Hash;
use crate::tokens::Tokens;

/// The version of the file format.
const VERSION: u32 = 2;

/// The newest periods that are kept of each token and currency: the present one, and the one before for hubs whose clock is behind. What was
/// spent without a period is kept beside them.
pub const PERIODS_KEPT: usize = 2;

/// What a token has spent in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// When the period began, in milliseconds since 1970; 0 for a budget without a period.
    pub since: u64,
    /// The money that was spent.
    pub cost: Cost,
    /// The number of calls that were counted.
    pub calls: u64,
    /// How many of `calls` have an estimated cost.
    pub estimated: u64,
}

impl Spent {
    /// Whether both are of the same period and currency.
    fn is_beside(&self, other: &Self) -> bool {
        self.since == other.since && self.cost.currency() == other.cost.currency()
    }
}

/// What each token has spent in its newest periods, by the hash of the token and by currency. Methods take the time in milliseconds since
/// 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending(BTreeMap<Hash, Vec<Spent>>);

/// The content of the file of spending.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    /// The version of the format.
    version: u32,
    /// What each token has spent.
    spent: T,
}

/// What a file has of one token.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Periods(Vec<Spent>),
    /// One period alone, as version 1 wrote it.
    Period(Spent),
}

impl Spending {
    /// Reads a file. Fails for what is none, with the reason.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File<BTreeMap<Hash, Entry>> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !(1..=VERSION).contains(&file.version) {
            return Err(format!("its version is {}, and this hub knows {VERSION}", file.version));
        }
        let mut read = Self::default();
        for (token, entry) in file.spent {
            let periods = match entry {
                Entry::Periods(periods) => periods,
                Entry::Period(period) => vec![period],
            };
            for spent in periods {
                read.join(token, spent);
            }
        }
        Ok(read)
    }

    /// The text of the file.
    pub fn written(&self) -> String {
        // Serializing hashes, numbers and texts cannot fail.
        let mut text =
            serde_json::to_string_pretty(&File { version: VERSION, spent: &self.0 }).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What a token has spent of `budget` in the period in which `now` is, or in a later one, should the clock have been put back. Nothing of
    /// what was spent in another currency.
    pub fn of(&self, token: &Hash, budget: &Budget, now: u64) -> Spent {
        let since = budget.period.began(now);
        let is_now =
            |spent: &&Spent| spent.since >= since && spent.cost.currency() == budget.limit.currency();
        let newest = self.0.get(token).into_iter().flatten().filter(is_now).max_by_key(|spent| spent.since);
        let nothing = Spent { since, cost: Cost::new(0, budget.limit.currency()), calls: 0, estimated: 0 };
        newest.copied().unwrap_or(nothing)
    }

    /// Counts a call of a token at `now`: what it cost, and whether that is estimated. Returns that as what was spent in one period.
    pub fn add(
        &mut self,
        token: &Hash,
        budget: &Budget,
        (cost, is_estimated): (Cost, bool),
        now: u64,
    ) -> Spent {
        let known = self.of(token, budget, now);
        let cost = Cost::new(0, known.cost.currency()).plus(cost);
        let more = Spent { since: known.since, cost, calls: 1, estimated: u64::from(is_estimated) };
        self.join(*token, more);
        more
    }

    /// What each token has spent, each period and currency by itself.
    pub fn all(&self) -> impl Iterator<Item = (&Hash, &Spent)> {
        self.0.iter().flat_map(|(token, periods)| periods.iter().map(move |spent| (token, spent)))
    }

    /// Whether nothing was spent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets what a token has spent.
    pub fn forget(&mut self, token: &Hash) {
        self.0.remove(token);
    }

    /// Adds what was spent elsewhere to the same period and currency. Of each currency the newest [`PERIODS_KEPT`] stay.
    pub fn join(&mut self, token: Hash, more: Spent) {
        let periods = self.0.entry(token).or_default();
        match periods.iter_mut().find(|known| known.is_beside(&more)) {
            Some(known) => {
                known.cost = known.cost.plus(more.cost);
                known.calls = known.calls.saturating_add(more.calls);
                known.estimated = known.estimated.saturating_add(more.estimated);
            }
            None => periods.push(more),
        }
        periods.sort_by_key(|spent| std::cmp::Reverse(spent.since));
        let mut kept = 0;
        periods.retain(|spent| {
            let is_of_it = spent.since > 0 && spent.cost.currency() == more.cost.currency();
            kept += usize::from(is_of_it);
            !is_of_it || kept <= PERIODS_KEPT
        });
    }

    /// Takes away what is in `told`, of which the same and more was added here before.
    pub fn subtract(&mut self, told: &Self) {
        for (token, less) in told.all() {
            let Some(periods) = self.0.get_mut(token) else { continue };
            if let Some(known) = periods.iter_mut().find(|known| known.is_beside(less)) {
                let left = known.cost.picos().saturating_sub(less.cost.picos());
                known.cost = Cost::new(left, known.cost.currency());
                known.calls = known.calls.saturating_sub(less.calls);
                known.estimated = known.estimated.saturating_sub(less.estimated);
            }
            periods.retain(|spent| spent.calls > 0);
            if periods.is_empty() {
                self.0.remove(token);
            }
        }
    }

    /// Forgets what was spent by tokens that are not among `tokens`.
    pub fn keep(&mut self, tokens: &Tokens) {
        self.0.retain(|token, _| tokens.find(token).is_some());
    }
}
