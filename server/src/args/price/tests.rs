//! Prices that fit, and what is said of those that do not.

use super::*;
use crate::args::layers;

fn price(table: &str) -> Result<Price, String> {
    let settings: PriceSettings = layers::fit(layers::table(table)?)?;
    let again: PriceSettings = layers::fit(layers::fields(&settings).unwrap()).unwrap();
    assert_eq!(again, settings, "it comes through as it is");
    settings.price()
}

#[test]
fn a_price_is_exactly_what_is_written() {
    let whole = price("input = 3\noutput = 15").unwrap();
    assert_eq!(
        (whole.input, whole.cached, whole.output, whole.reasoning),
        (3_000_000, 3_000_000, 15_000_000, 15_000_000)
    );
    let all = "input = 0.1\noutput = '0.000001'\ncached_input = 0.025\nreasoning = 1.23\ncurrency = 'EUR'";
    let all = price(all).unwrap();
    assert_eq!((all.input, all.output, all.cached, all.reasoning), (100_000, 1, 25_000, 1_230_000));
    assert_eq!(all.currency.as_str(), "EUR");
    for table in [
        "input = 3",
        "input = -1\noutput = 1",
        "input = 'much'\noutput = 1",
        "input = 0.0000001\noutput = 1",
        "input = 2000000\noutput = 1",
        "input = nan\noutput = 1",
        "input = 1\noutput = 1\ncurrency = 'dollars'",
        "input = 1\noutput = 1\ncached = 1",
    ] {
        assert!(price(table).is_err(), "{table}");
    }
}
