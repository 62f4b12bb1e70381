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
fn names_of_conversations_fit_into_headers() {
    for name in ["plain", "with space", "für", "50 % 漢字"] {
        let conversation = ConversationId::parse(name).unwrap();
        let header = escaped(&conversation);
        assert!(HeaderValue::from_str(&header).is_ok(), "{header}");
        assert_eq!(target::conversation(&header).unwrap(), conversation);
    }
}
