//! Tests of where calls go.

use super::*;

fn uri(url: &str, rest: &str) -> String {
    let upstream = Upstream::new("x", url, Api::OpenAi).unwrap();
    upstream.uri(rest).unwrap().to_string()
}

#[test]
fn what_follows_is_put_behind_the_url_as_it_is() {
    assert_eq!(uri("https://a.example", "/v1/x?y=%20"), "https://a.example/v1/x?y=%20");
    assert_eq!(uri("https://a.example/", "/v1"), "https://a.example/v1");
    assert_eq!(uri("http://a.example:81/base/path/", "/v1//x/"), "http://a.example:81/base/path/v1//x/");
    assert_eq!(uri("http://a.example/base", ""), "http://a.example/base");
    assert_eq!(uri("http://a.example", ""), "http://a.example/");
    assert_eq!(uri("http://a.example", "?a"), "http://a.example/?a");
}

#[test]
fn what_is_no_upstream_is_refused_with_the_reason() {
    let refused = |name: &str, url: &str| Upstream::new(name, url, Api::OpenAi).unwrap_err().to_string();
    for name in ["", "a/b", "~a", "a b", "ü"] {
        assert!(refused(name, "http://a.example").contains("letters"), "{name}");
    }
    for url in ["", "a.example", "/path", "http://"] {
        assert!(refused("x", url).contains("is invalid"), "{url}");
    }
    assert!(refused("x", "ftp://a.example").contains("https://"));
    // A secret that somebody wrote there is not repeated.
    for url in ["https://user:secret@a.example", "https://a.example/?key=secret"] {
        let error = refused("x", url);
        assert!(error.contains("callers send those") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn the_user_may_move_a_known_one() {
    let moved = Upstream::new("openai", "http://127.0.0.1:1", Api::OpenAi).unwrap();
    let all = Upstream::all(std::slice::from_ref(&moved));
    assert_eq!(all.len(), KNOWN.len());
    assert_eq!(all.iter().find(|it| it.name() == "openai"), Some(&moved));
    for (name, url, api) in KNOWN {
        let upstream = Upstream::new(name, url, api).unwrap();
        assert_eq!(Api::of_upstream(upstream.name()), upstream.api());
    }
}

#[test]
fn certificates_that_are_none_are_named() {
    let upstream = || Upstream::new("x", "https://a.example", Api::OpenAi).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = upstream().with_ca(Some(file.path())).unwrap_err().to_string();
    assert!(error.contains("has no certificate"), "{error}");
    let error = upstream().with_ca(Some(Path::new("/nowhere/ca.pem"))).unwrap_err().to_string();
    assert!(error.contains("/nowhere/ca.pem") && error.contains("\"x\""), "{error}");
}
