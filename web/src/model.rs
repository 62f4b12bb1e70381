//! What the page knows: the list of conversations, one conversation as the hub has it, and what of it changed since it
//! was last painted. Frames go in, answers come out; the socket, the clock and the page are elsewhere.

use indexmap::{IndexMap, IndexSet};
use model::event::{Kind, ToolProgress};
use model::fold::ViewChange;
use model::frame::{ClientFrame, ConversationRow, ServerFrame, SubMode, SubscriptionId, SubscriptionOptions};
use model::limits::EPHEMERA_MAX;
use model::recording::DecodedRecording;
use model::tracker::{FrameOutcome, Tracker};
use model::{ConversationId, Envelope, Epoch, Position, Seq, View};

use crate::latency::CallKey;

mod list;
mod mark;
mod recording;
mod replay;
mod ticker;

pub use mark::Mark;
use mark::{Marked, Marks};
use ticker::Tickers;

/// The subscription of the list.
const FLEET: SubscriptionId = 1;

/// Conversations that are kept when the reader looks at another one, so that coming back costs only what is new.
const KEPT_MAX: usize = 4;

/// What changed since the last painting.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Something in the list.
    pub fleet: bool,
    /// The whole conversation.
    pub replaced: bool,
    /// Pieces of it.
    pub changes: IndexSet<ViewChange>,
    /// Calls that say how far they are.
    pub progress: IndexSet<CallKey>,
}

impl Touched {
    /// Whether there is nothing to paint.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What the frames were folded into: the list, one conversation with its view, and what changed since it was last painted.
#[derive(Debug, Default)]
pub struct Model {
    conversation: Option<ConversationId>,
    sub: SubscriptionId,
    tracker: Tracker,
    /// What is looked at instead of a conversation.
    recording: Option<DecodedRecording>,
    is_reading: bool,
    /// What the recording told, as it came.
    told: Vec<String>,
    /// When the last of it happened, in milliseconds since 1970; 0 where it does not say.
    told_until: u64,
    past: Option<replay::Past>,
    kept: Vec<(ConversationId, Tracker)>,
    fleet: IndexMap<ConversationId, ConversationRow>,
    has_fleet: bool,
    /// Conversations in all, as the hub counts them.
    total: u64,
    /// Behind which row the older ones are; nothing when there are none.
    older_than: Option<(u64, ConversationId)>,
    tickers: Tickers,
    marks: Marks,
    marked: Marked,
    progress: IndexMap<CallKey, ToolProgress>,
    rate: Option<(u64, u64)>,
    /// The hub's clock minus ours, in milliseconds.
    ahead_ms: Option<i64>,
    event_at: Option<u64>,
    /// The last seq that was there when the hub answered the subscription.
    missed_from: Seq,
    viewers: u64,
    is_resyncing: bool,
    problem: Option<String>,
    touched: Touched,
}

impl Model {
    /// The conversation that is looked at.
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.as_ref()
    }

    /// What it holds.
    pub fn view(&self) -> &View {
        match (self.replay(), &self.recording) {
            (Some(replay), _) => replay.view(),
            (None, Some(told)) => told.view(),
            (None, None) => self.tracker.view(),
        }
    }

    /// Where it stands; nothing before the hub has answered.
    pub fn position(&self) -> Option<Position> {
        self.tracker.position()
    }

    /// Whether everything there is has arrived.
    pub fn is_live(&self) -> bool {
        if self.replay().is_some() {
            true
        } else if self.recording.is_some() {
            !self.is_reading
        } else {
            self.conversation.is_none() || self.tracker.is_live()
        }
    }

    /// Whether anything was ever known of the conversation.
    pub fn is_known(&self) -> bool {
        self.tracker.position().is_some()
    }

    /// What a conversation of the list did last, the newest last.
    pub fn ticker(&self, conversation: &ConversationId) -> Vec<String> {
        self.tickers.lines(conversation)
    }

    /// What is to be told of the link's return, once.
    pub fn take_mark(&mut self) -> Option<Mark> {
        self.marks.take()
    }

    /// Keeps what was told of the link's return while this conversation is looked at.
    pub fn keep_mark(&mut self, words: String) {
        self.marked.keep(self.conversation.as_ref(), words);
    }

    /// What was told of the link's return while this conversation was looked at, the newest first.
    pub fn marked(&self) -> Vec<&str> {
        self.marked.of(self.conversation.as_ref())
    }

    /// How far a call is.
    pub fn progress(&self, call: &CallKey) -> Option<&ToolProgress> {
        self.progress.get(call).filter(|_| self.replay().is_none())
    }

    /// Tokens in the last second, if the newest figure is of the last two.
    pub fn rate(&self, now: u64) -> Option<u64> {
        self.rate
            .filter(|(at, tokens)| now.saturating_sub(*at) < 2_000 && *tokens > 0 && self.replay().is_none())
            .map(|(_, tokens)| tokens)
    }

    /// When the newest event that is known of was taken, by the hub's clock: a state that came whole has no times, but the
    /// list does.
    pub fn event_at(&self) -> Option<u64> {
        let listed = self.conversation.as_ref().and_then(|id| self.fleet.get(id)).map(|row| row.at);
        self.event_at.max(listed).filter(|at| *at > 0)
    }

    /// How many watch the conversation; 0 before the hub has said it.
    pub fn viewers(&self) -> u64 {
        self.viewers
    }

    /// How many of the events that were missed are there again, and how many those are; nothing when everything is there.
    pub fn caught_up(&self) -> Option<(u64, u64)> {
        let (seq, head) = (self.tracker.view().seq, self.tracker.head());
        let missed = head.saturating_sub(self.missed_from);
        (!self.is_live() && head > seq).then(|| (seq.saturating_sub(self.missed_from).min(missed), missed))
    }

    /// The newest seq that is known of: the hub's while the page catches up, that of the present while the past is shown.
    pub fn head(&self) -> Seq {
        self.tracker.head().max(self.present_seq())
    }

    /// What the hub said against the subscription.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The hub's time at our time `now`.
    pub fn hub_time(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead_ms.unwrap_or(0))
    }

    /// Takes what changed since the last call.
    pub fn take_touched(&mut self) -> Touched {
        std::mem::take(&mut self.touched)
    }

    /// Looks at another conversation; the frames to send, if the socket is up.
    pub fn open(&mut self, conversation: Option<ConversationId>) -> Vec<ClientFrame> {
        if self.conversation == conversation && self.recording.is_none() {
            return Vec::new();
        }
        let mut frames = self.leave();
        self.sub = self.sub.max(FLEET).saturating_add(1);
        self.conversation = conversation;
        if let Some(wanted) = &self.conversation
            && let Some(at) = self.kept.iter().position(|(kept, _)| kept == wanted)
        {
            self.tracker = self.kept.remove(at).1;
        }
        frames.extend(self.sub_frame());
        frames
    }

    /// Looks at nothing; the frames to send.
    fn leave(&mut self) -> Vec<ClientFrame> {
        let unsub = self.conversation.is_some().then_some(ClientFrame::Unsub { sub: self.sub });
        self.put_away();
        self.recording = None;
        (self.told_until, self.past) = (0, None);
        self.told.clear();
        unsub.into_iter().collect()
    }

    /// Looks at a picture of a conversation, as it was.
    pub fn picture(&mut self, conversation: ConversationId, view: View) {
        drop(self.open(Some(conversation)));
        let (sub, epoch, seq) = (self.sub, Epoch::new("picture"), view.seq);
        let mode = SubMode::Snapshot;
        let state = Box::new(view);
        for frame in [
            ServerFrame::Subbed { sub, epoch: epoch.clone(), mode, why: None, head: seq },
            ServerFrame::Snap { sub, epoch, seq, more: false, state },
            ServerFrame::Live { sub, seq },
        ] {
            self.take(frame, 0);
        }
    }

    fn put_away(&mut self) {
        let mut tracker = std::mem::take(&mut self.tracker);
        tracker.disconnected();
        if let Some(old) = self.conversation.take() {
            if self.kept.len() >= KEPT_MAX {
                self.kept.remove(0);
            }
            self.kept.push((old, tracker));
        }
        self.progress.clear();
        self.marks = Marks::default();
        (self.rate, self.event_at, self.problem, self.viewers) = (None, None, None, 0);
        self.is_resyncing = false;
        self.touched = Touched { replaced: true, fleet: self.touched.fleet, ..Touched::default() };
    }

    fn sub_frame(&self) -> Option<ClientFrame> {
        let conv = self.conversation.clone()?;
        Some(ClientFrame::Sub {
            sub: self.sub,
            conv,
            have: self.tracker.position(),
            wish: SubscriptionOptions::default(),
        })
    }

    /// What to ask for on a new socket.
    pub fn subscriptions(&mut self, with_fleet: bool) -> Vec<ClientFrame> {
        self.disconnected();
        let fleet = with_fleet.then_some(ClientFrame::Watch { sub: FLEET, limit: None });
        fleet.into_iter().chain(self.sub_frame()).collect()
    }

    /// The socket is gone.
    pub fn disconnected(&mut self) {
        self.marks.lose(self.tracker.position().map(|position| position.seq));
        self.tracker.disconnected();
        self.is_resyncing = false;
    }

    /// Takes a frame that came at `now` by our clock; the answer to send, if it wants one.
    pub fn take(&mut self, mut frame: ServerFrame, now: u64) -> Option<ClientFrame> {
        match &mut frame {
            ServerFrame::Welcome(welcome) => {
                self.ahead_ms = None;
                self.hear_time(welcome.ts, now);
            }
            ServerFrame::Fleet { sub: FLEET, full, rows, ts, total } => {
                self.hear_time(*ts, now);
                self.take_rows(*full, rows, *total);
            }
            ServerFrame::Hb { ts, heads } => {
                self.hear_time(*ts, now);
                return Some(self.heartbeat(heads.get(&self.sub)));
            }
            ServerFrame::Error { sub: Some(sub), message, .. } if *sub == self.sub => {
                self.problem = Some(std::mem::take(message));
                self.touched.replaced = true;
            }
            ServerFrame::Presence { sub, viewers } if *sub == self.sub => self.viewers = *viewers,
            ServerFrame::Batch { sub, ts, .. } if *sub == self.sub => {
                self.hear_time(*ts, now);
                return self.follow(&mut frame, now);
            }
            ServerFrame::Subbed { sub, .. }
            | ServerFrame::Snap { sub, .. }
            | ServerFrame::Live { sub, .. }
                if *sub == self.sub =>
            {
                return self.follow(&mut frame, now);
            }
            _ => {}
        }
        None
    }

    /// A frame of the conversation.
    fn follow(&mut self, frame: &mut ServerFrame, now: u64) -> Option<ClientFrame> {
        // While the past is shown, nothing of the present is painted.
        let is_shown = self.replay().is_none();
        let changes = &mut self.touched.changes;
        match self.tracker.take(frame, &mut |change| {
            if is_shown {
                changes.insert(change);
            }
        }) {
            FrameOutcome::Subscribed { why } => {
                (self.is_resyncing, self.problem) = (false, None);
                self.missed_from = self.tracker.view().seq;
                self.marks.answered(why);
            }
            FrameOutcome::Live => {
                self.is_resyncing = false;
                self.marks.live(self.tracker.view().seq);
            }
            FrameOutcome::Replaced => {
                self.marks.replace(self.is_resyncing);
                self.is_resyncing = false;
                if is_shown {
                    self.touched.replaced = true;
                    self.touched.changes.clear();
                }
            }
            FrameOutcome::Applied(events) => {
                self.event_at = self.event_at.max(events.iter().map(|event| event.at).max());
                for event in events {
                    hear_ephemeral(&mut self.progress, &mut self.rate, &mut self.touched, event, now);
                }
            }
            FrameOutcome::Gap { .. } | FrameOutcome::Drift { .. } if !self.is_resyncing => {
                self.is_resyncing = true;
                return Some(ClientFrame::Resync { sub: self.sub });
            }
            FrameOutcome::Gap { .. }
            | FrameOutcome::Drift { .. }
            | FrameOutcome::Piece
            | FrameOutcome::Duplicate
            | FrameOutcome::NotForUs => {}
        }
        None
    }

    /// Answers a heartbeat. The subscription may be dead though the socket lives.
    fn heartbeat(&mut self, head: Option<&(Epoch, Seq)>) -> ClientFrame {
        let seq = self.tracker.view().seq;
        if self.conversation.is_some() && self.tracker.heartbeat(head) && !self.is_resyncing {
            self.is_resyncing = true;
            return ClientFrame::Resync { sub: self.sub };
        }
        let at = self.conversation.iter().map(|_| (self.sub, seq)).collect();
        ClientFrame::HbAck { at }
    }

    /// The frame that travelled fastest tells the hub's clock best: the largest difference seen.
    fn hear_time(&mut self, ts: u64, now: u64) {
        if ts == 0 {
            return;
        }
        let ahead = i64::try_from(ts).unwrap_or(i64::MAX).saturating_sub_unsigned(now);
        self.ahead_ms = Some(self.ahead_ms.map_or(ahead, |known| known.max(ahead)));
    }
}

fn hear_ephemeral(
    progress: &mut IndexMap<CallKey, ToolProgress>,
    rate: &mut Option<(u64, u64)>,
    touched: &mut Touched,
    envelope: &Envelope,
    now: u64,
) {
    match &envelope.event.kind {
        Kind::Rate { tokens } => *rate = Some((now, *tokens)),
        Kind::ToolProgress(newest) => {
            let call = (envelope.event.run.clone(), newest.tool.clone());
            if progress.len() >= EPHEMERA_MAX && !progress.contains_key(&call) {
                progress.shift_remove_index(0);
            }
            progress.insert(call.clone(), newest.clone());
            touched.progress.insert(call);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
