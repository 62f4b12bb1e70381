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
        ("fanlight-conversation", "somebody-elses"),
    ]);
    let wanted = [("date", "today")];
    assert_eq!(lines(&incoming(&answer)), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn orders_to_a_server_before_the_hub_are_struck_from_answers_alone() {
    let orders = [
        "X-Accel-Redirect",
        "X-Accel-Expires",
        "X-Accel-Limit-Rate",
        "X-Accel-Charset",
        "X-Sendfile",
        "X-Sendfile2",
        "X-Sendfile-Temporary",
        "X-LIGHTTPD-send-file",
        "X-LIGHTTPD-send-tempfile",
        "X-LiteSpeed-Location",
        "X-Reproxy-URL",
        "X-Reproxy-File",
    ];
    for order in orders {
        let both = headers(&[(order, "/etc/passwd"), ("x-accel-buffering", "no")]);
        let left = [(String::from("x-accel-buffering"), String::from("no"))];
        assert_eq!(lines(&incoming(&both)), left, "{order}");
        assert_eq!(outgoing(&both).len(), 2, "{order}: a request has its own meaning");
        let mut trailers = headers(&[(order, "/etc/passwd"), ("x-sum", "1"), ("fanlight-conversation", "c")]);
        strike_trailers(&mut trailers);
        assert_eq!(lines(&trailers), [(String::from("x-sum"), String::from("1"))], "{order}");
    }
}

#[test]
fn parts_of_a_query_are_keys_by_their_names_and_by_their_looks() {
    for (name, value) in [
        ("sig", "abcdefgh"),
        ("code", "authorised"),
        ("X-Amz-Signature", "abcdefgh"),
        ("oauth_code", "abcdefgh"),
        ("x", "Zm9vYmFyMTIzNDU2Nzg5MA=="),
    ] {
        assert!(is_secret_in_query(name, value.as_bytes()), "{name}");
    }
    for (name, value) in [
        ("api-version", "2024-10-21-preview"),
        ("model", "claude-3-5-sonnet-20241022"),
        ("encoding", "plain-text"),
        ("alt", "sse"),
        ("project", "a-very-long-name-of-a-project"),
    ] {
        assert!(!is_secret_in_query(name, value.as_bytes()), "{name}");
    }
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
