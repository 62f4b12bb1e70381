//! Keeps which conversations are being moved to another hub, and which requests that write are open: a conversation moves while none is, and requests
//! that come meanwhile wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use model::ConversationId;
use parking_lot::Mutex;
use tokio::sync::watch;

/// What moves, and what is open. Owned by the hub's state.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    known: Mutex<HashMap<ConversationId, MoveState>>,
}

/// One conversation with open requests, or that is being moved.
#[derive(Debug, Default)]
struct MoveState {
    /// How many requests that write to it are open.
    open: usize,
    /// Closed when the move is over; `None` while it is not moved.
    moving: Option<watch::Receiver<()>>,
}

impl Moves {
    /// Waits while the conversation is being moved, for `patience` at most.
    pub(crate) async fn settled(&self, conversation: &ConversationId, patience: Duration) {
        let moving = self.known.lock().get(conversation).and_then(|state| state.moving.clone());
        if let Some(mut moving) = moving {
            // It only ever closes.
            drop(tokio::time::timeout(patience, moving.changed()).await);
        }
    }

    /// Whether the conversation is being moved.
    pub(crate) fn is_moving(&self, conversation: &ConversationId) -> bool {
        self.known.lock().get(conversation).is_some_and(|state| state.moving.is_some())
    }

    /// Changes what is known of a conversation, and forgets it where nothing is left.
    fn change<T>(&self, conversation: &ConversationId, change: impl FnOnce(&mut MoveState) -> T) -> T {
        let mut known = self.known.lock();
        let state = known.entry(conversation.clone()).or_default();
        let changed = change(state);
        if state.open == 0 && state.moving.is_none() {
            known.remove(conversation);
        }
        changed
    }
}

/// A request that writes to a conversation is open, until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    moves: Arc<Moves>,
    conversation: ConversationId,
}

impl OpenRequest {
    /// Notes it. Ask who has the conversation only afterwards.
    pub(crate) fn begin(moves: &Arc<Moves>, conversation: &ConversationId) -> Self {
        moves.change(conversation, |state| state.open += 1);
        Self { moves: Arc::clone(moves), conversation: conversation.clone() }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.moves.change(&self.conversation, |state| state.open = state.open.saturating_sub(1));
    }
}

/// A conversation is being moved, until this is dropped. Who asks meanwhile which hub has it waits.
#[derive(Debug)]
pub(crate) struct Moving {
    moves: Arc<Moves>,
    conversation: ConversationId,
    /// Closes the receivers of those who wait.
    _done: watch::Sender<()>,
}

impl Moving {
    /// Begins; `None` if it is being moved already.
    pub(crate) fn begin(moves: &Arc<Moves>, conversation: &ConversationId) -> Option<Self> {
        let (done, waiting) = watch::channel(());
        let begun = moves.change(conversation, |state| {
            let is_free = state.moving.is_none();
            state.moving.get_or_insert(waiting);
            is_free
        });
        // Made only if it has begun: dropping one ends a move.
        begun.then(|| Self { moves: Arc::clone(moves), conversation: conversation.clone(), _done: done })
    }

    /// Whether a request that writes is open. One that comes later waits for the end of the move.
    pub(crate) fn has_open(&self) -> bool {
        self.moves.known.lock().get(&self.conversation).is_some_and(|state| state.open > 0)
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        self.moves.change(&self.conversation, |state| state.moving = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::parse(name).unwrap()
    }

    #[tokio::test]
    async fn who_asks_waits_for_the_end_of_a_move_and_an_open_request_is_seen() {
        let moves = Arc::<Moves>::default();
        let open = OpenRequest::begin(&moves, &id("c"));
        let moving = Moving::begin(&moves, &id("c")).unwrap();
        assert!(moving.has_open());
        assert!(Moving::begin(&moves, &id("c")).is_none(), "once at a time");
        drop(open);
        assert!(!moving.has_open());
        let (of, asked) = (Arc::clone(&moves), id("c"));
        let waiting = tokio::spawn(async move { of.settled(&asked, Duration::from_mins(1)).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        moves.settled(&id("other"), Duration::from_mins(1)).await;
        drop(moving);
        waiting.await.unwrap();
        assert!(moves.known.lock().is_empty(), "nothing is left");
    }
}
