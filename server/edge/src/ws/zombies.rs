//! Subscriptions that are dead although their socket lives: what was sent did not arrive. The client says at each
//! heartbeat how far it is; one that stays where it was, behind what it must have been given before the last
//! heartbeat, is told again from there.

use std::collections::BTreeMap;

use model::Seq;
use model::frame::SubscriptionId;

/// What a client acknowledged at its last heartbeats, by subscription.
#[derive(Debug, Default)]
pub(super) struct Zombies {
    /// Where the conversations stood when the last heartbeat was sent.
    told: Vec<(SubscriptionId, Seq)>,
    /// Where clients stood at the answer before, and what they had been told by then.
    before: BTreeMap<SubscriptionId, (Seq, Seq)>,
}

impl Zombies {
    /// A heartbeat is sent that says where conversations stand.
    pub(super) fn sent(&mut self, heads: impl Iterator<Item = (SubscriptionId, Seq)>) {
        self.told = heads.collect();
    }

    /// The client's answer to it. The subscriptions that are dead, and where the client stands; `is_fed` says whether
    /// everything was handed to the socket at once for a subscription.
    pub(super) fn answered(
        &mut self,
        at: &BTreeMap<SubscriptionId, Seq>,
        is_fed: impl Fn(SubscriptionId) -> bool,
    ) -> Vec<(SubscriptionId, Seq)> {
        let before = std::mem::take(&mut self.before);
        let mut dead = Vec::new();
        for (sub, told) in self.told.drain(..) {
            // A client that does not say where it is cannot be helped.
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
