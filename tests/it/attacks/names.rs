//! Names that lead elsewhere than they did: whoever changes the answers of DNS gets neither a key nor a token, and his keys count for nothing. What
//! stands in the way is the certificate: at the other machine it is another one.

use serde_json::json;
use tests::TestHub;
use tests::jwt::JwtSigner;
use tests::secure::{SecureReply, TlsServer};
use tests::wait::{patiently, until};

use super::jwt::{claims, settings};
use crate::access::get;

/// A server of somebody else under the name of the one that is meant, which gives out these keys.
async fn other(signer: &JwtSigner) -> TlsServer {
    let keys = signer.jwks().to_string();
    TlsServer::answering(move |_| SecureReply::new(200, "application/json", keys.clone())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_keys_from_a_name_that_leads_elsewhere_now() {
    let settings = settings();
    let signer = JwtSigner::new("k");
    let (meant, other) = (other(&JwtSigner::new("k")).await, other(&signer).await);
    let issuer = |ca: &TlsServer| {
        format!(
            "[[access.jwt]]\nissuer = \"https://id.example\"\naudience = \"hub\"\njwks_url = \"{}/jwks\"\nca = \"{}\"\n\
             rules = [{{ claim = \"groups\", value = \"ops\", grants = [\"view:*\"] }}]\n",
            other.url(),
            ca.certificate().display()
        )
    };
    let forged = signer.sign(&claims(&["ops"]));
    let hub = settings.hub(&issuer(&meant), &[]).await;
    for _ in 0..3 {
        assert_eq!(get(&hub, &forged, "/v1/access").await.status(), 401);
    }
    assert_eq!(other.asked().len(), 0, "the request stayed here");
    // The test of the test: whose certificate is trusted, whose keys count.
    let hub = settings.hub(&issuer(&other), &[]).await;
    until("the keys of the other one", async || {
        get(&hub, &forged, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_an_upstream_whose_name_leads_elsewhere_now_gets_no_key() {
    let settings = settings();
    let signer = JwtSigner::new("k");
    let (meant, other) = (other(&signer).await, other(&signer).await);
    let call = async |ca: &TlsServer| {
        let upstream = format!(
            "[upstreams.one]\nurl = \"{}\"\napi = \"openai\"\nca = \"{}\"\n",
            other.url(),
            ca.certificate().display()
        );
        let file = settings.file("upstream.toml", &upstream);
        let hub = TestHub::start_with(&["--config", &file]).await;
        let asked = hub.request("POST", "/proxy/one/v1/chat/completions").bearer_auth("sk-vendor-key");
        let asked = asked.body(json!({"model": "m", "messages": []}).to_string()).send();
        patiently("a call", asked).await.unwrap().status().as_u16()
    };
    assert_eq!(call(&meant).await, 502);
    assert_eq!(other.asked().len(), 0, "the key stayed here");
    assert_eq!(call(&other).await, 200);
    assert_eq!(other.asked().len(), 1);
}
