//! Groups and operations that the database refuses.

use model::frame::Durability;

use super::super::aside;
use super::PostgresWriter;
use crate::ops::{Op, Queued};

impl PostgresWriter {
    /// Writes each half of a group that the database refuses, so that only what it refuses alone is left out.
    pub(super) fn halve(&mut self, mut group: Vec<Queued>, what: &str) -> Result<(), ()> {
        let second = group.split_off(group.len() / 2);
        if group.is_empty() {
            for queued in second {
                self.set_aside(&queued, what);
            }
            return Ok(());
        }
        match self.write(group) {
            Ok(()) => self.write(second),
            Err(()) => self.leave(&second),
        }
    }

    /// Goes on without an operation that the database refuses.
    fn set_aside(&mut self, queued: &Queued, what: &str) {
        self.refused += 1;
        self.shared.queue.count_aside(1);
        if let Some(session) = &mut self.session {
            self.runtime.block_on(aside::put(session, &queued.op, what));
        }
        if let Some(conversation) = queued.op.conversation() {
            let head = self.known.find(conversation).map_or(0, |place| place.head);
            match &queued.op {
                Op::Append(_) => self.shared.queue.misfit(conversation, head),
                Op::Keep(_) => self.shared.queue.give_up(conversation, head),
                _ => {}
            }
        }
        self.shared.queue.lose(queued.ticket);
        self.shared.queue.wrote(queued.ticket, queued.bytes, Durability::Stored);
    }
}
