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

#[tokio::test]
async fn i8_a_peer_that_takes_no_byte_of_an_answer_is_cut() {
    use tokio::io::AsyncWriteExt as _;
    let config = Config { reader_silent: Duration::from_millis(500), ..Config::default() };
    let hub = TestHub::start(config).await;
    let mut socket = hub.greeted().await;
    socket.view(1, "c").await;
    let mut stuck = TcpStream::connect(hub.address).await.unwrap();
    let request = format!("GET /v1/conversations/c/events HTTP/1.1\r\nhost: {}\r\n\r\n", hub.address);
    stuck.write_all(request.as_bytes()).await.unwrap();
    while presence(&mut socket).await != 2 {}
    // More than any kernel keeps for a peer that does not read.
    let text = "x".repeat(900 << 10);
    for _ in 0..30 {
        socket.publish("c", &text).await;
        while !matches!(socket.hear().await, ServerFrame::Batch { .. } | ServerFrame::Snap { .. }) {}
    }
    socket.say(r#"{"t":"watch","sub":2}"#).await;
    let gone = async {
        loop {
            let ServerFrame::Fleet { rows, .. } = socket.hear().await else { continue };
            if rows.iter().any(|row| row.viewers == 1) {
                return;
            }
        }
    };
    timeout(LIMIT, gone).await.expect("the stuck peer is cut");
    drop(stuck);
    hub.stop().await;
}
