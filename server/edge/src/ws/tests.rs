//! Sockets against a whole hub in this process, with deadlines short enough to be met by a test.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use model::code::ErrorCode;
use model::frame::{ServerFrame, SnapshotReason, SubMode, parse_server};
use model::limits::RESYNCS_MAX;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::config::Config;

const LIMIT: Duration = Duration::from_secs(20);

/// A hub that stops with this value.
struct TestHub {
    address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: tokio::task::JoinHandle<()>,
}

impl TestHub {
    async fn start(config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            crate::serve(config, listener, async { drop(stopped.await) }).await.unwrap();
        });
        Self { address, stop: Some(stop), serving }
    }

    async fn socket(&self) -> Socket {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let mut request = format!("ws://{}/v1/ws", self.address).into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "fanlight.v1".parse().unwrap());
        Socket(client_async(request, stream).await.unwrap().0)
    }

    /// A socket that is greeted.
    async fn greeted(&self) -> Socket {
        let mut socket = self.socket().await;
        socket.say(r#"{"t":"hello","versions":["1"]}"#).await;
        assert!(matches!(socket.hear().await, ServerFrame::Welcome(_)));
        socket
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        timeout(LIMIT, self.serving).await.expect("the drain ends").unwrap();
    }
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn say(&mut self, frame: &str) {
        self.0.send(Message::text(frame)).await.unwrap();
    }

    /// The next message, or nothing at the end of the stream.
    async fn next(&mut self) -> Option<Result<Message, Error>> {
        timeout(LIMIT, self.0.next()).await.expect("the hub says something in time")
    }

    /// The next frame that is no heartbeat.
    async fn hear(&mut self) -> ServerFrame {
        loop {
            let message = self.next().await.expect("the socket is open").unwrap();
            let Message::Text(text) = message else { continue };
            match parse_server(&text).unwrap() {
                ServerFrame::Hb { .. } | ServerFrame::Presence { .. } => {}
                frame => return frame,
            }
        }
    }

    async fn error(&mut self) -> (Option<u32>, ErrorCode) {
        match self.hear().await {
            ServerFrame::Error { sub, code, .. } => (sub, code),
            other => panic!("an error was due, not {other:?}"),
        }
    }

    /// The hub says goodbye with `code`, closes with the same, and is gone.
    async fn farewell(&mut self, code: u16) {
        let ServerFrame::Bye { code: said, reconnect, .. } = self.hear().await else { panic!("no goodbye") };
        self.is_closed((said, reconnect), code).await;
    }

    /// The same behind all that was sent before.
    async fn farewell_in_the_end(&mut self, code: u16) {
        loop {
            if let ServerFrame::Bye { code: said, reconnect, .. } = self.hear().await {
                return self.is_closed((said, reconnect), code).await;
            }
        }
    }

    /// What was said in the goodbye is `code`, the close says the same, and nothing follows.
    async fn is_closed(&mut self, (said, reconnect): (u16, bool), code: u16) {
        assert_eq!((said, reconnect), (code, code < 4500 && code != 4401));
        let Message::Close(Some(close)) = self.next().await.unwrap().unwrap() else { panic!("no close") };
        assert_eq!(u16::from(close.code), code);
        let end = self.next().await;
        assert!(end.is_none(), "{end:?}");
    }

    /// Subscribes, up to `live`.
    async fn view(&mut self, sub: u32, conversation: &str) -> u64 {
        self.say(&format!(r#"{{"t":"sub","sub":{sub},"conv":"{conversation}"}}"#)).await;
        let subbed = self.hear().await;
        assert!(
            matches!(subbed, ServerFrame::Subbed { mode: SubMode::Snapshot, why: None, .. }),
            "{subbed:?}"
        );
        assert!(matches!(self.hear().await, ServerFrame::Snap { .. }));
        let ServerFrame::Live { sub: of, seq } = self.hear().await else { panic!("not live") };
        assert_eq!(of, sub);
        seq
    }

    async fn publish(&mut self, conversation: &str, text: &str) {
        let event = format!(r#"{{"k":"status","run":"r","text":"{text}"}}"#);
        self.say(&format!(r#"{{"t":"pub","id":1,"conv":"{conversation}","events":[{event}]}}"#)).await;
    }
}

fn quick() -> Config {
    Config { heartbeat: Duration::from_millis(100), ..Config::default() }
}

#[tokio::test]
async fn a_socket_that_says_nothing_is_closed() {
    let hub = TestHub::start(Config { hello: Duration::from_millis(50), ..Config::default() }).await;
    hub.socket().await.farewell(4506).await;
    hub.stop().await;
}

#[tokio::test]
async fn a_socket_that_begins_with_something_else_is_closed() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.socket().await;
    socket.say(r#"{"t":"sub","sub":1,"conv":"c"}"#).await;
    socket.farewell(4500).await;
    let mut socket = hub.socket().await;
    socket.say(r#"{"t":"hello","versions":["0","2"]}"#).await;
    socket.farewell(4505).await;
    let mut socket = hub.greeted().await;
    socket.0.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    socket.farewell(4500).await;
    hub.stop().await;
}

#[tokio::test]
async fn a_frame_over_the_limit_is_named() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    let long = "x".repeat(model::limits::INBOUND_FRAME_BYTES_MAX + 1);
    socket.say(&long).await;
    socket.farewell(4501).await;
    hub.stop().await;
}

#[tokio::test]
async fn unanswered_heartbeats_end_a_socket_and_answered_ones_do_not() {
    let hub = TestHub::start(quick()).await;
    let mut silent = hub.greeted().await;
    let mut polite = hub.greeted().await;
    polite.view(7, "c").await;
    let polite = tokio::spawn(async move {
        for _ in 0..8 {
            let Message::Text(text) = polite.next().await.unwrap().unwrap() else { panic!("closed") };
            let ServerFrame::Hb { heads, .. } = parse_server(&text).unwrap() else { continue };
            assert_eq!(heads.keys().copied().collect::<Vec<_>>(), [7]);
            polite.say(r#"{"t":"hb_ack","at":{"7":0}}"#).await;
        }
    });
    silent.farewell(4001).await;
    timeout(LIMIT, polite).await.unwrap().unwrap();
    hub.stop().await;
}

#[tokio::test]
async fn i8_a_socket_that_takes_nothing_is_cut_and_hears_why_and_nobody_else_notices() {
    // It has as long again to take the goodbye.
    let no_progress = Duration::from_secs(3);
    let config = Config { no_progress, fleet_interval: Duration::from_millis(10), ..Config::default() };
    let hub = TestHub::start(config).await;
    let mut stuck = hub.greeted().await;
    stuck.view(1, "c").await;
    let (mut publisher, mut other) = (hub.greeted().await, hub.greeted().await);
    other.view(1, "c").await;
    // Far more than the kernel takes for a peer that never reads.
    let text = "x".repeat(500_000);
    for round in 1..=60 {
        publisher.publish("c", &text).await;
        assert!(matches!(publisher.hear().await, ServerFrame::Ack(_)));
        let ServerFrame::Batch { to, .. } = other.hear().await else { panic!("no batch") };
        assert_eq!(to, round);
    }
    publisher.say(r#"{"t":"watch","sub":2}"#).await;
    let gone = async {
        loop {
            // The list says how many watch: two, then one.
            let ServerFrame::Fleet { rows, .. } = publisher.hear().await else { continue };
            if rows.iter().any(|row| row.viewers == 1) {
                return;
            }
        }
    };
    timeout(LIMIT, gone).await.expect("the stuck viewer is cut");
    // It reads on: what its system had for it, the frame that was begun, and why it was cut.
    stuck.farewell_in_the_end(4408).await;
    hub.stop().await;
}

#[tokio::test]
async fn who_publishes_and_views_on_one_socket_sees_its_own_events() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    assert_eq!(socket.view(1, "c").await, 0);
    socket.publish("c", "one").await;
    assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    assert!(matches!(socket.hear().await, ServerFrame::Batch { sub: 1, from: 1, to: 1, .. }));
    hub.stop().await;
}

#[tokio::test]
async fn numbers_of_subscriptions_are_checked_and_nothing_comes_after_an_unsub() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    socket.say(r#"{"t":"unsub","sub":4}"#).await;
    assert_eq!(socket.error().await, (Some(4), ErrorCode::UnknownSubscription));
    socket.say(r#"{"t":"resync","sub":4}"#).await;
    assert_eq!(socket.error().await, (Some(4), ErrorCode::UnknownSubscription));
    socket.view(4, "c").await;
    socket.say(r#"{"t":"sub","sub":4,"conv":"d"}"#).await;
    assert_eq!(socket.error().await, (Some(4), ErrorCode::SubscriptionInUse));
    socket.say(r#"{"t":"unsub","sub":4}"#).await;
    socket.publish("c", "unseen").await;
    assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    assert_eq!(socket.view(4, "c").await, 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_resync_gives_the_snapshot_and_too_many_of_them_the_door() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    socket.view(1, "c").await;
    for _ in 0..RESYNCS_MAX {
        socket.say(r#"{"t":"resync","sub":1}"#).await;
        let ServerFrame::Subbed { why, .. } = socket.hear().await else { panic!("no answer") };
        assert_eq!(why, Some(SnapshotReason::Requested));
        assert!(matches!(socket.hear().await, ServerFrame::Snap { .. }));
        assert!(matches!(socket.hear().await, ServerFrame::Live { .. }));
    }
    // However slowly this runs: as many as would take minutes at the rate that is fine.
    for _ in 0..10 * RESYNCS_MAX {
        socket.say(r#"{"t":"resync","sub":1}"#).await;
    }
    loop {
        if let ServerFrame::Bye { code, .. } = socket.hear().await {
            assert_eq!(code, 4410);
            break;
        }
    }
    hub.stop().await;
}

#[tokio::test]
async fn the_list_comes_whole_and_then_what_changed() {
    let config = Config { fleet_interval: Duration::from_millis(10), ..Config::default() };
    let hub = TestHub::start(config).await;
    let mut socket = hub.greeted().await;
    socket.publish("a", "1").await;
    socket.publish("b", "1").await;
    for _ in 0..2 {
        assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    }
    socket.say(r#"{"t":"watch","sub":9}"#).await;
    let ServerFrame::Fleet { sub: 9, full: true, mut rows, .. } = socket.hear().await else {
        panic!("no list")
    };
    rows.sort_by(|a, b| a.conversation.cmp(&b.conversation));
    assert_eq!(rows.iter().map(|row| row.conversation.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    socket.publish("b", "2").await;
    assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    let ServerFrame::Fleet { full: false, rows, .. } = socket.hear().await else { panic!("no change") };
    assert_eq!(rows.iter().map(|row| (row.conversation.as_str(), row.head)).collect::<Vec<_>>(), [("b", 2)]);
    hub.stop().await;
}

#[tokio::test]
async fn looking_at_nothing_leaves_nothing() {
    let hub = TestHub::start(Config::default()).await;
    let mut socket = hub.greeted().await;
    for sub in 0..256 {
        socket.view(sub, &format!("nothing-{sub}")).await;
    }
    socket.say(r#"{"t":"sub","sub":999,"conv":"one-more"}"#).await;
    assert_eq!(socket.error().await, (Some(999), ErrorCode::TooMany));
    for sub in 0..256 {
        socket.say(&format!(r#"{{"t":"unsub","sub":{sub}}}"#)).await;
    }
    socket.say(r#"{"t":"watch","sub":1}"#).await;
    let ServerFrame::Fleet { rows, .. } = socket.hear().await else { panic!("no list") };
    assert_eq!(rows, []);
    hub.stop().await;
}

#[tokio::test]
async fn i13_a_drain_says_when_to_come_back() {
    let hub = TestHub::start(Config::default()).await;
    let (mut viewer, mut stranger) = (hub.greeted().await, hub.socket().await);
    viewer.view(1, "c").await;
    let stopping = tokio::spawn(hub.stop());
    viewer.farewell(4000).await;
    stranger.farewell(4000).await;
    timeout(LIMIT, stopping).await.unwrap().unwrap();
}

mod crawling;
mod forgetting;
mod renewing;
mod viewing;
