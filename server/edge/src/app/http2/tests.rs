//! Tests of the form of requests.

use super::*;

fn request(uri: &str, headers: &[(&'static str, &'static str)]) -> hyper::Request<()> {
    let mut request = hyper::Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

#[test]
fn a_request_gets_its_host_and_keeps_only_its_path() {
    let mut whole =
        request("https://hub.test:4600/c/a%2Fb?x=1", &[("cookie", "a=1"), ("cookie", "b=2; c=3")]);
    as_first_version(&mut whole).unwrap();
    assert_eq!(*whole.uri(), "/c/a%2Fb?x=1");
    assert_eq!(whole.headers()["host"], "hub.test:4600");
    let cookies: Vec<_> = whole.headers().get_all("cookie").iter().collect();
    assert_eq!(cookies, ["a=1; b=2; c=3"]);
}

#[test]
fn a_request_that_names_two_hosts_is_refused() {
    let mut same = request("https://hub.test/", &[("host", "HUB.test")]);
    as_first_version(&mut same).unwrap();
    assert_eq!(same.headers().get_all("host").iter().count(), 1);
    let mut other = request("https://hub.test/", &[("host", "localhost")]);
    assert_eq!(as_first_version(&mut other).unwrap_err().code(), "bad_request");
    let mut second = request("https://hub.test/", &[("host", "hub.test"), ("host", "localhost")]);
    assert_eq!(as_first_version(&mut second).unwrap_err().code(), "bad_request");
}

#[test]
fn tunnels_are_refused() {
    let mut tunnel = hyper::Request::connect("hub.test:443").body(()).unwrap();
    assert_eq!(as_first_version(&mut tunnel).unwrap_err().code(), "upgrade_refused");
}
