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
    for host in
        ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[fe80::1]:1", "localhost.evil.example", ""]
    {
        assert!(check(&hosts, false, &request("GET", host, None)).is_err(), "{host}");
    }
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
    for path in ["/v1/chat/completions", "/v1/models", "/v1/models/a", "/compat/forge/chat/stream"] {
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
fn the_policy_names_the_one_document_that_may_be_framed_where_it_can() {
    let framed = |host: Option<&str>| {
        let host = host.map(|host| HeaderValue::from_str(host).unwrap());
        let policy = policy(host.as_ref()).to_str().unwrap().to_owned();
        assert!(policy.starts_with(POLICY), "{policy}");
        policy.split_once("; frame-src ").map(|(_, source)| source.to_owned())
    };
    for host in ["127.0.0.1:4600", "localhost", "a.localhost:1", "hub-1.example:80"] {
        assert_eq!(framed(Some(host)), Some(format!("{host}/image")));
    }
    for host in ["[::1]:4600", "localhost:1; script-src *", "localhost:", "localhost:*", "a..b", "*.a", ""] {
        assert_eq!(framed(Some(host)), None, "{host}");
    }
    assert_eq!(framed(None), None);
}
