//! Subscriptions that are dead although their socket lives, because what was sent did not arrive. At
//! each heartbeat the client says its positions. One that has not moved, and is behind what it must have got
//! before the last heartbeat, is served again from there.

use std::collections::BTreeMap;

use model::Seq;
use model::frame::SubscriptionId;

/// The positions that a client has acknowledged at its last heartbeats. One for each socket.
#[derive(Debug, Default)]
pub(super) struct UndeliveredSubscriptions {
    /// The heads of the conversations when the last heartbeat was sent.
    told: Vec<(SubscriptionId, Seq)>,
    /// For each subscription: the client's position at the previous answer, and the head that it had been
    /// told by then.
    before: BTreeMap<SubscriptionId, (Seq, Seq)>,
}

impl UndeliveredSubscriptions {
    /// Notes that a heartbeat is sent with these heads.
    pub(super) fn sent(&mut self, heads: impl Iterator<Item = (SubscriptionId, Seq)>) {
        self.told = heads.collect();
    }

    /// Takes the client's answer. Returns the dead subscriptions, each with the client's position. `is_fed`
    /// says for a subscription whether everything was handed to the socket.
    pub(super) fn answered(
        &mut self,
        at: &BTreeMap<SubscriptionId, Seq>,
        is_fed: impl Fn(SubscriptionId) -> bool,
    ) -> Vec<(SubscriptionId, Seq)> {
        let before = std::mem::take(&mut self.before);
        let mut dead = Vec::new();
        for (sub, told) in self.told.drain(..) {
            // A client that does not say its position cannot be helped.
            let Some(&seq) = at.get(&sub).filter(|_| is_fed(sub)) else { continue };
            if before.get(&sub).is_some_and(|(stood, had)| *stood == seq && seq < *had) {
                dead.push((sub, seq));
            } else {
                self.before.insert(sub, (seq, told));
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests;
