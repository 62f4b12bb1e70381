//! A courier publishes events to a hub over WebSocket, each exactly once (invariant I10), through the loss of
//! the network and of the hub.
//!
//! It numbers the events, keeps those that the hub does not have yet, and sends them again if needed. It
//! takes no more from its source than it may keep ([`WINDOW_BYTES_MAX`]); a source that must not wait is put
//! behind a [`Spool`]. A hub that dies forgets what it acked at `memory`: as long as there is room
//! ([`KEPT_BYTES_MAX`]), the courier keeps these events too and sends them to a hub that comes back without
//! them.
//!
//! [`ledger`] decides what is sent next, without I/O; this file handles the socket.
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

use super::link::{HubLink, HubLinkError, SocketClosed};
use super::reconnection::Reconnection;
use super::{HttpPublisher, HubAddress};

mod ledger;
mod line;
mod report;
mod window;

pub(crate) use ledger::{AckLedger, DueFrame, FrameNumbers, GapRecovery};
use line::{CourierSocket, HubAnswer};
pub use report::{CourierError, CourierEvent, CourierStatus, HubAbsence};
use window::{ResendWindow, json_bytes};

/// The most bytes of events (as JSON) that wait for their acks. Beyond that, nothing is taken from the
/// source.
pub const WINDOW_BYTES_MAX: u64 = 4 << 20;

/// The most bytes of events (as JSON) that are kept, acked or not.
pub const KEPT_BYTES_MAX: u64 = 16 << 20;

/// The size of a frame, in bytes, from which on no more events are added to it.
const FRAME_BYTES_TARGET: u64 = 256 << 10;

/// The bytes of a frame that are reserved for everything but its events.
const FRAME_HEAD_BYTES: u64 = 4 << 10;

/// The largest event that a hub accepts, in bytes as JSON. An event that does not fit into a frame is sent as
/// the body of a request.
const EVENT_BYTES_MAX: u64 = 15 << 20;

/// A publisher that delivers each event exactly once. Dropping it closes the connection; events without an
/// ack are lost.
#[derive(Debug)]
pub struct Courier {
    address: HubAddress,
    conversation: ConversationId,
    publisher: PublisherId,
    /// For events that do not fit into a frame.
    http: HttpPublisher,
    ledger: AckLedger,
    /// The events that may have to be sent again.
    window: ResendWindow,
    /// How many acked events a hub forgot that are not kept any more.
    missing: u64,
    position: Option<Position>,
    /// The socket, while there is one.
    line: Option<CourierSocket>,
    /// When the next attempt to connect is due.
    comeback: Reconnection,
}

/// The state of a socket after a step.
enum SocketOutcome {
    /// The socket stays open.
    On,
    /// The socket is lost, for this reason.
    Lost(SocketClosed),
}

impl Courier {
    /// A courier that publishes into `conversation` as `publisher`, a name that nobody else may use; it
    /// begins its first life. It connects when needed.
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

    /// Sets the life of a publisher that had earlier lives; `life` must be higher than all of them.
    #[must_use]
    pub fn of_life(self, life: u64) -> Self {
        Self { ledger: AckLedger::of_life(life), ..self }
    }

    /// The progress so far.
    pub fn standing(&self) -> CourierStatus {
        CourierStatus {
            offered: self.ledger.offered(),
            acked: self.ledger.acked(),
            missing: self.missing,
            position: self.position.clone(),
        }
    }

    /// Connects now. For callers who do not want to wait for a hub that cannot be reached. Fails with
    /// `Unreachable`, or with `Closed` if the hub refuses the connection for good.
    pub async fn connect(&mut self) -> Result<(), CourierError> {
        match HubLink::open(&self.address).await {
            Ok(link) => self.opened(link),
            Err(HubLinkError::Refused { code, reason }) => return Err(self.closed(code, reason)),
            Err(HubLinkError::Failed(cause) | HubLinkError::Silent(cause)) => {
                return Err(CourierError::Unreachable { url: self.address.clone(), cause });
            }
        }
        Ok(())
    }

    /// Carries the events of `source` until it has ended and the hub has all of them. Without a hub it never
    /// ends. After this future is dropped, [`Courier::standing`] says what was acked.
    ///
    /// Fails with `Closed` if the hub does not want this publisher back, with `Refused` if it does not take
    /// an event; then events without an ack are not delivered. `tell` is called between two steps and must
    /// not block.
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
                SocketOutcome::On => self.line = Some(line),
                SocketOutcome::Lost(closed) => self.lost(closed, HubAbsence::Lost, &mut tell)?,
            }
        }
    }

    /// Whether more events may be taken from the source.
    fn has_room(&self) -> bool {
        self.window.bytes_after(self.ledger.acked()) < WINDOW_BYTES_MAX
    }

    /// Connects when it is time; meanwhile takes events from the source while there is room.
    async fn open<S: Stream<Item = Vec<Envelope>>>(
        &mut self,
        source: &mut std::pin::Pin<&mut futures_util::stream::Fuse<S>>,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<(), CourierError> {
        // Boxed, since it is large and rare.
        let mut attempt = Box::pin(opening(self.address.clone(), self.comeback.at()));
        let opened = loop {
            let room = self.has_room() && !source.is_done();
            // Waiting for the source can be cancelled, and the attempt continues in the next round.
            tokio::select! {
                biased;
                opened = &mut attempt => break opened,
                events = source.next(), if room => {
                    self.offer(events.unwrap_or_default());
                    if source.is_done() {
                        // A caller who waits for the end must not wait for the next attempt as well.
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
            Err(HubLinkError::Refused { code, reason }) => Err(self.closed(code, reason)),
            Err(HubLinkError::Failed(why)) => self.lost(SocketClosed::new(why), HubAbsence::Nobody, tell),
            Err(HubLinkError::Silent(why)) => self.lost(SocketClosed::new(why), HubAbsence::Lost, tell),
        }
    }

    /// Takes a new connection.
    fn opened(&mut self, link: HubLink) {
        self.ledger.connected();
        self.line = Some(CourierSocket::new(link));
    }

    /// Takes events from the source. An event that is too large is replaced by an anomaly.
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

    /// Drops events that the hub has, as far as there is no room for them.
    fn trim(&mut self) {
        self.window.shrink(KEPT_BYTES_MAX, self.ledger.acked());
        self.ledger.forget(self.window.begins_after());
    }

    /// Does the next thing on an open socket: send, receive, or take from the source.
    async fn step<S: Stream<Item = Vec<Envelope>>>(
        &mut self,
        line: &mut CourierSocket,
        source: &mut std::pin::Pin<&mut futures_util::stream::Fuse<S>>,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<SocketOutcome, CourierError> {
        if let Some(event) = self.too_large_for(line) {
            if !self.ledger.has_flights() {
                return self.request(event).await;
            }
        } else if line.is_free() && self.ledger.due().is_some() {
            let frame = self.frame(line);
            return Ok(line.put(&frame).map_or_else(SocketOutcome::Lost, |()| SocketOutcome::On));
        }
        let room = self.has_room() && !source.is_done();
        // All of these can be cancelled: they wait, or write what the socket keeps until it is written.
        tokio::select! {
            said = line.next() => match said {
                Ok(said) => self.take(said, tell),
                Err(closed) => Ok(SocketOutcome::Lost(closed)),
            },
            events = source.next(), if room => {
                self.offer(events.unwrap_or_default());
                Ok(SocketOutcome::On)
            }
        }
    }

    /// The next event, if it does not fit into a frame.
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

    /// Publishes the one event after `event` over HTTP, which accepts larger ones.
    async fn request(&mut self, event: u64) -> Result<SocketOutcome, CourierError> {
        let events = self.window.after(event, 1, u64::MAX);
        let numbers = self.ledger.send_more(events.len() as u64);
        let claim = format!("{}/{}/{}-{}", self.publisher, numbers.life, numbers.first, numbers.last);
        match self.http.numbered(&self.conversation, &events, &claim).await {
            Ok(taken) => {
                self.position = Some(taken.position);
                self.ledger.ack(numbers.id);
                self.trim();
                Ok(SocketOutcome::On)
            }
            Err(super::PublishError::Refused { status, message, .. }) => match status {
                // A gap appears again over the socket, where the hub says which number it expects.
                408 | 409 | 429 | 500.. => Ok(SocketOutcome::Lost(SocketClosed::new(message))),
                _ => Err(self.refused(message)),
            },
            Err(error) => Ok(SocketOutcome::Lost(SocketClosed::new(error.to_string()))),
        }
    }

    /// Takes an answer of the hub.
    fn take(
        &mut self,
        said: HubAnswer,
        tell: &mut (impl FnMut(CourierEvent) + Send),
    ) -> Result<SocketOutcome, CourierError> {
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
                    | ErrorCode::Elsewhere
                    | ErrorCode::LogFailed
                    | ErrorCode::Internal
                    | ErrorCode::PublisherGap => Ok(SocketOutcome::Lost(SocketClosed::new(message))),
                    _ => Err(self.refused(message)),
                };
            }
        }
        Ok(SocketOutcome::On)
    }

    /// Takes an ack of the hub.
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

    /// Handles a lost or failed connection: plans the next attempt, unless the hub has closed for good.
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

/// Connects to the hub at the time `at`.
async fn opening(address: HubAddress, at: Instant) -> Result<HubLink, HubLinkError> {
    tokio::time::sleep_until(at).await;
    HubLink::open(&address).await
}

/// How many bytes of events fit into a frame of `frame_bytes`.
fn room_in(frame_bytes: u64) -> u64 {
    frame_bytes.min(INBOUND_FRAME_BYTES_MAX as u64).saturating_sub(FRAME_HEAD_BYTES)
}

#[cfg(test)]
mod tests;
