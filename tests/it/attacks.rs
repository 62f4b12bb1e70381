//! What somebody tries who may not. Each test is one attack; where it is practical it also shows that the attack works on a hub without the
//! guard, so that the guard is what stops it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use futures_util::StreamExt as _;
use tests::TestHub;
use tests::hub::binary;
use tests::wait::{patiently, within};
use tests::wire::WebSocketWire;
use tokio::process::Command;

use super::access::{forbidden, get, guarded, refusal, tell, unauthenticated};

mod by_address;
mod by_kind;
mod crash;
mod doors;
mod first_run;
mod frames;
mod headers;
mod jwt;
mod limits;
mod links;
pub(crate) mod login;
mod names;
mod positions;
mod publishing;
mod slow;
mod syntax;
mod without;

#[tokio::test(flavor = "multi_thread")]
async fn attack_missing_wrong_and_mangled_tokens() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view,publish:*"]).await;
    let open = TestHub::start_in_memory().await;
    assert!(open.request("GET", "/v1/conversations").send().await.unwrap().status().is_success());
    let cut: String = token.chars().take(token.len() - 1).collect();
    let other = format!("{cut}{}", if token.ends_with('A') { 'B' } else { 'A' });
    let upper = token.to_uppercase();
    let values = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        format!("Bearer {cut}"),
        format!("Bearer {other}"),
        format!("Bearer {upper}"),
        format!("Bearer {token}{token}"),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer {token}\u{a0}"),
        // A token is neither a JWT nor one without a signature.
        "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.".to_owned(),
    ];
    for value in &values {
        let request = hub.request("GET", "/v1/conversations").header("authorization", value.as_bytes());
        assert_eq!(refusal(request.send().await.unwrap()).await, unauthenticated(), "{value:?}");
    }
    let twice =
        hub.request("GET", "/v1/conversations").bearer_auth(&token).header("authorization", "Bearer x");
    assert_eq!(
        refusal(twice.send().await.unwrap()).await,
        unauthenticated(),
        "a second header decides nothing"
    );
    assert!(get(&hub, &token, "/v1/conversations").await.status().is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_token_in_the_address() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    for name in ["token", "access_token", "key", "authorization", "bearer"] {
        let answer = hub.request("GET", &format!("/v1/conversations?{name}={token}")).send().await.unwrap();
        assert_eq!(refusal(answer).await, unauthenticated(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_another_spelling_of_a_path() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view:team-*"]).await;
    assert!(tell(&hub, &all, "secret", "hidden words").await.status().is_success());
    let address = hub.address();
    for path in [
        "/v1/conversations/secret",
        "/v1/conversations/%73ecret",
        "/v1/conversations/team-1%2f..%2fsecret",
        "/v1/conversations/team-1/../secret",
        "/v1/conversations/./secret",
        "/v1//conversations/secret",
        "//v1/conversations/secret",
        "/V1/conversations/secret",
        "/v1/conversations/secret/",
        "/v1/conversations/secret%00",
        "/v1/conversations/secret?conversation=team-1",
        "/v1/conversations/secret;conversation=team-1",
        "/v1/conversations/team-1#/../secret",
        "/healthz/../v1/conversations/secret",
        "/healthz%2f..%2fv1/conversations/secret",
        "/login/..%2fv1/conversations/secret",
    ] {
        for token in [None, Some(&team)] {
            let said = raw(address, path, token.map(String::as_str), "").await;
            assert!(!said.contains("hidden words"), "{path}: {said}");
            assert!(!said.starts_with("HTTP/1.1 200"), "{path}: {said}");
        }
    }
    // The test can see what it looks for.
    assert!(raw(address, "/v1/conversations/%73ecret", Some(&all), "").await.contains("hidden words"));
}

/// The answer to a request that goes out as it is written, with `more` headers.
async fn raw(address: std::net::SocketAddr, path: &str, token: Option<&str>, more: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let token = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{token}{more}\r\n");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    within("an answer", stream.read_to_end(&mut said)).await.unwrap();
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_headers_that_only_a_proxy_may_send() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    assert!(tell(&hub, &all, "secret", "hidden words").await.status().is_success());
    for more in [
        "x-forwarded-user: operator\r\n",
        "remote-user: operator\r\n",
        "x-forwarded-for: 127.0.0.1\r\n",
        "x-forwarded-uri: /healthz\r\n",
        "x-original-url: /healthz\r\n",
        "x-rewrite-url: /healthz\r\n",
        "x-forwarded-proto: https\r\ncookie: __Host-fanlight=fls_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n",
        "x-http-method-override: OPTIONS\r\n",
    ] {
        let said = raw(hub.address(), "/v1/conversations/secret", None, more).await;
        assert!(said.starts_with("HTTP/1.1 401") && !said.contains("hidden"), "{more}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_foreign_page_with_a_valid_cookie() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view,publish,control:*"]).await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let done = client.post(hub.url("/login")).body(format!("token={token}")).send().await.unwrap();
    let cookie = done.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let own = hub.url("");
    let post = |headers: &[(&'static str, &str)]| {
        let mut request = client.post(hub.url("/v1/conversations/c/events")).header("cookie", &cookie);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(r#"[{"k":"run.start","run":"r"}]"#).send()
    };
    assert!(post(&[("origin", &own)]).await.unwrap().status().is_success(), "the hub's own page may");
    for foreign in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        // Another port of this machine is another origin, and browsers send it the same cookies.
        ("origin", "http://127.0.0.1:1"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let status = post(&[foreign]).await.unwrap().status().as_u16();
        assert!(matches!(status, 401 | 403), "{foreign:?}: {status}");
    }
    let rebound =
        client.get(hub.url("/v1/conversations")).header("cookie", &cookie).header("host", "rebound.example");
    assert_eq!(refusal(rebound.send().await.unwrap()).await.1, "forbidden_origin");
    let twice = format!("{cookie}; {cookie}");
    let tossed = client.get(hub.url("/v1/conversations")).header("cookie", twice).send().await.unwrap();
    assert_eq!(refusal(tossed).await, unauthenticated(), "of two cookies neither counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_reading_on_at_a_position_of_somebody_else() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view,publish:team-*"]).await;
    let told = tell(&hub, &all, "secret", "hidden words").await;
    let epoch = told.text().await.unwrap();
    for path in [
        "/v1/conversations/secret/events?after=x:0",
        "/v1/conversations/secret/results/00000000000000000000000000000000",
        "/v1/conversations/secret/wait?timeout_ms=1",
        "/v1/conversations/secret/stream/openai-chat",
        "/v1/conversations/secret/export/jsonl",
        "/v1/search?q=hidden&conversation=secret",
    ] {
        assert_eq!(refusal(get(&hub, &team, path).await).await, forbidden(), "{path} ({epoch})");
    }
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{team}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    for frame in [
        r#"{"t":"sub","sub":1,"conv":"secret","have":{"epoch":"x","seq":1}}"#,
        r#"{"t":"resync","sub":1}"#,
        r#"{"t":"command","conv":"secret","command":{"id":"f","command":"fork","into":"team-1"}}"#,
    ] {
        wire.send_text(frame.to_owned()).await;
        let said = wire.text().await.unwrap();
        assert!(said.contains("forbidden") || said.contains("unknown_subscription"), "{frame}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_reader_that_writes_and_commands() {
    let hub = guarded().await;
    let reader = hub.token_for("reader", &["view:*"]).await;
    assert_eq!(refusal(tell(&hub, &reader, "c", "x").await).await, forbidden());
    for (method, path) in [
        ("PUT", "/v1/conversations/c/events"),
        ("POST", "/v1/conversations/c/commands"),
        ("POST", "/v1/ingest/openai-chat/c"),
        ("POST", "/v1/traces"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/compat/langgraph/threads"),
        ("DELETE", "/compat/langgraph/threads/c"),
        ("POST", "/v1/shares"),
    ] {
        let asked = hub.request(method, path).bearer_auth(&reader).body(r#"{"conversation":"c"}"#);
        assert_eq!(refusal(asked.send().await.unwrap()).await, forbidden(), "{method} {path}");
    }
    let override_ = hub.request("GET", "/v1/conversations/c/events").header("x-http-method-override", "POST");
    let answer =
        override_.header("accept", "application/x-ndjson").bearer_auth(&reader).send().await.unwrap();
    assert_eq!(answer.status(), 404, "it stays a look at a conversation that is not there");
}

/// An upstream that answers with the head of the request, as `--upstream` names it, and the task that serves it.
async fn echo() -> (String, tokio::task::JoinHandle<std::io::Result<()>>) {
    let upstream = axum::Router::new().fallback(async |request: axum::extract::Request| {
        let headers = request.headers().iter().map(|(name, value)| format!("{name}: {value:?}"));
        let mut headers = headers.collect::<Vec<_>>();
        headers.push(request.uri().to_string());
        headers.join("\n")
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let named = format!("echo=http://{}", listener.local_addr().unwrap());
    (named, tokio::spawn(async move { axum::serve(listener, upstream).await }))
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_the_hubs_token_and_the_vendors_key_reach_the_other_side() {
    let (named, serving) = echo().await;
    let hub = TestHub::start_with(&["--access", "tokens", "--upstream", &named]).await;
    let token = hub.token_for("agent", &["publish:*"]).await;
    let call = |headers: &[(&'static str, &str)], path: &str| {
        let mut request = hub.request("GET", path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send()
    };
    let key = ("authorization", "Bearer vendor-key");
    let passed = call(&[key, ("fanlight-token", &token)], "/proxy/echo/v1/models").await.unwrap();
    let seen = passed.text().await.unwrap();
    assert!(
        seen.contains("vendor-key") && !seen.contains(&token) && !seen.contains("fanlight-token"),
        "{seen}"
    );
    // Names and passwords of the caller's own pass, as they are.
    let own = format!("Basic {}", STANDARD.encode("agent:vendor-password"));
    let own =
        call(&[("authorization", &own), ("fanlight-token", &token)], "/proxy/echo/v1/models").await.unwrap();
    assert!(own.text().await.unwrap().contains("Basic YWdlbnQ6"));
    // Without the hub's token the vendor's key opens nothing.
    assert_eq!(refusal(call(&[key], "/proxy/echo/v1/models").await.unwrap()).await, unauthenticated());
    let bearer = format!("Bearer {token}");
    // As `curl -u name:TOKEN` packs it, for a gateway that stands in for the vendor.
    let packed = format!("basic {}", STANDARD.encode(format!("agent:{token}")));
    let alone = format!("Basic {}", URL_SAFE_NO_PAD.encode(&token));
    for mistaken in [
        ("authorization", bearer.as_str()),
        ("x-api-key", &token),
        ("cookie", "fanlight=fls_x"),
        ("authorization", &packed),
        ("x-gateway-authorization", &alone),
    ] {
        let answer = call(&[mistaken, ("fanlight-token", &token)], "/proxy/echo/v1/models").await.unwrap();
        assert_eq!(refusal(answer).await, unauthenticated(), "{}", mistaken.0);
    }
    let query = format!("/proxy/echo/v1/models?key={token}");
    assert_eq!(refusal(call(&[("fanlight-token", &token)], &query).await.unwrap()).await, unauthenticated());
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_call_that_is_recorded_where_its_caller_may_not_publish() {
    let (named, serving) = echo().await;
    let hub = TestHub::start_with(&["--access", "tokens", "--upstream", &named]).await;
    let agent = hub.token_for("agent", &["publish:team-*"]).await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let call = |token: &str, conversation: Option<&str>, path: &str| {
        let mut request = hub.request("POST", path).header("fanlight-token", token).body("{}");
        if let Some(name) = conversation {
            request = request.header("fanlight-conversation", name);
        }
        request.send()
    };
    let is_recorded =
        async |name: &str| get(&hub, &all, &format!("/v1/conversations/{name}")).await.status().is_success();
    let plain = "/proxy/echo/v1/chat/completions";
    for (conversation, path) in
        [(Some("secret"), plain), (None, plain), (None, "/proxy/echo/~secret/v1/chat/completions")]
    {
        let answer = call(&agent, conversation, path).await.unwrap();
        assert_eq!(refusal(answer).await, forbidden(), "{conversation:?} {path}");
    }
    assert!(!is_recorded("secret").await);
    // The test of the test: the same calls pass and are recorded where their caller may publish.
    for (token, conversation, path, name) in [
        (&agent, Some("team-a"), plain, "team-a"),
        (&agent, None, "/proxy/echo/~team-b/v1/chat/completions", "team-b"),
        (&all, Some("secret"), plain, "secret"),
    ] {
        let answer = call(token, conversation, path).await.unwrap();
        assert!(answer.status().is_success(), "{conversation:?} {path}: {}", answer.status());
        tests::wait::until("the call to be recorded", async || is_recorded(name).await.then_some(())).await;
    }
    assert!(call(&all, None, plain).await.unwrap().status().is_success());
    serving.abort();
}

/// A token of that role for the hub that keeps what it keeps in `place`; its name is `of-no-role`.
async fn token_of_role(role: &str, place: &std::path::Path) -> String {
    let made = Command::new(binary())
        .args(["token", "create", "--name", "of-no-role", "--role", role, "--grant", "view:*", "--data-dir"])
        .arg(place)
        .output();
    let made = within("a token", made).await.unwrap().stdout;
    String::from_utf8(made).unwrap().trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_secrets_in_figures_lists_and_the_trace() {
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--access", "tokens", "--trace", "trace", "--data-dir"])
        .arg(place.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().unwrap()));
    let line = within("the first line", lines.next_line()).await.unwrap().unwrap();
    let url = line.strip_prefix("listening on ").unwrap().to_owned();
    let made = Command::new(binary())
        .args(["token", "create", "--name", "ann", "--grant", "admin", "--data-dir"])
        .arg(place.path())
        .output();
    let token =
        String::from_utf8(within("a token", made).await.unwrap().stdout).unwrap().trim_end().to_owned();
    let client = reqwest::Client::new();
    tests::wait::until("the token to be known", async || {
        let asked = client.get(format!("{url}/v1/access")).bearer_auth(&token).send().await.ok()?;
        asked.status().is_success().then_some(())
    })
    .await;
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut wire = WebSocketWire::connect_in_silence(address).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    client.post(format!("{url}/login")).body(format!("token={token}")).send().await.unwrap();
    // The test of the test: what is published into a field that each place shows is found by the same search.
    let shown = "canary-shown";
    let words = format!(
        r#"[{{"k":"run.start","run":"r","model":"{shown}"}},{{"k":"run.update","run":"r","usage":{{"input_tokens":1,"output_tokens":1,"reasoning_tokens":0,"cached_tokens":0}}}},{{"k":"run.end","run":"r","status":"complete"}}]"#
    );
    let asks = |method: &str, path: &str, body: String| {
        let request = client.request(method.parse().unwrap(), format!("{url}{path}"));
        request.bearer_auth(&token).body(body).send()
    };
    let told = asks("POST", &format!("/v1/conversations/{shown}/events"), words).await.unwrap();
    assert!(told.status().is_success());
    let link = format!(r#"{{"conversation":"{shown}","for":"{shown}"}}"#);
    assert_eq!(asks("POST", "/v1/shares", link).await.unwrap().status(), 201);
    let about_it = format!("/v1/access?conversation={shown}");
    for (path, shows) in
        [("/metrics", true), (&*about_it, false), ("/v1/shares", true), ("/v1/conversations", true)]
    {
        let said = async || asks("GET", path, String::new()).await.unwrap().text().await.unwrap();
        if shows {
            tests::wait::until(path, async || said().await.contains(shown).then_some(())).await;
        }
        assert!(!said().await.contains(&token), "{path}");
    }
    // It has a role that the hub does not know, which the trace says.
    let other = token_of_role(shown, place.path()).await;
    tests::wait::until("the hub to look at it", async || {
        let log = asks("GET", "/v1/audit", String::new()).await.ok()?.text().await.ok()?;
        log.contains("of-no-role").then_some(())
    })
    .await;
    let killed =
        Command::new("kill").args(["-TERM", &child.id().unwrap().to_string()]).status().await.unwrap();
    assert!(killed.success());
    let ended = patiently("the hub's end", child.wait_with_output()).await.unwrap();
    let trace = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(trace.contains(shown), "the trace tells what it may: {trace}");
    for secret in [token.as_str(), &other, "fls_"] {
        assert!(!trace.contains(secret), "a secret is in the trace");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_hub_that_others_can_reach_without_access_control() {
    let refused = async |arguments: &[&str]| {
        let place = tempfile::tempdir().unwrap();
        let mut hub = Command::new(binary());
        hub.arg("serve")
            .args(["--listen", "0.0.0.0:0"])
            .args(arguments)
            .current_dir(place.path())
            .kill_on_drop(true);
        let ended = patiently("the refusal", hub.output()).await.unwrap();
        assert!(!ended.status.success(), "{arguments:?} is taken");
        String::from_utf8(ended.stderr).unwrap()
    };
    let said = refused(&[]).await;
    assert!(said.contains("no access control") && said.contains("--access tokens --tls-cert"), "{said}");
    assert!(said.contains("first-run"), "{said}");
    let said = refused(&["--access", "tokens"]).await;
    assert!(said.contains("read along") && said.contains("--tls-cert") && said.contains("proxies"), "{said}");
    let said = refused(&["--access", "tokens", "--tls-cert", "a.pem"]).await;
    assert!(said.contains("tls-key"), "{said}");
    let said = refused(&["--access", "tokens", "--tls-cert", "a.pem", "--tls-key", "b.pem"]).await;
    assert!(said.contains("a.pem"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_stranger_that_opens_sockets_and_says_nothing_of_use() {
    let hub = guarded().await;
    for frame in [
        r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned(),
        r#"{"t":"pub","id":1,"conv":"c","events":[{"k":"run.start","run":"r"}]}"#.to_owned(),
        r#"{"t":"hello","versions":["1"],"token":"fanlight_wrong"}"#.to_owned(),
        r#"{"t":"hello","versions":["1"],"token":{"$ne":""}}"#.to_owned(),
    ] {
        let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
        wire.send_text(frame.clone()).await;
        // What is no frame is answered, and the stranger still has to say hello.
        let first = wire.text().await;
        let told = first.map(|text| text.to_string()).unwrap_or_default();
        assert!(told.contains("bye") || told.contains("error"), "{frame}: {told}");
        assert!(!told.contains("welcome"), "{frame}: {told}");
    }
    let reader = hub.token_for("reader", &["view:*"]).await;
    let list = get(&hub, &reader, "/v1/conversations").await.text().await.unwrap();
    assert!(!list.contains("\"c\""), "nothing was published: {list}");
    let answer = get(&hub, &reader, "/v1/conversations/c/events").await;
    drop(answer.bytes_stream().next());
}
