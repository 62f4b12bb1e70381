//! `fanlight ask` as a process: what the agent's model is asked, what is printed while it answers, and how it ends.

use serde_json::{Value, json};
use tests::model::{END, STREAM, answer, delta, messages};
use tests::wait::{patiently, within};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::commands::{run, said, start};
use super::runner::{hub_with, hub_with_tools};

/// An answer in two pieces, of which the second one waits until the test says so.
fn two_pieces() -> Vec<ServerStep> {
    let piece = |text: &str| ServerStep::piece(&delta(&json!({"content": text})));
    vec![
        ServerStep::begin("200 OK", &STREAM),
        piece("It is "),
        ServerStep::Wait,
        piece("sunny."),
        ServerStep::piece(END),
        ServerStep::end(&[]),
    ]
}

/// Reads the command's output until it ends with `text`.
async fn reads(child: &mut Child, text: &str) {
    let stdout = child.stdout.as_mut().unwrap();
    let mut read = Vec::new();
    within("the command's output", async {
        while !String::from_utf8_lossy(&read).ends_with(text) {
            assert!(stdout.read_buf(&mut read).await.unwrap() > 0, "{}", String::from_utf8_lossy(&read));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_printed_as_it_comes() {
    let origin = ScriptedServer::start(|_| two_pieces()).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut child = start(&["ask", "Weather?", "--conversation", "c", "--url", &hub.url("")]);
    reads(&mut child, "It is ").await;
    origin.go_on();
    let output = patiently("the command's end", child.wait_with_output()).await.unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"sunny.\n"[..]),
        "{}",
        said(&output)
    );
    assert_eq!(said(&output), format!("fanlight: watch it at {}\n", hub.url("/c/c")));
    // It goes on there, and the model has what was said.
    origin.go_on();
    let output = run(&["ask", "--conversation", "c", "--url", &hub.url("")], b"And tomorrow?\n").await;
    assert_eq!(output.stdout, b"It is sunny.\n", "{}", said(&output));
    let asked = origin.asked();
    let told: Vec<_> = messages(&asked[1]).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(told, [json!("Weather?"), json!("It is sunny."), json!("And tomorrow?\n")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_how_the_model_is_to_answer_reach_the_model() {
    let origin = ScriptedServer::start(|_| answer("{\"colour\":\"red\"}")).await;
    let (hub, place) = hub_with(&origin, "").await;
    let file = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (image, text) = (file("a.png", b"\x89PNG"), file("notes.rs", "fn größe() {}".as_bytes()));
    let schema = file("colour of it.json", br#"{"type": "object"}"#);
    let words = [
        "ask",
        "What is this?",
        "--agent",
        "helper",
        "--file",
        &image,
        "--file",
        &text,
        "--temperature",
        "0.5",
        "--top-p",
        "0.9",
        "--max-tokens",
        "100",
        "--seed",
        "-7",
        "--stop",
        "END",
        "--stop",
        "-- ",
        "--response-format",
        &schema,
        "--url",
    ];
    let url = hub.url("");
    let arguments: Vec<&str> = words.into_iter().chain([url.as_str()]).collect();
    let output = run(&arguments, b"").await;
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"{\"colour\":\"red\"}\n"[..]),
        "{}",
        said(&output)
    );
    let body: Value = serde_json::from_slice(&origin.asked()[0].body).unwrap();
    for (name, value) in [
        ("temperature", json!(0.5)),
        ("top_p", json!(0.9)),
        ("max_tokens", json!(100)),
        ("seed", json!(-7)),
        ("stop", json!(["END", "-- "])),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    let format = json!({"name": "colour_of_it", "schema": {"type": "object"}, "strict": true});
    assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": format}));
    let content = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "text", "text": "[file: notes.rs]\nfn größe() {}"},
    ]);
    assert_eq!(body["messages"][0]["content"], content);
    let output = run(&["ask", "Now JSON", "--response-format", "json", "--url", &url], b"").await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let body: Value = serde_json::from_slice(&origin.asked()[1].body).unwrap();
    assert_eq!((&body["response_format"], body.get("temperature")), (&json!({"type": "json_object"}), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_the_answer_are_envelopes_one_a_line() {
    let origin = ScriptedServer::start(|_| answer("Done.")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let output = run(&["ask", "Hello", "--json", "--url", &hub.url("")], b"").await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "from the question on, none is missing");
    let kinds: Vec<_> = events.iter().map(|event| event["k"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"message") && kinds.contains(&"part.delta"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"run.end"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_run() {
    let origin = ScriptedServer::start(|_| two_pieces()).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut child = start(&["ask", "Weather?", "--conversation", "c", "--url", &hub.url("")]);
    reads(&mut child, "It is ").await;
    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    let output = patiently("the command's end", child.wait_with_output()).await.unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b"\n"[..]), "{}", said(&output));
    assert!(
        said(&output).contains("the answer was stopped\n  ask again with --conversation c"),
        "{}",
        said(&output)
    );
    assert_eq!(hub.summary("c").await["runs"][0]["status"], "cancelled");
    origin.until_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_or_waits_for_approval_is_said() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).iter().any(|message| message["role"] == "tool") {
            return answer("As you like.");
        }
        let function = json!({"name": "deploy", "arguments": "{}"});
        let call = json!({"content": "I deploy it.", "tool_calls": [{"index": 0, "id": "t", "type": "function", "function": function}]});
        let said = ServerStep::piece(&delta(&call));
        vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::piece(END), ServerStep::end(&[])]
    })
    .await;
    let (hub, _place) = hub_with(&origin, "confirm = [\"deploy\"]").await;
    let child = start(&["ask", "Deploy", "--conversation", "c", "--url", &hub.url("")]);
    let state = |it: &Value| it.pointer("/runs/0/tool_calls/0/state").is_some_and(|it| it == "approval");
    hub.json_until("/v1/conversations/c?summary", state).await;
    let rejects = json!({"id": "1", "command": "reject", "tool": "t"}).to_string();
    let answered = hub.request("POST", "/v1/conversations/c/commands").body(rejects).send().await.unwrap();
    assert!(answered.status().is_success(), "{}", answered.text().await.unwrap());
    let output = patiently("the command's end", child.wait_with_output()).await.unwrap();
    assert_eq!(output.stdout, b"I deploy it.\n\nAs you like.\n", "{}", said(&output));
    let waits = format!("fanlight: deploy waits for approval at {}\n", hub.url("/c/c"));
    assert_eq!(said(&output).matches(&waits).count(), 1, "{}", said(&output));

    let origin = ScriptedServer::start(|_| ServerStep::answer("400 Bad Request", &[], b"{}")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let output = run(&["ask", "Hello", "--url", &hub.url("")], b"").await;
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    assert!(said(&output).contains("the run failed: "), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused_with_what_is_wrong() {
    let origin = ScriptedServer::start(|_| answer("Never.")).await;
    let more = "[agents.second]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"";
    let (hub, place) = hub_with_tools(&origin, "", more).await;
    let path = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (zip, list) = (path("a.zip", b"PK\xff\xfe"), path("list.json", b"[1]"));
    let large = path("large.txt", &vec![b'x'; model::limits::FILE_BYTES_MAX + 1]);
    let many = ["--file", list.as_str()].repeat(9);
    let with = |more: &[&'static str]| [&["Hello", "--agent", "helper"], more].concat();
    for (arguments, code, why) in [
        (vec!["Hello"], 2, "name one with --agent: helper, second"),
        (vec!["Hello", "--agent", "nobody"], 1, "model_not_found: The model `nobody` does not exist"),
        (vec!["--agent", "helper"], 2, "the question is empty"),
        (with(&["--temperature", "NaN"]), 2, "it is no finite number"),
        (with(&["--file", "/nowhere/a.txt"]), 2, "--file: /nowhere/a.txt: "),
        (with(&["--response-format", "/nowhere/s.json"]), 2, "--response-format: /nowhere/s.json: "),
        (vec!["Hello", "--agent", "helper", "--file", &zip], 2, "neither an image, a PDF nor a text"),
        (vec!["Hello", "--agent", "helper", "--file", &large], 2, "large.txt has more than 5242880 bytes"),
        (vec!["Hello", "--agent", "helper", "--response-format", &list], 2, "list.json is not an object"),
        (
            [&["Hello", "--agent", "helper"][..], &many].concat(),
            2,
            "these are 9 files, and a question has 8 at most",
        ),
    ] {
        let url = hub.url("");
        let arguments: Vec<&str> = ["ask", "--url", &url].into_iter().chain(arguments).collect();
        let output = run(&arguments, b" ").await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{arguments:?}: {}", said(&output));
    }
    assert!(origin.asked().is_empty());
    let output = run(&["ask", "Hello", "--url", "http://127.0.0.1:1"], b"").await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("fanlight serve"), "{}", said(&output));
    let empty = TestHub::start().await;
    let output = run(&["ask", "Hello", "--url", &empty.url("")], b"").await;
    assert!(said(&output).contains("no agent that can be asked"), "{}", said(&output));
}
