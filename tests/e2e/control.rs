//! Control from the page: agents of the hub are asked, stopped, answered, retried; turns are forked and compared.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::model::{END, STREAM, answer, delta, messages};
use tests::raw::RawMessage;
use tests::wait::until;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};

use crate::scene::{OPENING, agent_table};
use crate::screens::{PicturedView, pictured};

mod compare;
mod elsewhere;
mod files;
mod forms;
mod waits;

/// The program of the server with tools.
const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

/// A piece of an answer.
fn piece(said: &Value) -> ServerStep {
    ServerStep::piece(&delta(said))
}

fn text(text: &str) -> ServerStep {
    piece(&json!({"content": text}))
}

/// An answer that calls a tool.
fn calls(name: &str, arguments: &Value) -> Vec<ServerStep> {
    let function = json!({"name": format!("t__{name}"), "arguments": arguments.to_string()});
    let calls = json!([{"index": 0, "id": "call", "type": "function", "function": function}]);
    let said = piece(&json!({"content": "I deploy it, if you agree.", "tool_calls": calls}));
    vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::piece(END), ServerStep::end(&[])]
}

/// What was said last.
fn last(asked: &RawMessage) -> String {
    let said = messages(asked).pop().expect("a message");
    said.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A hub with the agents `names`, whose model is at `origin`. They ask before they call the tool `echo`.
async fn hub_with_agents(origin: &ScriptedServer, names: &[&str]) -> TestHub {
    let more = "tools = [\"t\"]\nconfirm = [\"t__echo\"]\nmax_attempts = 1";
    let agents: String = names.iter().map(|name| agent_table(name, origin, more)).collect();
    TestHub::start_with_settings(&format!("{agents}[mcp.t]\ncommand = [{SERVER:?}]\n")).await
}

/// Opens `path` of the hub; the composer is there.
async fn open(hub: &TestHub, path: &str) -> BrowserPage {
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url(path)).await;
    page.holds("return !!document.getElementById('composer')").await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    page
}

/// Types into what has the focus.
async fn types(page: &BrowserPage, text: &str) {
    page.devtools("Input.insertText", json!({"text": text})).await;
}

/// Says something, by keyboard alone.
async fn say(page: &BrowserPage, text: &str) {
    page.press("m").await;
    page.holds("return document.activeElement?.id === 'composer'").await;
    types(page, text).await;
    page.key("Enter", 13, 0).await;
    page.holds("return document.getElementById('composer').value === ''").await;
    page.run("document.activeElement.blur()").await;
}

/// Whether the conversation holds `text`.
async fn shows(page: &BrowserPage, text: &str) {
    let text = Value::from(text);
    page.holds(&format!("return document.getElementById('transcript').innerText.includes({text})")).await;
}

/// Presses the button with `data-act=act`.
async fn act(page: &BrowserPage, act: &str) {
    let button = format!("document.querySelector('[data-act={act}]')");
    page.holds(&format!("return {button} !== null && !{button}.disabled")).await;
    page.run(&format!("{button}.click()")).await;
}

async fn close(page: BrowserPage) {
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_begins_and_goes_on_by_keyboard_alone_and_others_see_the_same() {
    let origin = ScriptedServer::start(|asked| match last(asked).as_str() {
        "And then?" => vec![
            ServerStep::begin("200 OK", &STREAM),
            text("It goes"),
            ServerStep::Wait,
            text(" on."),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ],
        said => answer(&format!("You said: {said}")),
    })
    .await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/new").await;
    page.press("n").await;
    page.holds("return document.activeElement?.id === 'composer'").await;
    page.run("document.activeElement.blur()").await;
    say(&page, "Hello there").await;
    shows(&page, "You said: Hello there").await;
    let path = page.run("return location.pathname").await;
    assert!(path.as_str().unwrap().starts_with("/c/hello-there-"), "{path}");
    let other = open(&hub, path.as_str().unwrap()).await;
    shows(&other, "You said: Hello there").await;
    say(&page, "And then?").await;
    for page in [&page, &other] {
        shows(page, "It goes").await;
        page.holds("return !document.querySelector('[data-t=unheard]')").await;
    }
    // While it streams a draft keeps its place, its focus and itself.
    page.press("m").await;
    page.holds("return document.activeElement?.id === 'composer'").await;
    types(&page, "a draft\nof two lines").await;
    let selection = "const it = document.getElementById('composer'); it.setSelectionRange(2, 4)";
    page.run(selection).await;
    origin.go_on();
    shows(&page, "It goes on.").await;
    page.holds("return !document.querySelector('[data-t=stop]')").await;
    let kept =
        "const it = document.activeElement; return [it.id, it.value, it.selectionStart, it.selectionEnd]";
    assert_eq!(page.run(kept).await, json!(["composer", "a draft\nof two lines", 2, 4]));
    page.run("document.querySelector('[data-t=new]').click()").await;
    page.holds("return location.pathname === '/new' && document.getElementById('composer').value === ''")
        .await;
    page.run("history.back()").await;
    page.holds("return document.getElementById('composer')?.value === 'a draft\\nof two lines'").await;
    let hash = "return window.fanlightViewHash()";
    let seen = page.run(hash).await;
    other.run_until(hash, |other| *other == seen).await;
    close(page).await;
    close(other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_stopped_and_let_go_on() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).len() > 1 {
            return answer(" and the rest.");
        }
        vec![ServerStep::begin("200 OK", &STREAM), text("One half"), ServerStep::Silence]
    })
    .await;
    let hub = hub_with_agents(&origin, &["helper", "other"]).await;
    let page = open(&hub, "/c/c").await;
    page.run("const it = document.querySelector('[data-t=agent]'); it.value = 'other'; it.dispatchEvent(new Event('change'))")
        .await;
    say(&page, "Hello").await;
    shows(&page, "One half").await;
    page.holds("return !!document.querySelector('[data-t=stop]')").await;
    pictured(&page, PicturedView::Controlled).await;
    page.press(".").await;
    shows(&page, "Cancelled").await;
    origin.until_left().await;
    let run = hub.json("/v1/conversations/c?summary").await["runs"][0].clone();
    assert_eq!(run["status"], "cancelled", "{run}");
    page.press(",").await;
    shows(&page, "and the rest.").await;
    page.holds("return !document.querySelector('[data-t=go-on]')").await;
    close(page).await;
}

/// A model that wants a tool called, and tells what came of it.
async fn careful() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let said = messages(asked);
        let result = said.iter().rev().find(|message| message["role"] == "tool");
        match result {
            Some(result) => answer(&format!(
                "It came to {}",
                result["content"].as_str().unwrap_or_default().replace('"', "'")
            )),
            None => calls("echo", &json!({"service": "billing", "to": "production"})),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_approved_with_other_arguments_and_what_is_written_stays() {
    let origin = careful().await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Deploy billing").await;
    page.holds("return !!document.querySelector('[data-t=consent]')").await;
    pictured(&page, PicturedView::Consent).await;
    page.press("a").await;
    page.holds("return !!document.activeElement?.closest('[data-call]')").await;
    page.press("E").await;
    page.holds("return document.activeElement?.dataset.t === 'arguments'").await;
    page.run("document.activeElement.select()").await;
    types(&page, "{\"to\":").await;
    page.holds("return !!document.querySelector('[data-t=invalid]')").await;
    page.screenshot("control-edit-light").await;
    assert_eq!(page.run("return document.querySelector('[data-act=approve-edited]').disabled").await, true);
    types(&page, "\"test\"}").await;
    page.holds("return !document.querySelector('[data-t=invalid]')").await;
    // While the answer is under way nothing can be written that would be lost with it.
    page.run(
        "const held = [], send = WebSocket.prototype.send;
         WebSocket.prototype.send = function (text) { held.push([this, text]) };
         window.go_on = () => { WebSocket.prototype.send = send; held.forEach(([to, text]) => send.call(to, text)) }",
    )
    .await;
    page.key("Enter", 13, 2).await;
    page.holds("return document.querySelector('[data-t=arguments]')?.readOnly === true").await;
    page.run("window.go_on()").await;
    shows(&page, "It came to {'to':'test'}").await;
    page.holds("return !document.querySelector('[data-t=consent]')").await;
    close(page).await;
}

/// Below a conversation of an agent that runs elsewhere nobody is chosen: not the first of the hub's agents, also where the other one has its
/// name. Who wants to go on with one of the hub chooses it, and is answered by it.
#[tokio::test(flavor = "multi_thread")]
async fn below_the_conversation_of_another_agent_nobody_is_chosen_until_a_person_chooses() {
    let origin = ScriptedServer::start(|asked| answer(&format!("You said: {}", last(asked)))).await;
    let hub = hub_with_agents(&origin, &["alpha", "helper"]).await;
    for name in ["coder", "alpha"] {
        let start = json!({"k": "run.start", "run": "r", "name": name, "title": "Elsewhere"});
        let end = json!({"k": "run.end", "run": "r", "status": "complete"});
        hub.publisher(&format!("of-{name}")).await.says(&format!("{start}\n{end}")).await;
    }
    let chosen = "return document.querySelector('[data-t=agent]')?.value ?? null";
    for name in ["coder", "alpha"] {
        let page = open(&hub, &format!("/c/of-{name}")).await;
        page.run_until(chosen, |it| it == "").await;
        let offered =
            "return [...document.querySelectorAll('[data-t=agent] option')].map(it => it.textContent)";
        assert_eq!(page.run(offered).await, json!(["Choose an agent", "alpha", "helper"]), "{name}");
        let hint = page.run("return document.getElementById('composer').placeholder").await;
        assert!(hint.as_str().is_some_and(|it| it.starts_with("Runs elsewhere:")), "{hint}");
        page.press("m").await;
        page.holds("return document.activeElement?.id === 'composer'").await;
        types(&page, "Go on").await;
        // Nothing is sent to anybody while nobody is chosen.
        page.holds("return document.querySelector('[data-t=send]').disabled").await;
        page.key("Enter", 13, 0).await;
        page.holds("return document.getElementById('composer').value === 'Go on'").await;
        assert_eq!(origin.asked().len(), usize::from(name == "alpha"), "no model was asked");
        page.run("const it = document.querySelector('[data-t=agent]'); it.value = 'helper'; it.dispatchEvent(new Event('change', {bubbles: true}))").await;
        page.holds("return !document.querySelector('[data-t=send]').disabled && document.getElementById('composer').placeholder === 'Message helper'").await;
        page.run("document.querySelector('[data-t=send]').click()").await;
        shows(&page, "You said: Go on").await;
        // From now on it is who answered last.
        page.reload().await;
        page.run_until(chosen, |it| it == "helper").await;
        let view = hub.json(&format!("/v1/conversations/of-{name}")).await;
        let runs = view["runs"].as_object().expect("runs").values();
        let names: std::collections::BTreeSet<_> =
            runs.map(|run| run["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, [name, "helper"].into(), "{view}");
        close(page).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_rejected_with_a_reason_and_who_writes_meanwhile_is_told() {
    let origin = careful().await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let (page, other) = (open(&hub, "/c/c").await, open(&hub, "/c/c").await);
    say(&page, "Deploy billing").await;
    for page in [&page, &other] {
        page.holds("return !!document.querySelector('[data-t=consent]')").await;
    }
    other.press("a").await;
    other.holds("return !!document.activeElement?.closest('[data-call]')").await;
    other.press("E").await;
    other.holds("return document.activeElement?.dataset.t === 'arguments'").await;
    page.press("a").await;
    page.holds("return !!document.activeElement?.closest('[data-call]')").await;
    page.press("R").await;
    page.holds("return document.activeElement?.dataset.t === 'reason'").await;
    types(&page, "not on a Friday").await;
    // The key that sends the other forms sends this one too.
    page.run("window.sent = 0; document.addEventListener('submit', () => sent++)").await;
    page.key("Enter", 13, 2).await;
    shows(&page, "not on a Friday").await;
    page.holds("return !document.querySelector('[data-t=consent]')").await;
    assert_eq!(page.run("return sent").await, json!(0), "the key was Ctrl+Enter");
    // The call reads as what it is, not as cancelled.
    let card = "return document.querySelector('[data-t=tool-card]')?.innerText.toLowerCase() ?? ''";
    let reads = |card: &Value| {
        card.as_str().is_some_and(|card| card.contains("rejected") && !card.contains("cancelled"))
    };
    page.run_until(card, reads).await;
    let told = messages(origin.asked().last().unwrap());
    assert!(told.iter().any(|it| it["role"] == "user" && it["content"] == "not on a Friday"), "{told:?}");
    shows(&other, "Already decided").await;
    other.holds("return document.activeElement?.dataset.t === 'arguments'").await;
    close(page).await;
    close(other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enter_alone_rejects_too() {
    let origin = careful().await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Deploy billing").await;
    page.holds("return !!document.querySelector('[data-t=consent]')").await;
    page.press("a").await;
    page.holds("return !!document.activeElement?.closest('[data-call]')").await;
    page.press("R").await;
    page.holds("return document.activeElement?.dataset.t === 'reason'").await;
    types(&page, "not on a Friday").await;
    // A form is sent by what the key writes.
    let enter = json!({"type": "keyDown", "key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13});
    page.devtools("Input.dispatchKeyEvent", enter).await;
    shows(&page, "not on a Friday").await;
    page.holds("return !document.querySelector('[data-t=consent]')").await;
    let told = messages(origin.asked().last().unwrap());
    assert!(told.iter().any(|it| it["role"] == "user" && it["content"] == "not on a Friday"), "{told:?}");
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_is_tried_again_from_where_it_broke_off() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin = ScriptedServer::start(move |_| {
        let limited = br#"{"error":{"message":"Rate limit reached for m","type":"rate_limit","code":"rate_limit_exceeded"}}"#;
        match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => ServerStep::answer("429 Too Many Requests", &[("content-type", "application/json"), ("retry-after-ms", "30")], limited),
            _ => answer("Now it works."),
        }
    })
    .await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Hello").await;
    page.holds("return !!document.querySelector('[data-act=go-on]')").await;
    shows(&page, "Rate limit reached").await;
    pictured(&page, PicturedView::Failed).await;
    page.press(",").await;
    shows(&page, "Now it works.").await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_asked_otherwise_in_a_fork() {
    let origin = ScriptedServer::start(|asked| answer(&format!("About {}", last(asked)))).await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "One").await;
    shows(&page, "About One").await;
    say(&page, "Two").await;
    shows(&page, "About Two").await;
    page.holds("return !document.querySelector('[data-t=stop]')").await;
    let before = hub.view_hash("c").await;
    page.press("E").await;
    page.holds("return document.activeElement?.closest('[data-t=rewrite]') !== null").await;
    pictured(&page, PicturedView::Rewrite).await;
    page.run("document.activeElement.select()").await;
    types(&page, "Three").await;
    page.key("Enter", 13, 0).await;
    shows(&page, "About Three").await;
    let path = page.run("return location.pathname").await;
    assert!(path.as_str().unwrap().starts_with("/c/c-fork-"), "{path}");
    page.holds("return document.querySelector('[data-t=origin]')?.textContent.includes('Forked from One')")
        .await;
    page.screenshot("control-fork-light").await;
    assert_eq!(hub.view_hash("c").await, before, "what was stays as it was");
    act(&page, "fork").await;
    page.holds(&format!("return location.pathname !== {path} && location.pathname.includes('-fork-')")).await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_done_is_told_where_it_was_asked_for_and_nothing_is_lost() {
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let mut hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Hello").await;
    shows(&page, "Hello").await;
    hub.kill().await;
    page.holds("return document.querySelector('[data-t=trouble]')?.innerText.startsWith('Not connected')")
        .await;
    page.press("m").await;
    types(&page, "Later").await;
    page.key("Enter", 13, 0).await;
    assert_eq!(page.run("return document.getElementById('composer').value").await, "Later");
    pictured(&page, PicturedView::Disconnected).await;
    hub.start_again().await;
    page.holds("return !document.querySelector('[data-t=trouble]')").await;
    page.key("Enter", 13, 0).await;
    until("it to be asked", async || origin.asked().iter().any(|asked| last(asked) == "Later").then_some(()))
        .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_agents_offers_no_command_but_forks() {
    let hub = TestHub::start().await;
    let head = hub.publisher("c").await.says(OPENING).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    assert_eq!(
        page.run("return document.querySelectorAll('#composer, [data-act=ask-again], [data-t=new]').length")
            .await,
        0
    );
    act(&page, "fork").await;
    page.holds("return location.pathname.startsWith('/c/c-fork-')").await;
    page.press("?").await;
    page.text_until("dialog", |text| {
        text.contains("Fork from the turn") && !text.contains("Write a message")
    })
    .await;
    close(page).await;
}
