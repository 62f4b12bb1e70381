//! A history that comes from elsewhere: its events keep their seqs, times and publishers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{
    Append, AppendError, Conversation, EventLog, Gleaned, Ring, State, Ticket, fold, fold_and_glean,
    lengthen, weigh,
};
use crate::hub::import::History;

/// Events that the log is given at once.
const PAGE: usize = 1_000;

impl Conversation {
    /// Takes `history`, when nothing was ever said here. False when something was.
    pub(in crate::hub) fn import(
        &self,
        history: &mut History,
        log: &dyn EventLog,
    ) -> Result<Option<Ticket>, AppendError> {
        {
            let mut state = self.state.lock();
            if state.retired {
                return Err(AppendError::Retired);
            }
            if state.view.seq > 0 {
                return Ok(None);
            }
            if let Some((view, at)) = history.state.take() {
                state.ring = Ring::after_seq(view.seq);
                (state.view, state.at) = (view, at);
            }
            self.take_history(&mut state, history, log)?;
            self.head.store(state.view.seq, Ordering::Release);
        }
        // With the state, so that a log that has no events before it can give it back.
        let kept = self.keep(log);
        // Seldom enough to be written as carefully as can be, whatever is asked for.
        let ticket = log.sync().max(kept);
        self.moved.notify_waiters();
        Ok(Some(ticket))
    }

    fn take_history(
        &self,
        state: &mut State,
        history: &mut History,
        log: &dyn EventLog,
    ) -> Result<(), AppendError> {
        let mut attachments = std::mem::take(&mut history.attachments);
        let mut envelopes = std::mem::take(&mut history.envelopes).into_iter().map(Arc::new).peekable();
        while envelopes.peek().is_some() {
            let before = self.position(state.view.seq);
            let page: Vec<_> = envelopes.by_ref().take(PAGE).collect();
            let mut gleaned = Gleaned::default();
            for envelope in &page {
                state.at = state.at.max(envelope.at);
                state.marks.note(&state.view, envelope, state.ring.begins_after());
                if log.indexes() {
                    fold_and_glean(&mut state.view, envelope, &mut gleaned);
                } else {
                    fold(&mut state.view, envelope, &mut |_| {});
                }
                state.ring.push(Arc::clone(envelope), weigh(envelope));
            }
            let Gleaned { mut documents, calls } = gleaned;
            let attachments = std::mem::take(&mut attachments);
            lengthen(&mut documents, &page, &attachments);
            let append = Append { documents, calls, attachments, ..Append::of(&self.id, &before, &page) };
            state.ticket = log.append(append)?;
        }
        Ok(())
    }

    /// The state, and when its newest event was taken, in milliseconds since 1970.
    pub(crate) fn state(&self) -> (shared::View, u64) {
        let state = self.state.lock();
        (state.view.clone(), state.at)
    }
}
