//! Texts line by line: diffs, terminal output, code with the numbers of its lines, prose.
//!
//! Of a long text the first lines are shown, and the rest after a click. Numbers of lines stand in an
//! attribute, so that neither a selection nor the browser's own search has them in the text.

use leptos::prelude::*;

use super::Extent;
use crate::format;
use crate::highlight::{cuts, tokens};
use crate::kinds::{self, Change, Line, Numbered, Piece};
use crate::store::use_store;

/// The number of lines that each click adds.
const STEP: usize = 500;

/// A line as it is drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// The CSS class of the line; empty for none.
    class: &'static str,
    /// The number of the line, if it has one.
    number: Option<usize>,
    /// The text with its line feed, in stretches that each have a class.
    stretches: Vec<(String, String)>,
}

/// How lines are drawn: the test id and the CSS class of their box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    name: &'static str,
    class: &'static str,
}

/// The lines of a diff with the colour of their change. A preview leaves out what is unchanged.
pub(super) fn diff(lines: Vec<Line>, extent: Extent) -> AnyView {
    let row = |Line { change, text }: Line| {
        let class = match change {
            Change::Same => "",
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Head => "head",
        };
        Row { class, number: None, stretches: vec![(String::new(), text + "\n")] }
    };
    let folded = (extent == Extent::Preview).then(|| kinds::folded(&lines).into_iter().map(row).collect());
    let look = Look { name: "diff", class: "pre diff" };
    stepped(lines.into_iter().map(row).collect(), folded, extent, look)
}

/// Terminal output with its colours.
pub(super) fn terminal(pieces: Vec<Piece>, extent: Extent) -> AnyView {
    let stretch = |Piece { text, colour, is_bold, is_faint }: Piece| {
        let colour = colour.map(|colour| format!("tint{colour}"));
        let others = [is_bold.then(|| "bold".to_owned()), is_faint.then(|| "faint".to_owned())];
        (colour.into_iter().chain(others.into_iter().flatten()).collect::<Vec<_>>().join(" "), text)
    };
    let row = |line: Vec<Piece>| Row { stretches: line.into_iter().map(stretch).collect(), ..Row::default() };
    let rows = kinds::lines(pieces).into_iter().map(row).collect();
    stepped(rows, None, extent, Look { name: "terminal", class: "pre terminal" })
}

/// Code with the numbers of its lines, coloured if `language` is known.
pub(super) fn code(numbered: &Numbered, language: &str, extent: Extent) -> AnyView {
    let text = &numbered.text;
    let tokens = tokens(language, text);
    let mut from = 0_usize;
    let mut rows = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let to = from.saturating_add(line.len());
        let stretch = |(cut, token): (std::ops::Range<usize>, Option<crate::highlight::Token>)| {
            let class = token.map(|token| token.class().to_owned()).unwrap_or_default();
            (class, text.get(cut).unwrap_or_default().to_owned())
        };
        let stretches = cuts(&tokens, from..to).into_iter().map(stretch).collect();
        rows.push(Row { class: "", number: Some(numbered.first.saturating_add(at)), stretches });
        from = to;
    }
    stepped(rows, None, extent, Look { name: "lines", class: "pre code numbered" })
}

/// A text in words, each line read from the side of its first letter.
pub(super) fn prose(text: &str, extent: Extent) -> AnyView {
    let row = |line: &str| Row { stretches: vec![(String::new(), line.to_owned())], ..Row::default() };
    let rows = text.split_inclusive('\n').map(row).collect();
    stepped(rows, None, extent, Look { name: "prose", class: "pre prose" })
}

/// The rows, a part of them at first if they are to be a preview: `preview` if it is given, otherwise the
/// first of them.
fn stepped(rows: Vec<Row>, preview: Option<Vec<Row>>, extent: Extent, look: Look) -> AnyView {
    let store = use_store();
    let count = rows.len();
    let preview = preview.unwrap_or_else(|| rows.iter().take(kinds::preview_lines(count)).cloned().collect());
    let first = kinds::preview_lines(preview.len());
    let is_all = extent == Extent::Whole || (first >= count && preview.len() >= count);
    // `None` while the preview is shown.
    let shown = RwSignal::new(is_all.then_some(STEP));
    let (rows, preview) = (StoredValue::new(rows), StoredValue::new(preview));
    let drawn = move || {
        let (part, wanted) = match shown.get() {
            None => (preview, first),
            Some(wanted) => (rows, wanted),
        };
        let is_preview = shown.get().is_none();
        part.with_value(|part| {
            let numbers = 0_usize..;
            numbers.map(|at| (is_preview, at)).zip(part.iter().take(wanted).cloned()).collect::<Vec<_>>()
        })
    };
    let rest = move || count > shown.get().unwrap_or(0);
    let label = move || match shown.get() {
        None if count <= STEP => format!("Show all {}", format::counted(count, "line")),
        shown => {
            let next = shown.unwrap_or(0).saturating_add(STEP);
            if next >= count {
                format!("Show all {}", format::counted(count, "line"))
            } else {
                format!("Show {} of {}", format::grouped(next as u64), format::counted(count, "line"))
            }
        }
    };
    let more = move |_| {
        shown.update(|shown| *shown = Some(shown.unwrap_or(0).saturating_add(STEP)));
        store.reading.tell_drawn();
    };
    view! {
        <pre class=look.class data-t=look.name tabindex="0">
            <For each=drawn key=|(key, _)| *key let:it>{draw_row(it.1)}</For>
        </pre>
        {move || rest().then(|| view! {
            <button type="button" class="more num" data-t="show-all" on:click=more>{label}</button>
        })}
    }
    .into_any()
}

/// Draws one row, with its number in an attribute.
fn draw_row(row: Row) -> AnyView {
    let Row { class, number, stretches } = row;
    let stretches = stretches.into_iter().map(|(class, text)| {
        if class.is_empty() { text.into_any() } else { view! { <span class=class>{text}</span> }.into_any() }
    });
    view! { <span class=format!("ln {class}") data-n=number>{stretches.collect_view()}</span> }.into_any()
}
