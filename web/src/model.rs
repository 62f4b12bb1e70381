//! The state of the page: the list of conversations, the open conversation, and what changed since the last
//! painting.
//!
//! It takes frames and returns answers. It does not know the socket, the clock and the DOM.
//!
//! `list` and `ticker` hold the list; `recording` and `replay` are shown in place of a conversation; `mark`
//! notes reconnections.

use indexmap::{IndexMap, IndexSet};
use model::event::{Kind, ToolProgress};
use model::fold::ViewChange;
use model::frame::{ClientFrame, ConversationRow, ServerFrame, SubMode, SubscriptionId};
use model::limits::EPHEMERA_MAX;
use model::recording::DecodedRecording;
use model::tracker::{FrameOutcome, Tracker};
use model::{ConversationId, Envelope, Epoch, Position, Seq, View};

use crate::fleet;
use crate::latency::CallKey;
use crate::wall::Pulse;

mod list;
mod mark;
mod part;
mod recording;
mod replay;
mod ticker;

pub use mark::ReconnectionNotice;
use mark::{Marked, Marks};
use part::AskedPart;
pub use part::NEWEST_BYTES;
use ticker::Tickers;

/// The id of the list's subscription.
const FLEET: SubscriptionId = 1;

/// How many conversations are kept after the reader leaves them, so that returning costs only the events
/// since then.
const KEPT_MAX: usize = 4;

/// What changed since the last painting.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Whether the list changed.
    pub fleet: bool,
    /// Whether the whole conversation was replaced.
    pub replaced: bool,
    /// Whether it was replaced by more of it, of which the reader has a part on the screen.
    pub grown: bool,
    /// Changed items of the conversation.
    pub changes: IndexSet<ViewChange>,
    /// Calls with new progress.
    pub progress: IndexSet<CallKey>,
}

impl Touched {
    /// Whether nothing must be painted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The part of the program that reads snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SnapshotReader {
    /// The reader can be used.
    #[default]
    Ready,
    /// The page has not fetched it yet.
    Awaited,
}

/// The state of the page; see the module documentation.
#[derive(Debug, Default)]
pub struct Model {
    /// The id of the open conversation.
    conversation: Option<ConversationId>,
    /// The id of its subscription.
    sub: SubscriptionId,
    /// How much of the conversation is asked for.
    part: AskedPart,
    tracker: Tracker,
    /// The open recording, shown in place of a conversation.
    recording: Option<DecodedRecording>,
    /// Whether the recording is still being read.
    is_reading: bool,
    /// The events of the recording as they arrived, kept for a replay.
    told: Vec<String>,
    /// The time of the recording's newest event, in milliseconds since 1970; 0 if events have no times.
    told_until: u64,
    /// The replay, if one was begun.
    past: Option<replay::Past>,
    /// Conversations that the reader left, the oldest first.
    kept: Vec<(ConversationId, Tracker)>,
    /// The rows of the list.
    fleet: IndexMap<ConversationId, ConversationRow>,
    /// Whether the hub has sent the list.
    has_fleet: bool,
    /// The number of conversations at the hub.
    total: u64,
    /// The row after which older ones follow; `None` if the list is complete.
    older_than: Option<(u64, ConversationId)>,
    tickers: Tickers,
    marks: Marks,
    marked: Marked,
    /// The last progress of open calls.
    progress: IndexMap<CallKey, ToolProgress>,
    /// When the last token rate arrived, and the rate.
    rate: Option<(u64, u64)>,
    /// The hub's clock minus the browser's, in milliseconds; `None` until a frame has told it.
    ahead_ms: Option<i64>,
    /// The hub's time of the newest event.
    event_at: Option<u64>,
    /// The position of the page when the hub answered the subscription.
    missed_from: Seq,
    /// The number of viewers.
    viewers: u64,
    /// Their names, where the hub tells them.
    viewer_names: Vec<String>,
    /// Whether a resync was requested and is not done yet.
    is_resyncing: bool,
    /// Until it is there no conversation is subscribed to.
    reader: SnapshotReader,
    /// The hub's refusal of the subscription.
    problem: Option<String>,
    touched: Touched,
}

impl Model {
    /// Without content, and before the module that reads snapshots is there: [`Self::let_read`] says that it is.
    pub fn awaiting_reader() -> Self {
        Self { reader: SnapshotReader::Awaited, ..Self::default() }
    }

    /// Snapshots can be read from now on. Returns the frame to send if the socket is open and a conversation waits.
    pub fn let_read(&mut self) -> Option<ClientFrame> {
        let was = std::mem::take(&mut self.reader);
        (was == SnapshotReader::Awaited).then(|| self.sub_frame()).flatten()
    }

    /// The id of the open conversation.
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.as_ref()
    }

    /// The view that is shown: of the replay, the recording, or the conversation.
    pub fn view(&self) -> &View {
        match (self.replay(), &self.recording) {
            (Some(replay), _) => replay.view(),
            (None, Some(told)) => told.view(),
            (None, None) => self.tracker.view(),
        }
    }

    /// The position in the conversation; `None` before the hub has answered.
    pub fn position(&self) -> Option<Position> {
        self.tracker.position()
    }

    /// Whether all existing events have arrived.
    pub fn is_live(&self) -> bool {
        if self.replay().is_some() {
            true
        } else if self.recording.is_some() {
            !self.is_reading
        } else {
            self.conversation.is_none() || self.tracker.is_live()
        }
    }

    /// Whether the hub has ever answered the subscription.
    pub fn is_known(&self) -> bool {
        self.tracker.position().is_some()
    }

    /// The newest lines of a conversation of the list, the newest last.
    pub fn ticker(&self, conversation: &ConversationId) -> Vec<String> {
        self.tickers.lines(conversation)
    }

    /// The last words of the run that goes on in a conversation of the list; empty if none does.
    pub fn words(&self, conversation: &ConversationId) -> &str {
        self.tickers.words(conversation)
    }

    /// What a tile says of a conversation of the list: what it did last, the newest last, and its last words, which say more
    /// than that it works.
    pub fn told(&self, conversation: &ConversationId) -> (Vec<String>, String) {
        let words = self.words(conversation).to_owned();
        let is_told = |line: &String| words.is_empty() || line != "working";
        (self.ticker(conversation).into_iter().filter(is_told).collect(), words)
    }

    /// How fast a conversation of the list writes; `None` as long as nobody has said.
    pub fn pulse(&self, conversation: &ConversationId) -> Option<&Pulse> {
        self.tickers.pulse(conversation)
    }

    /// Takes the notice of a reconnection; it is returned once.
    pub fn take_mark(&mut self) -> Option<ReconnectionNotice> {
        self.marks.take()
    }

    /// Keeps the text of a notice for the open conversation.
    pub fn keep_mark(&mut self, words: String) {
        self.marked.keep(self.conversation.as_ref(), words);
    }

    /// The notices of reconnections in the open conversation, the newest first.
    pub fn marked(&self) -> Vec<&str> {
        self.marked.of(self.conversation.as_ref())
    }

    /// The progress of a call; `None` during a replay.
    pub fn progress(&self, call: &CallKey) -> Option<&ToolProgress> {
        self.progress.get(call).filter(|_| self.replay().is_none())
    }

    /// The tokens of the last second, if the newest rate is less than two seconds old at `now`.
    pub fn rate(&self, now: u64) -> Option<u64> {
        self.rate
            .filter(|(at, tokens)| now.saturating_sub(*at) < 2_000 && *tokens > 0 && self.replay().is_none())
            .map(|(_, tokens)| tokens)
    }

    /// The hub's time of the newest known event, in milliseconds since 1970. A snapshot has no times; then
    /// the list's row tells it.
    pub fn event_at(&self) -> Option<u64> {
        let listed = self.conversation.as_ref().and_then(|id| self.fleet.get(id)).map(|row| row.at);
        self.event_at.max(listed).filter(|at| *at > 0)
    }

    /// The number of viewers of the conversation; 0 before the hub has reported it.
    pub fn viewers(&self) -> u64 {
        self.viewers
    }

    /// The names of the viewers, each once and in order; empty where the hub does not tell them.
    pub fn viewer_names(&self) -> &[String] {
        &self.viewer_names
    }

    /// How many of the missed events have arrived, and how many were missed; `None` once all have arrived.
    pub fn caught_up(&self) -> Option<(u64, u64)> {
        let (seq, head) = (self.tracker.view().seq, self.tracker.head());
        let missed = head.saturating_sub(self.missed_from);
        (!self.is_live() && head > seq).then(|| (seq.saturating_sub(self.missed_from).min(missed), missed))
    }

    /// The newest known seq: the hub's while the page catches up, and the present's during a replay.
    pub fn head(&self) -> Seq {
        self.tracker.head().max(self.present_seq())
    }

    /// The hub's refusal of the subscription, if any.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The hub's time at the browser's time `now`; both in milliseconds since 1970.
    pub fn hub_time(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead_ms.unwrap_or(0))
    }

    /// Returns what changed since the last call.
    pub fn take_touched(&mut self) -> Touched {
        std::mem::take(&mut self.touched)
    }

    /// Opens another conversation. Returns the frames to send if the socket is open.
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

    /// Closes what is open. Returns the frames to send.
    fn leave(&mut self) -> Vec<ClientFrame> {
        let is_subscribed = self.conversation.is_some() && self.reader == SnapshotReader::Ready;
        let unsub = is_subscribed.then_some(ClientFrame::Unsub { sub: self.sub });
        self.put_away();
        self.recording = None;
        (self.told_until, self.past) = (0, None);
        self.told.clear();
        unsub.into_iter().collect()
    }

    /// Opens a snapshot of a conversation that will not change.
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

    /// Keeps the open conversation for a later return, and resets everything about it.
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
        self.viewer_names.clear();
        self.is_resyncing = false;
        self.forget_part();
        self.touched = Touched { replaced: true, fleet: self.touched.fleet, ..Touched::default() };
    }

    /// The frames to send on a new socket; with that of the list if `with_fleet`.
    pub fn subscriptions(&mut self, with_fleet: bool) -> Vec<ClientFrame> {
        self.disconnected();
        let fleet = with_fleet.then_some(ClientFrame::Watch { sub: FLEET, limit: None });
        fleet.into_iter().chain(self.sub_frame()).collect()
    }

    /// Notes that the socket was closed.
    pub fn disconnected(&mut self) {
        self.marks.lose(self.tracker.position().map(|position| position.seq));
        self.tracker.disconnected();
        self.is_resyncing = false;
    }

    /// Takes a frame that arrived at `now` by the browser's clock. Returns the answer to send, if there is
    /// one.
    pub fn take(&mut self, mut frame: ServerFrame, now: u64) -> Option<ClientFrame> {
        match &mut frame {
            ServerFrame::Welcome(welcome) => {
                self.ahead_ms = None;
                fleet::take_thresholds(welcome.silence);
                self.hear_time(welcome.ts, now);
            }
            ServerFrame::Fleet { sub: FLEET, full, rows, gone, ts, total } => {
                self.hear_time(*ts, now);
                self.lose_rows(gone);
                self.take_rows(*full, rows, *total, *ts);
            }
            ServerFrame::Hb { ts, heads } => {
                self.hear_time(*ts, now);
                return Some(self.heartbeat(heads.get(&self.sub)));
            }
            ServerFrame::Error { sub: Some(sub), message, .. } if *sub == self.sub => {
                self.problem = Some(std::mem::take(message));
                self.touched.replaced = true;
                return self.part_refused();
            }
            ServerFrame::Presence { sub, viewers, names } if *sub == self.sub => {
                (self.viewers, self.viewer_names) = (*viewers, names.drain(..).map(String::from).collect());
            }
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

    /// Takes a frame of the open conversation.
    fn follow(&mut self, frame: &mut ServerFrame, now: u64) -> Option<ClientFrame> {
        // During a replay, changes of the present are not painted.
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
                let has_grown = self.part_is_here();
                self.marks.replace(self.is_resyncing);
                self.is_resyncing = false;
                if is_shown {
                    self.touched.grown |= has_grown && self.missed_from > 0;
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

    /// Answers a heartbeat. It asks for a resync if the subscription is dead although the socket works.
    fn heartbeat(&mut self, head: Option<&(Epoch, Seq)>) -> ClientFrame {
        let seq = self.tracker.view().seq;
        let subscribed = self.conversation.iter().filter(|_| self.reader == SnapshotReader::Ready);
        if subscribed.clone().next().is_some() && self.tracker.heartbeat(head) && !self.is_resyncing {
            self.is_resyncing = true;
            return ClientFrame::Resync { sub: self.sub };
        }
        let at = subscribed.map(|_| (self.sub, seq)).collect();
        ClientFrame::HbAck { at }
    }

    /// Takes the hub's time from a frame. The fastest frame tells it best, so the largest difference is kept.
    fn hear_time(&mut self, ts: u64, now: u64) {
        if ts == 0 {
            return;
        }
        let ahead = i64::try_from(ts).unwrap_or(i64::MAX).saturating_sub_unsigned(now);
        self.ahead_ms = Some(self.ahead_ms.map_or(ahead, |known| known.max(ahead)));
    }
}

/// Takes an event that is not stored: a token rate or the progress of a call.
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
