//! Figures by sizes, and what is said of them.

use std::collections::BTreeMap;

use tests::load::plots::Plot;
use tests::load::spread;

/// The factor by which a figure may differ from its first size to its last and still be called flat.
const FLAT: f64 = 1.3;

/// The figures of one row.
#[derive(Debug)]
pub(crate) struct Curves {
    title: String,
    /// What the sizes are.
    across: &'static str,
    /// In the order in which they came, each with what was measured at each size.
    figures: Vec<(&'static str, BTreeMap<u64, Vec<f64>>)>,
    problems: Vec<String>,
}

impl Curves {
    pub(crate) fn new(title: impl Into<String>, across: &'static str) -> Self {
        Self { title: title.into(), across, figures: Vec::new(), problems: Vec::new() }
    }

    /// Adds one measurement.
    pub(crate) fn add(&mut self, name: &'static str, size: u64, value: f64) {
        crate::note(&format!("{} {size}: {name} {value:.3}", self.across));
        let place = self.figures.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.figures.push((name, BTreeMap::new()));
            self.figures.len() - 1
        });
        if let Some((_, sizes)) = self.figures.get_mut(place) {
            sizes.entry(size).or_default().push(value);
        }
    }

    pub(crate) fn complain(&mut self, problems: Vec<String>) {
        self.problems.extend(problems);
    }

    /// The medians, with least and most, and what grows.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("## {}\n\n| {} |", self.title, self.across);
        let mut put = |cell: &str| text.push_str(cell);
        let sizes: std::collections::BTreeSet<u64> =
            self.figures.iter().flat_map(|(_, sizes)| sizes.keys().copied()).collect();
        for size in &sizes {
            put(&format!(" {size} |"));
        }
        put(&format!(" |\n|---|{}---|\n", "--:|".repeat(sizes.len())));
        for (name, values) in &self.figures {
            put(&format!("| {name} |"));
            for size in &sizes {
                let cell = values.get(size).map(|values| cell(values));
                put(&format!(" {} |", cell.as_deref().unwrap_or("–")));
            }
            put(&format!(" {} |\n", verdict(&points(values))));
        }
        for problem in &self.problems {
            put(&format!("\nProblem: {problem}\n"));
        }
        text
    }

    pub(crate) fn plots(&self) -> Vec<Plot> {
        let plot = |(name, values): &(&'static str, BTreeMap<u64, Vec<f64>>)| {
            let points = points(values);
            let verdict = verdict(&points);
            Plot { title: (*name).to_owned(), across: self.across.to_owned(), points, verdict }
        };
        self.figures.iter().map(plot).collect()
    }
}

fn points(values: &BTreeMap<u64, Vec<f64>>) -> Vec<(f64, f64)> {
    values.iter().map(|(size, values)| (*size as f64, spread(values.iter().copied())[1])).collect()
}

fn cell(values: &[f64]) -> String {
    let [least, middle, most] = spread(values.iter().copied());
    if values.len() < 2 {
        return readable(middle);
    }
    format!("{} ({} to {})", readable(middle), readable(least), readable(most))
}

/// Three digits that count.
fn readable(value: f64) -> String {
    match value {
        large if large >= 100.0 => format!("{large:.0}"),
        some if some >= 10.0 => format!("{some:.1}"),
        few => format!("{few:.2}"),
    }
}

/// Flat, or by how much it grows or falls from the first size to the last, and as which power of the size.
fn verdict(points: &[(f64, f64)]) -> String {
    let (Some((from, first)), Some((to, last))) = (points.first(), points.last()) else {
        return String::new();
    };
    if *first <= 0.0 || *last <= 0.0 || to <= from {
        return String::new();
    }
    let (times, power) = (last / first, (last / first).ln() / (to / from).ln());
    if (1.0 / FLAT..=FLAT).contains(&times) {
        return "flat".to_owned();
    }
    if times < 1.0 {
        format!("falls to {times:.2} of it")
    } else {
        format!("grows {times:.1} times, as size^{power:.2}")
    }
}
