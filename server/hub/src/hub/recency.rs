//! The order of the conversations in memory by their newest activity, so that a page of the list costs as
//! much as it shows and not as much as there is.
//!
//! Nothing is sorted while events come. A conversation that moved is noted once, by name, and gets its new
//! place when the list is next looked at, at the latest in the next round of upkeep.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::ListQuery;
use model::ConversationId;
use model::event::RunStatus;
use parking_lot::{Mutex, MutexGuard};

use super::row::ListStanding;
use super::{Conversation, Hub};

/// The place of a conversation in the list: the newest activity first, conversations of the same moment by
/// name.
pub(super) type ListPlace = (Reverse<u64>, ConversationId);

/// All states of runs, in the order of `by_state` in [`ListOrder`].
const STATES: [RunStatus; 5] =
    [RunStatus::Running, RunStatus::Complete, RunStatus::Error, RunStatus::Cancelled, RunStatus::Interrupted];

/// The index of a state in `by_state`; the last index is for conversations without runs.
fn number(state: Option<RunStatus>) -> usize {
    STATES.iter().position(|known| Some(*known) == state).unwrap_or(STATES.len())
}

/// The order of the list, and what moved since it was brought up to date. Owned by the hub. It holds names
/// instead of conversations, so that it keeps none in memory.
#[derive(Debug, Default)]
pub(super) struct RecencyOrder {
    /// The order as of the last look.
    pub(super) order: Mutex<ListOrder>,
    /// Conversations that came, moved or went since.
    moved: Mutex<Vec<ConversationId>>,
}

impl RecencyOrder {
    /// Notes that the conversation came, moved or went.
    pub(super) fn note(&self, id: ConversationId) {
        self.moved.lock().push(id);
    }
}

/// The places of all conversations in memory, and of those in each state.
#[derive(Debug, Default)]
pub(super) struct ListOrder {
    /// The places of all conversations, in order.
    all: BTreeSet<ListPlace>,
    /// The places by the state of the newest run.
    by_state: [BTreeSet<ListPlace>; STATES.len()],
    /// The places of conversations that are pinned.
    pinned: BTreeSet<ListPlace>,
    /// Where each conversation is in all of these, so that it can be taken out.
    known: HashMap<ConversationId, ListStanding>,
}

impl ListOrder {
    /// Moves the conversation to its place.
    fn put(&mut self, id: ConversationId, stands: ListStanding) {
        match self.known.insert(id.clone(), stands) {
            Some(before) if before == stands => return,
            Some(before) => self.take_out(&(Reverse(before.at), id.clone()), before.state),
            None => {}
        }
        let place = (Reverse(stands.at), id);
        if let Some(places) = self.by_state.get_mut(number(stands.state)) {
            places.insert(place.clone());
        }
        if stands.pinned {
            self.pinned.insert(place.clone());
        }
        self.all.insert(place);
    }

    /// Removes the conversation from the order.
    fn remove(&mut self, id: ConversationId) {
        if let Some(before) = self.known.remove(&id) {
            self.take_out(&(Reverse(before.at), id), before.state);
        }
    }

    /// Removes a place from all orders.
    fn take_out(&mut self, place: &ListPlace, state: Option<RunStatus>) {
        self.all.remove(place);
        self.pinned.remove(place);
        if let Some(places) = self.by_state.get_mut(number(state)) {
            places.remove(place);
        }
    }

    /// The places after those of the page before, in order, that `query` may ask for: the caller looks at the conversations.
    pub(super) fn after(&self, query: &ListQuery) -> impl Iterator<Item = &ListPlace> {
        let places = match (query.pinned, query.state) {
            (Some(true), _) => Some(&self.pinned),
            (_, None) => Some(&self.all),
            (_, state) => self.by_state.get(number(state)),
        };
        let after = query.after.as_ref().map(|(at, id)| (Reverse(*at), id.clone()));
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        places.into_iter().flat_map(move |places| places.range((begin.clone(), Bound::Unbounded)))
    }
}

impl Hub {
    /// Notes that `conversation` may have another place in the list.
    pub(super) fn note_place(&self, conversation: &Arc<Conversation>) {
        if !conversation.moved_in_list.swap(true, Ordering::AcqRel) {
            self.recency.note(conversation.id().clone());
        }
    }

    /// Brings the order up to date and locks it. Keep the lock for a moment only: the list and upkeep wait
    /// for it. May wait for the lock of a conversation, which is held for long while a large one is read; who
    /// publishes to others does not wait meanwhile.
    pub(super) fn order(&self) -> MutexGuard<'_, ListOrder> {
        let mut order = self.recency.order.lock();
        // In a statement of its own: in the head of the loop the lock would be held until the loop ends, and
        // every publisher takes it.
        let moved = std::mem::take(&mut *self.recency.moved.lock());
        for id in moved {
            let found = self.conversations.get(&id).map(|found| Arc::clone(&found));
            match found {
                Some(found) => {
                    // Cleared before the reading: what happens meanwhile is noted again.
                    found.moved_in_list.store(false, Ordering::Release);
                    // A conversation without events was only looked at, and is not listed.
                    if found.head() == 0 {
                        order.remove(id);
                        continue;
                    }
                    let stands = found.stand();
                    order.put(id, stands);
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

    fn names(order: &ListOrder, after: Option<(u64, &str)>, state: Option<RunStatus>) -> Vec<String> {
        let after = after.map(|(at, name)| (at, id(name)));
        let query = ListQuery { after, state, ..ListQuery::default() };
        order.after(&query).map(|(_, id)| id.to_string()).collect()
    }

    fn at(at: u64, state: Option<RunStatus>) -> ListStanding {
        ListStanding { at, state, pinned: false }
    }

    #[test]
    fn the_newest_come_first_and_a_conversation_has_one_place() {
        let mut order = ListOrder::default();
        order.put(id("a"), at(1, None));
        order.put(id("b"), at(2, Some(RunStatus::Running)));
        order.put(id("c"), at(2, Some(RunStatus::Error)));
        assert_eq!(names(&order, None, None), ["b", "c", "a"]);
        order.put(id("a"), at(3, Some(RunStatus::Running)));
        order.put(id("c"), at(4, Some(RunStatus::Complete)));
        assert_eq!(names(&order, None, None), ["c", "a", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Running)), ["a", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Error)), Vec::<String>::new());
        assert_eq!(names(&order, Some((3, "a")), None), ["b"]);
        order.remove(id("a"));
        order.remove(id("a"));
        assert_eq!(names(&order, None, None), ["c", "b"]);
        assert_eq!(names(&order, None, Some(RunStatus::Running)), ["b"]);
    }

    #[test]
    fn those_that_are_pinned_have_an_order_of_their_own() {
        let mut order = ListOrder::default();
        let pinned = |at| ListStanding { at, state: None, pinned: true };
        let names = |order: &ListOrder| {
            let query = ListQuery { pinned: Some(true), ..ListQuery::default() };
            order.after(&query).map(|(_, id)| id.to_string()).collect::<Vec<_>>().concat()
        };
        for (name, stands) in [("a", pinned(1)), ("b", pinned(2)), ("c", at(3, None))] {
            order.put(id(name), stands);
        }
        assert_eq!(names(&order), "ba");
        order.put(id("a"), pinned(5));
        order.put(id("b"), at(6, None));
        assert_eq!(names(&order), "a");
        order.remove(id("a"));
        assert_eq!(names(&order), "");
    }
}
