//! The wall: its pages, the keys that move among the tiles, and the lines of the subscribed tile.
//!
//! The wall itself is drawn by `components::wall`, the rows and their order come from [`crate::fleet`].

use model::event::PartKind;
use model::view::{Item, RunView, View};

use crate::preview;

/// The most tiles on a page.
pub const TILES: usize = 24;

/// The most lines of a tile.
pub const LINES: usize = 3;

/// How many items of a run are read for these lines: some have no text yet.
const LOOKED: usize = 12;

/// The page that is shown if `wanted` is requested and there are `tiles` tiles. Pages are counted from 0.
pub fn page(wanted: usize, tiles: usize) -> usize {
    wanted.min(pages(tiles).saturating_sub(1))
}

/// The number of pages for `tiles` tiles, at least one.
pub fn pages(tiles: usize) -> usize {
    tiles.div_ceil(TILES).max(1)
}

/// The tile to which `key` moves from the tile `at` of `count` tiles in `columns` columns; `None` if it does
/// not move.
pub fn step(key: &str, at: Option<usize>, count: usize, columns: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let columns = columns.max(1);
    let Some(at) = at else {
        return matches!(key, "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End")
            .then_some(if key == "End" { last } else { 0 });
    };
    match key {
        "ArrowLeft" => at.checked_sub(1),
        "ArrowRight" => at.checked_add(1),
        "ArrowUp" => at.checked_sub(columns),
        // If the last row is short, Down moves to its end.
        "ArrowDown" if at / columns < last / columns => Some(at.saturating_add(columns).min(last)),
        "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
    .filter(|to| *to <= last)
}

/// The newest steps of the newest run, the newest last.
pub fn lines(view: &View) -> Vec<String> {
    let Some(run) = view.runs.values().next_back() else { return Vec::new() };
    let newest = run.items.iter().rev().take(LOOKED).filter_map(|item| line(run, item));
    let mut lines: Vec<String> = newest.take(LINES).collect();
    lines.reverse();
    lines
}

/// An item in one line; `None` if it has no text.
fn line(run: &RunView, item: &Item) -> Option<String> {
    match item {
        Item::Part(id) => {
            let part = run.parts.get(id)?;
            let text = if part.ended_at.is_none() {
                preview::tail(&part.body.text)
            } else {
                preview::one_line(&part.body.text)
            };
            let text = text.trim();
            match part.kind {
                _ if text.is_empty() => None,
                PartKind::Thinking => Some(format!("thinks: {text}")),
                PartKind::File => Some("a file".to_owned()),
                PartKind::Text | PartKind::Refusal => Some(text.to_owned()),
            }
        }
        Item::Tool(id) => {
            let tool = run.tools.get(id)?;
            let arguments = preview::arguments(&tool.arguments.text);
            Some(format!("{} {arguments} · {}", tool.name, tool.state.as_str()).replace("  ", " "))
        }
        Item::Agent(id) => {
            let agent = run.agents.get(id)?;
            let name = agent.name.as_deref().unwrap_or("sub-agent");
            Some(match agent.task.as_deref() {
                Some(task) => format!("{name}: {}", preview::one_line(task)),
                None => format!("{name} begins"),
            })
        }
        Item::Note(_) => None,
    }
}

#[cfg(test)]
mod tests;
