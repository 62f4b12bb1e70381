//! Tests of when to come back.

use hyper::http::HeaderValue;

use super::*;

#[test]
fn the_time_to_come_back_is_read_in_both_forms() {
    let of = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        retry_after_ms(&headers, 0)
    };
    assert_eq!(of("retry-after", "7"), Some(7_000));
    assert_eq!(of("retry-after", "0.25"), Some(250));
    assert_eq!(of("retry-after-ms", "1500"), Some(1_500));
    for nonsense in ["soon", "-1", "NaN", "inf", "1e300", ""] {
        assert_eq!(of("retry-after", nonsense), None, "{nonsense}");
    }
}

#[test]
fn a_date_to_come_back_at_is_read_by_the_clock_of_who_says_it() {
    // Tue, 25 Nov 2025 08:00:00 GMT.
    let now = 1_764_057_600_000;
    let of = |date: Option<&'static str>, back: &'static str| {
        let mut headers = HeaderMap::new();
        headers.extend(date.map(|date| (DATE, HeaderValue::from_static(date))));
        headers.insert("retry-after", HeaderValue::from_static(back));
        retry_after_ms(&headers, now)
    };
    let theirs = Some("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(of(theirs, "Sun, 06 Nov 1994 08:50:07 GMT"), Some(30_000));
    assert_eq!(of(theirs, "Sunday, 06-Nov-94 08:50:07 GMT"), Some(30_000));
    assert_eq!(of(theirs, "Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
    assert_eq!(of(None, "Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
    assert_eq!(of(None, "Tue, 25 Nov 2025 08:00:02 GMT"), Some(2_000));
    assert_eq!(of(Some("soon"), "sooner"), None);
}
