//! A session against a scripted hub on a real socket: what a hub in good order never does, or only after a while.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::*;

const DEADLINE: Duration = Duration::from_secs(20);

/// The hub's end of one socket.
struct Peer(WebSocketStream<TcpStream>);

impl Peer {
    async fn accept(listener: &TcpListener) -> Self {
        #[expect(clippy::result_large_err, reason = "the library's own type")]
        let negotiate = |request: &Request, mut response: Response| {
            let wanted = request.headers().get("sec-websocket-protocol").expect("a subprotocol").clone();
            assert_eq!(wanted, "fanlight.v1");
            response.headers_mut().insert("sec-websocket-protocol", wanted);
            Ok(response)
        };
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            // One that was given up in the middle is followed by another.
            if let Ok(socket) = Box::pin(tokio_tungstenite::accept_hdr_async(stream, negotiate)).await {
                return Self(socket);
            }
        }
    }

    /// Takes `hello` and answers it.
    async fn welcome(listener: &TcpListener, hb_ms: u64) -> Self {
        let mut peer = Self::accept(listener).await;
        assert_eq!(peer.read().await["t"], "hello");
        let limits = serde_json::to_value(model::frame::Limits::default()).expect("limits");
        let welcome = json!({"t": "welcome", "version": "1", "session": "s", "ts": 1, "hb_ms": hb_ms,
            "limits": limits, "features": []});
        peer.write(&welcome).await;
        peer
    }

    async fn read(&mut self) -> Value {
        loop {
            match self.0.next().await.expect("a frame").expect("a good frame") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Close(_) => panic!("closed"),
                _ => {}
            }
        }
    }

    async fn write(&mut self, frame: &Value) {
        self.0.send(Message::text(frame.to_string())).await.expect("sent");
    }

    async fn close(mut self, code: u16, reason: &'static str) {
        self.0.close(Some(CloseFrame { code: code.into(), reason: reason.into() })).await.expect("closed");
    }
}

async fn listen() -> (TcpListener, HubAddress) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, address.parse().expect("an address"))
}

fn message(seq: u64) -> Value {
    json!({"k": "message", "message": format!("m{seq}"), "text": format!("number {seq}"), "seq": seq, "at": seq})
}

fn batch(from: u64, to: u64) -> Value {
    let events: Vec<Value> = (from..=to).map(message).collect();
    json!({"t": "batch", "sub": 1, "from": from, "to": to, "ts": 1, "ev": events})
}

fn subbed(epoch: &str, mode: &str, head: u64) -> Value {
    json!({"t": "subbed", "sub": 1, "epoch": epoch, "mode": mode, "head": head})
}

/// Runs both ends to their end.
async fn both<A, B>(hub: impl Future<Output = A>, viewer: impl Future<Output = B>) -> (A, B) {
    tokio::time::timeout(DEADLINE, async { tokio::join!(hub, viewer) }).await.expect("in time")
}

#[tokio::test]
async fn a_session_resumes_where_it_stood_when_the_socket_breaks() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        let sub = peer.read().await;
        assert_eq!((&sub["t"], &sub["conv"], &sub["have"]), (&json!("sub"), &json!("c"), &Value::Null));
        peer.write(&subbed("e1", "tail", 0)).await;
        peer.write(&batch(1, 3)).await;
        drop(peer);
        let mut peer = Peer::welcome(&listener, 20_000).await;
        let sub = peer.read().await;
        assert_eq!(sub["have"], json!({"epoch": "e1", "seq": 3}));
        peer.write(&subbed("e1", "tail", 5)).await;
        peer.write(&batch(4, 5)).await;
        peer.write(&json!({"t": "live", "sub": 1, "seq": 5})).await;
        peer
    };
    let viewer = async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let sub = session.subscribe("c".parse().expect("a name")).await;
        let view = session.until_live(sub).await.expect("live");
        assert_eq!((view.seq, view.messages.len(), view.anomalies.total), (5, 5, 0));
        assert_eq!(session.connections(), 2);
    };
    both(hub, viewer).await;
}

#[tokio::test]
async fn a_hole_is_noticed_and_mended_by_a_snapshot() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        peer.read().await;
        peer.write(&subbed("e1", "tail", 9)).await;
        peer.write(&batch(1, 2)).await;
        peer.write(&batch(5, 6)).await;
        assert_eq!(peer.read().await["t"], "resync");
        let state = View { seq: 9, ..View::default() };
        let state = serde_json::to_value(state).expect("a view");
        peer.write(&json!({"t": "snap", "sub": 1, "epoch": "e1", "seq": 9, "state": state})).await;
        peer.write(&json!({"t": "live", "sub": 1, "seq": 9})).await;
        peer
    };
    let viewer = async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let sub = session.subscribe("c".parse().expect("a name")).await;
        let mut gaps = Vec::new();
        while !session.is_live(sub) {
            if let SessionUpdate::Gap { expected, from, .. } = session.next().await.expect("an update") {
                gaps.push((expected, from));
            }
        }
        assert_eq!(gaps, [(3, 5)]);
        assert_eq!(session.view(sub).map(|view| view.seq), Some(9));
    };
    both(hub, viewer).await;
}

#[tokio::test]
async fn heartbeats_are_answered_with_what_was_applied() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        peer.read().await;
        peer.write(&subbed("e1", "tail", 0)).await;
        peer.write(&batch(1, 2)).await;
        peer.write(&json!({"t": "hb", "ts": 5, "heads": {"1": ["e1", 2]}})).await;
        let ack = peer.read().await;
        assert_eq!((&ack["t"], &ack["at"]), (&json!("hb_ack"), &json!({"1": 2})));
        peer.write(&json!({"t": "live", "sub": 1, "seq": 2})).await;
        peer
    };
    let viewer = async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let sub = session.subscribe("c".parse().expect("a name")).await;
        session.until_live(sub).await.expect("live");
    };
    both(hub, viewer).await;
}

#[tokio::test]
async fn bye_says_when_to_come_back_and_whether() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        peer.write(&json!({"t": "bye", "code": 4000, "reconnect": true, "retry_ms": 7, "reason": "restart"}))
            .await;
        peer.close(4000, "restart").await;
        Peer::welcome(&listener, 20_000).await.close(4500, "you again").await;
    };
    let viewer = async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let SessionUpdate::Lost { retry_ms, why } = session.next().await.expect("an update") else {
            panic!("lost")
        };
        assert!((7..=14).contains(&retry_ms), "{retry_ms}");
        assert_eq!(why, "restart");
        assert!(matches!(session.next().await, Ok(SessionUpdate::Connected(_))));
        let Err(SessionError::Closed { code, reason, .. }) = session.next().await else { panic!("closed") };
        assert_eq!((code, reason.as_str()), (4500, "you again"));
    };
    both(hub, viewer).await;
}

#[tokio::test]
async fn a_session_that_is_dropped_while_it_waits_goes_on_later() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        peer.read().await;
        peer.write(&subbed("e1", "tail", 0)).await;
        assert_eq!(peer.read().await["t"], "unsub");
        peer
    };
    let viewer = async {
        let mut session = ViewerSession::new(address);
        let sub = session.subscribe("c".parse().expect("a name")).await;
        // The handshake is given up once in the middle, and the wait for a frame once.
        assert!(tokio::time::timeout(Duration::ZERO, session.next()).await.is_err());
        while session.position(sub).is_none() {
            session.next().await.expect("an update");
        }
        assert!(tokio::time::timeout(Duration::ZERO, session.next()).await.is_err());
        session.unsubscribe(sub).await;
        assert!(session.view(sub).is_none());
        assert!(matches!(session.until_live(sub).await, Err(SessionError::NoSubscription(_))));
    };
    both(hub, viewer).await;
}

#[tokio::test]
async fn a_hub_that_is_not_there_is_told_at_once_or_waited_for() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = ViewerSession::connect(address.clone()).await.expect_err("nobody listens");
    assert!(matches!(error, SessionError::Unreachable { .. }), "{error}");
    let mut patient = ViewerSession::new(address);
    assert!(matches!(patient.next().await, Ok(SessionUpdate::Lost { .. })));
}

#[tokio::test]
async fn a_subscription_that_stays_behind_although_nothing_comes_is_asked_for_again() {
    let (listener, address) = listen().await;
    let hub = async {
        let mut peer = Peer::welcome(&listener, 20_000).await;
        peer.read().await;
        peer.write(&subbed("e1", "tail", 0)).await;
        peer.write(&batch(1, 2)).await;
        let heartbeat = json!({"t": "hb", "ts": 5, "heads": {"1": ["e1", 4]}});
        peer.write(&heartbeat).await;
        assert_eq!(peer.read().await, json!({"t": "hb_ack", "at": {"1": 2}}));
        peer.write(&heartbeat).await;
        assert_eq!(peer.read().await, json!({"t": "resync", "sub": 1}));
        assert_eq!(peer.read().await["t"], "hb_ack");
        // A hub that has forgotten it says so, and is asked again.
        let unknown = json!({"t": "error", "sub": 1, "code": "unknown_subscription", "message": "none"});
        peer.write(&unknown).await;
        assert_eq!(peer.read().await["have"], json!({"epoch": "e1", "seq": 2}));
        peer.write(&subbed("e1", "tail", 4)).await;
        peer.write(&batch(3, 4)).await;
        peer.write(&json!({"t": "live", "sub": 1, "seq": 4})).await;
        peer
    };
    let viewer = async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let sub = session.subscribe("c".parse().expect("a name")).await;
        let view = session.until_live(sub).await.expect("live");
        assert_eq!((view.seq, view.messages.len()), (4, 4));
    };
    both(hub, viewer).await;
}
