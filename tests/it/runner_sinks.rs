//! Sinks of a provider that a YAML file describes: its raw events go into files and web sockets besides.

use std::path::Path;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use super::proxy::{END, STREAM, piece};
use super::runner::{last_run, say};

/// A hub whose helper has a provider at `origin` with `sinks`.
async fn hub(origin: &ScriptedServer, sinks: &str, place: &Path) -> TestHub {
    let provider = place.join("provider.yaml");
    let url = format!("http://{}/v1/chat/completions", origin.address());
    let yaml =
        format!("provider:\n  name: openai\n  api_url: {url}\nstream:\n  enabled: true\n  sinks:\n{sinks}");
    std::fs::write(&provider, yaml).unwrap();
    let file = place.join("fanlight.toml");
    let table = "[agents.helper]\nkind = 'runner'\nmodel = 'm'\nprovider = ";
    std::fs::write(&file, format!("{table}'{}'\n", provider.display())).unwrap();
    TestHub::start_with(&["--config", file.to_str().unwrap()]).await
}

/// An answer of these texts, with a wait behind the first.
fn waits(texts: &[&str]) -> Vec<ServerStep> {
    let mut steps =
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&piece(texts[0])), ServerStep::Wait];
    steps.extend(texts[1..].iter().map(|text| ServerStep::piece(&piece(text))));
    steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
    steps
}

/// The texts in raw events of the provider, and `[DONE]` at the end.
fn texts<'a>(events: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let told = events.into_iter().map(|event| match serde_json::from_str(event).unwrap() {
        Value::String(word) => word,
        event => event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned(),
    });
    told.collect()
}

async fn lines(path: &Path, count: usize) -> Vec<String> {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    until("all lines are written", || async { (read().lines().count() >= count).then_some(()) }).await;
    read().lines().map(str::to_owned).collect()
}

/// Takes the next connection.
async fn accept(listener: &TcpListener) -> WebSocketStream<TcpStream> {
    let (stream, _) = within("a connection", listener.accept()).await.unwrap();
    accept_async(stream).await.unwrap()
}

/// The next message.
async fn message(socket: &mut WebSocketStream<TcpStream>) -> String {
    within("a message", socket.next()).await.unwrap().unwrap().into_text().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_events_are_written_into_a_file_for_each_thread() {
    let origin = ScriptedServer::start(|_| waits(&["One ", "two."])).await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("threads/{thread_id}/sse-stream.jsonl");
    let sinks = format!(
        "    - type: file\n      path: {}\n      format: jsonl\n    - type: return\n",
        path.display()
    );
    let hub = hub(&origin, &sinks, place.path()).await;
    say(&hub, "Hello").await;
    let written = place.path().join("threads/c/sse-stream.jsonl");
    assert_eq!(texts(lines(&written, 1).await.iter().map(String::as_str)), ["One "], "while it still speaks");
    origin.go_on();
    assert_eq!(last_run(&hub).await["text"], "One two.");
    let all = lines(&written, 4).await;
    assert_eq!(texts(all.iter().map(String::as_str)), ["One ", "two.", "", "[DONE]"]);
    assert_eq!(
        all[0],
        String::from_utf8(piece("One ")).unwrap().trim().trim_start_matches("data: "),
        "as it came"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_full_is_renamed() {
    let origin = ScriptedServer::start(|_| super::runner::answer("Done.")).await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("events.jsonl");
    let sinks =
        format!("    - type: file\n      path: {}\n      max_size: 1\n      rotation: 1\n", path.display());
    let hub = hub(&origin, &sinks, place.path()).await;
    for number in 1..=3 {
        say(&hub, &format!("Hello {number}")).await;
        super::runner::runs(&hub, |runs| runs.len() == number && runs[number - 1]["status"] == "complete")
            .await;
        until("it is written", || async {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            text.ends_with("\"[DONE]\"\n").then_some(())
        })
        .await;
    }
    assert!(place.path().join("events.jsonl.1").exists() && !place.path().join("events.jsonl.2").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_events_come_over_a_socket_that_is_opened_again() {
    let origin = ScriptedServer::start(|_| waits(&["One ", "two ", "three."])).await;
    let place = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("${{FANLIGHT_IS_NEVER_SET:-ws://{}/events}}", listener.local_addr().unwrap());
    let sinks = format!(
        "    - type: websocket\n      url: \"{url}\"\n      reconnect_attempts: 3\n      buffer_on_disconnect: true\n"
    );
    let hub = hub(&origin, &sinks, place.path()).await;
    say(&hub, "Hello").await;
    let mut socket = accept(&listener).await;
    assert_eq!(texts([message(&mut socket).await.as_str()]), ["One "]);
    // Gone, and the hub knows it.
    socket.send(Message::Close(None)).await.unwrap();
    while let Some(Ok(_)) = within("the hub hears of it", socket.next()).await {}
    drop(socket);
    origin.go_on();
    let mut socket = accept(&listener).await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(message(&mut socket).await);
    }
    assert_eq!(texts(all.iter().map(String::as_str)), ["two ", "three.", "", "[DONE]"]);
    assert_eq!(last_run(&hub).await["text"], "One two three.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_that_takes_nothing_costs_the_run_nothing() {
    let origin = ScriptedServer::start(|_| super::runner::answer("Done.")).await;
    let place = tempfile::tempdir().unwrap();
    // Nobody listens there, and a file stands where the folder is to be.
    std::fs::write(place.path().join("taken"), "").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sinks = format!(
        "    - type: websocket\n      url: ws://{address}/\n      reconnect_attempts: 0\n    - type: file\n      path: {}\n    - type: file\n      path: \"${{FANLIGHT_IS_NEVER_SET}}/x\"\n",
        place.path().join("taken/events.jsonl").display()
    );
    let hub = hub(&origin, &sinks, place.path()).await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")));
}

/// The lines of the file and of those that it was before, the oldest first, once there are as many.
async fn all_lines(path: &Path, count: usize) -> Vec<String> {
    let read = || {
        // From the oldest on: a file that is renamed meanwhile is missed, never read twice.
        let older = (1..10).rev().map(|number| format!("{}.{number}", path.display()));
        let files = older.chain([path.display().to_string()]);
        let texts = files.map(|file| std::fs::read_to_string(file).unwrap_or_default());
        texts.collect::<String>().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    until("all lines are written", || async { Some(read()).filter(|lines| lines.len() >= count) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_at_once_share_a_file_that_is_renamed_and_a_torn_line_stays_alone() {
    let long = "x".repeat(500);
    let quick = long.clone();
    let origin = ScriptedServer::start(move |asked| {
        let is_slow = String::from_utf8_lossy(&asked.body).contains("Slowly");
        if is_slow { waits(&["Slow ", "but sure."]) } else { super::runner::answer(&quick) }
    })
    .await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("events.jsonl");
    std::fs::write(&path, "{\"torn").unwrap();
    let sinks =
        format!("    - type: file\n      path: {}\n      max_size: 400\n      rotation: 9\n", path.display());
    let hub = hub(&origin, &sinks, place.path()).await;
    say(&hub, "Slowly").await;
    all_lines(&path, 2).await;
    for number in 1..=3 {
        let commands = format!("/v1/conversations/quick{number}/commands");
        let body = json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"});
        let said = hub.request("POST", &commands).body(body.to_string()).send().await.unwrap();
        assert_eq!(said.status(), 200);
        all_lines(&path, 2 + number * 3).await;
    }
    origin.go_on();
    let all = all_lines(&path, 14).await;
    assert_eq!(all[0], "{\"torn", "the next event begins behind it");
    let told = texts(all[1..].iter().map(String::as_str));
    let quick = [long.as_str(), "", "[DONE]"];
    assert_eq!(told, [&["Slow "][..], &quick, &quick, &quick, &["but sure.", "", "[DONE]"]].concat());
    assert!(place.path().join("events.jsonl.2").exists(), "it was renamed meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_opens_and_takes_nothing_is_given_up() {
    // More than fits between the two ends.
    let long = "x".repeat(6_000_000);
    let origin = ScriptedServer::start(move |_| super::runner::answer(&long)).await;
    let place = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let sinks = format!(
        "    - type: websocket\n      url: {url}\n      reconnect_attempts: 1\n      buffer_on_disconnect: true\n"
    );
    let mut hub = hub(&origin, &sinks, place.path()).await;
    say(&hub, "Hello").await;
    drop(accept(&listener).await);
    drop(accept(&listener).await);
    hub.stop().await;
    let more = listener.into_std().unwrap().accept();
    assert_eq!(more.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "no third try");
}
