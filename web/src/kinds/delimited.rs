//! CSV and TSV as tables.
//!
//! Nothing declares such a text, so that it must be regular: every line has as many fields as the first one,
//! and the names of the columns are short and differ.

use super::table::{Cell, Table};

/// The fewest lines, with the names of the columns.
const LINES_MIN: usize = 3;

/// Most columns of a table; a text with more is no table.
const COLUMNS_MAX: usize = 40;

/// The longest name of a column, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// What may stand between fields.
const MARKS: [char; 3] = ['\t', ',', ';'];

/// The table of `text`, if it is CSV or TSV.
pub(super) fn delimited(text: &str) -> Option<Table> {
    let first = text.lines().next()?;
    let mark = MARKS.into_iter().find(|mark| first.contains(*mark))?;
    let mut rows = rows(text, mark)?;
    if rows.len() < LINES_MIN {
        return None;
    }
    let columns = rows.remove(0);
    let is_name = |(at, name): (usize, &String)| {
        let is_new = columns.iter().take(at).all(|before| before != name);
        !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && !name.contains('\n')
            && name.trim() == name
            && is_new
    };
    let is_table = (2..=COLUMNS_MAX).contains(&columns.len())
        && rows.iter().all(|row| row.len() == columns.len())
        && columns.iter().enumerate().all(is_name)
        // Sizes and counts of a shell begin with a number, and have no names of columns.
        && !text.starts_with(|c: char| c.is_ascii_digit())
        // A sentence with commas has a space behind each of them.
        && rows.iter().flat_map(|row| row.iter().skip(1)).any(|field| !field.is_empty() && !field.starts_with(' '));
    let cell = |text: String| Cell { is_number: is_number(&text), text };
    is_table.then(|| Table {
        columns,
        rows: rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
    })
}

/// Whether a field is a number, perhaps with a unit of per cent.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let digits = digits.strip_suffix('%').unwrap_or(digits);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | 'E' | '+' | '-'))
}

/// The fields of each line. A field in double quotes may have the mark, line feeds, and doubled quotes in it.
/// `None` if a quote is never closed, or something follows a closed one.
pub(super) fn rows(text: &str, mark: char) -> Option<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut rest = text.strip_suffix('\n').unwrap_or(text);
    loop {
        let (field, after) = field(rest, mark)?;
        row.push(field);
        let mut letters = after.chars();
        match letters.next() {
            None => break,
            Some('\r') => {
                rows.push(std::mem::take(&mut row));
                rest = letters.as_str().strip_prefix('\n').unwrap_or_default();
                if letters.as_str().is_empty() {
                    return Some(rows);
                }
            }
            Some('\n') => {
                rows.push(std::mem::take(&mut row));
                rest = letters.as_str();
            }
            Some(_) => rest = letters.as_str(),
        }
    }
    rows.push(row);
    Some(rows)
}

/// The first field of `text`, and what follows it: nothing, the mark, or the end of the line.
fn field(text: &str, mark: char) -> Option<(String, &str)> {
    let ends = |rest: &str| {
        rest.is_empty() || rest.starts_with([mark, '\n']) || rest.starts_with("\r\n") || rest == "\r"
    };
    let Some(mut inside) = text.strip_prefix('"') else {
        let at = text.char_indices().find(|(at, _)| ends(text.get(*at..).unwrap_or_default()));
        let (field, rest) = text.split_at_checked(at.map_or(text.len(), |(at, _)| at))?;
        return Some((field.to_owned(), rest));
    };
    let mut field = String::new();
    loop {
        let (before, after) = inside.split_once('"')?;
        field.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                inside = more;
            }
            None => return ends(after).then_some((field, after)),
        }
    }
}

#[cfg(test)]
mod tests;
