//! Tests of ways through proxies.

use super::*;

fn to(upstream: &str, proxy: &str, no: &str) -> ProxyRoute {
    let matcher = Matcher::builder().https(proxy.to_owned()).http(proxy.to_owned()).no(no.to_owned()).build();
    ProxyRoute::for_upstream(&upstream.parse().unwrap(), &matcher)
}

#[test]
fn what_is_safe_goes_through_a_tunnel_and_what_is_not_is_asked_for() {
    let proxy = "http://agent:hunter22@proxy.example:3128";
    let ProxyRoute::Tunnel(server) = to("https://a.example/v1", proxy, "") else { panic!("no tunnel") };
    assert_eq!(server.address.to_string(), "http://proxy.example:3128/");
    assert_eq!(server.authorization.unwrap(), "Basic YWdlbnQ6aHVudGVyMjI=");
    let forwarded = to("http://a.example/v1", proxy, "");
    assert!(
        forwarded.is_forwarded()
            && forwarded.authorization().is_some()
            && matches!(forwarded.end_to_end(), ProxyRoute::Tunnel(_))
    );
    assert!(!format!("{:?}", to("https://a.example", proxy, "")).contains("YWdlbnQ"));
}

#[test]
fn what_is_near_or_named_is_reached_by_itself() {
    let proxy = "http://proxy.example";
    for near in ["http://localhost:1", "http://127.0.0.1:11434", "http://[::1]:1", "https://x.localhost"] {
        assert!(matches!(to(near, proxy, ""), ProxyRoute::Direct), "{near}");
    }
    for near in [
        "http://0.0.0.0:1",
        "http://[::]:1",
        "http://[::ffff:127.0.0.1]",
        "http://localhost.",
        "http://X.Localhost.:1",
    ] {
        assert!(matches!(to(near, proxy, ""), ProxyRoute::Direct), "{near}");
    }
    for named in ["https://a.example", "https://b.a.example"] {
        assert!(matches!(to(named, proxy, "other.example, a.example"), ProxyRoute::Direct), "{named}");
    }
    assert!(matches!(to("https://a.example", "", ""), ProxyRoute::Direct));
    assert!(matches!(to("https://127.example", proxy, ""), ProxyRoute::Tunnel(_)));
}

#[test]
fn proxies_of_other_kinds_are_named() {
    for kind in ["socks5", "https"] {
        let ProxyRoute::Unsupported(why) = to("https://a.example", &format!("{kind}://proxy.example"), "")
        else {
            panic!("{kind} is spoken to")
        };
        assert!(why.contains(kind), "{why}");
    }
}

#[test]
fn no_part_of_a_password_is_said() {
    let ProxyRoute::Unsupported(why) =
        to("https://a.example", "http://agent:p@hunter22@proxy.example:3128", "")
    else {
        panic!("a proxy by half a password")
    };
    assert!(why.contains("%40") && !why.contains("hunter"), "{why}");
    let proxy = "http://agent:hunter22@proxy.example:3128";
    let route = to("https://a.example", proxy, "");
    assert_eq!(route.address().unwrap(), "proxy.example:3128");
    // A slash ends the authority: what stands before it looks like a host with a port.
    let route = to("https://a.example", "http://agent:hunter/22@proxy.example:3128", "");
    assert!(route.address().is_none_or(|address| !address.contains("hunter")), "{route:?}");
}

/// What a proxy is asked for a connection to `upstream`.
async fn tunnelled(upstream: &str) -> String {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let route = to(upstream, &proxy, "").end_to_end();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let connector = tokio::spawn(TcpConnector::new(tcp, route).call(upstream.parse().unwrap()));
    let (stream, _peer) = listener.accept().await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    assert!(connector.await.unwrap().is_err());
    line
}

#[tokio::test]
async fn a_tunnel_leads_to_the_port_of_the_scheme() {
    for (upstream, asked) in [
        ("http://sink.example/x", "sink.example:80"),
        ("http://sink.example:81/x", "sink.example:81"),
        ("http://[2001:db8::1]/x", "[2001:db8::1]:80"),
        ("https://sink.example/x", "sink.example:443"),
    ] {
        assert_eq!(tunnelled(upstream).await, format!("CONNECT {asked} HTTP/1.1\r\n"));
    }
}
