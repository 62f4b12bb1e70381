//! The sink into a WebSocket: one event per message. A lost connection is opened again. Events that come
//! meanwhile wait if the settings say so; otherwise they are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};
use upstream::{Api, RawConnection, Upstream, reason};

use crate::host::Host;
use crate::settings::StreamSocket;

/// How long one attempt to open, send or close may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long one attempt to open, send or close may take once the hub drains, which must not take long.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// The pause before the second attempt; each further pause is twice as long.
const PAUSE: Duration = Duration::from_millis(250);

/// A WebSocket over a connection of the hub's own.
type Socket = WebSocketStream<RawConnection>;

/// The receiver of the events.
struct Peer<'a> {
    /// Opens connections, and says when the hub drains.
    host: &'a Arc<Host>,
    /// The settings of the sink.
    target: &'a StreamSocket,
    /// The filled URL. It may contain secrets and must not be printed.
    url: String,
    /// The connection; `None` before the first event and after it was lost.
    socket: Option<Socket>,
}

/// Sends events until no more can come or the receiver is given up.
pub(super) async fn run(
    host: &Arc<Host>,
    target: &StreamSocket,
    mut inbox: mpsc::Receiver<Arc<str>>,
    lost: &AtomicU64,
) {
    let url = match target.url.filled() {
        Ok(url) => url,
        Err(why) => return tracing::warn!(why, "a sink of the provider has no address"),
    };
    let mut peer = Peer { host, target, url, socket: None };
    loop {
        let event = tokio::select! {
            event = inbox.recv() => event,
            // Its messages do not matter, but its end does.
            said = hear(&mut peer.socket) => {
                if !said {
                    peer.socket = None;
                }
                continue;
            }
        };
        let Some(event) = event else { break };
        match peer.deliver(&event).await {
            Ok(true) => {}
            Ok(false) => {
                // This event was lost, and so are those that came since.
                lost.fetch_add(1, Ordering::Relaxed);
                while inbox.try_recv().is_ok() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(why) => {
                tracing::warn!(why, "a sink of the provider is given up");
                lost.fetch_add(1, Ordering::Relaxed);
                // Events that still come are lost too, and are counted before the sum is logged.
                while inbox.recv().await.is_some() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
                return;
            }
        }
    }
    if let Some(mut socket) = peer.socket {
        // A failure to close does not matter any more.
        drop(in_time(host, socket.close(None)).await);
    }
}

/// Whether the connection is still there after its next message. Never ready without a connection.
async fn hear(socket: &mut Option<Socket>) -> bool {
    match socket {
        None => std::future::pending().await,
        Some(socket) => matches!(socket.next().await, Some(Ok(message)) if !message.is_close()),
    }
}

/// The result of `work` in time, which is short once the hub drains.
async fn in_time<T>(host: &Host, work: impl Future<Output = T>) -> Option<T> {
    let hurry = async {
        host.drain.cancelled().await;
        sleep(LAST_PATIENCE).await;
    };
    tokio::select! {
        done = timeout(PATIENCE, work) => done.ok(),
        () = hurry => None,
    }
}

impl Peer<'_> {
    /// Delivers an event. False if it was lost because nothing waits. Fails with the reason when all attempts
    /// have failed.
    async fn deliver(&mut self, event: &str) -> Result<bool, String> {
        // Sending over an open connection is no attempt: it may have been lost long ago.
        if self.socket.is_some() {
            if self.tell(event).await {
                return Ok(true);
            }
            if !self.target.waits {
                return Ok(false);
            }
        }
        let (mut pause, mut again) = (PAUSE, self.target.attempts);
        loop {
            let why = match self.open().await {
                Ok(()) => {
                    let is_told = self.tell(event).await;
                    if is_told || !self.target.waits {
                        return Ok(is_told);
                    }
                    String::from("it is opened and takes nothing")
                }
                Err(why) => why,
            };
            if again == 0 || self.host.is_draining() {
                return Err(why);
            }
            again = again.saturating_sub(1);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.host.drain.cancelled() => return Err(why),
            }
            pause = pause.saturating_mul(2).min(PATIENCE);
        }
    }

    /// Sends the event. False if the connection is gone.
    async fn tell(&mut self, event: &str) -> bool {
        let Some(open) = &mut self.socket else { return false };
        let sent = in_time(self.host, open.send(Message::text(event))).await;
        let is_sent = matches!(sent, Some(Ok(())));
        if !is_sent {
            self.socket = None;
        }
        is_sent
    }

    /// Makes one attempt to open a connection. The error says why it failed.
    async fn open(&mut self) -> Result<(), String> {
        let opened = Box::pin(in_time(self.host, plug_in(self.host, &self.url))).await;
        self.socket = Some(opened.unwrap_or_else(|| Err(String::from("it does not answer")))?);
        Ok(())
    }
}

/// Opens a connection to `url`.
async fn plug_in(host: &Arc<Host>, url: &str) -> Result<Socket, String> {
    let plain = url.strip_prefix("ws").filter(|rest| rest.starts_with("://") || rest.starts_with("s://"));
    // The URL may contain a secret, and errors are logged.
    let plain = plain.ok_or("its URL begins neither with ws:// nor with wss://")?;
    let place = format!("http{plain}");
    // Only the scheme and the host matter here.
    let origin = place.split(['?', '#']).next().unwrap_or_default();
    let upstream = Upstream::new("sink", origin, Api::OpenAi).map_err(|error| error.to_string())?;
    let plug = host.egress.connect(&upstream).await?;
    let opened = client_async(url, plug).await;
    opened.map(|(socket, _answer)| socket).map_err(|error| reason(&error))
}
