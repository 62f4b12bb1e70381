//! A hub whose log is in PostgreSQL. All of these tests run on it with `FANLIGHT_TEST_LOG=postgres`; these always do.

use event_log::TestPostgresServer;
use tests::TestHub;
use tests::wait::{patiently, patiently_until};

use crate::{deliver, stored};

#[tokio::test]
async fn texts_calls_and_results_are_found_and_still_are_after_a_crash() {
    stored::found_after_a_crash(TestHub::start_on_postgres().await).await;
}

#[tokio::test]
async fn a_hub_that_stops_keeps_its_epochs_and_one_that_dies_does_not() {
    stored::epochs(TestHub::start_on_postgres().await).await;
}

#[tokio::test]
async fn i9_what_was_acked_as_stored_is_there_after_a_kill_and_levels_are_named() {
    stored::acked(TestHub::start_on_postgres().await).await;
}

#[tokio::test]
async fn the_list_has_what_is_in_memory_and_what_is_not_page_by_page() {
    stored::listed(TestHub::start_on_postgres().await).await;
}

#[tokio::test]
async fn i10_what_a_hub_has_stored_is_not_told_again_when_it_is_killed() {
    deliver::survives_kills(TestHub::start_on_postgres().await).await;
}

/// The text of `/readyz`.
async fn ready(hub: &TestHub) -> String {
    hub.request("GET", "/readyz").send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_hub_says_what_the_settings_of_the_database_make_true() {
    let hub = TestHub::start_on_postgres().await;
    let said = ready(&hub).await;
    assert!(said.starts_with("ready; synced: ") && said.contains("synchronous_commit=on"), "{said}");
    let server = TestPostgresServer::start();
    assert!(server.sql("ALTER SYSTEM SET synchronous_commit = off") && server.sql("SELECT pg_reload_conf()"));
    let hub = TestHub::start_with(&["--log", server.place().url()]).await;
    let said = ready(&hub).await;
    assert!(said.starts_with("ready; stored: ") && said.contains("not a crash of the database"), "{said}");
    let refused = hub.request("POST", "/v1/conversations/c/events").header("fanlight-durability", "synced");
    let refused = refused.body(r#"{"k":"status","text":"x","run":"r"}"#).send().await.unwrap();
    assert!(!refused.status().is_success(), "{}", refused.status());
}

/// Publishes a status that is to be on a second machine; the status of the answer.
async fn replicated(hub: &TestHub, text: &str) -> u16 {
    let post = hub.request("POST", "/v1/conversations/c/events").header("fanlight-durability", "replicated");
    let body = format!(r#"{{"k":"status","text":"{text}","run":"r"}}"#);
    patiently("an answer", post.body(body).send()).await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn i9_what_is_acked_as_replicated_is_there_when_the_standby_takes_over() {
    let primary = TestPostgresServer::start();
    let standby = primary.standby();
    let hub = TestHub::start_with(&["--log", primary.place().on_either(&standby).url()]).await;
    assert_eq!(replicated(&hub, "refused").await, 400, "no standby is asked for");
    let set = |names: &str| {
        let change = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        assert!(primary.sql(&change) && primary.sql("SELECT pg_reload_conf()"));
    };
    // The promise follows the settings, without a new connection.
    let says = async |level: &str| {
        let begin = format!("ready; {level}: ");
        patiently_until("the promise", async || ready(&hub).await.starts_with(&begin).then_some(())).await;
    };
    set("*");
    says("replicated").await;
    assert_eq!(replicated(&hub, "first").await, 200);
    set("");
    says("synced").await;
    assert_eq!(replicated(&hub, "refused").await, 400);
    set("*");
    says("replicated").await;
    // A wait that is broken off by hand is a commit of one machine, and no more is said of it.
    standby.pause();
    let mut waits = Box::pin(replicated(&hub, "second"));
    let cancel =
        "SELECT 1 / count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    tokio::select! {
        status = &mut waits => panic!("answered with {status} without the standby"),
        () = patiently_until("the commit to wait", async || primary.sql(cancel).then_some(())) => {}
    }
    let seen = hub.json_until("/v1/conversations/c", |view| view.to_string().contains("second"));
    tokio::select! {
        status = &mut waits => panic!("answered with {status} without the standby"),
        _ = seen => {}
    }
    standby.wake();
    assert_eq!(waits.await, 200, "now the standby has it");
    primary.kill();
    assert!(standby.sql("SELECT pg_promote()"));
    let third = async || {
        let post = hub
            .request("POST", "/v1/conversations/c/events")
            .body(r#"{"k":"status","text":"third","run":"r"}"#);
        post.send().await.ok()?.status().is_success().then_some(())
    };
    patiently_until("the hub to write to the standby", third).await;
    let mut hub = hub;
    hub.restart().await;
    let events =
        hub.request("GET", "/v1/conversations/c/events?limit=1000").header("accept", "application/x-ndjson");
    let events = events.send().await.unwrap().text().await.unwrap();
    for text in ["first", "second", "third"] {
        assert!(events.contains(&format!(r#""text":"{text}""#)), "{text}: {events}");
    }
}

#[tokio::test]
async fn i9_a_hub_that_was_paused_and_wakes_after_another_has_taken_over_writes_nothing() {
    let place = TestPostgresServer::shared().place();
    let mut paused = TestHub::start_with(&["--log", place.url()]).await;
    let body = |text: &str| format!(r#"{{"k":"status","text":"{text}","run":"r"}}"#);
    let post = async |hub: &TestHub, text: &str| {
        hub.request("POST", "/v1/conversations/c/events").body(body(text)).send().await.unwrap().status()
    };
    assert!(post(&paused, "first").await.is_success());
    paused.signal("STOP").await;
    // It waits until the database says that the other is dead.
    let next = TestHub::start_with(&["--log", place.url()]).await;
    paused.signal("CONT").await;
    let late = paused.request("POST", "/v1/conversations/c/events").body(body("late")).send().await;
    assert!(!late.is_ok_and(|late| late.status().is_success()), "what is not stored is not acked");
    assert_eq!(paused.ended().await, Some(1), "it notices, and ends");
    assert!(post(&next, "second").await.is_success());
    let export = next.request("GET", "/v1/conversations/c/export/native").send().await.unwrap();
    let view = export.text().await.unwrap();
    assert!(view.contains("first") && view.contains("second") && !view.contains("late"), "{view}");
}

/// Runs `fanlight move` from one log to another; what it prints.
async fn moved(from: &str, to: &str) -> String {
    let mut command = tokio::process::Command::new(tests::hub::binary());
    command.args(["move", "--from", from, "--to", to]).kill_on_drop(true);
    let ran = tests::wait::within("fanlight move", command.output()).await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    said
}

#[tokio::test]
async fn a_log_moves_from_sqlite_to_postgresql_and_back_equal_by_hash() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let (first, last) = (file("first.db"), file("last.db"));
    let place = TestPostgresServer::shared().place();
    let mut hub = TestHub::start_with(&["--log", &first]).await;
    for name in ["one", "two", "three"] {
        hub.publisher(name).await.says(stored::RUN).await;
    }
    let large =
        format!(r#"{{"k":"tool.result","tool":"t9","output":"{}","run":"r9"}}"#, "needle ".repeat(60_000));
    hub.publisher("large").await.says(&large).await;
    let names = ["one", "two", "three", "large"];
    let mut hashes = Vec::new();
    for name in names {
        hashes.push(hub.view_hash(name).await);
    }
    let tools = hub.json("/v1/tools").await;
    assert_eq!(hub.stop().await, Some(0));
    assert!(moved(&first, place.url()).await.starts_with("4 conversations with "));
    assert!(moved(place.url(), &last).await.starts_with("4 conversations with "));
    for log in [place.url(), &last] {
        let mut hub = TestHub::start_with(&["--log", log]).await;
        for (name, hash) in names.iter().zip(&hashes) {
            assert_eq!(&hub.view_hash(name).await, hash, "{name}");
        }
        assert_eq!(hub.json("/v1/tools").await, tools);
        assert_eq!(stored::hits(&hub, "umsatze").await.len(), 3);
        assert_eq!(stored::hits(&hub, "needle").await.len(), 1);
        hub.publisher("one").await.says(r#"{"k":"status","text":"on","run":"r"}"#).await;
        assert_eq!(hub.stop().await, Some(0));
    }
}
