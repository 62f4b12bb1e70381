//! Objects with the same few flat fields, as a table.

use std::sync::Arc;

use super::tree::{Node, container, node};

/// Fewest rows of a table: two objects are read as well as JSON.
const ROWS_MIN: usize = 3;

/// Most columns of a table.
const COLUMNS_MAX: usize = 20;

/// Objects as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of the fields, in the order in which they come first.
    pub columns: Vec<String>,
    /// The values, a row for each object.
    pub rows: Vec<Vec<Cell>>,
}

/// A value in a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// What stands there.
    pub text: String,
    /// Whether it is a number, which stands at the right.
    pub is_number: bool,
}

/// The table that `json` is.
pub(super) fn table(json: &Node) -> Option<Table> {
    let Node::Array(items) = json else { return None };
    if items.len() < ROWS_MIN {
        return None;
    }
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let Some(Node::Object(fields)) = container(item) else { return None };
        let mut row = vec![Cell::default(); columns.len()];
        for (name, value) in fields {
            let cell = cell(&value)?;
            let known = columns.iter().position(|column| *column == name);
            if let Some(place) = known.and_then(|at| row.get_mut(at)) {
                *place = cell;
            } else {
                columns.push(name);
                row.push(cell);
            }
        }
        if columns.len() > COLUMNS_MAX {
            return None;
        }
        rows.push(row);
    }
    if columns.is_empty() {
        return None;
    }
    for row in &mut rows {
        row.resize(columns.len(), Cell::default());
    }
    Some(Table { columns, rows })
}

/// A value, where it is flat.
fn cell(value: &Arc<str>) -> Option<Cell> {
    match node(value) {
        Node::Object(_) | Node::Array(_) => None,
        Node::Text(text) => Some(Cell { text, is_number: false }),
        Node::Word(word) if word == "null" => Some(Cell::default()),
        Node::Word(text) => {
            let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            Some(Cell { text, is_number })
        }
    }
}
