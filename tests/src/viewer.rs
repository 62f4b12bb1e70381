//! A viewer over a real socket, which can be slow, be cut and come back.

use std::net::SocketAddr;

use model::code::ErrorCode;
use model::frame::{ClientFrame, Rung, ServerFrame, SubscriptionOptions};
use model::ids::ConversationId;
use model::tracker::{FrameOutcome, Tracker};
use model::{Lens, View, snapshot};

use crate::wait::patiently;
use crate::wire::WebSocketWire;

const SUB: u32 = 1;

/// A viewer of one conversation.
#[derive(Debug)]
pub struct TestViewer {
    address: SocketAddr,
    conversation: ConversationId,
    wire: Option<WebSocketWire>,
    tracker: Tracker,
    /// How many bytes of the newest part it asks for; 0 for all of the conversation.
    newest: u64,
    /// What came so far.
    pub seen: ViewerLog,
}

/// What a viewer was sent.
#[derive(Debug, Default, Clone)]
pub struct ViewerLog {
    /// The number of frames with events.
    pub batches: usize,
    /// Events in them, joined ones counted once.
    pub events: usize,
    /// The number of snapshots.
    pub snapshots: usize,
    /// Bytes of all frames.
    pub bytes: usize,
    /// Texts that turned out not to be the hub's.
    pub drifts: usize,
    /// The steps of [`Rung`] that it was told, in order.
    pub lags: Vec<Rung>,
    /// The numbers of viewers that it was told, in order.
    pub viewers: Vec<u64>,
}

/// What a viewer met that may be asked to leave, or be left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewerStep {
    /// A frame was taken.
    Took,
    /// The hub asks it to come back later or elsewhere. It has no socket any more.
    Left,
    /// The hub does not serve what it wants, for now.
    Refused(ErrorCode),
    /// The socket has ended without a word.
    Ended,
}

impl TestViewer {
    /// Connects and subscribes without a position.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn connect(address: SocketAddr, conversation: &str) -> Self {
        Self::connect_through(Lens::default(), address, conversation).await
    }

    /// Connects and subscribes as [`Self::connect`] does, for a viewer who wants less than everything.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn connect_through(lens: Lens, address: SocketAddr, conversation: &str) -> Self {
        let mut viewer = Self { tracker: Tracker::through(lens), ..Self::away(address, conversation) };
        viewer.resume().await;
        viewer
    }

    /// Connects and subscribes to the newest part of a conversation, of at most `newest` bytes.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn connect_newest(newest: u64, lens: Lens, address: SocketAddr, conversation: &str) -> Self {
        let tracker = Tracker::through(lens);
        let mut viewer = Self { tracker, newest, ..Self::away(address, conversation) };
        viewer.resume().await;
        viewer
    }

    /// Asks over a new socket for another part than it has, of at most `newest` bytes.
    pub async fn ask_for(&mut self, newest: u64) {
        self.newest = newest;
        self.tracker = Tracker::through(self.tracker.lens().clone());
        self.resume().await;
    }

    /// One that has not connected yet.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub fn away(address: SocketAddr, conversation: &str) -> Self {
        let conversation = ConversationId::parse(conversation).expect("a name");
        let tracker = Tracker::default();
        Self { address, conversation, wire: None, tracker, newest: 0, seen: ViewerLog::default() }
    }

    /// Cuts the viewer off from the network.
    pub fn cut(&mut self) {
        self.wire = None;
        self.tracker.disconnected();
    }

    /// Comes back with the position that it has.
    pub async fn resume(&mut self) {
        self.resume_over(WebSocketWire::connect(self.address).await).await;
    }

    /// Comes back over `wire` with the position that it has.
    pub async fn resume_over(&mut self, mut wire: WebSocketWire) {
        let (conv, have) = (self.conversation.clone(), self.tracker.position());
        let window = self.tracker.window().cloned();
        let wish = SubscriptionOptions {
            newest: self.newest,
            window,
            ..SubscriptionOptions::of(self.tracker.lens().clone())
        };
        // Where the socket has ended meanwhile, that is what comes next.
        wire.offer(&ClientFrame::Sub { sub: SUB, conv, have, wish }).await;
        self.wire = Some(wire);
    }

    /// Whether it has a socket.
    pub fn is_connected(&self) -> bool {
        self.wire.is_some()
    }

    /// The id of the conversation that it views.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// The view that the viewer has folded so far.
    pub fn view(&self) -> &View {
        self.tracker.view()
    }

    /// What it sees of the conversation.
    pub fn lens(&self) -> &Lens {
        self.tracker.lens()
    }

    /// The life of the log that it follows.
    ///
    /// # Panics
    /// Before the hub has answered.
    pub fn epoch(&self) -> model::Epoch {
        self.tracker.position().expect("the hub answered").epoch
    }

    /// The hash of its view.
    pub fn hash(&self) -> String {
        snapshot::hash(self.view())
    }

    /// The text that it shows of all runs.
    pub fn text(&self) -> String {
        self.view().runs.values().map(model::view::RunView::answer).collect()
    }

    /// Takes the next frame.
    ///
    /// # Panics
    /// When it is cut, or when the frame leaves a hole (I2).
    pub async fn step(&mut self) -> ServerFrame {
        let wire = self.wire.as_mut().expect("connected");
        let (frame, size) = wire.frame_and_size().await;
        let drifts = self.seen.drifts;
        let frame = self.take(frame, size);
        if self.seen.drifts > drifts {
            self.wire().send(&ClientFrame::Resync { sub: SUB }).await;
        }
        frame
    }

    fn take(&mut self, mut frame: ServerFrame, size: usize) -> ServerFrame {
        let copy = frame.clone();
        self.seen.bytes += size;
        match &copy {
            ServerFrame::Lag { state, .. } => self.seen.lags.push(*state),
            ServerFrame::Presence { viewers, .. } => self.seen.viewers.push(*viewers),
            _ => {}
        }
        match self.tracker.take(&mut frame, &mut |_| {}) {
            FrameOutcome::Applied(events) => {
                self.seen.batches += 1;
                self.seen.events += events.len();
            }
            FrameOutcome::Replaced => self.seen.snapshots += 1,
            FrameOutcome::Drift { .. } => self.seen.drifts += 1,
            FrameOutcome::Subscribed { .. } | FrameOutcome::Live | FrameOutcome::Piece => {}
            FrameOutcome::NotForUs
                if matches!(copy, ServerFrame::Lag { .. } | ServerFrame::Presence { .. }) => {}
            FrameOutcome::NotForUs if matches!(copy, ServerFrame::Health { .. }) => {}
            odd => panic!("{odd:?} at {} by {copy:?}", self.tracker.view().seq),
        }
        copy
    }

    /// Takes the next frame; false where the hub asks it to come back later or elsewhere, which it then must.
    ///
    /// # Panics
    /// As [`TestViewer::step`], and when the socket ends without that word.
    pub async fn step_or_leave(&mut self) -> bool {
        match self.step_or_end().await {
            ViewerStep::Took => true,
            ViewerStep::Left => false,
            odd => panic!("a hub that goes says so: {odd:?}"),
        }
    }

    /// Takes the next frame, or what there is instead of one.
    ///
    /// # Panics
    /// When it is cut, when the frame leaves a hole (I2), and when the hub does not want it back.
    pub async fn step_or_end(&mut self) -> ViewerStep {
        let wire = self.wire.as_mut().expect("connected");
        let Ok((frame, size)) = wire.frame_or_end().await else {
            self.cut();
            return ViewerStep::Ended;
        };
        match &frame {
            ServerFrame::Bye { reconnect, reason, .. } => {
                assert!(*reconnect, "{reason}");
                self.cut();
                ViewerStep::Left
            }
            ServerFrame::Error { sub: Some(SUB), code, .. } => ViewerStep::Refused(*code),
            _ => {
                self.take(frame, size);
                ViewerStep::Took
            }
        }
    }

    /// Takes frames until the hub goes away.
    ///
    /// # Panics
    /// As [`TestViewer::step`].
    pub async fn until_cut(&mut self) {
        let mut wire = self.wire.take().expect("connected");
        while let Ok((frame, size)) = wire.frame_or_end().await {
            self.take(frame, size);
        }
        self.cut();
    }

    /// Takes frames until the view is as `wanted`.
    pub async fn until(&mut self, wanted: impl Fn(&View) -> bool) {
        // Heartbeats are frames too: each comes in time, and what is waited for may not.
        patiently("the view that is wanted", async {
            while !wanted(self.view()) {
                self.step().await;
            }
        })
        .await;
    }

    /// Takes frames until the hub says that everything is there.
    pub async fn live(&mut self) {
        patiently("everything", async {
            while !self.tracker.is_live() {
                self.step().await;
            }
        })
        .await;
    }

    /// Takes frames until `seq` is applied.
    pub async fn reach(&mut self, seq: u64) {
        self.until(|view| view.seq >= seq).await;
    }

    /// The socket, for tests that speak themselves.
    ///
    /// # Panics
    /// When it is cut.
    pub fn wire(&mut self) -> &mut WebSocketWire {
        self.wire.as_mut().expect("connected")
    }
}
