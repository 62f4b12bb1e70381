//! Which part of time is looked at, and the marks of its axis. All in milliseconds from the first moment.

use super::float;
use crate::format;
use crate::number::within;

/// The shortest part of time that can be looked at, in milliseconds.
const SHORTEST_MS: f64 = 20.0;

/// Between two marks of the axis, at least, in pixels.
const TICK_PX: f64 = 88.0;

/// What is looked at: everything, growing as it grows, or a part that stays.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scale {
    part: Option<(f64, f64)>,
}

impl Scale {
    /// Where the looked-at part begins and how long it is, when everything is `whole` long.
    pub fn window(self, whole: u64) -> (f64, f64) {
        let whole = float(whole.max(1));
        match self.part {
            None => (0.0, whole),
            Some((from, span)) => {
                let span = span.min(whole);
                (within(from, 0.0, whole - span), span)
            }
        }
    }

    /// Whether everything is looked at.
    pub fn is_fit(self) -> bool {
        self.part.is_none()
    }

    /// Shows the whole span of time.
    pub fn fit(&mut self) {
        self.part = None;
    }

    /// Makes the looked-at part `factor` times as long; what stands at `at` (from 0 to 1) of it stays there.
    pub fn zoom(&mut self, whole: u64, at: f64, factor: f64) {
        let (from, span) = self.window(whole);
        let next = (span * factor).max(SHORTEST_MS.min(float(whole.max(1))));
        if next >= float(whole.max(1)) {
            self.fit();
        } else {
            let next_from = within(from + span * at - next * at, 0.0, float(whole) - next);
            self.part = Some((next_from, next));
        }
    }

    /// Moves the looked-at part by `by` of its length.
    pub fn pan(&mut self, whole: u64, by: f64) {
        if self.part.is_some() {
            let (from, span) = self.window(whole);
            self.part = Some((within(from + span * by, 0.0, float(whole.max(1)) - span), span));
        }
    }

    /// The place at `at` (from 0 to 1) of the looked-at part.
    pub fn place(self, whole: u64, at: f64) -> u64 {
        let (from, span) = self.window(whole);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the whole")]
        let place = (from + span * within(at, 0.0, 1.0)).max(0.0).round() as u64;
        place.min(whole)
    }
}

/// A mark of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where it stands, from 0 to 1.
    pub at: f64,
    /// What it says.
    pub label: String,
}

/// Between marks, in milliseconds.
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

/// The marks of an axis that is `width` pixels wide and shows `span` milliseconds from `from` on.
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
