//! Lists of objects with the same few flat fields, as tables.

use std::sync::Arc;

use super::tree::{Node, container, node};

/// The fewest rows of a table; fewer objects are as readable as JSON.
const ROWS_MIN: usize = 3;

/// The most columns of a table.
const COLUMNS_MAX: usize = 20;

/// A list of objects as a table: each object is a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of the fields, in the order of their first appearance.
    pub columns: Vec<String>,
    /// The values, one row for each object.
    pub rows: Vec<Vec<Cell>>,
}

/// A value in a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// The value as text.
    pub text: String,
    /// Whether it is a number, which is aligned to the right.
    pub is_number: bool,
}

/// The table of `json`, if it is a list of flat objects.
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

/// The cell of a value; `None` for an object or a list.
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
