//! Tests of money.

use proptest::prelude::*;

use super::*;

fn usd(amount: &str) -> Option<Cost> {
    Cost::parse(amount, Currency::USD)
}

#[test]
fn amounts_are_read_as_they_are_written() {
    for (text, picos) in [
        ("0", 0),
        ("0.1", 100_000_000_000),
        (".5", 500_000_000_000),
        ("12.", 12_000_000_000_000),
        ("0.000000000001", 1),
        ("0.0000000000019", 1),
        ("18446744.073709551615", u64::MAX),
    ] {
        assert_eq!(usd(text).map(|cost| cost.picos()), Some(picos), "{text}");
    }
    for text in ["", ".", "-1", "1e-5", "1,5", "+1", "0x1", "18446744.073709551616", "99999999999999999999"] {
        assert_eq!(usd(text), None, "{text}");
    }
    assert_eq!(Cost::of_number(0.000_014, Currency::USD).unwrap().amount(), "0.000014");
    for odd in [f64::NAN, f64::INFINITY, -0.5, 1e300] {
        assert_eq!(Cost::of_number(odd, Currency::USD), None, "{odd}");
    }
    assert_eq!(
        (Currency::parse("EUR").unwrap().as_str(), Currency::parse("eur"), Currency::parse("EURO")),
        ("EUR", None, None)
    );
}

#[test]
fn tenths_add_up() {
    let sum = (0..3).filter_map(|_| usd("0.1")).reduce(Cost::plus).unwrap();
    assert_eq!((sum.amount(), sum.to_string()), ("0.3".to_owned(), "0.3 USD".to_owned()));
    let euros = Cost::parse("5", Currency::parse("EUR").unwrap()).unwrap();
    assert_eq!(sum.plus(euros), sum, "other money cannot be added");
    assert_eq!(Cost::new(u64::MAX, Currency::USD).plus(sum).picos(), u64::MAX);
}

#[test]
fn on_the_wire_it_is_text() {
    let cost = usd("0.0125").unwrap();
    let json = serde_json::to_string(&cost).unwrap();
    assert_eq!(json, r#"{"amount":"0.0125","currency":"USD"}"#);
    let odd = serde_json::from_str::<Cost>(r#"{"amount":"much","currency":"USD"}"#).unwrap_err();
    assert!(odd.to_string().contains("no amount of money"), "{odd}");
}

proptest! {
    #[test]
    fn what_is_written_is_read(picos in any::<u64>()) {
        let cost = Cost::new(picos, Currency::USD);
        prop_assert_eq!(usd(&cost.amount()), Some(cost));
        let json = serde_json::to_string(&cost).unwrap();
        prop_assert_eq!(serde_json::from_str::<Cost>(&json).unwrap(), cost);
    }
}
