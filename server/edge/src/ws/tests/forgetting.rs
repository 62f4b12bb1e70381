//! What viewers of the list see of conversations that were dropped.

use std::time::Duration;

use model::frame::ServerFrame;
use tokio::time::timeout;

use super::{LIMIT, Socket, TestHub};
use crate::config::{Config, LogChoice};
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
