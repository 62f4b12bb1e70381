//! A conversation that another hub has: it takes the events of that hub as they are, with their seqs and times, and gives none to the log.
//! Viewers see no difference.
//!
//! ```text
//! followed ──the other hub ended well──▶ promoted: the same object, owned here, with everything that its viewers have
//!    ▲ └────the other hub died──────────▶ over: another object in a new epoch takes its place
//!    └─given up for another hub── owned here
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::{EventLog, PublisherMark, Ring, Ticket};
use model::event::{Class, Kind};
use model::fold::fold;
use model::weigh::{grows, held, weigh};
use model::{ConversationId, Envelope, Epoch, Position, Seq, View};

use super::{Conversation, ConversationState};
use crate::hub::publishers::Publishers;

/// Events that do not follow what the conversation has. Whoever follows it must subscribe again and go on
/// from a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("after seq {expected} come events from seq {from}")]
pub struct Discontinuity {
    /// The newest seq that it has.
    pub expected: Seq,
    /// The first seq that came.
    pub from: Seq,
}

/// Why a conversation is not given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGivenUp {
    /// Another hub has the conversation.
    #[error("another hub has it")]
    Elsewhere,
    /// Nothing was ever said in it, or it has left memory.
    #[error("nothing is known of it")]
    Unused,
    /// A run of this hub's own agents goes on in it.
    #[error("a run of an agent of this hub goes on in it")]
    OwnRun,
    /// The conversation is being imported, the log has no room for its state, or something that was said is withheld.
    #[error("it cannot be given up at this moment")]
    Busy,
}

impl Conversation {
    /// Makes a conversation that another hub has, in its epoch, with the state `view`. Nobody here can append
    /// to it, and nothing of it is given to the log.
    pub fn followed(id: ConversationId, epoch: Epoch, view: View) -> Self {
        let state = ConversationState {
            at: newest(&view),
            ring: Ring::after_seq(view.seq),
            view_bytes: held(&view),
            view,
            ..ConversationState::default()
        };
        let made = Self::from_state(id, epoch, state);
        made.followed.store(true, Ordering::Release);
        made
    }

    /// Whether another hub has it.
    pub fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Acquire)
    }

    /// Whether anybody views it.
    pub fn is_watched(&self) -> bool {
        self.viewers.load(Ordering::Relaxed) > 0
    }

    /// Whether another object has taken its place: viewers begin again with that one.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Takes the events from `from` to `to`, each seq once and in order, and ephemeral events. What it has
    /// already is left out. Returns the weight of what is new, in bytes. On an error the events that fitted
    /// are kept; the rest must come again.
    pub(in crate::hub) fn take_followed(
        &self,
        (from, to): (Seq, Seq),
        events: Vec<Envelope>,
    ) -> Result<u64, Discontinuity> {
        let taken = {
            let mut state = self.state.lock();
            let discontinuity = Discontinuity { expected: state.view.seq, from };
            if !self.is_followed() || from > state.view.seq.saturating_add(1) {
                return Err(discontinuity);
            }
            let taken = state.take_followed(to, events);
            // Also after an error: what fitted is in the view.
            self.head.store(state.view.seq, Ordering::Release);
            taken
        };
        self.appended.notify_waiters();
        taken
    }

    /// Whether a viewer at `have` needs events from before those that are here, of the epoch of this conversation, which another hub has.
    pub fn lacks(&self, have: &Position) -> bool {
        self.is_followed() && have.epoch == self.epoch && have.seq < self.begins_after()
    }

    /// Takes events from before those that are here, so that viewers which come back can go on with them. They must follow one another up to the
    /// oldest that is here, in the same epoch; if not, nothing changes. Returns the weight of what was taken, in bytes.
    ///
    /// What such events did to the view beyond their own fields is unknown here, so viewers who do not see everything get a snapshot in their
    /// place.
    pub(in crate::hub) fn take_earlier(&self, epoch: &Epoch, events: Vec<Envelope>) -> u64 {
        let mut state = self.state.lock();
        if !self.is_followed() || *epoch != self.epoch {
            return 0;
        }
        let begins_after = state.ring.begins_after();
        let bytes = state.ring.prepend(events.into_iter().map(Arc::new).collect());
        if bytes > 0 {
            state.effects.unknown_to(begins_after);
        }
        bytes
    }

    /// Whether what the events after `seq` do beyond their own fields is known, which whoever does not see everything needs.
    pub(crate) fn knows_effects_after(&self, seq: Seq) -> bool {
        self.state.lock().effects.reach(seq)
    }

    /// Goes on from `view`, a later state in the same epoch: the events before it are not here. Does nothing
    /// for an older state. Viewers whose cursor is before it get the snapshot.
    pub(in crate::hub) fn skip_to(&self, view: View) {
        let mut state = self.state.lock();
        if !self.is_followed() || view.seq < state.view.seq {
            return;
        }
        state.at = state.at.max(newest(&view));
        state.ring = Ring::after_seq(view.seq);
        state.view_bytes = held(&view);
        state.view = view;
        self.head.store(state.view.seq, Ordering::Release);
        drop(state);
        self.appended.notify_waiters();
    }

    /// Becomes a conversation of this hub. `missing` are the events that the log has after the newest one here, `marks` how far its
    /// publishers have come. False if that does not fit: nothing has changed then, but for the events.
    pub(in crate::hub) fn promote(
        &self,
        head: Seq,
        missing: Vec<Envelope>,
        marks: Vec<PublisherMark>,
    ) -> bool {
        if self.take_followed((self.head() + 1, head), missing).is_err() {
            return false;
        }
        let mut state = self.state.lock();
        if state.view.seq != head {
            return false;
        }
        state.has_own = state.view.runs.values().any(|run| run.own);
        state.publishers = Publishers::restored(marks);
        state.since_kept = 0;
        // The log has all of it. The ticket of the time before may be that of a transaction which the database set aside, and what is said again
        // would wait for it for ever.
        state.ticket = Ticket::default();
        self.followed.store(false, Ordering::Release);
        true
    }

    /// Gives a conversation of this hub up for the one under the URL `to`: gives the log the state and the row, and then the conversation up. From the return on
    /// nobody appends to it here, and it counts as followed; its viewers keep what they have. The ticket is reached when another hub may claim it. On an error nothing
    /// has changed.
    pub(in crate::hub) fn give_up(&self, log: &dyn EventLog, to: &Arc<str>) -> Result<Ticket, NotGivenUp> {
        let mut state = self.state.lock();
        // The runs of a copy go on in the original.
        let has_own = !self.id.is_frozen()
            && state.has_own
            && state.view.runs.values().any(|run| run.own && run.is_running());
        let why = match () {
            () if self.is_followed() => Some(NotGivenUp::Elsewhere),
            () if state.retired || state.view.seq == 0 => Some(NotGivenUp::Unused),
            () if has_own => Some(NotGivenUp::OwnRun),
            () if state.reserved || !state.withheld.is_empty() => Some(NotGivenUp::Busy),
            () => None,
        };
        if let Some(why) = why {
            return Err(why);
        }
        // Events of which the log has no room are in the state.
        if self.keep_state(&mut state, log) == Ticket::NEVER {
            return Err(NotGivenUp::Busy);
        }
        let ticket = log.release(&self.id, to).ok_or(NotGivenUp::Busy)?;
        state.ticket = ticket;
        // Whoever has it next begins with these anew.
        (state.attendance, state.texts) = Default::default();
        self.followed.store(true, Ordering::Release);
        drop(state);
        // Whoever waits for its events may have to wait elsewhere.
        self.appended.notify_waiters();
        Ok(ticket)
    }

    /// Retires it because another object takes its place.
    pub(in crate::hub) fn end(&self) {
        let mut state = self.state.lock();
        state.retired = true;
        self.over.store(true, Ordering::Release);
        drop(state);
        self.appended.notify_waiters();
    }

    /// If another hub has it and nobody views it, retires it. True if it did.
    pub(in crate::hub) fn retire_if_unwatched(&self) -> bool {
        let mut state = self.state.lock();
        let unwatched = self.is_followed() && self.viewers.load(Ordering::Relaxed) == 0;
        state.retired |= unwatched;
        unwatched
    }
}

impl ConversationState {
    /// Folds `events` up to the first one that does not follow, and fails if they end before `to`. Returns
    /// their weight in bytes.
    fn take_followed(&mut self, to: Seq, events: Vec<Envelope>) -> Result<u64, Discontinuity> {
        let mut bytes = 0;
        for envelope in events {
            if envelope.event.kind.class() == Class::Ephemeral {
                self.ephemera.put(Arc::new(envelope));
            } else if envelope.seq > self.view.seq {
                if envelope.seq != self.view.seq + 1 {
                    return Err(Discontinuity { expected: self.view.seq, from: envelope.seq });
                }
                bytes += self.fold_followed(envelope);
            }
        }
        if self.view.seq < to {
            return Err(Discontinuity { expected: self.view.seq, from: to });
        }
        Ok(bytes)
    }

    /// Folds one event of the hub that has the conversation. Returns its weight, in bytes.
    fn fold_followed(&mut self, envelope: Envelope) -> u64 {
        self.clock = self.clock.max(envelope.at);
        if envelope.event.kind.is_activity() {
            self.at = self.clock;
        }
        self.effects.note(&self.view, &envelope, self.ring.begins_after());
        fold(&mut self.view, &envelope, &mut |_| {});
        if matches!(envelope.event.kind, Kind::RunEnd(_)) {
            self.ephemera.forget(&envelope.event.run);
        }
        let bytes = weigh(&envelope);
        self.view_bytes = self.view_bytes.saturating_add(grows(&envelope.event.kind, bytes));
        self.ring.push(Arc::new(envelope), bytes);
        bytes as u64
    }
}

/// When something was last said of a run in `view`, in milliseconds since 1970, as far as that shows.
fn newest(view: &View) -> u64 {
    let at = |run: &model::view::RunView| {
        run.started_at.max(run.ended_at.unwrap_or(0)).max(run.activity_at.unwrap_or(0))
    };
    view.runs.values().map(at).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
