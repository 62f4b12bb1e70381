//! What somebody thinks of a run or of a message: good or bad, and why. It is told in an event `label`, which only the hub writes,
//! when somebody gives it the command `rate`.
//!
//! ```json
//! {"k": "label", "rating": {"run": "r7", "good": false, "why": "the wrong table"}, "by": "ann"}
//! ```

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use super::label::{LabelError, beginning, fits};
use crate::ids::{MessageId, RunId};
use crate::limits::{NAME_BYTES_MAX, RATING_WHY_BYTES_MAX};

/// A rating of one run or one message. The last rating of each counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rating {
    /// The id of the run that is rated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The id of the message that is rated, in the place of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Whether it is good. Absent takes a rating back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<bool>,
    /// The reason, in a few words; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The name of who rated, where the hub knows names. In an event it stands beside the rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<CompactString>,
}

impl Rating {
    /// Whether both are about the same run or message.
    pub fn is_of_same(&self, other: &Self) -> bool {
        (&self.run, &self.message) == (&other.run, &other.message)
    }

    /// Checks what somebody wants: it names a run or a message, and its reason is not too long. Spaces around that go.
    pub(super) fn check(&mut self) -> Result<(), LabelError> {
        if self.run.is_some() == self.message.is_some() {
            return Err(LabelError::RatesNothing);
        }
        self.by = None;
        self.why = self.why.take().map(|why| why.trim().to_owned()).filter(|why| !why.is_empty());
        self.why.as_deref().map_or(Ok(()), |why| fits("why", why, RATING_WHY_BYTES_MAX))
    }

    /// Cuts texts that are too long. Calls `say` with a text for a reason that was over its bound.
    pub(super) fn cut(&mut self, say: &mut impl FnMut(String)) {
        if let Some(why) = self.why.as_mut().filter(|why| why.len() > RATING_WHY_BYTES_MAX) {
            say(format!("why: {} bytes, the limit is {RATING_WHY_BYTES_MAX}", why.len()));
            *why = beginning(why, RATING_WHY_BYTES_MAX).to_owned();
        }
        if let Some(by) = self.by.as_mut().filter(|by| by.len() > NAME_BYTES_MAX) {
            *by = beginning(by, NAME_BYTES_MAX).into();
        }
    }
}
