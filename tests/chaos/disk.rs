//! The log may grow no further: viewers go on, publishers are told, and once there is room nothing is missing.

use tests::wait::within;
use tests::wire::WebSocketWire;
use tests::{TestHub, TestViewer};

use crate::author::Author;
use crate::logged::{agree, hub_with_log, view};
use crate::settings::Settings;

/// How large the log may be. It presses what it keeps; what fits into it must be less than a part may hold.
const MAX_BYTES: &str = "2097152";

/// The length of a word.
const WORD_BYTES: usize = 16 << 10;

/// Words after the log has failed.
const MORE: u64 = 30;

/// A conversation that takes about half of the room, and one that takes the rest.
struct Full {
    hub: TestHub,
    viewer: TestViewer,
    author: Author,
    acked: u64,
}

/// Fills the log of `hub`, and goes on for a while.
async fn fill(hub: TestHub) -> Full {
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let mut old = Author::new(0, "old").with_words_of(WORD_BYTES);
    for _ in 0..100 {
        old.speak_once(&mut wire).await;
    }
    let mut viewer = hub.view("c").await;
    let mut author = Author::new(1, "c").with_words_of(WORD_BYTES);
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let acked = author.speak_until_the_log_fails(&mut wire).await;
    for _ in 0..MORE {
        author.speak_in_vain(&mut wire).await;
    }
    // Viewers have seen all of it, stored or not.
    let seq = view(hub.address(), "c").await.seq;
    viewer.reach(seq).await;
    assert_eq!(author.check(viewer.view(), 0), 0);
    let answer = within("/readyz", hub.request("GET", "/readyz").send()).await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["code"], "disk_full");
    Full { hub, viewer, author, acked }
}

#[tokio::test(flavor = "multi_thread")]
async fn i9_a_full_log_that_may_grow_again_takes_what_publishers_say_again() {
    Settings::of("disk");
    let folder = tempfile::tempdir().unwrap();
    let hub = hub_with_log(folder.path(), &["--log-max-bytes", MAX_BYTES]).await;
    let Full { mut hub, mut viewer, mut author, acked } = fill(hub).await;
    viewer.cut();
    hub.kill().await;
    let hub = hub_with_log(folder.path(), &[]).await;
    let gone = author.check(&view(hub.address(), "c").await, 0);
    author.finish(hub.address()).await;
    assert_eq!(author.check(&view(hub.address(), "c").await, 0), 0);
    let said = author.said();
    println!(
        "disk: {said} words said, {acked} acked before the log was full, {gone} gone in the crash and said again"
    );
    let mut viewer_of_now = hub.view("c").await;
    agree(hub.address(), &mut viewer_of_now).await;
}
