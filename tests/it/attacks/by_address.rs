//! More bytes than one address may have, whoever is there: several principals, and strangers. Another address costs it nothing. Addresses are
//! those of this machine's loopback network, and what a named proxy says.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Response;
use tests::TestHub;
use tests::wait::{patiently, until, within};
use tests::wire::WebSocketWire;
use tokio::net::TcpSocket;

use super::jwt::settings;
use super::limits::{acked, events_of, greeted, over, too_many};
use crate::access::{get, tell};

/// Another address of this machine.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// What a client at [`OTHER`] asks.
pub(super) fn from_other(hub: &TestHub, method: &str, path: &str, token: &str) -> reqwest::RequestBuilder {
    let client = reqwest::Client::builder().local_address(OTHER).build().unwrap();
    client.request(method.parse().unwrap(), hub.url(path)).bearer_auth(token)
}

/// A socket of a client at [`OTHER`] that has said who it is.
pub(super) async fn greeted_from_other(hub: &TestHub, token: &str) -> WebSocketWire {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((OTHER, 0).into()).unwrap();
    let stream = within("a connection", socket.connect(hub.address())).await.unwrap();
    let mut wire = WebSocketWire::over(stream, hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    wire
}

/// Publishes so many KiB of text from an address that a named proxy says, if it says one.
async fn tell_from(hub: &TestHub, token: &str, address: Option<&str>, kib: usize) -> Response {
    let request = hub.request("POST", "/v1/conversations/c/events").bearer_auth(token);
    let request = address.into_iter().fold(request, |request, it| request.header("x-forwarded-for", it));
    within("an answer", request.body(events_of(kib)).send()).await.unwrap()
}

/// Asks until it is refused; what is said then.
async fn refused_at_last(what: &str, mut ask: impl AsyncFnMut() -> Response) -> String {
    within(what, async {
        loop {
            let answer = ask().await;
            let (is_refused, status) = (too_many(&answer), answer.status());
            let said = answer.text().await.unwrap();
            if is_refused {
                return said;
            }
            assert!(status.is_success(), "{status}: {said}");
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_principals_of_one_address_share_what_it_may_send_and_another_address_pays_for_none_of_it() {
    let settings = settings();
    let limits =
        "[access]\nproxies = [\"127.0.0.1\"]\n[access.limits]\nreceived_mib_per_minute_per_address = 1\n";
    let hub = settings.hub(limits, &[]).await;
    let ann = hub.token_for("ann", &["view,publish,control:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    // Each less than the address may have, together more; of IPv6 an address is its first 64 bits.
    for (first, second, third, other) in [
        ("203.0.113.7", "203.0.113.7", "198.51.100.9, 203.0.113.7", "203.0.113.8"),
        ("2001:db8::1", "2001:db8::2:2", "2001:db8:0:0:ffff::3", "2001:db8:0:1::1"),
    ] {
        for (token, address) in [(&ann, first), (&bob, second)] {
            assert!(tell_from(&hub, token, Some(address), 500).await.status().is_success());
        }
        let said = refused_at_last("a refusal", async || tell_from(&hub, &bob, Some(third), 40).await).await;
        assert!(said.contains("this address has sent more than 1 MiB within a minute: wait, or send less"));
        assert!(too_many(&tell_from(&hub, &ann, Some(first), 1).await), "whoever it is");
        assert!(tell_from(&hub, &ann, Some(other), 40).await.status().is_success(), "another address");
        let stop = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann);
        let stop = stop.header("x-forwarded-for", first).body(r#"{"id":"1","command":"stop"}"#);
        assert_ne!(stop.send().await.unwrap().status(), 429, "whoever stops something gets through");
        assert!(get(&hub, &bob, "/v1/conversations/c").await.status().is_success(), "it may see");
    }
    // Where the proxy says none, everybody would pay for one.
    for _ in 0..3 {
        assert!(tell_from(&hub, &ann, None, 500).await.status().is_success());
    }
    until("the bytes of the address to be paid for", async || {
        tell_from(&hub, &ann, Some("203.0.113.7"), 1).await.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_principals_of_one_address_share_what_it_may_fetch() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\nsent_mib_per_minute_per_address = 1\n", &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    let path = "/v1/conversations/c";
    assert!(tell_from(&hub, &ann, None, 600).await.status().is_success());
    for token in [&ann, &bob] {
        let seen = get(&hub, token, path).await;
        assert!(seen.bytes().await.unwrap().len() > 600 << 10, "what has begun comes whole");
    }
    for token in [&bob, &ann] {
        let refused = get(&hub, token, path).await;
        assert!(too_many(&refused));
        let said = refused.text().await.unwrap();
        assert!(
            said.contains("this address has fetched more than 1 MiB within a minute: wait, or ask for less")
        );
    }
    assert!(get(&hub, &ann, "/v1/access").await.status().is_success(), "what holds no conversation");
    assert!(tell(&hub, &ann, "d", "x").await.status().is_success(), "it may say");
    let elsewhere = from_other(&hub, "GET", path, &ann).send().await.unwrap();
    assert!(elsewhere.bytes().await.unwrap().len() > 600 << 10, "another address");
    let told = from_other(&hub, "GET", "/metrics", &ann).send().await.unwrap().text().await.unwrap();
    assert!(told.contains("fanlight_over_quota_total{way=\"sent\"} 2\n"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_sockets_of_one_address_are_read_more_slowly_together() {
    const FRAMES: u64 = 10;
    let settings = settings();
    let hub = settings.hub("[access.limits]\nreceived_mib_per_minute_per_address = 1\n", &[]).await;
    let mut tokens = Vec::new();
    for name in ["ann", "bob", "eve"] {
        tokens.push(hub.token_for(name, &["view,publish:*"]).await);
    }
    let frame = |id: u64| {
        let text = "x".repeat(60 << 10);
        format!(
            r#"{{"t":"pub","id":{id},"conv":"c","durability":"memory","events":[{{"k":"part.delta","part":"p","text":"{text}","run":"r"}}]}}"#
        )
    };
    let [mut ann, mut bob] = [greeted(&hub, &tokens[0]).await, greeted(&hub, &tokens[1]).await];
    let mut eve = greeted_from_other(&hub, &tokens[2]).await;
    for wire in [&mut ann, &mut bob, &mut eve] {
        assert!(wire.text().await.unwrap().contains("welcome"));
    }
    // Together 1.2 MiB.
    let sending = async |wire: &mut WebSocketWire| {
        for id in 0..FRAMES {
            wire.send_text(frame(id)).await;
        }
        for id in 0..FRAMES {
            assert_eq!(acked(wire).await, id);
        }
    };
    let beside = async {
        until("the sockets to be slowed down", async || {
            (over(&hub, &tokens[2], "received").await > 0).then_some(())
        })
        .await;
        for id in 0..3 {
            eve.send_text(frame(id)).await;
            assert_eq!(acked(&mut eve).await, id, "another address goes on");
        }
    };
    // Every frame of both is taken, in order, and no socket is closed.
    patiently("all acks", async { tokio::join!(sending(&mut ann), sending(&mut bob), beside) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_bytes_of_strangers_count_for_their_address() {
    let settings = settings();
    let limits =
        "[access.limits]\nreceived_mib_per_minute_per_address = 1\nfailed_logins_per_minute = 100000\n";
    let hub = settings.hub(limits, &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "x").await.status().is_success());
    // Half of it over sockets that never say who they are, each of which sends less than a `hello` may have.
    for _ in 0..48 {
        let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
        wire.offer_text("x".repeat(12 << 10)).await;
        wire.end().await;
    }
    let form = format!("token={}", "x".repeat(12 << 10));
    let said = until("the form of a stranger to be refused", async || {
        let answer = hub.request("POST", "/login").body(form.clone()).send().await.ok()?;
        let is_refused = too_many(&answer);
        let said = answer.text().await.ok()?;
        is_refused.then_some(said)
    })
    .await;
    assert!(said.contains("this address has sent more than 1 MiB within a minute"), "{said}");
    // The bound comes free again with time: on a busy machine there may be room for one small request by now.
    until("whoever else is there to be refused", async || {
        hub.request("POST", "/login").body(form.clone()).send().await.ok()?;
        too_many(&tell(&hub, &ann, "c", "x").await).then_some(())
    })
    .await;
    let events = events_of(1);
    let elsewhere = from_other(&hub, "POST", "/v1/conversations/c/events", &ann).body(events).send();
    assert!(elsewhere.await.unwrap().status().is_success(), "another address");
}
