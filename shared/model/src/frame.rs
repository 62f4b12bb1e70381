//! Frames: one WebSocket text message each, one JSON object with its type in `t`. The normative text, with an example
//! of each, is `docs/protocol.md`. Unknown fields are ignored everywhere; an unknown `t` is [`ServerFrame::Unknown`]
//! to a client (skip it) and a named error to the hub.

use std::collections::BTreeMap;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::code::ErrorCode;
use crate::command::{Command, Done};
use crate::envelope::Envelope;
use crate::ids::{ConversationId, PublisherId};
use crate::position::{Epoch, Position, Seq};
use crate::view::View;

mod read;
mod row;
mod welcome;
mod wish;

pub use read::{ClientFrameError, ServerFrameError, parse_client, parse_server_with};
pub use row::{ConversationRow, RowCall};
pub use welcome::{Limits, SilenceThresholds, Welcome};
pub use wish::SubscriptionOptions;

/// The one version of the protocol that there is.
pub const VERSION: &str = "1";

/// The name of the WebSocket subprotocol.
pub const SUBPROTOCOL: &str = "fanlight.v1";

/// A number that the client chooses for a subscription on its socket.
pub type SubscriptionId = u32;

/// A frame that a client sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ClientFrame {
    /// The first frame of a client.
    Hello {
        /// Versions that the client speaks.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        versions: Vec<CompactString>,
        /// The name of the client, for the hub's trace.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        client: Option<CompactString>,
        /// The token of the caller, where the request of the socket does not have one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        token: Option<BearerToken>,
    },
    /// Subscribes to a conversation.
    Sub {
        /// The number that the client chooses for the subscription.
        sub: SubscriptionId,
        /// The id of the conversation. It may not exist yet.
        conv: ConversationId,
        /// The position up to which the client has the conversation already.
        #[serde(skip_serializing_if = "Option::is_none")]
        have: Option<Position>,
        /// The lens and the pace that the client asks for.
        #[serde(flatten)]
        wish: SubscriptionOptions,
    },
    /// Subscribes to the list of conversations.
    Watch {
        /// The number that the client chooses for the subscription.
        sub: SubscriptionId,
        /// How many rows to begin with, the newest activity first.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// Ends a subscription.
    Unsub {
        /// The number of the subscription.
        sub: SubscriptionId,
    },
    /// Asks for a snapshot: the client's state does not fit.
    Resync {
        /// The number of the subscription.
        sub: SubscriptionId,
    },
    /// The answer to a heartbeat.
    HbAck {
        /// For each subscription the seq that the client has applied.
        #[serde(default)]
        at: BTreeMap<SubscriptionId, Seq>,
    },
    /// Publishes events into a conversation.
    // Written only with the feature `publish`: with it goes how each kind of event is written.
    #[cfg_attr(not(any(test, feature = "publish")), serde(skip_serializing))]
    Pub(Pub),
    /// Has a command carried out in a conversation; see [`crate::command`].
    Command {
        /// The id of the conversation. It may not exist yet.
        conv: ConversationId,
        /// The command, with the id that the answer names.
        command: Command,
    },
}

/// The secret by which a hub knows who calls. Nothing prints it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BearerToken(CompactString);

impl BearerToken {
    /// Makes a token of `text`.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text of the token, for whoever checks it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BearerToken")
    }
}

/// See [`ClientFrame::Pub`]. Applied as a whole or refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pub {
    /// The client's number for this frame; the answer names it.
    pub id: u64,
    /// The conversation; made when it does not exist.
    pub conv: ConversationId,
    /// The publisher, for exactly-once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<PublisherId>,
    /// The life of the publisher; a higher one fences a lower one off.
    #[serde(skip_serializing_if = "is_zero")]
    pub pepoch: u64,
    /// The number of the first event, where events are numbered one by one; 0 where the frame has one number, its `pseq`.
    #[serde(skip_serializing_if = "is_zero")]
    pub pfirst: u64,
    /// The number of this frame, or of its last event, in the life of the publisher, from 1, rising by 1; 0 for a publisher
    /// that does not count.
    #[serde(skip_serializing_if = "is_zero")]
    pub pseq: u64,
    /// What the ack must mean. If absent: [`Durability::Stored`], or [`Durability::Memory`] if the log offers no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// The events to append, in order.
    pub events: Vec<Envelope>,
}

// Eight bytes are no more than a reference only where references have eight.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A frame that the hub sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ServerFrame {
    /// The answer to `hello`.
    Welcome(Welcome),
    /// The answer to `sub`. The cursor exists from here on.
    Subbed {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The epoch: the life of the log.
        epoch: Epoch,
        /// Whether events follow, or a snapshot.
        mode: SubMode,
        /// The reason why it is a snapshot although the client had a position.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<SnapshotReason>,
        /// The newest seq of the conversation.
        head: Seq,
    },
    /// The state at a position, or a piece of it; replaces what the client has of this subscription.
    Snap {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The epoch: the life of the log.
        epoch: Epoch,
        /// The seq of the last event in the state.
        seq: Seq,
        /// Whether more pieces follow; all pieces together are the state.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        more: bool,
        /// The view, or a piece of it.
        state: Box<View>,
    },
    /// Events. They are valid only for a client that stands at `from - 1`; afterwards it stands at `to`.
    Batch {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The first seq that the frame covers.
        from: Seq,
        /// The last seq that the frame covers; `from - 1` if it has only ephemeral events.
        to: Seq,
        /// When the hub wrote the frame, in milliseconds since 1970.
        ts: u64,
        /// The events; deltas of one part may be joined.
        ev: Vec<Envelope>,
    },
    /// The client has all there was when it subscribed or was sent a snapshot.
    Live {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The seq that the client has reached.
        seq: Seq,
    },
    /// The viewer reads too slowly, or has caught up.
    Lag {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The way in which the viewer is served from here on.
        state: Rung,
        /// The number of events that it is behind.
        behind_events: u64,
        /// The time for which it has been behind, in milliseconds.
        behind_ms: u64,
    },
    /// The number of viewers of a conversation, and their names.
    Presence {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The number of viewers of the conversation, this one among them.
        viewers: u64,
        /// The names of the viewers, where names are told: each once and in order, the first `crate::limits::PRESENCE_NAMES_MAX` of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        names: Vec<CompactString>,
    },
    /// Rows of the list of conversations.
    Fleet {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// Whether these are all rows; otherwise they are only those that changed.
        full: bool,
        /// The rows that are new or changed.
        rows: Vec<ConversationRow>,
        /// Conversations that were deleted: remove their rows before `rows` are applied. One of these may be there again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<ConversationId>,
        /// The number of all conversations.
        total: u64,
        /// When the hub wrote the frame, in milliseconds since 1970.
        ts: u64,
    },
    /// A heartbeat. The client answers with `hb_ack`.
    Hb {
        /// When the hub wrote the frame, in milliseconds since 1970.
        ts: u64,
        /// For each subscription the epoch and the newest seq.
        heads: BTreeMap<SubscriptionId, (Epoch, Seq)>,
    },
    /// Whether the log can write. Sent after `welcome` when it cannot, and to all when that changes.
    Health {
        /// The state of the log.
        log: LogHealth,
        /// Since when the log cannot write, in milliseconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
        /// The error text of the operating system.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The hub is about to close the socket.
    Bye {
        /// The close code of the WebSocket.
        code: u16,
        /// Whether the client should connect again.
        reconnect: bool,
        /// How long the client should wait before it connects again, in milliseconds.
        retry_ms: u64,
        /// The reason, for a person.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        reason: CompactString,
    },
    /// The events of a `pub` were accepted.
    Ack(Ack),
    /// A command was carried out.
    Done(Done),
    /// A command was refused.
    Refused {
        /// The id of the command; empty if it had none that could be read.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        id: CompactString,
        /// The code of the error, for programs.
        code: ErrorCode,
        /// The reason, for a person.
        message: String,
    },
    /// A frame or a subscription failed; the socket stays.
    Error {
        /// The number of the subscription that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        sub: Option<SubscriptionId>,
        /// The id of the `pub` that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// The code of the error, for programs.
        code: ErrorCode,
        /// What is wrong and where, for a person.
        message: String,
        /// For `publisher_gap`: the number that the hub expects.
        #[serde(skip_serializing_if = "Option::is_none")]
        expected: Option<u64>,
    },
    /// A frame of a later version: skip it.
    #[serde(skip)]
    Unknown,
}

/// The state of the log: whether it can write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LogHealth {
    /// The log writes.
    #[default]
    Well,
    /// The disk is full.
    DiskFull,
    /// The log cannot write for another reason; words of later versions are read as this one.
    #[serde(other)]
    DiskFailing,
}

/// The ways in which a viewer is served, from the best to the worst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Each event is sent as it happens.
    #[default]
    Immediate,
    /// Events that wait are joined before they are sent.
    Merged,
    /// The viewer gets the state instead of what it missed.
    Snapshot,
}

/// What the hub sends first after it has accepted a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubMode {
    /// The events after the client's position.
    Tail,
    /// A snapshot, then the events after it.
    Snapshot,
}

/// The reason why a client with a position gets a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// The log cannot be continued from there.
    EpochChanged,
    /// The ring does not reach back that far.
    TooOld,
    /// The position is after the newest event.
    AheadOfHead,
    /// The snapshot is smaller than what is missing.
    Cheaper,
    /// The viewer fell behind.
    Lagging,
    /// The client asked for it.
    Requested,
}

/// See [`ServerFrame::Ack`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ack {
    /// The client's number of the `pub`.
    pub id: u64,
    /// The epoch: the life of the log.
    pub epoch: Epoch,
    /// The newest seq after the events; for a duplicate, the newest seq now.
    pub seq: Seq,
    /// The number of events that were accepted; 0 for a duplicate.
    pub events: u64,
    /// Whether the frame had been accepted before.
    #[serde(default)]
    pub duplicate: bool,
    /// The durability that the ack stands for.
    pub durability: Durability,
}

/// What an ack means (invariant I9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The events are in the hub's memory, and gone when it dies.
    Memory,
    /// The events survive the death of the hub.
    Stored,
    /// The events survive the loss of power.
    Synced,
    /// The events survive the loss of the database's machine: a synchronous standby has them on its disk too.
    Replicated,
}

impl Durability {
    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Stored => "stored",
            Self::Synced => "synced",
            Self::Replicated => "replicated",
        }
    }
}

/// The frame of a hub that `text` holds. A type that is not known is no error.
pub fn parse_server(text: &str) -> Result<ServerFrame, ServerFrameError> {
    parse_server_with(text, |state| serde_json::from_str(state))
}

/// Whether `count` events can be numbered from `first`, which is not 0, to `last`. None at all are numbered from the one
/// behind `last`.
pub fn are_numbered(first: u64, last: u64, count: usize) -> bool {
    first > 0 && last.checked_add(1).is_some_and(|end| first.checked_add(count as u64) == Some(end))
}

#[cfg(test)]
mod tests;
