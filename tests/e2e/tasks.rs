//! Nine questions of an operator on 40 agents, each asked from the page that an operator has open anyway, `/`: the list beside the newest
//! conversation. What each takes is counted by the hand that does it, compared with the bound of two clicks, or one key and a word, and
//! printed by the gate. `hand.rs` says what counts as what.
//!
//! | question | answered by |
//! |---|---|
//! | which is silent, which loops, which costs most | the table of runs: a condition, or the head of a column |
//! | which waits | the list: a condition |
//! | why is this one slow | its row, where it asks for somebody; its timeline |
//! | what happened since noon | the dashboard: the bar of noon, then everything since |
//! | where did a tool return this yesterday | the palette: the word and both ends of the day |
//! | compare two | the choice for a comparison: the other's name |
//! | send a colleague this very moment | the palette: its command |

mod hand;

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub, TestPublisher};

use self::hand::{Effort, Hand};
use crate::operator::now_ms;
use crate::overview::yesterday;

const HOUR_MS: u64 = 3_600_000;

/// What a tool returned yesterday and again today, and nothing else says.
const WORD: &str = "zebra4711";

/// Lets the page copy into `copied`.
const CLIPBOARD: &str =
    "window.copied = null; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
    writeText: text => (window.copied = text, Promise.resolve())}})";

/// Which conversations the table shows, in order.
const ROWS: &str = "return [...document.querySelectorAll('[data-t=run-row]')].filter(it => it.checkVisibility({visibilityProperty: true}))
    .sort((a, b) => a.dataset.place - b.dataset.place).map(it => it.dataset.conversation)";

/// Which conversations the list shows, in order.
const LIST: &str =
    "return [...document.querySelectorAll('[data-t=conversation-row]')].map(it => it.dataset.conversation)";

/// The last noon that is over, and ten in the morning of the day before today with the name of that day, all by the reader's calendar.
const DAYS: &str = "const noon = new Date(), day = new Date();
    noon.setHours(12, 0, 0, 0);
    if (noon > Date.now()) noon.setDate(noon.getDate() - 1);
    day.setDate(day.getDate() - 1);
    day.setHours(10, 0, 0, 0);
    return [+noon, +day]";

/// The link in the header that leads to `path`.
fn header(path: &str) -> String {
    format!("document.querySelector('header a[href=\"{path}\"]')")
}

/// The condition `words` above the list or the table.
fn chip(words: &str) -> String {
    format!(
        "[...document.querySelectorAll('[data-t=filter-chips] button')].find(it => it.textContent === '{words}')"
    )
}

/// The head of a column of the table.
fn head(column: &str) -> String {
    format!("document.querySelector('[role=columnheader] [data-column={column}]')")
}

/// Brings events into the hub as they happened from `began` on, a second apart.
async fn past(hub: &TestHub, name: &str, began: u64, events: Vec<Value>) {
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let lines = events.into_iter().enumerate().map(|(seq, mut event)| {
        let seq = seq as u64;
        let fields = event.as_object_mut().expect("an object");
        fields.insert("seq".to_owned(), json!(seq + 1));
        fields.insert("at".to_owned(), json!(began + seq * 1_000));
        event.to_string()
    });
    let body = std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n");
    let path = format!("/v1/conversations/{name}/events");
    let taken = hub.request("PUT", &path).body(body).send().await.expect("an answer");
    let status = taken.status();
    assert!(status.is_success(), "{status}: {}", taken.text().await.unwrap_or_default());
}

fn start(name: &str) -> Value {
    json!({"k": "run.start", "run": "r", "name": name, "model": "opus-5", "title": name})
}

fn text(words: &str) -> Value {
    json!({"k": "part.delta", "run": "r", "part": "p", "text": words})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"k": "tool.call", "run": "r", "tool": id, "name": name, "arguments": arguments})
}

fn result(id: &str, output: &str) -> Value {
    json!({"k": "tool.result", "run": "r", "tool": id, "output": output})
}

fn executes(id: &str) -> Value {
    json!({"k": "tool.state", "run": "r", "tool": id, "state": "executing"})
}

fn end() -> Value {
    json!({"k": "run.end", "run": "r", "status": "complete"})
}

/// A hub with 40 agents, and the days that its past is made of.
struct Forty {
    hub: TestHub,
    /// Those that go on, `release-notes` last.
    publishers: Vec<TestPublisher>,
    /// When it was noon, in milliseconds since 1970.
    noon: u64,
    /// When the tool returned [`WORD`] yesterday, in milliseconds since 1970.
    returned: u64,
}

impl Forty {
    /// 31 agents that did their work within the last day; one that fell silent; one that calls the same tool with the same arguments
    /// again and again, and one that made many calls, each another; one whose call takes long; one that worked at noon; two whose tool
    /// returned [`WORD`], yesterday and just now; one that waits for a person; and `release-notes`, which works.
    async fn on(page: &BrowserPage) -> Self {
        let hub = TestHub::start_with(&["--stalled-after", "3600", "--interrupted-after", "7200"]).await;
        let days = page.run(DAYS).await;
        let time = |number: usize| days.get(number).and_then(Value::as_u64).expect("a time");
        let noon = time(0);
        yesterday(&hub, 31).await;
        let minutes_ago = |minutes: u64| now_ms() - minutes * 60_000;
        past(&hub, "quiet-crawler", minutes_ago(14), vec![start("crawler"), text("I read the next page")])
            .await;
        let slow = vec![start("importer"), call("t", "run_sql", "{}"), executes("t")];
        past(&hub, "nightly-import", minutes_ago(8), slow).await;
        past(&hub, "noon-report", noon, vec![start("reporter"), text("The figures of the morning"), end()])
            .await;
        let returns = || {
            vec![
                start("ledger"),
                call("t", "read_ledger", r#"{"of":"march"}"#),
                result("t", &format!("account {WORD} is closed")),
                end(),
            ]
        };
        past(&hub, "ledger-march", time(1), returns()).await;
        let mut many = vec![start("reader")];
        for n in 0..40 {
            let id = format!("t{n}");
            many.extend([call(&id, "read_file", &format!(r#"{{"path":"{n}.md"}}"#)), result(&id, "text")]);
        }
        many.push(end());
        past(&hub, "read-all", minutes_ago(30), many).await;
        let mut same = vec![start("triage")];
        for n in 0..60 {
            let id = format!("t{n}");
            same.extend([call(&id, "list_tickets", r#"{"page":1}"#), result(&id, "no ticket")]);
        }
        same.extend([call("t60", "list_tickets", r#"{"page":1}"#), executes("t60")]);
        let asks = json!({"k": "approval.request", "run": "r", "tool": "t", "text": "Deploy?"});
        let live = [
            ("ledger-april", returns()),
            ("triage-loop", same),
            ("deploy-billing", vec![start("deployer"), call("t", "deploy", "{}"), asks]),
            ("release-notes", vec![start("writer"), text("The first draft is ready")]),
        ];
        let mut publishers = Vec::new();
        for (name, events) in live {
            let mut publisher = hub.publisher(name).await;
            let lines: Vec<String> = events.iter().map(Value::to_string).collect();
            publisher.says(&lines.join("\n")).await;
            publishers.push(publisher);
        }
        hub.json_until("/v1/conversations", |list| list["total"] == 40).await;
        Self { hub, publishers, noon, returned: time(1) + 2_000 }
    }

    /// A hand on the page that is open anyway.
    async fn opens<'page>(&self, page: &'page BrowserPage) -> Hand<'page> {
        page.goto(&self.hub.url("/")).await;
        page.holds("return location.pathname === '/c/release-notes' && Number(document.querySelector('[data-t=transcript]')?.dataset.seq ?? 0) > 0
            && document.querySelectorAll('[data-t=conversation-row]').length > 8 && document.querySelector('[data-t=connection]')?.dataset.state === 'live'")
            .await;
        Hand::on(page)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_questions_are_answered_by_the_table() {
    let page = BrowserPage::open(DESKTOP).await;
    let forty = Forty::on(&page).await;
    for (number, click, found) in [
        (1, chip("state:silent"), "quiet-crawler"),
        (3, head("calls"), "triage-loop"),
        (4, head("cost"), "case-24"),
    ] {
        let mut hand = forty.opens(&page).await;
        hand.clicks(&header("/runs")).await;
        page.holds("return location.pathname === '/runs' && document.querySelectorAll('[data-t=run-row]').length > 8").await;
        hand.clicks(&click).await;
        let rows = page.run_until(ROWS, |rows| rows[0] == found).await;
        // A condition leaves nothing beside what it asks for.
        assert!(number != 1 || rows == json!([found]), "{rows}");
        if number == 3 {
            // The row says which call it is that comes again and again.
            page.holds("return document.querySelector('[data-conversation=triage-loop] [role=gridcell][data-column=call]')?.textContent.trim().startsWith('list_tickets')")
                .await;
        }
        println!("{}", hand.has_answered(number, Effort { clicks: 2, ..Effort::default() }));
    }
    let mut hand = forty.opens(&page).await;
    hand.clicks(&chip("has:approval")).await;
    page.run_until(LIST, |rows| *rows == json!(["deploy-billing"])).await;
    println!("{}", hand.has_answered(2, Effort { clicks: 1, ..Effort::default() }));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_slow_and_what_happened_since_noon_is_seen() {
    let page = BrowserPage::open(DESKTOP).await;
    let forty = Forty::on(&page).await;
    // What is slow is found first: it stands above, among those that need somebody.
    let mut hand = forty.opens(&page).await;
    hand.clicks("document.querySelector('[data-t=conversation-row][data-conversation=nightly-import]')")
        .await;
    page.holds("return location.pathname === '/c/nightly-import'").await;
    hand.clicks("document.querySelector('[data-t=timeline-toggle]')").await;
    page.text_until("timeline-summary", |text| text.contains("tools 99") || text.contains("tools 100")).await;
    println!("{}", hand.has_answered(5, Effort { clicks: 2, ..Effort::default() }));

    let mut hand = forty.opens(&page).await;
    hand.clicks(&header("/dashboard")).await;
    page.run_until("return document.querySelectorAll('[data-panel=runs] svg rect').length", |count| {
        count.as_u64() > Some(3)
    })
    .await;
    // The bars stand for the 24 hours until the one that goes on. Where noon is not the beginning of one, it is within one.
    let hour = forty.noon / HOUR_MS * HOUR_MS;
    let bar = format!(
        "(() => {{
            const area = document.querySelector('[data-panel=runs] .plot').getBoundingClientRect();
            const from = Math.ceil(performance.timeOrigin / {HOUR_MS}) * {HOUR_MS} - 24 * {HOUR_MS};
            return [...document.querySelectorAll('[data-panel=runs] svg rect[data-line=\"0\"]')].find(bar => {{
                const box = bar.getBoundingClientRect();
                const step = Math.floor((box.left + box.width / 2 - area.left) / area.width * 24);
                return from + step * {HOUR_MS} === {hour};
            }});
        }})()"
    );
    hand.clicks_with_shift(&bar).await;
    let from = format!("from={hour}");
    page.run_until("return location.pathname + location.search", |it| {
        it.as_str().is_some_and(|it| it.starts_with("/runs?") && it.contains(&from))
    })
    .await;
    let has =
        |rows: &Value, name: &str| rows.as_array().is_some_and(|rows| rows.iter().any(|row| row == name));
    page.text_until("time", |text| text.starts_with("since ")).await;
    page.run_until(ROWS, |rows| has(rows, "release-notes")).await;
    // Late in the morning more came since noon than fit on the screen.
    page.run("const it = document.querySelector('[data-t=grid]'); it.scrollTop = it.scrollHeight").await;
    let rows = page.run_until(ROWS, |rows| has(rows, "noon-report")).await;
    assert!(!has(&rows, "ledger-march"), "{rows}");
    let address = page.run("return location.search").await;
    assert!(address.as_str().is_some_and(|it| it.contains(&from)), "{address}");
    println!("{}", hand.has_answered(6, Effort { clicks: 2, ..Effort::default() }));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_finds_what_a_tool_returned_and_the_other_conversation() {
    let page = BrowserPage::open(DESKTOP).await;
    let forty = Forty::on(&page).await;
    let mut hand = forty.opens(&page).await;
    hand.presses_with_control('k').await;
    hand.types(WORD).await;
    page.run_until(
        "return [...document.querySelectorAll('[data-t=option]')].map(it => it.textContent)",
        |options| options.as_array().is_some_and(|it| it.len() == 1) && options.to_string().contains(WORD),
    )
    .await;
    hand.sends().await;
    // Each hit says when it was. That of yesterday is on the screen, below that of today.
    let hits = format!(
        "return [...document.querySelectorAll('[data-t=search-hit]')].filter(it => it.getBoundingClientRect().bottom < innerHeight)
            .map(it => [it.getAttribute('href').split('&')[0], it.textContent.includes(new Date({}).toLocaleString())])",
        forty.returned
    );
    let hits = page.run_until(&hits, |hits| hits.as_array().is_some_and(|hits| hits.len() == 2)).await;
    assert_eq!(hits, json!([["/c/ledger-april?run=r", false], ["/c/ledger-march?run=r", true]]));
    println!("{}", hand.has_answered(7, Effort { keys: 1, words: 1, ..Effort::default() }));

    let mut hand = forty.opens(&page).await;
    hand.presses("d").await;
    page.holds("return document.activeElement?.matches('[data-t=dialog] input') === true").await;
    hand.types("triage").await;
    page.holds("return document.querySelectorAll('[data-t=choice]').length === 1").await;
    hand.sends().await;
    page.run_until("return location.pathname + location.search", |it| {
        it.as_str()
            .is_some_and(|it| it.starts_with("/c/release-notes?") && it.contains("compare=triage-loop"))
    })
    .await;
    page.holds("return document.querySelectorAll('[data-t=pair] > section').length === 2").await;
    println!("{}", hand.has_answered(8, Effort { keys: 1, words: 1, ..Effort::default() }));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_a_colleague_this_very_moment() {
    let page = BrowserPage::open(DESKTOP).await;
    let mut forty = Forty::on(&page).await;
    let mut hand = forty.opens(&page).await;
    page.run(CLIPBOARD).await;
    hand.presses_with_control('k').await;
    hand.types("moment").await;
    page.holds("return document.querySelector('[data-t=option][aria-selected=true]')?.textContent.startsWith('Copy a link to this moment') === true")
        .await;
    hand.sends().await;
    let link = page
        .run_until("return window.copied", |link| link.as_str().is_some_and(|link| link.contains("moment=")))
        .await;
    println!("{}", hand.has_answered(9, Effort { keys: 1, words: 1, ..Effort::default() }));
    // What is said afterwards is not what the colleague is shown.
    let notes = forty.publishers.last_mut().expect("release-notes");
    notes.says(r#"{"k":"part.delta","run":"r","part":"p","text":" and thrown away"}"#).await;
    page.holds("return document.querySelector('[data-t=transcript]').textContent.includes('thrown away')")
        .await;
    let other = BrowserPage::open(DESKTOP).await;
    other.goto(link.as_str().expect("a link")).await;
    other.holds("const it = document.querySelector('[data-t=transcript]')?.textContent ?? ''; return it.includes('The first draft is ready') && !it.includes('thrown away')").await;
    other.close().await;
    page.close().await;
}
