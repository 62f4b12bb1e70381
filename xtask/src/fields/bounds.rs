//! The rows that are written by hand: `FIELD | BOUND | WHERE IT IS WEIGHED | TEST`, one a line. A row whose field is a form
//! (`number`, `id`) stands for all fields of that form which have no row of their own. The bound names a limit of
//! `shared/model/src/limits.rs`, or is `as FIELD`, or `own: ` and what the hub writes there.
//!
//! ```text
//! id | ID_BYTES_MAX | shared/model/src/ids.rs | a_long_id_is_shortened_and_stays_unique
//! ```

use super::FieldForm;
use std::collections::BTreeMap;

/// What bounds a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundRow {
    /// The line in the file, from 1.
    pub(crate) line: usize,
    /// The bound. Names of limits with words around them, or `as FIELD`, or `own: …`.
    pub(crate) bound: String,
    /// The file that holds to it.
    pub(crate) weighed: String,
    /// The test that checks it.
    pub(crate) test: String,
}

/// All rows, by field or form.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldBounds(BTreeMap<String, BoundRow>);

impl FieldBounds {
    /// Of the file's text. Lines that are no rows come back with their numbers.
    pub(crate) fn parse(text: &str) -> (Self, Vec<usize>) {
        let (mut bounds, mut odd) = (Self::default(), Vec::new());
        let lines =
            (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        for (line, text) in lines {
            let mut cells = text.split('|').map(|cell| cell.trim().to_owned());
            let cells = (cells.next(), cells.next(), cells.next(), cells.next(), cells.next());
            let (Some(field), Some(bound), weighed, test, None) = cells else {
                odd.push(line);
                continue;
            };
            let (weighed, test) = (weighed.unwrap_or_default(), test.unwrap_or_default());
            if bounds.0.insert(field, BoundRow { line, bound, weighed, test }).is_some() {
                odd.push(line);
            }
        }
        (bounds, odd)
    }

    /// The row of a field: its own, or that of its form. `None` if neither has one.
    pub(crate) fn of(&self, field: &str, form: &FieldForm) -> Option<&BoundRow> {
        self.0.get(field).or_else(|| self.0.get(form.word()))
    }

    /// All rows, by field or form.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &BoundRow)> {
        self.0.iter().map(|(field, row)| (field.as_str(), row))
    }
}

impl BoundRow {
    /// The limits that it names. A limit is a word of capital letters, digits and underscores, with at least
    /// one underscore.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &str> {
        let words = self.bound.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| {
            word.contains('_')
                && word.chars().all(|c| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit())
        })
    }

    /// The field whose bound it has.
    pub(crate) fn as_another(&self) -> Option<&str> {
        self.bound.strip_prefix("as ")
    }

    /// Whether only the hub writes it.
    pub(crate) fn is_own(&self) -> bool {
        self.bound.strip_prefix("own: ").is_some_and(|what| !what.is_empty())
    }
}
