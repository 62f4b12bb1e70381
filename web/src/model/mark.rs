//! What a reader is told after the link was away: how much came meanwhile, or that the history was sent anew.

use model::frame::SnapshotReason;
use model::{ConversationId, Seq};

/// What happened while the connection was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// So many events were caught up.
    CaughtUp(u64),
    /// What was there was replaced by the hub's state.
    Reloaded,
}

impl Mark {
    /// In words, with the time of day when it was.
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

/// Since when the link is away, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Marks {
    away_at: Option<Seq>,
    /// Whether the hub's answer was that what is here cannot be continued.
    is_gap: bool,
    mark: Option<Mark>,
}

impl Marks {
    /// The link is gone; `seq` is what was there, nothing where nothing was.
    pub(super) fn lose(&mut self, seq: Option<Seq>) {
        self.away_at = self.away_at.or(seq);
    }

    /// The hub answered; `why` it sends a snapshot instead of events.
    pub(super) fn answered(&mut self, why: Option<SnapshotReason>) {
        use SnapshotReason::{AheadOfHead, EpochChanged, Requested, TooOld};
        self.is_gap = matches!(why, Some(EpochChanged | TooOld | AheadOfHead | Requested));
    }

    /// Everything there is has come, up to `seq`.
    pub(super) fn live(&mut self, seq: Seq) {
        if let Some(from) = self.away_at.take() {
            self.mark = Some(Mark::CaughtUp(seq.saturating_sub(from)));
        }
    }

    /// The state was replaced; `is_asked` when that was asked for and nothing was said in between. A snapshot that is
    /// merely shorter than the events is no gap.
    pub(super) fn replace(&mut self, is_asked: bool) {
        if is_asked || self.is_gap {
            (self.away_at, self.is_gap) = (None, false);
            self.mark = Some(Mark::Reloaded);
        }
    }

    /// What is to be told, once.
    pub(super) fn take(&mut self) -> Option<Mark> {
        self.mark.take()
    }
}

/// Most of them that are kept, of all conversations.
const KEPT_MAX: usize = 20;

/// What was told of the link's return, and in which conversation.
#[derive(Debug, Default)]
pub(super) struct Marked(Vec<(Option<ConversationId>, String)>);

impl Marked {
    /// Keeps one more; the oldest makes room.
    pub(super) fn keep(&mut self, conversation: Option<&ConversationId>, words: String) {
        if self.0.len() >= KEPT_MAX {
            self.0.remove(0);
        }
        self.0.push((conversation.cloned(), words));
    }

    /// Those of a conversation, the newest first.
    pub(super) fn of(&self, conversation: Option<&ConversationId>) -> Vec<&str> {
        let its = self.0.iter().rev().filter(|(of, _)| of.as_ref() == conversation);
        its.map(|(_, words)| words.as_str()).collect()
    }
}
