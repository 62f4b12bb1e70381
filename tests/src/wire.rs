//! One WebSocket to the hub, frame by frame.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use model::frame::{BearerToken, ClientFrame, SUBPROTOCOL, ServerFrame, parse_server};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Request};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::wait::within;

/// The room for unread bytes at the client's end of a narrow connection; the kernel doubles it.
const NARROW_BYTES: u32 = 16 << 10;

/// A connected socket that has been welcomed.
#[derive(Debug)]
pub struct WebSocketWire {
    socket: WebSocketStream<TcpStream>,
}

/// What a socket received.
#[derive(Debug)]
pub enum WireMessage {
    /// A frame, with the bytes that it had.
    Frame(ServerFrame, usize),
    /// The end, with its code where there was one.
    End(Option<CloseFrame>),
}

impl WebSocketWire {
    /// Connects, says hello and takes the welcome.
    ///
    /// # Panics
    /// When the hub does not answer as it must.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::connect_in_silence(address).await.welcomed().await
    }

    /// Connects as [`Self::connect`] does, over a socket whose kernel keeps few bytes that nobody reads, as that of a far and slow machine.
    ///
    /// # Panics
    /// When the hub does not answer as it must.
    pub async fn connect_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(NARROW_BYTES).expect("a size that any kernel takes");
        let stream = within("a connection", socket.connect(address)).await.expect("the hub accepts");
        Self::over(stream, address).await.welcomed().await
    }

    async fn welcomed(mut self) -> Self {
        let wire = &mut self;
        wire.send(&hello(None)).await;
        let welcome = wire.frame().await;
        assert!(matches!(welcome, ServerFrame::Welcome(_)), "{welcome:?}");
        self
    }

    /// Connects as [`Self::connect`] does; `None` where the hub is gone, or goes meanwhile.
    pub async fn try_connect(address: SocketAddr) -> Option<Self> {
        Self::try_connect_as(None, address).await
    }

    /// Connects as whoever `token` stands for; `None` where the hub is gone, or goes meanwhile.
    pub async fn try_connect_as(token: Option<&str>, address: SocketAddr) -> Option<Self> {
        let stream = within("a connection", TcpStream::connect(address)).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (socket, _answer) = within("the upgrade", client_async(request(address), stream)).await.ok()?;
        let mut wire = Self { socket };
        wire.offer(&hello(token)).await;
        wire.frame_or_end().await.is_ok().then_some(wire)
    }

    /// Connects and says nothing.
    ///
    /// # Panics
    /// When the upgrade fails.
    pub async fn connect_in_silence(address: SocketAddr) -> Self {
        let stream = within("a connection", TcpStream::connect(address)).await.expect("the hub accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        Self::over(stream, address).await
    }

    /// Connects with a cookie and says nothing, as the browser of somebody who is logged in or follows a link.
    ///
    /// # Panics
    /// When the upgrade fails.
    pub async fn connect_with_cookie(address: SocketAddr, cookie: &str) -> Self {
        let stream = within("a connection", TcpStream::connect(address)).await.expect("the hub accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        let mut request = request(address).into_client_request().expect("a request");
        request.headers_mut().insert("cookie", cookie.parse().expect("a header"));
        request.headers_mut().insert("origin", format!("http://{address}").parse().expect("a header"));
        let (socket, _answer) =
            within("the upgrade", client_async(request, stream)).await.expect("the upgrade");
        Self { socket }
    }

    /// Upgrades `stream`.
    ///
    /// # Panics
    /// When the upgrade fails.
    pub async fn over(stream: TcpStream, address: SocketAddr) -> Self {
        let upgrade = client_async(request(address), stream);
        let (socket, answer) = within("the upgrade", upgrade).await.expect("the upgrade");
        assert_eq!(answer.headers()["sec-websocket-protocol"], SUBPROTOCOL);
        Self { socket }
    }

    /// Sends a frame to the hub.
    pub async fn send(&mut self, frame: &ClientFrame) {
        let text = serde_json::to_string(frame).expect("a frame can be written");
        self.send_text(text).await;
    }

    /// Sends any text.
    ///
    /// # Panics
    /// When the socket is gone.
    pub async fn send_text(&mut self, text: String) {
        within("the hub to take a frame", self.socket.send(Message::text(text)))
            .await
            .expect("the socket is open");
    }

    /// Sends a frame unless the socket is gone; says whether it went out.
    ///
    /// # Panics
    /// When the frame cannot be written.
    pub async fn offer(&mut self, frame: &ClientFrame) -> bool {
        self.offer_text(serde_json::to_string(frame).expect("a frame can be written")).await
    }

    /// Sends any text unless the socket is gone; says whether it went out.
    pub async fn offer_text(&mut self, text: String) -> bool {
        within("the hub to take a frame", self.socket.send(Message::text(text))).await.is_ok()
    }

    /// What comes next.
    ///
    /// # Panics
    /// When nothing comes, or something that is no frame.
    pub async fn next(&mut self) -> WireMessage {
        match self.text().await {
            Ok(text) => {
                let frame = parse_server(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
                WireMessage::Frame(frame, text.len())
            }
            Err(close) => WireMessage::End(close),
        }
    }

    /// The next frame as it travelled; at the end the close with its code, where there was one.
    ///
    /// # Panics
    /// When nothing comes.
    pub async fn text(&mut self) -> Result<Utf8Bytes, Option<CloseFrame>> {
        loop {
            match within("a frame of the hub", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(close))) => return Err(close),
                Some(Ok(_ping)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The next frame; heartbeats are answered on the way.
    ///
    /// # Panics
    /// When the socket ends instead.
    pub async fn frame(&mut self) -> ServerFrame {
        self.frame_and_size().await.0
    }

    /// The next frame and its bytes.
    ///
    /// # Panics
    /// When the socket ends instead.
    pub async fn frame_and_size(&mut self) -> (ServerFrame, usize) {
        let came = self.frame_or_end().await;
        came.unwrap_or_else(|close| panic!("the hub closed the socket: {close:?}"))
    }

    /// The next frame and its bytes, or the end; heartbeats are answered on the way.
    pub async fn frame_or_end(&mut self) -> Result<(ServerFrame, usize), Option<CloseFrame>> {
        loop {
            match self.next().await {
                WireMessage::Frame(ServerFrame::Hb { .. }, _) => {
                    // Where the socket ends meanwhile, that comes next.
                    self.offer(&ClientFrame::HbAck { at: std::collections::BTreeMap::new() }).await;
                }
                WireMessage::Frame(frame, size) => return Ok((frame, size)),
                WireMessage::End(close) => return Err(close),
            }
        }
    }

    /// Reads up to the end; returns the code of the `bye` and that of the close.
    pub async fn end(&mut self) -> (Option<u16>, Option<u16>) {
        let mut said = None;
        loop {
            match self.next().await {
                WireMessage::Frame(ServerFrame::Bye { code, .. }, _) => said = Some(code),
                WireMessage::Frame(..) => {}
                WireMessage::End(close) => return (said, close.map(|close| close.code.into())),
            }
        }
    }
}

/// The request that becomes a WebSocket.
fn request(address: SocketAddr) -> Request<()> {
    let mut request = format!("ws://{address}/v1/ws").into_client_request().expect("a request");
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(SUBPROTOCOL));
    request
}

fn hello(token: Option<&str>) -> ClientFrame {
    let token = token.map(BearerToken::new);
    ClientFrame::Hello { versions: vec!["1".into()], client: Some("tests".into()), token }
}
