//! How much of the open conversation the page asks for: its newest part first, and more when the reader wants more.
//!
//! ```text
//! open ─▶ NEWEST_BYTES ──reader scrolls to its beginning──▶ MORE_BYTES ──again──▶ all
//!                      └──search, timeline, replay, an old place … need all────▶ all
//! ```

use model::ConversationId;
use model::frame::{ClientFrame, ConversationRow, SubscriptionOptions};
use model::view::Earlier;

use super::{Model, SnapshotReader};

/// How many bytes the page asks for first.
pub const NEWEST_BYTES: u64 = 256 << 10;

/// How many bytes it asks for when the reader has read those.
const MORE_BYTES: u64 = 1 << 20;

/// What the page has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AskedPart {
    /// At most so many bytes; 0 is all of it.
    newest: u64,
    /// What it asked for before.
    before: u64,
    /// Whether it is more than the page has, so that what it has is of no use.
    is_more: bool,
}

impl Default for AskedPart {
    fn default() -> Self {
        Self { newest: NEWEST_BYTES, before: NEWEST_BYTES, is_more: false }
    }
}

impl Model {
    /// What lies before the part of the conversation that is here; `None` if all of it is, and while something else is shown.
    pub fn earlier(&self) -> Option<&Earlier> {
        self.view().earlier.as_ref()
    }

    /// The row of the open conversation, which counts all of it.
    pub fn row(&self) -> Option<&ConversationRow> {
        self.conversation.as_ref().and_then(|id| self.fleet.get(id))
    }

    /// Asks for more of the conversation. Returns the frames to send if the socket is open.
    pub fn ask_more(&mut self) -> Vec<ClientFrame> {
        if self.part.is_more || self.tracker.view().earlier.is_none() {
            return Vec::new();
        }
        self.ask(if self.part.newest == NEWEST_BYTES { MORE_BYTES } else { 0 })
    }

    /// Asks for all of the conversation, unless that is here or under way. Returns the frames to send if the socket is open.
    pub fn ask_all(&mut self) -> Vec<ClientFrame> {
        let is_whole = self.tracker.position().is_some() && self.tracker.view().earlier.is_none();
        if self.part.newest == 0 || self.conversation.is_none() || is_whole {
            return Vec::new();
        }
        self.ask(0)
    }

    /// Asks for so many bytes, in a subscription of its own: what is shown stays until they are here.
    fn ask(&mut self, newest: u64) -> Vec<ClientFrame> {
        let is_subscribed = self.reader == SnapshotReader::Ready;
        let old = is_subscribed.then_some(ClientFrame::Unsub { sub: self.sub });
        self.part = AskedPart { newest, before: self.part.newest, is_more: true };
        self.sub = self.sub.saturating_add(1);
        old.into_iter().chain(self.sub_frame()).collect()
    }

    /// Takes it that the hub has refused the subscription. Returns the frame that goes on with what is here, if more was asked for.
    pub(super) fn part_refused(&mut self) -> Option<ClientFrame> {
        if !std::mem::take(&mut self.part.is_more) {
            return None;
        }
        self.part.newest = self.part.before;
        self.sub = self.sub.saturating_add(1);
        self.sub_frame()
    }

    /// Begins with the newest part again, for another conversation.
    pub(super) fn forget_part(&mut self) {
        self.part = AskedPart::default();
    }

    /// Notes that the snapshot is here. Returns whether it is more than there was.
    pub(super) fn part_is_here(&mut self) -> bool {
        std::mem::take(&mut self.part.is_more)
    }

    /// The frame that subscribes to the open conversation from the known position on; `None` while its answer could
    /// not be read.
    pub(super) fn sub_frame(&self) -> Option<ClientFrame> {
        let conv: ConversationId =
            self.conversation.clone().filter(|_| self.reader == SnapshotReader::Ready)?;
        let have = self.tracker.position().filter(|_| !self.part.is_more);
        let window = have.as_ref().and(self.tracker.window().cloned());
        let wish = SubscriptionOptions { newest: self.part.newest, window, ..SubscriptionOptions::default() };
        Some(ClientFrame::Sub { sub: self.sub, conv, have, wish })
    }
}
