//! Calls with the hub's own key: whoever has a token calls by it, the vendor sees its key alone, and the budget holds.

use serde_json::{Value, json};
use tests::raw::{self, RawMessage};
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::access::{get, refusal};
use super::proxy::{ASKS, STREAM};

/// The vendor's key, which only the hub has.
const VENDOR: &str = "sk-vendor-7c1d5e0f9b3a48d2";

/// A key of a caller's own.
const OWN: &str = "sk-own-90aa17c3e4";

/// The headers in which the vendors' packages send their keys.
const PLACES: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// A hub that holds the key of `openai`, `anthropic` and `gemini`, all of them `origin`, and none of `other`. What costs
/// a dollar is 1,000 tokens, read or written.
async fn lending(origin: &ScriptedServer) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let (file, key) = (place.path().join("fanlight.toml"), place.path().join("key"));
    std::fs::write(&key, format!("{VENDOR}\n")).unwrap();
    let address = origin.address();
    let held = format!("url = \"http://{address}\"\nkey_file = \"{}\"\n", key.display());
    let from_environment = format!("url = \"http://{address}\"\nkey_env = \"FANLIGHT_TEST_VENDOR_KEY\"\n");
    let settings = format!(
        "[access]\n[upstreams.openai]\n{held}[upstreams.anthropic]\n{from_environment}[upstreams.gemini]\n{held}\
         [upstreams.other]\nurl = \"http://{address}\"\n[prices.\"m*\"]\ninput = 1000\noutput = 1000\n"
    );
    std::fs::write(&file, settings).unwrap();
    let variables = [("FANLIGHT_TEST_VENDOR_KEY", VENDOR)];
    let options = ["--config", file.to_str().unwrap(), "--trace", "trace"];
    (TestHub::start_among(&variables, "127.0.0.1:0", &options).await, place)
}

/// A token with `more` options, once the hub knows it.
async fn token(hub: &TestHub, name: &str, more: &[&str]) -> String {
    let arguments = [&["create", "--name", name, "--grant", "publish:*"][..], more].concat();
    let token = hub.token(&arguments).await;
    until("the hub to know the token", async || {
        get(hub, &token, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
    token
}

/// An answer that says how many tokens it took: 1,000 for a budget of a dollar.
fn counted(tokens: u64) -> Vec<ServerStep> {
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 0});
    let body = json!({"id": "x", "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]});
    ServerStep::answer("200 OK", &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// Asks `path` of the proxy with `headers`.
async fn call(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> RawMessage {
    raw::call(hub.address(), &raw::post(path, headers, ASKS)).await
}

/// What the message holds that is secret: the vendor's key or a token.
fn secrets_in(message: &RawMessage) -> Vec<&'static str> {
    let all = [format!("{:?}", message.headers).into_bytes(), message.body.clone()].concat();
    let all = format!("{}{}", message.start, String::from_utf8_lossy(&all));
    [VENDOR, "fanlight_"].into_iter().filter(|secret| all.contains(secret)).collect()
}

/// What the hub has counted of the token `name`, once it is `calls` calls.
async fn spent(hub: &TestHub, admin: &str, name: &str, calls: u64) -> Value {
    until("the calls to be counted", async || {
        let list: Value = get(hub, admin, "/v1/budgets").await.json().await.ok()?;
        let row = list["budgets"].as_array()?.iter().find(|row| row["token"] == name)?.clone();
        (row["calls"] == calls).then_some(row)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_place_of_the_key_is_replaced_by_the_key_of_the_hub() {
    let origin = ScriptedServer::start(|_| counted(1)).await;
    let (hub, _place) = lending(&origin).await;
    let token = token(&hub, "ci", &["--upstream", "*"]).await;
    let bearer = format!("Bearer {token}");
    for (path, sent, arrives) in [
        ("/proxy/openai/v1/chat/completions", ("authorization", &bearer), "authorization"),
        ("/proxy/anthropic/v1/messages", ("x-api-key", &token), "x-api-key"),
        ("/proxy/anthropic/v1/messages", ("authorization", &bearer), "x-api-key"),
        ("/proxy/gemini/v1beta/models/m:generateContent", ("x-goog-api-key", &token), "x-goog-api-key"),
        // Beside no key at all.
        ("/proxy/openai/~named/v1/chat/completions", ("fanlight-token", &token), "authorization"),
    ] {
        let answer = call(&hub, path, &[(sent.0, sent.1.as_str()), ("accept-encoding", "gzip")]).await;
        assert_eq!(answer.status(), 200, "{path}: {answer:?}");
        let asked = origin.asked().pop().unwrap();
        assert_eq!(secrets_in(&asked), [VENDOR], "{path}: the key, and no token");
        assert!(asked.header(arrives).unwrap().ends_with(VENDOR), "{path}: {asked:?}");
        let others = PLACES.iter().filter(|name| **name != arrives && asked.header(name).is_some());
        assert_eq!(others.count(), 0, "{path}: {asked:?}");
        assert_eq!(asked.header("accept-encoding"), Some("identity"), "{path}");
    }
    // With a key of its own it is that one.
    let own = format!("Bearer {OWN}");
    let headers =
        [("authorization", own.as_str()), ("fanlight-token", token.as_str()), ("accept-encoding", "gzip")];
    assert_eq!(call(&hub, "/proxy/openai/v1/chat/completions", &headers).await.status(), 200);
    let asked = origin.asked().pop().unwrap();
    assert_eq!(
        (asked.header("authorization"), asked.header("accept-encoding")),
        (Some(own.as_str()), Some("gzip"))
    );
    assert_eq!(secrets_in(&asked), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_lent_to_tokens_that_name_its_upstream_and_for_nothing_that_concerns_others() {
    let origin = ScriptedServer::start(|_| counted(1)).await;
    let (hub, _place) = lending(&origin).await;
    let plain = token(&hub, "plain", &[]).await;
    let narrow = token(&hub, "narrow", &["--upstream", "openai"]).await;
    let chat = "/v1/chat/completions";
    for (who, token, path, refused) in [
        ("names no upstream", &plain, format!("/proxy/openai{chat}"), (403, "forbidden")),
        ("names another one", &narrow, format!("/proxy/anthropic{chat}"), (403, "forbidden")),
        ("the hub has no key", &plain, format!("/proxy/other{chat}"), (401, "unauthenticated")),
        ("files of the account", &narrow, String::from("/proxy/openai/v1/files"), (403, "forbidden")),
        ("not spelt", &narrow, String::from("/proxy/openai/v1/models/../files"), (403, "forbidden")),
    ] {
        let request = hub.request("POST", &path).bearer_auth(token).body(ASKS).send().await.unwrap();
        assert_eq!(refusal(request).await, (refused.0, refused.1.to_owned()), "{who}");
    }
    // Nor another upstream with a key of the caller's own.
    let own = [("authorization", OWN), ("fanlight-token", narrow.as_str())];
    assert_eq!(call(&hub, &format!("/proxy/anthropic{chat}"), &own).await.status(), 403);
    let packed = [("x-api-key", narrow.as_str()), ("content-encoding", "gzip")];
    assert_eq!(call(&hub, &format!("/proxy/openai{chat}"), &packed).await.status(), 415);
    let switch = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==";
    let socket = format!(
        "GET /proxy/openai/v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {narrow}\r\n{switch}\r\n\r\n"
    );
    assert_eq!(raw::call(hub.address(), socket.as_bytes()).await.status(), 403);
    // A token in an address, in a cookie, or two of them go nowhere.
    let other = token(&hub, "third", &["--upstream", "*"]).await;
    let cookie = format!("a={narrow}");
    for headers in [
        &[("cookie", cookie.as_str()), ("x-api-key", narrow.as_str())][..],
        &[("x-goog-api-key", other.as_str()), ("x-api-key", narrow.as_str())],
        &[("fanlight-token", other.as_str()), ("x-api-key", narrow.as_str())],
    ] {
        assert_eq!(call(&hub, &format!("/proxy/openai{chat}"), headers).await.status(), 401, "{headers:?}");
    }
    let query = format!("/proxy/gemini/v1beta/models/m:generateContent?key={narrow}");
    assert_eq!(call(&hub, &query, &[]).await.status(), 401);
    assert_eq!(origin.asked().len(), 0, "nothing of all that was sent");
    let may = hub.request("GET", "/proxy/openai/v1/models").bearer_auth(&narrow).send().await.unwrap();
    assert_eq!((may.status().as_u16(), origin.asked().len()), (200, 1), "the test can tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_the_budget_is_refused_in_the_words_of_the_vendor_and_after_a_restart_too() {
    let origin = ScriptedServer::start(|_| counted(600)).await;
    let (mut hub, _place) = lending(&origin).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    let token = token(&hub, "ci", &["--upstream", "*", "--budget", "1.00usd/month"]).await;
    let bearer = [("authorization", format!("Bearer {token}"))];
    let headers = bearer.each_ref().map(|(name, value)| (*name, value.as_str()));
    for calls in 1..=2 {
        assert_eq!(call(&hub, "/proxy/openai/v1/chat/completions", &headers).await.status(), 200);
        let row = spent(&hub, &admin, "ci", calls).await;
        assert_eq!(row["estimated"], 0, "{row}");
    }
    let row = spent(&hub, &admin, "ci", 2).await;
    assert_eq!(row["spent"], json!({"amount": "1.2", "currency": "USD"}));
    assert_eq!((&row["budget"], &row["upstreams"]), (&json!("1usd/month"), &json!(["*"])));
    until("the file", async || {
        let told = hub.token(&["list"]).await;
        told.contains("spent 1.2 of 1usd/month in 2 calls").then_some(())
    })
    .await;
    let sent = origin.asked().len();
    for is_again in [false, true] {
        if is_again {
            hub.restart().await;
        }
        for (path, status, pointer, says) in [
            ("/proxy/openai/v1/chat/completions", 429, "/error/code", "insufficient_quota"),
            ("/proxy/anthropic/v1/messages", 402, "/error/type", "billing_error"),
            ("/proxy/gemini/v1beta/models/m:generateContent", 429, "/error/status", "RESOURCE_EXHAUSTED"),
        ] {
            let answer = call(&hub, path, &headers).await;
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!((answer.status(), &body["code"]), (status, &json!("over_budget")), "{path}: {body}");
            assert_eq!(body.pointer(pointer), Some(&json!(says)), "{path}");
            assert!(body["error"]["message"].as_str().unwrap().contains("1.2 of 1usd/month"), "{body}");
            assert_eq!(answer.header("x-should-retry"), Some("false"));
            assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
        }
    }
    assert_eq!(origin.asked().len(), sent, "a call over the budget is not sent");
    // What costs nothing still goes, and another token has money of its own.
    let list = hub.request("GET", "/proxy/openai/v1/models").bearer_auth(&token).send().await.unwrap();
    assert_eq!(list.status(), 200);
    let audit: Value = get(&hub, &admin, "/v1/audit").await.json().await.unwrap();
    let of_budget = |entry: &&Value| entry["failed"] == "over_budget" && entry["who"] == "ci";
    let entry = audit["entries"].as_array().unwrap().iter().find(of_budget).unwrap().clone();
    assert!(entry["detail"].as_str().unwrap().contains("1.2 of 1usd/month spent"), "{entry}");
    assert_eq!(refusal(get(&hub, &token, "/v1/budgets").await).await.0, 403);
}

/// A gateway that repeats the key: in a header, in a piece, over two pieces, in a trailer.
fn repeats() -> ScriptedServerScript {
    |asked| {
        let (front, back) = VENDOR.split_at(11);
        let said = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{VENDOR} {front}");
        let rest = format!("{back}\"}}}}]}}\n\n");
        let status = if asked.header("x-case") == Some("fail") { "401 Unauthorized" } else { "200 OK" };
        vec![
            ServerStep::begin(status, &[&STREAM[..], &[("x-echo", VENDOR)]].concat()),
            ServerStep::piece(said.as_bytes()),
            ServerStep::piece(rest.as_bytes()),
            ServerStep::end(&[("x-trailer", VENDOR)]),
        ]
    }
}

type ScriptedServerScript = fn(&RawMessage) -> Vec<ServerStep>;

#[tokio::test(flavor = "multi_thread")]
async fn attack_an_upstream_that_repeats_the_key_of_the_hub_and_packs_it() {
    let origin = ScriptedServer::start(repeats()).await;
    let (hub, _place) = lending(&origin).await;
    let token = token(&hub, "ci", &["--upstream", "*"]).await;
    let own = format!("Bearer {VENDOR}");
    for case in ["", "fail"] {
        let answer = call(
            &hub,
            "/proxy/openai/~c/v1/chat/completions",
            &[("x-api-key", &token), ("x-case", case), ("te", "trailers")],
        )
        .await;
        assert!(answer.is_whole, "{answer:?}");
        assert_eq!(secrets_in(&answer), Vec::<&str>::new(), "{answer:?}");
        assert_eq!(answer.header("x-echo"), Some("[key]"));
        assert!(!format!("{:?}", answer.trailers).contains(VENDOR));
        assert!(String::from_utf8_lossy(&answer.body).contains(&"*".repeat(VENDOR.len())));
    }
    // A caller who has the key is told it, unchanged: the test can tell.
    let beside = [("authorization", own.as_str()), ("fanlight-token", token.as_str())];
    let answer = call(&hub, "/proxy/openai/v1/chat/completions", &beside).await;
    assert_eq!(secrets_in(&answer), [VENDOR]);
    // Many clients follow with the token in the header.
    let packing = ScriptedServer::start(|asked| match asked.header("x-case") {
        Some("lead") => ServerStep::answer("307 There", &[("location", "http://127.0.0.1:9/else")], b""),
        _ => {
            ServerStep::answer("200 OK", &[("content-encoding", "gzip")], b"\x1f\x8b what nobody looks into")
        }
    })
    .await;
    let (hub, _place) = lending(&packing).await;
    let token = self::token(&hub, "ci", &["--upstream", "*"]).await;
    for case in ["pack", "lead"] {
        let headers = [("x-api-key", token.as_str()), ("x-case", case)];
        let answer = call(&hub, "/proxy/openai/v1/chat/completions", &headers).await;
        assert_eq!((answer.status(), answer.header("location")), (502, None), "{case}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["code"], "upstream_failed", "{case}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_calls_that_hide_what_they_cost_are_estimated_and_those_that_fail_are_free() {
    let origin = ScriptedServer::start(|asked| match asked.header("x-case") {
        Some("fail") => ServerStep::answer("500 Oops", &[], b"{}"),
        // Nothing says what was used, and 4,000 bytes of text come.
        Some("silent") => {
            let text = "word".repeat(1_000);
            let body = json!({"model": "unpriced", "choices": [{"index": 0,
                "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
            ServerStep::answer("200 OK", &[("content-type", "application/json")], body.to_string().as_bytes())
        }
        // The caller leaves before the vendor says it.
        _ => {
            let piece = super::proxy::piece(&"word".repeat(1_000));
            vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&piece), ServerStep::Silence]
        }
    })
    .await;
    let (hub, _place) = lending(&origin).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    let token = token(&hub, "ci", &["--upstream", "*", "--budget", "100usd"]).await;
    let path = "/proxy/openai/v1/chat/completions";
    assert_eq!(call(&hub, path, &[("x-api-key", &token), ("x-case", "fail")]).await.status(), 500);
    assert_eq!(call(&hub, path, &[("x-api-key", &token), ("x-case", "silent")]).await.status(), 200);
    let row = spent(&hub, &admin, "ci", 1).await;
    let dollars = |row: &Value| row["spent"]["amount"].as_str().unwrap().parse::<f64>().unwrap();
    let silent = dollars(&row);
    assert!(row["estimated"] == 1 && (1.0..1.2).contains(&silent), "{row}");
    let request = hub.request("POST", path).bearer_auth(&token).body(ASKS).send();
    let mut answer = within("the head", request).await.unwrap();
    let piece = within("a piece", answer.chunk()).await.unwrap().unwrap();
    assert!(!piece.is_empty());
    drop(answer);
    let row = spent(&hub, &admin, "ci", 2).await;
    assert!(row["estimated"] == 2 && (1.0..1.2).contains(&(dollars(&row) - silent)), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_hub_is_in_no_log_no_file_no_number_and_no_answer_of_the_hub() {
    let origin = ScriptedServer::start(repeats()).await;
    let (hub, _place) = lending(&origin).await;
    let admin = hub.token_for("admin", &["admin"]).await;
    let token = token(&hub, "ci", &["--upstream", "*"]).await;
    assert_eq!(
        call(&hub, "/proxy/openai/~c/v1/chat/completions", &[("x-api-key", &token)]).await.status(),
        200
    );
    let events = until("the recording", async || {
        let said = get(&hub, &admin, "/v1/conversations/c").await.text().await.ok()?;
        (said.contains("run") && !said.contains("\"running\"")).then_some(said)
    })
    .await;
    assert!(!events.contains(VENDOR), "{events}");
    for path in
        ["/metrics", "/v1/upstreams", "/v1/budgets", "/v1/audit", "/v1/access", "/v1/conversations/c/events"]
    {
        let told =
            hub.request("GET", path).bearer_auth(&admin).header("accept", "application/x-ndjson").send();
        let told = told.await.unwrap();
        assert!(told.status().is_success(), "{path}");
        assert!(!told.text().await.unwrap().contains(VENDOR), "{path}");
    }
    let mut open = vec![hub.folder().to_owned()];
    let mut files = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(VENDOR.len()).any(|it| it == VENDOR.as_bytes()), "{}", path.display());
        }
    }
    assert!(files >= 3, "{files}");
}
