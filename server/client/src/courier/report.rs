//! What a courier says of itself: what happens, how far it has come, and why it cannot continue.

use model::Position;

#[cfg(doc)]
use super::Courier;
use crate::HubAddress;

/// What happens while events are carried, for callers who report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CourierEvent {
    /// The connection was made.
    Connected,
    /// The connection was lost or could not be made; the courier tries again after the wait.
    Lost {
        /// The reason of the loss.
        why: String,
        /// The wait in milliseconds.
        retry_ms: u64,
        /// Whether a hub was ever reached in this attempt.
        absence: HubAbsence,
    },
    /// The hub has forgotten acked events, and not all of them are still kept here. The courier continues
    /// with the kept ones in a new life.
    Forgotten {
        /// The number of events that are lost.
        missing: u64,
    },
}

/// Whether a hub was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubAbsence {
    /// No connection could be made.
    Nobody,
    /// A connection was made and lost, or the hub does not answer on it.
    Lost,
}

/// Why a courier cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CourierError {
    /// No connection could be made ([`Courier::connect`] only).
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// The address of the hub.
        url: HubAddress,
        /// The reason of the failure.
        cause: String,
    },
    /// The hub has closed the connection for good.
    #[error("the hub at {url} closed for good: {code} {reason}")]
    Closed {
        /// The address of the hub.
        url: HubAddress,
        /// The close code, or the HTTP status if no socket was opened.
        code: u16,
        /// The reason that the hub gave.
        reason: String,
    },
    /// The hub refused the events.
    #[error("the hub at {url} refused: {message}")]
    Refused {
        /// The address of the hub.
        url: HubAddress,
        /// The hub's message, with its code.
        message: String,
    },
}

/// The progress of a courier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CourierStatus {
    /// How many events were taken from the source.
    pub offered: u64,
    /// The number of events that the hub has.
    pub acked: u64,
    /// How many events a hub forgot that could not be sent again.
    pub missing: u64,
    /// The position of the conversation at the newest ack.
    pub position: Option<Position>,
}
