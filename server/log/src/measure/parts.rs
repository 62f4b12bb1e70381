//! Of which rows a question is answered: days wherever a whole day lies within one step, and hours around them.
//!
//! ```text
//! asked            ├──────────────── one step ────────────────┤
//! midnights    │       │       │       │       │       │       │
//! parts            hours├──────────── days ────────────┤hours
//! ```
//!
//! A month that begins and ends at any hour is 29 days and at most 46 hours, where it was 720 hours. Sums of days are those of their hours,
//! but that a day may have fewer names of its own (`MEASURES_PER_SPAN_MAX`); what is beyond them is among the others.

use super::{DAY_MS, HOUR_MS, MeasureQuery, MeasureSpan};

/// Hours of a day.
const DAY_HOURS: u64 = DAY_MS / HOUR_MS;

/// Consecutive spans of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MeasurePart {
    /// The length of each span.
    pub(crate) span: MeasureSpan,
    /// The number of the first one since 1970.
    pub(crate) first: u64,
    /// The number of the one after the last.
    pub(crate) end: u64,
}

impl MeasureQuery {
    /// The parts of its time, in order: none, or up to three. No part is empty.
    pub(crate) fn parts(&self) -> Vec<MeasurePart> {
        let (from, to) = (self.from / HOUR_MS, self.to.div_ceil(HOUR_MS));
        let (first_day, end_day) = (from.div_ceil(DAY_HOURS), to / DAY_HOURS);
        let hours = |first, end| MeasurePart { span: MeasureSpan::Hour, first, end };
        let parts = if self.has_whole_days() && first_day < end_day {
            let days = MeasurePart { span: MeasureSpan::Day, first: first_day, end: end_day };
            vec![hours(from, first_day * DAY_HOURS), days, hours(end_day * DAY_HOURS, to)]
        } else {
            vec![hours(from, to)]
        };
        parts.into_iter().filter(|part| part.first < part.end).collect()
    }

    /// Whether all of its time is one step.
    pub(crate) fn is_one_step(&self) -> bool {
        self.to.saturating_sub(self.from) <= self.step_ms
    }

    /// Whether no step ends within a day of UTC: there is one step alone, or steps are days that begin at midnight.
    fn has_whole_days(&self) -> bool {
        self.is_one_step() || (self.from.is_multiple_of(DAY_MS) && self.step_ms.is_multiple_of(DAY_MS))
    }

    /// Since when all that it asks for is counted, in milliseconds since 1970: `since` where days are read, and not before `hours_since`
    /// where hours are.
    pub(crate) fn counted_since(&self, since: u64, hours_since: u64) -> u64 {
        let parts = self.parts().into_iter().filter(|part| part.span == MeasureSpan::Hour);
        let missing = parts.filter(|part| part.first.saturating_mul(HOUR_MS) < hours_since);
        let ends = missing.map(|part| part.end.saturating_mul(HOUR_MS).min(hours_since));
        ends.max().unwrap_or(0).max(since)
    }
}

#[cfg(test)]
mod tests {
    //! Tests which rows are read for which time.

    use std::collections::BTreeSet;

    use super::*;

    const MIDNIGHT: u64 = 20_000 * DAY_MS;

    fn query(from: u64, to: u64, step_ms: u64) -> MeasureQuery {
        MeasureQuery { metrics: Vec::new(), from, to, step_ms, by: BTreeSet::new() }
    }

    fn parts(from: u64, to: u64, step_ms: u64) -> Vec<(MeasureSpan, u64, u64)> {
        let parts = query(from, to, step_ms).parts().into_iter();
        let of_hour = |number: u64, span: MeasureSpan| number * span.ms() / HOUR_MS - MIDNIGHT / HOUR_MS;
        parts.map(|it| (it.span, of_hour(it.first, it.span), of_hour(it.end, it.span))).collect()
    }

    #[test]
    fn days_are_read_where_they_lie_within_a_step_and_hours_around_them() {
        use MeasureSpan::{Day, Hour};
        let (noon, month) = (MIDNIGHT + 12 * HOUR_MS, 30 * DAY_MS);
        let all = [(Hour, 12, 24), (Day, 24, 720), (Hour, 720, 732)];
        assert_eq!(parts(noon, noon + month, month), all, "one step");
        assert_eq!(parts(noon + 1, noon + month, 2 * month), all, "a time inside of an hour is all of it");
        assert_eq!(parts(noon, noon + month, 7 * DAY_MS), [(Hour, 12, 732)], "steps that end at noon");
        assert_eq!(parts(MIDNIGHT, MIDNIGHT + month, HOUR_MS), [(Hour, 0, 720)]);
        assert_eq!(parts(MIDNIGHT, MIDNIGHT + month, DAY_MS), [(Day, 0, 720)]);
        assert_eq!(
            parts(MIDNIGHT, MIDNIGHT + DAY_MS + 5 * HOUR_MS, DAY_MS),
            [(Day, 0, 24), (Hour, 24, 29)],
            "the last step is not over"
        );
        assert_eq!(parts(noon, noon + 6 * HOUR_MS, DAY_MS), [(Hour, 12, 18)], "no whole day");
        assert_eq!(parts(noon, noon, DAY_MS), []);
        assert_eq!(parts(noon, MIDNIGHT, DAY_MS), [], "it ends before it begins");
    }

    #[test]
    fn what_is_missing_is_said_up_to_where_days_are_read() {
        let noon = MIDNIGHT + 12 * HOUR_MS;
        let (end, hours_since) = (noon + 300 * DAY_MS, noon + 200 * DAY_MS);
        let month = query(noon, end, end - noon);
        assert_eq!(month.counted_since(0, hours_since), MIDNIGHT + DAY_MS, "the first half day has no hours");
        assert_eq!(query(noon, end, HOUR_MS).counted_since(0, hours_since), hours_since);
        assert_eq!(query(MIDNIGHT, end, DAY_MS).counted_since(7, hours_since), 7);
        assert_eq!(query(hours_since, end, HOUR_MS).counted_since(7, hours_since), 7);
    }
}
