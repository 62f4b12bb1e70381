//! The sink into a WebSocket: one event a message. A socket that is lost is opened again; what comes meanwhile waits where
//! that is wanted, else it is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::config::{Api, StreamSocket, Upstream};
use crate::proxy::{Plug, reason};
use crate::state::Shared;

/// How long one try to open it, and to send or close, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Before another try; twice as long before each later one.
const PAUSE: Duration = Duration::from_millis(250);

type Socket = WebSocketStream<Plug>;

/// Sends what comes, until nothing more does or it is given up.
pub(super) async fn run(
    shared: &Arc<Shared>,
    target: &StreamSocket,
    mut inbox: mpsc::Receiver<Arc<str>>,
    lost: &AtomicU64,
) {
    let url = match target.url.filled() {
        Ok(url) => url,
        Err(why) => return tracing::warn!(why, "a sink of the provider has no address"),
    };
    let mut socket: Option<Socket> = None;
    loop {
        let event = tokio::select! {
            event = inbox.recv() => event,
            // What it says is of no interest; that it is gone, is.
            said = hear(&mut socket) => {
                if !said {
                    socket = None;
                }
                continue;
            }
        };
        let Some(event) = event else { break };
        loop {
            if socket.is_none() {
                socket = open(shared, &url, target.attempts).await;
                if socket.is_none() {
                    lost.fetch_add(1, Ordering::Relaxed);
                    return give_up(&mut inbox, lost);
                }
            }
            if tell(&mut socket, &event).await {
                break;
            }
            if !target.waits {
                // It was lost on the way, and so is what came since.
                lost.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        if socket.is_none() && !target.waits {
            while inbox.try_recv().is_ok() {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    if let Some(mut socket) = socket {
        // Nobody is there who would mind.
        drop(timeout(PATIENCE, socket.close(None)).await);
    }
}

fn give_up(inbox: &mut mpsc::Receiver<Arc<str>>, lost: &AtomicU64) {
    inbox.close();
    while inbox.try_recv().is_ok() {
        lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether it is still there after it said something. Without one nothing is ever said.
async fn hear(socket: &mut Option<Socket>) -> bool {
    match socket {
        None => std::future::pending().await,
        Some(socket) => matches!(socket.next().await, Some(Ok(message)) if !message.is_close()),
    }
}

/// Whether it took the event; else it is gone.
async fn tell(socket: &mut Option<Socket>, event: &Arc<str>) -> bool {
    let Some(open) = socket else { return false };
    let sent = timeout(PATIENCE, open.send(Message::text(&**event))).await;
    let is_sent = matches!(sent, Ok(Ok(())));
    if !is_sent {
        *socket = None;
    }
    is_sent
}

/// Opens it, with one try and `again` more.
async fn open(shared: &Arc<Shared>, url: &str, again: u32) -> Option<Socket> {
    let mut pause = PAUSE;
    for number in 0..=again {
        let why = match timeout(PATIENCE, plug_in(shared, url)).await {
            Ok(Ok(socket)) => return Some(socket),
            Ok(Err(why)) => why,
            Err(_elapsed) => String::from("it does not answer"),
        };
        if number == again || shared.is_draining() {
            tracing::warn!(why, "a sink of the provider is given up");
            return None;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.drain.cancelled() => {}
        }
        pause = pause.saturating_mul(2).min(PATIENCE);
    }
    None
}

async fn plug_in(shared: &Arc<Shared>, url: &str) -> Result<Socket, String> {
    let plain = url.strip_prefix("ws").filter(|rest| rest.starts_with("://") || rest.starts_with("s://"));
    let plain = plain.ok_or_else(|| format!("{url:?} begins neither with ws:// nor with wss://"))?;
    let place = format!("http{plain}");
    // Only the place counts here.
    let origin = place.split(['?', '#']).next().unwrap_or_default();
    let upstream = Upstream::new("sink", origin, Api::OpenAi).map_err(|error| error.to_string())?;
    let plug = shared.proxy.plug(&upstream).await?;
    let opened = client_async(url, plug).await;
    opened.map(|(socket, _answer)| socket).map_err(|error| reason(&error))
}
