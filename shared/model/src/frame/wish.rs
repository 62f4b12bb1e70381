//! The options of a subscription: its lens and its pace.

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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

impl SubscriptionOptions {
    /// Options with this lens, without a least time between frames.
    pub fn of(lens: Lens) -> Self {
        Self { lens, min_interval_ms: 0 }
    }
}
