//! Copies of turns that are given up for the hub of their original. Each goes in a task of its own: no look waits for it, and the drain lets those that have
//! begun come to their end, for as long as it may take.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use model::ConversationId;
use parking_lot::Mutex;

use super::Copies;

/// Most copies that are given up at the same time. Each waits for a transaction and for the other hub; one more waits for the next look.
const MOVES_AT_ONCE_MAX: usize = 8;

/// Gives a copy up for the hub at an address, and says with which code it stays if it does. Whoever starts the looks says how, since a move
/// is a request to that hub.
pub(crate) type GiveUp =
    Arc<dyn Fn(ConversationId, Arc<str>) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The copies that are being given up.
#[derive(Debug, Default)]
pub(super) struct CopyMoves(Mutex<BTreeSet<ConversationId>>);

/// A copy that is being given up. Dropping it makes room for another one.
#[derive(Debug)]
struct MoveSeat {
    moves: Arc<CopyMoves>,
    copy: ConversationId,
}

impl Drop for MoveSeat {
    fn drop(&mut self) {
        self.moves.0.lock().remove(&self.copy);
    }
}

impl CopyMoves {
    /// A place for `copy`; `None` if it is being given up already, or as many as may be are.
    fn begin(self: &Arc<Self>, copy: &ConversationId) -> Option<MoveSeat> {
        let mut moves = self.0.lock();
        let has_room = moves.len() < MOVES_AT_ONCE_MAX && moves.insert(copy.clone());
        has_room.then(|| MoveSeat { moves: Arc::clone(self), copy: copy.clone() })
    }
}

/// Begins to give `copy` up for the hub at `to`, unless it is under way, too many are, or the hub drains: then all it has is free in a moment.
pub(super) fn start(copies: &Arc<Copies>, copy: &ConversationId, to: Arc<str>, give_up: &GiveUp) {
    if copies.ownership.drain.is_cancelled() {
        return;
    }
    let Some(seat) = copies.followers.moves.begin(copy) else { return };
    let given_up = give_up(copy.clone(), to);
    copies.ownership.tasks.spawn(async move {
        if let Err(why) = given_up.await {
            tracing::debug!(copy = %seat.copy, why, "the copy of a turn stays here for now");
        }
    });
}

#[cfg(test)]
mod tests {
    //! Tests of how many copies move at once.

    use super::*;

    #[test]
    fn i7_so_many_copies_move_at_once_and_each_of_them_once() {
        let moves = Arc::<CopyMoves>::default();
        let copy = |number: usize| ConversationId::frozen(&number.to_string()).unwrap();
        let mut seats: Vec<_> = (0..MOVES_AT_ONCE_MAX).map(|number| moves.begin(&copy(number))).collect();
        assert!(seats.iter().all(Option::is_some));
        assert!(moves.begin(&copy(MOVES_AT_ONCE_MAX)).is_none(), "no more");
        drop(seats.pop());
        assert!(moves.begin(&copy(0)).is_none(), "not twice");
        assert!(moves.begin(&copy(MOVES_AT_ONCE_MAX)).is_some(), "what has moved makes room");
        drop(seats);
        assert!(moves.0.lock().is_empty());
    }
}
