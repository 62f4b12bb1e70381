//! Tests of what goes through and what stays.

use super::*;

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

fn lines(headers: &HeaderMap) -> Vec<(String, String)> {
    let text =
        |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.to_str().unwrap().to_owned());
    headers.iter().map(text).collect()
}

#[test]
fn what_belongs_to_the_hop_stays_and_the_rest_keeps_its_order() {
    let request = headers(&[
        ("host", "127.0.0.1:4600"),
        ("accept", "*/*"),
        ("connection", "keep-alive, X-Own"),
        ("x-own", "1"),
        ("x-b", "1"),
        ("x-a", "2"),
        ("x-b", "3"),
        ("te", "gzip, trailers"),
        ("proxy-authorization", "Basic x"),
        ("fanlight-conversation", "c"),
        ("content-length", "3"),
    ]);
    let wanted = [
        ("accept", "*/*"),
        ("x-b", "1"),
        ("x-b", "3"),
        ("x-a", "2"),
        ("content-length", "3"),
        ("te", "trailers"),
    ];
    assert_eq!(lines(&outgoing(&request)), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let answer = headers(&[
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("date", "today"),
        ("fanlight-x", "1"),
    ]);
    let wanted = [("date", "today"), ("fanlight-x", "1")];
    assert_eq!(lines(&incoming(&answer)), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn keys_are_not_printed() {
    let keys = KEYS;
    let lines: Vec<_> =
        keys.iter().map(|name| (name.as_str(), "sk-secret")).chain([("cookie", "sk-secret")]).collect();
    let passed = outgoing(&headers(&lines));
    assert_eq!(passed.len(), 5);
    assert!(!format!("{passed:?}").contains("secret"), "{passed:?}");
}

#[test]
fn the_same_key_is_known_again_and_another_is_not() {
    let prints = Fingerprints::default();
    let of = |lines: &[(&str, &str)], query| prints.of(&headers(lines), query);
    let one = of(&[("authorization", "Bearer a"), ("x-other", "1")], None);
    assert_eq!(one, of(&[("authorization", "Bearer a")], Some("alt=sse")));
    assert_ne!(one, of(&[("authorization", "Bearer b")], None));
    assert_ne!(one, of(&[], None));
    assert_ne!(of(&[], Some("alt=sse&key=a")), of(&[], Some("key=b")));
    assert_ne!(of(&[], Some("api_key=a")), of(&[], Some("api_key=b")));
    assert_ne!(
        Fingerprints::default().of(&headers(&[("x-api-key", "a")]), None),
        of(&[("x-api-key", "a")], None)
    );
}
