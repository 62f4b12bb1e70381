//! Publishers that vanish: their runs stall, then end, and go on when they come back.

use model::RunId;
use model::event::{RunStatus, ToolState};
use model::view::{RunView, View};
use tests::TestHub;

const BEGINS: &str = r#"
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"Once"}
    {"k":"tool.start","run":"r","tool":"t","name":"look"}
    {"k":"tool.call","run":"r","tool":"t","arguments":"{}"}
    {"k":"tool.state","run":"r","tool":"t","state":"executing"}"#;

const GOES_ON: &str = r#"
    {"k":"part.delta","run":"r","part":"p","text":" more"}
    {"k":"part.end","run":"r","part":"p"}
    {"k":"tool.result","run":"r","tool":"t","output":"found"}
    {"k":"run.end","run":"r","status":"complete"}"#;

async fn hub(stalled_after: &str, interrupted_after: &str) -> TestHub {
    let patience = ["--stalled-after", stalled_after, "--interrupted-after", interrupted_after];
    TestHub::start_with(&["--log", "memory"].into_iter().chain(patience).collect::<Vec<_>>()).await
}

fn run(view: &View) -> Option<&RunView> {
    view.runs.get(&RunId::new("r"))
}

fn is(view: &View, wanted: impl Fn(&RunView) -> bool) -> bool {
    run(view).is_some_and(wanted)
}

#[tokio::test]
async fn a_publisher_that_vanishes_leaves_its_run_stalled_then_interrupted_and_may_come_back() {
    let hub = hub("1", "3").await;
    let mut viewer = hub.view("c").await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(BEGINS).await;
    let (next, life) = (publisher.next, publisher.life);
    drop(publisher);
    viewer.until(|view| is(view, |run| run.stalled_at.is_some())).await;
    assert!(run(viewer.view()).unwrap().is_running());
    let rows = hub.json("/v1/conversations").await;
    assert_eq!(rows["conversations"][0]["stalled"], true);
    viewer.until(|view| is(view, |run| !run.is_running())).await;
    let lost = run(viewer.view()).unwrap();
    assert_eq!((lost.status, lost.stalled_at, lost.open.len()), (RunStatus::Interrupted, None, 0));
    assert_eq!(lost.error.as_ref().unwrap().code, "publisher_lost");
    assert!(lost.tools.values().all(|tool| tool.state == ToolState::Interrupted));

    let mut publisher = hub.publisher("c").await;
    (publisher.next, publisher.life) = (next, life);
    publisher.says(GOES_ON).await;
    viewer.until(|view| is(view, |run| !run.is_running() && run.loss.is_none())).await;
    let whole = run(viewer.view()).unwrap();
    assert_eq!(
        (whole.status, whole.answer().as_str(), &whole.error),
        (RunStatus::Complete, "Once more", &None)
    );
    assert_eq!(whole.tools.values().next().unwrap().state, ToolState::Complete);
    assert_eq!(viewer.view().anomalies.total, 0);
    // The loss stays in the history.
    assert_eq!(whole.notes.len(), 1);
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
}

#[tokio::test]
async fn a_publisher_that_is_there_may_be_silent_as_long_as_it_likes() {
    let hub = hub("1", "2").await;
    let mut silent = hub.publisher("silent").await;
    silent.says(BEGINS).await;
    // Another one that begins later and vanishes is over before anything is said of the first.
    hub.publisher("gone").await.says(BEGINS).await;
    hub.view("gone").await.until(|view| is(view, |run| !run.is_running())).await;
    silent.says(GOES_ON).await;
    let mut viewer = hub.view("silent").await;
    viewer.until(|view| is(view, |run| !run.is_running())).await;
    let run = run(viewer.view()).unwrap();
    assert_eq!((run.status, run.notes.len()), (RunStatus::Complete, 0));
    assert_eq!(viewer.view().seq, 10);
}

#[tokio::test]
async fn who_posts_is_there_for_the_moment_only() {
    let hub = hub("1", "0").await;
    let post = async |body: &str| {
        let lines =
            body.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        hub.request("POST", "/v1/conversations/c/events").body(lines).send().await.unwrap().status().as_u16()
    };
    assert_eq!(post(BEGINS).await, 200);
    let mut viewer = hub.view("c").await;
    viewer.until(|view| is(view, |run| run.stalled_at.is_some())).await;
    assert_eq!(post(GOES_ON).await, 200);
    viewer.until(|view| is(view, |run| run.status == RunStatus::Complete)).await;
    assert_eq!(run(viewer.view()).unwrap().stalled_at, None);
}

#[tokio::test]
async fn what_ran_when_the_hub_died_is_ended_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let mut hub =
        TestHub::start_with(&["--log", &log, "--stalled-after", "1", "--interrupted-after", "2"]).await;
    hub.publisher("c").await.says(BEGINS).await;
    hub.restart().await;
    // Nobody looks at the conversation: it is read back by itself.
    let rows =
        |state: &'static str| move |list: &serde_json::Value| list["conversations"][0]["state"] == state;
    hub.json_until("/v1/conversations", rows("interrupted")).await;
    let mut viewer = hub.view("c").await;
    viewer.until(|view| is(view, |run| run.loss.is_some())).await;
    hub.publisher("c").await.publish(2, GOES_ON).await.unwrap();
    viewer.until(|view| is(view, |run| run.status == RunStatus::Complete)).await;
    assert_eq!(run(viewer.view()).unwrap().answer(), "Once more");
}

/// Imports [`BEGINS`] as the conversation `c`, as `fanlight import` does.
async fn import(hub: &TestHub) {
    let header = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let events = BEGINS.lines().map(str::trim).filter(|line| !line.is_empty());
    let numbered = events.enumerate().map(|(number, event)| {
        event.replacen('{', &format!("{{\"seq\":{},\"at\":1795300000000,", number + 1), 1)
    });
    let body = std::iter::once(header).chain(numbered).collect::<Vec<_>>().join("\n");
    let answer = hub.request("PUT", "/v1/conversations/c/events").body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
}

#[tokio::test]
async fn what_runs_in_an_imported_conversation_is_stalled_and_ended_without_a_restart() {
    let hub = hub("1", "2").await;
    import(&hub).await;
    let mut viewer = hub.view("c").await;
    viewer.until(|view| is(view, |run| run.stalled_at.is_some())).await;
    assert_eq!(run(viewer.view()).unwrap().stalled_at, Some(1_795_300_000_000), "since its last event");
    viewer.until(|view| is(view, |run| run.loss.is_some())).await;
    // Whoever publishes to it goes on with it.
    hub.publisher("c").await.says(GOES_ON).await;
    viewer.until(|view| is(view, |run| run.status == RunStatus::Complete)).await;
    assert_eq!(run(viewer.view()).unwrap().answer(), "Once more");
}

#[tokio::test]
async fn who_goes_on_with_an_imported_conversation_is_waited_for() {
    let hub = hub("1", "0").await;
    import(&hub).await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"status","run":"r","text":"on it"}"#).await;
    // Another one that vanishes later is stalled before anything is said of the first.
    hub.publisher("gone").await.says(BEGINS).await;
    hub.view("gone").await.until(|view| is(view, |run| run.stalled_at.is_some())).await;
    let mut viewer = hub.view("c").await;
    viewer.until(|view| is(view, |run| run.stalled_at.is_none() && run.is_running())).await;
    publisher.says(GOES_ON).await;
    viewer.until(|view| is(view, |run| run.status == RunStatus::Complete)).await;
    assert!(!viewer.view().runs.values().any(|run| run.loss.is_some()));
}
