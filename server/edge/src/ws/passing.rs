//! Frames of a publisher whose conversations are another hub's, passed on to it in order.
//!
//! ```text
//! pub of this socket ─▶ queue ─▶ owner? ── another hub ─▶ its link, which answers the socket
//!                                   └──── this hub ────▶ returned, and published here in order
//! ```
//!
//! A frame that cannot be passed on within `PATIENCE` is lost to the socket: it is closed, and its publisher
//! sends again what was not acked (I10).

use std::sync::Arc;

use event_log::{Owner, Purpose};
use hub::Outbox;
use model::frame::Pub;
use model::limits::ACKS_OWED_MAX;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::Instant;

use crate::peers::{self, AGAIN, Ownership, PATIENCE};
use crate::sharing::PublisherLine;

/// The frames of one socket that are passed on. It takes no memory for a socket that publishes nothing of another hub's.
#[derive(Debug, Default)]
pub(super) struct Passing {
    /// The queue and what is known of it; `None` before the first frame.
    open: Option<(Sender<Pub>, Arc<PublisherLine>)>,
}

impl Passing {
    /// Whether frames wait to be passed on, so that later ones must wait behind them.
    pub(super) fn is_queued(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, line)| line.is_queued())
    }

    /// Whether more may be read from the socket.
    pub(super) fn has_room(&self) -> bool {
        self.open.as_ref().is_none_or(|(_, line)| line.open() < ACKS_OWED_MAX)
    }

    /// Whether some frame will not be answered.
    pub(super) fn is_lost(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, line)| line.is_lost())
    }

    /// The frames of conversations that are this hub's after all, in order.
    pub(super) fn take_returned(&self) -> Vec<Pub> {
        self.open.as_ref().map_or_else(Vec::new, |(_, line)| line.take_returned())
    }

    /// Passes a frame on, behind those that wait.
    pub(super) fn pass(&mut self, ownership: &Arc<Ownership>, outbox: &Arc<Outbox>, frame: Pub) {
        let (sender, line) = self.open.get_or_insert_with(|| {
            // One more than is ever read: `has_room` stops the reading before.
            let (sender, frames) = mpsc::channel(ACKS_OWED_MAX + FRAMES_AHEAD);
            let line = Arc::new(PublisherLine::new(outbox));
            ownership.tasks.spawn(work(Arc::clone(ownership), Arc::clone(&line), frames));
            (sender, line)
        });
        line.queue();
        if sender.try_send(frame).is_err() {
            line.lose();
        }
    }
}

/// Frames that may be read before the room is looked at again.
const FRAMES_AHEAD: usize = 256;

/// Passes frames on until the socket has closed.
async fn work(ownership: Arc<Ownership>, line: Arc<PublisherLine>, mut frames: Receiver<Pub>) {
    let Some(peers) = &ownership.peers else { return };
    while let Some(frame) = frames.recv().await {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match peers::owner(&ownership, &frame.conv, Purpose::Make).await {
                Ok(Owner::Here) => {
                    line.give_back(frame);
                    break;
                }
                Ok(Owner::Elsewhere(address)) => {
                    let reply = line.reply(frame.id);
                    peers.publish(&ownership, &address, frame, reply).await;
                    break;
                }
                Err(error) => tracing::debug!(%error, "the owner of a conversation cannot be found"),
            }
            if Instant::now() >= deadline || ownership.drain.is_cancelled() {
                return line.lose();
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
