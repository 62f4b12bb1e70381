//! Tests of the edges between units.

use super::*;
use crate::event::Currency;

#[test]
fn durations_change_unit_where_the_eye_expects_it() {
    let cases = [
        (0, "0 ms"),
        (38, "38 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (1_249, "1.2 s"),
        (9_949, "9.9 s"),
        (9_960, "10 s"),
        (14_400, "14 s"),
        (59_600, "1:00"),
        (161_000, "2:41"),
        (3_849_000, "1:04:09"),
    ];
    for (ms, text) in cases {
        assert_eq!(duration(ms), text, "{ms}");
    }
}

#[test]
fn running_time_counts_whole_seconds() {
    assert_eq!(clock(999), "0:00");
    assert_eq!(clock(14_900), "0:14");
    assert_eq!(clock(3_849_000), "1:04:09");
}

#[test]
fn sizes_and_counts_stay_short() {
    let sizes = [(0, "0 B"), (1023, "1023 B"), (8_300, "8.1 KB"), (188_416, "184 KB"), (2_500_000, "2.3 MB")];
    for (n, text) in sizes {
        assert_eq!(bytes(n), text, "{n}");
    }
    let counts = [(999, "999"), (1_000, "1.0k"), (38_249, "38.2k"), (382_490, "382k"), (1_400_000, "1.4M")];
    for (n, text) in counts {
        assert_eq!(count(n), text, "{n}");
    }
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(48_211), "48,211");
    assert_eq!(grouped(1_048_211), "1,048,211");
    assert_eq!(counted(1, "tool"), "1 tool");
    assert_eq!(counted(0, "tool"), "0 tools");
}

#[test]
fn ages_are_coarse() {
    assert_eq!(age(59_999), "now");
    assert_eq!(age(60_000), "1 m");
    assert_eq!(age(7_200_000), "2 h");
    assert_eq!(age(200_000_000), "2 d");
    assert_eq!(short_age(430), "0.4 s");
    assert_eq!(short_age(12_000), "12 s");
}

#[test]
fn moments_are_told_in_utc() {
    let cases = [
        (0, "1970-01-01 00:00 UTC"),
        (951_782_400_000, "2000-02-29 00:00 UTC"),
        (1_795_327_259_000, "2026-11-22 06:00 UTC"),
        (4_107_542_399_999, "2100-02-28 23:59 UTC"),
        (4_107_542_400_000, "2100-03-01 00:00 UTC"),
    ];
    for (ms, text) in cases {
        assert_eq!(date(ms), text);
    }
}

#[test]
fn money_has_two_digits_that_say_something() {
    let money = |picos, currency: &str| cost(Cost::new(picos, Currency::parse(currency).unwrap()));
    for (picos, said) in [
        (0, "$0"),
        (1, "$0.000000000001"),
        (4_249_000_000, "$0.0042"),
        (9_990_000_000, "$0.0100"),
        (10_000_000_000, "$0.01"),
        (347_000_000_000, "$0.35"),
        (1_274_999_999_999, "$1.27"),
        (u64::MAX, "$18446744.07"),
    ] {
        assert_eq!(money(picos, "USD"), said);
    }
    assert_eq!([money(350_000_000_000, "EUR"), money(12_080_000_000_000, "CHF")], ["€0.35", "12.08 CHF"]);
}
