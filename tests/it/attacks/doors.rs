//! Attacks by way of the doors for other systems' clients.

use serde_json::json;
use tests::{ScriptedServer, ServerStep, TestHub};

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
