//! One run with everything in it, written for these tests.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::model::{END, STREAM, delta, messages};
use tests::relay::CuttableRelay;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub, TestPublisher};

/// The hub, and a publisher for `conversation`.
pub(crate) async fn hub_and_publisher(conversation: &str) -> (TestHub, TestPublisher) {
    let hub = TestHub::start().await;
    let publisher = hub.publisher(conversation).await;
    (hub, publisher)
}

/// What the helper of [`hub_with_deployer`] wants to be called, as a delta of its model's answer.
pub(crate) fn deploys() -> Value {
    let function = json!({"name": "deploy", "arguments": "{\"service\":\"billing\"}"});
    json!({"content": "I deploy it, if you agree.",
        "tool_calls": [{"index": 0, "id": "t", "type": "function", "function": function}]})
}

/// The model of an agent that asks whether it may deploy. It is `later` once there was an answer.
pub(crate) async fn deployer(later: impl Fn() -> Vec<ServerStep> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::start(move |asked| {
        if messages(asked).iter().any(|message| message.get("role").is_some_and(|role| role == "tool")) {
            return later();
        }
        let said = ServerStep::piece(&delta(&deploys()));
        vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::piece(END), ServerStep::end(&[])]
    })
    .await
}

/// The table of settings of the agent `name`, which the hub runs with the model at `origin`; `more` are further lines of the table.
pub(crate) fn agent_table(name: &str, origin: &ScriptedServer, more: &str) -> String {
    let address = origin.address();
    format!(
        "[agents.{name}]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://{address}/v1\"\nmodel = \"m\"\n{more}\n"
    )
}

/// A hub with the agent `helper`, whose model is `origin` and which asks before it deploys, and with `more` settings.
pub(crate) async fn hub_with_deployer(origin: &ScriptedServer, more: &str) -> TestHub {
    let settings = agent_table("helper", origin, "confirm = [\"deploy\"]");
    TestHub::start_with_settings(&format!("{settings}{more}")).await
}

/// The command that has the agent of [`hub_with_deployer`] ask.
pub(crate) fn deploy_command() -> String {
    json!({"id": "1", "command": "say", "agent": "helper", "text": "Deploy billing"}).to_string()
}

/// A hub whose agent asks in `conversation` whether it may deploy. Its model is `later` once there was an answer.
pub(crate) async fn asking(
    conversation: &str,
    later: impl Fn() -> Vec<ServerStep> + Send + Sync + 'static,
) -> (TestHub, ScriptedServer) {
    let origin = deployer(later).await;
    let hub = hub_with_deployer(&origin, "").await;
    let path = format!("/v1/conversations/{conversation}/commands");
    let said = hub.request("POST", &path).body(deploy_command()).send().await.expect("the hub answers");
    assert!(said.status().is_success(), "{said:?}");
    let path = format!("/v1/conversations/{conversation}?summary");
    let state = |it: &Value| it.pointer("/runs/0/tool_calls/0/state").is_some_and(|it| it == "approval");
    hub.json_until(&path, state).await;
    (hub, origin)
}

/// How many events `conversation` has.
pub(crate) async fn head_of(hub: &TestHub, conversation: &str) -> u64 {
    let view = hub.json(&format!("/v1/conversations/{conversation}")).await;
    view.get("seq").and_then(Value::as_u64).expect("a seq")
}

/// The run with its calls on a page whose way to the hub can be cut. The hub lives as long as it is kept.
pub(crate) async fn live_behind_a_relay() -> (TestHub, TestPublisher, CuttableRelay, BrowserPage) {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says_all(&[OPENING, CALLS]).await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&format!("http://{}/c/c", relay.address())).await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    (hub, publisher, relay, page)
}

/// Notes the notices above the text from here on: each leaves after ten seconds, which a busy machine may take
/// to look.
pub(crate) const NOTE_MARKS: &str = "window.marks = [];
    new MutationObserver(() => {
        const mark = document.querySelector('[data-t=mark]');
        if (mark) window.marks.push(mark.textContent);
    }).observe(document.body, {childList: true, characterData: true, subtree: true});";

/// Waits until a notice that begins with `words` was there, since [`NOTE_MARKS`].
pub(crate) async fn marked(page: &BrowserPage, words: &str) {
    let noted = format!("return window.marks.some(mark => mark.startsWith('{words}'))");
    page.run_until(&noted, |was_there| was_there == true).await;
}

/// The question and the beginning of the run.
pub(crate) const OPENING: &str = r#"
    {"k":"message","message":"m1","role":"user","text":"How did revenue per region change this quarter, and why?"}
    {"k":"run.start","run":"r","model":"test-model","title":"Quarterly report","name":"analyst"}
"#;

/// Reasoning, begun and ended.
pub(crate) const THINKING: &str = r#"
    {"k":"part.start","run":"r","part":"th","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"th","text":"The numbers are in the sales table. I compare the third quarter with the second, region by region."}
    {"k":"part.end","run":"r","part":"th","duration_ms":6100}
"#;

/// Three calls at once: one done, one failed, one that runs; and one that waits.
pub(crate) const CALLS: &str = r#"
    {"k":"tool.start","run":"r","tool":"t1","name":"web_search"}
    {"k":"tool.call","run":"r","tool":"t1","arguments":"{\"query\":\"exchange rates Q3 2026\"}"}
    {"k":"tool.start","run":"r","tool":"t2","name":"crm__list_accounts"}
    {"k":"tool.call","run":"r","tool":"t2","arguments":"{\"region\":\"EMEA\"}"}
    {"k":"tool.start","run":"r","tool":"t3","name":"run_sql"}
    {"k":"tool.call","run":"r","tool":"t3","arguments":"{\"query\":\"select region, sum(net) from sales where quarter = '2026Q3' group by region\"}"}
    {"k":"tool.state","run":"r","tool":"t1","state":"executing"}
    {"k":"tool.state","run":"r","tool":"t2","state":"executing"}
    {"k":"tool.state","run":"r","tool":"t3","state":"executing"}
    {"k":"tool.result","run":"r","tool":"t1","output":{"EUR":1.0834,"GBP":1.2711,"source":"central bank"},"exec_ms":1200,"queued_ms":12}
    {"k":"tool.result","run":"r","tool":"t2","output":"401 token expired at 2026-11-21T22:00:00Z","is_error":true,"exec_ms":2260,"queued_ms":40}
    {"k":"tool.start","run":"r","tool":"t4","name":"make_chart"}
    {"k":"tool.call","run":"r","tool":"t4","arguments":"{\"kind\":\"bar\",\"x\":\"region\"}"}
"#;

/// A sub-agent with a call of its own.
pub(crate) const SUB_AGENT: &str = r#"
    {"k":"agent.start","run":"r","agent":"a1","name":"researcher","text":"why EMEA grew: reading three filings"}
    {"k":"tool.call","run":"r","agent":"a1","tool":"t5","name":"fetch_page","arguments":"{\"url\":\"https://example.com/filing\"}"}
    {"k":"tool.state","run":"r","agent":"a1","tool":"t5","state":"executing"}
    {"k":"tool.result","run":"r","agent":"a1","tool":"t5","output":"Net sales in EMEA rose on renewals.","exec_ms":840}
"#;

/// An answer with a heading, a table, code, a list.
pub(crate) const ANSWER: &str = r####"
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"### Revenue by region\n\nNet revenue rose **8.4 %** on the quarter. EMEA carried most of it; the Americas were flat in local currency.\n\n| Region | Q2 | Q3 | Change |\n|---|--:|--:|--:|\n| EMEA | 41.2 M | 48.9 M | +18.7 % |\n| Americas | 63.0 M | 63.4 M | +0.6 % |\n\n"}
    {"k":"part.delta","run":"r","part":"p","text":"```sql\nselect region, sum(net) as net\nfrom sales where quarter = '2026Q3'\ngroup by region;\n```\n\nThree things explain it:\n\n1. `enterprise` renewals moved from the fourth quarter,\n2. the new price list,\n3. a weaker dollar.\n"}
"####;

/// The end of everything.
pub(crate) const CLOSING: &str = r#"
    {"k":"tool.result","run":"r","tool":"t3","output":[{"region":"EMEA","net":48900000},{"region":"Americas","net":63400000}],"exec_ms":1900,"queued_ms":3}
    {"k":"tool.state","run":"r","tool":"t4","state":"executing"}
    {"k":"tool.result","run":"r","tool":"t4","output":"","exec_ms":310}
    {"k":"agent.end","run":"r","agent":"a1","status":"complete"}
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete","finish_reason":"stop","usage":{"input_tokens":18200,"output_tokens":940}}
"#;
