//! What a session tells its owner.

use model::code::ErrorCode;
use model::fold::ViewChange;
use model::frame::{Ack, ConversationRow, Rung, SnapshotReason, SubscriptionId, Welcome};
use model::{Envelope, PartId, RunId, Seq};

use crate::HubAddress;

/// What a viewer session tells its owner.
#[derive(Debug)]
pub enum SessionUpdate {
    /// The socket is there; all subscriptions are asked for again.
    Connected(Welcome),
    /// The socket is gone, or was not to be had. [`Session::next`](super::ViewerSession::next) tries
    /// again after the wait.
    Lost {
        /// Why.
        why: String,
        /// How long it waits, in milliseconds.
        retry_ms: u64,
    },
    /// The hub has taken the subscription.
    Subscribed {
        /// Which.
        sub: SubscriptionId,
        /// Why a snapshot follows although the session had a position.
        why: Option<SnapshotReason>,
    },
    /// The view of a subscription was replaced; see [`Session::view`](super::ViewerSession::view).
    Snapshot {
        /// Which.
        sub: SubscriptionId,
    },
    /// Events were applied to the view of a subscription.
    Events {
        /// Which.
        sub: SubscriptionId,
        /// The first seq that is covered.
        from: Seq,
        /// The last seq that is covered.
        to: Seq,
        /// When the hub wrote the frame, in milliseconds since 1970.
        sent_at: u64,
        /// The events, the ephemeral ones among them.
        events: Vec<Envelope>,
        /// What they touched in the view.
        changes: Vec<ViewChange>,
    },
    /// Everything there was at the subscription is applied.
    Live {
        /// Which.
        sub: SubscriptionId,
    },
    /// Events did not fit; the snapshot was asked for.
    Gap {
        /// Which.
        sub: SubscriptionId,
        /// The seq that would have fit.
        expected: Seq,
        /// The seq that came.
        from: Seq,
    },
    /// A text was not the one that the hub has; the snapshot was asked for.
    Drift {
        /// Which subscription.
        sub: SubscriptionId,
        /// Its run.
        run: RunId,
        /// Its part.
        part: PartId,
    },
    /// The hub tells this session less often than things happen, or as they happen again.
    Lag {
        /// Which subscription.
        sub: SubscriptionId,
        /// How it is told from here on.
        state: Rung,
        /// How many events it is behind.
        behind_events: u64,
        /// For how long it has been behind, in milliseconds.
        behind_ms: u64,
    },
    /// How many watch a conversation.
    Presence {
        /// Which subscription.
        sub: SubscriptionId,
        /// Its viewers, this one among them.
        viewers: u64,
    },
    /// Rows of the list of conversations.
    Fleet {
        /// Which subscription.
        sub: SubscriptionId,
        /// Whether these are all; else those that changed.
        full: bool,
        /// The rows.
        rows: Vec<ConversationRow>,
        /// How many conversations there are.
        total: u64,
        /// When the hub wrote the frame, in milliseconds since 1970.
        sent_at: u64,
    },
    /// The events of a [`Session::publish`](super::ViewerSession::publish) are in.
    Ack(Ack),
    /// A subscription or a publication was refused; the socket stays.
    Refused {
        /// The subscription.
        sub: Option<SubscriptionId>,
        /// The publication.
        id: Option<u64>,
        /// What.
        code: ErrorCode,
        /// What and where, for a person.
        message: String,
        /// For [`ErrorCode::PublisherGap`]: the number that is expected.
        expected: Option<u64>,
    },
}

/// Why a session is over for good.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The first connection failed ([`Session::connect`](super::ViewerSession::connect) only).
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// Where.
        url: HubAddress,
        /// Why.
        cause: String,
    },
    /// The hub does not want this client back.
    #[error("the hub at {url} closed for good: {code} {reason}")]
    Closed {
        /// Where.
        url: HubAddress,
        /// The close code, or the HTTP status where it did not come to a socket.
        code: u16,
        /// What the hub said.
        reason: String,
    },
    /// The hub refused the subscription that was waited for.
    #[error("the hub at {url} refused the subscription: {code}: {message}")]
    Refused {
        /// Where.
        url: HubAddress,
        /// What.
        code: ErrorCode,
        /// What and where, for a person.
        message: String,
    },
    /// There is no subscription of a conversation with this number.
    #[error("there is no subscription {0} of a conversation")]
    NoSubscription(SubscriptionId),
}
