//! What viewers are told beside the events.

use super::*;

/// Rows of the list, as many as are asked for.
#[tokio::test]
async fn the_list_begins_with_the_newest_rows_and_says_how_many_there_are() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    for conversation in ["a", "b", "c"] {
        socket.publish(conversation, "1").await;
        assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    }
    socket.say(r#"{"t":"watch","sub":9,"limit":2}"#).await;
    let ServerFrame::Fleet { full: true, rows, total, .. } = socket.hear().await else { panic!("no list") };
    assert_eq!((rows.len(), total), (2, 3));
    hub.stop().await;
}

/// The next frame that says how many watch.
async fn presence(socket: &mut Socket) -> u64 {
    loop {
        let Message::Text(text) = socket.next().await.expect("open").unwrap() else { continue };
        if let ServerFrame::Presence { viewers, .. } = parse_server(&text).unwrap() {
            return viewers;
        }
    }
}

#[tokio::test]
async fn viewers_hear_how_many_they_are() {
    let hub = TestHub::start(Config::default()).await;
    let mut one = hub.greeted().await;
    one.view(1, "c").await;
    while presence(&mut one).await != 1 {}
    let mut other = hub.greeted().await;
    other.view(5, "c").await;
    assert_eq!(presence(&mut one).await, 2);
    assert_eq!(presence(&mut other).await, 2);
    other.say(r#"{"t":"unsub","sub":5}"#).await;
    assert_eq!(presence(&mut one).await, 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_client_that_stays_behind_what_it_was_sent_is_told_again_from_there() {
    let hub = TestHub::start(quick()).await;
    let (mut viewer, mut publisher) = (hub.greeted().await, hub.greeted().await);
    viewer.view(1, "c").await;
    publisher.publish("c", "one").await;
    publisher.publish("c", "two").await;
    let mut heard = Vec::new();
    loop {
        let Message::Text(text) = viewer.next().await.expect("open").unwrap() else { continue };
        match parse_server(&text).unwrap() {
            // As if nothing had come.
            ServerFrame::Hb { .. } => viewer.say(r#"{"t":"hb_ack","at":{"1":0}}"#).await,
            ServerFrame::Subbed { mode, why, .. } => {
                assert_eq!((mode, why), (SubMode::Tail, None));
                break;
            }
            ServerFrame::Batch { to, .. } => heard.push(to),
            _ => {}
        }
    }
    assert_eq!(heard.last(), Some(&2));
    assert!(matches!(viewer.hear().await, ServerFrame::Batch { from: 1, to: 2, .. }));
    assert!(matches!(viewer.hear().await, ServerFrame::Live { seq: 2, .. }));
    hub.stop().await;
}
