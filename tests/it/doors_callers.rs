//! Callers of one door who say the same: each keeps a conversation of its own, whatever the others say.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{ScriptedServer, TestHub};

use super::doors::{objects, post, said, seen, told, until};
use super::runner::{answer, hub_with_tools, messages};

/// How a caller asks behind a door: its name, and what it says of itself.
#[derive(Debug, Clone, Copy)]
struct Door {
    name: &'static str,
    path: &'static str,
    body: fn(&Caller, &[Value]) -> Value,
}

/// Somebody who has one conversation.
#[derive(Debug, Clone)]
struct Caller {
    /// Who it is.
    user: String,
    /// The key that it sends, if any.
    key: Option<&'static str>,
    /// What it calls the conversation, behind doors whose clients do so.
    chat: String,
    /// All that was said, as such a client keeps it.
    history: Vec<Value>,
}

const DOORS: [Door; 7] = [
    Door { name: "openai", path: "/v1/chat/completions", body: openai },
    Door { name: "bernard", path: "/compat/bernard/v1/chat/completions", body: openai },
    Door { name: "forge", path: "/compat/forge/chat/stream", body: forge },
    Door { name: "deep-agent", path: "/compat/deep-agent/chat/stream", body: plain },
    Door { name: "ralph", path: "/compat/ralph/chat/stream", body: plain },
    Door { name: "ag-ui", path: "/compat/ag-ui/helper", body: ag_ui },
    Door { name: "ai-sdk", path: "/compat/ai-sdk/helper", body: ai_sdk },
];

fn openai(_caller: &Caller, messages: &[Value]) -> Value {
    json!({"model": "helper", "stream": true, "messages": messages})
}

fn forge(_caller: &Caller, messages: &[Value]) -> Value {
    let (last, before) = messages.split_last().unwrap();
    json!({"user_message": last["content"], "messages": before, "enable_tools": true})
}

fn plain(caller: &Caller, messages: &[Value]) -> Value {
    json!({"user_id": caller.user, "chat_id": caller.chat, "messages": messages, "stream": true})
}

fn ag_ui(caller: &Caller, messages: &[Value]) -> Value {
    let messages: Vec<Value> = numbered(messages).collect();
    let run = format!("run-{}", messages.len());
    json!({"threadId": format!("ag-{}", caller.chat), "runId": run, "messages": messages, "state": {},
        "tools": [], "context": [], "forwardedProps": {}})
}

fn ai_sdk(caller: &Caller, messages: &[Value]) -> Value {
    let messages = numbered(messages).map(|message| {
        let parts = json!([{"type": "text", "text": message["content"]}]);
        json!({"id": message["id"], "role": message["role"], "parts": parts})
    });
    json!({"id": format!("ai-{}", caller.chat), "messages": messages.collect::<Vec<_>>()})
}

fn numbered(messages: &[Value]) -> impl Iterator<Item = Value> {
    let with_id = |(number, message): (usize, &Value)| {
        let mut message = message.clone();
        message["id"] = json!(format!("m{number}"));
        message
    };
    messages.iter().enumerate().map(with_id)
}

/// The text that the stream of a door tells.
fn text(door: &str, stream: &str) -> String {
    let piece = |(kind, event): (String, Value)| {
        let piece = match (door, kind.as_str()) {
            ("forge", "token") => event["token"].clone(),
            ("deep-agent", _) if event["type"] == "token" => event["data"]["content"].clone(),
            ("ralph", _) if event["type"] == "message" => event["content"].clone(),
            ("openai" | "bernard", _) => event["choices"][0]["delta"]["content"].clone(),
            ("ag-ui" | "ai-sdk", _) => event["delta"].clone(),
            _ => Value::Null,
        };
        piece.as_str().unwrap_or_default().to_owned()
    };
    objects(stream).into_iter().map(piece).collect()
}

impl Caller {
    fn new(user: &str, key: Option<&'static str>, chat: &str) -> Self {
        Self { user: user.to_owned(), key, chat: chat.to_owned(), history: Vec::new() }
    }

    /// Asks one more question; the conversation in which it was answered.
    async fn ask(&mut self, hub: &TestHub, door: Door, question: &str) -> String {
        self.history.push(json!({"role": "user", "content": question}));
        let body = (door.body)(self, &self.history).to_string();
        let mut asked = hub.request("POST", door.path).header("content-type", "application/json").body(body);
        if let Some(key) = self.key {
            asked = asked.header("authorization", format!("Bearer {key}"));
        }
        let (stream, name) = told(asked.send().await.unwrap()).await;
        let answer = text(door.name, &stream);
        assert!(!answer.is_empty(), "{door:?}: {stream}");
        self.history.push(json!({"role": "assistant", "content": answer}));
        name
    }

    fn last_answer(&self) -> &str {
        self.history.last().unwrap()["content"].as_str().unwrap()
    }
}

/// A model that greets everybody alike, and then says all that it was told.
async fn echo() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let all = messages(asked);
        let of = |role: &'static str| all.iter().filter(move |message| message["role"] == role);
        let asked: Vec<&str> = of("user").map(|it| it["content"].as_str().unwrap()).collect();
        let told: Vec<&str> = of("system").map(|it| it["content"].as_str().unwrap()).collect();
        if asked.len() == 1 && told.is_empty() {
            return answer("Hello to you.");
        }
        answer(&format!("<{}>{}", asked.join("|"), told.join("|")))
    })
    .await
}

async fn hub_of_echo() -> (TestHub, ScriptedServer, tempfile::TempDir) {
    let origin = echo().await;
    let (hub, place) = hub_with_tools(&origin, "", "").await;
    (hub, origin, place)
}

/// Two callers with `count` conversations each, all of which begin alike, are asked in turn behind `door`.
async fn two_callers(
    hub: &TestHub,
    door: Door,
    (one, other): (Option<&'static str>, Option<&'static str>),
    count: usize,
) {
    let caller = |user: &'static str, key| {
        (0..count).map(move |number| Caller::new(user, key, &format!("{}-{number}", door.name)))
    };
    let (ada, bob) = (caller("ada", one), caller("bob", other));
    let mut callers: Vec<Caller> = ada.zip(bob).flat_map(|(ada, bob)| [ada, bob]).collect();
    if matches!(door.name, "ag-ui" | "ai-sdk") {
        // Such clients name their conversations, each its own.
        for caller in &mut callers {
            caller.chat = format!("{}-{}", caller.user, caller.chat);
        }
    }
    let mut names = vec![String::new(); callers.len()];
    for caller in &mut callers {
        caller.ask(hub, door, "Hello").await;
        assert_eq!(caller.last_answer(), "Hello to you.", "{door:?}");
    }
    for turn in 1..=2 {
        for (number, (caller, name)) in callers.iter_mut().zip(&mut names).enumerate() {
            let own = |turn: usize| format!("{} {number} of {turn}", caller.user);
            let told: Vec<String> = (1..=turn).map(own).collect();
            let again = caller.ask(hub, door, &told[turn - 1]).await;
            assert_eq!(caller.last_answer(), format!("<Hello|{}>", told.join("|")), "{door:?}");
            assert!(turn == 1 || again == *name, "{door:?}: {again} is not {name}");
            *name = again;
        }
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), callers.len(), "{door:?}: each has its own");
    for (caller, name) in callers.iter().zip(&names) {
        assert!(!name.contains("fork"), "{door:?}: {name}");
        let asked = caller.history.iter().filter(|message| message["role"] == "user");
        let asked: Vec<&str> = asked.map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(said(&seen(hub, name).await), asked, "{door:?}: {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_callers_with_fifty_conversations_each_that_begin_alike_are_never_mixed() {
    let (hub, _origin, _place) = hub_of_echo().await;
    for door in DOORS {
        two_callers(&hub, door, (Some("key-of-ada"), Some("key-of-bob")), 50).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_with_one_key_or_none_are_told_apart() {
    let (hub, _origin, _place) = hub_of_echo().await;
    for door in DOORS {
        two_callers(&hub, door, (None, None), 6).await;
        if !matches!(door.name, "ralph" | "ag-ui" | "ai-sdk") {
            two_callers(&hub, door, (Some("the-key-of-both"), Some("the-key-of-both")), 6).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_who_begin_alike_at_once_have_twelve_conversations() {
    let (hub, origin, _place) = hub_of_echo().await;
    for door in DOORS.into_iter().take(4) {
        let mut callers: Vec<Caller> = (0..12).map(|_| Caller::new("ada", None, "c")).collect();
        let mut names = Vec::new();
        for question in ["Hello", "And now?", "Well?"] {
            let asked = callers.iter_mut().map(|caller| caller.ask(&hub, door, question));
            names = futures_util::future::join_all(asked).await;
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 12, "{door:?}: {names:?}");
        for (caller, name) in callers.iter().zip(&names) {
            assert_eq!(caller.last_answer(), "<Hello|And now?|Well?>", "{door:?}");
            assert!(!name.contains("fork"), "{door:?}: {name}");
        }
    }
    for asked in origin.asked() {
        let all = messages(&asked);
        assert!(all.iter().all(|message| message["role"] != "system"), "nothing broke off: {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_alone_do_not_continue_the_conversation_of_somebody_else() {
    let (hub, _origin, _place) = hub_of_echo().await;
    let [openai, ..] = DOORS;
    let mut ada = Caller::new("ada", None, "");
    let name = ada.ask(&hub, openai, "Hello").await;
    let history = json!([ada.history[0], ada.history[1], {"role": "user", "content": "Who am I?"}]);
    let ask = async |header: (&str, &str), more: Value| {
        let mut body = json!({"model": "helper", "messages": history});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let asked = hub.request("POST", openai.path).header(header.0, header.1).body(body.to_string());
        told(asked.send().await.unwrap()).await.1
    };
    let none = ("accept", "*/*");
    assert_ne!(ask(none, json!({"user": "bob"})).await, name, "another user of the same key");
    assert_ne!(ask(("user-agent", "somebody/1.0"), json!({})).await, name, "another program");
    assert_ne!(ask(("x-openwebui-user-id", "bob"), json!({})).await, name, "another person behind a proxy");
    assert_eq!(ask(none, json!({})).await, name, "the caller itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_chats_of_ralph_whose_names_run_together_stay_apart() {
    let (hub, _origin, _place) = hub_of_echo().await;
    let question = json!([{"role": "user", "content": "Hello"}]);
    let ask = async |user: &str, chat: &str| {
        let body = json!({"user_id": user, "chat_id": chat, "messages": question});
        told(post(&hub, "/compat/ralph/chat/stream", &body).await).await.1
    };
    let one = ask("a-b", "c").await;
    assert_ne!(one, ask("a", "b-c").await);
    assert_eq!(ask("ada", "7").await, "ada-7");
    let uuid = "0a1b2c3d-0000-4000-8000-000000000001";
    assert_eq!(ask(uuid, "9").await, format!("{uuid}-9"), "names of Open WebUI are told as they are");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_question_of_ralph_that_was_edited_is_told_without_the_old_turns() {
    let (hub, origin, _place) = hub_of_echo().await;
    let [.., ralph, _, _] = DOORS;
    let mut ada = Caller::new("ada", None, "7");
    let name = ada.ask(&hub, ralph, "My name is Ada").await;
    ada.ask(&hub, ralph, "Who am I?").await;
    // Open WebUI sends what is left of the chat: the edited question.
    ada.history.clear();
    let other = ada.ask(&hub, ralph, "My name is Bob").await;
    assert_ne!(other, name, "a changed history is a fork");
    let asked = messages(origin.asked().last().unwrap());
    assert_eq!(asked, [json!({"role": "user", "content": "My name is Bob"})]);
    assert_eq!(ada.ask(&hub, ralph, "Who am I?").await, other, "the chat goes on there");
    assert_eq!(ada.last_answer(), "<My name is Bob|Who am I?>");
    assert_eq!(said(&seen(&hub, &name).await), ["My name is Ada", "Who am I?"], "what was said stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn ralph_elsewhere_is_told_the_user_and_the_chat_of_the_caller() {
    let origin = ScriptedServer::start(|_| {
        let told = "event: message\r\ndata: {\"type\":\"message\",\"content\":\"Hi.\"}\r\n\r\n\
            event: message\r\ndata: {\"type\":\"done\"}\r\n\r\n";
        tests::ServerStep::answer("200 OK", &super::proxy::STREAM, told.as_bytes())
    })
    .await;
    let (hub, _place) = super::remote_kinds::hub_with(&origin, "ralph", "", "").await;
    let [.., ralph, _, _] = DOORS;
    let mut ada = Caller::new("ada-l", None, "chat 7");
    let name = ada.ask(&hub, ralph, "Hello").await;
    let asked = || serde_json::from_slice::<Value>(&origin.asked().last().unwrap().body).unwrap();
    assert_eq!((&asked()["user_id"], &asked()["chat_id"]), (&json!("ada-l"), &json!("chat 7")));
    // Somebody else who asks in that conversation asks for the same user.
    let say = json!({"id": "1", "command": "say", "agent": "far", "text": "And?"});
    let said = post(&hub, &format!("/v1/conversations/{name}/commands"), &say).await;
    assert_eq!(said.status(), 200);
    let count = tests::wait::until("the second request", async || (origin.asked().len() == 2).then_some(2));
    assert_eq!(count.await, 2);
    assert_eq!((&asked()["user_id"], &asked()["chat_id"]), (&json!("ada-l"), &json!("chat 7")));
    let elsewhere = json!({"id": "1", "command": "say", "agent": "far", "text": "Hello"});
    post(&hub, "/v1/conversations/other/commands", &elsewhere).await;
    tests::wait::until("the third request", async || (origin.asked().len() == 3).then_some(3)).await;
    assert_eq!((&asked()["user_id"], &asked()["chat_id"]), (&json!("fanlight"), &json!("other")));
}

/// What a chat page sends next whose answer broke off: `shown` is what it kept of the answer.
fn after(shown: Option<&str>, question: &str) -> Vec<Value> {
    let mut history = vec![json!({"role": "user", "content": "Hello"})];
    history.extend(shown.map(|shown| json!({"role": "assistant", "content": shown})));
    history.push(json!({"role": "user", "content": question}));
    history
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_in_a_chat_stops_the_run_and_the_thread_goes_on() {
    let origin = super::doors::slow().await;
    let (hub, _place) = hub_with_tools(&origin, "", "").await;
    let [_, _, forge, deep_agent, ralph, ..] = DOORS;
    // forge-ui forgets what it has shown, Open WebUI keeps it.
    for (door, shown) in [(forge, None), (deep_agent, Some("Well")), (ralph, Some("Well"))] {
        let caller = Caller::new("ada", None, "c");
        let mut answer = post(&hub, door.path, &(door.body)(&caller, &after(None, "x")[..1])).await;
        let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
        until(&mut answer, "Well").await;
        drop(answer);
        let run = seen(&hub, &name).await["runs"][0].clone();
        assert_eq!((&run["status"], &run["text"]), (&json!("cancelled"), &json!("Well")), "{door:?}");
        let body = (door.body)(&caller, &after(shown, "Go on"));
        let mut answer = post(&hub, door.path, &body).await;
        assert_eq!(answer.headers()["fanlight-conversation"], name.as_str(), "{door:?}: the same thread");
        until(&mut answer, "Well").await;
        origin.go_on();
        told(answer).await;
        assert_eq!(said(&seen(&hub, &name).await), ["Hello", "Go on"], "{door:?}");
        let asked = messages(origin.asked().last().unwrap());
        assert_eq!(asked[1]["content"], "Well", "{door:?}: the model knows what it had said: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_is_told_so_lets_the_run_go_on_and_the_thread_with_it() {
    let origin = super::doors::slow().await;
    let settings =
        "[compat.forge]\nagent = \"helper\"\nhang_up = \"go_on\"\n[compat.openai]\nhang_up = \"stop\"";
    let (hub, _place) = hub_with_tools(&origin, "", settings).await;
    let [openai, _, forge, ..] = DOORS;
    let caller = Caller::new("ada", None, "c");
    let mut answer = post(&hub, forge.path, &(forge.body)(&caller, &after(None, "x")[..1])).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    drop(answer);
    // The hub knows that nobody listens any more before there is more to be told.
    tests::wait::until("the hub to see that the caller hung up", async || {
        (hub.number("readers").await == 0).then_some(())
    })
    .await;
    origin.go_on();
    assert_eq!(seen(&hub, &name).await["runs"][0]["text"], "Well then.");
    let mut answer = post(&hub, forge.path, &(forge.body)(&caller, &after(Some("We"), "Go on"))).await;
    assert_eq!(answer.headers()["fanlight-conversation"], name.as_str());
    until(&mut answer, "Well").await;
    origin.go_on();
    told(answer).await;
    let mut answer = post(&hub, openai.path, &(openai.body)(&caller, &after(None, "x")[..1])).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    drop(answer);
    assert_eq!(seen(&hub, &name).await["runs"][0]["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_failure_in_the_history_are_the_same_thread() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).iter().any(|message| message["content"] == "Once more") {
            return answer("Here I am.");
        }
        tests::ServerStep::answer("401 Unauthorized", &[], b"{\"error\":{\"message\":\"who are you?\"}}")
    })
    .await;
    let (hub, _place) = hub_with_tools(&origin, "", "").await;
    let [openai, _, forge, deep_agent, ..] = DOORS;
    for (door, shown) in [
        (forge, Some("who are you?")),
        (deep_agent, Some("Error: peer closed connection without sending complete message body")),
        (openai, None),
    ] {
        let caller = Caller::new("ada", None, "c");
        let answer = post(&hub, door.path, &(door.body)(&caller, &after(None, "x")[..1])).await;
        let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
        // A stream may break off: that is how one of these doors tells a failure.
        drop(answer.text().await);
        assert_eq!(seen(&hub, &name).await["runs"][0]["status"], "error");
        let answer = post(&hub, door.path, &(door.body)(&caller, &after(shown, "Once more"))).await;
        assert_eq!(told(answer).await.1, name, "{door:?}");
        assert_eq!(said(&seen(&hub, &name).await), ["Hello", "Once more"], "{door:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_agent_tells_a_failure_by_breaking_off_and_says_nothing_else() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).iter().any(|message| message["content"] == "Begin") {
            let mut steps = answer("Well");
            steps.pop();
            steps.truncate(2);
            steps.push(tests::ServerStep::piece(
                b"data: {\"error\":{\"message\":\"no such thing\",\"type\":\"invalid_request_error\"}}\n\n",
            ));
            steps.push(tests::ServerStep::end(&[]));
            return steps;
        }
        tests::ServerStep::answer("401 Unauthorized", &[], b"{}")
    })
    .await;
    let (hub, _place) = hub_with_tools(&origin, "max_attempts = 2", "").await;
    let [_, _, _, door, ..] = DOORS;
    for (question, shown) in [("Fail", ""), ("Begin", "Well")] {
        let body = json!({"messages": [{"role": "user", "content": question}], "stream": true});
        let mut answer = post(&hub, door.path, &body).await;
        assert_eq!(answer.status(), 200);
        let mut said = String::new();
        let broke_off = loop {
            match tests::wait::within("a piece", answer.chunk()).await {
                Ok(Some(piece)) => said.push_str(std::str::from_utf8(&piece).unwrap()),
                Ok(None) => break false,
                Err(_broken) => break true,
            }
        };
        assert!(broke_off, "{question}: a failure that looks whole is none: {said}");
        assert_eq!(text("deep-agent", &said), shown, "{question}");
        let others = objects(&said).into_iter().filter(|(_, event)| event["type"] != "token");
        assert_eq!(others.count(), 0, "{question}: {said}");
    }
}
