//! What somebody has set going ends when their token is revoked: runs of agents, commands of the binary, sinks that use the token.

use serde_json::{Value, json};
use tests::model::{END, STREAM, delta};
use tests::wait::{patiently, until, within};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::io::AsyncReadExt as _;

use super::access::{get, guarded, tell};
use super::access_page::{browser, cookie, log_in};
use super::commands::{said, start};

/// An answer of the model that begins and then waits, for ever unless the test goes on.
fn begins() -> Vec<ServerStep> {
    let piece = |text: &str| ServerStep::piece(&delta(&json!({ "content": text })));
    vec![
        ServerStep::begin("200 OK", &STREAM),
        piece("It is "),
        ServerStep::Wait,
        piece("sunny."),
        ServerStep::piece(END),
        ServerStep::end(&[]),
    ]
}

/// A hub with access control whose agent `helper` has its model at `origin`.
async fn hub_before(origin: &ScriptedServer) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let agent = format!(
        "[access]\nmode = \"tokens\"\n[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://{}/v1\"\nmodel = \"m\"\n",
        origin.address()
    );
    std::fs::write(&file, agent).unwrap();
    (TestHub::start_with(&["--config", file.to_str().unwrap()]).await, place)
}

/// Asks the helper in `conversation` with a command; the run.
async fn asks(hub: &TestHub, token: &str, conversation: &str) -> String {
    let path = format!("/v1/conversations/{conversation}/commands");
    let say = json!({"id": conversation, "command": "say", "agent": "helper", "text": "Weather?"});
    let answer = hub.request("POST", &path).bearer_auth(token).body(say.to_string()).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    answer.json::<Value>().await.unwrap()["run"].as_str().unwrap().to_owned()
}

/// The newest run of `conversation`, once `wanted` says so.
async fn run(hub: &TestHub, token: &str, conversation: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/v1/conversations/{conversation}?summary");
    until("the run to be as it should", async || {
        let answer = get(hub, token, &path).await;
        let summary: Value = answer.json().await.ok()?;
        summary["runs"].as_array()?.last().filter(|run| wanted(run)).cloned()
    })
    .await
}

/// Whether the model has begun to answer.
fn has_begun(run: &Value) -> bool {
    run["text"] == "It is "
}

/// Whether a run is over.
fn is_over(run: &Value) -> bool {
    run["status"] != "running"
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_somebody_asked_for_are_stopped_when_their_token_is_revoked_and_others_go_on() {
    let origin = ScriptedServer::start(|_| begins()).await;
    let (hub, _place) = hub_before(&origin).await;
    let boss = hub.token_for("boss", &["admin"]).await;
    let grants = ["view,control:*"];
    let (ann, bob) = (hub.token_for("ann", &grants).await, hub.token_for("bob", &grants).await);
    asks(&hub, &ann, "by-command").await;
    asks(&hub, &bob, "of-another").await;
    // By a door; whoever hangs up there leaves the run going.
    let chat =
        json!({"model": "helper", "stream": true, "messages": [{"role": "user", "content": "Weather?"}]});
    let door = hub
        .request("POST", "/v1/chat/completions")
        .bearer_auth(&ann)
        .header("fanlight-conversation", "by-a-door")
        .body(chat.to_string());
    let mut answer = within("the head of the answer", door.send()).await.unwrap();
    assert!(answer.status().is_success());
    // By a browser that logged in with the token, and has logged out since.
    let cookie = cookie(&log_in(&hub, &ann, "%2F").await);
    let say = json!({"id": "1", "command": "say", "agent": "helper", "text": "Weather?"});
    let asks = browser().post(hub.url("/v1/conversations/by-a-browser/commands")).header("cookie", &cookie);
    assert!(asks.body(say.to_string()).send().await.unwrap().status().is_success());
    let gone = browser().post(hub.url("/logout")).header("cookie", &cookie).send().await.unwrap();
    assert_eq!(gone.status(), 303);
    let of_ann = ["by-command", "by-a-door", "by-a-browser"];
    for conversation in of_ann.iter().chain(&["of-another"]) {
        run(&hub, &boss, conversation, has_begun).await;
    }
    assert!(
        !is_over(&run(&hub, &boss, "by-a-browser", has_begun).await),
        "who logs out leaves the run going"
    );
    hub.token(&["revoke", "ann"]).await;
    for conversation in of_ann {
        assert_eq!(run(&hub, &boss, conversation, is_over).await["status"], "cancelled", "{conversation}");
    }
    // The model is let go of, and the answer through the door is cut.
    until("the model to be let go of", async || (origin.left() >= 3).then_some(())).await;
    while let Ok(Some(_)) = within("the end of the answer", answer.chunk()).await {}
    // The other one's run goes on to its end.
    assert!(!is_over(&run(&hub, &boss, "of-another", has_begun).await));
    origin.go_on();
    let ended = run(&hub, &boss, "of-another", is_over).await;
    assert_eq!((&ended["status"], &ended["text"]), (&json!("complete"), &json!("It is sunny.")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outlives_a_token_that_expires() {
    let origin = ScriptedServer::start(|_| begins()).await;
    let (hub, _place) = hub_before(&origin).await;
    let boss = hub.token_for("boss", &["admin"]).await;
    let arguments = ["create", "--name", "brief", "--grant", "view,control:*", "--expires", "6s"];
    let brief = hub.token(&arguments).await;
    until("the token to be known", async || {
        get(&hub, &brief, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
    asks(&hub, &brief, "c").await;
    run(&hub, &boss, "c", has_begun).await;
    until("the token to expire", async || {
        (get(&hub, &brief, "/v1/access").await.status() == 401).then_some(())
    })
    .await;
    // The list of tokens changes after that, so that the hub looks again whose runs may go on.
    hub.token_for("other", &["view:*"]).await;
    origin.go_on();
    assert_eq!(run(&hub, &boss, "c", is_over).await["text"], "It is sunny.");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_the_binary_end_with_a_word_on_what_helps_when_their_token_is_revoked() {
    let origin = ScriptedServer::start(|_| begins()).await;
    let (hub, _place) = hub_before(&origin).await;
    let ann = hub.token_for("ann", &["view,control,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let url = hub.url("");
    let mut tail = start(&["tail", "c", "--url", &url, "--token", &ann]);
    let mut ask = start(&["ask", "Weather?", "--conversation", "d", "--url", &url, "--token", &ann]);
    let mut tee =
        start(&["tee", "--conversation", "e", "--dialect", "openai-chat", "--url", &url, "--token", &ann]);
    let mut seen = Vec::new();
    for (child, words) in [(&mut tail, "hello"), (&mut ask, "It is ")] {
        let stdout = child.stdout.as_mut().unwrap();
        within("what the command prints", async {
            seen.clear();
            while !String::from_utf8_lossy(&seen).contains(words) {
                assert!(stdout.read_buf(&mut seen).await.unwrap() > 0, "{}", String::from_utf8_lossy(&seen));
            }
        })
        .await;
    }
    // It publishes as it reads, so it is under way once something of it has come.
    let mut pipe = tee.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut pipe, PIECE.as_bytes()).await.unwrap();
    until("the pipe to be published", async || {
        get(&hub, &ann, "/v1/conversations/e").await.status().is_success().then_some(())
    })
    .await;
    hub.token(&["revoke", "ann"]).await;
    for (what, child) in [("tail", tail), ("ask", ask)] {
        let output = patiently("the command's end", child.wait_with_output()).await.unwrap();
        let complaint = said(&output);
        assert_eq!(output.status.code(), Some(1), "{what}: {complaint}");
        let helps = ["--token", "ask the operator of this hub for another one"];
        // The run may have been stopped before the socket ended.
        let was_stopped = what == "ask" && complaint.contains("was stopped");
        let is_told = was_stopped || helps.iter().any(|word| complaint.contains(word));
        assert!(is_told && !complaint.contains(&ann), "{what}: {complaint}");
    }
    // The pipe goes on, and what does not reach the hub is said at its end.
    tokio::io::AsyncWriteExt::write_all(&mut pipe, PIECE.as_bytes()).await.unwrap();
    drop(pipe);
    let output = patiently("the end of the pipe", tee.wait_with_output()).await.unwrap();
    let complaint = said(&output);
    assert_eq!(output.stdout, [PIECE, PIECE].concat().as_bytes(), "{complaint}");
    assert!(
        complaint.contains("not everything reached the hub") && complaint.contains("token"),
        "{complaint}"
    );
}

/// A piece of a stream of a model.
const PIECE: &str = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_whose_token_at_the_other_hub_is_revoked_passes_nothing_on_and_goes_on_with_another_one() {
    let other = guarded().await;
    let boss = other.token_for("boss", &["admin"]).await;
    let sinks = other.token_for("sinks", &["publish:*"]).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let sink = |token: &str| {
        format!(
            "[[sinks]]\nkind = \"hub\"\nurl = \"{}\"\ntoken = \"{token}\"\nconversations = \"c*\"\n",
            other.url("")
        )
    };
    std::fs::write(&file, sink(&sinks)).unwrap();
    let mut hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    let count = async || {
        let answer = get(&other, &boss, "/v1/conversations/c?summary").await;
        answer.json::<Value>().await.ok()?["events"].as_u64()
    };
    let status = |text: &str| format!("{{\"k\":\"status\",\"run\":\"r\",\"text\":\"{text}\"}}");
    let mut publisher = hub.publisher("c").await;
    publisher.says(&status("one")).await;
    until("the sink to pass it on", async || count().await.filter(|seq| *seq >= 1)).await;
    other.token(&["revoke", "sinks"]).await;
    until("the token to be unknown", async || {
        (get(&other, &sinks, "/v1/access").await.status() == 401).then_some(())
    })
    .await;
    let before = count().await.unwrap();
    publisher.says(&status("two")).await;
    until("the refusal of the sink", async || {
        let audit: Value = get(&other, &boss, "/v1/audit").await.json().await.ok()?;
        let entries = audit["entries"].as_array()?.clone();
        let is_it = |entry: &Value| {
            entry["failed"] == "unauthenticated"
                && entry["detail"].as_str().is_some_and(|it| it.contains("a socket"))
        };
        entries.iter().any(is_it).then_some(())
    })
    .await;
    assert_eq!(count().await.unwrap(), before, "nothing comes in with a token that was revoked");
    // With another token everything arrives, once.
    let fresh = other.token_for("fresh", &["publish:*"]).await;
    assert_eq!(hub.stop().await, Some(0));
    std::fs::write(&file, sink(&fresh)).unwrap();
    hub.start_again().await;
    until("the rest to be passed on", async || count().await.filter(|seq| *seq > before)).await;
}
