//! The notice after a reconnection: how many events were missed, or that the history was reloaded.

use model::frame::SnapshotReason;
use model::{ConversationId, Seq};

/// A notice about a reconnection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconnectionNotice {
    /// The missed events have arrived; the value is their number.
    CaughtUp(u64),
    /// The content was replaced by the hub's state.
    Reloaded,
}

impl ReconnectionNotice {
    /// The notice in words; `time` is the time of the day of the reconnection.
    pub fn words(self, time: &str) -> String {
        match self {
            Self::CaughtUp(0) => format!("reconnected {time} · nothing was missed"),
            Self::CaughtUp(1) => format!("reconnected {time} · 1 event caught up"),
            Self::CaughtUp(n) => {
                format!("reconnected {time} · {} events caught up", crate::format::grouped(n))
            }
            Self::Reloaded => format!("history reloaded {time} · shown as the hub has it"),
        }
    }
}

/// Follows a lost connection until the notice.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The position when the connection was lost.
    away_at: Option<Seq>,
    /// Whether the hub answered that it cannot continue from there.
    is_gap: bool,
    mark: Option<ReconnectionNotice>,
}

impl Marks {
    /// The connection was lost at `seq`; `None` if nothing was known yet.
    pub(super) fn lose(&mut self, seq: Option<Seq>) {
        self.away_at = self.away_at.or(seq);
    }

    /// The hub answered the subscription. `why` is the reason for a snapshot, if it sends one.
    pub(super) fn answered(&mut self, why: Option<SnapshotReason>) {
        use SnapshotReason::{AheadOfHead, EpochChanged, Requested, TooOld};
        self.is_gap = matches!(why, Some(EpochChanged | TooOld | AheadOfHead | Requested));
    }

    /// All events up to `seq` have arrived.
    pub(super) fn live(&mut self, seq: Seq) {
        if let Some(from) = self.away_at.take() {
            self.mark = Some(ReconnectionNotice::CaughtUp(seq.saturating_sub(from)));
        }
    }

    /// The state was replaced. `is_asked` is whether the page requested that because of a gap. A snapshot
    /// that is merely shorter than the events is not a gap.
    pub(super) fn replace(&mut self, is_asked: bool) {
        if is_asked || self.is_gap {
            (self.away_at, self.is_gap) = (None, false);
            self.mark = Some(ReconnectionNotice::Reloaded);
        }
    }

    /// Takes the notice out, if there is one.
    pub(super) fn take(&mut self) -> Option<ReconnectionNotice> {
        self.mark.take()
    }
}

/// The most notices that are kept, over all conversations.
const KEPT_MAX: usize = 20;

/// The notices that were shown, each with its conversation.
#[derive(Debug, Default)]
pub(super) struct Marked(Vec<(Option<ConversationId>, String)>);

impl Marked {
    /// Keeps a notice; the oldest is dropped if there are too many.
    pub(super) fn keep(&mut self, conversation: Option<&ConversationId>, words: String) {
        if self.0.len() >= KEPT_MAX {
            self.0.remove(0);
        }
        self.0.push((conversation.cloned(), words));
    }

    /// The notices of a conversation, the newest first.
    pub(super) fn of(&self, conversation: Option<&ConversationId>) -> Vec<&str> {
        let its = self.0.iter().rev().filter(|(of, _)| of.as_ref() == conversation);
        its.map(|(_, words)| words.as_str()).collect()
    }
}
