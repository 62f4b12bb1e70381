//! Recognizes results that are more than text: parts of an MCP result, JSON as a tree or a table, CSV, a
//! diff, numbered lines, terminal output. And arguments that are more than JSON: edits, patches, to-do lists.
//!
//! What a result declares comes first, then its content; what is not recognized stays text. Input is never
//! trusted, and nothing becomes markup: HTML is text, and Markdown counts only if it is declared.
//!
//! `tree` parses JSON, `parts`, `table`, `delimited`, `diff`, `patch`, `numbered` and `terminal` the other
//! forms; `attached` reads the files that came with a result. `arguments` reads arguments, with the edits of
//! `changes` and the lists of `tasks`.

use crate::format;
use crate::preview::PreviewOutput;

mod arguments;
mod attached;
mod changes;
mod delimited;
mod diff;
mod numbered;
mod parts;
mod patch;
mod table;
mod tasks;
mod terminal;
mod tree;

pub use arguments::{
    Argument, ArgumentValue, ArgumentsGlance, arguments, current_task, glance_of_arguments,
    language_of_arguments,
};
pub use attached::{Attached, embeds, files};
pub use changes::{counts, folded};
pub use diff::{Change, Line};
pub use numbered::Numbered;
pub use parts::{Part, sound_file};
pub use table::{Cell, Table};
pub use tasks::{Task, TaskState};
pub use terminal::{Piece, is_shell, lines, without_orders};
pub use tree::{Node, glance, index_path, key_path, node};

/// The longest result that is parsed, in bytes.
const LOOKED_BYTES_MAX: usize = 1 << 20;

/// The longest result whose kind the line of its card names, and the longest arguments that it reads, in
/// bytes. It is bounded because every card does so.
const GLANCED_BYTES_MAX: usize = 64 << 10;

/// How many lines of a long text are shown at first.
pub const PREVIEW_LINES: usize = 15;

/// How many bytes of a long text are shown at first: its lines may be long.
const PREVIEW_BYTES_MAX: usize = 4 << 10;

/// A text of at most this many lines is shown whole: a click for one or two lines more is not worth it.
const WHOLE_LINES_MAX: usize = 20;

/// How many of `count` lines are shown at first.
pub fn preview_lines(count: usize) -> usize {
    if count <= WHOLE_LINES_MAX { count } else { PREVIEW_LINES }
}

/// The length in bytes of the beginning of `text` that is shown at first: as many lines as [`preview_lines`]
/// says, or fewer if they are long.
pub fn preview_bytes(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let is_long = lines.nth(WHOLE_LINES_MAX).is_some();
    let count = if is_long { PREVIEW_LINES } else { WHOLE_LINES_MAX };
    let bytes: usize = text.split_inclusive('\n').take(count).map(str::len).sum();
    text.floor_char_boundary(bytes.min(PREVIEW_BYTES_MAX))
}

/// A result in its own form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text that is declared as Markdown.
    Markdown(String),
    /// The parts of an MCP result.
    Parts(Vec<Part>),
    /// Objects with the same few fields.
    Table(Table),
    /// Any other JSON object or array, as written.
    Json,
    /// A unified diff or a patch.
    Diff(Vec<Line>),
    /// Lines that the tool numbered.
    Numbered(Numbered),
    /// Output of a terminal.
    Terminal(Vec<Piece>),
    /// Any other text.
    Plain,
}

/// The form of the result `text` of the tool `name`.
pub fn kind(name: &str, text: &str) -> Kind {
    if text.len() > LOOKED_BYTES_MAX {
        return Kind::Plain;
    }
    if let Some(json) = tree::container(text) {
        if let Some((declared, body)) = parts::declared(&json) {
            return of_declared(name, &declared, body);
        }
        if let Some(parts) = parts::parts(&json) {
            return Kind::Parts(parts);
        }
        return table::table(&json).map_or(Kind::Json, Kind::Table);
    }
    of_text(name, text)
}

/// The form of a text that is not JSON.
fn of_text(name: &str, text: &str) -> Kind {
    if let Some(lines) = patch::patch(text).or_else(|| diff::diff(text)) {
        return Kind::Diff(lines);
    }
    if terminal::has_orders(text) {
        return Kind::Terminal(terminal::pieces(text));
    }
    if let Some(numbered) = numbered::numbered(text) {
        return Kind::Numbered(numbered);
    }
    if let Some(table) = delimited::delimited(text) {
        return Kind::Table(table);
    }
    if is_shell(name) { Kind::Terminal(terminal::pieces(text)) } else { Kind::Plain }
}

/// The form of a text with the media type `declared`.
fn of_declared(name: &str, declared: &str, body: String) -> Kind {
    match declared {
        "text/markdown" | "text/x-markdown" => Kind::Markdown(body),
        "application/json" => Kind::Parts(vec![Part::Json(body)]),
        "text/csv" | "text/tab-separated-values" => {
            delimited::delimited(&body).map_or_else(|| Kind::Parts(vec![Part::Text(body)]), Kind::Table)
        }
        _ => match of_text(name, &body) {
            Kind::Plain => Kind::Parts(vec![Part::Text(body)]),
            other => other,
        },
    }
}

/// The kind and the size of a result, for the line of its card: `table · 3 rows · 412 B`, `JSON · 12 keys ·
/// 3.4 KB`.
pub fn summary(name: &str, output: &PreviewOutput) -> String {
    if output.text.len() > GLANCED_BYTES_MAX {
        return output.summary();
    }
    let what = match kind(name, &output.text) {
        Kind::Plain | Kind::Json => return output.summary(),
        Kind::Markdown(_) => "Markdown".to_owned(),
        Kind::Table(table) => format!("table · {}", format::counted(table.rows.len(), "row")),
        Kind::Terminal(_) => "terminal".to_owned(),
        Kind::Diff(lines) => {
            let (added, removed) = counts(&lines);
            format!("diff · +{added} −{removed}")
        }
        Kind::Numbered(text) => format::counted(text.text.lines().count(), "line"),
        Kind::Parts(parts) => match parts.as_slice() {
            [only] => only.word().to_owned(),
            several => format::counted(several.len(), "part"),
        },
    };
    format!("{what} · {}", format::bytes(output.text.len() as u64))
}

/// The summary of a result of which only the beginning is here; `left_out` is the number of bytes that are not.
pub fn summary_of_beginning(output: &PreviewOutput, left_out: u64) -> String {
    let is_json = output.text.trim_start().starts_with(['{', '[']);
    let bytes = left_out.saturating_add(output.text.len() as u64);
    format!("{} · {}", if is_json { "JSON" } else { "text" }, format::bytes(bytes))
}

#[cfg(test)]
mod tests;
