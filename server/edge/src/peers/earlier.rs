//! Events from before those that a follower has, for viewers that come back: a hub that begins to follow has the state of that moment and no
//! events, while the owner may still have those which such a viewer missed.
//!
//! They come by a second subscription to the same conversation, which begins at the viewer's position and ends once the oldest event that
//! is here follows.

use hub::{Conversation, Hub};
use model::event::Class;
use model::frame::{ServerFrame, SubMode, SubscriptionId};
use model::{Envelope, Position, Seq};
use std::sync::Arc;

/// The events of one conversation after a position, as far as they have come. Owned by what is followed of the conversation.
#[derive(Debug)]
pub(super) struct EarlierEvents {
    /// The number of the subscription that brings them.
    pub(super) sub: SubscriptionId,
    /// The position after which they begin.
    after: Position,
    /// What has come, in order.
    events: Vec<Envelope>,
}

/// Whether more of them is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlierStatus {
    /// The subscription goes on.
    Coming,
    /// There is no more that is needed, or the owner does not give them: the subscription can end.
    Ended,
}

impl EarlierEvents {
    /// Nothing of what comes after `after` has come yet.
    pub(super) fn new(sub: SubscriptionId, after: Position) -> Self {
        Self { sub, after, events: Vec::new() }
    }

    /// The seq after which they begin.
    pub(super) fn after(&self) -> Seq {
        self.after.seq
    }

    /// Takes a frame of the subscription, and gives the events to `conversation` once they reach what it has. An owner that sends a state does
    /// not have them, or finds the state cheaper.
    pub(super) fn take(
        &mut self,
        hub: &Hub,
        conversation: &Arc<Conversation>,
        frame: ServerFrame,
    ) -> EarlierStatus {
        match frame {
            ServerFrame::Batch { to, ev, .. } => {
                let begins_after = conversation.begins_after();
                let logged =
                    ev.into_iter().filter(|envelope| envelope.event.kind.class() != Class::Ephemeral);
                self.events.extend(logged.filter(|envelope| envelope.seq <= begins_after));
                if to < begins_after {
                    return EarlierStatus::Coming;
                }
                let events = std::mem::take(&mut self.events);
                hub.take_earlier(conversation, &self.after.epoch, events);
                EarlierStatus::Ended
            }
            ServerFrame::Subbed { mode: SubMode::Tail, .. } => EarlierStatus::Coming,
            // Whoever is live has had all of them.
            ServerFrame::Subbed { .. }
            | ServerFrame::Snap { .. }
            | ServerFrame::Live { .. }
            | ServerFrame::Error { .. } => EarlierStatus::Ended,
            _ => EarlierStatus::Coming,
        }
    }
}
