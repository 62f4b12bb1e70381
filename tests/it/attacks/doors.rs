//! Attacks by way of the doors for other systems' clients, and of the proxy: requests that the hub sends for somebody.

use serde_json::json;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::raw;
use crate::access::{forbidden, guarded, refusal};

/// Whoever may control a few conversations must not choose which addresses the hub connects to.
#[tokio::test(flavor = "multi_thread")]
async fn attack_the_hub_is_sent_to_an_address_by_a_caller_of_a_door() {
    let inner = ScriptedServer::start(|_| ServerStep::answer("401 Unauthorized", &[], b"{}")).await;
    let body = json!({"url": format!("http://{}/mcp", inner.address())});
    let path = "/compat/forge/mcp/validate";
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view,publish,control:mine-*"]).await;
    let answer = hub.request("POST", path).bearer_auth(&token).json(&body).send().await.unwrap();
    assert_eq!(refusal(answer).await, forbidden());
    assert_eq!(inner.asked().len(), 0);
    // Without access control whoever reaches the hub may; that the server is asked shows that the attack works.
    let open = TestHub::start_in_memory().await;
    let answer = open.request("POST", path).json(&body).send().await.unwrap();
    assert!(answer.status().is_success());
    assert_ne!(inner.asked().len(), 0);
}

/// Whoever may call an upstream must not choose another host by the path of the call.
#[tokio::test(flavor = "multi_thread")]
async fn attack_paths_of_the_proxy_that_lead_to_another_host() {
    let inner = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"inner words")).await;
    let named = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"named words")).await;
    let (to, own) = (inner.address(), named.address());
    let hub = TestHub::start_with(&["--upstream", &format!("{}/base", named.named("x"))]).await;
    for path in [
        format!("/proxy/x//{to}/a"),
        format!("/proxy/x///{to}/a"),
        format!("/proxy/x/@{to}/a"),
        format!("/proxy/x/user@{to}/a"),
        format!("/proxy/x@{to}/a"),
        format!("/proxy/x:{}/a", to.port()),
        format!("/proxy/x.{to}/a"),
        format!("/proxy/x%40{to}/a"),
        format!("/proxy/x/http://{to}/a"),
        format!("/proxy/x/http:%2f%2f{to}/a"),
        format!("/proxy/x/%2f%2f{to}/a"),
        format!("/proxy/x/%5c%5c{to}/a"),
        format!("/proxy/x/\\\\{to}/a"),
        format!("/proxy/x/../../{to}/a"),
        format!("/proxy/x/..//{to}/a"),
        format!("/proxy/x/..%2f..%2f{to}/a"),
        format!("/proxy/x?@{to}/a"),
        format!("/proxy/x?http://{to}/a"),
        format!("/proxy/x/~c//{to}/a"),
        format!("/proxy/x/~c@{to}/a"),
        format!("/proxy/x/~c%40{to}/a"),
        format!("/proxy//{to}/a"),
        format!("/proxy/{to}/a"),
        format!("/proxy/@{to}/a"),
        format!("/proxy/http://{to}/a"),
        format!("/proxy/x#@{to}/a"),
        // As one asks a proxy of the other kind.
        format!("http://{to}/a"),
        format!("http://{to}/proxy/x/a"),
        format!("http://{own}@{to}/proxy/x/a"),
        format!("//{to}/proxy/x/a"),
        format!("@{to}/a"),
        format!("*@{to}"),
    ] {
        for more in [String::new(), format!("x-forwarded-host: {to}\r\nforwarded: host={to}\r\n")] {
            let said = raw(hub.address(), &path, None, &more).await;
            assert!(!said.contains("inner words"), "{path}: {said}");
        }
    }
    assert_eq!(inner.asked().len(), 0, "{:?}", inner.asked());
    // Whatever went out went to the upstream that was named, under its own name and below its path.
    let asked = named.asked();
    assert!(!asked.is_empty());
    for asked in asked {
        assert!(asked.start.starts_with("GET /base"), "{}", asked.start);
        assert_eq!(asked.all("host"), [own.to_string()], "{}", asked.start);
    }
    // For whom the settings name it, the hub goes there with the same words.
    let open = TestHub::start_with(&["--upstream", &inner.named("x")]).await;
    assert!(raw(open.address(), &format!("/proxy/x//{to}/a"), None, "").await.contains("inner words"));
}
