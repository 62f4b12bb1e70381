//! Subscriptions that wait until their conversation is in memory: where several hubs share the log, it may be another hub's.

use std::sync::{Arc, OnceLock};

use hub::Outbox;
use model::frame::{SubscriptionId, SubscriptionOptions};
use model::{ConversationId, Position};

use crate::peers::{self, Ownership};

/// A subscription that waits. Owned by the socket's task. Dropping it ends the subscription; the task that
/// prepares the conversation finishes all the same.
#[derive(Debug)]
pub(super) struct WaitingSubscription {
    pub(super) sub: SubscriptionId,
    pub(super) conversation: ConversationId,
    pub(super) begin: Begin,
    pub(super) wish: SubscriptionOptions,
    /// There once it need not wait any more: why it cannot be had, if it cannot.
    ready: Arc<OnceLock<Result<(), String>>>,
}

/// The way in which a subscription begins.
#[derive(Debug)]
pub(super) enum Begin {
    /// The subscription is new, and begins at the position that the client has.
    New(Option<Position>),
    /// The subscription begins again: its conversation was replaced by one in another epoch.
    Again,
}

impl WaitingSubscription {
    /// Begins to wait. The socket behind `outbox` is woken when that is over.
    pub(super) fn new(
        ownership: &Arc<Ownership>,
        outbox: &Arc<Outbox>,
        (sub, conversation): (SubscriptionId, ConversationId),
        begin: Begin,
        wish: SubscriptionOptions,
    ) -> Self {
        let ready = Arc::new(OnceLock::new());
        let (of, told, outbox) = (conversation.clone(), Arc::clone(&ready), Arc::clone(outbox));
        let of_hub = Arc::clone(ownership);
        let have = match &begin {
            Begin::New(have) => have.clone(),
            Begin::Again => None,
        };
        ownership.tasks.spawn(async move {
            // Nobody else sets it.
            let _set = told.set(peers::prepare(&of_hub, &of, have.as_ref()).await).is_ok();
            outbox.wake.notify_one();
        });
        Self { sub, conversation, begin, wish, ready }
    }

    /// Whether it need not wait any more; the error says why it cannot be had.
    pub(super) fn is_ready(&self) -> Option<&Result<(), String>> {
        self.ready.get()
    }
}
