//! Login at a provider of identities: what a stranger, another browser or a provider that is not the right one may try. The provider is
//! made up, so that it can lie; `tests/clients` has a real one.

use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};
use tests::TestHub;
use tests::jwt::{JwtSigner, now_s};

use super::jwt::{Settings, refused, settings};

/// A provider that gives the ID token which the test wants.
pub(crate) struct Provider {
    pub(crate) url: String,
    signer: JwtSigner,
    state: Arc<Mutex<ProviderState>>,
}

#[derive(Default)]
pub(crate) struct ProviderState {
    document: Value,
    jwks: Value,
    token: String,
    /// The forms that came for tokens.
    redeemed: Vec<String>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let signer = JwtSigner::new("k");
        let state = Arc::new(Mutex::new(ProviderState::default()));
        let (document, keys, tokens) = (Arc::clone(&state), Arc::clone(&state), Arc::clone(&state));
        let app = axum::Router::new()
            .route(
                "/.well-known/openid-configuration",
                axum::routing::get(async move || document.lock().document.to_string()),
            )
            .route("/jwks", axum::routing::get(async move || keys.lock().jwks.to_string()))
            .route(
                "/token",
                axum::routing::post(async move |form: String| {
                    let mut state = tokens.lock();
                    state.redeemed.push(form);
                    json!({"access_token": "x", "token_type": "Bearer", "id_token": state.token}).to_string()
                }),
            );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        state.lock().jwks = signer.jwks();
        state.lock().document = json!({
            "issuer": url, "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/jwks"),
        });
        Self { url, signer, state }
    }

    /// From now on it gives a right ID token for the login with this nonce.
    pub(crate) fn vouch(&self, nonce: &str) {
        self.state.lock().token = self.signer.sign(&self.claims(nonce));
    }

    /// The claims of a right ID token.
    fn claims(&self, nonce: &str) -> Value {
        json!({"iss": self.url, "aud": "hub", "sub": "ann", "groups": ["ops"], "nonce": nonce, "exp": now_s() + 300})
    }
}

/// The settings of a hub that knows the provider.
pub(crate) fn knows(url: &str) -> String {
    format!(
        r#"
[access.oidc]
issuer = "{url}"
client_id = "hub"
redirect = "http://127.0.0.1:4600/login/callback"
rules = [{{ claim = "groups", value = "ops", grants = ["view:*"] }}]
"#
    )
}

fn browser() -> Client {
    Client::builder().redirect(Policy::none()).build().unwrap()
}

pub(crate) fn cookies(answer: &Response) -> Vec<String> {
    let all = answer.headers().get_all("set-cookie").iter();
    all.map(|value| value.to_str().unwrap().to_owned()).collect()
}

/// The pair of a cookie that was set.
pub(crate) fn pair(set: &str) -> String {
    set.split(';').next().unwrap().to_owned()
}

/// A login that has begun: the cookie of the browser, and what the provider was asked.
pub(crate) async fn begun(hub: &TestHub) -> (String, Url) {
    let sent = browser().get(hub.url("/login/oidc?next=%2Fwall")).send().await.unwrap();
    assert_eq!(sent.status(), 303);
    let set = cookies(&sent);
    assert!(set[0].contains("HttpOnly; SameSite=Lax") && set[0].contains("Max-Age=600"), "{set:?}");
    (pair(&set[0]), sent.headers()["location"].to_str().unwrap().parse().unwrap())
}

pub(crate) fn field(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(known, _)| known == name).unwrap().1.into_owned()
}

/// What the hub says to a browser with this cookie that comes back with this query.
pub(crate) async fn back(hub: &TestHub, cookie: &str, query: &str) -> Response {
    let back = browser().get(hub.url(&format!("/login/callback?{query}")));
    back.header("cookie", cookie).header("sec-fetch-site", "cross-site").send().await.unwrap()
}

async fn hub_of(settings: &Settings, provider: &Provider) -> TestHub {
    settings.hub(&knows(&provider.url), &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_at_a_provider_uses_a_code_once_with_pkce_state_and_nonce() {
    let (settings, provider) = (settings(), Provider::start().await);
    let hub = hub_of(&settings, &provider).await;
    let form = browser().get(hub.url("/wall")).send().await.unwrap().text().await.unwrap();
    assert!(form.contains("/login/oidc?next=%2Fwall"), "{form}");
    let (cookie, asked) = begun(&hub).await;
    assert_eq!(asked.path(), "/auth");
    assert_eq!(field(&asked, "code_challenge_method"), "S256");
    assert_eq!((field(&asked, "response_type"), field(&asked, "client_id")), ("code".into(), "hub".into()));
    assert!(field(&asked, "scope").contains("openid"));
    let (state, nonce) = (field(&asked, "state"), field(&asked, "nonce"));
    provider.state.lock().token = provider.signer.sign(&provider.claims(&nonce));
    let done = back(&hub, &cookie, &format!("code=c1&state={state}&iss={}", provider.url)).await;
    assert_eq!(done.status(), 200);
    let set = cookies(&done);
    assert!(set[0].starts_with("fanlight=fls_") && set[0].contains("SameSite=Strict"), "{set:?}");
    assert!(set[1].starts_with("fanlight-login=") && set[1].contains("Max-Age=0"), "{set:?}");
    assert!(done.text().await.unwrap().contains("url=/wall"));
    let sent = provider.state.lock().redeemed.join("\n");
    assert!(sent.contains("code=c1") && sent.contains("code_verifier="), "{sent}");
    let who = browser().get(hub.url("/v1/access")).header("cookie", pair(&set[0])).send().await.unwrap();
    assert_eq!(who.json::<Value>().await.unwrap()["principal"], "ann");
    let again = back(&hub, &cookie, &format!("code=c1&state={state}")).await;
    assert_eq!((again.status().as_u16(), cookies(&again).len()), (401, 0), "a login is done once");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_logins_that_did_not_begin_here_or_of_another_provider() {
    let (settings, provider) = (settings(), Provider::start().await);
    let hub = hub_of(&settings, &provider).await;
    let (cookie, asked) = begun(&hub).await;
    let (other, theirs) = begun(&hub).await;
    let (state, nonce) = (field(&asked, "state"), field(&asked, "nonce"));
    provider.state.lock().token = provider.signer.sign(&provider.claims(&nonce));
    let stranger = format!("fanlight-login=flo_{}", "A".repeat(43));
    for (cookie, query) in [
        (String::new(), format!("code=c&state={state}")),
        (stranger, format!("code=c&state={state}")),
        (other.clone(), format!("code=c&state={state}")),
        (cookie.clone(), format!("code=c&state={}", field(&theirs, "state"))),
        (cookie.clone(), "code=c".to_owned()),
        (cookie.clone(), format!("state={state}")),
        (format!("{cookie}; {cookie}"), format!("code=c&state={state}")),
        (cookie.clone(), format!("code=c&state={state}&iss=https://evil.example")),
        (cookie.clone(), format!("error=access_denied&state={state}")),
    ] {
        let answer = back(&hub, &cookie, &query).await;
        assert_eq!((answer.status().as_u16(), cookies(&answer).len()), (401, 0), "{query}");
    }
    assert!(provider.state.lock().redeemed.is_empty(), "no code was passed on");
    // None of these has used it up.
    assert_eq!(back(&hub, &cookie, &format!("code=c&state={state}")).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_id_tokens_of_another_login_hub_or_signer() {
    let (settings, provider) = (settings(), Provider::start().await);
    let hub = hub_of(&settings, &provider).await;
    let stranger = JwtSigner::new("k");
    type Change = fn(&mut Value);
    let changes: [Change; 7] = [
        |it| it["nonce"] = json!("another"),
        |it| drop(it.as_object_mut().unwrap().remove("nonce")),
        |it| it["aud"] = json!("another hub"),
        |it| it["aud"] = json!(["hub", "another"]),
        |it| it["iss"] = json!("https://evil.example"),
        |it| it["exp"] = json!(1),
        |it| it["groups"] = json!(["strangers"]),
    ];
    let mut tried = 0;
    for number in 0..=changes.len() {
        let (cookie, asked) = begun(&hub).await;
        let (state, nonce) = (field(&asked, "state"), field(&asked, "nonce"));
        let mut claims = provider.claims(&nonce);
        let token = match changes.get(number) {
            Some(change) => {
                change(&mut claims);
                provider.signer.sign(&claims)
            }
            None => stranger.sign(&claims),
        };
        provider.state.lock().token = token;
        let answer = back(&hub, &cookie, &format!("code=c&state={state}")).await;
        assert_eq!((answer.status().as_u16(), cookies(&answer).len()), (401, 0), "{number}");
        tried += 1;
    }
    assert_eq!(tried, 8);
    // An ID token is no token for the hub's other doors.
    let token = provider.signer.sign(&provider.claims("n"));
    let asked = hub.request("GET", "/v1/access").bearer_auth(token).send().await.unwrap();
    assert_eq!(asked.status(), 401);
    // And nobody is led elsewhere by where they wanted to go.
    let sent = browser().get(hub.url("/login/oidc?next=%2F%2Fevil.example")).send().await.unwrap();
    let asked: Url = sent.headers()["location"].to_str().unwrap().parse().unwrap();
    let (cookie, nonce) = (pair(&cookies(&sent)[0]), field(&asked, "nonce"));
    provider.state.lock().token = provider.signer.sign(&provider.claims(&nonce));
    let done = back(&hub, &cookie, &format!("code=c&state={}", field(&asked, "state"))).await;
    assert!(done.text().await.unwrap().contains("url=/\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_provider_whose_document_is_of_somebody_else() {
    let (settings, provider) = (settings(), Provider::start().await);
    provider.state.lock().document["issuer"] = json!("https://evil.example");
    let hub = hub_of(&settings, &provider).await;
    let sent = browser().get(hub.url("/login/oidc")).send().await.unwrap();
    assert_eq!((sent.status().as_u16(), cookies(&sent).len()), (401, 0));
    assert!(sent.text().await.unwrap().contains("the discovery document is of"));
    let none = TestHub::start_with(&["--access", "tokens"]).await;
    let sent = browser().get(none.url("/login/oidc")).send().await.unwrap();
    assert_eq!((sent.status().as_u16(), &sent.headers()["location"]), (303, &"/login".parse().unwrap()));
    for (wrong, says) in [
        (knows("http://id.example"), "neither https"),
        (knows(&provider.url).replace("/login/callback", "/"), "/login/callback"),
        (knows(&provider.url).replace("rules = [{", "# "), "rules"),
    ] {
        let said = refused(&settings, &wrong).await;
        assert!(said.contains("[access.oidc]") && said.contains(says), "{says}: {said}");
    }
}
