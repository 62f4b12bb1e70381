//! What is changed from one text to another, line by line.
//!
//! Common lines at the beginning and the end are set aside first; what is between is compared by its longest
//! common subsequence, if that is small enough. Otherwise all of it is removed and added again, which is true
//! too, only longer.

use super::diff::{Change, Line};

/// The most pairs of lines that are compared, one number each: 512 lines with 512.
const PAIRS_MAX: usize = 1 << 18;

/// How many unchanged lines stay beside a change when the others are left out.
const CONTEXT: usize = 3;

/// The fewest unchanged lines that are left out.
const LEFT_OUT_MIN: usize = 4;

/// The lines of a text; none for an empty text. Joined with line feeds they are the text.
fn lines_of(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

/// The lines of `old` and `new` in the order of a diff, each with its mark. Those that are not added are the
/// lines of `old`, those that are not removed the lines of `new`.
pub(super) fn changes(old: &str, new: &str) -> Vec<Line> {
    let (old, new) = (lines_of(old), lines_of(new));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |rest: &[&str]| rest.len().saturating_sub(end);
    let (old_middle, new_middle) = (
        old_rest.get(..middle(old_rest)).unwrap_or_default(),
        new_rest.get(..middle(new_rest)).unwrap_or_default(),
    );
    let mut lines = Vec::with_capacity(old.len().saturating_add(new_middle.len()));
    lines.extend(old.iter().take(start).map(|text| line(Change::Same, text)));
    compare(old_middle, new_middle, &mut lines);
    lines
        .extend(old.iter().skip(start.saturating_add(old_middle.len())).map(|text| line(Change::Same, text)));
    lines
}

/// A line with the mark of its change.
fn line(change: Change, text: &str) -> Line {
    let mark = match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Same | Change::Head => ' ',
    };
    Line { change, text: format!("{mark}{text}") }
}

/// Appends the changes from `old` to `new`, which neither begin nor end with the same line.
fn compare(old: &[&str], new: &[&str], lines: &mut Vec<Line>) {
    let width = new.len().saturating_add(1);
    let pairs = old.len().saturating_add(1).saturating_mul(width);
    let is_small = pairs <= PAIRS_MAX && !old.is_empty() && !new.is_empty();
    let common = if is_small { common_lengths(old, new, width) } else { Vec::new() };
    let at = |i: usize, j: usize| common.get(i.saturating_mul(width).saturating_add(j)).copied().unwrap_or(0);
    let (mut i, mut j) = (0_usize, 0_usize);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if is_small && a == b => {
                lines.push(line(Change::Same, a));
                (i, j) = (i.saturating_add(1), j.saturating_add(1));
            }
            // Removed lines come before the added ones.
            (Some(a), b) if b.is_none() || at(i.saturating_add(1), j) >= at(i, j.saturating_add(1)) => {
                lines.push(line(Change::Removed, a));
                i = i.saturating_add(1);
            }
            (_, Some(b)) => {
                lines.push(line(Change::Added, b));
                j = j.saturating_add(1);
            }
            (_, None) => return,
        }
    }
}

/// For each pair of places, the length of the longest common subsequence of what follows them, row by row.
fn common_lengths(old: &[&str], new: &[&str], width: usize) -> Vec<u16> {
    let mut lengths = vec![0_u16; old.len().saturating_add(1).saturating_mul(width)];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let here = i.saturating_mul(width).saturating_add(j);
            let get = |at: usize| lengths.get(at).copied().unwrap_or(0);
            let (down, right) = (here.saturating_add(width), here.saturating_add(1));
            let length = if a == b {
                get(down.saturating_add(1)).saturating_add(1)
            } else {
                get(down).max(get(right))
            };
            if let Some(place) = lengths.get_mut(here) {
                *place = length;
            }
        }
    }
    lengths
}

/// The lines without long stretches of unchanged ones, of which a line says how many they are.
pub fn folded(lines: &[Line]) -> Vec<Line> {
    let is_near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        let around =
            lines.iter().skip(from).take(at.saturating_sub(from).saturating_add(CONTEXT).saturating_add(1));
        around.into_iter().any(|line| line.change != Change::Same)
    };
    let mut folded = Vec::new();
    let mut left_out: Vec<&Line> = Vec::new();
    let flush = |left_out: &mut Vec<&Line>, folded: &mut Vec<Line>| {
        if left_out.len() < LEFT_OUT_MIN {
            folded.extend(left_out.drain(..).cloned());
            return;
        }
        let text = format!("⋯ {} unchanged lines", left_out.len());
        left_out.clear();
        folded.push(Line { change: Change::Head, text });
    };
    for (at, line) in lines.iter().enumerate() {
        if line.change == Change::Same && !is_near(at) {
            left_out.push(line);
        } else {
            flush(&mut left_out, &mut folded);
            folded.push(line.clone());
        }
    }
    flush(&mut left_out, &mut folded);
    folded
}

/// How many lines are added, and how many removed.
pub fn counts(lines: &[Line]) -> (usize, usize) {
    let count = |wanted| lines.iter().filter(|line| line.change == wanted).count();
    (count(Change::Added), count(Change::Removed))
}

#[cfg(test)]
mod tests;
