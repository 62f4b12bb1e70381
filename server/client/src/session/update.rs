//! Updates that a session returns to its owner.

use model::code::ErrorCode;
use model::fold::ViewChange;
use model::frame::{Ack, ConversationRow, Rung, SnapshotReason, SubscriptionId, Welcome};
use model::{ConversationId, Envelope, PartId, RunId, Seq};

use crate::HubAddress;

/// An update of a viewer session.
#[derive(Debug)]
pub enum SessionUpdate {
    /// Connected; all subscriptions were requested again.
    Connected(Welcome),
    /// The connection was lost or could not be made. [`Session::next`](super::ViewerSession::next) tries
    /// again after the wait.
    Lost {
        /// The reason of the loss.
        why: String,
        /// The wait in milliseconds.
        retry_ms: u64,
    },
    /// The hub has accepted the subscription.
    Subscribed {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// Why a snapshot follows although the session had a position.
        why: Option<SnapshotReason>,
    },
    /// The view of a subscription was replaced; see [`Session::view`](super::ViewerSession::view).
    Snapshot {
        /// The number of the subscription.
        sub: SubscriptionId,
    },
    /// Events were applied to the view of a subscription.
    Events {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The first seq that the frame covers.
        from: Seq,
        /// The last seq that the frame covers.
        to: Seq,
        /// When the hub sent the frame, in milliseconds since 1970.
        sent_at: u64,
        /// The events, including ephemeral ones.
        events: Vec<Envelope>,
        /// What they changed in the view.
        changes: Vec<ViewChange>,
    },
    /// Everything that existed when the subscription began was applied.
    Live {
        /// The number of the subscription.
        sub: SubscriptionId,
    },
    /// Events did not follow the known ones; the snapshot was requested.
    Gap {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The seq that was expected.
        expected: Seq,
        /// The seq that arrived.
        from: Seq,
    },
    /// A text differs from the hub's; the snapshot was requested.
    Drift {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The run of the text.
        run: RunId,
        /// The part of the text.
        part: PartId,
    },
    /// The hub has changed how often it sends to this session, because the session is slow or has caught up.
    Lag {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// How it is sent to from now on.
        state: Rung,
        /// The number of events that it is behind.
        behind_events: u64,
        /// For how long it has been behind, in milliseconds.
        behind_ms: u64,
    },
    /// The viewers of a conversation have changed.
    Presence {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// The number of viewers, including this one.
        viewers: u64,
        /// Their names, where the hub tells them: each once, in order.
        names: Vec<String>,
    },
    /// Rows of the list of conversations.
    Fleet {
        /// The number of the subscription.
        sub: SubscriptionId,
        /// Whether these are all rows, not only changed ones.
        full: bool,
        /// The rows that are new or changed.
        rows: Vec<ConversationRow>,
        /// Conversations that were deleted; their rows go before `rows` are taken.
        gone: Vec<ConversationId>,
        /// The number of conversations at the hub.
        total: u64,
        /// When the hub sent the frame, in milliseconds since 1970.
        sent_at: u64,
    },
    /// The events of a [`Session::publish`](super::ViewerSession::publish) were accepted.
    Ack(Ack),
    /// A subscription or a publication was refused; the socket stays open.
    Refused {
        /// The subscription, if it is about one.
        sub: Option<SubscriptionId>,
        /// The publication, if it is about one.
        id: Option<u64>,
        /// The code of the refusal, for programs.
        code: ErrorCode,
        /// The message, for people.
        message: String,
        /// For [`ErrorCode::PublisherGap`]: the number that the hub expects.
        expected: Option<u64>,
    },
}

/// Why a session has ended for good.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The first connection failed ([`Session::connect`](super::ViewerSession::connect) only).
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// The address of the hub.
        url: HubAddress,
        /// The reason of the failure.
        cause: String,
    },
    /// The hub has closed the session for good.
    #[error("the hub at {url} closed for good: {code} {reason}")]
    Closed {
        /// The address of the hub.
        url: HubAddress,
        /// The close code, or the HTTP status if no socket was opened.
        code: u16,
        /// The reason that the hub gave.
        reason: String,
    },
    /// The hub refused the subscription that was awaited.
    #[error("the hub at {url} refused the subscription: {code}: {message}")]
    Refused {
        /// The address of the hub.
        url: HubAddress,
        /// The code of the refusal, for programs.
        code: ErrorCode,
        /// The message, for people.
        message: String,
    },
    /// The session has no subscription of a conversation with this number.
    #[error("there is no subscription {0} of a conversation")]
    NoSubscription(SubscriptionId),
}
