//! The pipe for Open WebUI, as that loads and asks it: an agent of the hub answers in a chat, through a cut of the line and
//! the death of the hub; a conversation of others is watched; what fails is said.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::wait::patiently;
use tests::{CuttableRelay, ScriptedServer, ServerStep, TestHub, installed};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const PIPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../integrations/open-webui/fanlight.py");

/// A chat in which the pipe is at work.
struct Chat {
    program: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// All that was said so far.
    said: Vec<Value>,
}

impl Chat {
    fn begin(url: &str, valves: &Value, model: &str, text: &str) -> Self {
        Self::begin_where(url, valves, model, text, 1)
    }

    /// The person answers the first question when so many `calls` wait for consent.
    fn begin_where(url: &str, valves: &Value, model: &str, text: &str, calls: usize) -> Self {
        let mut valves = valves.clone();
        valves["FANLIGHT_URL"] = url.into();
        let mut command: Command = installed::python();
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/clients/webui.py"));
        command.args([PIPE, &valves.to_string(), model, text, &calls.to_string()]).kill_on_drop(true);
        let mut program = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        Self { program, lines, said: Vec::new() }
    }

    /// Reads on until something is said that has `part` in it.
    async fn until(&mut self, part: &str) {
        loop {
            let line = patiently(part, self.lines.next_line()).await.unwrap();
            let line = line.unwrap_or_else(|| panic!("{part:?} was not said in {:#?}", self.said));
            self.said.push(serde_json::from_str(&line).unwrap());
            if line.contains(part) {
                return;
            }
        }
    }

    /// Reads to the end; what Open WebUI has then.
    async fn end(mut self) -> (Value, Vec<Value>) {
        self.until("\"end\"").await;
        assert!(patiently("the pipe", self.program.wait()).await.unwrap().success());
        (self.said.last().unwrap()["end"].clone(), self.said)
    }
}

/// The events of a kind.
fn events<'a>(said: &'a [Value], kind: &str) -> Vec<&'a Value> {
    said.iter()
        .map(|line| &line["event"])
        .filter(|event| event["type"] == kind)
        .map(|event| &event["data"])
        .collect()
}

fn statuses(said: &[Value]) -> Vec<(&str, bool)> {
    let status = |data: &'_ Value| data["done"].as_bool().unwrap();
    events(said, "status")
        .into_iter()
        .map(|data| (data["description"].as_str().unwrap(), status(data)))
        .collect()
}

/// The blocks in a content, read by the rules of Open WebUI: a tag begins a line, ends at the first `>`, and an attribute ends at
/// the next quote. Each is its attributes, its summary and its body.
fn blocks(content: &str) -> Vec<(Value, String, String)> {
    let mut blocks = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.find("<details") {
        let (before, block) = rest.split_at(at);
        assert!(at == 0 || before.ends_with('\n'), "a block begins a line: {content}");
        let (tag, behind) = block.split_once('>').unwrap();
        let (body, after) = behind.split_once("</details>").unwrap();
        let (summary, body) = body.split_once("</summary>").unwrap();
        let mut attributes = json!({});
        for attribute in tag.trim_start_matches("<details ").split("\" ") {
            let (name, value) = attribute.split_once("=\"").unwrap();
            attributes[name] = unescaped(value.trim_end_matches('"')).into();
        }
        let summary = summary.trim().trim_start_matches("<summary>").to_owned();
        blocks.push((attributes, summary, unescaped(body.trim())));
        rest = after;
    }
    blocks
}

fn unescaped(text: &str) -> String {
    let signs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#10;", "\n"), ("&amp;", "&")];
    signs.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

fn event(delta: &Value, why: Option<&str>) -> Vec<u8> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": why});
    format!("data: {}\n\n", json!({"id": "x", "model": "m", "choices": [choice]})).into_bytes()
}

const STREAM: [(&str, &str); 1] = [("content-type", "text/event-stream")];

fn stream(deltas: &[Value], why: &str) -> Vec<ServerStep> {
    let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
    steps.extend(deltas.iter().map(|delta| ServerStep::piece(&event(delta, None))));
    steps.extend([
        ServerStep::piece(&event(&json!({}), Some(why))),
        ServerStep::piece(b"data: [DONE]\n\n"),
        ServerStep::end(&[]),
    ]);
    steps
}

const SAID: &str = "\"a\" & <b>\nthe rest's";

/// A model that thinks, calls `echo`, and then answers; the answer waits in its middle.
async fn model() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        if !String::from_utf8_lossy(&asked.body).contains("\"role\":\"tool\"") {
            let function = json!({"name": "t__echo", "arguments": json!({"said": SAID}).to_string()});
            let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]});
            let deltas = [json!({"reasoning_content": "Let me see.\nWell."}), json!({"content": "I look."}), call];
            return stream(&deltas, "tool_calls");
        }
        let mut steps = stream(&[json!({"content": "data: It "}), json!({"content": "is done."})], "stop");
        steps.insert(2, ServerStep::Wait);
        steps
    })
    .await
}

async fn hub(origin: &ScriptedServer, more: &str) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let settings = format!(
        "[agents.helper]\nkind = \"runner\"\nurl = \"http://{}/v1\"\nmodel = \"m\"\ntools = [\"t\"]\n{more}\n[mcp.t]\ncommand = [{:?}]\n",
        origin.address(),
        env!("CARGO_BIN_EXE_tool_server"),
    );
    std::fs::write(&file, settings).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    (hub, place)
}

/// What a call of `echo` looks like in the content.
fn assert_echo(content: &str) {
    let all = blocks(content);
    let (attributes, summary, body) = all.iter().find(|block| block.0["type"] == "tool_calls").unwrap();
    assert_eq!((&attributes["done"], &attributes["name"]), (&json!("true"), &json!("t__echo")));
    let arguments: Value = serde_json::from_str(attributes["arguments"].as_str().unwrap()).unwrap();
    assert_eq!((arguments["said"].as_str(), summary.as_str()), (Some(SAID), "Tool Executed"));
    let result: Value = serde_json::from_str(body).unwrap();
    assert!(result.to_string().contains("the rest's"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_is_told_what_an_agent_does_through_a_cut_and_a_kill() {
    let origin = model().await;
    let (mut hub, _place) = hub(&origin, "").await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let url = format!("http://{}", relay.address());
    let mut chat = Chat::begin(&url, &json!({}), "helper", "Look at it.");
    chat.until("data: It ").await;
    relay.cut();
    chat.until("Connecting again").await;
    hub.restart().await;
    // The answer that the dead hub was told may still take the first.
    origin.go_on();
    origin.go_on();
    let (end, said) = chat.end().await;
    let content = end["content"].as_str().unwrap();
    assert!(content.starts_with("I look.") && content.contains("data: It is done."), "{content}");
    assert_eq!(content.matches("I look.").count(), 1, "{content}");
    assert_eq!((&end["reasoning_content"], &end["error"]), (&json!("Let me see.\nWell."), &Value::Null));
    assert_eq!(blocks(content).len(), 1);
    assert_echo(content);
    assert_eq!(said[0]["models"], json!([{"id": "helper", "name": "helper"}]));
    let statuses = statuses(&said);
    assert_eq!(statuses[0], ("Thinking...", false));
    // A call that is over before anybody looks has a source, below, and no status. Back, the pipe says what the agent does,
    // and that it is back only where there is nothing.
    let is_back = |said: &str| said == "Connected again" || said.starts_with("retrying");
    assert!(statuses.iter().any(|(said, _)| is_back(said)), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&("Complete", true)));
    let sources = events(&said, "source");
    assert_eq!((sources.len(), &sources[0]["source"]["name"]), (1, &json!("🔧 t__echo")));
    assert!(sources[0]["metadata"][0]["full_result"].as_str().unwrap().contains("the rest's"));
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_asks_its_user_and_shows_what_its_valves_say() {
    let origin = model().await;
    origin.go_on();
    let (hub, _place) = hub(&origin, "confirm = [\"*\"]").await;
    let valves = json!({"REASONING": "details", "SHOW_TOOL_CITATIONS": false, "RESULTS_IN": "attribute"});
    let chat = Chat::begin(&hub.url(""), &valves, "helper", "Look at it.");
    let (end, said) = chat.end().await;
    let asked: Vec<_> = said.iter().filter(|line| !line["call"].is_null()).collect();
    assert_eq!((asked.len(), &asked[0]["call"]["type"]), (1, &json!("confirmation")));
    let content = end["content"].as_str().unwrap();
    let all = blocks(content);
    let [thought, call] = &all[..] else { panic!("{content}") };
    assert_eq!((&thought.0["type"], &thought.0["done"]), (&json!("reasoning"), &json!("true")));
    assert!(thought.1.starts_with("Thought for ") && thought.2 == "> Let me see.\n> Well.", "{thought:?}");
    assert!(call.0["result"].as_str().unwrap().contains("the rest's") && call.2.is_empty(), "{call:?}");
    assert_eq!((&end["reasoning_content"], events(&said, "source").len()), (&json!(""), 0));
}

/// A call of `echo`, as a model writes it.
fn echo(index: usize) -> Value {
    let function = json!({"name": "t__echo", "arguments": json!({"said": index}).to_string()});
    json!({"tool_calls": [{"index": index, "id": format!("call_{index}"), "type": "function", "function": function}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_shows_what_was_thought_behind_a_call_behind_it() {
    let origin = ScriptedServer::start(|asked| {
        let is_told = String::from_utf8_lossy(&asked.body).contains("\"role\":\"tool\"");
        let (thought, text) = if is_told { ("Then.", "Done.") } else { ("First.", "I look.") };
        let said = [json!({"reasoning_content": thought}), json!({"content": text})];
        if is_told { stream(&said, "stop") } else { stream(&[&said[..], &[echo(0)]].concat(), "tool_calls") }
    })
    .await;
    let (hub, _place) = hub(&origin, "").await;
    let (end, _) = Chat::begin(&hub.url(""), &json!({}), "helper", "Look at it.").end().await;
    let content = end["content"].as_str().unwrap();
    let all = blocks(content);
    let [call, thought] = &all[..] else { panic!("{content}") };
    assert_eq!((&call.0["type"], &thought.0["type"]), (&json!("tool_calls"), &json!("reasoning")));
    assert_eq!((&end["reasoning_content"], thought.2.as_str()), (&json!("First."), "> Then."));
    assert!(content.starts_with("I look.") && content.ends_with("Done."), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_asks_one_question_at_a_time() {
    let origin = ScriptedServer::start(|asked| {
        if String::from_utf8_lossy(&asked.body).contains("\"role\":\"tool\"") {
            return stream(&[json!({"content": "Done."})], "stop");
        }
        stream(&[echo(0), echo(1)], "tool_calls")
    })
    .await;
    let (hub, _place) = hub(&origin, "confirm = [\"*\"]").await;
    let (end, said) = Chat::begin_where(&hub.url(""), &json!({}), "helper", "Look twice.", 2).end().await;
    assert_eq!(said.iter().filter(|line| !line["call"].is_null()).count(), 2);
    assert_eq!(blocks(end["content"].as_str().unwrap()).len(), 2, "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_watches_a_conversation_of_others() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("far").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"Once "}"#).await;
    let mut chat = Chat::begin(&hub.url(""), &json!({"WATCH": "far"}), "watch:far", "");
    chat.until("Once ").await;
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"again"}"#).await;
    publisher.says(r#"{"k":"part.end","run":"r","part":"p"}"#).await;
    publisher.says(r#"{"k":"agent.start","run":"r","agent":"a","name":"researcher"}"#).await;
    // A viewer who is late is told of the agent's end alone.
    chat.until("researcher").await;
    publisher.says(r#"{"k":"part.delta","run":"r","agent":"a","part":"q","text":"inner"}"#).await;
    publisher.says(r#"{"k":"agent.end","run":"r","agent":"a","status":"complete"}"#).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"c","name":"draw","arguments":"{}"}"#).await;
    let files = r#"{"k":"tool.result","run":"r","tool":"c","output":"drawn","files":[{"type":"image","url":"/a.png"}],"embeds":["<p>"]}"#;
    publisher.says(files).await;
    publisher.says(r#"{"k":"error","run":"r","code":"overloaded","message":"too busy"}"#).await;
    publisher.says(r#"{"k":"run.end","run":"r","status":"error"}"#).await;
    let (end, said) = chat.end().await;
    let content = end["content"].as_str().unwrap();
    // What an event has brought would be shown twice in a block too.
    assert!(content.starts_with("Once again\n\n<details") && !content.contains("a.png"), "{end}");
    assert_eq!(end["error"], json!({"detail": "too busy"}));
    let statuses = statuses(&said);
    assert!(statuses.contains(&("🤖 Sub-agent: researcher...", false)), "{statuses:?}");
    assert!(statuses.contains(&("Sub-agent completed", true)) && statuses.last() == Some(&("Error", true)));
    assert_eq!(events(&said, "files"), [&json!({"files": [{"type": "image", "url": "/a.png"}]})]);
    assert_eq!(events(&said, "embeds"), [&json!({"embeds": ["<p>"]})]);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_says_what_keeps_it_from_an_answer() {
    let hub = TestHub::start().await;
    let (end, _) = Chat::begin(&hub.url(""), &json!({}), "nobody", "Hello").end().await;
    assert!(end["error"]["detail"].as_str().unwrap().contains("nobody"), "{end}");
    let (end, said) = Chat::begin("http://127.0.0.1:9", &json!({}), "helper", "Hello").end().await;
    assert!(end["error"]["detail"].as_str().unwrap().contains("is not reached"), "{end}");
    assert_eq!(statuses(&said).last(), Some(&("Failed", true)));
}

/// A model that says how many messages it was told, and the last of them.
async fn counting() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let said: Vec<_> =
            body["messages"].as_array().unwrap().iter().filter(|it| it["role"] != "system").collect();
        let text = format!("{} told: {}", said.len(), said.last().unwrap()["content"].as_str().unwrap());
        stream(&[json!({"content": text})], "stop")
    })
    .await
}

/// What is answered in a chat whose branch has these messages, questions and answers in turn.
async fn answered(hub: &TestHub, chat: &str, answer: &str, messages: &[&str]) -> String {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let messages: Vec<_> =
        messages.iter().enumerate().map(|(at, text)| json!({"role": role(at), "content": text})).collect();
    let asked = json!({"chat": chat, "answer": answer, "messages": messages}).to_string();
    let (end, _) = Chat::begin(&hub.url(""), &json!({}), "helper", &asked).end().await;
    assert_eq!(end["error"], Value::Null, "{end}");
    end["content"].as_str().unwrap().to_owned()
}

/// What persons said in a conversation.
async fn questions(hub: &TestHub, name: &str) -> Vec<String> {
    let seen = hub.summary(name).await;
    let messages = seen["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "user");
    messages.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_forks_what_is_edited_or_asked_again() {
    let origin = counting().await;
    let (hub, _place) = hub(&origin, "").await;
    let one = answered(&hub, "c", "a1", &["One?"]).await;
    assert_eq!(one, "1 told: One?");
    let two = answered(&hub, "c", "a2", &["One?", &one, "Two?"]).await;
    assert_eq!(two, "3 told: Two?");
    // Edited: the agent is not told what was there before.
    let other = answered(&hub, "c", "a3", &["One?", &one, "Too?"]).await;
    assert_eq!(other, "3 told: Too?");
    // The first question, edited; and one that is asked again.
    assert_eq!(answered(&hub, "c", "a4", &["Zero?"]).await, "1 told: Zero?");
    let again = answered(&hub, "c", "a5", &["One?", &one, "Two?"]).await;
    assert_eq!(again, "3 told: Two?");
    // Each branch goes on in its own conversation, whichever the chat shows.
    let blocks = format!("<details type=\"tool_calls\" done=\"true\">\n</details>\n{other}");
    assert_eq!(answered(&hub, "c", "a6", &["One?", &one, "Too?", &blocks, "Three?"]).await, "5 told: Three?");
    assert_eq!(answered(&hub, "c", "a7", &["Zero?", "1 told: Zero?", "Four?"]).await, "3 told: Four?");
    assert_eq!(questions(&hub, "open-webui-c").await, ["One?", "Two?"]);
    assert_eq!(questions(&hub, "open-webui-c-2").await, ["One?", "Too?", "Three?"]);
    assert_eq!(questions(&hub, "open-webui-c-3").await, ["Zero?", "Four?"]);
    assert_eq!(questions(&hub, "open-webui-c-4").await, ["One?", "Two?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_is_given_results_whole_and_told_what_is_cut() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("far").await;
    let whole = "0123456789".repeat(40_000);
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"c","name":"read","arguments":"{}"}"#).await;
    let result = json!({"k": "tool.result", "run": "r", "tool": "c", "output": whole}).to_string();
    publisher.says(&result).await;
    publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    for (most, shown) in [(0, whole.clone()), (20_000, format!("{}...", "0123456789".repeat(2_000)))] {
        let valves = json!({"WATCH": "far", "RESULT_CHARS_MAX": most});
        let (end, said) = Chat::begin(&hub.url(""), &valves, "watch:far", "").end().await;
        let content = end["content"].as_str().unwrap();
        let body: String = serde_json::from_str(&blocks(content)[0].2).unwrap();
        assert!(body == shown, "{most}: {} of {} characters", body.len(), shown.len());
        let source = events(&said, "source")[0];
        assert_eq!(source["document"], json!([format!("{}...", "0123456789".repeat(50))]));
        assert!(source["metadata"][0]["full_result"] == shown.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_goes_on_where_another_model_has_answered_in_between() {
    let origin = counting().await;
    let (hub, _place) = hub(&origin, "").await;
    let two = answered(&hub, "c", "a1", &["One?", "Said by another.", "Two?"]).await;
    assert_eq!(two, "1 told: Two?");
    let next = ["One?", "Said by another.", "Two?", &two, "Three?", "By another.", "Four?"];
    assert_eq!(answered(&hub, "c", "a2", &next).await, "3 told: Four?");
    assert_eq!(questions(&hub, "open-webui-c").await, ["Two?", "Four?"]);
}
