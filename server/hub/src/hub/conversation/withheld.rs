//! What is withheld before it gets numbers: publications that end within what may be a secret. The end of a delta that may be the beginning of
//! one waits for the next delta; so that numbers, claims and acks stay what they are (I1, I9, I10), its whole publication waits with it,
//! and so does what comes behind it of the same publisher or the same runs:
//!
//! ```text
//!  numbering judged ─▶ deltas redacted ─▶ nothing is held ─▶ numbered, folded, logged
//!                        │                    ▲
//!                        └─ held ─▶ withheld ─┘ once more came, or after WITHHELD_MS
//! ```
//!
//! The mark of a publisher is stored with the events, so what is withheld when the hub dies was not acked as stored and comes again.

use std::sync::atomic::Ordering;

use event_log::{EventLog, PublisherMark, Ticket};
use model::{Envelope, RunId};
use redact::Redactor;

use super::{AppendError, Conversation, ConversationState};
use crate::hub::publication::{Appended, Publication, WithheldTicket};

/// How long a publication is withheld at most, in milliseconds. After that what may be a secret is taken for one.
pub const WITHHELD_MS: u64 = 1_000;

/// Most publications that one conversation withholds.
const WITHHELD_MAX: usize = 256;

/// A publication without numbers.
#[derive(Debug)]
pub(super) struct WithheldPublication {
    /// The events, redacted so far, with the mark of their publisher.
    publication: Publication,
    /// When the publication came, in milliseconds since 1970.
    since: u64,
    /// What those who wait for the publication hold.
    ticket: WithheldTicket,
}

impl WithheldPublication {
    /// Whether `other` must come behind it.
    fn is_before(&self, other: &Publication) -> bool {
        let publisher = |it: &Publication| it.numbering.as_ref().map(|numbering| numbering.publisher.clone());
        let same = publisher(other).is_some_and(|other| Some(other) == publisher(&self.publication));
        same || runs(other).any(|run| runs(&self.publication).any(|known| known == run))
    }
}

/// The runs of a publication's events, one for each event.
fn runs(publication: &Publication) -> impl Iterator<Item = &RunId> {
    publication.events.iter().map(|envelope| &envelope.event.run)
}

impl Conversation {
    /// Takes a publication, or withholds it. The number of what is withheld is bounded by [`WITHHELD_MAX`]:
    /// then all of it goes on.
    pub(super) fn take_redacted(
        &self,
        state: &mut ConversationState,
        publication: &mut Publication,
        now: u64,
        (log, redactor): (&dyn EventLog, &Redactor),
    ) -> Result<Appended, AppendError> {
        // Before anything changes, as in `take`.
        log.continues(&self.id, state.view.seq)?;
        if state.withheld.len() >= WITHHELD_MAX || state.is_overdue(now) {
            self.release_withheld(state, now, log, redactor);
        }
        state.texts.take(redactor, &mut publication.events);
        if !state.texts.is_holding() {
            self.take_withheld(state, now, log);
            return self.take(state, publication, now, log);
        }
        let waits = state.withheld.iter().any(|withheld| withheld.is_before(publication))
            || runs(publication).any(|run| state.texts.holds_of(run));
        if !waits {
            return self.take(state, publication, now, log);
        }
        let ticket = WithheldTicket::default();
        let events = publication.events.len() as u64;
        let mark = publication.numbering.as_ref().map(|numbering| state.publishers.take(numbering));
        let empty = Publication::of(Vec::new());
        let publication = Publication { mark, ..std::mem::replace(publication, empty) };
        state.withheld.push(WithheldPublication { publication, since: now, ticket: ticket.clone() });
        let position = self.position(state.view.seq);
        let (bytes, anomalies, duplicate) = (0, 0, false);
        Ok(Appended {
            position,
            events,
            bytes,
            anomalies,
            duplicate,
            ticket: state.ticket,
            withheld: Some(ticket),
        })
    }

    /// Gives numbers to all that was withheld, in the order in which it came, and tells those who wait. What
    /// the log refuses is traced, and its ticket is never reached.
    fn take_withheld(&self, state: &mut ConversationState, now: u64, log: &dyn EventLog) {
        for WithheldPublication { mut publication, ticket, .. } in std::mem::take(&mut state.withheld) {
            let level = publication.level;
            match self.take(state, &mut publication, now, log) {
                Ok(appended) => {
                    log.hasten(appended.ticket, level);
                    ticket.came(appended.ticket);
                }
                Err(error) => {
                    tracing::error!(%error, conversation = self.id.as_str(), "what was withheld is not kept");
                    ticket.came(Ticket::NEVER);
                }
            }
        }
    }

    /// Gives numbers to all that was withheld although it is not known yet whether it ends within a secret:
    /// what begins as one does is taken for one.
    pub(super) fn release_withheld(
        &self,
        state: &mut ConversationState,
        now: u64,
        log: &dyn EventLog,
        redactor: &Redactor,
    ) {
        for event in state.texts.release(redactor) {
            let of_run =
                |withheld: &WithheldPublication| runs(&withheld.publication).any(|run| *run == event.run);
            let at =
                state.withheld.iter().rposition(of_run).unwrap_or(state.withheld.len().saturating_sub(1));
            let envelope =
                Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
            if let Some(withheld) = state.withheld.get_mut(at) {
                withheld.publication.events.push(envelope);
            }
        }
        self.take_withheld(state, now, log);
    }

    /// Releases the texts that are withheld: gives numbers to their events. Says when to look again; the ticket is that
    /// of all that was ever appended.
    pub(in crate::hub) fn release_texts(
        &self,
        now: u64,
        whose: WithheldScope,
        log: &dyn EventLog,
        redactor: &Redactor,
    ) -> ReleaseResult {
        let released = {
            let mut state = self.state.lock();
            if state.withheld.is_empty() {
                return ReleaseResult { any: false, next: None, ticket: state.ticket };
            }
            let next = state.due();
            if whose == WithheldScope::Overdue && !state.is_overdue(now) {
                return ReleaseResult { any: false, next, ticket: state.ticket };
            }
            let at = state.at.max(now);
            self.release_withheld(&mut state, at, log, redactor);
            self.head.store(state.view.seq, Ordering::Release);
            ReleaseResult { any: true, next: None, ticket: state.ticket }
        };
        self.appended.notify_waiters();
        released
    }
}

/// The part of what is withheld that is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::hub) enum WithheldScope {
    /// What has waited for too long.
    Overdue,
    /// All that is withheld.
    All,
}

/// What was done about what is withheld.
#[derive(Debug)]
pub(in crate::hub) struct ReleaseResult {
    /// Whether anything went on.
    pub(in crate::hub) any: bool,
    /// When to look again, in milliseconds since 1970.
    pub(in crate::hub) next: Option<u64>,
    /// The ticket of all that was appended.
    pub(in crate::hub) ticket: Ticket,
}

impl ConversationState {
    /// Tells those who wait for what is withheld that it will not be kept.
    pub(super) fn give_up_withheld(self) {
        for withheld in self.withheld {
            withheld.ticket.came(Ticket::NEVER);
        }
    }

    /// When the oldest that is withheld has to go on.
    pub(super) fn due(&self) -> Option<u64> {
        self.withheld.first().map(|withheld| withheld.since.saturating_add(WITHHELD_MS))
    }

    /// Whether the oldest has waited for [`WITHHELD_MS`].
    fn is_overdue(&self, now: u64) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// How far publishers have come, without what is withheld.
    pub(super) fn marks_without_withheld(&self) -> Vec<PublisherMark> {
        let mut marks = self.publishers.marks();
        for withheld in self.withheld.iter().rev() {
            let Some(numbering) = &withheld.publication.numbering else { continue };
            let mark = marks.iter_mut().find(|mark| mark.publisher == numbering.publisher);
            if let (Some(mark), Some(first)) = (mark, numbering.numbers.first()) {
                // What a publisher of a new life said before is no mark of that life.
                mark.seq = if mark.epoch == numbering.epoch { first.saturating_sub(1) } else { 0 };
            }
        }
        marks
    }

    /// The ticket to come of what a publication repeats that is withheld.
    pub(super) fn withheld_of(&self, publication: &Publication) -> Option<WithheldTicket> {
        let withheld = self.withheld.iter().rfind(|withheld| withheld.is_before(publication));
        withheld.map(|withheld| withheld.ticket.clone())
    }
}

#[cfg(test)]
mod tests;
