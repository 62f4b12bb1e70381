//! HTTP/1.1 by hand: what is sent and what comes, byte for byte, with nothing that a library would mend on the way.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wait::within;

/// A message that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawMessage {
    /// The first line of the head.
    pub start: String,
    /// The headers in their order, written as they came.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// What came behind a body in pieces.
    pub trailers: Vec<(String, String)>,
    /// Whether it came to its end.
    pub is_whole: bool,
}

impl RawMessage {
    /// The values of the headers called `name`, in whatever letters.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(header, _)| header.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The one header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    /// The status of an answer.
    ///
    /// # Panics
    /// When there is none.
    pub fn status(&self) -> u16 {
        let status = self.start.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no status: {self:?}"))
    }

    /// The headers without those of the framing, which each hop may choose, and without `others`.
    pub fn without(&self, others: &[&str]) -> Vec<(String, String)> {
        let framing = ["transfer-encoding", "connection", "keep-alive"];
        let is_left_out =
            |name: &str| framing.iter().chain(others).any(|other| name.eq_ignore_ascii_case(other));
        self.headers.iter().filter(|(name, _)| !is_left_out(name)).cloned().collect()
    }
}

/// A connection whose other side speaks HTTP/1.1.
#[derive(Debug)]
pub struct RawSocket<S> {
    stream: S,
    /// What came and was not looked at yet.
    ahead: Vec<u8>,
}

/// Sends `request` to `address`, and reads the answer to its end or to where it was cut.
///
/// # Panics
/// When there is no connection.
pub async fn call(address: SocketAddr, request: &[u8]) -> RawMessage {
    let mut wire = connect(address).await;
    wire.send(request).await;
    within("the answer", wire.message()).await
}

/// A connection to `address`.
///
/// # Panics
/// When there is none.
pub async fn connect(address: SocketAddr) -> RawSocket<TcpStream> {
    let stream = within("a connection", TcpStream::connect(address)).await.expect("it listens");
    stream.set_nodelay(true).expect("a live socket");
    RawSocket::new(stream)
}

/// Headers as they are written.
pub fn lines(headers: &[(&str, &str)]) -> String {
    headers.iter().fold(String::new(), |all, (name, value)| all + name + ": " + value + "\r\n")
}

/// A request with a JSON body.
pub fn post(target: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers = lines(headers);
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

impl<S: AsyncRead + tokio::io::AsyncWrite + Unpin> RawSocket<S> {
    /// Speaks WebSocket frames over `stream`, after the handshake.
    pub fn new(stream: S) -> Self {
        Self { stream, ahead: Vec::new() }
    }

    /// The connection that it reads from and writes to.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends bytes.
    ///
    /// # Panics
    /// When the other side is gone.
    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the other side is there");
    }

    /// Sends bytes to somebody who may be gone.
    pub async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Ready when the other side has closed.
    pub async fn closed(&mut self) {
        while self.more().await {}
    }

    /// Everything until the other side closes.
    pub async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.ahead)
    }

    /// A message, to its end or to where it was cut.
    pub async fn message(&mut self) -> RawMessage {
        let Some(mut message) = self.head().await else { return RawMessage::default() };
        let bodiless = ["HTTP/1.1 204", "HTTP/1.1 304", "HTTP/1.1 1"];
        if bodiless.iter().any(|start| message.start.starts_with(start)) {
            message.is_whole = true;
            return message;
        }
        self.body(&mut message).await;
        message
    }

    /// The head of a message.
    pub async fn head(&mut self) -> Option<RawMessage> {
        let mut message = RawMessage { start: self.line().await?, ..RawMessage::default() };
        while let Some((name, value)) = self.field().await? {
            message.headers.push((name, value));
        }
        Some(message)
    }

    /// The next bytes of a body in pieces, as they come: one piece, or nothing at its end.
    pub async fn piece(&mut self) -> Option<Vec<u8>> {
        let line = self.line().await?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        let piece = self.take(size).await?;
        if size > 0 {
            self.line().await?;
        }
        Some(piece)
    }

    async fn body(&mut self, message: &mut RawMessage) {
        let is_request = !message.start.starts_with("HTTP/");
        if message.header("transfer-encoding").is_some_and(|how| how.contains("chunked")) {
            while let Some(piece) = self.piece().await {
                if piece.is_empty() {
                    message.is_whole = self.trailers(message).await.is_some();
                    return;
                }
                message.body.extend(piece);
            }
        } else if let Some(length) = message.header("content-length").and_then(|length| length.parse().ok()) {
            while self.ahead.len() < length && self.more().await {}
            message.is_whole = self.ahead.len() >= length;
            message.body = self.ahead.drain(..length.min(self.ahead.len())).collect();
        } else {
            if !is_request {
                while self.more().await {}
                message.body = std::mem::take(&mut self.ahead);
            }
            message.is_whole = true;
        }
    }

    async fn trailers(&mut self, message: &mut RawMessage) -> Option<()> {
        while let Some((name, value)) = self.field().await? {
            message.trailers.push((name, value));
        }
        Some(())
    }

    async fn field(&mut self) -> Option<Option<(String, String)>> {
        let line = self.line().await?;
        let Some((name, value)) = line.split_once(':') else { return Some(None) };
        Some(Some((name.to_owned(), value.trim().to_owned())))
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.ahead.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.take(at).await?;
                self.take(2).await?;
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        while self.ahead.len() < size {
            if !self.more().await {
                return None;
            }
        }
        Some(self.ahead.drain(..size).collect())
    }

    /// Whether there was more.
    async fn more(&mut self) -> bool {
        self.ahead.reserve(16 << 10);
        matches!(self.stream.read_buf(&mut self.ahead).await, Ok(1..))
    }
}
