//! The budget of raw events in the log. They change nothing in a view once its own budget is used up, so without one here a run could make
//! the log, and each export, larger without end. The budget is that of views, [`RAW_BYTES_PER_RUN_MAX`], and the view says where it is used
//! up, so a restarted hub and the next owner know it too:
//!
//! ```text
//! whole ──the log was given the budget──▶ the first 64 KiB of each ──the view has counted the budget──▶ left out and counted
//!                                                                        anomaly `too_many`, once         anomaly at the end of the run
//! ```
//!
//! A view counts of each event what it keeps, at most [`NOTE_BYTES_MAX`] bytes. So of one run the log gets at most twice the budget
//! and one event more.

use std::collections::BTreeMap;

use model::anomaly::{Anomaly, AnomalyCode};
use model::event::Kind;
use model::fold::{cut_raw, raw_bytes};
use model::limits::{NOTE_BYTES_MAX, RAW_BYTES_PER_RUN_MAX};
use model::{Event, RunId, View};

use crate::tally::TALLY;

/// What the runs of one conversation have spent since it came into memory. It has an entry for each run of the view that had raw events and
/// has not ended since.
#[derive(Debug, Default)]
pub(super) struct RawBudgets {
    runs: BTreeMap<RunId, RawSpending>,
}

/// The raw events of one run.
#[derive(Debug, Default)]
struct RawSpending {
    /// Bytes of their values that went to the log.
    logged_bytes: u64,
    /// The number of raw events that were left out.
    left_out: u64,
    /// Bytes of the values of those.
    left_out_bytes: u64,
}

/// The decision about a raw event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RawVerdict {
    /// The event is taken, perhaps after an anomaly that says what was cut or left out.
    Take(Option<Box<Event>>),
    /// The event is counted and left out.
    LeaveOut,
}

impl RawBudgets {
    /// Decides what becomes of `event`, and cuts it if only its beginning is taken. `view` is the view before the event. Events
    /// that are not raw are taken; the end of a run comes with what was left out of it.
    pub(super) fn judge(&mut self, view: &View, event: &mut Event) -> RawVerdict {
        if matches!(event.kind, Kind::RunEnd(_)) {
            let report = self.runs.remove(&event.run).and_then(|spent| spent.report(&event.run));
            return RawVerdict::Take(report.map(Box::new));
        }
        let Some(bytes) = raw_bytes(&event.kind) else { return RawVerdict::Take(None) };
        let known = view.runs.get(&event.run);
        let counted = known.map_or(0, |run| run.raw_bytes);
        if known.is_none() && view.full {
            // The view has no room for the run and said so.
            return RawVerdict::Take(None);
        }
        let spent = self.runs.entry(event.run.clone()).or_default();
        if counted > RAW_BYTES_PER_RUN_MAX {
            spent.left_out += 1;
            spent.left_out_bytes = spent.left_out_bytes.saturating_add(bytes);
            TALLY.raw_left_out.one();
            return RawVerdict::LeaveOut;
        }
        let logged = spent.logged_bytes.max(counted).saturating_add(bytes);
        if logged <= RAW_BYTES_PER_RUN_MAX || bytes <= NOTE_BYTES_MAX as u64 {
            spent.logged_bytes = logged;
            return RawVerdict::Take(None);
        }
        // The budget stays used up: of the next long one only the beginning is taken too.
        spent.logged_bytes = RAW_BYTES_PER_RUN_MAX;
        cut_raw(event);
        let detail = format!(
            "raw event: {bytes} bytes, the limit is {NOTE_BYTES_MAX} since those of {} have {RAW_BYTES_PER_RUN_MAX}",
            event.run
        );
        RawVerdict::Take(Some(Box::new(anomaly(&event.run, AnomalyCode::TooLarge, detail))))
    }
}

impl RawSpending {
    /// Says what was left out of `run`, if anything was.
    fn report(&self, run: &RunId) -> Option<Event> {
        let Self { left_out, left_out_bytes, .. } = self;
        let detail = || {
            format!(
                "raw events of {run} over {RAW_BYTES_PER_RUN_MAX} bytes: {left_out} with {left_out_bytes} bytes were left out"
            )
        };
        (*left_out > 0).then(|| anomaly(run, AnomalyCode::TooMany, detail()))
    }
}

/// An event that says something odd of `run`.
fn anomaly(run: &RunId, code: AnomalyCode, detail: String) -> Event {
    Event::new(run, Kind::Anomaly(Anomaly { code, detail }))
}

#[cfg(test)]
mod tests;
