//! Whoever talks to a hub: requests over HTTP and WebSockets, written by hand, so that anything at all can be said.

use std::time::Duration;

use model::code::ErrorCode;
use model::{Envelope, View, snapshot};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::hub::Hub;
use crate::laws::folded;

/// How long an answer is waited for, by the clock that jumps: endless ones are left then.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long the clock stands still while an answer is on its way, by the time of the day: the kernel and the hub's threads need that
/// on a machine where others want the cores too.
const STILL: Duration = Duration::from_secs(3);

/// The opcode of a text frame.
pub const TEXT: u8 = 1;

/// Longer than it takes until viewers were told everything, shorter than it takes until heartbeats are missed.
pub const QUIET: Duration = Duration::from_secs(5);

/// Until a socket that says nothing is closed, and more.
pub const LONG: Duration = Duration::from_secs(200);

/// The answer to one request.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its head, as it came.
    pub head: String,
    /// Its body, or as much as came in time.
    pub body: Vec<u8>,
}

/// A connection to `hub`. It leaves nothing behind when it is dropped.
pub async fn connect(hub: Hub) -> TcpStream {
    let stream = TcpStream::connect(hub.address).await.expect("the hub listens");
    stream.set_zero_linger().expect("a socket");
    stream.set_nodelay(true).expect("a socket");
    stream
}

/// The answer to a request whose head is `lines` without the host and the length; nothing where there is none.
pub async fn ask(hub: Hub, lines: &str, body: &[u8]) -> Option<Answer> {
    let host = hub.address;
    let length = body.len();
    let head = format!("{lines}\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    say(hub, &[head.as_bytes(), body].concat()).await
}

/// The answer to the bytes of a request.
pub async fn say(hub: Hub, request: &[u8]) -> Option<Answer> {
    // The clock does not jump while a thread of the runtime works: the hub would close a connection that says nothing.
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let still = tokio::task::spawn_blocking(move || is_over.recv_timeout(STILL).is_ok());
    let mut stream = connect(hub).await;
    let mut came = Vec::new();
    let exchange = async {
        stream.write_all(request).await?;
        stream.read_to_end(&mut came).await
    };
    drop(timeout(PATIENCE, exchange).await);
    drop(over);
    still.await.expect("a thread that waits");
    answer(&came)
}

fn answer(came: &[u8]) -> Option<Answer> {
    let end = came.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(came[..end].to_vec()).expect("the head of an answer is text");
    let status = head.strip_prefix("HTTP/1.")?.get(2..5)?.parse().expect("a status");
    let lower = head.to_ascii_lowercase();
    let is_chunked = lower.contains("transfer-encoding: chunked");
    // Behind it there may be the answer to what else stood in the bytes of a request.
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let rest = &came[end..];
    let body =
        if is_chunked { joined(rest) } else { rest[..rest.len().min(length.unwrap_or(usize::MAX))].to_vec() };
    Some(Answer { status, head, body })
}

/// The chunks of a body, as far as they are whole.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let length =
            std::str::from_utf8(&rest[..end]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let (Some(length), after) = (length, &rest[end + 2..]) else { break };
        if length == 0 || after.len() < length + 2 {
            break;
        }
        body.extend_from_slice(&after[..length]);
        rest = &after[length + 2..];
    }
    body
}

impl Answer {
    /// The hub knows what it says: no status of a fault of its own, and problems have a code of the table.
    pub fn check(&self) {
        let told = String::from_utf8_lossy(&self.body);
        assert!(self.status != 500 && self.status != 502, "{}\n{told}", self.head);
        // The answer to HEAD has no body.
        if self.head.to_ascii_lowercase().contains("application/problem+json") && !told.is_empty() {
            let problem: Value = serde_json::from_slice(&self.body).expect("a problem is JSON");
            let known = ErrorCode::ALL.iter().find(|code| problem["code"] == code.as_str());
            assert_eq!(known.map(|code| code.status()), Some(self.status), "{told}");
        }
    }
}

/// `name` as it stands in a path.
pub fn escaped(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// The view of a conversation, if it is there. Its events are dense (I1) and fold to it, where the log has them all.
pub async fn checked(hub: Hub, name: &str) -> Option<View> {
    let path = format!("/v1/conversations/{}", escaped(name));
    let state = ask(hub, &format!("GET {path} HTTP/1.1"), &[]).await?;
    state.check();
    if state.status != 200 {
        return None;
    }
    let view = snapshot::decode(&state.body).expect("the state of a conversation");
    let head = format!("GET {path}/events HTTP/1.1\r\naccept: application/x-ndjson");
    let page = ask(hub, &head, &[]).await?;
    page.check();
    if page.status == 200 {
        let text = std::str::from_utf8(&page.body).expect("events are text");
        let events: Vec<_> = text.lines().map(|line| Envelope::parse(line).expect("an event")).collect();
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert!(seqs.iter().copied().eq(1..=view.seq), "I1: {seqs:?} of {}", view.seq);
        let again = snapshot::encode(&folded(View::default(), events.iter()));
        assert!(again == state.body, "{text}\n{}", String::from_utf8_lossy(&state.body));
    }
    Some(view)
}

/// A WebSocket to the hub, frame by frame.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    came: Vec<u8>,
}

/// What a hub says over a WebSocket.
#[derive(Debug)]
pub enum ServerMessage {
    /// A text.
    Text(String),
    /// A close with its code, if it has one.
    Close(Option<u16>),
    /// Another frame of the transport.
    Control,
}

impl Socket {
    /// A new one, not greeted.
    pub async fn open(hub: Hub) -> Self {
        Self::open_with(hub, &[]).await.expect("no upgrade")
    }

    /// The same with more lines in the head of its request; nothing where that is not answered with a socket in time.
    pub async fn open_with(hub: Hub, lines: &[&str]) -> Option<Self> {
        let mut stream = connect(hub).await;
        let more: String =
            lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\r\n")).collect();
        let request = format!(
            "GET /v1/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-protocol: fanlight.v1\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n",
            hub.address
        );
        drop(stream.write_all(request.as_bytes()).await);
        let mut socket = Self { stream, came: Vec::new() };
        let end = loop {
            if let Some(at) = socket.came.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if !timeout(PATIENCE, socket.more()).await.unwrap_or_default() {
                return None;
            }
        };
        if !socket.came.starts_with(b"HTTP/1.1 101") {
            return None;
        }
        socket.came.drain(..end);
        Some(socket)
    }

    /// Says one frame of the transport with this opcode. Fails once the hub is gone.
    pub async fn say(&mut self, opcode: u8, payload: &[u8]) -> bool {
        // Masked with zeros, which leaves it as it is.
        let mut frame = vec![0x80 | opcode];
        match u16::try_from(payload.len()) {
            Ok(short @ ..126) => frame.push(0x80 | short as u8),
            Ok(long) => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&long.to_be_bytes());
            }
            Err(_) => unreachable!("inputs are short"),
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.raw(&frame).await
    }

    /// Sends bytes as they are.
    pub async fn raw(&mut self, bytes: &[u8]) -> bool {
        matches!(timeout(PATIENCE, self.stream.write_all(bytes)).await, Ok(Ok(())))
    }

    /// What comes next within `patience`, by the clock that jumps; nothing when nothing does, or the hub is gone.
    pub async fn hear(&mut self, patience: Duration) -> Option<ServerMessage> {
        timeout(patience, self.next()).await.ok().flatten()
    }

    async fn next(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some((heard, used)) = self.frame() {
                self.came.drain(..used);
                return Some(heard);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.came).await, Ok(count) if count > 0)
    }

    /// The first frame of what came, if it is whole, and its bytes.
    fn frame(&self) -> Option<(ServerMessage, usize)> {
        let [first, second, rest @ ..] = self.came.as_slice() else { return None };
        assert!(first & 0x70 == 0 && second & 0x80 == 0, "a frame that no hub sends: {first:x} {second:x}");
        let (length, at) = match second {
            126 => (usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?)), 4),
            127 => (usize::try_from(u64::from_be_bytes(rest.get(..8)?.try_into().ok()?)).ok()?, 10),
            short => (usize::from(*short), 2),
        };
        let payload = self.came.get(at..at + length)?;
        let heard = match first {
            0x81 => ServerMessage::Text(String::from_utf8(payload.to_vec()).expect("a text frame is text")),
            0x88 => ServerMessage::Close(payload.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]))),
            0x89 | 0x8a => ServerMessage::Control,
            other => panic!("an opcode that no hub sends: {other:x}"),
        };
        Some((heard, at + length))
    }
}
