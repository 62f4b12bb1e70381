//! Tests of how budgets are written, when they begin anew, and what counts.

use super::*;
use crate::secret::{Secret, SecretKind};

fn budget(text: &str) -> Budget {
    text.parse().unwrap()
}

fn usd(amount: &str) -> Cost {
    Cost::parse(amount, Currency::USD).unwrap()
}

#[test]
fn a_budget_is_read_as_it_is_written() {
    for (text, written) in [
        ("5.00usd/day", "5usd/day"),
        ("0.5USD/hour", "0.5usd/hour"),
        ("100eur/month", "100eur/month"),
        ("20usd", "20usd"),
    ] {
        assert_eq!(budget(text).to_string(), written);
        assert_eq!(budget(written), budget(text));
    }
    for bad in
        ["", "5", "usd", "5usd/", "5usd/year", "-5usd/day", "0usd/day", "5dollar/day", "5usd/day/day", "ä"]
    {
        assert!(bad.parse::<Budget>().is_err(), "{bad}");
    }
}

#[test]
fn periods_begin_at_full_hours_days_and_months() {
    // 29 February 2024, 12:34:56.
    let now = 1_709_210_096_000;
    assert_eq!(BudgetPeriod::Hour.began(now), 1_709_208_000_000);
    assert_eq!(BudgetPeriod::Day.began(now), 1_709_164_800_000);
    assert_eq!(BudgetPeriod::Month.began(now), 1_706_745_600_000, "1 February");
    assert_eq!(BudgetPeriod::Month.next(now), Some(1_709_251_200_000), "1 March");
    assert_eq!(BudgetPeriod::Month.began(1_709_251_199_999), 1_706_745_600_000);
    assert_eq!(BudgetPeriod::Month.began(1_709_251_200_000), 1_709_251_200_000);
    assert_eq!(BudgetPeriod::Month.began(0), 0);
    assert_eq!((BudgetPeriod::Ever.began(now), BudgetPeriod::Ever.next(now)), (0, None));
}

#[test]
fn what_was_spent_counts_in_its_period_and_its_currency_alone() {
    let token = Secret::mint(SecretKind::Token, &[1; 32]).hash();
    let other = Secret::mint(SecretKind::Token, &[2; 32]).hash();
    let (daily, mut spending) = (budget("5usd/day"), Spending::default());
    spending.add(&token, &daily, (usd("1.25"), false), 10);
    spending.add(&token, &daily, (usd("0.5"), true), 20);
    let spent = spending.of(&token, &daily, 30);
    assert_eq!((spent.cost, spent.calls, spent.estimated), (usd("1.75"), 2, 1));
    assert_eq!(spending.of(&other, &daily, 30).calls, 0);
    assert_eq!(spending.of(&token, &daily, DAY_MS).calls, 0, "the next day");
    assert_eq!(spending.of(&token, &budget("5eur/day"), 30).cost.picos(), 0);
    assert_eq!(Spending::read(&spending.written()).unwrap(), spending);
    spending.add(&token, &daily, (usd("1"), false), DAY_MS);
    assert_eq!(spending.of(&token, &daily, DAY_MS).cost, usd("1"));
    spending.keep(&Tokens::default());
    assert_eq!(spending, Spending::default());
}

#[test]
fn a_file_that_is_none_is_refused() {
    for bad in ["", "{}", "{\"version\":2,\"spent\":{}}", "{\"version\":1,\"spent\":{\"a\":1}}"] {
        assert!(Spending::read(bad).is_err(), "{bad}");
    }
}
