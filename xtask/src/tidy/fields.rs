//! Every field of every event and frame has a bound, and the bound a limit and a test.
//!
//! ```text
//! schema/bounds.txt:  FIELD | BOUND | FILE | TEST
//!                               │       │      └ a test function that exists
//!                               │       └ a Rust file that exists
//!                               └ names a constant of limits.rs, or says that the field bounds itself
//! ```
//!
//! docs/limits.md must be what the schemas and these rows give.

use super::source::names;
use super::{RuleViolation, SourceTree};
use crate::fields::{BoundRow, DOCUMENT, FieldBounds, FieldForm, ROWS, SCHEMAS, fields, table};
use std::collections::BTreeMap;

/// The file with the limits.
const LIMITS: &str = "shared/model/src/limits.rs";

/// Reports fields without a bound, rows without a field, and a document that is not up to date. Says nothing
/// in a tree without rows, such as that of a test.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let Some(rows) = tree.text(ROWS) else { return };
    let (bounds, odd) = FieldBounds::parse(rows);
    for line in odd {
        findings.push(finding(line, "a row is FIELD | BOUND | FILE | TEST, and each field has one"));
    }
    let read = |(path, root)| Some((root, serde_json::from_str(tree.text(path)?).ok()?));
    let schemas: Vec<_> = SCHEMAS.into_iter().filter_map(read).collect();
    if schemas.len() < SCHEMAS.len() {
        findings.push(finding(1, "a schema is missing or no JSON: run `cargo xtask schema`"));
        return;
    }
    let all = fields(&schemas);
    for (field, form) in &all {
        if bounds.of(field, form).is_none() && !matches!(form, FieldForm::Fields(_)) {
            let message = format!(
                "the field {field} has no bound: give it one, or a row that names it ({})",
                form.word()
            );
            findings.push(finding(1, message));
        }
    }
    let is_form = |name: &str| all.values().any(|form| form.word() == name);
    for (field, row) in bounds.all() {
        if !all.contains_key(field) && !is_form(field) {
            findings.push(finding(row.line, format!("no schema has the field {field}")));
        }
        holds(tree, &all, row, findings);
    }
    if tree.text(DOCUMENT) != Some(&table(&all, &bounds)) {
        findings.push(finding(
            1,
            format!("{DOCUMENT} is not what the schemas and rows say: run `cargo xtask bounds`"),
        ));
    }
}

/// Reports what a row names that is not there: another field, a limit, a file or a test.
fn holds(
    tree: &SourceTree,
    all: &BTreeMap<String, FieldForm>,
    row: &BoundRow,
    findings: &mut Vec<RuleViolation>,
) {
    let mut wrong = |message: String| findings.push(finding(row.line, message));
    if let Some(other) = row.as_another() {
        if !all.contains_key(other) {
            wrong(format!("no schema has the field {other}"));
        }
        return;
    }
    if row.is_own() {
        return;
    }
    let limits = tree.source(LIMITS);
    for limit in row.limits() {
        let is_there =
            |line: &super::source::SourceLine| line.code.contains("const ") && names(&line.code, limit);
        if limits.is_some_and(|limits| !limits.lines.iter().any(is_there)) {
            wrong(format!("{LIMITS} has no {limit}"));
        }
    }
    if row.limits().next().is_none() && !row.bound.starts_with("itself") {
        wrong(format!("the bound {:?} names no limit", row.bound));
    }
    if !tree.sources.iter().any(|source| source.path == row.weighed) {
        wrong(format!("there is no file {:?} that would weigh it", row.weighed));
    }
    let test = format!("fn {}", row.test);
    let is_test = |line: &super::source::SourceLine| names(&line.code, &test);
    if row.test.is_empty() || !tree.sources.iter().any(|source| source.lines.iter().any(is_test)) {
        wrong(format!("there is no test {:?}", row.test));
    }
}

/// A finding in the file of the rows.
fn finding(line: usize, message: impl Into<String>) -> RuleViolation {
    RuleViolation { file: ROWS.to_owned(), line, rule: "bounds", message: message.into() }
}
