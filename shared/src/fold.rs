//! The fold: one event onto the view. Total (any event in any state, never a panic, never an error; oddities become
//! anomalies), O(1) for each event, without clock or randomness (invariants I3 and I6).

use crate::envelope::Envelope;
use crate::ids::{MessageId, RunId};
use crate::view::{Item, View};

/// What an event touched, so that a page redraws only that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// A message came or was replaced.
    Message(MessageId),
    /// A run was added, or something about the run itself changed (state, title, usage).
    Run(RunId),
    /// An item was added to a run.
    Added(RunId, Item),
    /// An item of a run changed.
    Item(RunId, Item),
}

/// Applies `envelope` to `view` and tells `changed` what it touched.
pub fn fold(_view: &mut View, _envelope: &Envelope, _changed: &mut dyn FnMut(Change)) {}
