//! The socket of a courier. It reads and writes at the same time, and nothing is lost when a wait is
//! cancelled.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use model::code::ErrorCode;
use model::frame::{Ack, ClientFrame, Pub, ServerFrame, Welcome};
use model::{ConversationId, Envelope, PublisherId};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::{FrameNumbers, room_in};
use crate::link::{HubLink, HubSocket, SILENCE_GRACE, SocketClosed, read};

/// An open connection to the hub. Dropping it closes the socket.
#[derive(Debug)]
pub(super) struct CourierSocket {
    /// The writing half, which keeps a frame until it is written.
    sink: SplitSink<HubSocket, Message>,
    /// The reading half of the socket.
    stream: SplitStream<HubSocket>,
    /// What the hub said of its limits and its heartbeat.
    welcome: Welcome,
    /// Whether the last frame is still being written.
    writes: bool,
    /// When the hub was last heard.
    heard_at: Instant,
}

/// An answer of the hub, as far as a courier needs it.
#[derive(Debug)]
pub(super) enum HubAnswer {
    /// Some frame that a courier does not need.
    Nothing,
    /// The hub has the events of a frame.
    Ack(Ack),
    /// The hub does not take the frame with this id; for a gap it says which number it expects.
    Refused { id: u64, code: ErrorCode, message: String, expected: Option<u64> },
    /// The hub is about to close the socket.
    Bye { code: u16, reconnect: bool, retry_ms: u64, reason: String },
}

impl CourierSocket {
    pub(super) fn new(link: HubLink) -> Self {
        let (welcome, socket) = link.into_parts();
        let (sink, stream) = socket.split();
        Self { sink, stream, welcome, writes: false, heard_at: Instant::now() }
    }

    /// Whether a frame can be put on it.
    pub(super) fn is_free(&self) -> bool {
        !self.writes
    }

    /// The most events in a frame.
    pub(super) fn events_max(&self) -> usize {
        usize::try_from(self.welcome.limits.events_per_publish).unwrap_or(usize::MAX).max(1)
    }

    /// The most bytes of events in a frame.
    pub(super) fn frame_bytes_max(&self) -> u64 {
        room_in(self.welcome.limits.inbound_frame_bytes)
    }

    /// Puts a frame on the socket, which must be free; [`CourierSocket::next`] writes it.
    pub(super) fn put(&mut self, frame: &ClientFrame) -> Result<(), SocketClosed> {
        let text = serde_json::to_string(frame).map_err(|error| SocketClosed::new(error.to_string()))?;
        self.sink
            .start_send_unpin(Message::text(text))
            .map_err(|error| SocketClosed::new(error.to_string()))?;
        self.writes = true;
        Ok(())
    }

    /// Writes the pending frame and waits for an answer; returns when either is done. Fails when the socket
    /// is closed, or after two heartbeats and [`SILENCE_GRACE`] without a word of the hub. Can be cancelled.
    pub(super) async fn next(&mut self) -> Result<HubAnswer, SocketClosed> {
        let patience = Duration::from_millis(self.welcome.hb_ms.saturating_mul(2)) + SILENCE_GRACE;
        let (sink, writes) = (&mut self.sink, self.writes);
        let written = poll_fn(|context| if writes { sink.poll_flush_unpin(context) } else { Poll::Pending });
        tokio::select! {
            frame = read(&mut self.stream) => {
                self.heard_at = Instant::now();
                self.take(frame?)
            }
            written = written => {
                self.writes = false;
                written.map_err(|error| SocketClosed::new(error.to_string()))?;
                Ok(HubAnswer::Nothing)
            }
            () = tokio::time::sleep_until(self.heard_at + patience) => {
                Err(SocketClosed::new("the hub has fallen silent"))
            }
        }
    }

    /// The meaning of a frame for a courier.
    fn take(&mut self, frame: ServerFrame) -> Result<HubAnswer, SocketClosed> {
        Ok(match frame {
            ServerFrame::Ack(ack) => HubAnswer::Ack(ack),
            ServerFrame::Error { id: Some(id), code, message, expected, .. } => {
                HubAnswer::Refused { id, code, message, expected }
            }
            ServerFrame::Bye { code, reconnect, retry_ms, reason } => {
                HubAnswer::Bye { code, reconnect, retry_ms, reason: reason.into() }
            }
            ServerFrame::Hb { .. } => {
                self.put(&ClientFrame::HbAck { at: std::collections::BTreeMap::new() })?;
                HubAnswer::Nothing
            }
            _ => HubAnswer::Nothing,
        })
    }
}

/// A frame with numbered events.
pub(super) fn publication(
    conversation: &ConversationId,
    publisher: &PublisherId,
    numbers: FrameNumbers,
    events: Vec<Envelope>,
) -> ClientFrame {
    ClientFrame::Pub(Pub {
        id: numbers.id,
        conv: conversation.clone(),
        pid: Some(publisher.clone()),
        pepoch: numbers.life,
        pfirst: numbers.first,
        pseq: numbers.last,
        // The highest durability that the hub's log offers without waiting for the disk's cache; the ack says
        // which it was.
        durability: None,
        events,
    })
}
