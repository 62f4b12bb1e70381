//! Newcomers to a long conversation: they get its newest part first, and lose nothing of it.

use model::frame::{ServerFrame, SubMode};
use model::lens::Level;
use model::view::{Item, RunView};
use model::{Lens, RunId, View, snapshot};
use serde_json::Value;
use tests::wait::within;
use tests::{TestHub, TestPublisher, TestViewer};

const NEWEST: u64 = 64 << 10;

/// Turns from `first` on: a question, and a run with a call and an answer.
fn turns(first: usize, count: usize) -> String {
    let turn = |n: usize| {
        format!(
            r#"{{"k":"message","message":"m{n}","role":"user","text":"question {n}"}}
            {{"k":"run.start","run":"r{n}"}}
            {{"k":"tool.start","run":"r{n}","tool":"t","name":"look"}}
            {{"k":"tool.result","run":"r{n}","tool":"t","output":"{}"}}
            {{"k":"part.delta","run":"r{n}","part":"p","text":"answer {n}"}}
            {{"k":"run.end","run":"r{n}","status":"complete"}}
            "#,
            "result ".repeat(40)
        )
    };
    (first..first + count).map(turn).collect()
}

/// A conversation of that many turns.
async fn long(hub: &TestHub, count: usize) -> TestPublisher {
    let mut publisher = hub.publisher("c").await;
    for first in (0..count).step_by(200) {
        publisher.says(&turns(first, 200.min(count - first))).await;
    }
    publisher
}

async fn newcomer(hub: &TestHub, newest: u64) -> TestViewer {
    TestViewer::connect_newest(newest, Lens::default(), hub.address(), "c").await
}

async fn get(hub: &TestHub, query: &str) -> View {
    let path = format!("/v1/conversations/c{query}");
    let answer = within(&path, hub.request("GET", &path).send()).await.unwrap();
    snapshot::decode(&answer.bytes().await.unwrap()).unwrap()
}

/// Checks that `part` has the end of `whole`, and what it has of each run is as it is there.
fn assert_is_end(part: &View, whole: &View) {
    assert_eq!((part.seq, &part.title, &part.label), (whole.seq, &whole.title, &whole.label));
    assert_eq!(part.items.last(), whole.items.last());
    for (id, message) in &part.messages {
        assert_eq!(message, &whole.messages[id]);
    }
    for (id, run) in &part.runs {
        assert_is_end_of_run(run, &whole.runs[id]);
    }
    let earlier = part.earlier.as_ref();
    let (messages, runs) = earlier.map_or((0, 0), |earlier| (earlier.messages, earlier.runs));
    assert_eq!(part.messages.len() as u64 + messages, whole.messages.len() as u64);
    assert_eq!(part.runs.len() as u64 + runs, whole.runs.len() as u64);
}

fn assert_is_end_of_run(part: &RunView, whole: &RunView) {
    assert_eq!((part.status, part.ended_at, part.usage), (whole.status, whole.ended_at, whole.usage));
    for item in &part.items {
        match item {
            Item::Part(id) => assert_eq!(part.parts[id], whole.parts[id]),
            Item::Tool(id) => assert_eq!(part.tools[id], whole.tools[id]),
            Item::Agent(_) | Item::Note(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_i4_i5_newcomers_early_late_or_cut_have_the_newest_part_of_the_whole() {
    let hub = TestHub::start().await;
    let mut publisher = long(&hub, 1_000).await;
    let mut viewers = Vec::new();
    let mut head = 0;
    for round in 0..12 {
        if round % 3 == 0 {
            for newest in [1, NEWEST, 256 << 10, 0] {
                viewers.push(newcomer(&hub, newest).await);
            }
        }
        publisher.says(&turns(1_000 + round * 20, 20)).await;
        // What happens to old turns is left out, and is no hole.
        let old = r#"{"k":"tool.state","run":"r3","tool":"t","state":"complete"}
            {"k":"message","message":"m5","role":"user","text":"another question 5"}
            {"k":"part.delta","run":"r7","part":"late","text":"late words"}"#;
        head = publisher.says(old).await.seq;
        for (number, viewer) in viewers.iter_mut().enumerate() {
            match (number % 3, round % 4) {
                (0, 1) => viewer.cut(),
                (0, 3) => viewer.resume().await,
                _ => {}
            }
        }
    }
    let whole = get(&hub, "").await;
    for viewer in &mut viewers {
        if !viewer.is_connected() {
            viewer.resume().await;
        }
        viewer.reach(head).await;
        assert_is_end(viewer.view(), &whole);
    }
    assert!(viewers[0].view().runs.len() < viewers[1].view().runs.len());
    assert_eq!(viewers[3].view().earlier, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_newcomer_is_sent_no_more_than_it_asked_for_and_what_it_asks_for_later() {
    let hub = TestHub::start().await;
    long(&hub, 2_000).await;
    let (mut some, mut all) = (newcomer(&hub, NEWEST).await, newcomer(&hub, 0).await);
    some.live().await;
    all.live().await;
    assert!(some.seen.bytes as u64 <= NEWEST + 2_000, "{} bytes", some.seen.bytes);
    assert!(all.seen.bytes as u64 > 10 * NEWEST, "{} bytes", all.seen.bytes);
    let earlier = some.view().earlier.clone().unwrap();
    assert!(earlier.bytes.unwrap() > 5 * NEWEST, "{earlier:?}");
    assert_is_end(some.view(), all.view());
    // All that there is, as for any other viewer.
    some.ask_for(0).await;
    some.live().await;
    assert_eq!(some.hash(), all.hash());
    assert_eq!(snapshot::hash(&get(&hub, "").await), all.hash());
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_who_comes_back_goes_on_with_the_part_that_it_has() {
    let hub = TestHub::start().await;
    let mut publisher = long(&hub, 1_000).await;
    let mut viewer = newcomer(&hub, NEWEST).await;
    viewer.live().await;
    let window = viewer.view().earlier.clone();
    viewer.cut();
    let head = publisher.says(&turns(1_000, 20)).await.seq;
    viewer.resume().await;
    let ServerFrame::Subbed { mode, .. } = viewer.step().await else { panic!("no answer") };
    viewer.reach(head).await;
    assert_eq!((mode, viewer.seen.snapshots), (SubMode::Tail, 1));
    assert_eq!(viewer.view().earlier, window);
    assert_is_end(viewer.view(), &get(&hub, "").await);
    // After as much as the snapshot has it gets another one, which is as small.
    viewer.cut();
    for round in 0..4 {
        publisher.says(&turns(2_000 + round * 200, 200)).await;
    }
    let bytes = viewer.seen.bytes;
    viewer.resume().await;
    viewer.live().await;
    assert_eq!(viewer.seen.snapshots, 2);
    assert!((viewer.seen.bytes - bytes) as u64 <= NEWEST + 2_000);
    assert_ne!(viewer.view().earlier, window);
    assert_is_end(viewer.view(), &get(&hub, "").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_before_the_newest_part_that_goes_on_is_shown() {
    let hub = TestHub::start().await;
    let mut publisher = long(&hub, 1_000).await;
    let mut viewer = newcomer(&hub, NEWEST).await;
    viewer.live().await;
    assert!(!viewer.view().runs.contains_key(&RunId::new("r3")));
    let more = r#"{"k":"run.start","run":"r3"}
        {"k":"part.delta","run":"r3","part":"again","text":"I go on"}"#;
    publisher.says(more).await;
    viewer
        .until(|view| view.runs.get(&RunId::new("r3")).is_some_and(|run| run.answer().ends_with("I go on")))
        .await;
    let head = publisher.says(r#"{"k":"part.delta","run":"r3","part":"again","text":", and on"}"#).await.seq;
    viewer.reach(head).await;
    assert_is_end(viewer.view(), &get(&hub, "").await);
    assert_eq!(viewer.seen.snapshots, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomers_at_any_level_get_the_newest_part_at_that_level() {
    let hub = TestHub::start().await;
    let mut publisher = long(&hub, 1_000).await;
    for level in [Level::Critical, Level::Parts] {
        let lens = Lens { level, ..Lens::default() };
        let mut viewer = TestViewer::connect_newest(16 << 10, lens.clone(), hub.address(), "c").await;
        viewer.live().await;
        let head = publisher.says(&turns(5_000 + level as usize * 100, 10)).await.seq;
        viewer.reach(head).await;
        let mut whole = lens.project(&get(&hub, "").await);
        whole.seq = head;
        assert_is_end(viewer.view(), &whole);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_part_comes_by_http_too_and_without_what_a_role_hides() {
    let hub = crate::access_roles::with_roles().await;
    let admin = hub.token_for("all", &["view,publish:*"]).await;
    let guest = crate::access_roles::with_role(&hub, "guest", "view:*").await;
    let lines = (0..3_000).map(|n| {
        let text = if n % 2 == 0 { "canary-thought" } else { "an open word" };
        let kind = if n % 2 == 0 { "thinking" } else { "text" };
        format!(
            "{{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p{n}\",\"kind\":\"{kind}\"}}\n\
             {{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p{n}\",\"text\":\"{text}\"}}\n\
             {{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p{n}\"}}\n"
        )
    });
    let body: String =
        std::iter::once("{\"k\":\"run.start\",\"run\":\"r\"}\n".to_owned()).chain(lines).collect();
    let sent = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&admin).body(body).send().await;
    assert!(sent.unwrap().status().is_success());
    let read = async |token: &str, query: &str| {
        let path = format!("/v1/conversations/c{query}");
        hub.request("GET", &path).bearer_auth(token).send().await.unwrap().text().await.unwrap()
    };
    let some: Value = serde_json::from_str(&read(&admin, "?newest=65536").await).unwrap();
    assert!(some["runs"]["r"]["parts"]["p2999"].is_object() && some["earlier"]["bytes"].is_u64());
    assert!(read(&admin, "?newest=65536").await.contains("canary"));
    let told = read(&guest, "?newest=65536").await;
    assert!(
        told.len() <= 65_536 && told.contains("p2999") && !told.contains("canary"),
        "{} bytes",
        told.len()
    );
    let told: Value = serde_json::from_str(&told).unwrap();
    assert!(told["earlier"]["items"].as_u64().unwrap() > 2_000 && told["earlier"]["bytes"].is_null());
    assert!(read(&guest, "?newest=0").await.len() > 10 * 65_536);
}
