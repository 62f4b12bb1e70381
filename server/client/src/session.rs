//! A viewer's session: one socket with any number of subscriptions, each with its own view. It survives the
//! loss of the socket and of the hub: it connects again after a while and resumes each subscription at its
//! position.
//!
//! Nothing runs in the background. Everything happens inside [`ViewerSession::next`], so a viewer that does
//! not call it is a slow viewer for the hub, and no queue can grow. [`ViewerSession::next`] can be cancelled
//! at any point (in a `select!`, by a timeout) and called again.
//!
//! ```no_run
//! # async fn watch() -> Result<(), Box<dyn std::error::Error>> {
//! use client::{SessionUpdate, ViewerSession};
//!
//! let mut session = ViewerSession::connect("http://127.0.0.1:4600".parse()?).await?;
//! let sub = session.subscribe("c42".parse()?).await;
//! session.until(sub, |view| view.runs.values().any(|run| !run.is_running())).await?;
//! while let SessionUpdate::Events { events, .. } = session.next().await? {
//!     for envelope in events { /* … */ }
//! }
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use model::code::{CloseCode, ErrorCode};
use model::frame::{ClientFrame, Pub, ServerFrame, SubscriptionId, SubscriptionOptions};
use model::tracker::{FrameOutcome, Tracker};
use model::{ConversationId, Epoch, Position, Seq, View};

use super::HubAddress;
use super::link::{HubLink, HubLinkError, SILENCE_GRACE, SocketClosed};
use super::reconnection::Reconnection;

mod update;

pub use update::{SessionError, SessionUpdate};

/// What a session has asked for under one number. It outlives the socket, so that it can be asked for again.
#[derive(Debug)]
enum SubscriptionState {
    /// The events of a conversation, with the view that they gave so far.
    Conversation { conversation: ConversationId, tracker: Box<Tracker>, min_interval_ms: u16 },
    /// The list of conversations.
    Fleet,
}

impl SubscriptionState {
    /// The frame that asks for it, from the position that is reached.
    fn frame(&self, sub: SubscriptionId) -> ClientFrame {
        match self {
            Self::Conversation { conversation, tracker, min_interval_ms } => ClientFrame::Sub {
                sub,
                conv: conversation.clone(),
                have: tracker.position(),
                wish: SubscriptionOptions {
                    min_interval_ms: *min_interval_ms,
                    ..SubscriptionOptions::of(tracker.lens().clone())
                },
            },
            Self::Fleet => ClientFrame::Watch { sub, limit: None },
        }
    }
}

/// A viewer of any number of conversations over one socket. Dropping it closes the socket.
#[derive(Debug)]
pub struct ViewerSession {
    address: HubAddress,
    /// The socket, while there is one.
    link: Option<HubLink>,
    subscriptions: BTreeMap<SubscriptionId, SubscriptionState>,
    /// The number of the next subscription; numbers are never used again.
    next_sub: SubscriptionId,
    comeback: Reconnection,
    connections: u64,
}

impl ViewerSession {
    /// A session that connects when [`ViewerSession::next`] is called, and tries again until it succeeds.
    pub fn new(address: HubAddress) -> Self {
        Self {
            address,
            link: None,
            subscriptions: BTreeMap::new(),
            next_sub: 1,
            comeback: Reconnection::default(),
            connections: 0,
        }
    }

    /// A connected session, or an error if the first attempt fails.
    pub async fn connect(address: HubAddress) -> Result<Self, SessionError> {
        let mut session = Self::new(address);
        match session.next().await? {
            SessionUpdate::Lost { why, .. } => {
                Err(SessionError::Unreachable { url: session.address.clone(), cause: why })
            }
            _ => Ok(session),
        }
    }

    /// Subscribes to `conversation`, which need not exist yet. The answer is an update; without a socket the
    /// subscription is requested when there is one.
    pub async fn subscribe(&mut self, conversation: ConversationId) -> SubscriptionId {
        self.subscribe_as(conversation, SubscriptionOptions::default()).await
    }

    /// Subscribes with options, such as a lens.
    pub async fn subscribe_as(
        &mut self,
        conversation: ConversationId,
        wish: SubscriptionOptions,
    ) -> SubscriptionId {
        let tracker = Box::new(Tracker::through(wish.lens));
        let min_interval_ms = wish.min_interval_ms;
        self.add(SubscriptionState::Conversation { conversation, tracker, min_interval_ms }).await
    }

    /// Subscribes to the events of `conversation` after `have`. `view` is the view at that position (an empty
    /// one if only the events are of interest).
    pub async fn resume(
        &mut self,
        conversation: ConversationId,
        have: Position,
        view: View,
    ) -> SubscriptionId {
        self.resume_as(conversation, have, view, SubscriptionOptions::default()).await
    }

    /// Subscribes to the events after `have`, with options. `view` is the view as seen through the same lens.
    pub async fn resume_as(
        &mut self,
        conversation: ConversationId,
        have: Position,
        mut view: View,
        wish: SubscriptionOptions,
    ) -> SubscriptionId {
        view.seq = have.seq;
        let tracker = Box::new(Tracker::resume(wish.lens, have.epoch, view));
        let min_interval_ms = wish.min_interval_ms;
        self.add(SubscriptionState::Conversation { conversation, tracker, min_interval_ms }).await
    }

    /// Subscribes to the list of conversations.
    pub async fn watch(&mut self) -> SubscriptionId {
        self.add(SubscriptionState::Fleet).await
    }

    /// Adds a subscription and requests it if there is a socket.
    async fn add(&mut self, subscription: SubscriptionState) -> SubscriptionId {
        let sub = self.next_sub;
        self.next_sub = self.next_sub.saturating_add(1);
        let frame = subscription.frame(sub);
        self.subscriptions.insert(sub, subscription);
        self.send(&frame).await;
        sub
    }

    /// Ends a subscription. Updates of it that are on their way are dropped.
    pub async fn unsubscribe(&mut self, sub: SubscriptionId) {
        if self.subscriptions.remove(&sub).is_some() {
            self.send(&ClientFrame::Unsub { sub }).await;
        }
    }

    /// Requests the snapshot of a subscription.
    pub async fn resync(&mut self, sub: SubscriptionId) {
        self.send(&ClientFrame::Resync { sub }).await;
    }

    /// Publishes. [`SessionUpdate::Ack`] or [`SessionUpdate::Refused`] with the same id is the answer. If the
    /// socket is lost before, the caller must publish again (with a publisher's numbers that is safe).
    pub async fn publish(&mut self, publication: Pub) {
        self.send(&ClientFrame::Pub(publication)).await;
    }

    /// The view of a subscription; `None` if there is no such subscription of a conversation.
    pub fn view(&self, sub: SubscriptionId) -> Option<&View> {
        self.tracker(sub).map(Tracker::view)
    }

    /// The position of a subscription; `None` before the first answer.
    pub fn position(&self, sub: SubscriptionId) -> Option<Position> {
        self.tracker(sub).and_then(Tracker::position)
    }

    /// Whether a subscription has everything that existed when it began.
    pub fn is_live(&self, sub: SubscriptionId) -> bool {
        self.tracker(sub).is_some_and(Tracker::is_live)
    }

    /// The number of times that this session was connected.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    fn tracker(&self, sub: SubscriptionId) -> Option<&Tracker> {
        match self.subscriptions.get(&sub)? {
            SubscriptionState::Conversation { tracker, .. } => Some(tracker),
            SubscriptionState::Fleet => None,
        }
    }

    /// Takes updates until `wanted` returns true for the view of `sub`. It has no deadline; put a timeout
    /// around it.
    pub async fn until(
        &mut self,
        sub: SubscriptionId,
        mut wanted: impl FnMut(&View) -> bool,
    ) -> Result<&View, SessionError> {
        while !wanted(self.view(sub).ok_or(SessionError::NoSubscription(sub))?) {
            self.advance(sub).await?;
        }
        self.view(sub).ok_or(SessionError::NoSubscription(sub))
    }

    /// Takes updates until `sub` has everything that existed when it began.
    pub async fn until_live(&mut self, sub: SubscriptionId) -> Result<&View, SessionError> {
        while self.view(sub).is_some() && !self.is_live(sub) {
            self.advance(sub).await?;
        }
        self.view(sub).ok_or(SessionError::NoSubscription(sub))
    }

    /// Takes an update. The refusal of `waited_for` is an error.
    async fn advance(&mut self, waited_for: SubscriptionId) -> Result<(), SessionError> {
        match self.next().await? {
            SessionUpdate::Refused { sub: Some(sub), code, message, .. } if sub == waited_for => {
                Err(SessionError::Refused { url: self.address.clone(), code, message })
            }
            _ => Ok(()),
        }
    }

    /// Cuts the socket, as a broken network would. [`ViewerSession::next`] connects again at once.
    pub fn cut(&mut self) {
        self.drop_link();
        self.comeback.hurry();
    }

    /// Closes the session in order.
    pub async fn close(mut self) {
        if let Some(link) = self.link.take() {
            link.close().await;
        }
    }

    /// Waits for the next update. Fails only if the hub has closed the session for good. Can be cancelled and
    /// called again at any point.
    pub async fn next(&mut self) -> Result<SessionUpdate, SessionError> {
        loop {
            let Some(link) = &mut self.link else { return self.reconnect().await };
            let patience = Duration::from_millis(link.welcome().hb_ms.saturating_mul(2)) + SILENCE_GRACE;
            let frame = match tokio::time::timeout(patience, link.receive()).await {
                Ok(Ok(frame)) => frame,
                Ok(Err(closed)) => return self.lost(closed),
                Err(_elapsed) => return self.lost(SocketClosed::new("the hub has fallen silent")),
            };
            if let Some(update) = self.take(frame).await? {
                return Ok(update);
            }
        }
    }

    /// Connects when it is time, and requests all subscriptions.
    async fn reconnect(&mut self) -> Result<SessionUpdate, SessionError> {
        tokio::time::sleep_until(self.comeback.at()).await;
        // Boxed, since it is large and rare: a process may have thousands of sessions.
        let mut link = match Box::pin(HubLink::open(&self.address)).await {
            Ok(link) => link,
            Err(HubLinkError::Refused { code, reason }) => return Err(self.closed(code, reason)),
            Err(HubLinkError::Failed(why) | HubLinkError::Silent(why)) => {
                return self.lost(SocketClosed::new(why));
            }
        };
        for (sub, subscription) in &self.subscriptions {
            if let Err(closed) = link.send(&subscription.frame(*sub)).await {
                return self.lost(closed);
            }
        }
        let welcome = link.welcome().clone();
        self.link = Some(link);
        self.connections = self.connections.saturating_add(1);
        Ok(SessionUpdate::Connected(welcome))
    }

    /// Handles a lost or failed connection: plans the next attempt, unless the hub has closed for good.
    fn lost(&mut self, closed: SocketClosed) -> Result<SessionUpdate, SessionError> {
        self.drop_link();
        if let Some(code) = closed.code
            && !CloseCode::may_reconnect(code)
        {
            return Err(self.closed(code, closed.why));
        }
        let retry_ms = self.comeback.lost();
        Ok(SessionUpdate::Lost { why: closed.why, retry_ms })
    }

    fn closed(&mut self, code: u16, reason: String) -> SessionError {
        self.drop_link();
        SessionError::Closed { url: self.address.clone(), code, reason }
    }

    fn drop_link(&mut self) {
        self.link = None;
        for subscription in self.subscriptions.values_mut() {
            if let SubscriptionState::Conversation { tracker, .. } = subscription {
                tracker.disconnected();
            }
        }
    }

    /// Sends a frame. If there is no socket or it breaks, [`ViewerSession::next`] notices and requests
    /// everything again.
    async fn send(&mut self, frame: &ClientFrame) {
        if let Some(link) = &mut self.link {
            // A broken socket is reported by the next read, with its reason.
            drop(link.send(frame).await);
        }
    }

    /// The meaning of a frame for the caller, if it has one.
    async fn take(&mut self, frame: ServerFrame) -> Result<Option<SessionUpdate>, SessionError> {
        self.comeback.succeeded();
        Ok(match frame {
            ServerFrame::Subbed { sub, .. }
            | ServerFrame::Snap { sub, .. }
            | ServerFrame::Batch { sub, .. }
            | ServerFrame::Live { sub, .. } => self.track(sub, frame).await,
            ServerFrame::Fleet { sub, full, rows, gone, total, ts } => {
                Some(SessionUpdate::Fleet { sub, full, rows, gone, total, sent_at: ts })
            }
            ServerFrame::Lag { sub, state, behind_events, behind_ms } => {
                Some(SessionUpdate::Lag { sub, state, behind_events, behind_ms })
            }
            ServerFrame::Presence { sub, viewers, names } => {
                let names = names.into_iter().map(String::from).collect();
                Some(SessionUpdate::Presence { sub, viewers, names })
            }
            ServerFrame::Hb { heads, .. } => {
                self.revive(&heads).await;
                let at = self.subscriptions.keys().filter_map(|sub| Some((*sub, self.view(*sub)?.seq)));
                let ack = ClientFrame::HbAck { at: at.collect() };
                self.send(&ack).await;
                None
            }
            ServerFrame::Bye { code, reconnect, retry_ms, reason } => {
                if !reconnect {
                    return Err(self.closed(code, reason.into()));
                }
                self.comeback.asked(retry_ms);
                None
            }
            ServerFrame::Ack(ack) => Some(SessionUpdate::Ack(ack)),
            ServerFrame::Error { sub: Some(sub), code: ErrorCode::UnknownSubscription, .. }
                if self.subscriptions.contains_key(&sub) =>
            {
                self.ask_again(sub).await;
                None
            }
            ServerFrame::Error { sub, id, code, message, expected } => {
                Some(SessionUpdate::Refused { sub, id, code, message, expected })
            }
            ServerFrame::Welcome(_)
            | ServerFrame::Health { .. }
            | ServerFrame::Done(_)
            | ServerFrame::Refused { .. }
            | ServerFrame::Unknown => None,
        })
    }

    /// Requests the snapshots of subscriptions that are dead according to the heartbeat.
    async fn revive(&mut self, heads: &BTreeMap<SubscriptionId, (Epoch, Seq)>) {
        let mut dead = Vec::new();
        for (sub, subscription) in &mut self.subscriptions {
            if let SubscriptionState::Conversation { tracker, .. } = subscription
                && tracker.heartbeat(heads.get(sub))
            {
                dead.push(*sub);
            }
        }
        for sub in dead {
            self.resync(sub).await;
        }
    }

    /// Requests a subscription again that the hub has forgotten.
    async fn ask_again(&mut self, sub: SubscriptionId) {
        if let Some(subscription) = self.subscriptions.get(&sub) {
            let frame = subscription.frame(sub);
            self.send(&frame).await;
        }
    }

    /// Applies a frame of a subscription.
    async fn track(&mut self, sub: SubscriptionId, mut frame: ServerFrame) -> Option<SessionUpdate> {
        // The subscription may have ended meanwhile.
        let SubscriptionState::Conversation { tracker, .. } = self.subscriptions.get_mut(&sub)? else {
            return None;
        };
        let mut changes = Vec::new();
        let update = match tracker.take(&mut frame, &mut |change| changes.push(change)) {
            FrameOutcome::Subscribed { why } => return Some(SessionUpdate::Subscribed { sub, why }),
            FrameOutcome::Replaced => return Some(SessionUpdate::Snapshot { sub }),
            FrameOutcome::Live => return Some(SessionUpdate::Live { sub }),
            FrameOutcome::Piece | FrameOutcome::Duplicate | FrameOutcome::NotForUs => return None,
            FrameOutcome::Drift { run, part } => SessionUpdate::Drift { sub, run, part },
            FrameOutcome::Gap { expected, from } => SessionUpdate::Gap { sub, expected, from },
            FrameOutcome::Applied(_) => {
                let ServerFrame::Batch { from, to, ts, ev, .. } = frame else { return None };
                return Some(SessionUpdate::Events { sub, from, to, sent_at: ts, events: ev, changes });
            }
        };
        self.resync(sub).await;
        Some(update)
    }
}

#[cfg(test)]
mod tests;
