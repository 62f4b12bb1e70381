//! What is drawn of the lanes: rectangles and texts of the visible part, ready for a canvas. Their number depends on the
//! pixels of the box and not on the number of steps: what would fall on pixels that are drawn already is left out.

use super::bars::{Fill, Tone};
use super::lanes::{LANE_PX, Lanes, work_of};
use super::rows::Key;
use super::shares::Work;
use super::squeeze::Squeeze;
use super::{Bar, float};

/// The least width of a bar, in CSS pixels.
const BAR_PX: f64 = 1.5;

/// The height of a bar, in CSS pixels; the rest of its lane is space, and the mark of the critical path.
const BAR_HIGH_PX: f64 = 12.0;

/// The width of a letter of a label, in CSS pixels.
const LETTER_PX: f64 = 6.2;

/// The least width of a bar that has a label, in CSS pixels.
const LABEL_PX: f64 = 34.0;

/// A rectangle. Places are in CSS pixels of the box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The left edge of the rectangle.
    pub x: f64,
    /// The upper edge of the rectangle.
    pub y: f64,
    /// The width of the rectangle.
    pub wide: f64,
    /// The height of the rectangle.
    pub high: f64,
    /// The fill of the rectangle.
    pub fill: Fill,
    /// The colour; `None` for the marks of the critical path and of the chosen step.
    pub tone: Option<Tone>,
}

/// The name of a step in its bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// The left edge of the label, in CSS pixels of the box.
    pub x: f64,
    /// The middle of the label's line, in CSS pixels of the box.
    pub y: f64,
    /// The name, with as many letters as there is room for.
    pub text: String,
    /// The fill of the bar that it stands on.
    pub fill: Fill,
}

/// The marks and labels that are drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// The rectangles; later ones are above.
    pub marks: Vec<Mark>,
    /// The labels of the bars.
    pub labels: Vec<Label>,
    /// How many steps are drawn at least in part.
    pub steps: usize,
}

/// The box that shows a part of the lanes, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneBox {
    /// The width of the box, in CSS pixels.
    pub width: f64,
    /// The height of the box, in CSS pixels.
    pub height: f64,
    /// How far it is scrolled, in CSS pixels.
    pub top: f64,
    /// The beginning and the length of the visible part of time, in milliseconds of the time line.
    pub window: (f64, f64),
    /// The present, in milliseconds since 1970.
    pub now: u64,
}

impl LaneBox {
    /// The x coordinate of a moment.
    fn x(&self, squeeze: &Squeeze, at: u64) -> f64 {
        (float(squeeze.place(at)) - self.window.0) / self.window.1.max(1e-6) * self.width
    }
}

/// What is drawn of `lanes` in `area`. `is_critical` says which steps are on the critical path, `chosen` is the step that the reader
/// chose; `name` gives the name of a step.
pub fn picture(
    lanes: &Lanes,
    area: &LaneBox,
    squeeze: &Squeeze,
    is_critical: impl Fn(&Key) -> bool,
    chosen: Option<&Key>,
    name: impl Fn(&Key) -> String,
) -> Picture {
    let mut picture = Picture::default();
    for group in &lanes.groups {
        if group.bottom() < area.top || group.top > area.top + area.height {
            continue;
        }
        for (from, to) in &group.lives {
            let y = group.lane_top(0) - area.top - 3.0;
            let bar = Bar { from: *from, to: *to, fill: Fill::Thin, tone: Tone::Gone };
            picture.marks.extend(mark(area, squeeze, &bar, y, 1.0));
        }
        // Where the last bar of a lane ended: one that ends on the same pixel is not seen.
        let mut drawn: Vec<f64> = vec![f64::MIN; group.lanes];
        for step in &group.steps {
            let y = group.lane_top(step.lane) - area.top;
            if y + LANE_PX < 0.0 || y > area.height {
                continue;
            }
            let is_chosen = chosen == Some(&step.key);
            let is_first = picture.marks.len();
            for bar in &step.bars {
                let Some(mark) = mark(area, squeeze, bar, y + 1.0, BAR_HIGH_PX) else { continue };
                let edge = drawn.get(step.lane).copied().unwrap_or(f64::MIN);
                let (right, is_wide) = (mark.x + mark.wide, mark.wide > BAR_PX);
                if !is_chosen && !is_wide && right <= edge.ceil() {
                    continue;
                }
                if let Some(edge) = drawn.get_mut(step.lane) {
                    *edge = edge.max(right);
                }
                picture.marks.push(mark);
            }
            let Some(first) = picture.marks.get(is_first).copied() else { continue };
            picture.steps = picture.steps.saturating_add(1);
            let widest = picture
                .marks
                .iter()
                .skip(is_first)
                .copied()
                .reduce(|a, b| if b.wide > a.wide { b } else { a });
            let end = picture.marks.last().map_or(first.x, |last| last.x + last.wide);
            if let Some(widest) = widest.filter(|widest| widest.wide >= LABEL_PX) {
                picture.labels.push(label(widest, &name(&step.key)));
            }
            let line =
                |y, high| Mark { x: first.x, y, wide: end - first.x, high, fill: Fill::Solid, tone: None };
            if is_critical(&step.key) {
                picture.marks.push(line(y + BAR_HIGH_PX + 1.0, 2.0));
            }
            if is_chosen {
                picture.marks.extend([line(y, 1.0), line(y + BAR_HIGH_PX + 1.0, 1.0)]);
            }
        }
    }
    picture
}

/// The rectangle of a bar, cut to the box; `None` if it is outside.
fn mark(area: &LaneBox, squeeze: &Squeeze, bar: &Bar, y: f64, high: f64) -> Option<Mark> {
    let left = area.x(squeeze, bar.from);
    let right = area.x(squeeze, bar.to.unwrap_or(area.now).max(bar.from)).max(left + BAR_PX);
    if right < 0.0 || left > area.width {
        return None;
    }
    let (left, right) = (left.max(0.0), right.min(area.width));
    Some(Mark { x: left, y, wide: (right - left).max(0.0), high, fill: bar.fill, tone: Some(bar.tone) })
}

/// The beginning of `name` in a bar.
fn label(bar: Mark, name: &str) -> Label {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "letters of a line")]
    let room = ((bar.wide - 6.0) / LETTER_PX).max(0.0) as usize;
    let text = name.chars().take(room).collect();
    Label { x: bar.x + 3.0, y: bar.y + bar.high / 2.0, text, fill: bar.fill }
}

/// What each of `columns` columns of the map shows: what most weighs of all that goes on there, as in
/// [`Shares`](super::Shares); `None` where nothing does. The map shows `whole` milliseconds.
pub fn map(lanes: &Lanes, squeeze: &Squeeze, whole: u64, columns: usize, now: u64) -> Vec<Option<Work>> {
    // How many of each begin and end at a column.
    let mut edges = vec![[0_i64; 4]; columns.saturating_add(1)];
    let column = |at: u64| {
        let column = u128::from(squeeze.place(at)) * columns as u128 / u128::from(whole.max(1));
        usize::try_from(column).unwrap_or(usize::MAX).min(columns)
    };
    for bar in lanes.steps().flat_map(|step| &step.bars) {
        let from = column(bar.from).min(columns.saturating_sub(1));
        let to = column(bar.to.unwrap_or(now).max(bar.from)).max(from.saturating_add(1));
        let work = work_of(bar) as usize;
        for (at, by) in [(from, 1), (to.min(columns), -1)] {
            if let Some(count) = edges.get_mut(at).and_then(|edge| edge.get_mut(work)) {
                *count += by;
            }
        }
    }
    let mut open = [0_i64; 4];
    let weighs = |edge: &[i64; 4]| {
        open.iter_mut().zip(edge).for_each(|(open, by)| *open += by);
        let order = [Work::Tool, Work::Model, Work::Person, Work::Waiting];
        order.into_iter().find(|work| open.get(*work as usize).is_some_and(|count| *count > 0))
    };
    edges.iter().take(columns).map(weighs).collect()
}
