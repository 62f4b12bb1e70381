//! The visible part of time, and the ticks of its axis. Times are in milliseconds since the first moment.
//!
//! ```text
//! 0 ─────────┬──────────────────┬───────── whole        window() = (from, span)
//!            from            from + span                 zoom changes span, pan changes from
//!
//! Everything   0 to whole      grows
//! Part         stays
//! Since        from to whole   a run that goes on, fitted
//! Latest       the last span   follows the present
//! ```

use super::float;
use crate::format;
use crate::number::within;

/// The shortest visible part of time, in milliseconds.
const SHORTEST_MS: f64 = 20.0;

/// The smallest distance of two ticks, in CSS pixels.
const TICK_PX: f64 = 88.0;

/// The longest part that is shown when the present is first followed, in milliseconds.
const FOLLOWED_MS: f64 = 60_000.0;

/// The space before and after what is fitted, as a part of its length.
const MARGIN: f64 = 0.02;

/// The part of time that is visible. Places are in milliseconds of the time line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Seen {
    /// Everything, growing with it.
    #[default]
    Everything,
    /// A part that stays: its beginning and its length.
    Part(f64, f64),
    /// Everything from a place on.
    Since(f64),
    /// The latest part of this length.
    Latest(f64),
}

/// The visible part of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scale {
    seen: Seen,
}

impl Scale {
    /// The beginning and the length of the visible part, if everything is `whole` long.
    pub fn window(self, whole: u64) -> (f64, f64) {
        let whole = float(whole.max(1));
        match self.seen {
            Seen::Everything => (0.0, whole),
            Seen::Part(from, span) => {
                let span = span.min(whole);
                (within(from, 0.0, whole - span), span)
            }
            Seen::Since(from) => {
                let from = within(from, 0.0, whole - SHORTEST_MS.min(whole));
                (from, whole - from)
            }
            Seen::Latest(span) => {
                let span = span.min(whole);
                (whole - span, span)
            }
        }
    }

    /// Whether everything is visible.
    pub fn is_fit(self) -> bool {
        self.seen == Seen::Everything
    }

    /// Whether the latest part is shown, so that it moves with time.
    pub fn follows(self) -> bool {
        matches!(self.seen, Seen::Latest(_))
    }

    /// Makes the whole span visible.
    pub fn fit(&mut self) {
        self.seen = Seen::Everything;
    }

    /// Shows the latest part, as long as the visible one, or a minute if that is everything.
    pub fn follow(&mut self, whole: u64) {
        let span = if self.is_fit() { FOLLOWED_MS } else { self.window(whole).1 };
        self.seen = Seen::Latest(span);
    }

    /// Shows the part from `from` to `to`; without an end, all from there on. If that is everything, it grows.
    pub fn show(&mut self, whole: u64, from: u64, to: Option<u64>) {
        let (from, all) = (float(from), float(whole.max(1)));
        let span = to.map_or(all - from, |to| float(to) - from).max(SHORTEST_MS.min(all));
        let begin = (from - span * MARGIN).max(0.0);
        let is_long = span * (1.0 + 2.0 * MARGIN) >= all;
        self.seen = match to {
            _ if begin <= 0.0 && is_long => Seen::Everything,
            None => Seen::Since(begin),
            Some(_) => Seen::Part(begin, (span * (1.0 + 2.0 * MARGIN)).min(all)),
        };
    }

    /// Changes the length of the visible part by `factor`. The point at `at` (from 0 to 1) keeps its place; while the
    /// present is followed, the present does. A part that would be as long as everything becomes everything, which grows
    /// again.
    pub fn zoom(&mut self, whole: u64, at: f64, factor: f64) {
        let (from, span) = self.window(whole);
        let next = (span * factor).max(SHORTEST_MS.min(float(whole.max(1))));
        if self.follows() {
            self.seen = Seen::Latest(next.min(float(whole.max(1))));
        } else if next >= float(whole.max(1)) {
            self.fit();
        } else {
            let next_from = within(from + span * at - next * at, 0.0, float(whole) - next);
            self.seen = Seen::Part(next_from, next);
        }
    }

    /// Moves the visible part by `by` of its length. Has no effect if everything is visible; ends the following.
    pub fn pan(&mut self, whole: u64, by: f64) {
        if !self.is_fit() {
            let (from, span) = self.window(whole);
            self.seen = Seen::Part(within(from + span * by, 0.0, float(whole.max(1)) - span), span);
        }
    }

    /// Moves the visible part so that `place` is in its middle. Has no effect if everything is visible.
    pub fn center(&mut self, whole: u64, place: u64) {
        let (from, span) = self.window(whole);
        self.pan(whole, (float(place) - from - span / 2.0) / span.max(1e-6));
    }

    /// The time at `at` (from 0 to 1) of the visible part.
    pub fn place(self, whole: u64, at: f64) -> u64 {
        let (from, span) = self.window(whole);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the whole")]
        let place = (from + span * within(at, 0.0, 1.0)).max(0.0).round() as u64;
        place.min(whole)
    }
}

/// A tick of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The place on the axis, from 0 to 1.
    pub at: f64,
    /// The label of the tick.
    pub label: String,
}

/// The possible distances of ticks, in milliseconds.
const STEPS: [u64; 29] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    28_800_000,
    86_400_000,
    172_800_000,
    604_800_000,
    2_592_000_000,
];

/// The ticks of an axis of `width` CSS pixels that shows `span` milliseconds from `from` on. They are at
/// least `TICK_PX` apart and at most 64.
pub fn ticks(from: f64, span: f64, width: f64) -> Vec<Tick> {
    let wanted = span * TICK_PX / width.max(TICK_PX);
    let step = STEPS.into_iter().find(|step| float(*step) >= wanted).unwrap_or(31_536_000_000);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, below 2^53")]
    let mut place = (from.max(0.0) / float(step)).ceil() as u64 * step;
    let mut ticks = Vec::new();
    while float(place) <= from + span && ticks.len() < 64 {
        ticks.push(Tick { at: (float(place) - from) / span.max(1e-6), label: label(place, step) });
        place = place.saturating_add(step);
    }
    ticks
}

/// The label of a tick, as precise as `step` requires.
fn label(place: u64, step: u64) -> String {
    match (place, step) {
        (0, _) => "0".to_owned(),
        (_, 1..1_000) if place < 1_000 => format!("{place} ms"),
        (_, 1..1_000) => {
            let (seconds, rest) = (place / 1_000, place % 1_000);
            let digits = if step >= 100 { format!("{}", rest / 100) } else { format!("{rest:03}") };
            format!("{seconds}.{digits} s")
        }
        _ => format::clock(place),
    }
}
