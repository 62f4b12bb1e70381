//! The wall: the sizes and pages of its tiles, the keys that move among them, how fast conversations write, and the lines
//! of the subscribed tile.
//!
//! The wall itself is drawn by `components::wall`, the rows and their order come from [`crate::fleet`].
//!
//! Reading order: `plan` (sizes and pages) → `pulse` (speed) → `words` (what is being said).

use model::event::PartKind;
use model::view::{Item, RunView, View};

use crate::preview;

mod plan;
mod pulse;
mod words;

pub use plan::{Busy, TILES_LEAST, TILES_MOST, TileGrid, TileSize, pages, sizes};
pub use pulse::Pulse;
pub use words::stitch;

/// The most lines of a tile.
pub const LINES: usize = 3;

/// How many items of a run are read for these lines: some have no text yet.
const LOOKED: usize = 12;

/// Where a tile is on the screen, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TileBox {
    /// The left edge of the tile.
    pub left: f64,
    /// The upper edge of the tile.
    pub top: f64,
    /// The right edge of the tile.
    pub right: f64,
    /// The lower edge of the tile.
    pub bottom: f64,
}

/// The tile to which `key` moves from the tile `at`: the nearest one in that direction; `None` if there is none, or if the
/// key moves nothing. Tiles have different sizes, so their order says nothing about where they stand.
pub fn step(key: &str, at: Option<usize>, tiles: &[TileBox]) -> Option<usize> {
    let last = tiles.len().checked_sub(1)?;
    let Some(from) = at.and_then(|at| tiles.get(at)) else {
        return matches!(key, "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End")
            .then_some(if key == "End" { last } else { 0 });
    };
    // How far a tile is ahead, and how far it is aside; `None` if it is not ahead.
    let ahead = |to: &TileBox| {
        let (way, aside) = match key {
            "ArrowLeft" => (from.left - to.right, apart((from.top, from.bottom), (to.top, to.bottom))),
            "ArrowRight" => (to.left - from.right, apart((from.top, from.bottom), (to.top, to.bottom))),
            "ArrowUp" => (from.top - to.bottom, apart((from.left, from.right), (to.left, to.right))),
            _ => (to.top - from.bottom, apart((from.left, from.right), (to.left, to.right))),
        };
        (way > -1.0).then_some((way, aside))
    };
    match key {
        "Home" => Some(0),
        "End" => Some(last),
        "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" => {
            let found = tiles.iter().enumerate().filter_map(|(number, to)| Some((number, ahead(to)?)));
            // To the sides only what is beside; up and down the nearest, also in a short last row.
            let is_beside = |(_, (_, aside)): &(usize, (f64, f64))| {
                *aside <= 0.0 || matches!(key, "ArrowUp" | "ArrowDown")
            };
            let weight = |(_, (way, aside)): &(usize, (f64, f64))| way + 4.0 * aside.max(0.0);
            let nearest = found.filter(is_beside).min_by(|a, b| weight(a).total_cmp(&weight(b)));
            nearest.map(|(number, _)| number)
        }
        _ => None,
    }
}

/// How far two spans are apart; not positive if they overlap or touch.
fn apart(one: (f64, f64), other: (f64, f64)) -> f64 {
    (one.0 - other.1).max(other.0 - one.1)
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
            // A publisher's words may be Markdown, and a tile has plain lines.
            let text = preview::plain_words(&text).collect::<Vec<_>>().join(" ");
            match part.kind {
                _ if text.is_empty() => None,
                PartKind::Thinking => Some(format!("thinks: {text}")),
                PartKind::File => Some("a file".to_owned()),
                PartKind::Text | PartKind::Refusal => Some(text),
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
