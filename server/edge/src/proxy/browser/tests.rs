//! Tests of who may use the proxy.

use super::*;

fn refused(method: &str, headers: &[(&str, &str)]) -> bool {
    let mut request =
        axum::http::Request::builder().method(method).uri("/proxy/x/v1").header("host", "127.0.0.1:4600");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    refuse(&request.body(()).unwrap().into_parts().0).is_err()
}

#[test]
fn programs_may_and_pages_of_others_may_not() {
    assert!(!refused("POST", &[]));
    assert!(!refused("GET", &[("accept", "application/json, text/plain, */*")]));
    assert!(!refused("POST", &[("sec-fetch-mode", "cors"), ("accept-language", "*")]));
    assert!(!refused(
        "POST",
        &[
            ("origin", "http://127.0.0.1:4600"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-dest", "empty")
        ]
    ));
    for method in ["GET", "POST", "OPTIONS", "HEAD"] {
        assert!(refused(method, &[("origin", "http://evil.example")]), "{method}");
        assert!(refused(method, &[("origin", "null")]), "{method}");
        assert!(refused(method, &[("sec-fetch-site", "cross-site")]), "{method}");
    }
}

#[test]
fn nothing_is_shown_as_a_page_of_the_hub() {
    assert!(refused("GET", &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "iframe")]));
    assert!(refused("GET", &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "script")]));
    assert!(refused("GET", &[("sec-fetch-site", "none"), ("sec-fetch-dest", "document")]));
    assert!(refused("GET", &[("accept", "text/html,application/xhtml+xml,*/*")]));
}
