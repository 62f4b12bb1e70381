//! Subscriptions that are dead although their socket lives, because what was sent did not arrive. At
//! each heartbeat the client says its positions. One that has not moved, and is behind what it must have got
//! before the last heartbeat, is served again from there.

use std::collections::BTreeMap;

use model::Seq;
use model::frame::SubscriptionId;

/// The positions that a client has acknowledged at its last heartbeats. One for each socket.
#[derive(Debug, Default)]
pub(super) struct UndeliveredSubscriptions {
    /// A list without room for more, since every idle socket has one.
    known: Vec<SubscriptionPositions>,
}

/// What is known of one subscription.
#[derive(Debug)]
struct SubscriptionPositions {
    sub: SubscriptionId,
    /// The head of the conversation when the last heartbeat was sent.
    told: Seq,
    /// The client's position at the previous answer, and the head that it had been told by then. `None` for a subscription that
    /// was new then, or began again.
    before: Option<(Seq, Seq)>,
}

impl UndeliveredSubscriptions {
    /// Notes that a heartbeat is sent with these heads.
    pub(super) fn sent(&mut self, heads: impl ExactSizeIterator<Item = (SubscriptionId, Seq)>) {
        let mut known = Vec::with_capacity(heads.len());
        known.extend(heads.map(|(sub, told)| {
            let before = self.known.iter().find(|known| known.sub == sub).and_then(|known| known.before);
            SubscriptionPositions { sub, told, before }
        }));
        self.known = known;
    }

    /// Takes the client's answer. Returns the dead subscriptions, each with the client's position. `is_fed`
    /// says for a subscription whether everything was handed to the socket.
    pub(super) fn answered(
        &mut self,
        at: &BTreeMap<SubscriptionId, Seq>,
        is_fed: impl Fn(SubscriptionId) -> bool,
    ) -> Vec<(SubscriptionId, Seq)> {
        let mut dead = Vec::new();
        for known in &mut self.known {
            let SubscriptionPositions { sub, told, .. } = *known;
            let before = known.before.take();
            // A client that does not say its position cannot be helped.
            let Some(&seq) = at.get(&sub).filter(|_| is_fed(sub)) else { continue };
            if before.is_some_and(|(stood, had)| stood == seq && seq < had) {
                dead.push((sub, seq));
            } else {
                known.before = Some((seq, told));
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests;
