//! One socket and its task: reads frames, lets viewers that are behind catch up, keeps the heartbeat, and
//! closes in order.
//!
//! ```text
//! Open ── hello, frames, heartbeats ──▶ close(): bye and a close frame are queued ──▶ Closing ──▶ Over
//!   │                                   deadline, error, drain, revocation            │ peer's close, or LINGER
//!   └── the peer closes or breaks off ─────────────────────────────────────────────────┴──────────▶
//! ```
//!
//! The task never waits for the peer: it queues bytes in the outbox, which writes what the socket takes, and
//! sleeps until the socket is readable or writable, somebody wakes it, or a deadline is due.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use access::Admission;
use compact_str::CompactString;
use model::code::CloseCode;
use model::frame::{BearerToken, ServerFrame, SubscriptionId};
use model::limits::TURN_WRITTEN_BYTES_MAX;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::SocketKind;
use super::admission::shared_by_sockets;
use super::allowance::TokenBucket;
use super::feed::Feed;
use super::inlet::{FrameRead, Inlet};
use super::publishing::Publishing;
use super::undelivered::UndeliveredSubscriptions;
use super::waiting::WaitingSubscription;
use crate::access::Seat;
use crate::state::Shared;
use event_log::clock;
use hub::wire;
use hub::{Outbox, Subscription, SubscriptionTarget, Transport};

/// Reading stops while more bytes of answers than this wait, so that a client which sends and never reads
/// holds no memory.
const ANSWERS_BYTES_MAX: usize = 64 << 10;

/// Most frames that are read before other tasks get their turn.
const FRAMES_AT_ONCE: usize = 64;

/// So many bytes that came are counted for their principal and address at once.
const COUNTED_BYTES: u32 = 16 << 10;

/// How long a socket that the hub has closed waits for the peer's close.
const LINGER: Duration = Duration::from_secs(1);

/// How many times a peer is checked for progress before it counts as dead.
const LOOKS: u32 = 8;

/// Most heartbeats that may stay unanswered.
const UNANSWERED_MAX: u16 = 2;

/// The state of one WebSocket. Owned by its task, which ends its subscriptions when the socket closes.
#[derive(Debug)]
pub(super) struct Connection {
    /// The hub that the socket belongs to.
    pub(super) shared: Arc<Shared>,
    /// What the socket has not taken yet. Shared with the pumps, which write to it too.
    pub(super) outbox: Arc<Outbox>,
    socket: Arc<TcpStream>,
    /// The number of the socket among those of the hub.
    number: u64,
    /// The reading end of the socket.
    pub(super) inlet: Inlet,
    /// All subscriptions that have begun, those that are behind among them.
    pub(super) subscriptions: Vec<Arc<Subscription>>,
    /// Subscriptions that no pump serves at present.
    pub(super) behind: Feed,
    /// The address that logins which fail and bytes are counted for, if they are.
    pub(super) address: Option<IpAddr>,
    /// The place among the sockets of its principal.
    pub(super) seat: Option<Seat<CompactString>>,
    /// Who the client is; `None` before that is known. Where access control is off, all sockets share one.
    pub(super) admission: Option<Arc<Admission>>,
    /// The number of changes of access control that the admission was last checked against.
    pub(super) changes: u64,
    /// Whether `hello` has come and was answered.
    pub(super) greeted: bool,
    /// The token of a `hello` whose key is not there yet, with the number of changes of access control at that moment. Nothing is read
    /// meanwhile.
    pub(super) unknown_key: Option<Box<(u64, BearerToken)>>,
    /// The moment at which the socket was opened.
    pub(super) opened: Instant,
    /// The moment at which the next heartbeat is due.
    heartbeat_at: Instant,
    /// How many heartbeats were sent since the last answer.
    pub(super) unanswered: u16,
    /// Text frames that are not counted yet.
    pub(super) frames: u16,
    /// Subscriptions that are counted.
    pub(super) subscribed: u16,
    /// Finds subscriptions whose client does not get what it is sent.
    pub(super) undelivered: UndeliveredSubscriptions,
    /// Bounds how often snapshots may be asked for.
    pub(super) resyncs: TokenBucket,
    /// What the client publishes, and is to be told of it.
    pub(super) publishing: Publishing,
    /// The kind of the socket: who is at the other end.
    pub(super) kind: SocketKind,
    /// Subscriptions whose conversations are not in memory yet.
    pub(super) waiting: Vec<WaitingSubscription>,
    /// The number of changes of the log's health that the client knows of.
    pub(super) log_turns: u64,
    /// The phase of the socket's life.
    phase: Phase,
    /// Whether what comes in can no longer be read as frames.
    garbled: bool,
    /// Whether reading stopped early to give other tasks their turn.
    unread: bool,
    /// Progress of a peer that takes nothing; `None` if it has taken bytes whenever that was looked at.
    stuck: Option<Box<Stuck>>,
}

/// For how long a peer has taken nothing.
#[derive(Debug)]
struct Stuck {
    /// Since when, as the outbox says.
    since: Instant,
    looked_at: Instant,
    /// The number of checks that found no progress.
    looks: u32,
}

/// The phases of a socket's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Frames are taken and sent.
    Open,
    /// The close frame is queued. The peer's close is waited for until this time.
    Closing(Instant),
    /// Nothing is read any more, and the task ends.
    Over,
}

impl Connection {
    /// Makes the state of a socket whose upgrade is done. `first` are bytes that came with the upgrade.
    pub(super) fn new(
        (shared, kind): (Arc<Shared>, SocketKind),
        stream: TcpStream,
        first: &[u8],
        admission: Option<Admission>,
    ) -> Self {
        let socket = Arc::new(stream);
        let line: Arc<dyn Transport> = Arc::<TcpStream>::clone(&socket);
        let outbox = Arc::new(Outbox::new(line));
        let number = shared.sockets.add(&outbox);
        let opened = Instant::now();
        let heartbeat_at = opened + shared.config.heartbeat;
        Self {
            // Differs from every real number, so the admission is checked before anything else.
            changes: u64::MAX,
            admission: admission.map(shared_by_sockets),
            shared,
            outbox,
            inlet: Inlet::new(Arc::clone(&socket), first),
            socket,
            number,
            subscriptions: Vec::new(),
            behind: Feed::default(),
            greeted: false,
            unknown_key: None,
            address: None,
            seat: None,
            opened,
            heartbeat_at,
            unanswered: 0,
            frames: 0,
            subscribed: 0,
            undelivered: UndeliveredSubscriptions::default(),
            resyncs: TokenBucket::new(opened),
            publishing: Publishing::default(),
            kind,
            waiting: Vec::new(),
            log_turns: 0,
            phase: Phase::Open,
            garbled: false,
            unread: false,
            stuck: None,
        }
    }

    /// Sets the address for which bytes and failed logins are counted.
    pub(super) fn from(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Serves the socket until it is closed. Spawned as a task of the hub, which the drain waits for. At its
    /// end it leaves all subscriptions and ends the outbox.
    ///
    /// Boxed, since the future of a method that takes `self` by value has room for it twice. The waits for the socket keep a waker
    /// alone, as no other task waits for it. Both are memory for each idle socket.
    pub(super) async fn run(mut self: Box<Self>) {
        let (outbox, socket) = (Arc::clone(&self.outbox), Arc::clone(&self.socket));
        if self.inlet.has_ahead() {
            self.read_and_rest().await;
        }
        loop {
            self.deadlines();
            self.greet_later();
            self.tell_health();
            for answer in self.publishing.settle() {
                self.queue(&answer);
            }
            if self.shared.peers.is_some() {
                self.look_at_peers();
            }
            // Conversations are replaced where another hub had them, and where somebody deleted them.
            self.begin_again();
            self.enter_waiting();
            self.count_subscriptions();
            let stopped = self.behind.go_on(&self.outbox, &self.shared.fanout);
            self.choose_again();
            if self.phase == Phase::Over || outbox.is_over() {
                break;
            }
            let waiting = outbox.waiting();
            let writes = waiting > 0 || !self.behind.is_empty();
            let has_room = self.publishing.has_room();
            let may_read = self.unknown_key.is_none() && !self.is_resting();
            let reads = waiting <= ANSWERS_BYTES_MAX && has_room && may_read;
            let ahead = reads && (self.unread || self.inlet.has_ahead());
            // All arms may be cancelled: they only wait.
            tokio::select! {
                () = tokio::task::yield_now(), if ahead || stopped => if ahead { self.read_and_rest().await },
                readable = poll_fn(|context| socket.poll_read_ready(context)), if reads && !ahead => match readable {
                    Ok(()) => self.read_and_rest().await,
                    Err(_) => break,
                },
                // A socket that takes more is ready at once: whoever has had its turn waits behind the others first.
                _ = poll_fn(|context| socket.poll_write_ready(context)), if writes && !stopped => {}
                () = poll_fn(|context| outbox.wake.poll_notified(context)) => {}
                () = self.publishing.moved(), if self.publishing.is_waiting() => {}
            }
        }
        self.count_received(1);
        self.leave();
        outbox.end();
        self.shared.sockets.remove(self.number);
    }

    /// Ends all subscriptions of the socket.
    fn leave(&mut self) {
        self.behind.clear();
        self.waiting.clear();
        for subscription in std::mem::take(&mut self.subscriptions) {
            self.shared.fanout.leave(&subscription);
        }
        self.count_subscriptions();
    }

    /// Reads what is there, and then leaves the socket alone for a moment if its peer sends empty pieces of messages.
    async fn read_and_rest(&mut self) {
        if let Some(rest) = self.read() {
            // Boxed, since idle sockets have no use for it.
            Box::pin(tokio::time::sleep(rest)).await;
        }
    }

    /// Reads what is there, up to a bound, and then wakes the viewers of everything that was published, each
    /// conversation once. Returns for how long the socket is to be left alone.
    fn read(&mut self) -> Option<Duration> {
        let turn = self.inlet.begin_turn();
        self.read_frames();
        let rest = turn.and_then(|turn| self.inlet.end_turn(&turn));
        self.unread = self.inlet.is_cut_short();
        self.count_received(COUNTED_BYTES);
        if self.publishing.has_to_deliver() {
            // Acks go out first: if they waited, a subscription on this socket would count as behind.
            let mut turn = TURN_WRITTEN_BYTES_MAX;
            self.outbox.flush(&mut turn);
        }
        self.deliver();
        rest
    }

    /// Wakes the viewers of everything that was published.
    fn deliver(&mut self) {
        self.publishing.deliver(&self.shared.fanout);
    }

    /// Goes on with what waited for other hubs.
    fn look_at_peers(&mut self) {
        for frame in self.publishing.take_returned() {
            self.publish_here(frame);
        }
        self.deliver();
        if self.publishing.is_lost() && self.phase == Phase::Open {
            self.close(
                CloseCode::ShuttingDown,
                "the hub that has the conversation is gone: publish again what was not acked",
            );
        }
    }

    /// Reads and takes frames until there are no more, or the bound is reached.
    fn read_frames(&mut self) {
        if self.garbled {
            if self.inlet.discard() {
                self.phase = Phase::Over;
            }
            return;
        }
        for _ in 0..FRAMES_AT_ONCE {
            match self.inlet.next(&self.outbox) {
                FrameRead::Nothing => return,
                FrameRead::Closed => {
                    // The answer to the peer's close still waits. If ours was first, theirs was the answer.
                    if self.phase != Phase::Open {
                        self.outbox.end();
                    }
                    self.phase = Phase::Over;
                    return;
                }
                FrameRead::Control => {}
                // After our close, only the peer's close matters.
                FrameRead::Text(_) if self.phase != Phase::Open => {}
                FrameRead::Text(text) => self.take(&text),
                FrameRead::Idle => {
                    self.close(CloseCode::RateLimited, "too much came without a text frame");
                    self.garbled = true;
                }
                FrameRead::TooLarge => {
                    self.close(CloseCode::FrameTooLarge, "the frame is over the limit");
                    self.garbled = true;
                }
                FrameRead::Bad(why) => {
                    self.close(CloseCode::BadFrame, why);
                    self.garbled = true;
                }
            }
            if self.garbled || self.unknown_key.is_some() {
                return;
            }
            if self.outbox.waiting() > ANSWERS_BYTES_MAX {
                return;
            }
        }
    }

    /// Checks all deadlines: greeting, admission, progress, heartbeat. Stores when to check again.
    fn deadlines(&mut self) {
        let now = Instant::now();
        let config = &self.shared.config;
        let (hello, heartbeat, no_progress) = (config.hello, config.heartbeat, config.no_progress);
        let mut next = self.heartbeat_at;
        if let Phase::Closing(until) = self.phase {
            if now >= until {
                self.phase = Phase::Over;
            }
            next = until;
        } else if self.shared.is_draining() {
            self.close(CloseCode::ShuttingDown, "the hub stops");
        } else if !self.greeted {
            next = next.min(self.opened + hello);
            if now >= self.opened + hello {
                self.close(CloseCode::NoHello, "no hello came");
            }
        }
        next = next.min(self.admitted_until(now).unwrap_or(next));
        next = next.min(self.behind.look(now, &self.shared.fanout.ladder).unwrap_or(next));
        next = next.min(self.progress(now, no_progress).unwrap_or(next));
        if self.phase == Phase::Open && now >= self.heartbeat_at {
            self.heartbeat(now);
            self.heartbeat_at = now + heartbeat;
            next = next.min(self.heartbeat_at);
        }
        // Behind the heartbeat, which does not close a socket that was not read.
        next = next.min(self.rests_until(now).unwrap_or(next));
        if let Phase::Closing(until) = self.phase {
            next = next.min(until);
        }
        self.outbox.attention_at.store(self.shared.sockets.millis(next), Ordering::Relaxed);
    }

    /// Checks whether the peer takes any of the bytes that wait. One that takes none at [`LOOKS`] checks
    /// within `no_progress` is closed. Returns when to check again.
    fn progress(&mut self, now: Instant, no_progress: Duration) -> Option<Instant> {
        let stuck_since = |outbox: &Outbox| outbox.stuck_since().filter(|_| outbox.waiting() > 0);
        let Some(since) = stuck_since(&self.outbox) else {
            self.stuck = None;
            return None;
        };
        let known = self.stuck.take().filter(|stuck| stuck.since == since);
        let mut stuck = known.unwrap_or_else(|| Box::new(Stuck { since, looked_at: since, looks: 0 }));
        let look = no_progress / LOOKS;
        if now < stuck.looked_at + look {
            return Some(self.stuck.insert(stuck).looked_at + look);
        }
        self.outbox.press();
        stuck.looked_at = now;
        stuck.looks += 1;
        let is_dead = stuck_since(&self.outbox) == Some(since) && stuck.looks >= LOOKS;
        self.stuck = Some(stuck);
        if is_dead && self.phase == Phase::Open {
            tracing::debug!(code = CloseCode::NoProgress.number(), "a socket took no byte for too long");
            self.outbox.forget_frames();
            self.close(CloseCode::NoProgress, "no byte was taken for too long");
            // The peer learns why as soon as it takes the frame that was begun; it has as long again for
            // that.
            self.phase = Phase::Closing(now + no_progress);
        }
        Some(now + look)
    }

    /// Sends a heartbeat with the heads of the conversations, or closes a socket that has not answered.
    fn heartbeat(&mut self, now: Instant) {
        // A viewer whose socket was full may not have read the heartbeat yet: it must not be closed for being
        // slow (I8).
        let patience = self.shared.config.heartbeat * u32::from(UNANSWERED_MAX + 1);
        let slow = self.is_resting() || self.outbox.blocked_at().is_some_and(|at| now < at + patience);
        if self.unanswered >= UNANSWERED_MAX && !slow {
            self.close(CloseCode::HeartbeatMissed, "heartbeats stayed unanswered");
            return;
        }
        if self.outbox.waiting() > 0 || !self.greeted {
            return;
        }
        let heads = self.subscriptions.iter().filter_map(|subscription| match &subscription.place {
            SubscriptionTarget::Conversation(viewed, _) => {
                let conversation = &viewed.conversation;
                Some((subscription.sub, (conversation.epoch().clone(), conversation.head())))
            }
            SubscriptionTarget::Fleet { .. } => None,
        });
        let heads: BTreeMap<_, _> = heads.collect();
        self.undelivered.sent(heads.iter().map(|(sub, (_, head))| (*sub, *head)));
        let frame = ServerFrame::Hb { ts: clock::now_ms(), heads };
        self.queue(&frame);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Queues a frame behind what waits.
    pub(super) fn queue(&self, frame: &ServerFrame) {
        self.outbox.queue([wire::text(frame)]);
    }

    /// Queues `bye` and a close frame, and ends all subscriptions. Does nothing if the socket is closing
    /// already. `reason` is for people.
    pub(super) fn close(&mut self, code: CloseCode, reason: &str) {
        if self.phase != Phase::Open {
            return;
        }
        self.leave();
        // Nobody is let in any more.
        self.unknown_key = None;
        let number = code.number();
        self.queue(&ServerFrame::Bye {
            code: number,
            reconnect: CloseCode::may_reconnect(number),
            retry_ms: u64::try_from(self.shared.config.retry.as_millis()).unwrap_or(u64::MAX),
            reason: reason.into(),
        });
        self.outbox.queue([wire::close(number, reason)]);
        self.phase = Phase::Closing(Instant::now() + LINGER);
    }

    /// The subscription with this number, if there is one.
    pub(super) fn subscription(&self, sub: SubscriptionId) -> Option<&Arc<Subscription>> {
        self.subscriptions.iter().find(|subscription| subscription.sub == sub)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests;
