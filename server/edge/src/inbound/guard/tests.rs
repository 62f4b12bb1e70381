//! Tests of who may call.

use axum::body::Body;

use super::*;

fn request(method: &str, host: &str, origin: Option<&str>) -> Request {
    let mut request = Request::builder().method(method).uri("/").header("host", host);
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    request.body(Body::empty()).unwrap()
}

#[test]
fn only_names_of_this_machine_are_served() {
    let hosts = ["hub.example".to_owned()];
    for host in [
        "127.0.0.1:4600",
        "localhost",
        "LOCALHOST:1",
        "[::1]:4600",
        "127.9.9.9",
        "a.localhost:1",
        "hub.example:80",
    ] {
        assert!(check(&hosts, false, &request("GET", host, None)).is_ok(), "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[fe80::1]:1",
        "localhost.evil.example",
        "",
        "[127.0.0.1]evil.com",
        "[::1]evil.com",
        "[::1",
        "evil.com#.localhost",
        "evil.com/.localhost",
        "evil.com@127.0.0.1",
        "user@localhost",
        "localhost:80:80",
        "localhost:0x50",
        "localhost:99999",
        "127.0.0.1 evil.com",
    ] {
        assert!(check(&hosts, false, &request("GET", host, None)).is_err(), "{host}");
    }
}

#[test]
fn a_host_that_is_no_ascii_or_comes_twice_is_refused() {
    // A Cyrillic letter in the middle.
    let mut odd = request("GET", "localhost", None);
    odd.headers_mut().insert(header::HOST, HeaderValue::from_bytes("l\u{43e}calhost".as_bytes()).unwrap());
    assert!(check(&[], false, &odd).is_err());
    let mut twice = request("GET", "localhost", None);
    twice.headers_mut().append(header::HOST, HeaderValue::from_static("localhost"));
    assert!(check(&[], false, &twice).is_err());
    let mut whole = request("GET", "localhost", None);
    *whole.uri_mut() = "http://evil.example/v1/search?q=a".parse().unwrap();
    assert!(check(&[], false, &whole).is_err());
    *whole.uri_mut() = "http://localhost/v1/search?q=a".parse().unwrap();
    assert!(check(&[], false, &whole).is_ok());
}

/// A request as a browser sends it.
fn fetched(method: &str, path: &str, said: &[(&'static str, &'static str)]) -> Request {
    let mut request = request(method, "127.0.0.1:4600", None);
    *request.uri_mut() = path.parse().unwrap();
    for (name, value) in said {
        request.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    request
}

#[test]
fn what_works_is_refused_to_pages_of_other_origins_whatever_the_method() {
    let image =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    let frame =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let neighbour =
        [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    let moved =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    let old = [("origin", "http://evil.example")];
    for said in [&image[..], &frame, &neighbour, &moved, &old] {
        for path in [
            "/v1/search?q=a",
            "/v1/conversations/c",
            "/v1/conversations/c/export/md",
            "/metrics",
            "/compat/x",
        ] {
            for method in ["GET", "HEAD", "OPTIONS"] {
                assert!(check(&[], false, &fetched(method, path, said)).is_err(), "{method} {path} {said:?}");
            }
        }
    }
    let own = [("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    let typed = [("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    for said in [&own[..], &typed, &[]] {
        assert!(check(&[], false, &fetched("GET", "/v1/search?q=a", said)).is_ok(), "{said:?}");
    }
    // A page of an origin that was set says so itself.
    assert!(check(&[], true, &fetched("GET", "/v1/models", &neighbour)).is_ok());
}

#[test]
fn the_page_is_opened_and_links_are_followed_from_anywhere() {
    let opened =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    for path in ["/", "/c/anything", "/wall", "/new", "/runs", "/search?q=a"] {
        assert!(check(&[], false, &fetched("GET", path, &opened)).is_ok(), "{path}");
    }
    let followed = [&opened[..], &[("sec-fetch-user", "?1")]].concat();
    assert!(check(&[], false, &fetched("GET", "/v1/conversations/c/export/html", &followed)).is_ok());
    assert!(check(&[], false, &fetched("POST", "/v1/conversations/c/events", &followed)).is_err());
}

#[test]
fn a_page_of_another_origin_changes_nothing() {
    let ours = "127.0.0.1:4600";
    assert!(check(&[], false, &request("POST", ours, None)).is_ok());
    assert!(check(&[], false, &request("POST", ours, Some("http://127.0.0.1:4600"))).is_ok());
    for origin in ["http://evil.example", "null", "http://127.0.0.1:4601", "http://localhost:4600"] {
        assert!(check(&[], false, &request("POST", ours, Some(origin))).is_err(), "{origin}");
        assert!(check(&[], false, &request("GET", ours, Some(origin))).is_ok(), "{origin}");
    }
}

#[test]
fn a_socket_of_another_origin_is_refused() {
    let mut foreign = request("GET", "localhost:1", Some("http://evil.example"));
    foreign.headers_mut().insert("upgrade", HeaderValue::from_static("websocket"));
    assert!(check(&[], false, &foreign).is_err());
}

#[test]
fn pages_of_origins_that_were_set_call_the_served_contracts_alone() {
    let ours = "127.0.0.1:4600";
    let origins = ["http://localhost:5173".to_owned()];
    let guest = |path: &str, origin: &str| {
        let mut request = request("POST", ours, Some(origin));
        *request.uri_mut() = path.parse().unwrap();
        guest(&origins, &request).is_some()
    };
    for path in [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses/resp_r.c",
        "/v1/models",
        "/v1/models/a",
        "/compat/forge/chat/stream",
    ] {
        assert!(guest(path, "http://localhost:5173"), "{path}");
        assert!(!guest(path, "http://localhost:5174"), "{path}");
    }
    for path in ["/v1/conversations/c/commands", "/v1/ws", "/", "/v1/modelsx"] {
        assert!(!guest(path, "http://localhost:5173"), "{path}");
    }
    let request = request("POST", ours, Some("http://localhost:5173"));
    assert!(check(&[], true, &request).is_ok());
    assert!(check(&[], false, &request).is_err());
}

#[test]
fn the_policy_names_the_documents_that_may_be_framed_where_it_can() {
    let framed = |host: Option<&str>| {
        let host = host.map(|host| HeaderValue::from_str(host).unwrap());
        let policy = policy(host.as_ref()).to_str().unwrap().to_owned();
        assert!(policy.starts_with(POLICY), "{policy}");
        policy.split_once("; frame-src ").map(|(_, source)| source.to_owned())
    };
    for host in ["127.0.0.1:4600", "localhost", "a.localhost:1", "hub-1.example:80"] {
        assert_eq!(framed(Some(host)), Some(format!("{host}/image {host}/embed")));
    }
    for host in ["[::1]:4600", "localhost:1; script-src *", "localhost:", "localhost:*", "a..b", "*.a", ""] {
        assert_eq!(framed(Some(host)), None, "{host}");
    }
    assert_eq!(framed(None), None);
}
