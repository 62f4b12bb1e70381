//! One WebSocket to a hub, from the handshake to the close.
//!
//! ```text
//! GET /v1/ws, Authorization ─▶ 101 ─▶ hello ─▶ welcome ─▶ HubLink: send, receive ─▶ close, or a drop
//!    4xx but 408 and 429: Refused        bye without reconnect: Refused       anything else: Failed or Silent
//! ```

use std::time::Duration;

use futures_util::{SinkExt as _, Stream, StreamExt as _};
use model::frame::{ClientFrame, SUBPROTOCOL, ServerFrame, VERSION, Welcome, parse_server};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use upstream::{RawConnection, not_http, reason};

use super::HubAddress;
use super::egress::EGRESS;

/// How long the handshake may take, including `hello` and `welcome`.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// The time added to two heartbeats before a silent socket counts as dead: the hub may be busy.
pub(super) const SILENCE_GRACE: Duration = Duration::from_secs(10);

/// How long the hub may take to answer a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest frame that is accepted from a hub, in bytes: a snapshot can be large.
const INBOUND_FRAME_BYTES_MAX: usize = 512 << 20;

/// An open socket after `hello` and `welcome`, for those who deal with frames themselves. Dropping it closes the socket.
#[derive(Debug)]
pub struct HubLink {
    socket: HubSocket,
    welcome: Welcome,
}

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum HubLinkError {
    /// The attempt failed; another one may succeed later.
    #[error("{0}")]
    Failed(String),
    /// The connection was accepted but not answered; it may succeed later.
    #[error("{0}")]
    Silent(String),
    /// The hub refused; another attempt will not succeed.
    #[error("{code} {reason}")]
    Refused {
        /// The close code or the HTTP status.
        code: u16,
        /// The reason that the hub gave.
        reason: String,
    },
}

/// Why a socket was closed.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct SocketClosed {
    /// The hub's close code, if it sent one.
    pub code: Option<u16>,
    /// The reason, for people.
    pub why: String,
}

impl SocketClosed {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { code: None, why: why.into() }
    }
}

impl HubLink {
    /// Connects and completes the handshake, within 10 seconds. Fails with [`HubLinkError::Refused`] where
    /// another attempt would be answered in the same way. Dropping the future gives up.
    pub async fn open(address: &HubAddress) -> Result<Self, HubLinkError> {
        // Boxed, since the future is large and seldom needed.
        match tokio::time::timeout(OPEN_TIMEOUT, Box::pin(Self::handshake(address))).await {
            Ok(opened) => opened,
            Err(_elapsed) => Err(HubLinkError::Silent(String::from("the hub does not answer the handshake"))),
        }
    }

    async fn handshake(address: &HubAddress) -> Result<Self, HubLinkError> {
        let failed = |error: &dyn std::fmt::Display| HubLinkError::Failed(error.to_string());
        address.check_secrecy().map_err(|error| failed(&error))?;
        let mut request = address.socket().into_client_request().map_err(|error| failed(&error))?;
        let headers = request.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        if let Some(token) = address.token() {
            let mut token =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|error| failed(&error))?;
            token.set_sensitive(true);
            headers.insert(AUTHORIZATION, token);
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(INBOUND_FRAME_BYTES_MAX))
            .max_frame_size(Some(INBOUND_FRAME_BYTES_MAX));
        let hub = address.upstream().map_err(|error| HubLinkError::Failed(reason(&error)))?;
        let connection = Box::new(EGRESS.connect(&hub).await.map_err(HubLinkError::Failed)?);
        let connected = tokio_tungstenite::client_async_with_config(request, connection, Some(config)).await;
        let (mut socket, _response) = connected.map_err(|error| match &error {
            Error::Http(response) if is_final(response.status()) => HubLinkError::Refused {
                code: response.status().as_u16(),
                reason: response.body().as_deref().map(beginning).unwrap_or_default(),
            },
            Error::Protocol(ProtocolError::HttparseError(_)) if !address.is_tls() => {
                HubLinkError::Failed(not_http(&error))
            }
            _ => failed(&error),
        })?;
        let hello = ClientFrame::Hello {
            versions: vec![VERSION.into()],
            client: Some(concat!("fanlight/", env!("CARGO_PKG_VERSION")).into()),
            // The token is in the request, which the hub can refuse before there is a socket.
            token: None,
        };
        write(&mut socket, &hello).await.map_err(|closed| failed(&closed.why))?;
        match read(&mut socket).await {
            Ok(ServerFrame::Welcome(welcome)) => Ok(Self { socket, welcome }),
            Ok(ServerFrame::Bye { code, reconnect: false, reason, .. }) => {
                Err(HubLinkError::Refused { code, reason: reason.into() })
            }
            Ok(other) => {
                Err(HubLinkError::Failed(format!("the hub began with {other:?} instead of welcome")))
            }
            Err(SocketClosed { code: Some(code), why }) if !model::code::CloseCode::may_reconnect(code) => {
                Err(HubLinkError::Refused { code, reason: why })
            }
            Err(closed) => Err(HubLinkError::Failed(closed.why)),
        }
    }

    /// The hub's welcome and the socket.
    pub(super) fn into_parts(self) -> (Welcome, HubSocket) {
        (self.welcome, self.socket)
    }

    /// The hub's answer to `hello`.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a frame and waits until the kernel has it. Cancelling it may lose the frame.
    pub async fn send(&mut self, frame: &ClientFrame) -> Result<(), SocketClosed> {
        write(&mut self.socket, frame).await
    }

    /// Waits for the next frame. Can be cancelled.
    pub async fn receive(&mut self) -> Result<ServerFrame, SocketClosed> {
        read(&mut self.socket).await
    }

    /// Closes the socket and waits briefly for the hub's answer.
    pub async fn close(mut self) {
        let closing = async {
            self.socket.close(None).await?;
            while self.socket.next().await.transpose()?.is_some() {}
            Ok::<(), Error>(())
        };
        // A hub that does not answer the close loses the socket anyway.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, closing).await);
    }
}

/// Whether the status would be the same in the next attempt.
fn is_final(status: StatusCode) -> bool {
    status.is_client_error()
        && status != StatusCode::TOO_MANY_REQUESTS
        && status != StatusCode::REQUEST_TIMEOUT
}

fn beginning(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(200).collect()
}

/// The socket that carries the frames. Boxed, since what TLS keeps would make all futures that hold a socket large.
pub(super) type HubSocket = WebSocketStream<Box<RawConnection>>;

async fn write(socket: &mut HubSocket, frame: &ClientFrame) -> Result<(), SocketClosed> {
    let text = serde_json::to_string(frame).map_err(|error| SocketClosed::new(error.to_string()))?;
    socket.send(Message::text(text)).await.map_err(|error| SocketClosed::new(error.to_string()))
}

/// Waits for the next frame. Can be cancelled.
pub(super) async fn read(
    socket: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
) -> Result<ServerFrame, SocketClosed> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                return parse_server(&text).map_err(|error| {
                    SocketClosed::new(format!("the hub sent a frame that cannot be read: {error}"))
                });
            }
            Some(Ok(Message::Close(Some(frame)))) => {
                return Err(SocketClosed { code: Some(frame.code.into()), why: frame.reason.to_string() });
            }
            // Pings are answered by the library; binary frames are reserved for later versions.
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(SocketClosed::new(error.to_string())),
            None => return Err(SocketClosed::new("the hub closed the connection")),
        }
    }
}
