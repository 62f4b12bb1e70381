//! What viewers of the list see of conversations that were dropped, and that nobody waits for that.

use std::io::{BufRead as _, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::frame::{Durability, ServerFrame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

use super::{LIMIT, Socket, TestHub};
use crate::config::Config;
use crate::log_choice::LogChoice;
use crate::retention::Retain;

/// Waits until the list has this conversation alone.
async fn only(viewer: &mut Socket, listed: &mut Vec<String>, conversation: &str) {
    while *listed != [conversation] {
        let ServerFrame::Fleet { full, rows, .. } = viewer.hear().await else { continue };
        if full {
            listed.clear();
        }
        for row in rows {
            let name = row.conversation.to_string();
            listed.retain(|other| *other != name);
            listed.push(name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_views_the_list_sees_that_conversations_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let hub = TestHub::start(Config {
        log: LogChoice::Sqlite { path: directory.path().join("log.db"), max_bytes: None },
        retain: Retain { conversations: Some(1), ..Retain::default() },
        retain_every: Duration::from_millis(20),
        upkeep: Duration::from_millis(10),
        idle: Duration::ZERO,
        ..Config::default()
    })
    .await;
    let (mut viewer, mut publisher) = (hub.greeted().await, hub.greeted().await);
    viewer.say(r#"{"t":"watch","sub":1}"#).await;
    let mut listed = Vec::new();
    for conversation in ["first", "second"] {
        let run = r#"{"k":"run.start","run":"r"},{"k":"run.end","run":"r"}"#;
        let frame = format!(r#"{{"t":"pub","id":1,"conv":"{conversation}","events":[{run}]}}"#);
        publisher.say(&frame).await;
        publisher.hear().await;
        let alone = timeout(LIMIT, only(&mut viewer, &mut listed, conversation)).await;
        alone.expect("the one that is newest, and no other");
    }
    hub.stop().await;
}

/// Set for a process that holds the database at this path until its stdin ends.
const HOLDS: &str = "FANLIGHT_TEST_HOLDS";

/// A process that holds the database at `path` as another program would that reads all of it: the hub writes no row until it has ended.
/// Locks are those of a process, so this one cannot do it.
fn held(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "ws::tests::forgetting::a_process_of_its_own_holds_the_database",
        "--nocapture",
    ]);
    let mut child = command.env(HOLDS, path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("it is held") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended");
    }
    // What it says at its end goes nowhere, and must not fail.
    child.stdout = Some(said.into_inner());
    child
}

#[cfg(unix)]
#[test]
fn a_process_of_its_own_holds_the_database() {
    let Some(path) = std::env::var_os(HOLDS) else { return };
    let index = Path::new(&path).with_extension("db-shm");
    let file = std::fs::File::open(index).unwrap();
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    println!("it is held");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
}

/// The answer to a request for `path`.
async fn asked(hub: &TestHub, path: &str) -> String {
    let mut stream = TcpStream::connect(hub.address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", hub.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(LIMIT, stream.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    answer
}

/// Waits until it `is` so.
async fn until(mut is: impl AsyncFnMut() -> bool) {
    let mut pace = interval(Duration::from_millis(100));
    let looks = async {
        while !is().await {
            pace.tick().await;
        }
    };
    timeout(LIMIT, looks).await.expect("it comes in time");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn i8_a_round_of_retention_that_waits_for_the_disk_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let hub = TestHub::start(Config {
        log: LogChoice::Sqlite { path: path.clone(), max_bytes: None },
        retain: Retain { age: Some(Duration::from_secs(3)), ..Retain::default() },
        retain_every: Duration::from_millis(20),
        upkeep: Duration::from_millis(10),
        idle: Duration::ZERO,
        ..Config::default()
    })
    .await;
    let run = r#"{"k":"run.start","run":"r"},{"k":"run.end","run":"r"}"#;
    let told = |conversation: &str| {
        format!(r#"{{"t":"pub","id":1,"conv":"{conversation}","durability":"stored","events":[{run}]}}"#)
    };
    let mut publisher = hub.greeted().await;
    for number in 0..20 {
        publisher.say(&told(&format!("old-{number}"))).await;
        assert!(matches!(publisher.hear().await, ServerFrame::Ack(_)));
    }
    until(async || asked(&hub, "/metrics").await.contains("\nfanlight_log_queue_bytes 0\n")).await;
    let mut holder = held(&path);
    // They are old three seconds after they came: the round gives them to the log to remove, which cannot remove a row. Whoever asks for one of
    // them waits from then on.
    let mut turns = (0..20).cycle();
    until(async || {
        let one = format!("/v1/conversations/old-{}", turns.next().unwrap_or_default());
        timeout(Duration::from_millis(500), asked(&hub, &one)).await.is_err()
    })
    .await;
    // Nothing else waits, not even what is to be stored: the journal has the removals.
    publisher.say(&told("stored")).await;
    let ServerFrame::Ack(ack) = publisher.hear().await else { panic!("no ack") };
    assert_eq!(ack.durability, Durability::Stored);
    for number in 0..3 {
        assert!(asked(&hub, "/healthz").await.starts_with("HTTP/1.1 200"));
        let mut socket = hub.greeted().await;
        assert_eq!(socket.view(1, "new").await, 2 * number);
        socket.say(&told("new").replace(r#""stored""#, r#""memory""#)).await;
        let ServerFrame::Ack(ack) = socket.hear().await else { panic!("no ack") };
        assert_eq!((ack.durability, ack.seq), (Durability::Memory, 2 * (number + 1)));
        assert!(matches!(socket.hear().await, ServerFrame::Batch { sub: 1, .. }));
    }
    // Not even those that share a lock with the one that is waited for: there are far fewer locks than these.
    let mut socket = hub.greeted().await;
    for sub in 1..=100 {
        assert_eq!(socket.view(sub, &format!("new-{sub}")).await, 0);
    }
    assert!(holder.try_wait().unwrap().is_none(), "it was held all the while");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    hub.stop().await;
}
