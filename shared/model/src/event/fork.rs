//! The origin of a fork.

use serde::{Deserialize, Serialize};

use crate::ids::ConversationId;
use crate::position::{Epoch, Seq};

/// A place in another conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// The id of that conversation.
    pub conversation: ConversationId,
    /// The life of its log then.
    pub epoch: Epoch,
    /// The last event that both have; 0 where they have none in common.
    pub seq: Seq,
}
