//! A reverse proxy that says who sends a request, and those who say the same without being it.

use serde_json::Value;
use tests::TestHub;

use super::jwt::{refused, settings};
use super::raw;
use crate::access::{forbidden, refusal, tell, unauthenticated};

const RULES: &str = r#"
[[access.rules]]
claim = "groups"
value = "ops"
grants = ["view,publish,control:*"]

[[access.rules]]
claim = "user"
value = "bob"
grants = ["view:team-*"]
"#;

const NAMED: [&str; 4] = ["--trusted-proxy", "127.0.0.1", "--trusted-groups-header", "X-Forwarded-Groups"];

async fn asked(hub: &TestHub, headers: &[(&str, &str)]) -> reqwest::Response {
    let mut request = hub.request("GET", "/v1/access");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_proxy_says_who_it_is_and_the_rules_say_what_that_gives() {
    let settings = settings();
    let hub = settings.hub(RULES, &NAMED).await;
    let ann = [("x-forwarded-user", "ann"), ("x-forwarded-groups", "staff, ops")];
    let who: Value = asked(&hub, &ann).await.json().await.unwrap();
    assert_eq!(who["principal"], "ann");
    assert_eq!(who["grants"], serde_json::json!(["view,publish,control:*"]));
    let bob = asked(&hub, &[("x-forwarded-user", "bob")]).await;
    assert_eq!(bob.json::<Value>().await.unwrap()["grants"], serde_json::json!(["view:team-*"]));
    let other = hub.request("GET", "/v1/conversations/other").header("x-forwarded-user", "bob");
    assert_eq!(refusal(other.send().await.unwrap()).await, forbidden());
    assert_eq!(refusal(asked(&hub, &[("x-forwarded-user", "eve")]).await).await, unauthenticated());
    assert_eq!(refusal(asked(&hub, &[]).await).await, unauthenticated());
    // A token says more precisely who it is than the proxy.
    let own = hub.token_for("robot", &["publish:*"]).await;
    let both = hub.request("GET", "/v1/access").bearer_auth(&own).header("x-forwarded-user", "bob");
    assert_eq!(both.send().await.unwrap().json::<Value>().await.unwrap()["principal"], "robot");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_identity_headers_from_somebody_who_is_not_the_proxy() {
    let settings = settings();
    let elsewhere = ["--trusted-proxy", "10.9.9.0/24", "--trusted-groups-header", "X-Forwarded-Groups"];
    let hub = settings.hub(RULES, &elsewhere).await;
    let own = hub.token_for("own", &["view,publish:*"]).await;
    assert!(tell(&hub, &own, "secret", "hidden words").await.status().is_success());
    for more in [
        "x-forwarded-user: bob\r\n",
        "X-Forwarded-User: bob\r\nX-Forwarded-For: 10.9.9.1\r\n",
        "x-forwarded-user: ann\r\nx-forwarded-groups: ops\r\nforwarded: for=10.9.9.1\r\n",
        "x-forwarded-groups: ops\r\n",
        "x_forwarded_user: bob\r\n",
        "x-real-ip: 10.9.9.1\r\nx-forwarded-user: bob\r\n",
    ] {
        let said = raw(hub.address(), "/v1/conversations/secret", None, more).await;
        assert!(said.starts_with("HTTP/1.1 401") && !said.contains("hidden"), "{more}: {said}");
    }
    // Whoever has a token and says more than that is refused too, rather than half believed.
    let said = raw(hub.address(), "/v1/conversations/secret", Some(&own), "x-forwarded-user: bob\r\n").await;
    assert!(said.starts_with("HTTP/1.1 401") && said.contains("no proxy whom this hub believes"), "{said}");
    assert!(raw(hub.address(), "/v1/conversations/secret", Some(&own), "").await.contains("hidden words"));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_second_identity_header_beside_that_of_the_proxy() {
    let settings = settings();
    let hub = settings.hub(RULES, &NAMED).await;
    for headers in [
        &[("x-forwarded-user", "bob"), ("x-forwarded-user", "ann")][..],
        &[("x-forwarded-user", "bob"), ("x-forwarded-user", "bob")],
        &[("x-forwarded-user", "bob, ann")],
        &[("x-forwarded-user", "bob"), ("x-forwarded-groups", "staff"), ("x-forwarded-groups", "ops")],
        &[("x-forwarded-groups", "ops")],
        &[("x-forwarded-user", ""), ("x-forwarded-groups", "ops")],
        &[("x-forwarded-user", "b\u{f6}b"), ("x-forwarded-groups", "ops")],
    ] {
        assert_eq!(refusal(asked(&hub, headers).await).await, unauthenticated(), "{headers:?}");
    }
    // A page of somebody else's, in the browser of somebody whom the proxy knows.
    let foreign = [("x-forwarded-user", "bob"), ("sec-fetch-site", "same-site")];
    let status = asked(&hub, &foreign).await.status().as_u16();
    assert!(matches!(status, 401 | 403), "{status}");
    assert!(asked(&hub, &[("x-forwarded-user", "bob")]).await.status().is_success(), "the test can tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_proxy_says_stays_in_the_hub() {
    let upstream = axum::Router::new()
        .fallback(async |request: axum::extract::Request| format!("{:?}", request.headers()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let named = format!("echo=http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, upstream).await });
    let settings = settings();
    let hub = settings.hub(RULES, &[&NAMED[..], &["--upstream", &named]].concat()).await;
    let call = hub.request("GET", "/proxy/echo/v1/models").header("authorization", "Bearer vendor");
    let call =
        call.header("x-forwarded-user", "ann").header("x-forwarded-groups", "ops").header("x-other", "1");
    let seen = call.send().await.unwrap().text().await.unwrap();
    assert!(seen.contains("x-other") && seen.contains("vendor"), "{seen}");
    assert!(!seen.contains("x-forwarded-user") && !seen.contains("x-forwarded-groups"), "{seen}");
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_trusted_proxies_that_mean_everybody_or_nobody_are_refused() {
    let settings = settings();
    for (text, says) in [
        ("trusted_proxies = [\"0.0.0.0/0\"]\n", "0.0.0.0/0"),
        ("trusted_proxies = [\"proxy.example\"]\n", "proxy.example"),
        ("trusted_proxies = [\"127.0.0.1\"]\n[access]\n", "[[access.rules]]"),
        ("trusted_user_header = \"x-user\"\n", "no address of a proxy"),
        (
            "trusted_proxies = [\"127.0.0.1\"]\ntrusted_user_header = \"x user\"\n[[access.rules]]\nclaim=\"user\"\ngrants=[\"view\"]\n",
            "x user",
        ),
    ] {
        let said = refused(&settings, text).await;
        assert!(said.contains(says), "{says}: {said}");
    }
}
