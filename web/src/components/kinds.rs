//! Arguments and results of calls in a form of their own: tables, trees, diffs, terminal output, code, to-do
//! lists, and the parts of an MCP result. A module of the page, fetched when a call is first opened.
//!
//! `tree` draws JSON, `lines` what is shown line by line, `arguments` arguments.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;

use super::output::{OutputText, Text};
use crate::dom::{self, MarkdownBox};
use crate::format;
use crate::images;
use crate::kinds::{self, Attached, Cell, Kind, Part, Table};

mod arguments;
mod lines;
mod tree;

use tree::Tree;

/// How many rows are shown at first, and how many each click adds.
const STEP: usize = 100;

/// How much of a long text is shown at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The first lines of the text.
    Preview,
    /// All of it, or as much as a browser lays out without a noticeable pause.
    Whole,
}

/// A part of a call's content that the module draws.
#[derive(Debug, Clone)]
pub(crate) enum CallContent {
    /// The arguments of the call, as JSON text.
    Arguments(Arc<str>, Extent),
    /// The result of the tool with this name; the language is that of the file which the arguments name.
    Result {
        /// The name of the tool.
        name: String,
        /// The language of the file that the arguments name; empty if they name none.
        language: String,
        /// The result as text.
        text: Arc<str>,
        /// How much of it is shown at first.
        extent: Extent,
    },
    /// Files and embeds that came with the result.
    Attached(Vec<Attached>),
}

/// Draws a part of a call's content.
pub(crate) fn draw(content: CallContent) -> AnyView {
    match content {
        CallContent::Arguments(text, extent) => {
            if let Some(read) = kinds::arguments(&text) {
                return arguments::draw(read, extent);
            }
            let is_json = model::Json::parse(&text).is_some();
            let shown = OutputText { text: text.to_string(), is_json, is_cut: false };
            view! { <Text shown=shown /> }.into_any()
        }
        CallContent::Result { name, language, text, extent } => result(&name, &language, &text, extent),
        CallContent::Attached(things) => attached(things),
    }
}

/// Draws the result `text` of the tool `name` in its own form. [`kinds::kind`] decides on the form, from the
/// tool's name and the text.
fn result(name: &str, language: &str, text: &str, extent: Extent) -> AnyView {
    let is_cut = extent == Extent::Preview;
    match kinds::kind(name, text) {
        Kind::Plain => plain(text.to_owned(), is_cut),
        Kind::Json => view! { <Tree json=text.to_owned() /> }.into_any(),
        Kind::Markdown(text) => view! { <Declared text=text /> }.into_any(),
        Kind::Table(table) => view! { <TableOf table=table /> }.into_any(),
        Kind::Diff(changed) => lines::diff(changed, extent),
        Kind::Numbered(text) => lines::code(&text, language, extent),
        Kind::Terminal(pieces) => lines::terminal(pieces, extent),
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
        Part::Sound(url) => view! { <Sound url=url /> }.into_any(),
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

/// A player for a sound. Once the browser says that it cannot decode it, that is said in its place, with a link that saves the file.
#[component]
fn Sound(url: String) -> impl IntoView {
    let is_broken = RwSignal::new(false);
    let (name, kind) = kinds::sound_file(&url);
    move || {
        if is_broken.get() {
            return view! {
                <p class="none" data-t="sound-broken">{format!("This browser cannot play the audio ({kind}). ")}
                    <a href=url.clone() download=name.clone()>"Save the file"</a></p>
            }
            .into_any();
        }
        view! {
            <audio class="file" data-t="sound" controls preload="metadata" aria-label="Audio of the result" src=url.clone()
                on:error=move |_| is_broken.set(true)></audio>
        }
        .into_any()
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
    // A column of numbers has its name above them.
    let has_numbers = |at: usize| {
        let mut cells =
            rows.iter().filter_map(|row: &Vec<Cell>| row.get(at)).filter(|it| !it.text.is_empty());
        cells.clone().next().is_some() && cells.all(|cell| cell.is_number)
    };
    let head = |(at, name): (usize, String)| view! { <th scope="col" class:num=has_numbers(at)>{name}</th> };
    let heads = columns.into_iter().enumerate().map(head).collect_view();
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

/// The files and embeds that came with a result.
fn attached(things: Vec<Attached>) -> AnyView {
    let things = things.into_iter().map(|thing| match thing {
        Attached::File(file) => part(file, true),
        Attached::Page(html) => view! { <Page html=html /> }.into_any(),
    });
    view! { <div class="parts" data-t="attached">{things.collect_view()}</div> }.into_any()
}

/// The state of an embedded HTML page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmbedState {
    /// The page is not shown.
    Closed,
    /// The page is shown without its scripts.
    Still,
    /// The page is shown with its scripts.
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
            return view! { <p class="empty meta">"This page cannot be shown: its parts are nested too deeply."</p> }.into_any();
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
            <span class="meta">"They are isolated: no network, no access to this page or to other embeds."</span>
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
            <span class="meta">"Its scripts run isolated. What it shows or asks for comes from the tool, not from Fanlight."</span>
        </div>
    }
    .into_any()
}
