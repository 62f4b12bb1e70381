//! Conversations, kept in order and fanned out to viewers.
//!
//! [`Hub`] finds and makes conversations and appends to them. A [`Conversation`] has its view, its newest
//! events, its publishers and its viewers. [`Fanout`] brings what was appended to sockets: viewers are
//! grouped, and one pump for each group writes frames that were encoded once. A viewer that falls behind
//! catches up from its [`Cursor`] or by the [`Snapshot`]; nothing is queued for anybody.
//!
//! The crate must never know HTTP, files, settings or dialects. Events come in as envelopes; frames go out as
//! bytes, which it writes through [`Transport`]. It parses no JSON. It writes the frames of the protocol
//! itself ([`wire`]), because a frame is encoded once for a whole group of viewers, and only this crate knows
//! the groups. Of the workspace it names `model`, `event-log` and `redact` (secrets are replaced before events get a seq) and no other crate.
//!
//! Reading order: `hub/conversation` (one lock around a plain struct) → `hub` (all of them, the list, what is due beside the traffic) →
//! `fanout` (pumps, outboxes, how well viewers keep up) → `slice` (what comes after a cursor) → `wire` (slices and others as frames, in bytes) → `tally` (what is counted).

use event_log::clock;

mod fanout;
mod hub;
mod slice;
mod tally;
pub mod wire;

pub use fanout::{
    BEHIND_AFTER, CurrentRung, Fanout, Flushed, Ladder, Outbox, Pump, SendResult, Subscription,
    SubscriptionTarget, SubscriptionTerms, TaskWake, Transport, ViewedConversation, bounded_slices,
};
pub use hub::beginning;
#[cfg(any(test, feature = "testkit"))]
pub use hub::blocking_log;
pub use hub::{
    AnnouncedViewers, AppendError, Appended, Attendant, ChangeFeed, Conversation, CopyError, CopyMark,
    CopySummary, Cursor, Delivery, Discontinuity, EventOrigin, FrameCache, FrameCaches, FrameNumbering,
    History, Hub, ImportError, ListPage, MemoryBounds, NotGivenUp, Numbers, OpenError, OrphanTimeouts,
    Orphans, PendingDeletion, Prices, Publication, PublishError, PublisherConnection, SeenRows, Slice,
    Snapshot, SnapshotNeed, ViewerCountChanges, WITHHELD_MS, WithheldTicket, copy, shows_document,
};
pub use tally::{Counter, TALLY, Tally};
