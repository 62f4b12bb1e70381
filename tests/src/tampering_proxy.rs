//! A proxy between viewers and a hub that changes what the hub says on its way, as a broken proxy might.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use model::frame::SUBPROTOCOL;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{accept_hdr_async, client_async};

/// What is made of a frame of the hub.
type ByteChange = dyn Fn(String) -> String + Send + Sync;

/// A tampering proxy; ends when it is dropped.
#[derive(Debug)]
pub struct TamperingProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl TamperingProxy {
    /// In front of `hub`; each frame of the hub goes through `change`.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start(hub: SocketAddr, change: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it listens");
        let change: Arc<ByteChange> = Arc::new(change);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(relay(stream, hub, Arc::clone(&change)));
            }
        });
        Self { address, task }
    }

    /// The address that the proxy listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TamperingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn relay(stream: TcpStream, hub: SocketAddr, change: Arc<ByteChange>) {
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let negotiate = |_: &Request, mut response: Response| {
        response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(SUBPROTOCOL));
        Ok(response)
    };
    let mut viewer = accept_hdr_async(stream, negotiate).await.expect("the viewer's upgrade");
    let mut request = format!("ws://{hub}/v1/ws").into_client_request().expect("a request");
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(SUBPROTOCOL));
    let stream = TcpStream::connect(hub).await.expect("the hub accepts");
    let (mut hub, _) = client_async(request, stream).await.expect("the hub's upgrade");
    loop {
        let sent = tokio::select! {
            said = viewer.next() => match said {
                Some(Ok(message)) => hub.send(message).await,
                _ => return,
            },
            said = hub.next() => match said {
                Some(Ok(Message::Text(text))) => viewer.send(Message::text(change(text.to_string()))).await,
                Some(Ok(message)) => viewer.send(message).await,
                _ => return,
            },
        };
        if sent.is_err() {
            return;
        }
    }
}
