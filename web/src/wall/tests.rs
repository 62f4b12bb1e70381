//! Tests of the wall.

use model::event::ToolState;
use model::view::{PartView, Streamed, ToolView};
use model::{PartId, RunId, ToolCallId};
use proptest::prelude::*;

use super::*;

#[test]
fn the_keys_go_through_rows_and_stop_at_the_edges() {
    let from = |at, key| step(key, Some(at), 8, 3);
    assert_eq!(from(0, "ArrowLeft"), None);
    assert_eq!(from(0, "ArrowDown"), Some(3));
    assert_eq!(from(5, "ArrowDown"), Some(7), "down to the end of a short row");
    assert_eq!(from(7, "ArrowDown"), None);
    assert_eq!(from(7, "ArrowRight"), None);
    assert_eq!(from(1, "ArrowUp"), None);
    assert_eq!(from(4, "ArrowUp"), Some(1));
    assert_eq!((from(4, "Home"), from(4, "End"), from(4, "x")), (Some(0), Some(7), None));
    assert_eq!(step("ArrowDown", None, 8, 3), Some(0));
    assert_eq!(step("ArrowDown", None, 0, 3), None);
}

proptest! {
    #[test]
    fn a_step_stays_among_the_tiles(
        at in proptest::option::of(0..30_usize), count in 0..30_usize, columns in 0..6_usize, key in 0..6_usize,
    ) {
        let keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
        if let Some(to) = step(keys[key], at, count, columns) {
            prop_assert!(to < count);
        }
    }
}

#[test]
fn tiles_come_in_pages_of_24() {
    assert_eq!((pages(0), pages(24), pages(25)), (1, 1, 2));
    assert_eq!((page(7, 25), page(1, 24), page(0, 0)), (1, 0, 0));
}

#[test]
fn a_tile_that_is_looked_at_says_the_newest_steps() {
    let mut run = RunView::default();
    let text = PartView {
        kind: PartKind::Text,
        agent: None,
        body: Streamed { text: "The answer\nbegins".into(), ..Streamed::default() },
        started_at: 1,
        ended_at: None,
        duration_ms: None,
        hidden: false,
        signature: None,
    };
    let tool = ToolView { name: "run_sql".into(), state: ToolState::Executing, ..ToolView::default() };
    run.tools.insert(ToolCallId::new("t"), tool);
    run.parts.insert(PartId::new("p"), text);
    run.items = vec![Item::Tool(ToolCallId::new("t")), Item::Part(PartId::new("p")), Item::Note(0)];
    let mut view = View::default();
    assert_eq!(lines(&view), Vec::<String>::new());
    view.runs.insert(RunId::new("r"), run);
    assert_eq!(lines(&view), ["run_sql · executing", "The answer begins"]);
}
