//! Prices of tokens: `price = { input = 2.5, output = 10 }` of an agent, and the tables `[prices."MODEL"]`.

use model::event::{Cost, Currency};
use model::price::Price;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of 10⁻¹² units of a currency in a millionth of it.
const MICRO: u64 = 1_000_000;

/// The highest price of a million tokens, in millionths of the currency.
const PRICE_MAX: u64 = 1_000_000 * MICRO;

/// Prices of a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceSettings {
    /// Tokens that the model reads.
    input: MillionthsAmount,
    /// Tokens that the model writes.
    output: MillionthsAmount,
    /// Tokens that it reads from a cache, if they are cheaper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached_input: Option<MillionthsAmount>,
    /// Reasoning tokens, if they have a different price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<MillionthsAmount>,
    /// The currency: three capital letters; USD if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

/// An amount in millionths, exactly as written, as a number or a text. A number with a point is read as a
/// float, whose shortest text is what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MillionthsAmount(u64);

impl PriceSettings {
    /// Converts the prices; the error says what is wrong.
    pub(crate) fn price(&self) -> Result<Price, String> {
        let currency = match &self.currency {
            None => Currency::USD,
            Some(code) => Currency::parse(code).ok_or_else(|| {
                format!("the currency of a price is three capital letters (USD, EUR), and {code:?} is not")
            })?,
        };
        let (input, output) = (self.input.0, self.output.0);
        let cached = self.cached_input.map_or(input, |cached| cached.0);
        let reasoning = self.reasoning.map_or(output, |reasoning| reasoning.0);
        Ok(Price { input, output, cached, reasoning, currency })
    }
}

impl MillionthsAmount {
    /// Parses an amount of at most six decimal places. Fails for negative amounts, more places and prices
    /// above a million.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "a price is money for a million tokens, of at most six decimal places and no more than a million, and {text} is not"
            )
        };
        let picos = Cost::parse(text.trim(), Currency::USD).ok_or_else(wrong)?.picos();
        let places = text.trim().split_once('.').map_or(0, |(_, places)| places.len());
        if places > 6 || picos / MICRO > PRICE_MAX {
            return Err(wrong());
        }
        Ok(Self(picos / MICRO))
    }
}

impl<'de> Deserialize<'de> for MillionthsAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenPrice {
            Whole(i64),
            Broken(f64),
            Text(String),
        }
        let text = match WrittenPrice::deserialize(deserializer)? {
            WrittenPrice::Whole(number) => number.to_string(),
            // The shortest text of this number is what was written.
            WrittenPrice::Broken(number) => number.to_string(),
            WrittenPrice::Text(text) => text,
        };
        Self::parse(&text).map_err(D::Error::custom)
    }
}

impl Serialize for MillionthsAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Cost::new(self.0.saturating_mul(MICRO), Currency::USD).amount().serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
