//! Tests of the wall.

use model::event::ToolState;
use model::view::{PartView, Streamed, ToolView};
use model::{PartId, RunId, ToolCallId};
use proptest::prelude::*;

use super::*;

fn tile(left: f64, top: f64, wide: f64, high: f64) -> TileBox {
    TileBox { left, top, right: left + wide, bottom: top + high }
}

/// A large tile, two beside it, and three below, the last row short.
fn tiles() -> [TileBox; 7] {
    [
        tile(0.0, 0.0, 200.0, 200.0),
        tile(208.0, 0.0, 100.0, 96.0),
        tile(316.0, 0.0, 100.0, 96.0),
        tile(208.0, 104.0, 100.0, 96.0),
        tile(316.0, 104.0, 100.0, 96.0),
        tile(0.0, 208.0, 96.0, 96.0),
        tile(104.0, 208.0, 96.0, 96.0),
    ]
}

#[test]
fn the_keys_go_to_the_nearest_tile_and_stop_at_the_edges() {
    let from = |at, key| step(key, Some(at), &tiles());
    assert_eq!((from(0, "ArrowLeft"), from(0, "ArrowUp"), from(2, "ArrowRight")), (None, None, None));
    assert_eq!(
        (from(0, "ArrowRight"), from(3, "ArrowLeft"), from(4, "ArrowLeft")),
        (Some(1), Some(0), Some(3))
    );
    assert_eq!((from(1, "ArrowDown"), from(3, "ArrowUp"), from(6, "ArrowUp")), (Some(3), Some(1), Some(0)));
    assert_eq!(from(4, "ArrowDown"), Some(6), "down to the end of a short row");
    assert_eq!((from(4, "Home"), from(4, "End"), from(4, "x")), (Some(0), Some(6), None));
    assert_eq!(step("ArrowDown", None, &tiles()), Some(0));
    assert_eq!(step("ArrowDown", None, &[]), None);
}

proptest! {
    #[test]
    fn a_step_goes_to_another_tile_and_back_again_is_possible(at in 0..7_usize, key in 0..4_usize) {
        let keys = [("ArrowLeft", "ArrowRight"), ("ArrowRight", "ArrowLeft"), ("ArrowUp", "ArrowDown"), ("ArrowDown", "ArrowUp")];
        if let Some(to) = step(keys[key].0, Some(at), &tiles()) {
            prop_assert!(to < 7 && to != at);
            prop_assert!(step(keys[key].1, Some(to), &tiles()).is_some());
        }
    }
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

#[test]
fn a_tile_that_is_looked_at_has_no_marks_of_markdown() {
    let part = |text: &str, kind, ended_at| PartView {
        kind,
        agent: None,
        body: Streamed { text: text.into(), ..Streamed::default() },
        started_at: 1,
        ended_at,
        duration_ms: None,
        hidden: false,
        signature: None,
    };
    let said = |part| {
        let mut run = RunView::default();
        run.parts.insert(PartId::new("p"), part);
        run.items = vec![Item::Part(PartId::new("p"))];
        let mut view = View::default();
        view.runs.insert(RunId::new("r"), run);
        lines(&view).concat()
    };
    let growing = format!("{} **EMEA** fell by `5.1 %`, and **AP", "word ".repeat(20));
    let newest = said(part(&growing, PartKind::Text, None));
    assert!(newest.starts_with('…') && newest.ends_with("word EMEA fell by 5.1 %, and AP"), "{newest}");
    let cut = said(part(&format!("{}**end", "**x** ".repeat(33)), PartKind::Text, Some(2)));
    assert!(cut.starts_with("x x ") && cut.ends_with('…') && !cut.contains('*'), "{cut}");
    assert_eq!(said(part("# Why\n\n- it *is*", PartKind::Thinking, Some(2))), "thinks: Why - it is");
    assert_eq!(said(part("**", PartKind::Text, None)), "");
}
