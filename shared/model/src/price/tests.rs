//! Tests of what tokens cost.

use proptest::prelude::*;

use super::*;
use crate::event::{RunEnd, RunStatus, RunUpdate};
use crate::ids::RunId;

/// 2.50 USD for a million read, 10 for a million written, a tenth for cached ones.
const PRICE: Price = Price {
    input: 2_500_000,
    output: 10_000_000,
    cached: 250_000,
    reasoning: 10_000_000,
    currency: Currency::USD,
};

#[test]
fn each_kind_of_token_has_its_price() {
    let usage = Usage {
        input_tokens: 1_000,
        output_tokens: 100,
        reasoning_tokens: 40,
        cached_tokens: 600,
        cost: None,
    };
    // 400 × 2.5 + 600 × 0.25 + 100 × 10 millionths.
    assert_eq!(PRICE.of(&usage).to_string(), "0.00215 USD");
    let dear = Price { reasoning: 20_000_000, ..PRICE };
    assert_eq!(dear.of(&usage).amount(), "0.00255");
    let odd = Usage { input_tokens: 1, cached_tokens: 9, reasoning_tokens: 9, ..Usage::default() };
    assert_eq!(PRICE.of(&odd).amount(), "0.00000025");
    let all = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    assert_eq!(PRICE.of(&all).picos(), u64::MAX);
}

#[test]
fn who_knows_what_it_cost_knows_better() {
    let run = RunId::new("r");
    let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
    let told = Usage { cost: Cost::parse("7", Currency::USD), ..usage };
    let update = |usage| Event::new(&run, Kind::RunUpdate(RunUpdate { usage, ..RunUpdate::default() }));
    let end = |usage| {
        Event::new(&run, Kind::RunEnd(RunEnd { status: RunStatus::Complete, usage, ..RunEnd::default() }))
    };
    let put = |mut event: Event, known: Option<&Usage>| {
        PRICE.put(&mut event, known);
        match event.kind {
            Kind::RunUpdate(update) => update.usage.and_then(|usage| usage.cost).map(|cost| cost.amount()),
            Kind::RunEnd(end) => end.usage.and_then(|usage| usage.cost).map(|cost| cost.amount()),
            _ => None,
        }
    };
    assert_eq!(put(update(Some(usage)), None).as_deref(), Some("2.5"));
    assert_eq!(put(update(Some(told)), None).as_deref(), Some("7"));
    assert_eq!(put(update(None), None), None);
    assert_eq!(put(end(Some(usage)), Some(&usage)).as_deref(), Some("2.5"));
    assert_eq!(put(end(Some(usage)), Some(&told)), None);
    let half = Usage { input_tokens: 500_000, cost: Cost::parse("1.25", Currency::USD), ..Usage::default() };
    assert_eq!(
        put(end(Some(usage)), Some(&half)).as_deref(),
        Some("2.5"),
        "what was put in on the way is not the whole"
    );
    assert!(
        is_unpriced(&update(Some(usage))) && !is_unpriced(&update(Some(told))) && !is_unpriced(&end(None))
    );
}

proptest! {
    #[test]
    fn many_calls_cost_as_much_as_one_with_all_their_tokens(
        calls in proptest::collection::vec((0_u64..1 << 20, 0_u64..1 << 20), 1..50),
        input in 0_u64..1 << 24,
    ) {
        let price = Price { input, ..PRICE };
        let usage = |(input_tokens, output_tokens)| Usage { input_tokens, output_tokens, ..Usage::default() };
        let priced = |usage: Usage| Usage { cost: Some(price.of(&usage)), ..usage };
        let sum = calls.iter().copied().map(usage).map(priced).reduce(Usage::plus).unwrap();
        let whole = calls.iter().copied().map(usage).reduce(Usage::plus).unwrap();
        prop_assert_eq!(sum.cost, Some(price.of(&whole)));
    }
}
