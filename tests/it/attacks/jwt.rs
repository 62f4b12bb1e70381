//! Tokens that others sign: forged, stale, for somebody else, by a key from elsewhere. Each is right but for one thing, and the right one
//! is let in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::TestHub;
use tests::jwt::{JwtSigner, hs256, now_s, token};
use tests::wait::until;
use tests::wire::WebSocketWire;

use crate::access::{forbidden, get, refusal, tell, unauthenticated};

const SECRET: &str = "a secret of a test, of thirty-two bytes or more";

/// The folder of a hub's settings, which must outlive it.
pub(crate) struct Settings(pub(crate) tempfile::TempDir);

impl Settings {
    /// A file with these contents; its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A hub with access control and these settings.
    pub(crate) async fn hub(&self, settings: &str, more: &[&str]) -> TestHub {
        let file = self.file("fanlight.toml", settings);
        let mut options = vec!["--access", "tokens", "--config", &file];
        options.extend(more);
        TestHub::start_with(&options).await
    }
}

pub(crate) fn settings() -> Settings {
    Settings(tempfile::tempdir().unwrap())
}

/// An issuer whose keys are at `keys`.
fn issuer(keys: &str) -> String {
    format!(
        r#"
[[access.jwt]]
issuer = "https://id.example"
audience = "hub"
{keys}
skew_s = 0
rules = [
    {{ claim = "groups", value = "ops", grants = ["view,publish,control:*"] }},
    {{ claim = "groups", value = "guests", grants = ["view:team-*"], role = "guest" }},
]

[access.roles.guest]
hide = ["costs"]
"#
    )
}

pub(crate) fn claims(groups: &[&str]) -> Value {
    json!({"iss": "https://id.example", "aud": "hub", "sub": "ann", "groups": groups, "exp": now_s() + 600})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims(&["ops"]);
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims(&["ops"]);
    claims.as_object_mut().unwrap().remove(name);
    claims
}

/// What the hub says to a socket whose `hello` has this token.
async fn greeted(hub: &TestHub, token: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    wire
}

async fn is_let_in(hub: &TestHub, token: &str) -> bool {
    get(hub, token, "/v1/access").await.status().is_success()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jwt_opens_what_its_claims_are_given_over_http_sockets_and_the_login_page() {
    let settings = settings();
    let secret = settings.file("secret", SECRET);
    let hub = settings.hub(&issuer(&format!("secret_file = {secret:?}")), &[]).await;
    let sign = |claims: &Value| hs256(&json!({"alg": "HS256"}), claims, SECRET.as_bytes());
    let (ops, guest) = (sign(&claims(&["x", "ops"])), sign(&claims(&["guests"])));
    assert!(tell(&hub, &ops, "team-1", "hello").await.status().is_success());
    let who: Value = get(&hub, &guest, "/v1/access").await.json().await.unwrap();
    assert_eq!((who["principal"].as_str(), who["role"].as_str()), (Some("ann"), Some("guest")));
    assert!(get(&hub, &guest, "/v1/conversations/team-1").await.status().is_success());
    assert_eq!(refusal(get(&hub, &guest, "/v1/conversations/other").await).await, forbidden());
    assert_eq!(refusal(tell(&hub, &guest, "team-1", "x").await).await, forbidden());
    let nobody = get(&hub, &sign(&claims(&["strangers"])), "/v1/access").await;
    assert_eq!(nobody.status(), 401);
    assert!(nobody.text().await.unwrap().contains("none of its rules"));
    let mut wire = greeted(&hub, &ops).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let form = browser.post(hub.url("/login")).body(format!("token={ops}&next=%2Fwall"));
    let done = form.send().await.unwrap();
    assert_eq!((done.status().as_u16(), &done.headers()["location"]), (303, &"/wall".parse().unwrap()));
    let cookie = done.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert!(!cookie.contains(&ops));
    let known = browser.get(hub.url("/v1/conversations")).header("cookie", cookie).send().await.unwrap();
    assert!(known.status().is_success());
    // Tokens of the hub go on beside it.
    let own = hub.token_for("own", &["view:*"]).await;
    assert!(is_let_in(&hub, &own).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jwt_that_expires_ends_its_sockets_streams_and_browsers() {
    let settings = settings();
    let secret = settings.file("secret", SECRET);
    let hub = settings.hub(&issuer(&format!("secret_file = {secret:?}")), &[]).await;
    let sign = |claims: &Value| hs256(&json!({"alg": "HS256"}), claims, SECRET.as_bytes());
    let brief = sign(&with("exp", json!(now_s() + 4)));
    let mut wire = greeted(&hub, &brief).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    assert_eq!(wire.end().await, (Some(4401), Some(4401)));
    let answer = get(&hub, &brief, "/v1/access").await;
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("expired"));
    assert!(is_let_in(&hub, &sign(&claims(&["ops"]))).await, "the test can tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_jwt_of_others_for_others_out_of_time_and_without_a_signature() {
    let settings = settings();
    let (signer, stranger) = (JwtSigner::new("k"), JwtSigner::new("k"));
    let jwks = settings.file("jwks.json", &signer.jwks().to_string());
    let hub = settings.hub(&issuer(&format!("jwks_file = {jwks:?}")), &[]).await;
    assert!(is_let_in(&hub, &signer.sign(&claims(&["ops"]))).await);
    assert!(is_let_in(&hub, &signer.sign_rsa(&claims(&["ops"]))).await);
    let good = claims(&["ops"]);
    let public = signer.jwks();
    let modulus = public["keys"][1]["n"].as_str().unwrap().to_owned();
    let unsigned = |alg: &str| token(&json!({"alg": alg, "kid": "k"}), &good, |_| Vec::new());
    let with_kid = |kid: &str| signer.sign_as(&json!({"alg": "EdDSA", "kid": kid}), &good);
    let own_key =
        json!({"alg": "EdDSA", "kid": "k", "jwk": stranger.jwks()["keys"][0], "jku": "https://evil.example"});
    let wrong = [
        unsigned("none"),
        unsigned("None"),
        unsigned("EdDSA"),
        hs256(&json!({"alg": "HS256", "kid": "k-rsa"}), &good, modulus.as_bytes()),
        hs256(&json!({"alg": "HS256", "kid": "k-rsa"}), &good, public["keys"][1].to_string().as_bytes()),
        hs256(&json!({"alg": "HS256", "kid": "k"}), &good, public.to_string().as_bytes()),
        stranger.sign(&good),
        stranger.sign_as(&own_key, &good),
        with_kid("../../../../dev/null"),
        with_kid("' OR 1=1 --"),
        with_kid(""),
        signer.sign(&with("iss", json!("https://evil.example"))),
        signer.sign(&without("iss")),
        signer.sign(&with("aud", json!("other"))),
        signer.sign(&without("aud")),
        signer.sign(&without("exp")),
        signer.sign(&with("exp", json!((now_s() + 600).to_string()))),
        signer.sign(&with("exp", json!(now_s() - 5))),
        signer.sign(&with("nbf", json!(now_s() + 60))),
        signer.sign(&with("iat", json!(now_s() + 60))),
        signer.sign(&with("sub", json!({"name": "ann"}))),
        signer.sign(&with("groups", json!({"ops": true}))),
        signer.sign(&with("note", json!("x".repeat(9_000)))),
    ];
    for (number, forged) in wrong.iter().enumerate() {
        assert_eq!(
            refusal(get(&hub, forged, "/v1/access").await).await,
            unauthenticated(),
            "number {number}"
        );
        let mut wire = greeted(&hub, forged).await;
        assert_eq!(wire.end().await, (Some(4401), Some(4401)), "number {number}");
    }
    // What is in the address or in another header opens nothing.
    let right = signer.sign(&good);
    let path = format!("/v1/access?token={right}&access_token={right}");
    assert_eq!(refusal(hub.request("GET", &path).send().await.unwrap()).await, unauthenticated());
    let twice = hub.request("GET", "/v1/access").bearer_auth(&right).header("authorization", "Bearer x");
    assert_eq!(refusal(twice.send().await.unwrap()).await, unauthenticated());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_issuers_takes_no_jwt() {
    let hub = crate::access::guarded().await;
    let token = hs256(&json!({"alg": "HS256"}), &claims(&["ops"]), SECRET.as_bytes());
    assert_eq!(refusal(get(&hub, &token, "/v1/access").await).await, unauthenticated());
}

/// An address that gives keys, which can be changed, and counts who asks.
struct KeyServer {
    url: String,
    keys: Arc<Mutex<Value>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    async fn start(keys: Value) -> Self {
        let (keys, asked) = (Arc::new(Mutex::new(keys)), Arc::new(AtomicUsize::new(0)));
        let (told, count) = (Arc::clone(&keys), Arc::clone(&asked));
        let give = async move || {
            count.fetch_add(1, Ordering::Relaxed);
            told.lock().to_string()
        };
        let elsewhere = async || axum::response::Redirect::temporary("/jwks");
        let app = axum::Router::new()
            .route("/jwks", axum::routing::get(give))
            .route("/moved", axum::routing::get(elsewhere));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, keys, asked }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_again_for_one_that_is_new_and_end_what_they_opened_when_they_go() {
    let settings = settings();
    let (first, second) = (JwtSigner::new("first"), JwtSigner::new("second"));
    let server = KeyServer::start(first.jwks()).await;
    let hub = settings.hub(&issuer(&format!("jwks_url = \"{}/jwks\"", server.url)), &[]).await;
    // Whoever comes before the keys waits for them.
    let mut wire = greeted(&hub, &first.sign(&claims(&["ops"]))).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire.send_text(r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned()).await;
    assert!(wire.text().await.unwrap().contains("subbed"));
    *server.keys.lock() = second.jwks();
    let newer = second.sign(&claims(&["ops"]));
    until("the new key to be known", async || is_let_in(&hub, &newer).await.then_some(())).await;
    assert_eq!(wire.end().await, (Some(4401), Some(4401)), "its key was taken back");
    assert!(!is_let_in(&hub, &first.sign(&claims(&["ops"]))).await);
    // A thousand names of keys that there are not cost a request or two.
    let before = server.asked.load(Ordering::Relaxed);
    for number in 0..1_000 {
        let header = json!({"alg": "EdDSA", "kid": format!("made up {number}")});
        let forged = second.sign_as(&header, &claims(&["ops"]));
        if number < 3 {
            assert_eq!(refusal(get(&hub, &forged, "/v1/access").await).await, unauthenticated());
        } else if number % 100 == 0 {
            assert!(!is_let_in(&hub, &forged).await);
        }
    }
    let asked = server.asked.load(Ordering::Relaxed) - before;
    assert!(asked <= 10, "the address was asked {asked} times");
    assert!(is_let_in(&hub, &newer).await, "those who have a key go on");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_keys_from_another_address() {
    let settings = settings();
    let signer = JwtSigner::new("k");
    let server = KeyServer::start(signer.jwks()).await;
    let moved = settings.hub(&issuer(&format!("jwks_url = \"{}/moved\"", server.url)), &[]).await;
    let token = signer.sign(&claims(&["ops"]));
    assert!(!is_let_in(&moved, &token).await, "a redirection is not followed");
    assert_eq!(server.asked.load(Ordering::Relaxed), 0);
    // The test can tell: at the address itself the same keys count.
    let direct = settings.hub(&issuer(&format!("jwks_url = \"{}/jwks\"", server.url)), &[]).await;
    assert!(is_let_in(&direct, &token).await);
    // However an address is written: these are 198.51.100.7, which is no machine of this one.
    for url in [
        "http://id.example/jwks",
        "file:///etc/passwd",
        "http://127.0.0.1@evil.example/",
        "http://[::ffff:198.51.100.7]/jwks",
        "http://3325256711/jwks",
        "http://0xc6.0x33.0x64.0x07/jwks",
        "http://127.0.0.1.evil.example/jwks",
    ] {
        let said = refused(&settings, &issuer(&format!("jwks_url = \"{url}\""))).await;
        assert!(said.contains("[[access.jwt]] number 1") && said.contains(url), "{said}");
    }
}

/// What a hub says that does not start with these settings.
pub(crate) async fn refused(settings: &Settings, text: &str) -> String {
    let file = settings.file("wrong.toml", text);
    let mut hub = tokio::process::Command::new(tests::hub::binary());
    hub.args(["serve", "--listen", "127.0.0.1:0", "--access", "tokens", "--config", &file]);
    hub.current_dir(settings.0.path()).kill_on_drop(true);
    let ended = tests::wait::patiently("the refusal", hub.output()).await.unwrap();
    assert!(!ended.status.success(), "{text}");
    String::from_utf8(ended.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_issuers_that_protect_nothing_are_refused_with_their_place() {
    let settings = settings();
    let secret = settings.file("secret", SECRET);
    let short = settings.file("short", "secret");
    let good = issuer(&format!("secret_file = {secret:?}"));
    for (text, says) in [
        (issuer(""), "secret_file, jwks_file and jwks_url"),
        (issuer(&format!("secret_file = {short:?}")), "HS256 needs 32"),
        (good.replace("audience = \"hub\"", "audience = []"), "audience"),
        (good.replace("skew_s = 0", "skew_s = 301"), "skew_s"),
        (good.replace("skew_s = 0", "algorithms = [\"none\"]"), "\"none\" is not an algorithm"),
        (good.replace("role = \"guest\"", "role = \"gust\""), "gust"),
        (good.replace("grants = [\"view:team-*\"]", "grants = []"), "rule 2 has no grants"),
    ] {
        let said = refused(&settings, &text).await;
        assert!(said.contains(says), "{says}: {said}");
    }
}
