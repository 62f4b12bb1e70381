//! The order of the conversations in memory by their newest activity, so that a page of the list costs what it shows and not what
//! there is.
//!
//! Nobody sorts while events come: a conversation that moved is noted once, by name, and takes its new place when the list is looked
//! at next, in each round of upkeep at the latest. So the order is of the moment in which somebody asks.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::ConversationId;
use model::event::RunStatus;
use parking_lot::{Mutex, MutexGuard};

use super::{Conversation, Hub};

/// Where a conversation stands in the list: the later, the further in front; of one moment in the order of the names.
pub(super) type Place = (Reverse<u64>, ConversationId);

/// All states, in the order of [`Order::by_state`].
const STATES: [RunStatus; 5] =
    [RunStatus::Running, RunStatus::Complete, RunStatus::Error, RunStatus::Cancelled, RunStatus::Interrupted];

/// The index of a state; one behind the last where there is none.
fn number(state: Option<RunStatus>) -> usize {
    STATES.iter().position(|known| Some(*known) == state).unwrap_or(STATES.len())
}

/// The order, and what moved since it was brought up to date. The hub owns it. It holds names and no conversations, so that it keeps
/// none in memory.
#[derive(Debug, Default)]
pub(super) struct Recent {
    order: Mutex<Order>,
    moved: Mutex<Vec<ConversationId>>,
}

impl Recent {
    /// Notes that the conversation came, moved or went.
    pub(super) fn note(&self, id: ConversationId) {
        self.moved.lock().push(id);
    }
}

/// The places of all conversations, and of those in each state.
#[derive(Debug, Default)]
pub(super) struct Order {
    all: BTreeSet<Place>,
    by_state: [BTreeSet<Place>; STATES.len()],
    known: HashMap<ConversationId, (u64, Option<RunStatus>)>,
}

impl Order {
    /// Gives the conversation its place: `at` is when its newest event was taken, `state` how its newest run stands.
    fn put(&mut self, id: ConversationId, at: u64, state: Option<RunStatus>) {
        match self.known.insert(id.clone(), (at, state)) {
            Some(before) if before == (at, state) => return,
            Some((at, state)) => self.take_out(&(Reverse(at), id.clone()), state),
            None => {}
        }
        if let Some(places) = self.by_state.get_mut(number(state)) {
            places.insert((Reverse(at), id.clone()));
        }
        self.all.insert((Reverse(at), id));
    }

    /// Forgets the conversation.
    fn remove(&mut self, id: ConversationId) {
        if let Some((at, state)) = self.known.remove(&id) {
            self.take_out(&(Reverse(at), id), state);
        }
    }

    fn take_out(&mut self, place: &Place, state: Option<RunStatus>) {
        self.all.remove(place);
        if let Some(places) = self.by_state.get_mut(number(state)) {
            places.remove(place);
        }
    }

    /// The places after `after`, in order: all, or those in one state.
    pub(super) fn after(
        &self,
        after: Option<Place>,
        state: Option<RunStatus>,
    ) -> impl Iterator<Item = &Place> {
        let places = match state {
            None => Some(&self.all),
            state => self.by_state.get(number(state)),
        };
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        places.into_iter().flat_map(move |places| places.range((begin.clone(), Bound::Unbounded)))
    }
}

impl Hub {
    /// Notes that `conversation` may have another place in the list.
    pub(super) fn moved(&self, conversation: &Arc<Conversation>) {
        if !conversation.moved_in_list.swap(true, Ordering::AcqRel) {
            self.recent.note(conversation.id().clone());
        }
    }

    /// The order as it is now.
    pub(super) fn order(&self) -> MutexGuard<'_, Order> {
        let mut order = self.recent.order.lock();
        for id in std::mem::take(&mut *self.recent.moved.lock()) {
            let found = self.conversations.get(&id).map(|found| Arc::clone(&found));
            match found {
                Some(found) => {
                    // Before it is read: what happens meanwhile is noted again.
                    found.moved_in_list.store(false, Ordering::Release);
                    // One in which nothing has happened is only looked at.
                    if found.head() == 0 {
                        order.remove(id);
                        continue;
                    }
                    let (at, state) = found.stand();
                    order.put(id, at, state);
                }
                None => order.remove(id),
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ConversationId {
        ConversationId::parse(name).unwrap()
    }

    fn names(order: &Order, after: Option<Place>, state: Option<RunStatus>) -> Vec<String> {
        order.after(after, state).map(|(_, id)| id.to_string()).collect()
    }

    #[test]
    fn the_newest_come_first_and_a_conversation_has_one_place() {
        let mut order = Order::default();
        order.put(id("a"), 1, None);
        order.put(id("b"), 2, Some(RunStatus::Running));
        order.put(id("c"), 2, Some(RunStatus::Error));
        assert_eq!(names(&order, None, None), ["b", "c", "a"]);
        order.put(id("a"), 3, Some(RunStatus::Running));
        order.put(id("c"), 4, Some(RunStatus::Complete));
        assert_eq!(names(&order, None, None), ["c", "a", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Running)), ["a", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Error)), Vec::<String>::new());
        assert_eq!(names(&order, Some((Reverse(3), id("a"))), None), ["b"]);
        order.remove(id("a"));
        order.remove(id("a"));
        assert_eq!(names(&order, None, None), ["c", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Running)), ["b"]);
    }
}
