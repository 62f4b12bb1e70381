//! The hub is killed again and again while publishers stream: what was acked as stored is there, in order, once, and
//! every viewer ends with what the log has.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{RunId, View, snapshot};
use tests::wait::{load_for, patiently};
use tests::{TestHub, TestViewer};
use tokio::task::JoinSet;

use crate::author::Author;
use crate::logged::{agree, hub_with_log, view};
use crate::replay::Replay;
use crate::settings::{SeededRandom, Settings};

/// Conversations that the publishers share.
const CONVERSATIONS: u64 = 4;

/// Viewers of each.
const VIEWERS: usize = 2;

fn name(number: u64) -> String {
    format!("c{}", number % CONVERSATIONS)
}

#[tokio::test(flavor = "multi_thread")]
async fn i9_i10_what_was_acked_as_stored_survives_kill_in_order_and_once() {
    let settings = Settings::of("crash");
    let mut random = settings.random();
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_with_log(folder.path(), &[]).await;
    let mut authors: Vec<Author> =
        (0..settings.crash_publishers).map(|number| Author::new(number, &name(number))).collect();
    let mut viewers = Vec::new();
    for number in 0..CONVERSATIONS * VIEWERS as u64 {
        viewers.push(TestViewer::connect(hub.address(), &name(number)).await);
    }
    let mut lost = 0;
    for round in 1..=settings.crash_rounds {
        let time = Duration::from_millis(random.between(20, 300));
        (authors, viewers) = until_killed(&mut hub, authors, viewers, time, &mut random).await;
        hub.start_again().await;
        let views = views(&hub).await;
        for author in &mut authors {
            lost += author.check(&views[author.conversation()], round);
        }
        for viewer in &mut viewers {
            viewer.resume().await;
            agree(hub.address(), viewer).await;
        }
    }
    let said: u64 = authors.iter().map(Author::said).sum();
    finish(&hub, authors).await;
    let rounds = settings.crash_rounds;
    println!(
        "crash: {rounds} rounds, {said} words said, {lost} times one was gone before it had been acked, and was said again"
    );
    for viewer in &mut viewers {
        agree(hub.address(), viewer).await;
    }
    for number in 0..CONVERSATIONS {
        let mut replay = Replay::default();
        replay.read(&hub, &name(number)).await;
        assert_eq!(
            snapshot::hash(&replay.view),
            hub.view_hash(&name(number)).await,
            "the log of {}",
            name(number)
        );
    }
}

/// Publishers speak and viewers view for `time`; then the hub dies.
async fn until_killed(
    hub: &mut TestHub,
    authors: Vec<Author>,
    viewers: Vec<TestViewer>,
    time: Duration,
    random: &mut SeededRandom,
) -> (Vec<Author>, Vec<TestViewer>) {
    let (mut speaking, mut viewing) = (JoinSet::new(), JoinSet::new());
    for mut author in authors {
        let (address, random) = (hub.address(), random.fork());
        speaking.spawn(async move {
            author.speak(address, random).await;
            author
        });
    }
    for mut viewer in viewers {
        viewing.spawn(async move {
            viewer.until_cut().await;
            viewer
        });
    }
    load_for(time).await;
    hub.kill().await;
    let authors = patiently("the publishers to see it", speaking.join_all()).await;
    (authors, patiently("the viewers to see it", viewing.join_all()).await)
}

/// The conversations as the hub has them.
async fn views(hub: &TestHub) -> BTreeMap<String, View> {
    let mut views = BTreeMap::new();
    for number in 0..CONVERSATIONS {
        views.insert(name(number), view(hub.address(), &name(number)).await);
    }
    views
}

/// Everybody says what is left to say, and hears that it is stored. Then all of it is there.
async fn finish(hub: &TestHub, authors: Vec<Author>) {
    let mut last = JoinSet::new();
    for mut author in authors {
        let address = hub.address();
        last.spawn(async move {
            author.finish(address).await;
            author
        });
    }
    let mut authors = patiently("the publishers' last words", last.join_all()).await;
    let views = views(hub).await;
    for author in &mut authors {
        assert_eq!(author.check(&views[author.conversation()], 0), 0, "something that was stored is gone");
    }
}

/// Where a conversation stands: its epoch and its view.
async fn standing(hub: &TestHub, conversation: &str) -> (String, String) {
    let list = hub.json("/v1/conversations").await;
    let rows = list["conversations"].as_array().unwrap();
    let row = rows.iter().find(|row| row["conversation"] == conversation).unwrap();
    (row["epoch"].as_str().unwrap().to_owned(), hub.view_hash(conversation).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn i9_a_clean_stop_keeps_the_epoch_and_a_crash_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_with_log(folder.path(), &[]).await;
    hub.publisher("c").await.says(crate::story::OPEN).await;
    let before = standing(&hub, "c").await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    viewer.cut();
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    assert_eq!(standing(&hub, "c").await, before);
    let snapshots = viewer.seen.snapshots;
    viewer.resume().await;
    agree(hub.address(), &mut viewer).await;
    assert_eq!(viewer.seen.snapshots, snapshots, "a clean stop is none to a viewer");
    viewer.cut();
    hub.restart().await;
    let after = standing(&hub, "c").await;
    assert_ne!(after.0, before.0);
    viewer.resume().await;
    agree(hub.address(), &mut viewer).await;
    assert_eq!(viewer.text(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn i9_a_viewer_that_saw_what_was_not_stored_ends_with_what_the_log_has() {
    let settings = Settings::of("crash");
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_with_log(folder.path(), &[]).await;
    let (mut seen, mut kept) = (0, 0);
    let mut viewer = hub.view("c").await;
    for round in 0..settings.crash_rounds {
        let run = RunId::new(&format!("run-{round}"));
        let mut author = Author::new(round, "c").that_asks_for("memory");
        let head = author.say_at_once(hub.address(), 500).await;
        viewer.reach(head).await;
        hub.kill().await;
        seen += viewer.view().runs.get(&run).map_or(0, |run| run.answer().len());
        viewer.until_cut().await;
        hub.start_again().await;
        viewer.resume().await;
        agree(hub.address(), &mut viewer).await;
        kept += viewer.view().runs.get(&run).map_or(0, |run| run.answer().len());
    }
    println!(
        "crash: of {seen} bytes of text that were seen and not stored, {kept} were there after the crash"
    );
}
