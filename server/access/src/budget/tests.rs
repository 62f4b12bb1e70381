//! Tests of how budgets are written, when they begin anew, and what counts.

use super::*;
use crate::Tokens;
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
fn what_was_spent_elsewhere_is_added_to_its_period_and_currency() {
    let token = Secret::mint(SecretKind::Token, &[1; 32]).hash();
    let spent = |since, amount: &str, calls| Spent { since, cost: usd(amount), calls, estimated: 0 };
    let euros =
        Spent { cost: Cost::parse("2", Currency::parse("EUR").unwrap()).unwrap(), ..spent(10, "0", 1) };
    let mut spending = Spending::default();
    for (more, all) in [
        (spent(10, "1", 1), vec![spent(10, "1", 1)]),
        (spent(10, "2", 3), vec![spent(10, "3", 4)]),
        // By a clock that is behind, or told late.
        (spent(9, "1", 1), vec![spent(10, "3", 4), spent(9, "1", 1)]),
        (euros, vec![spent(10, "3", 4), euros, spent(9, "1", 1)]),
    ] {
        spending.join(token, more);
        assert_eq!(spending.all().map(|(_, spent)| *spent).collect::<Vec<_>>(), all);
    }
    assert_eq!(Spending::read(&spending.written()).unwrap(), spending);
    // What was told is taken away, what came since is not.
    let told = spending.clone();
    spending.join(token, spent(10, "4", 1));
    spending.subtract(&told);
    assert_eq!(spending.all().collect::<Vec<_>>(), [(&token, &spent(10, "4", 1))]);
    spending.subtract(&spending.clone());
    assert!(spending.is_empty());
}

#[test]
fn i7_the_newest_periods_of_a_currency_are_kept_and_what_has_no_period() {
    let token = Secret::mint(SecretKind::Token, &[1; 32]).hash();
    let mut spending = Spending::default();
    let eur = Cost::parse("1", Currency::parse("EUR").unwrap()).unwrap();
    spending.join(token, Spent { since: 1, cost: eur, calls: 1, estimated: 0 });
    for since in [0, 5, 1, 3, 2, 4] {
        spending.join(token, Spent { since, cost: usd("1"), calls: 1, estimated: 0 });
    }
    let kept: Vec<_> = spending.all().map(|(_, spent)| (spent.since, spent.cost.currency())).collect();
    assert_eq!(PERIODS_KEPT, 2);
    assert_eq!(kept, [(5, Currency::USD), (4, Currency::USD), (1, eur.currency()), (0, Currency::USD)]);
}

#[test]
fn a_file_of_the_first_version_is_read() {
    let token = Secret::mint(SecretKind::Token, &[1; 32]).hash();
    let old = format!(
        r#"{{"version":1,"spent":{{"{}":{{"since":10,"cost":{{"amount":"1.25","currency":"USD"}},"calls":14,"estimated":2}}}}}}"#,
        String::from(token)
    );
    let spent = Spent { since: 10, cost: usd("1.25"), calls: 14, estimated: 2 };
    assert_eq!(Spending::read(&old).unwrap().all().collect::<Vec<_>>(), [(&token, &spent)]);
}

#[test]
fn a_file_that_is_none_is_refused() {
    for bad in ["", "{}", "{\"version\":3,\"spent\":{}}", "{\"version\":1,\"spent\":{\"a\":1}}"] {
        assert!(Spending::read(bad).is_err(), "{bad}");
    }
}
