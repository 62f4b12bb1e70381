//! Budgets of tokens: how much money a token may spend at upstreams, in all or in each hour, day or month, and what
//! they have spent of it.
//!
//! ```text
//! 5usd/day    0.5eur/month    100usd
//! ```
//!
//! Periods begin by the clock and the calendar in UTC.

use std::fmt;
use std::str::FromStr;

use model::event::{Cost, Currency};
use serde::{Deserialize, Serialize};

mod spending;

pub use spending::{PERIODS_KEPT, Spending, Spent};

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
    /// From the creation of the token on, without an end.
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

#[cfg(test)]
mod tests;
