//! What a socket keeps for a client that publishes or gives commands. Made with the first frame that needs it: most sockets only view, and
//! hold none of it.

use std::sync::Arc;

use event_log::EventLog;
use hub::{Appended, Attendant, Fanout, Hub, Outbox, PublisherConnection};
use model::ConversationId;
use model::frame::{Ack, Pub, ServerFrame};

use super::acks::Acks;
use super::commands::Commands;
use super::passing::Passing;
use crate::peers::Ownership;

/// Most conversations for which a socket keeps room between two turns of reading.
const KEPT: usize = 64;

/// The state behind [`Publishing`].
#[derive(Debug)]
struct PublishingState {
    /// Conversations that were published to and whose viewers are not woken yet.
    to_deliver: Vec<ConversationId>,
    /// Attends the runs that this socket publishes to.
    attendant: Attendant,
    /// Acks that wait for the log.
    acks: Acks,
    /// The commands that wait for their turn.
    commands: Commands,
    /// Frames for conversations of other hubs.
    passing: Passing,
}

/// What one socket publishes, and is to be told of it. Owned by its task; empty until the client publishes or gives a command.
#[derive(Debug, Default)]
pub(super) struct Publishing {
    state: Option<Box<PublishingState>>,
}

impl Publishing {
    /// The state, made for a socket of `hub` if there is none yet.
    fn open(&mut self, hub: &Arc<Hub>) -> &mut PublishingState {
        self.state.get_or_insert_with(|| {
            Box::new(PublishingState {
                to_deliver: Vec::new(),
                attendant: Attendant::new(hub),
                acks: Acks::default(),
                commands: Commands::default(),
                passing: Passing::default(),
            })
        })
    }

    /// The speaker to name when this socket publishes to `conversation`.
    pub(super) fn speaks_in(&mut self, hub: &Arc<Hub>, conversation: &ConversationId) -> PublisherConnection {
        self.open(hub).attendant.speaks_in(conversation)
    }

    /// Notes that `conversation` was published to: its viewers are woken by [`Publishing::deliver`].
    pub(super) fn published_to(&mut self, hub: &Arc<Hub>, conversation: ConversationId) {
        let state = self.open(hub);
        if !state.to_deliver.contains(&conversation) {
            state.to_deliver.push(conversation);
        }
    }

    /// Owes `ack` until the log has what was `appended` at the level that the ack names.
    pub(super) fn owe(&mut self, hub: &Arc<Hub>, appended: Appended, ack: Ack) {
        let log: &dyn EventLog = hub.log();
        self.open(hub).acks.owe(log, appended, ack);
    }

    /// Whether viewers are to be woken.
    pub(super) fn has_to_deliver(&self) -> bool {
        self.state.as_ref().is_some_and(|state| !state.to_deliver.is_empty())
    }

    /// Wakes the viewers of everything that was published, each conversation once.
    pub(super) fn deliver(&mut self, fanout: &Fanout) {
        let Some(state) = &mut self.state else { return };
        fanout.deliver_all(&state.to_deliver);
        state.to_deliver.clear();
        // An idle socket must not keep the memory of its busiest moment.
        state.to_deliver.shrink_to(KEPT);
    }

    /// The commands that wait for their turn.
    pub(super) fn commands(&mut self, hub: &Arc<Hub>) -> &mut Commands {
        &mut self.open(hub).commands
    }

    /// Passes a frame on to the hub that has its conversation, behind those that wait.
    pub(super) fn pass(
        &mut self,
        ownership: &Arc<Ownership>,
        outbox: &Arc<Outbox>,
        hub: &Arc<Hub>,
        frame: Pub,
    ) {
        self.open(hub).passing.pass(ownership, outbox, frame);
    }

    /// Whether frames wait to be passed on, so that later ones must wait behind them.
    pub(super) fn is_queued(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.passing.is_queued())
    }

    /// The frames of conversations that are this hub's after all, in order.
    pub(super) fn take_returned(&self) -> Vec<Pub> {
        self.state.as_ref().map_or_else(Vec::new, |state| state.passing.take_returned())
    }

    /// Whether some frame that was passed on will not be answered.
    pub(super) fn is_lost(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.passing.is_lost())
    }

    /// Whether more may be read from the socket: few enough acks are owed and frames are on their way, and the log's queue has room.
    pub(super) fn has_room(&self) -> bool {
        self.state.as_ref().is_none_or(|state| state.acks.has_room() && state.passing.has_room())
    }

    /// Whether anything waits for the log: an ack, or reading from the socket.
    pub(super) fn is_waiting(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.acks.is_waiting())
    }

    /// Ready when the log has come further; never for a socket that has not published. May be cancelled.
    pub(super) async fn moved(&mut self) {
        match &mut self.state {
            // Boxed, since idle sockets have no use for it.
            Some(state) => Box::pin(state.acks.moved()).await,
            None => std::future::pending().await,
        }
    }

    /// The acks and errors that can be sent now, in order.
    pub(super) fn settle(&mut self) -> Vec<ServerFrame> {
        self.state.as_mut().map_or_else(Vec::new, |state| state.acks.settle())
    }
}
