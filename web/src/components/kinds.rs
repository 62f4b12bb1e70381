//! Results with a form of their own: tables, trees, diffs, terminal output, and the parts of an MCP result.
//!
//! `tree` draws JSON.

use leptos::html;
use leptos::prelude::*;

use super::output::{OutputText, Text};
use crate::dom::{self, MarkdownBox};
use crate::format;
use crate::images;
use crate::kinds::{self, Attached, Cell, Change, Kind, Line, Part, Piece, Table};

mod tree;

use tree::Tree;

/// How many rows, lines or pieces are shown at first, and how many each click adds.
const STEP: usize = 100;

/// Draws the result `text` of the tool `name` in its own form. If `is_cut`, only the beginning of plain text
/// is shown at first. [`kinds::kind`] decides on the form, from the tool's name and the text.
pub(super) fn draw(name: &str, text: String, is_cut: bool) -> AnyView {
    match kinds::kind(name, &text) {
        Kind::Plain => plain(text, is_cut),
        Kind::Json => view! { <Tree json=text /> }.into_any(),
        Kind::Markdown(text) => view! { <Declared text=text /> }.into_any(),
        Kind::Table(table) => view! { <TableOf table=table /> }.into_any(),
        Kind::Diff(lines) => view! { <Lines lines=lines /> }.into_any(),
        Kind::Terminal(pieces) => terminal(pieces),
        Kind::Parts(parts) => {
            let parts = parts.into_iter().map(|it| part(it, is_cut)).collect_view();
            view! { <div class="parts" data-t="parts">{parts}</div> }.into_any()
        }
    }
}

/// A text without a form of its own.
fn plain(text: String, is_cut: bool) -> AnyView {
    view! { <Text shown=OutputText { text, is_json: false, is_cut } /> }.into_any()
}

/// A part of an MCP result. An image on another host is only a link, which loads it after a click if the
/// hub's policy allows that.
fn part(part: Part, is_cut: bool) -> AnyView {
    match part {
        Part::Text(text) => plain(text, is_cut),
        Part::Markdown(text) => view! { <Declared text=text /> }.into_any(),
        Part::Json(text) => view! { <Tree json=text /> }.into_any(),
        Part::Image(url) => view! { <img class="file" alt="An image of the result" src=url /> }.into_any(),
        Part::Elsewhere { name, url } => {
            let from = images::host_of_image(&url).map(str::to_owned);
            let head = from.is_none().then(|| view! { <span class="meta">"Not loaded: "</span> });
            view! {
                <p class="none" data-t="elsewhere">{head}
                    <a href=url data-from=from target="_blank" rel="noopener noreferrer">{name}</a></p>
            }
            .into_any()
        }
        Part::Other(name) => view! { <p class="none meta">{name}</p> }.into_any(),
    }
}

/// A text that is declared as Markdown.
#[component]
fn Declared(text: String) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        if let Some(element) = node.get() {
            MarkdownBox::new(element.into()).show(&text, false);
        }
    });
    view! { <div class="ans declared" data-t="markdown" node_ref=node></div> }
}

/// A button that shows the next [`STEP`] of `count` items, if not all are shown.
fn more(shown: RwSignal<usize>, count: usize, noun: &'static str) -> impl IntoView {
    move || {
        (shown.get() < count).then(|| {
            let label = format!(
                "Show {} more of {}",
                count.saturating_sub(shown.get()).min(STEP),
                format::counted(count, noun)
            );
            let forward = move |_| shown.update(|n| *n = n.saturating_add(STEP));
            view! { <button type="button" class="more num" on:click=forward>{label}</button> }
        })
    }
}

/// A table, a page of rows at a time.
#[component]
fn TableOf(table: Table) -> impl IntoView {
    let Table { columns, rows } = table;
    let (shown, count) = (RwSignal::new(STEP), rows.len());
    let heads = columns.into_iter().map(|name| view! { <th scope="col">{name}</th> }).collect_view();
    let rows = StoredValue::new(rows);
    let row = |cells: Vec<Cell>| {
        let cells = cells.into_iter().map(|cell| view! { <td class:num=cell.is_number>{cell.text}</td> });
        view! { <tr>{cells.collect_view()}</tr> }
    };
    let drawn = move || {
        let numbers = 0..shown.get().min(count);
        numbers
            .map(|at| (at, rows.with_value(|rows| rows.get(at).cloned()).unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    view! {
        <div class="grid" data-t="table" tabindex="0" role="region" aria-label="Result">
            <table>
                <thead><tr>{heads}</tr></thead>
                <tbody><For each=drawn key=|(at, _)| *at let:it>{row(it.1)}</For></tbody>
            </table>
        </div>
        {more(shown, count, "row")}
    }
}

/// The lines of a diff with the colour of their change, twice [`STEP`] at first.
#[component]
fn Lines(lines: Vec<Line>) -> impl IntoView {
    let (shown, count) = (RwSignal::new(STEP * 2), lines.len());
    let lines = StoredValue::new(lines);
    let drawn = move || {
        let wanted = shown.get();
        lines.with_value(|lines| lines.iter().take(wanted).cloned().enumerate().collect::<Vec<_>>())
    };
    let line = |Line { change, text }: Line| {
        let class = match change {
            Change::Same => "",
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Head => "head",
        };
        view! { <span class=class>{text} "\n"</span> }
    };
    view! {
        <pre class="pre diff" data-t="diff" tabindex="0">
            <For each=drawn key=|(at, _)| *at let:it>{line(it.1)}</For>
        </pre>
        {more(shown, count, "line")}
    }
}

/// Terminal output with its colours, five times [`STEP`] pieces at first. A piece is a stretch of one style.
fn terminal(pieces: Vec<Piece>) -> AnyView {
    let (shown, count) = (RwSignal::new(STEP * 5), pieces.len());
    let pieces = StoredValue::new(pieces);
    let drawn = move || {
        let wanted = shown.get();
        pieces.with_value(|pieces| pieces.iter().take(wanted).cloned().enumerate().collect::<Vec<_>>())
    };
    let piece = |Piece { text, colour, is_bold, is_faint }: Piece| {
        let colour = colour.map(|colour| format!("tint{colour}")).unwrap_or_default();
        view! { <span class=colour class:bold=is_bold class:faint=is_faint>{text}</span> }
    };
    view! {
        <pre class="pre terminal" data-t="terminal" tabindex="0">
            <For each=drawn key=|(at, _)| *at let:it>{piece(it.1)}</For>
        </pre>
        {more(shown, count, "piece")}
    }
    .into_any()
}

/// The files and embeds that came with a result.
pub(super) fn attached(things: Vec<Attached>) -> AnyView {
    let things = things.into_iter().map(|thing| match thing {
        Attached::File(file) => part(file, true),
        Attached::Page(html) => view! { <Page html=html /> }.into_any(),
    });
    view! { <div class="parts" data-t="attached">{things.collect_view()}</div> }.into_any()
}

/// How an embedded HTML page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmbedState {
    /// Not at all.
    Closed,
    /// Without its scripts.
    Still,
    /// With its scripts.
    Live,
}

/// The policy that is put before an embedded page, in addition to that of the hub's page, which the frame
/// inherits: it forbids requests to the hub as well.
const FIRST: &str = r#"<meta http-equiv=Content-Security-Policy content="default-src 'none';img-src data:">"#;

/// An HTML page that came with a result.
///
/// After a click it is shown in a frame without scripts, forms or an origin; after another click with its
/// scripts. It can make no requests and its links lead nowhere: [`FIRST`] restricts what it contains, the
/// frame rules of the hub's policy restrict where it navigates, and `dom::quiet` removes what connects
/// before a policy applies.
#[component]
fn Page(html: String) -> impl IntoView {
    let state = RwSignal::new(EmbedState::Closed);
    let size = format::bytes(html.len() as u64);
    move || {
        if state.get() == EmbedState::Closed {
            let label = format!("Show the page that came with the result ({size}), without its scripts");
            return view! { <button type="button" class="more" data-t="open-embed" on:click=move |_| state.set(EmbedState::Still)>{label}</button> }
                .into_any();
        }
        let Some(quiet) = dom::quiet(&html) else {
            return view! { <p class="empty meta">"This page cannot be shown: parts of it hide in one another."</p> }.into_any();
        };
        if state.get() == EmbedState::Live { live(quiet, state) } else { still(&quiet, state) }
    }
}

/// The page in a frame without scripts.
fn still(quiet: &str, state: RwSignal<EmbedState>) -> AnyView {
    let html = [FIRST, quiet].concat();
    view! {
        <iframe class="embed" data-t="embed" sandbox="" referrerpolicy="no-referrer"
            title="A page that came with the result" srcdoc=html></iframe>
        <div class="scripts">
            <button type="button" class="act" data-act="run-scripts" on:click=move |_| state.set(EmbedState::Live)>"Run its scripts"</button>
            <span class="meta">"They run shut in: no network, nothing of this page or of other embeds."</span>
        </div>
    }
    .into_any()
}

/// The page with its scripts, in a document of the hub that has no origin and a policy of its own.
fn live(quiet: String, state: RwSignal<EmbedState>) -> AnyView {
    let place = NodeRef::<html::Div>::new();
    let mut quiet = Some(quiet);
    Effect::new(move |_| {
        if let (Some(place), Some(html)) = (place.get(), quiet.take()) {
            dom::run_page(&place, html);
        }
    });
    view! {
        <div node_ref=place></div>
        <div class="scripts">
            <button type="button" class="act" data-act="stop-scripts" on:click=move |_| state.set(EmbedState::Still)>"Stop scripts"</button>
            <span class="meta">"Its scripts run, shut in. What it shows or asks for is the tool's, not Fanlight's."</span>
        </div>
    }
    .into_any()
}
