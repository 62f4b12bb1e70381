//! What comes into the queue: operations get their tickets, are counted against the bound, and wake whoever has work now.

use std::sync::Arc;
use std::time::Instant;

use model::frame::Durability;
use model::{ConversationId, Seq};

use super::{GATHER_BYTES, Queue, QueueState};
use crate::ops::{Op, Queued, QueuedEvents, WeighedOp, WritePath};
use crate::queued_ends::QueuedEnd;
use crate::{Append, Checkpoint, Health, LogError, Ticket};

impl Queue {
    /// Queues events that continue their conversation. Those that do not fit make or widen a hole and get
    /// [`Ticket::NEVER`].
    pub(crate) fn append(&self, append: Append<'_>) -> Result<Ticket, LogError> {
        let (conversation, after) = (append.conversation.clone(), append.after.seq);
        let head = append.envelopes.last().map_or(after, |envelope| envelope.seq);
        let weighed = WeighedOp::of(Op::Append(Arc::new(QueuedEvents::of(append))));
        let mut state = self.state.lock();
        state.continues(&conversation, after)?;
        if state.ends.get(&conversation).is_some_and(QueuedEnd::is_holed) {
            state.ends.left_out(&conversation);
            return Ok(Ticket::NEVER);
        }
        let weighed = weighed.sharing_at_most(self.shared_bytes_max.saturating_sub(state.shared_bytes));
        if state.bytes.saturating_add(weighed.bytes) > self.bytes_max {
            state.hole(&conversation, after);
            return Ok(Ticket::NEVER);
        }
        Ok(self.push(&mut state, weighed, Some(head)))
    }

    /// Queues a piece of an import; without room for it returns [`Ticket::NEVER`].
    pub(crate) fn piece(&self, op: Op) -> Ticket {
        let (weighed, mut state) = (WeighedOp::of(op), self.state.lock());
        if state.bytes.saturating_add(weighed.bytes) > self.bytes_max && !state.ops.is_empty() {
            return Ticket::NEVER;
        }
        self.push(&mut state, weighed, None)
    }

    /// Queues an operation that makes a conversation with the head `head`.
    pub(crate) fn make(&self, op: Op, head: Seq) -> Ticket {
        let weighed = WeighedOp::of(op);
        self.push(&mut self.state.lock(), weighed, Some(head))
    }

    /// Queues a checkpoint. The conversation has no hole afterwards.
    pub(crate) fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        let (conversation, head) = (checkpoint.row.conversation.clone(), checkpoint.view.seq);
        let (weighed, mut state) = (WeighedOp::of(Op::Keep(Box::new(checkpoint))), self.state.lock());
        let known = state.ends.get(&conversation);
        let (holed, at_least) = known.map_or((false, 0), |end| (end.is_holed(), end.head));
        // A checkpoint that fills a hole is taken even if it does not fit, one at a time: it may be larger
        // than the whole queue.
        let heals = holed && !state.ops.iter().any(|queued| matches!(queued.op, Op::Keep(_)));
        if !heals && state.bytes.saturating_add(weighed.bytes) > self.bytes_max {
            if holed {
                // It is named again when there is room.
                state.unnamed.insert(conversation);
                return Ticket::NEVER;
            }
            // Everything in the checkpoint is stored already, or waits.
            return Ticket(state.tickets);
        }
        state.unnamed.shift_remove(&conversation);
        let missing = state.ends.missing(&conversation);
        let ticket = self.push(&mut state, weighed, Some(if holed { head } else { head.max(at_least) }));
        if holed {
            // The hole counts until the checkpoint is written.
            state.ends.heal(&conversation, ticket.0, missing);
        }
        ticket
    }

    /// Queues an operation without asking for room, because there are few of these.
    pub(crate) fn put(&self, op: Op) -> Ticket {
        self.put_locked(&mut self.state.lock(), op)
    }

    /// Queues the removal of a conversation and its purge, so that nothing comes between the two: they are stored together.
    pub(crate) fn put_removal_and_purge(&self, conversation: &ConversationId) -> (Ticket, Ticket) {
        let mut state = self.state.lock();
        let removal = self.put_locked(&mut state, Op::Remove(conversation.clone()));
        (removal, self.put_locked(&mut state, Op::Purge(conversation.clone())))
    }

    /// As [`Queue::put`], under the lock.
    fn put_locked(&self, state: &mut QueueState, op: Op) -> Ticket {
        let weighed = WeighedOp::of(op);
        let head = matches!(weighed.op, Op::Remove(_)).then_some(0);
        if let Op::Remove(conversation) = &weighed.op {
            state.unnamed.shift_remove(conversation);
        }
        self.push(state, weighed, head)
    }

    /// Notes that somebody waits until `ticket` is kept at `level`.
    pub(crate) fn hasten(&self, ticket: u64, level: Durability) {
        let mut state = self.state.lock();
        // A ticket that was never given is never reached.
        if ticket > state.tickets {
            return;
        }
        match level {
            Durability::Synced | Durability::Replicated if state.sync_at < ticket => {
                self.push(&mut state, WeighedOp::of(Op::Sync), None);
            }
            Durability::Stored if state.taken.max(state.stored) < ticket && state.group_commit.waits() => {
                self.entries.notify_one();
                if state.waits_for_rows() {
                    self.work.notify_one();
                }
            }
            _ => {}
        }
    }

    /// Puts an operation at the end, gives it its ticket, and wakes whoever has work now. Room is the
    /// caller's matter.
    pub(super) fn push(
        &self,
        state: &mut QueueState,
        WeighedOp { op, bytes, shared_bytes }: WeighedOp,
        head: Option<Seq>,
    ) -> Ticket {
        state.tickets += 1;
        let ticket = state.tickets;
        let write_path = op.write_path(state.knows(&op, head));
        if op.is_synced() {
            state.sync_at = ticket;
        }
        if op.is_found() {
            state.found_at = ticket;
        }
        if let (Some(conversation), Some(head)) = (op.conversation(), head) {
            state.ends.put(conversation, QueuedEnd::at(head, ticket));
        }
        let before = state.bytes;
        state.bytes += bytes;
        state.shared_bytes += shared_bytes;
        let urgent = op.is_urgent() && !state.is_urgent();
        if op.is_urgent() {
            state.rows_to = ticket;
        }
        if matches!(op, Op::Remove(_)) {
            state.removed_at = ticket;
        }
        let now = Instant::now();
        let wake = urgent
            || state.ops.is_empty()
            || (write_path == WritePath::Database && state.rows_since.is_none())
            || (before < state.rows_bytes && state.bytes >= state.rows_bytes);
        if write_path == WritePath::Database {
            state.rows_since.get_or_insert(now);
        }
        if write_path == WritePath::Journal {
            let entry_before = state.entry_bytes;
            state.entry_bytes += bytes;
            if state.entry_since.is_none()
                || state.rows_to == ticket
                || (entry_before < GATHER_BYTES && state.entry_bytes >= GATHER_BYTES)
            {
                self.entries.notify_one();
            }
            state.entry_since.get_or_insert(now);
        }
        state.since.get_or_insert(now);
        state.ops.push_back(Queued { ticket, bytes, shared_bytes, write_path, op });
        if write_path == WritePath::Optional && state.pass_optional() {
            self.progress.send_modify(|progress| progress.stored = progress.stored.max(Ticket(ticket)));
        }
        if before <= self.bytes_max / 2 && state.bytes > self.bytes_max / 2 {
            self.progress.send_if_modified(|progress| {
                // Publishers that wait while nothing can be written wait in vain, and keep events from
                // viewers.
                let news = !progress.full && progress.health == Health::Well;
                progress.full |= news;
                news
            });
        }
        if wake {
            self.work.notify_one();
        }
        Ticket(ticket)
    }
}
