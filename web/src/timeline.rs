//! The waterfall of a conversation: its rows, their bars, and the visible part of time. It does not use the
//! browser; the page draws it, and only the visible rows.
//!
//! Bars are given in milliseconds since the first moment of the conversation. The page places them with two
//! numbers for all rows together (the beginning and the length of the visible part), so that zooming and the
//! passing of time change no row.
//!
//! The same steps are shown in two ways: as rows, one for each step, or in lanes that are packed per agent.
//!
//! Reading order: `rows` → `bars` → `squeeze` (left-out pauses) → `scale` (the visible part and the axis);
//! `lanes` → `pack` → `picture` (what is drawn of them); `shares` and `critical` sum a run up; `drawer` is the height.

use std::collections::HashSet;

use model::{RunId, View};

mod bars;
mod critical;
mod drawer;
mod lanes;
mod pack;
mod picture;
mod rows;
mod scale;
mod shares;
mod squeeze;

pub use bars::{Bar, Face, Fill, Tone, face, name};
pub use critical::{PathStep, critical_path, path_ms};
pub use drawer::Drawer;
pub use lanes::{Direction, HEAD_PX, LANE_PX, LaneGroup, LaneStep, Lanes, work, work_of};
pub use pack::pack;
pub use picture::{Label, LaneBox, Mark, Picture, map, picture};
pub use rows::{Key, Row, rows, visible};
pub use scale::{Scale, Tick, ticks};
pub use shares::{Shares, Work, WorkSpan};
pub use squeeze::{Extent, Squeeze, extent};

/// Milliseconds as a floating-point number.
pub fn float(ms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let float = ms as f64;
    float
}

/// A run summed up: what its time was spent on, and its critical path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The beginning and the end, in milliseconds since 1970; the present while it goes on.
    pub span: (u64, u64),
    /// What its time was spent on.
    pub shares: Shares,
    /// How long the steps of its critical path take together, in milliseconds.
    pub path_ms: u64,
    /// The steps of its critical path.
    pub path: HashSet<Key>,
}

/// Sums up the run `id`, as it is at `now`; `None` if the view does not have it.
pub fn summary(view: &View, lanes: &Lanes, id: &RunId, now: u64) -> Option<Summary> {
    let run = view.runs.get(id)?;
    let from = run.started_at;
    let to = run.ended_at.filter(|_| !run.is_running()).or(bars::stalled(run)).unwrap_or(now).max(from);
    let steps: Vec<&LaneStep> = lanes.steps().filter(|step| step.run() == id).collect();
    let spans: Vec<(u64, u64)> =
        steps.iter().map(|step| step.span()).map(|(a, b)| (a, b.unwrap_or(now))).collect();
    let path = critical_path(&spans, from, to);
    let shares = Shares::of(&work(steps.iter().copied(), now), from, to);
    let keys = path.iter().filter_map(|step| steps.get(step.at).map(|step| step.key.clone())).collect();
    Some(Summary { span: (from, to), shares, path_ms: path_ms(&path), path: keys })
}

#[cfg(test)]
mod tests;
