//! Conversations, kept in order and fanned out.
//!
//! [`Hub`] finds and makes conversations and appends to them; [`Conversation`] is one of them: its view, its newest events, who publishes
//! and who views. [`Fanout`] brings what was appended to sockets: viewers are grouped, one pump for each group writes frames that were
//! encoded once. A viewer that falls behind catches up from its [`Cursor`] or by the [`Snapshot`]; nothing is queued for anybody.
//!
//! The crate must never know HTTP, files, settings or dialects: events come in as envelopes, and what goes out are frames as bytes, which
//! it writes through [`Transport`]. It reads no JSON; it writes the frames of the protocol ([`wire`]), since they are encoded once for all viewers and
//! so belong where viewers are grouped. It names `model` and `event-log` and no other crate of the workspace.
//!
//! Reading order: `hub/conversation` (one lock around a plain struct) → `hub` (all of them, the list, what is due beside the traffic) →
//! `fanout` (pumps, outboxes, how well viewers keep up) → `wire` (frames as bytes) → `tally` (what is counted).

use event_log::clock;

mod fanout;
mod hub;
mod tally;
pub mod wire;

pub use fanout::{
    BEHIND_AFTER, CurrentRung, Fanout, Ladder, Outbox, Sent, Shard, Stage, Subscription, SubscriptionTarget,
    Transport,
};
#[cfg(any(test, feature = "testkit"))]
pub use hub::halting;
pub use hub::{
    AppendError, Appended, Attendant, Bounds, By, Claim, Conversation, Cursor, Far, Follower, History, Hub,
    ImportError, Listed, Numbers, OpenError, Orphans, Patience, Presence, Prices, Publication, PublishError,
    SeenRows, Sight, Sights, Slice, Snapshot, Speaker, TicketToCome, WITHHELD_MS,
};
pub use tally::{Count, TALLY, Tally};
