//! Viewers who leave at the worst moment.

use std::sync::Weak;
use std::time::Duration;

use event_log::MemoryLog;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use super::*;
use crate::fanout::{Fanout, Outbox, SubscriptionTarget};
use crate::hub::Hub;

/// A viewer of the conversation `c`, with a socket of its own.
async fn viewer(fanout: &Fanout) -> Arc<Subscription> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let outbox = Arc::new(Outbox::new(Arc::new(socket)));
    fanout
        .enter(
            &"c".parse().unwrap(),
            &outbox,
            1,
            crate::SubscriptionTerms {
                wish: &SubscriptionOptions::default(),
                have: None,
                mask: None,
                who: None,
                delivery: crate::Delivery::Joined,
            },
        )
        .unwrap()
}

fn fanout() -> Fanout {
    let hub = Arc::new(Hub::new(Arc::new(MemoryLog::default())));
    Fanout::new(hub, TaskTracker::new(), Duration::from_secs(20))
}

/// The pump is told of `viewer`, who leaves before the pump, which runs in this thread, can look.
fn come_and_go(fanout: &Fanout, viewer: &Arc<Subscription>) -> Weak<Outbox> {
    let SubscriptionTarget::Conversation(_, pump) = &viewer.place else {
        unreachable!("it views a conversation")
    };
    pump.hand_over(Arc::clone(viewer), Cursor::default());
    fanout.leave(viewer);
    viewer.outbox.end();
    Arc::downgrade(&viewer.outbox)
}

/// Waits until nobody holds the outbox, and with it the socket.
async fn let_go(outbox: Weak<Outbox>) {
    let gone = async {
        while outbox.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.expect("somebody holds the socket");
}

#[tokio::test]
async fn i7_the_last_viewer_that_leaves_before_its_pump_looked_is_let_go() {
    let fanout = fanout();
    let last = viewer(&fanout).await;
    let gone = come_and_go(&fanout, &last);
    drop(last);
    let_go(gone).await;
}

#[tokio::test]
async fn i7_a_viewer_that_leaves_before_its_pump_looked_is_let_go_while_others_stay() {
    let fanout = fanout();
    let stays = viewer(&fanout).await;
    let leaves = viewer(&fanout).await;
    let gone = come_and_go(&fanout, &leaves);
    drop(leaves);
    let_go(gone).await;
    assert!(stays.is_active());
}

#[tokio::test]
async fn i7_a_publisher_that_writes_when_the_last_viewer_has_left_holds_nobody() {
    let fanout = fanout();
    let last = viewer(&fanout).await;
    let SubscriptionTarget::Conversation(viewed, pump) = &last.place else {
        unreachable!("it views a conversation")
    };
    let (viewed, pump) = (Arc::clone(viewed), Arc::clone(pump));
    let gone = come_and_go(&fanout, &last);
    drop(last);
    write_at_once(&[(viewed, pump)]);
    let_go(gone).await;
}
