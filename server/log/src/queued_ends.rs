//! Where each conversation ends once everything that waits in the queue is written, and which conversations have a
//! hole. A hole is a series of events that the queue did not take; no more are taken until a checkpoint
//! brings the state of the conversation.

use std::collections::HashMap;

use model::{ConversationId, Seq};

/// Where a conversation ends once everything that waits is written.
#[derive(Debug, Clone)]
pub(crate) struct QueuedEnd {
    /// The newest seq of the conversation.
    pub(crate) head: Seq,
    /// The last operation that concerns it.
    pub(crate) ticket: u64,
    /// The events that are missing after the head, if any.
    hole: Option<Hole>,
}

/// The events that are missing after the head of a conversation.
#[derive(Debug, Clone, Copy)]
struct Hole {
    /// The number of appends that were not taken.
    left_out: u64,
    /// Whether a checkpoint is going to fill it. False if the database refuses the state of the conversation
    /// too.
    heals: bool,
}

impl QueuedEnd {
    /// The end of a conversation without a hole.
    pub(crate) fn at(head: Seq, ticket: u64) -> Self {
        Self { head, ticket, hole: None }
    }

    /// Whether events are missing after its head.
    pub(crate) fn is_holed(&self) -> bool {
        self.hole.is_some()
    }
}

/// The ends of all conversations that were written in this life. Part of the queue, under its lock.
#[derive(Debug, Default)]
pub(crate) struct QueuedEnds {
    known: HashMap<ConversationId, QueuedEnd>,
    /// How many holes a checkpoint is going to fill.
    healing: u64,
    /// How many appends are missing in those holes.
    left_out: u64,
    /// Checkpoints that wait to be written: ticket, conversation, and the appends that are missing until
    /// then.
    in_flight: Vec<(u64, ConversationId, u64)>,
}

impl QueuedEnds {
    /// The end of the conversation, if it is known.
    pub(crate) fn get(&self, conversation: &ConversationId) -> Option<&QueuedEnd> {
        self.known.get(conversation)
    }

    /// Replaces the end of the conversation. Returns whether the old one had a hole.
    pub(crate) fn put(&mut self, conversation: &ConversationId, end: QueuedEnd) -> bool {
        self.count_out(conversation);
        if let Some(known) = self.known.get_mut(conversation) {
            return std::mem::replace(known, end).is_holed();
        }
        self.known.insert(conversation.clone(), end);
        false
    }

    /// Forgets where the conversation ends.
    pub(crate) fn remove(&mut self, conversation: &ConversationId) {
        self.count_out(conversation);
        self.known.remove(conversation);
    }

    /// Makes or widens a hole after `head`, because an append was not taken.
    pub(crate) fn hole(&mut self, conversation: &ConversationId, head: Seq) {
        let (ticket, known) = self.get(conversation).map_or((0, None), |end| (end.ticket, end.hole));
        let left_out = known.map_or(0, |hole| hole.left_out).saturating_add(1);
        let hole = Some(Hole { left_out, heals: true });
        self.put(conversation, QueuedEnd { head, ticket, hole });
        self.healing += 1;
        self.left_out = self.left_out.saturating_add(left_out);
    }

    /// Counts an append to a conversation with a hole, which is not taken.
    pub(crate) fn left_out(&mut self, conversation: &ConversationId) {
        let hole = self.known.get_mut(conversation).and_then(|end| end.hole.as_mut());
        if let Some(hole) = hole {
            hole.left_out = hole.left_out.saturating_add(1);
            self.left_out = self.left_out.saturating_add(u64::from(hole.heals));
        }
    }

    /// Notes that no checkpoint will fill the hole of the conversation.
    pub(crate) fn give_up(&mut self, conversation: &ConversationId) {
        self.count_out(conversation);
        let hole = self.known.get_mut(conversation).and_then(|end| end.hole.as_mut());
        if let Some(hole) = hole {
            hole.heals = false;
        }
    }

    /// Notes that the checkpoint `ticket` fills the hole of the conversation once it is written.
    pub(crate) fn heal(&mut self, conversation: &ConversationId, ticket: u64, left_out: u64) {
        self.in_flight.push((ticket, conversation.clone(), left_out));
    }

    /// Notes that everything up to `ticket` is written.
    pub(crate) fn healed(&mut self, ticket: u64) {
        self.in_flight.retain(|(waits, ..)| *waits > ticket);
    }

    /// How many appends are missing in the hole of the conversation; 0 if it has none.
    pub(crate) fn missing(&self, conversation: &ConversationId) -> u64 {
        self.get(conversation).and_then(|end| end.hole).map_or(0, |hole| hole.left_out)
    }

    /// How many holes wait for a checkpoint to be written, and how many appends are missing in them.
    pub(crate) fn holes(&self) -> (u64, u64) {
        let in_flight = self.in_flight.iter().map(|(_, _, left_out)| left_out).sum::<u64>();
        (self.healing + self.in_flight.len() as u64, self.left_out.saturating_add(in_flight))
    }

    /// The conversations with a hole, ordered by name, and how many appends are missing in each.
    pub(crate) fn holed(&self) -> Vec<(ConversationId, u64)> {
        let holes = self.known.iter().filter_map(|(id, end)| Some((id.clone(), end.hole?.left_out)));
        let in_flight = self.in_flight.iter().map(|(_, id, left_out)| (id.clone(), *left_out));
        let mut holed: Vec<_> = holes.chain(in_flight).collect();
        holed.sort();
        holed
    }

    /// If there are more than `max`, forgets conversations without a hole of which everything up to `ticket`
    /// is written.
    pub(crate) fn trim(&mut self, max: usize, ticket: u64) {
        if self.known.len() > max {
            self.known.retain(|_, end| end.is_holed() || end.ticket > ticket);
        }
    }

    /// The number of conversations that are known.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Subtracts the conversation's hole from the sums.
    fn count_out(&mut self, conversation: &ConversationId) {
        let hole = self.known.get(conversation).and_then(|end| end.hole);
        if let Some(hole) = hole.filter(|hole| hole.heals) {
            self.healing = self.healing.saturating_sub(1);
            self.left_out = self.left_out.saturating_sub(hole.left_out);
        }
    }
}
