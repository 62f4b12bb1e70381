//! The table of all fields, as a document.

use super::{FieldBounds, FieldForm};
use std::collections::BTreeMap;

/// What stands above the rows.
const HEAD: &str = "\
# Every field and its bound

Every field of every event and frame ([protocol](protocol.md)), what bounds it, the file that holds to the bound and a test of it. Written by
`cargo xtask bounds` from `schema/*.json` and `schema/bounds.txt`; tidy fails where a field has no bound, where a bound names
no limit of `shared/model/src/limits.rs`, and where the test is not there. A field that only the hub writes says what it writes.

A frame of a client has at most `INBOUND_FRAME_BYTES_MAX` bytes, a body of native events `EVENTS_BODY_BYTES_MAX`, an import `IMPORT_BYTES_MAX`, whatever
stands in them; and the bytes that were received count for the ring (`RING_BYTES_MAX`) and the queue of the log
(`LOG_QUEUE_BYTES_MAX`), whichever field they stand in.

| field | holds | bound | weighed in | test |
|---|---|---|---|---|
";

/// Writes docs/limits.md from the fields and their bounds. One row for each field, in the order of their
/// names; a field without a bound says so in bold.
pub(crate) fn table(fields: &BTreeMap<String, FieldForm>, bounds: &FieldBounds) -> String {
    let mut text = HEAD.to_owned();
    for (field, form) in fields {
        let holds = match form {
            FieldForm::Fields(name) => format!("{name}, field by field"),
            other => other.word().to_owned(),
        };
        let (bound, weighed, test) = match bounds.of(field, form) {
            Some(row) => (row.bound.clone(), code(&row.weighed), code(&row.test)),
            None if matches!(form, FieldForm::Fields(_)) => {
                (String::from("its fields"), String::new(), String::new())
            }
            None => (String::from("**none**"), String::new(), String::new()),
        };
        for cell in [format!("| `{field}` | "), holds, format!(" | {bound} | {weighed} | {test} |\n")] {
            text.push_str(&cell);
        }
    }
    text
}

/// A word as code; nothing for an empty one.
fn code(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}`") }
}
