//! How much of a long conversation is in the document: its newest part, up to a budget of rows; the rest is
//! one click away. The budget keeps the page of any conversation below a few thousand elements.
//!
//! ```text
//! items   0 1 2 3 4 5 6 7 8 9          budget: 120 rows
//!         └─ button ─┘└ shown ┘        first(): the newest that together weigh at most the budget
//!             └ held ─────────┘        first_held(): while the reader reads, up to three times the budget
//! ```

use model::Json;
use model::event::PartKind;
use model::view::{Item, RunView, ToolView};

/// The budget of rows, for all turns together. A row is about a dozen elements, so a page has about 1,500.
pub const ROWS: usize = 120;

/// The budget of rows on the bare page, which is to show everything: the documented limit of that page.
pub const ROWS_BARE: usize = 10_000;

/// The most rows in the Tools tab.
pub const CALLS: usize = 120;

/// The rows on a page of the list of conversations.
pub const CONVERSATIONS: usize = 100;

/// The most elements of one text; the beginning of a longer one is removed.
pub const TEXT_ELEMENTS_MAX: u32 = 900;

/// How many elements of such a text stay.
pub const TEXT_ELEMENTS_KEPT: u32 = 600;

/// About how many elements an unfolded call has besides its content: tabs, foot, buttons.
const BODY_ELEMENTS: usize = 30;

/// The most elements that are counted for the content of an unfolded call: those of a table of a hundred
/// rows.
const CONTENT_ELEMENTS_MAX: usize = 1_200;

/// How many bytes of the content are examined.
const LOOKED_BYTES: usize = 16 << 10;

/// About how many elements a row of the conversation has.
const ROW_ELEMENTS: usize = 12;

/// The budget after the reader has reached the top; `None` if that would be more than a page holds: the
/// window then moves instead.
pub fn grown(rows: usize) -> Option<usize> {
    (rows < ROWS.saturating_mul(2)).then(|| rows.saturating_add(ROWS))
}

/// The budget that a page begins with.
pub fn rows(is_bare: bool) -> usize {
    if is_bare { ROWS_BARE } else { ROWS }
}

/// The index of the first of `count` items that is shown if the newest may weigh `budget` together. At least
/// the last item is shown. `weight` returns how many rows an item counts. It is asked only for the items that
/// are looked at, from the last one back.
pub fn first(count: usize, budget: usize, weight: impl Fn(usize) -> usize) -> usize {
    let mut left = budget;
    for at in (0..count).rev() {
        let weight = weight(at);
        if weight > left {
            return at.saturating_add(1).min(count.saturating_sub(1));
        }
        left = left.saturating_sub(weight);
    }
    0
}

/// The index of the first item that is shown while the reader reads further up: no item that was shown is removed until they weigh three times the
/// budget. `held` is the previous first item.
pub fn first_held(
    count: usize,
    budget: usize,
    held: Option<usize>,
    weight: impl Fn(usize) -> usize,
) -> usize {
    let newest = first(count, budget, &weight);
    match held {
        Some(held) if held < newest => held.max(first(count, budget.saturating_mul(3), &weight)),
        _ => newest,
    }
}

/// How many of `count` items fit from `from` on; at least one, if there is one.
pub fn fitting(count: usize, from: usize, budget: usize, weight: impl Fn(usize) -> usize) -> usize {
    let rest = count.saturating_sub(from);
    let mirrored = |at: usize| weight(count.saturating_sub(at).saturating_sub(1));
    rest.saturating_sub(first(rest, budget, mirrored))
}

/// How many rows an item of a run counts. `is_open` returns whether the content of a call is unfolded.
pub fn row_weight(run: &RunView, item: Option<&Item>, is_open: impl FnOnce(&Item) -> bool) -> usize {
    match item {
        Some(item @ Item::Tool(id)) => match run.tools.get(id).filter(|_| is_open(item)) {
            Some(tool) => call_rows(tool).saturating_add(1),
            None => 1,
        },
        Some(Item::Part(id)) => run.parts.get(id).map_or(1, |part| match part.kind {
            PartKind::Thinking => 1,
            _ => text_rows(&part.body.text),
        }),
        _ => 1,
    }
}

/// How many rows the content of a call counts: its result as a tree, a table or lines, otherwise its
/// arguments.
fn call_rows(tool: &ToolView) -> usize {
    let content = tool.result.as_ref().map_or(tool.arguments.text.as_str(), Json::as_str);
    let is_json = content.trim_start_matches(['"', ' ']).starts_with(['{', '[']);
    // A field or a cell has at most three elements; lines are drawn in pieces, and each is an escape in the
    // JSON.
    let (signs, each): (&[u8], usize) = if is_json { (b",{[", 3) } else { (b"\n\\", 1) };
    let signs = content.bytes().take(LOOKED_BYTES).filter(|byte| signs.contains(byte)).count();
    let elements = BODY_ELEMENTS.saturating_add(signs.saturating_mul(each).min(CONTENT_ELEMENTS_MAX));
    elements.div_ceil(ROW_ELEMENTS)
}

/// How many rows a Markdown text counts, estimated from the characters that make elements.
pub fn text_rows(text: &str) -> usize {
    let is_sign = |byte: &u8| matches!(byte, b'\n' | b'|' | b'`' | b'*' | b'[');
    let most = usize::try_from(TEXT_ELEMENTS_MAX).unwrap_or(usize::MAX);
    let elements = text.bytes().filter(|byte| is_sign(byte)).take(most).count();
    elements.div_ceil(ROW_ELEMENTS).max(1)
}

#[cfg(test)]
mod tests {
    //! Tests of the budget.

    use super::*;

    #[test]
    fn the_newest_that_fit_are_there_and_always_the_last() {
        let weights = [5, 1, 7, 3];
        let first = |budget| first(weights.len(), budget, |at| weights[at]);
        assert_eq!(first(100), 0);
        assert_eq!(first(11), 1);
        assert_eq!(first(10), 2);
        assert_eq!(first(3), 3);
        assert_eq!(first(0), 3);
        assert_eq!(super::first(0, 9, |_| 1), 0);
    }

    #[test]
    fn what_a_reader_looks_at_stays_until_it_is_too_much() {
        let first = |held| first_held(100, 10, held, |_| 1);
        assert_eq!(first(None), 90);
        assert_eq!(first(Some(85)), 85);
        assert_eq!(first(Some(95)), 90, "what can be shown is");
        assert_eq!(first(Some(5)), 70);
    }

    #[test]
    fn what_loads_by_itself_stays_within_what_a_page_holds() {
        assert_eq!((grown(ROWS), grown(2 * ROWS), grown(480)), (Some(2 * ROWS), None, None));
    }

    #[test]
    fn from_a_place_on_as_many_as_fit_are_there() {
        let weights = [5, 1, 7, 3];
        let fitting = |from, budget| fitting(weights.len(), from, budget, |at| weights[at]);
        assert_eq!((fitting(0, 100), fitting(0, 6), fitting(0, 5), fitting(0, 1)), (4, 2, 1, 1));
        assert_eq!((fitting(2, 9), fitting(2, 10), fitting(4, 10)), (1, 2, 0));
    }

    #[test]
    fn a_call_weighs_what_is_open_of_it() {
        let mut tool = ToolView { result: Json::parse(r#""done, and well""#), ..ToolView::default() };
        assert_eq!(call_rows(&tool), BODY_ELEMENTS.div_ceil(ROW_ELEMENTS));
        let rows: Vec<_> = (0..20).map(|row| format!(r#"{{"region":"r{row}","net":{row}}}"#)).collect();
        tool.result = Json::parse(&format!("[{}]", rows.join(",")));
        assert_eq!(call_rows(&tool), (BODY_ELEMENTS + 60 * 3).div_ceil(ROW_ELEMENTS));
        tool.result = Json::parse(&format!("[{}]", vec!["1"; 5_000].join(",")));
        assert_eq!(
            call_rows(&tool),
            (BODY_ELEMENTS + CONTENT_ELEMENTS_MAX).div_ceil(ROW_ELEMENTS),
            "no more than is built"
        );
        let mut run = RunView::default();
        run.tools.insert("t".into(), tool);
        let item = Item::Tool("t".into());
        assert_eq!(row_weight(&run, Some(&item), |_| false), 1);
        assert_eq!(row_weight(&run, Some(&item), |_| true), 104);
    }

    #[test]
    fn a_text_weighs_what_it_is_made_of() {
        assert_eq!((text_rows(""), text_rows("A sentence. Another one.")), (1, 1));
        let table = "| a | b | c |\n".repeat(100);
        assert_eq!(text_rows(&table), 500_usize.div_ceil(ROW_ELEMENTS));
        assert_eq!(text_rows(&table.repeat(1000)), 75, "no more than can be there");
    }
}
