//! The options of a subscription: its lens and its pace.

use compact_str::CompactString;
use serde::Serialize;

use crate::lens::Lens;

/// What a subscription asks for beside its conversation. The default is everything, at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubscriptionOptions {
    /// The lens: which part of the conversation is sent.
    #[serde(flatten)]
    pub lens: Lens,
    /// The shortest time between two frames with events, in milliseconds: for who shows less often than that.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_interval_ms: u16,
    /// Of a long conversation the newest part alone, of at most so many bytes; 0 for all of it.
    #[serde(skip_serializing_if = "is_zero")]
    pub newest: u64,
    /// With a position: the name of the part that the client has; absent if it has all of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub window: Option<CompactString>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl SubscriptionOptions {
    /// Options with this lens, without a least time between frames.
    pub fn of(lens: Lens) -> Self {
        Self { lens, ..Self::default() }
    }
}
