//! A courier: carries events to a hub over WebSocket, each exactly once (invariant I10), through the loss of the network and
//! of the hub.
//!
//! It numbers the events, keeps those that the hub does not have yet, and sends them again where it must. It takes no more
//! from its source than it may keep ([`WINDOW_BYTES_MAX`]); a source that must not wait stands behind a [`Spool`]. What a
//! hub has acked at `memory` it would forget with its death: as long as there is room ([`KEPT_BYTES_MAX`]) the courier keeps
//! it too, and tells a hub that comes back empty-handed everything again.
//!
//! What is said next is decided in [`ledger`], without I/O; what happens to the socket, here.
//!
//! ```no_run
//! # async fn publish(events: Vec<model::Envelope>) -> Result<(), client::CourierError> {
//! use client::Courier;
//!
//! let hub = "http://127.0.0.1:4600".parse().expect("an address");
//! let mut courier = Courier::new(hub, "c42".parse().expect("a name"), "agent-7".into());
//! let source = futures_util::stream::iter([events]);
//! courier.carry(source, |_news| {}).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Spool`]: super::Spool

use futures_util::{Stream, StreamExt as _};
use model::anomaly::{Anomaly, AnomalyCode};
use model::code::{CloseCode, ErrorCode};
use model::event::Kind;
use model::frame::{Ack, Durability};
use model::limits::INBOUND_FRAME_BYTES_MAX;
use model::{ConversationId, Envelope, Event, Position, PublisherId};
use tokio::time::Instant;

use super::link::{HubLink, LinkError, SocketClosed};
use super::reconnection::Reconnection;
use super::{HttpPublisher, HubAddress};

mod ledger;
mod line;
mod window;

pub(crate) use ledger::{AckLedger, DueFrame, FrameNumbers, GapRecovery};
use line::{CourierSocket, HubAnswer};
use window::{ResendWindow, json_bytes};

/// Most bytes of events that wait for their acks, as JSON; beyond it nothing is taken from the source.
pub const WINDOW_BYTES_MAX: u64 = 4 << 20;

/// Most bytes of events that are kept, acked or not, as JSON.
pub const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Bytes of one frame after which no more events are added to it.
const FRAME_BYTES_TARGET: u64 = 256 << 10;

/// Room in a frame for what is not events.
const FRAME_HEAD_BYTES: u64 = 4 << 10;

/// Largest event that a hub takes, in bytes as JSON: what does not fit into a frame goes as the body of a request.
const EVENT_BYTES_MAX: u64 = 15 << 20;

/// What happens on the way, for whoever wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CourierEvent {
    /// The hub is there.
    Connected,
    /// It is not, or not any more; the courier tries again after the wait.
    Lost {
        /// Why.
        why: String,
        /// How long it waits, in milliseconds.
        retry_ms: u64,
        /// In what way it is not there.
        absence: HubAbsence,
    },
    /// The hub has forgotten what it had acked, and of that so many events are not here any more. The courier goes on with
    /// what is, in a new life.
    Forgotten {
        /// So many.
        missing: u64,
    },
}

/// In what way a hub is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubAbsence {
    /// No connection was to be had.
    Nobody,
    /// It was there and has gone, or it is there and says nothing.
    Lost,
}

/// Why a courier cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CourierError {
    /// No connection ([`Courier::connect`] only).
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// Where.
        url: HubAddress,
        /// Why.
        cause: String,
    },
    /// The hub does not want this client back.
    #[error("the hub at {url} closed for good: {code} {reason}")]
    Closed {
        /// Where.
        url: HubAddress,
        /// The close code, or the HTTP status where it did not come to a socket.
        code: u16,
        /// What the hub said.
        reason: String,
    },
    /// The hub does not take the events.
    #[error("the hub at {url} refused: {message}")]
    Refused {
        /// Where.
        url: HubAddress,
        /// What the hub said, with its code.
        message: String,
    },
}

/// How far a courier has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CourierStatus {
    /// Events that were taken from the source.
    pub offered: u64,
    /// Events that the hub has.
    pub acked: u64,
    /// Events that a hub forgot and could not be told again.
    pub missing: u64,
    /// Where the conversation stood at the newest ack.
    pub position: Option<Position>,
}

/// A publisher that delivers each event exactly once. Dropping it closes the connection; events without an ack are lost
/// with it.
#[derive(Debug)]
pub struct Courier {
    address: HubAddress,
    conversation: ConversationId,
    publisher: PublisherId,
    http: HttpPublisher,
    ledger: AckLedger,
    window: ResendWindow,
    missing: u64,
    position: Option<Position>,
    line: Option<CourierSocket>,
    comeback: Reconnection,
}

/// What goes on with a socket, or does not.
enum SocketStep {
    On,
    Lost(SocketClosed),
}

impl Courier {
    /// A courier into `conversation` under the name `publisher`, which nobody else may use and which begins its first life.
    /// Connects when it is needed.
    pub fn new(address: HubAddress, conversation: ConversationId, publisher: PublisherId) -> Self {
        Self {
            http: HttpPublisher::new(address.clone()),
            address,
            conversation,
            publisher,
            ledger: AckLedger::default(),
            window: ResendWindow::default(),
            missing: 0,
            position: None,
            line: None,
            comeback: Reconnection::default(),
        }
    }

    /// The same, for a publisher that had lives before: `life` must be higher than all of them.
    #[must_use]
    pub fn of_life(self, life: u64) -> Self {
        Self { ledger: AckLedger::of_life(life), ..self }
    }

    /// How far it has come.
    pub fn standing(&self) -> CourierStatus {
        CourierStatus {
            offered: self.ledger.offered(),
            acked: self.ledger.acked(),
            missing: self.missing,
            position: self.position.clone(),
        }
    }

    /// Connects, or says why that does not work. For those who do not want to wait for a hub that was never there.
    pub async fn connect(&mut self) -> Result<(), CourierError> {
        match HubLink::open(&self.address).await {
            Ok(link) => self.opened(link),
            Err(LinkError::Refused { code, reason }) => return Err(self.closed(code, reason)),
            Err(LinkError::Failed(cause) | LinkError::Silent(cause)) => {
                return Err(CourierError::Unreachable { url: self.address.clone(), cause });
            }
        }
        Ok(())
    }

    /// Carries what `source` gives, until it has ended and the hub has everything. Goes on for ever where there is no hub.
    /// When this is dropped, what was not acked is as it was; [`Courier::standing`] says how much that is.
    pub async fn carry(
        &mut self,
        source: impl Stream<Item = Vec<Envelope>>,
        mut tell: impl FnMut(CourierEvent) + Send,
    ) -> Result<CourierStatus, CourierError> {
        let mut source = std::pin::pin!(source.fuse());
        loop {
            if source.is_done() && (self.ledger.is_done() || self.ledger.offered() == 0) {
                return Ok(self.standing());
            }
            let Some(mut line) = self.line.take() else {
                self.open(&mut source, &mut tell).await?;
                continue;
            };
            match self.step(&mut line, &mut source, &mut tell).await? {
                SocketStep::On => self.line = Some(line),
                SocketStep::Lost(closed) => self.lost(closed, HubAbsence::Lost, &mut tell)?,
            }
        }
    }

    fn has_room(&self) -> bool {
        self.window.bytes_after(self.ledger.acked()) < WINDOW_BYTES_MAX
    }

    /// Connects when it is time, and takes from the source meanwhile what there is room for.
    async fn open<S: Stream<Item = Vec<Envelope>>>(
        &mut self,
        source: &mut std::pin::Pin<&mut futures_util::stream::Fuse<S>>,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<(), CourierError> {
        // Boxed, since it is large and rare.
        let mut attempt = Box::pin(opening(self.address.clone(), self.comeback.at()));
        let opened = loop {
            let room = self.has_room() && !source.is_done();
            // The source may be left at any time, and the attempt goes on in the next round.
            tokio::select! {
                biased;
                opened = &mut attempt => break opened,
                events = source.next(), if room => {
                    self.offer(events.unwrap_or_default());
                    if source.is_done() {
                        // Whoever waits for the end shall not wait for the next attempt too.
                        self.comeback.succeeded();
                        attempt.set(opening(self.address.clone(), Instant::now()));
                    }
                }
            }
        };
        match opened {
            Ok(link) => {
                self.opened(link);
                tell(CourierEvent::Connected);
                Ok(())
            }
            Err(LinkError::Refused { code, reason }) => Err(self.closed(code, reason)),
            Err(LinkError::Failed(why)) => self.lost(SocketClosed::new(why), HubAbsence::Nobody, tell),
            Err(LinkError::Silent(why)) => self.lost(SocketClosed::new(why), HubAbsence::Lost, tell),
        }
    }

    fn opened(&mut self, link: HubLink) {
        self.ledger.connected();
        self.line = Some(CourierSocket::new(link));
    }

    /// Takes events from the source.
    fn offer(&mut self, events: Vec<Envelope>) {
        self.ledger.offer(events.len() as u64);
        for mut envelope in events {
            let bytes = json_bytes(&envelope);
            if bytes > EVENT_BYTES_MAX {
                let detail = format!("an event of {bytes} bytes, more than the {EVENT_BYTES_MAX} that fit");
                let kind = Kind::Anomaly(Anomaly { code: AnomalyCode::TooLarge, detail });
                envelope.event = Event { kind, ..envelope.event };
            }
            self.window.push(envelope);
        }
        self.trim();
    }

    /// Lets go of what the hub has, as far as there is no room for it.
    fn trim(&mut self) {
        self.window.shrink(KEPT_BYTES_MAX, self.ledger.acked());
        self.ledger.forget(self.window.begins_after());
    }

    /// Whatever comes first on an open socket.
    async fn step<S: Stream<Item = Vec<Envelope>>>(
        &mut self,
        line: &mut CourierSocket,
        source: &mut std::pin::Pin<&mut futures_util::stream::Fuse<S>>,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<SocketStep, CourierError> {
        if let Some(event) = self.too_large_for(line) {
            if !self.ledger.has_flights() {
                return self.request(event).await;
            }
        } else if line.is_free() && self.ledger.due().is_some() {
            let frame = self.frame(line);
            return Ok(line.put(&frame).map_or_else(SocketStep::Lost, |()| SocketStep::On));
        }
        let room = self.has_room() && !source.is_done();
        // All may be left at any time: they wait, or write what the line keeps until it is written.
        tokio::select! {
            said = line.next() => match said {
                Ok(said) => self.take(said, tell),
                Err(closed) => Ok(SocketStep::Lost(closed)),
            },
            events = source.next(), if room => {
                self.offer(events.unwrap_or_default());
                Ok(SocketStep::On)
            }
        }
    }

    /// The next event, when it does not fit into a frame.
    fn too_large_for(&self, line: &CourierSocket) -> Option<u64> {
        let Some(DueFrame::Events(after)) = self.ledger.due() else { return None };
        (self.window.next_bytes(after) > line.frame_bytes_max()).then_some(after)
    }

    /// The frame that is due.
    fn frame(&mut self, line: &CourierSocket) -> model::frame::ClientFrame {
        let events = match self.ledger.due() {
            Some(DueFrame::Events(after)) => {
                self.window.after(after, line.events_max(), FRAME_BYTES_TARGET.min(line.frame_bytes_max()))
            }
            _ => Vec::new(),
        };
        let numbers = self.ledger.send_more(events.len() as u64);
        line::publication(&self.conversation, &self.publisher, numbers, events)
    }

    /// Publishes the one event after `event` over HTTP, which takes larger ones.
    async fn request(&mut self, event: u64) -> Result<SocketStep, CourierError> {
        let events = self.window.after(event, 1, u64::MAX);
        let numbers = self.ledger.send_more(events.len() as u64);
        let claim = format!("{}/{}/{}-{}", self.publisher, numbers.life, numbers.first, numbers.last);
        match self.http.numbered(&self.conversation, &events, &claim).await {
            Ok(taken) => {
                self.position = Some(taken.position);
                self.ledger.ack(numbers.id);
                self.trim();
                Ok(SocketStep::On)
            }
            Err(super::PublishError::Refused { status, message, .. }) => match status {
                // A gap shows again over the socket, which says what is expected.
                408 | 409 | 429 | 500.. => Ok(SocketStep::Lost(SocketClosed::new(message))),
                _ => Err(self.refused(message)),
            },
            Err(error) => Ok(SocketStep::Lost(SocketClosed::new(error.to_string()))),
        }
    }

    /// Takes what the hub said.
    fn take(
        &mut self,
        said: HubAnswer,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<SocketStep, CourierError> {
        match said {
            HubAnswer::Nothing => {}
            HubAnswer::Bye { code, reconnect: false, reason, .. } => return Err(self.closed(code, reason)),
            HubAnswer::Bye { retry_ms, .. } => self.comeback.asked(retry_ms),
            HubAnswer::Ack(ack) => self.acked(ack),
            HubAnswer::Refused { id, code: ErrorCode::PublisherGap, expected: Some(expected), .. } => {
                if let GapRecovery::NewLife { missing } = self.ledger.gap(id, expected) {
                    self.missing = self.missing.saturating_add(missing);
                    tell(CourierEvent::Forgotten { missing });
                }
            }
            HubAnswer::Refused { code, message, .. } => {
                let message = format!("{code}: {message}");
                return match code {
                    ErrorCode::TooMany
                    | ErrorCode::ShuttingDown
                    | ErrorCode::LogFailed
                    | ErrorCode::Internal
                    | ErrorCode::PublisherGap => Ok(SocketStep::Lost(SocketClosed::new(message))),
                    _ => Err(self.refused(message)),
                };
            }
        }
        Ok(SocketStep::On)
    }

    fn acked(&mut self, ack: Ack) {
        if !self.ledger.ack(ack.id) {
            return;
        }
        self.comeback.succeeded();
        self.position = Some(Position { epoch: ack.epoch, seq: ack.seq });
        if ack.durability >= Durability::Stored {
            self.window.drop_to(self.ledger.acked());
        }
        self.trim();
    }

    /// The socket is gone, or there was none: come back later, unless the hub does not want that.
    fn lost(
        &mut self,
        closed: SocketClosed,
        absence: HubAbsence,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<(), CourierError> {
        self.line = None;
        self.ledger.lost();
        if let Some(code) = closed.code
            && !CloseCode::may_reconnect(code)
        {
            return Err(self.closed(code, closed.why));
        }
        let retry_ms = self.comeback.lost();
        tell(CourierEvent::Lost { why: closed.why, retry_ms, absence });
        Ok(())
    }

    fn closed(&self, code: u16, reason: String) -> CourierError {
        CourierError::Closed { url: self.address.clone(), code, reason }
    }

    fn refused(&self, message: String) -> CourierError {
        CourierError::Refused { url: self.address.clone(), message }
    }
}

/// Connects when it is time.
async fn opening(address: HubAddress, at: Instant) -> Result<HubLink, LinkError> {
    tokio::time::sleep_until(at).await;
    HubLink::open(&address).await
}

/// Bytes of events that fit into a frame of `frame_bytes`.
fn room_in(frame_bytes: u64) -> u64 {
    frame_bytes.min(INBOUND_FRAME_BYTES_MAX as u64).saturating_sub(FRAME_HEAD_BYTES)
}

#[cfg(test)]
mod tests;
