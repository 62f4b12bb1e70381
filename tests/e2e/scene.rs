//! One run with everything in it, written for these tests.

use tests::browser::{DESKTOP, Screen};
use tests::relay::Relay;
use tests::{Hub, Page, Publisher};

/// The screens that most pictures are taken of.
pub(crate) const LOOKS: [(&str, Screen); 3] = [
    ("light", DESKTOP),
    ("dark", Screen { dark: true, ..DESKTOP }),
    ("narrow", Screen { width: 390, height: 844, dark: false }),
];

/// The hub, and a publisher for `conversation`.
pub(crate) async fn hub_and_publisher(conversation: &str) -> (Hub, Publisher) {
    let hub = Hub::start().await;
    let publisher = hub.publisher(conversation).await;
    (hub, publisher)
}

/// The run with its calls on a page whose way to the hub can be cut. The hub lives as long as it is kept.
pub(crate) async fn live_behind_a_relay() -> (Hub, Publisher, Relay, Page) {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says_all(&[OPENING, CALLS]).await;
    let relay = Relay::open_to(hub.address()).await;
    let page = Page::open(DESKTOP).await;
    page.goto(&format!("http://{}/c/c", relay.address())).await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    (hub, publisher, relay, page)
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
