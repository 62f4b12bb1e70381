//! A test of the tests: with its guard off, each attack succeeds. So what the others of this wall see refused is refused by the
//! guard, and not because the request was wrong anyway. A guard is off on a hub whose settings leave it out, or name what the
//! attack uses; the product has no switch for it.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tests::TestHub;
use tests::jwt::{JwtSigner, hs256, now_s};
use tests::wire::WebSocketWire;

use super::jwt::{Settings, claims, settings};
use super::raw;
use crate::access::{get, guarded, refusal, tell, unauthenticated};

/// Whether the request that goes out as it is written is served.
async fn is_served(hub: &TestHub, path: &str, more: &str) -> bool {
    raw(hub.address(), path, None, more).await.starts_with("HTTP/1.1 2")
}

/// A hub with access control that takes the JWT of one issuer, with `more` in its table.
async fn takes(settings: &Settings, jwks: &str, more: &str) -> TestHub {
    let issuer = format!(
        "[[access.jwt]]\njwks_file = {jwks:?}\nrules = [{{ claim = \"groups\", value = \"ops\", grants = [\"view:*\"] }}]\n{more}\n"
    );
    settings.hub(&issuer, &[]).await
}

async fn is_let_in(hub: &TestHub, token: &str) -> bool {
    get(hub, token, "/v1/access").await.status().is_success()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_control_a_stranger_reads_writes_exports_and_commands() {
    let (open, shut) = (TestHub::start().await, guarded().await);
    assert!(tell(&open, "", "secret", "hidden words").await.status().is_success());
    assert_eq!(refusal(tell(&shut, "", "secret", "x").await).await, unauthenticated());
    for path in [
        "/v1/conversations/secret",
        "/v1/conversations/secret/export/jsonl",
        "/v1/conversations/secret/wait?timeout_ms=1",
        "/v1/search?q=hidden&conversation=secret",
        "/v1/tools",
        "/metrics",
        "/openapi.json",
    ] {
        assert!(is_served(&open, path, "").await, "{path}");
        assert!(!is_served(&shut, path, "").await, "{path}");
    }
    let stop = || json!({"id": "1", "command": "stop"}).to_string();
    let command = async |hub: &TestHub| {
        let asked = hub.request("POST", "/v1/conversations/secret/commands").body(stop());
        refusal(asked.send().await.unwrap()).await.1
    };
    assert_ne!(command(&open).await, "unauthenticated", "it comes as far as the hub's agents");
    assert_eq!(command(&shut).await, "unauthenticated");
    let mut wire = WebSocketWire::connect_in_silence(open.address()).await;
    wire.send_text(r#"{"t":"hello","versions":["1"],"token":"fanlight_wrong"}"#.to_owned()).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_grant_on_it_the_conversation_of_somebody_else_is_read_by_the_same_requests() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish,export:*"]).await;
    let team = hub.token_for("team", &["view,export:team-*"]).await;
    assert!(tell(&hub, &all, "secret", "hidden words").await.status().is_success());
    for path in [
        "/v1/conversations/secret",
        "/v1/conversations/%73ecret",
        "/v1/conversations/secret/export/jsonl",
        "/v1/search?q=hidden&conversation=secret",
        "/v1/conversations/secret/wait?timeout_ms=1",
    ] {
        assert!(get(&hub, &all, path).await.status().is_success(), "{path}");
        assert_eq!(get(&hub, &team, path).await.status(), 403, "{path}");
    }
    for path in ["/v1/conversations/secret/stream/openai-chat", "/v1/conversations/secret/events"] {
        let mut body = get(&hub, &all, path).await.bytes_stream();
        assert!(body.next().await.unwrap().is_ok(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_called_by_that_name_serves_it_and_a_page_of_a_named_origin() {
    let named = TestHub::start_with(&["--host", "rebound.example", "--origin", "http://evil.example"]).await;
    let plain = TestHub::start().await;
    let rebound = |hub: &TestHub| hub.request("GET", "/v1/conversations").header("host", "rebound.example");
    assert!(rebound(&named).send().await.unwrap().status().is_success());
    assert_eq!(refusal(rebound(&plain).send().await.unwrap()).await.1, "forbidden_origin");
    let page = |hub: &TestHub| hub.request("GET", "/v1/models").header("origin", "http://evil.example");
    assert!(page(&named).send().await.unwrap().status().is_success());
    assert_eq!(refusal(page(&plain).send().await.unwrap()).await.1, "forbidden_origin");
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_proxy_that_is_named_the_forged_identity_is_believed() {
    let settings = settings();
    let rules = "[[access.rules]]\nclaim = \"user\"\nvalue = \"operator\"\ngrants = [\"view:*\"]\n";
    let named = settings.hub(rules, &["--trusted-proxy", "127.0.0.1"]).await;
    let other = settings.hub(rules, &["--trusted-proxy", "10.9.9.0/24"]).await;
    for (hub, believes) in [(&named, true), (&other, false)] {
        let is_believed = is_served(hub, "/v1/conversations", "x-forwarded-user: operator\r\n").await;
        assert_eq!(is_believed, believes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_of_a_jwt_is_what_refuses_it() {
    let settings = settings();
    let signer = JwtSigner::new("k");
    let jwks = settings.file("jwks.json", &signer.jwks().to_string());
    let mine = "issuer = \"https://id.example\"\naudience = \"hub\"";
    let strict = takes(&settings, &jwks, &format!("{mine}\nskew_s = 0")).await;
    let signed = |change: &dyn Fn(&mut Value)| {
        let mut claims = claims(&["ops"]);
        change(&mut claims);
        signer.sign(&claims)
    };
    let elsewhere = signed(&|it| it["iss"] = json!("https://evil.example"));
    let for_another = signed(&|it| it["aud"] = json!("other"));
    let late = signed(&|it| it["exp"] = json!(now_s() - 5));
    let early = signed(&|it| it["nbf"] = json!(now_s() + 60));
    let of_strangers = signed(&|it| it["groups"] = json!(["strangers"]));
    for token in [&elsewhere, &for_another, &late, &early, &of_strangers] {
        assert!(!is_let_in(&strict, token).await);
    }
    let (any, hers) = (
        "issuer = \"https://evil.example\"\naudience = \"hub\"",
        "issuer = \"https://id.example\"\naudience = \"other\"",
    );
    for (table, token) in [
        (any.to_owned(), &elsewhere),
        (hers.to_owned(), &for_another),
        (format!("{mine}\nskew_s = 300"), &late),
        (format!("{mine}\nskew_s = 300"), &early),
    ] {
        let lax = takes(&settings, &jwks, &table).await;
        assert!(is_let_in(&lax, token).await, "{table}");
    }
    let issuer = format!(
        "[[access.jwt]]\njwks_file = {jwks:?}\n{mine}\nrules = [{{ claim = \"groups\", grants = [\"view:*\"] }}]\n"
    );
    assert!(is_let_in(&settings.hub(&issuer, &[]).await, &of_strangers).await, "any group will do there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_has_the_strangers_key_takes_what_they_signed() {
    let settings = settings();
    let (signer, stranger) = (JwtSigner::new("k"), JwtSigner::new("k"));
    let mine = "issuer = \"https://id.example\"\naudience = \"hub\"";
    let [own, theirs] = [("own.json", &signer), ("theirs.json", &stranger)]
        .map(|(name, keys)| settings.file(name, &keys.jwks().to_string()));
    let forged = stranger.sign(&claims(&["ops"]));
    assert!(!is_let_in(&takes(&settings, &own, mine).await, &forged).await);
    assert!(is_let_in(&takes(&settings, &theirs, mine).await, &forged).await);
    // Confusion of algorithms: the public key is no secret, but one that is a secret signs.
    let words = "a secret of a test, of thirty-two bytes or more";
    let secret = settings.file("secret", words);
    let hs = hs256(&json!({"alg": "HS256"}), &claims(&["ops"]), words.as_bytes());
    assert!(!is_let_in(&takes(&settings, &own, mine).await, &hs).await);
    let rules = "rules = [{ claim = \"groups\", value = \"ops\", grants = [\"view:*\"] }]";
    let issuer = format!("[[access.jwt]]\nsecret_file = {secret:?}\n{mine}\n{rules}\n");
    assert!(is_let_in(&settings.hub(&issuer, &[]).await, &hs).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_role_everything_is_told_that_one_hides() {
    let settings = settings();
    let hub = settings.hub("[access.roles.guest]\nhide = [\"thinking\"]\n", &[]).await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let guest = crate::access_roles::with_role(&hub, "guest", "view:*").await;
    let events = r#"[{"k":"run.start","run":"r"},{"k":"part.start","run":"r","part":"p","kind":"thinking"},{"k":"part.delta","run":"r","part":"p","off":0,"text":"canary"}]"#;
    let told = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(events);
    assert!(told.send().await.unwrap().status().is_success());
    let seen = async |token: &str| get(&hub, token, "/v1/conversations/c").await.text().await.unwrap();
    assert!(seen(&all).await.contains("canary") && !seen(&guest).await.contains("canary"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_bound_one_principal_does_what_the_bound_refuses() {
    let settings = settings();
    let bounded = settings.hub("[access.limits]\nrequests_per_principal = 1\n", &[]).await;
    let free = guarded().await;
    for (hub, status) in [(&bounded, 429), (&free, 200)] {
        let ann = hub.token_for("ann", &["view,publish:*"]).await;
        assert!(tell(hub, &ann, "c", "hello").await.status().is_success());
        let stream = get(hub, &ann, "/v1/conversations/c/events").await;
        assert_eq!(get(hub, &ann, "/v1/access").await.status(), status);
        drop(stream);
    }
    let [few, little] = ["received_mib_per_minute = 1\n", "sent_mib_per_minute = 1\n"]
        .map(|it| format!("[access.limits]\n{it}"));
    let (few, little) = (settings.hub(&few, &[]).await, settings.hub(&little, &[]).await);
    for (hub, refuses) in [(&few, "POST"), (&little, "GET"), (&free, "nothing")] {
        let bob = hub.token_for("bob", &["view,publish:*"]).await;
        let mut refused = "nothing";
        // What is owed is paid back as time goes by, so far more is tried than the bound.
        for _ in 0..8 {
            if super::limits::tell_much(hub, &bob, "much", 1_000).await.status() == 429 {
                refused = "POST";
                break;
            }
            let seen = get(hub, &bob, "/v1/conversations/much").await;
            if seen.status() == 429 {
                refused = "GET";
                break;
            }
            seen.bytes().await.unwrap();
        }
        assert_eq!(refused, refuses);
    }
    let slow = settings.hub("[access.limits]\nfailed_logins_per_minute = 1\n", &[]).await;
    for (hub, statuses) in [(&slow, [401, 429]), (&free, [401, 401])] {
        for status in statuses {
            assert_eq!(get(hub, "fanlight_wrong", "/v1/access").await.status(), status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_bound_sockets_connections_and_publications_are_taken() {
    const TRIED: usize = 30;
    let settings = settings();
    let limits = "sockets_per_principal = 2\nconnections_per_address = 12\npublishes_per_second = 1\n";
    let bounded = settings.hub(&format!("[access.limits]\n{limits}"), &[]).await;
    let free = guarded().await;
    for (hub, is_free) in [(&bounded, false), (&free, true)] {
        let ann = hub.token_for("ann", &["view,publish:*"]).await;
        let (mut sockets, mut welcome) = (Vec::new(), 0);
        for _ in 0..5 {
            let mut wire = super::limits::greeted(hub, &ann).await;
            welcome += usize::from(wire.text().await.is_ok_and(|text| text.contains("welcome")));
            sockets.push(wire);
        }
        assert_eq!(welcome, if is_free { 5 } else { 2 }, "sockets of one principal");
        drop(sockets);
        let mut refused = 0;
        for _ in 0..TRIED {
            refused += usize::from(tell(hub, &ann, "c", "x").await.status() == 429);
        }
        assert_eq!(refused == 0, is_free, "publications: {refused} of {TRIED} were refused");
        // Connections that stay open; over the bound one is closed at once.
        let (mut open, mut closed) = (Vec::new(), 0);
        for _ in 0..TRIED {
            let mut stream = tokio::net::TcpStream::connect(hub.address()).await.unwrap();
            let asked = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", hub.address());
            let asked = tokio::io::AsyncWriteExt::write_all(&mut stream, asked.as_bytes()).await;
            let mut byte = [0];
            let answer = tests::wait::within(
                "an answer or the end",
                tokio::io::AsyncReadExt::read(&mut stream, &mut byte),
            );
            let came = answer.await;
            closed += usize::from(asked.is_err() || !matches!(came, Ok(1)));
            open.push(stream);
        }
        assert_eq!(closed == 0, is_free, "connections: {closed} of {TRIED} were closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_stranger_writes_the_last_address_itself_a_second_header_skips_the_limit() {
    let settings = settings();
    let limit = "[access.limits]\nfailed_logins_per_minute = 2\n";
    // The guard is that the last address counts, which only a named proxy may say. Named is whoever asks, so the guard is off.
    let open = settings.hub(&format!("[access]\nproxies = [\"127.0.0.1\"]\n{limit}"), &[]).await;
    let shut = settings.hub(limit, &[]).await;
    for (hub, skips) in [(&open, true), (&shut, false)] {
        let mut barred = 0;
        for number in 1..=6 {
            let guess = hub.request("GET", "/v1/access").bearer_auth("fanlight_wrong");
            let guess = guess.header("x-forwarded-for", format!("203.0.113.7, 198.51.100.{number}"));
            barred += usize::from(guess.send().await.unwrap().status() == 429);
        }
        assert_eq!(barred == 0, skips, "{barred} guesses were refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_may_be_opened_again_opens_what_a_used_one_does_not() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (views, last) in [(1, 401), (2, 303)] {
        let wanted = json!({"conversation": "c", "views": views}).to_string();
        let made = hub.request("POST", "/v1/shares").bearer_auth(&ann).body(wanted).send().await.unwrap();
        let made: Value = made.json().await.unwrap();
        let url = hub.url(made["url"].as_str().unwrap());
        let opened = async || client.get(&url).send().await.unwrap().status().as_u16();
        assert_eq!((opened().await, opened().await), (303, last), "{views} views");
    }
}
