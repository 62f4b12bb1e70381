//! Turns by key: those who come with the same key wait for each other, and for nobody else.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// The locks of the keys that somebody holds or waits for; no other key takes memory.
type OpenKeys<K> = Arc<Mutex<HashMap<K, Arc<tokio::sync::Mutex<()>>>>>;

/// One turn for each key. Whoever has it may wait for the disk meanwhile: that delays those alone who come with the same key.
#[derive(Debug)]
pub(super) struct KeyedTurns<K: Eq + Hash>(OpenKeys<K>);

/// The turn of one key. Dropping it lets the next one with that key go on.
#[derive(Debug)]
pub(crate) struct HeldTurn<K: Eq + Hash> {
    // Dropped in this order: the place looks whether anybody else has the lock.
    _lock: OwnedMutexGuard<()>,
    _place: TurnKey<K>,
}

/// Somebody holds or waits for a key. Dropping it forgets the key if nobody else does.
#[derive(Debug)]
struct TurnKey<K: Eq + Hash> {
    open: OpenKeys<K>,
    key: K,
}

impl<K: Eq + Hash> Default for KeyedTurns<K> {
    fn default() -> Self {
        Self(OpenKeys::default())
    }
}

impl<K: Eq + Hash + Clone> KeyedTurns<K> {
    /// Waits until nobody else has the turn of `key`. May be cancelled.
    pub(super) async fn turn(&self, key: &K) -> HeldTurn<K> {
        let lock = Arc::clone(self.0.lock().entry(key.clone()).or_default());
        let place = TurnKey { open: Arc::clone(&self.0), key: key.clone() };
        HeldTurn { _lock: lock.lock_owned().await, _place: place }
    }
}

impl<K: Eq + Hash> Drop for TurnKey<K> {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        // Nobody takes a lock out of the map but under the lock of the map.
        if open.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            open.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of who waits for whom.

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_turn_is_waited_for_by_those_with_its_key_alone_and_leaves_nothing() {
        let turns = KeyedTurns::default();
        let held = turns.turn(&"a").await;
        assert!(turns.turn(&"b").now_or_never().is_some(), "nobody has this key");
        let mut next = Box::pin(turns.turn(&"a"));
        assert!((&mut next).now_or_never().is_none(), "the turn is held");
        assert!(turns.turn(&"a").now_or_never().is_none(), "one who gives up waiting");
        assert_eq!(turns.0.lock().len(), 1);
        drop(held);
        drop(next.now_or_never().expect("the turn is free"));
        assert_eq!(turns.0.lock().len(), 0, "keys that nobody has are forgotten");
    }
}
