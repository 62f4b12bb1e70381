//! A publisher that goes from hub to hub, numbers what it says, and says it again until it is kept.

use std::collections::BTreeSet;

use event_log::{EventLog, ModelDatabase, Ticket, settled};
use hub::{AppendError, Appended, Publication, PublishError};
use model::ConversationId;
use model::frame::Durability;

use super::machine::HubRig;
use crate::simulation::publisher::Publisher;

/// A publisher and its connection.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) publisher: Publisher,
    /// The machine that it is connected with, and the life of the hub there.
    pub(super) at: (usize, Option<i64>),
    /// The number of its connection, from the first on.
    pub(super) session: u64,
    /// What it was not told yet.
    owed: Vec<Owed>,
    /// The machines that frames of this connection were passed on to, with the numbers of the links.
    pub(super) passed_to: BTreeSet<(usize, u64)>,
    /// Events that were acked as `stored` and that a promotion has lost.
    pub(super) lost: u64,
    /// The newest event whose ack must hold. An ack of a hub that goes on after a promotion which lost something may promise too much until the
    /// hub has filled what is missing (decision 0111).
    sure: u64,
    /// Why its newest frame was refused that was.
    refused: Option<PublishError>,
}

/// A frame that is taken and not acked.
#[derive(Debug)]
struct Owed {
    /// The machine that has taken it, and the life of the hub there.
    by: (usize, i64),
    ticket: Ticket,
    last: u64,
    /// Promotions that had lost something when it was taken.
    losses: u64,
    /// Whether it had been taken before, by a hub that has lived through such a promotion.
    is_doubtful: bool,
}

/// A frame on its way from one hub to another.
#[derive(Debug)]
pub(super) struct FrameBetweenHubs {
    /// Who says it, over which of its connections.
    pub(super) speaker: (usize, u64),
    pub(super) last: u64,
    pub(super) publication: Publication,
}

impl Speaker {
    pub(super) fn new(publisher: Publisher, machine: usize) -> Self {
        Self {
            publisher,
            at: (machine, None),
            session: 0,
            owed: Vec::new(),
            passed_to: BTreeSet::new(),
            lost: 0,
            sure: 0,
            refused: None,
        }
    }

    /// What it speaks in.
    pub(super) fn conversation(&self) -> &ConversationId {
        &self.publisher.conversation
    }

    /// Ends the connection: what was not acked is said again at the hub on another machine.
    pub(super) fn hop(&mut self, machine: usize) {
        self.session += 1;
        self.at = (machine, None);
        self.owed.clear();
        self.passed_to.clear();
        self.publisher.sent = self.publisher.acked;
    }

    /// Hears what has become of a frame that a hub was given. True if its connection ends.
    pub(super) fn went(
        &mut self,
        (machine, rig): (usize, &HubRig),
        last: u64,
        outcome: Result<Appended, PublishError>,
        database: &ModelDatabase,
    ) -> bool {
        match outcome {
            Ok(Appended { ticket, duplicate, .. }) => {
                rig.log.hasten(ticket, self.publisher.level);
                self.publisher.sent = self.publisher.sent.max(last);
                let (by, losses) = ((machine, rig.log.life()), database.losses());
                let is_doubtful = duplicate && rig.losses < losses;
                self.owed.push(Owed { by, ticket, last, losses, is_doubtful });
                false
            }
            Err(PublishError::Append(AppendError::Gap { expected })) => {
                let may_lose = self.may_lose(expected, database);
                // A machine that was suspended does not know that its lease has run out.
                if rig.was_suspended && expected <= self.publisher.acked && !may_lose {
                    return true;
                }
                if expected <= self.publisher.acked {
                    let (id, level, acked) = (&self.publisher.id, self.publisher.level, self.publisher.acked);
                    assert!(may_lose, "{id}: {acked} was acked as {level:?}, {expected} is expected");
                }
                self.goes_back(expected);
                false
            }
            // It comes back, and says it again.
            Err(error) => {
                self.refused = Some(error);
                true
            }
        }
    }

    /// Whether what was acked from this number on may be lost.
    fn may_lose(&self, expected: u64, database: &ModelDatabase) -> bool {
        let is_weak = self.publisher.level < Durability::Replicated || expected > self.sure;
        is_weak && database.has_lost(&self.publisher.conversation)
    }

    /// A hub expects this number next.
    fn goes_back(&mut self, expected: u64) {
        let publisher = &mut self.publisher;
        if expected <= publisher.acked {
            self.lost += publisher.acked + 1 - expected;
            publisher.acked = expected - 1;
            self.sure = self.sure.min(expected - 1);
            self.owed.clear();
        }
        publisher.sent = expected - 1;
    }

    /// Hears what is settled at the hub of a machine, after so many promotions that lost something. True if that hub could not keep something.
    pub(super) fn hear(&mut self, machine: usize, rig: &HubRig, losses: u64) -> bool {
        let by = (machine, rig.log.life());
        if self.owed.iter().all(|owed| owed.by != by) {
            return false;
        }
        let (progress, level) = (rig.progress(), self.publisher.level);
        let (mut acked, mut sure, mut failed) = (self.publisher.acked, self.sure, false);
        self.owed.retain(|owed| {
            let outcome = (owed.by == by).then(|| settled(&progress, owed.ticket, level)).flatten();
            match outcome {
                None => true,
                Some(Ok(())) => {
                    acked = acked.max(owed.last);
                    if !owed.is_doubtful && owed.losses == losses {
                        sure = sure.max(owed.last);
                    }
                    false
                }
                Some(Err(_)) => {
                    failed = true;
                    false
                }
            }
        });
        (self.publisher.acked, self.sure) = (acked, sure);
        self.publisher.sent = if failed { acked } else { self.publisher.sent.max(acked) };
        failed
    }

    /// The machines that owe it an ack.
    pub(super) fn owing(&self) -> Vec<(usize, i64)> {
        self.owed.iter().map(|owed| owed.by).collect()
    }
}
