//! Budgets of tokens: how much money a token may spend at upstreams, in all or in each hour, day or month, and what
//! they have spent of it.
//!
//! ```text
//! 5usd/day    0.5eur/month    100usd
//! ```
//!
//! Periods begin by the clock and the calendar in UTC. What was spent is kept in a file:
//!
//! ```json
//! {"version": 1, "spent": {"9f2c…": {"since": 1795651200000, "cost": {"amount": "1.25", "currency": "USD"}, "calls": 14, "estimated": 2}}}
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use model::event::{Cost, Currency};
use serde::{Deserialize, Serialize};

use crate::secret::Hash;
use crate::tokens::Tokens;

/// The version of the file format.
const VERSION: u32 = 1;

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// The time in which a budget may be spent once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetPeriod {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From the first of a month to the first of the next.
    Month,
    /// As long as the token is there.
    Ever,
}

impl BudgetPeriod {
    /// All of them, with the words for them; the last one has none.
    const ALL: [(Self, &'static str); 4] =
        [(Self::Hour, "hour"), (Self::Day, "day"), (Self::Month, "month"), (Self::Ever, "")];

    /// When the period began in which `now` is. Both are in milliseconds since 1970.
    pub fn began(self, now: u64) -> u64 {
        let day = now / DAY_MS;
        match self {
            Self::Hour => now - now % (DAY_MS / 24),
            Self::Day => day * DAY_MS,
            Self::Month => month_of(day).0 * DAY_MS,
            Self::Ever => 0,
        }
    }

    /// When the next period begins after `now`; `None` if there is none.
    pub fn next(self, now: u64) -> Option<u64> {
        let began = self.began(now);
        Some(match self {
            Self::Hour => began + DAY_MS / 24,
            Self::Day => began + DAY_MS,
            Self::Month => month_of(now / DAY_MS).1 * DAY_MS,
            Self::Ever => return None,
        })
    }

    /// The word for it.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(period, _)| *period == self).map_or("", |(_, word)| word)
    }
}

/// The first day of the month in which `day` is, and of the next month. Days are counted from the first of 1970.
fn month_of(day: u64) -> (u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats itself every 400 years, which have 146,097 days.
    let mut left = day % 146_097;
    let mut year = 1970;
    loop {
        let february = if is_leap(year) { 29 } else { 28 };
        for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if left < days {
                return (day - left, day - left + days);
            }
            left -= days;
        }
        year += 1;
    }
}

/// How much money may be spent in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Budget {
    /// The money. A token that has spent as much is refused.
    pub limit: Cost,
    /// The time after which it begins anew.
    pub period: BudgetPeriod,
}

/// A text is no budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a budget: money and its currency, and perhaps hour, day or month, such as 5usd/day or 100usd for all time"
)]
pub struct BudgetError(String);

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let wrong = || BudgetError(text.chars().take(100).collect());
        let (money, word) =
            text.split_once('/').map_or((text, None), |(money, word)| (money, Some(word.trim())));
        let money = money.trim();
        let at = money.find(|sign: char| sign.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (amount, code) = money.split_at_checked(at).ok_or_else(wrong)?;
        let currency = Currency::parse(&code.trim().to_ascii_uppercase()).ok_or_else(wrong)?;
        let limit =
            Cost::parse(amount.trim(), currency).filter(|limit| limit.picos() > 0).ok_or_else(wrong)?;
        let named =
            |word: &str| BudgetPeriod::ALL.iter().find(|(_, known)| !known.is_empty() && *known == word);
        let period = match word {
            None => BudgetPeriod::Ever,
            Some(word) => named(&word.to_ascii_lowercase()).ok_or_else(wrong)?.0,
        };
        Ok(Self { limit, period })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let currency = self.limit.currency().as_str().to_ascii_lowercase();
        match self.period {
            BudgetPeriod::Ever => write!(f, "{}{}", self.limit.amount(), currency),
            period => write!(f, "{}{}/{}", self.limit.amount(), currency, period.word()),
        }
    }
}

impl TryFrom<String> for Budget {
    type Error = BudgetError;

    fn try_from(text: String) -> Result<Self, BudgetError> {
        text.parse()
    }
}

impl From<Budget> for String {
    fn from(budget: Budget) -> Self {
        budget.to_string()
    }
}

/// What a token has spent in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// When the period began, in milliseconds since 1970; 0 for a budget without a period.
    pub since: u64,
    /// The money.
    pub cost: Cost,
    /// The number of calls that were counted.
    pub calls: u64,
    /// Of these, those whose cost was estimated.
    pub estimated: u64,
}

/// What tokens have spent, by the hashes of the tokens. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending(BTreeMap<Hash, Spent>);

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    /// The version of the format, [`VERSION`].
    version: u32,
    /// What was spent.
    spent: T,
}

impl Spending {
    /// Reads a file. Fails for what is none, with the reason.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File<BTreeMap<Hash, Spent>> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.version != VERSION {
            return Err(format!("its version is {}, and this hub knows {VERSION}", file.version));
        }
        Ok(Self(file.spent))
    }

    /// The text of the file.
    pub fn written(&self) -> String {
        // Serializing hashes, numbers and texts cannot fail.
        let mut text =
            serde_json::to_string_pretty(&File { version: VERSION, spent: &self.0 }).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What a token has spent of `budget` in the period in which `now` is. Nothing of what was spent in another currency.
    pub fn of(&self, token: &Hash, budget: &Budget, now: u64) -> Spent {
        let since = budget.period.began(now);
        let is_now =
            |spent: &&Spent| spent.since >= since && spent.cost.currency() == budget.limit.currency();
        let nothing = Spent { since, cost: Cost::new(0, budget.limit.currency()), calls: 0, estimated: 0 };
        self.0.get(token).filter(is_now).copied().unwrap_or(nothing)
    }

    /// Counts a call of a token at `now`: what it cost, and whether that is estimated.
    pub fn add(&mut self, token: &Hash, budget: &Budget, (cost, is_estimated): (Cost, bool), now: u64) {
        let mut spent = self.of(token, budget, now);
        spent.cost = spent.cost.plus(cost);
        spent.calls = spent.calls.saturating_add(1);
        spent.estimated = spent.estimated.saturating_add(u64::from(is_estimated));
        self.0.insert(*token, spent);
    }

    /// Forgets what was spent by tokens that are not among `tokens`.
    pub fn keep(&mut self, tokens: &Tokens) {
        self.0.retain(|token, _| tokens.find(token).is_some());
    }
}

#[cfg(test)]
mod tests;
