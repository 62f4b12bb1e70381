//! Appending: what is refused, and how events get their seq, are folded, and go into the ring and to the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::{Append, EventLog};
use model::event::{Class, Kind, bound};
use model::fold::{complete, fold, mismatch};
use model::frame::Durability;
use model::limits::CONVERSATION_BYTES_MAX;
use model::weigh::{grows, held, weigh};
use model::{Envelope, Event, Position, RunId, Seq};
use redact::Redactor;

use super::raw_budget::RawVerdict;
use super::{COUNTED_EVERY_BYTES, Conversation, ConversationState, original};
use crate::hub::index::{IndexEntries, fold_and_index};
use crate::hub::measure::CountedBefore;
use crate::hub::outsize::lengthen;
use crate::hub::publication::{AppendError, Appended, EventOrigin, Publication};
use crate::hub::publishers::FrameVerdict;

impl Conversation {
    /// Stamps the events of `publication`, folds them and gives them to the log. `now` is in milliseconds
    /// since 1970. Takes all events or none: on an error nothing has changed, except that events which were
    /// taken before are left out of `publication`.
    pub(crate) fn append(
        &self,
        publication: &mut Publication,
        now: u64,
        log: &dyn EventLog,
        redactor: Option<&Redactor>,
    ) -> Result<Appended, AppendError> {
        let appended = {
            let mut state = self.state.lock();
            if state.retired {
                return Err(AppendError::Retired);
            }
            if state.reserved {
                return Err(AppendError::Reserved);
            }
            if self.id.is_frozen() && !state.goes_on_with(&publication.by) {
                return Err(AppendError::Frozen);
            }
            if self.is_followed() {
                return Err(AppendError::Elsewhere);
            }
            if let Some(numbering) = &publication.numbering {
                match state.publishers.judge(numbering) {
                    // Events that were taken before are left out: a number is taken once.
                    FrameVerdict::Take { skip } => {
                        publication.events.drain(..skip.min(publication.events.len()));
                    }
                    FrameVerdict::Duplicate => {
                        state.attendance.is_back(publication.speaker, &numbering.publisher);
                        return Ok(self.duplicate(&state, publication, log));
                    }
                    // The next owner may have taken them.
                    FrameVerdict::Gap { .. } if !log.holds_lease() => return Err(AppendError::Unsure),
                    FrameVerdict::Gap { expected } => return Err(AppendError::Gap { expected }),
                    FrameVerdict::Fenced => return Err(AppendError::Fenced),
                }
            }
            state.refuse_forged(publication)?;
            publication.disbelieve();
            state.refuse_more(publication)?;
            let appended = match redactor {
                Some(redactor) => self.take_redacted(&mut state, publication, now, (log, redactor))?,
                None => self.take(&mut state, publication, now, log)?,
            };
            self.head.store(state.view.seq, Ordering::Release);
            appended
        };
        self.appended.notify_waiters();
        Ok(appended)
    }

    /// The answer to a frame that was taken before.
    fn duplicate(
        &self,
        state: &ConversationState,
        publication: &Publication,
        log: &dyn EventLog,
    ) -> Appended {
        // The first time may have asked for a lower level.
        let ticket =
            if publication.level >= Durability::Synced { log.sync().max(state.ticket) } else { state.ticket };
        Appended {
            position: self.position(state.view.seq),
            events: 0,
            bytes: 0,
            anomalies: 0,
            duplicate: true,
            ticket,
            withheld: state.withheld_of(publication),
        }
    }

    /// The position of `seq` in this epoch.
    pub(super) fn position(&self, seq: Seq) -> Position {
        Position { epoch: self.epoch.clone(), seq }
    }

    /// Appends events that nothing speaks against: gives each its seq, time and publisher, folds it, puts it
    /// into the ring, and gives all of them to the log in one piece.
    pub(super) fn take(
        &self,
        state: &mut ConversationState,
        publication: &mut Publication,
        now: u64,
        log: &dyn EventLog,
    ) -> Result<Appended, AppendError> {
        let before = self.position(state.view.seq);
        // Asked before anything changes: if the log refuses, nothing is left behind, and a repetition is no
        // duplicate.
        log.continues(&self.id, before.seq)?;
        let anomalies = state.view.anomalies.total;
        let kept = state.since_kept;
        let events = publication.events.len() as u64;
        // A clock that was set back must not make durations negative.
        state.clock = state.clock.max(state.at).max(now);
        if publication.events.iter().any(|envelope| envelope.event.kind.is_activity()) {
            state.at = state.clock;
        }
        // Of a copy nothing is found by the search.
        let mut entries = (log.indexes() && !self.id.is_frozen()).then(IndexEntries::default);
        let mut logged = state.copy_on(publication);
        logged.reserve(publication.events.len());
        for mut envelope in std::mem::take(&mut publication.events) {
            if let Some(numbering) = &publication.numbering {
                envelope.publisher = Some(numbering.publisher.clone());
            }
            // Whatever the sender claimed. Deltas do without it: their run says whose they are.
            envelope.by_hub =
                publication.by == EventOrigin::Hub && envelope.event.kind.class() == Class::Critical;
            logged.extend(state.hear(publication.speaker, &envelope));
            let Some(odd) = state.oddities(&mut envelope.event) else { continue };
            for event in odd.into_iter().flatten() {
                let odd = Envelope { event, seq: 0, ..envelope.clone() };
                logged.extend(state.add(odd, entries.as_mut()));
            }
            logged.extend(state.add(envelope, entries.as_mut()));
        }
        if state.attendance.wants_look() {
            self.unattended.store(true, Ordering::Relaxed);
        }
        let mark = publication.mark.take().or_else(|| {
            let copied = original::numbering(&publication.by);
            let numbering = publication.numbering.as_ref().or(copied.as_ref());
            numbering.map(|numbering| state.publishers.take(numbering))
        });
        if self.id.is_frozen() {
            // The original counts.
            state.measured.clear();
        }
        let IndexEntries { mut documents, calls } = entries.unwrap_or_default();
        let attachments = std::mem::take(&mut publication.attachments);
        lengthen(&mut documents, &logged, &attachments);
        let append = Append {
            mark,
            level: publication.level,
            documents,
            calls,
            measurements: std::mem::take(&mut state.measured),
            attachments,
            ..Append::of(&self.id, &before, &logged)
        };
        state.ticket = log.append(append)?;
        Ok(Appended {
            position: self.position(state.view.seq),
            events,
            bytes: state.since_kept.saturating_sub(kept) as u64,
            anomalies: state.view.anomalies.total - anomalies,
            duplicate: false,
            ticket: state.ticket,
            withheld: None,
        })
    }
}

impl ConversationState {
    /// Refuses a publication from outside if any of its events names a run of the hub's own agents.
    fn refuse_forged(&self, publication: &Publication) -> Result<(), AppendError> {
        if !self.has_own || publication.by != EventOrigin::Outside {
            return Ok(());
        }
        let is_own = |run: &&RunId| self.view.runs.get(*run).is_some_and(|run| run.own);
        let forged = publication.events.iter().map(|envelope| &envelope.event.run).find(is_own);
        forged.map_or(Ok(()), |run| Err(AppendError::RunOfHub { run: run.clone() }))
    }

    /// Refuses a publication from outside that would make the state larger when it already holds as much as
    /// it may. Events that only end something are taken, so that nothing stays open.
    fn refuse_more(&mut self, publication: &Publication) -> Result<(), AppendError> {
        if self.view_bytes < publication.room || publication.by != EventOrigin::Outside {
            return Ok(());
        }
        let grown = |envelope: &Envelope| grows(&envelope.event.kind, weigh(envelope)) > 0;
        if !publication.events.iter().any(grown) {
            return Ok(());
        }
        // The estimate still contains what was replaced since. Counting walks the whole view.
        if self.view_bytes.saturating_sub(self.counted_bytes) >= COUNTED_EVERY_BYTES {
            self.view_bytes = held(&self.view);
            self.counted_bytes = self.view_bytes;
        }
        let held = self.view_bytes;
        match held {
            held if held < publication.room => Ok(()),
            held if held < CONVERSATION_BYTES_MAX => {
                Err(AppendError::Crowded { held, room: publication.room })
            }
            held => Err(AppendError::Full { held }),
        }
    }

    /// What is odd about an event, to be logged before it, once what is too long in it was cut; `None` if the event is left out.
    fn oddities(&mut self, event: &mut Event) -> Option<[Option<Event>; 3]> {
        let RawVerdict::Take(said) = self.raw_budgets.judge(&self.view, event) else { return None };
        Some([said.map(|said| *said), bound(event), mismatch(&self.view, event)])
    }

    /// Stamps and folds one event; returns it if the log stores it. Ephemeral events are kept beside the ring
    /// and not logged.
    pub(super) fn add(
        &mut self,
        mut envelope: Envelope,
        entries: Option<&mut IndexEntries>,
    ) -> Option<Arc<Envelope>> {
        if envelope.producer_at.is_none() && envelope.at != 0 {
            envelope.producer_at = Some(envelope.at);
        }
        envelope.at = self.clock;
        if envelope.event.kind.class() == Class::Ephemeral {
            envelope.seq = 0;
            self.ephemera.put(Arc::new(envelope));
            return None;
        }
        envelope.seq = self.view.seq + 1;
        complete(&self.view, &mut envelope.event);
        self.effects.note(&self.view, &envelope, self.ring.begins_after());
        let before = CountedBefore::of(&self.view, &envelope.event);
        match entries {
            Some(entries) => fold_and_index(&mut self.view, &envelope, entries),
            None => fold(&mut self.view, &envelope, &mut |_| {}),
        }
        before.measure(&self.view, &envelope, &mut self.measured);
        self.has_own |= envelope.by_hub && matches!(envelope.event.kind, Kind::RunStart(_));
        if matches!(envelope.event.kind, Kind::RunEnd(_)) {
            self.ephemera.forget(&envelope.event.run);
        }
        let bytes = weigh(&envelope);
        self.since_kept = self.since_kept.saturating_add(bytes);
        self.view_bytes = self.view_bytes.saturating_add(grows(&envelope.event.kind, bytes));
        let envelope = Arc::new(envelope);
        self.ring.push(Arc::clone(&envelope), bytes);
        Some(envelope)
    }
}
