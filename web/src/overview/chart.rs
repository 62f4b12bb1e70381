//! Bars and lines as numbers between 0 and 100 of a square: the page stretches it to whatever room there is.
//!
//! ```text
//!   0 ┌───────────── top      y grows downwards, x to the right, both from 0 to 100
//!     │   ▇     ·
//!     │ ▇ ▇ ▇   ·  ╲╱         bars: 80 % of the width of their step, one line on the other
//! 100 └─────────────  0       lines: a point in the middle of each step, broken where there is no number
//! ```
//!
//! Nothing here knows the browser: the same numbers are tested natively.

use super::figures::{Shape, Unit};
use crate::format;

/// Most lines that have a colour of their own; the others are one.
pub const COLOURS: usize = 8;

/// A line to be drawn: of a chart with bars, the parts of one colour.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChartLine {
    /// What the legend calls it; empty if the panel shows only one thing.
    pub name: String,
    /// A number for each step, in the panel's unit; `None` where nothing was measured.
    pub values: Vec<Option<i64>>,
}

/// The part of one line in the bar of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// The index of the line, which chooses the colour.
    pub line: usize,
    /// The index of the step.
    pub step: usize,
    /// The left edge, from the left.
    pub x: f64,
    /// The upper edge, from above.
    pub y: f64,
    /// The width of the bar.
    pub width: f64,
    /// The height of the bar.
    pub height: f64,
}

/// A picture of some lines, in a square of 100 by 100.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// The number at the upper edge: the highest value, rounded up to one that reads well. At least 1.
    pub top: i64,
    /// Parts of bars; empty if the shape is lines. What is 0 has no part.
    pub bars: Vec<Bar>,
    /// Paths as SVG writes them, each with the index of its line; empty if the shape is bars.
    pub paths: Vec<(usize, String)>,
}

/// At most [`COLOURS`] lines. Those that have no colour of their own are added up to one line of bars, called
/// "7 others"; percentiles cannot be added and are left out.
pub fn reduced(mut lines: Vec<ChartLine>, shape: Shape) -> Vec<ChartLine> {
    if lines.len() <= COLOURS {
        return lines;
    }
    let rest = lines.split_off(COLOURS - 1);
    if shape == Shape::Bars {
        let steps = rest.iter().map(|line| line.values.len()).max().unwrap_or(0);
        let sum = |step: usize| {
            let of = rest.iter().filter_map(|line| line.values.get(step).copied().flatten());
            Some(of.fold(0_i64, i64::saturating_add))
        };
        lines.push(ChartLine {
            name: format!("{} others", rest.len()),
            values: (0..steps).map(sum).collect(),
        });
    }
    lines
}

/// The picture of `lines`. Lines may differ in their number of steps; the longest one counts. Values below 0
/// are drawn as 0.
pub fn chart(lines: &[ChartLine], shape: Shape, unit: Unit) -> Chart {
    let steps = lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
    let at =
        |line: &ChartLine, step: usize| line.values.get(step).copied().flatten().map(|value| value.max(0));
    let highest = match shape {
        Shape::Bars => (0..steps)
            .map(|step| lines.iter().filter_map(|line| at(line, step)).fold(0_i64, i64::saturating_add))
            .max(),
        Shape::Lines => lines.iter().flat_map(|line| (0..steps).filter_map(|step| at(line, step))).max(),
    };
    let top = rounded_up(highest.unwrap_or(0).max(1), unit);
    #[expect(clippy::cast_precision_loss, reason = "a picture needs no more than a few digits")]
    let part = |value: i64| value as f64 / top as f64 * 100.0;
    #[expect(clippy::cast_precision_loss, reason = "there are few steps")]
    let (width, left) =
        (100.0 / steps.max(1) as f64, |step: usize| step as f64 * 100.0 / steps.max(1) as f64);
    let mut chart = Chart { top, ..Chart::default() };
    match shape {
        Shape::Bars => {
            for step in 0..steps {
                let mut below = 0.0;
                for (line, drawn) in lines.iter().enumerate() {
                    let height = part(at(drawn, step).unwrap_or(0));
                    below += height;
                    if height > 0.0 {
                        let (x, y) = (left(step) + width * 0.1, 100.0 - below);
                        chart.bars.push(Bar { line, step, x, y, width: width * 0.8, height });
                    }
                }
            }
        }
        Shape::Lines => {
            for (line, drawn) in lines.iter().enumerate() {
                let mut path = String::new();
                let mut is_down = false;
                for step in 0..steps {
                    let Some(value) = at(drawn, step) else {
                        is_down = false;
                        continue;
                    };
                    let (x, y) = (left(step) + width / 2.0, 100.0 - part(value));
                    // A step alone between two without a number is a short stroke: a point would not be seen.
                    let is_alone =
                        !is_down && step.checked_add(1).is_none_or(|next| at(drawn, next).is_none());
                    let word = if is_down { 'L' } else { 'M' };
                    path.push_str(&point(word, x, y));
                    if is_alone {
                        path.push_str(&stroke(width * 0.4));
                    }
                    is_down = true;
                }
                if !path.is_empty() {
                    chart.paths.push((line, path));
                }
            }
        }
    }
    chart
}

/// A command of an SVG path: `M` moves to the point, `L` draws to it.
fn point(word: char, x: f64, y: f64) -> String {
    format!("{word}{x:.2} {y:.2}")
}

/// A command of an SVG path that draws `width` to the right.
fn stroke(width: f64) -> String {
    format!("h{width:.2}")
}

/// The next number that reads well at the edge of a picture: 1, 2, 4, 5 or 8 with zeros behind it; of times
/// above a second, whole seconds, minutes or hours, up to a day. If none fits below `i64::MAX`, it is
/// `value`.
fn rounded_up(value: i64, unit: Unit) -> i64 {
    const MINUTE: i64 = 60_000;
    if unit == Unit::Ms && value > 1_000 {
        let steps = [
            2_000,
            5_000,
            10_000,
            20_000,
            30_000,
            MINUTE,
            2 * MINUTE,
            5 * MINUTE,
            10 * MINUTE,
            30 * MINUTE,
            60 * MINUTE,
            120 * MINUTE,
            360 * MINUTE,
            720 * MINUTE,
            1_440 * MINUTE,
        ];
        if let Some(step) = steps.into_iter().find(|step| *step >= value) {
            return step;
        }
    }
    let mut scale = 1_i64;
    while scale.checked_mul(10).is_some_and(|next| next <= value) {
        scale = scale.saturating_mul(10);
    }
    let steps = [1, 2, 4, 5, 8, 10].map(|step| scale.saturating_mul(step));
    steps.into_iter().find(|step| *step >= value).unwrap_or(value)
}

/// A number as it is read, with its unit; a dash for none. An amount of money without a currency that is
/// known is in US dollars.
pub fn told(value: Option<i64>, unit: Unit, currency: Option<&str>) -> String {
    let Some(value) = value else { return "–".to_owned() };
    let number = u64::try_from(value).unwrap_or(0);
    match unit {
        Unit::Count => format::count(number),
        Unit::Ms => format::duration(number),
        Unit::Money => {
            let currency =
                currency.and_then(model::event::Currency::parse).unwrap_or(model::event::Currency::USD);
            format::cost(model::event::Cost::new(number.saturating_mul(1_000_000), currency))
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of pictures.

    use super::*;

    fn line(values: &[Option<i64>]) -> ChartLine {
        ChartLine { name: String::new(), values: values.to_vec() }
    }

    #[test]
    fn bars_stand_on_one_another_and_none_is_higher_than_the_picture() {
        let lines = [line(&[Some(3), Some(0)]), line(&[Some(5), None])];
        let chart = chart(&lines, Shape::Bars, Unit::Count);
        assert_eq!((chart.top, chart.bars.len()), (8, 2));
        let [lower, upper] = chart.bars[..] else { panic!("{chart:?}") };
        assert!((lower.y - upper.y - upper.height).abs() < 1e-9, "{chart:?}");
        assert!(upper.y.abs() < 1e-9 && lower.x > 0.0 && lower.x + lower.width < 50.0);
    }

    #[test]
    fn lines_break_off_where_there_is_no_number_and_one_alone_is_seen() {
        let chart = chart(&[line(&[Some(1), Some(2), None, Some(2)])], Shape::Lines, Unit::Count);
        let [(0, path)] = &chart.paths[..] else { panic!("{chart:?}") };
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(path.matches('L').count(), 1);
        assert_eq!(path.matches('h').count(), 1);
    }

    #[test]
    fn edges_read_well() {
        let edges = [(1, 1), (3, 4), (7, 8), (9, 10), (11, 20), (4_200, 5_000)];
        for (value, edge) in edges {
            assert_eq!(rounded_up(value, Unit::Count), edge);
        }
        assert_eq!(rounded_up(61_000, Unit::Ms), 120_000);
        assert!(rounded_up(i64::MAX, Unit::Ms) > 0);
    }

    #[test]
    fn nothing_is_an_empty_picture_and_what_is_below_nothing_is_nothing() {
        assert_eq!(chart(&[], Shape::Bars, Unit::Count).bars, []);
        assert_eq!(chart(&[line(&[Some(-4)])], Shape::Bars, Unit::Count).bars, []);
    }

    #[test]
    fn lines_without_a_colour_are_one() {
        let many =
            || (0..COLOURS + 3).map(|n| ChartLine { name: n.to_string(), values: vec![Some(2)] }).collect();
        let bars = reduced(many(), Shape::Bars);
        assert_eq!((bars.len(), bars[COLOURS - 1].values[0]), (COLOURS, Some(8)));
        assert_eq!(reduced(many(), Shape::Lines).len(), COLOURS - 1);
    }

    #[test]
    fn numbers_are_told_in_their_unit() {
        assert_eq!(told(Some(1_200), Unit::Ms, None), format::duration(1_200));
        assert_eq!(told(None, Unit::Count, None), "–");
        let euro = told(Some(1_500_000), Unit::Money, Some("EUR"));
        assert!(euro.contains("1.5"), "{euro}");
    }
}
