//! Tests of ways through proxies.

use super::*;

fn to(upstream: &str, proxy: &str, no: &str) -> Detour {
    let matcher = Matcher::builder().https(proxy.to_owned()).http(proxy.to_owned()).no(no.to_owned()).build();
    Detour::to(&upstream.parse().unwrap(), &matcher)
}

#[test]
fn what_is_safe_goes_through_a_tunnel_and_what_is_not_is_asked_for() {
    let proxy = "http://agent:hunter22@proxy.example:3128";
    let Detour::Tunnel(before) = to("https://a.example/v1", proxy, "") else { panic!("no tunnel") };
    assert_eq!(before.place.to_string(), "http://proxy.example:3128/");
    assert_eq!(before.key.unwrap(), "Basic YWdlbnQ6aHVudGVyMjI=");
    let asked = to("http://a.example/v1", proxy, "");
    assert!(asked.is_asked() && asked.key().is_some() && matches!(asked.whole(), Detour::Tunnel(_)));
    assert!(!format!("{:?}", to("https://a.example", proxy, "")).contains("YWdlbnQ"));
}

#[test]
fn what_is_near_or_named_is_reached_by_itself() {
    let proxy = "http://proxy.example";
    for near in ["http://localhost:1", "http://127.0.0.1:11434", "http://[::1]:1", "https://x.localhost"] {
        assert!(matches!(to(near, proxy, ""), Detour::None), "{near}");
    }
    for named in ["https://a.example", "https://b.a.example"] {
        assert!(matches!(to(named, proxy, "other.example, a.example"), Detour::None), "{named}");
    }
    assert!(matches!(to("https://a.example", "", ""), Detour::None));
    assert!(matches!(to("https://127.example", proxy, ""), Detour::Tunnel(_)));
}

#[test]
fn proxies_of_other_kinds_are_named() {
    for kind in ["socks5", "https"] {
        let Detour::Unknown(why) = to("https://a.example", &format!("{kind}://proxy.example"), "") else {
            panic!("{kind} is spoken to")
        };
        assert!(why.contains(kind), "{why}");
    }
}
