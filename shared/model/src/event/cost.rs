//! Money, exactly: whole billionths of a thousandth, no fractions that do not add up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Decimal places that an amount has: a token of a price with six of them for each million is whole.
const PLACES: usize = 12;

/// One unit of a currency, in the smallest amount.
const UNIT: u64 = 1_000_000_000_000;

/// The code of a currency: three capital letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Dollars of the United States, in which most vendors count.
    pub const USD: Self = Self(*b"USD");

    /// The currency with that code; nothing where it is none.
    pub fn parse(code: &str) -> Option<Self> {
        let letters: [u8; 3] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }

    /// The code as text, for example `EUR`.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// An amount of money, in 10⁻¹² of its currency. What is more than 18 million units is that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "CostShape", try_from = "CostShape")]
pub struct Cost {
    picos: u64,
    currency: Currency,
}

/// A cost as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Cost"))]
pub(crate) struct CostShape {
    /// The amount in decimal digits: `"0.0123"`.
    amount: String,
    /// The code of the currency, three capital letters.
    currency: String,
}

/// The error for a text that is no amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{amount:?} of {currency:?} is no amount of money")]
pub struct CostError {
    amount: String,
    currency: String,
}

impl Cost {
    /// So many 10⁻¹² of `currency`.
    pub fn new(picos: u64, currency: Currency) -> Self {
        Self { picos, currency }
    }

    /// What `amount` says in decimal digits; places that are too small to count are left out. Nothing where it is no amount.
    pub fn parse(amount: &str, currency: Currency) -> Option<Self> {
        let (whole, places) = amount.split_once('.').unwrap_or((amount, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && places.is_empty()) || !is_number(whole) || !is_number(places) {
            return None;
        }
        let digits: String = places.chars().chain(std::iter::repeat('0')).take(PLACES).collect();
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let picos = whole.checked_mul(UNIT)?.checked_add(digits.parse().ok()?)?;
        Some(Self { picos, currency })
    }

    /// What a number means that a vendor counts its money in; nothing where it is none.
    pub fn of_number(amount: f64, currency: Currency) -> Option<Self> {
        // The shortest text that means this number is what the vendor wrote.
        Self::parse(&amount.to_string(), currency)
    }

    /// The amount, in 10⁻¹² of the currency.
    pub fn picos(&self) -> u64 {
        self.picos
    }

    /// The currency of the amount.
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// The amount in decimal digits, without trailing zeros.
    pub fn amount(&self) -> String {
        let (whole, places) = (self.picos / UNIT, self.picos % UNIT);
        let text = format!("{whole}.{places:012}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// The sum, in the currency of `self`. An amount in another currency cannot be added and is left out.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let more = if other.currency == self.currency { other.picos } else { 0 };
        Self { picos: self.picos.saturating_add(more), ..self }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.currency.as_str())
    }
}

impl From<Cost> for CostShape {
    fn from(cost: Cost) -> Self {
        Self { amount: cost.amount(), currency: cost.currency.as_str().to_owned() }
    }
}

impl TryFrom<CostShape> for Cost {
    type Error = CostError;

    fn try_from(shape: CostShape) -> Result<Self, Self::Error> {
        let CostShape { amount, currency } = shape;
        let known = Currency::parse(&currency).and_then(|known| Self::parse(&amount, known));
        known.ok_or(CostError { amount, currency })
    }
}

#[cfg(test)]
mod tests;
