//! Tests of what is read from heads.

use super::*;

#[test]
fn the_time_to_come_back_is_read_in_both_forms() {
    let of = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        retry_after_ms(&headers)
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
    let of = |date: Option<&'static str>, back: &'static str| {
        let mut headers = HeaderMap::new();
        headers.extend(date.map(|date| (DATE, HeaderValue::from_static(date))));
        headers.insert("retry-after", HeaderValue::from_static(back));
        retry_after_ms(&headers)
    };
    let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(of(now, "Sun, 06 Nov 1994 08:50:07 GMT"), Some(30_000));
    assert_eq!(of(now, "Sunday, 06-Nov-94 08:50:07 GMT"), Some(30_000));
    assert_eq!(of(now, "Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
    assert_eq!(of(None, "Sun, 06 Nov 1994 08:49:07 GMT"), Some(0));
    assert!(of(None, "Fri, 31 Dec 9999 23:59:59 GMT").is_some_and(|ms| ms > 1_000));
    assert_eq!(of(Some("soon"), "sooner"), None);
}

#[test]
fn names_of_conversations_fit_into_headers() {
    for name in ["plain", "with space", "für", "50 % 漢字"] {
        let conversation = ConversationId::parse(name).unwrap();
        let header = escaped(&conversation);
        assert!(HeaderValue::from_str(&header).is_ok(), "{header}");
        assert_eq!(target::conversation(&header).unwrap(), conversation);
    }
}
