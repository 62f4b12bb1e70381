//! A viewer that keeps nothing: it checks that each frame joins on to the one before and hands the text on. Cheap
//! enough that hundreds of them leave the machine to the hub.

use std::net::SocketAddr;

use model::frame::{ClientFrame, SubscriptionOptions};
use model::ids::ConversationId;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::wire::WebSocketWire;

/// Where the type and the numbers of a frame stand, in bytes.
const HEAD_BYTES: usize = 200;

/// A viewer that checks the coverage of each frame and keeps nothing else. Dropping it closes the socket.
#[derive(Debug)]
pub struct ListWatcher {
    wire: WebSocketWire,
    /// The newest seq that it was told.
    position: u64,
}

/// What a watcher is told.
#[derive(Debug)]
pub enum WatcherMessage {
    /// Events that join on to what came before.
    Events(Utf8Bytes),
    /// A state that replaces what came before.
    Snapshot(Utf8Bytes),
    /// All there was has been told.
    Live,
}

impl ListWatcher {
    /// Connects and subscribes.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn connect(address: SocketAddr, conversation: &str) -> Self {
        let mut wire = WebSocketWire::connect(address).await;
        let conv = ConversationId::parse(conversation).expect("a name");
        wire.send(&ClientFrame::Sub { sub: 1, conv, have: None, wish: SubscriptionOptions::default() }).await;
        Self { wire, position: 0 }
    }

    /// Connects and subscribes, and takes what there is.
    pub async fn live(address: SocketAddr, conversation: &str) -> Self {
        let mut watcher = Self::connect(address, conversation).await;
        while !matches!(watcher.next().await, WatcherMessage::Live) {}
        watcher
    }

    /// The last seq that it was told.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes what comes next.
    ///
    /// # Panics
    /// When a frame leaves a hole or covers something twice (I2), and when the hub closes the socket.
    pub async fn next(&mut self) -> WatcherMessage {
        loop {
            let text = self.wire.text().await;
            let text = text.unwrap_or_else(|close| panic!("closed at {}: {close:?}", self.position));
            match covers(&text) {
                FrameCoverage::Events(from, to) => {
                    assert_eq!(from, self.position + 1, "a hole or a double before a frame up to {to}");
                    self.position = to;
                    return WatcherMessage::Events(text);
                }
                FrameCoverage::Everything(seq) => {
                    self.position = seq;
                    return WatcherMessage::Snapshot(text);
                }
                FrameCoverage::Nothing(b"live") => return WatcherMessage::Live,
                FrameCoverage::Nothing(b"hb") => {
                    self.wire.send(&ClientFrame::HbAck { at: [(1, self.position)].into() }).await;
                }
                FrameCoverage::Nothing(b"bye" | b"error") => panic!("the hub said {text}"),
                FrameCoverage::Nothing(_) => {}
            }
        }
    }
}

/// What a frame covers, as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameCoverage<'a> {
    /// The seqs from the first to the second.
    Events(u64, u64),
    /// Everything up to here.
    Everything(u64),
    /// A frame of this type covers nothing.
    Nothing(&'a [u8]),
}

/// What the frame `text` covers; it is not parsed.
pub fn covers(text: &str) -> FrameCoverage<'_> {
    let head = text.as_bytes().first_chunk::<HEAD_BYTES>().map_or(text.as_bytes(), |head| head);
    match kind(head) {
        b"batch" => FrameCoverage::Events(number(head, b"\"from\":"), number(head, b"\"to\":")),
        b"snap" => FrameCoverage::Everything(number(head, b"\"seq\":")),
        other => FrameCoverage::Nothing(other),
    }
}

/// The type of a frame.
fn kind(head: &[u8]) -> &[u8] {
    let rest = head.strip_prefix(b"{\"t\":\"").unwrap_or_default();
    rest.split(|byte| *byte == b'"').next().unwrap_or_default()
}

/// The number after `name`.
fn number(head: &[u8], name: &[u8]) -> u64 {
    let at = head.windows(name.len()).position(|window| window == name).expect("the hub's frames have it");
    let digits = head.iter().skip(at + name.len()).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'))
}
