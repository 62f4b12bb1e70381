//! The rows on the screen: as many elements as fit, whatever number of rows there is. An element shows another row when the reader
//! scrolls, and the keyboard stays with the whole.
//!
//! ```text
//! rows        0 ……… first ─────────────── first + count ……… all
//! elements          row-0 … row-(count-1), in a ring: the row at `place` is in element `place % count`
//! ```
//!
//! The sheet inside of the scrolling box is as high as all rows together, and each element is moved to its
//! place with a transform. The focus is on the box; `aria-activedescendant` names the element of the current
//! row.

use leptos::html;
use leptos::prelude::*;
use model::ConversationId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent, MouseEvent};

use super::runs::Table;
use super::table::Column;
use crate::browser;
use crate::components::{StateIcon, shape_of};
use crate::link::Status;
use crate::{fleet, route};

/// How high a row is, in pixels. The stylesheet gives rows the same height.
const ROW_PX: usize = 32;

/// How many rows are drawn above the screen and below it, so that a quick scroll shows no empty rows.
const BEYOND: usize = 6;

/// Most rows that Ctrl+A selects: the first ones of the order.
const SELECTED_MAX: usize = 1_000;

/// The part of the order that is on the screen, measured after each scroll and each change of the window's
/// size.
#[derive(Clone, Copy)]
struct Window {
    /// The place of the first row that is drawn, from 0.
    first: RwSignal<usize>,
    /// How many elements there are: the rows that fit, and those beyond both edges.
    count: RwSignal<usize>,
}

/// The heads of the columns and the rows of `table`, in an element with the role `grid`.
///
/// A click on a row makes it current, a click on its box selects it, a click on its title opens the
/// conversation. While the pointer is on the rows, `table.is_held` is set and the order stays.
#[component]
pub(super) fn Grid(table: Table) -> impl IntoView {
    let window = Window { first: RwSignal::new(0), count: RwSignal::new(0) };
    let node = NodeRef::<html::Div>::new();
    let measure = move || {
        let Some(node) = node.get_untracked() else { return };
        let height = usize::try_from(node.client_height()).unwrap_or(0);
        let top = usize::try_from(node.scroll_top()).unwrap_or(0);
        let count = (height / ROW_PX).saturating_add(2 * BEYOND);
        let first = (top / ROW_PX).saturating_sub(BEYOND);
        if window.count.get_untracked() != count {
            window.count.set(count);
        }
        if window.first.get_untracked() != first {
            window.first.set(first);
        }
    };
    Effect::new(move |_| {
        if node.get().is_some() {
            browser::after(0, measure);
        }
    });
    browser::listen(&browser::window(), "resize", move |_: web_sys::Event| measure());
    let tracks = Memo::new(move |_| {
        table.address.with(|address| {
            let tracks: Vec<&str> = address.columns.iter().map(|column| column.track()).collect();
            format!("32px {}", tracks.join(" "))
        })
    });
    let all = Memo::new(move |_| table.order.with(|order| order.places.len()));
    let slots = move || 0..window.count.get();
    let height = move || format!("{}px", all.get().saturating_mul(ROW_PX));
    let active = Memo::new(move |_| {
        let current = table.current.get()?;
        let place = place_of(table, &current)?;
        let (first, count) = (window.first.get(), window.count.get());
        (place >= first && place < first.saturating_add(count))
            .then(|| format!("row-{}", place % count.max(1)))
    });
    view! {
        <div class="grid" role="grid" tabindex="0" aria-label="Runs" data-t="grid" node_ref=node aria-multiselectable="true"
            aria-rowcount=move || all.get().saturating_add(1).to_string()
            aria-activedescendant=move || active.get()
            on:scroll=move |_| measure()
            on:keydown=move |event| keyed(table, node, &event)
            on:click=move |event| clicked(table, &event)>
            <Heads table=table tracks=tracks />
            <div class="sheet" role="rowgroup" style:height=height
                on:pointerenter=move |_| table.is_held.set(true) on:pointerleave=move |_| table.is_held.set(false)>
                <For each=slots key=Clone::clone let:slot>
                    <Row table=table window=window nth=slot tracks=tracks />
                </For>
            </div>
            <Empty table=table all=all />
        </div>
    }
}

/// Says why there is no row: the list is loading, the hub has no run, or the filter takes none. `all` is the
/// number of rows in the order.
#[component]
fn Empty(table: Table, all: Memo<usize>) -> impl IntoView {
    let words = Memo::new(move |_| {
        let total = table.board.total.get();
        match total {
            _ if all.get() > 0 => None,
            None => Some("Loading…"),
            Some(0) => Some("No runs yet. Whatever an agent publishes to this hub appears here at once."),
            Some(_) => Some("No run matches the filter. Remove a condition to see more."),
        }
    });
    move || words.get().map(|words| view! { <p class="meta pad" data-t="empty">{words}</p> })
}

/// The heads of the columns: a click sorts, another one turns the order round. The order is part of the
/// page's address. `tracks` are the widths of the columns, as CSS wants them for a grid.
#[component]
fn Heads(table: Table, tracks: Memo<String>) -> impl IntoView {
    let heads = move || {
        let columns = table.address.with(|address| address.columns.clone());
        let head = |column: Column| {
            let sort = move || table.address.with(|address| address.sort);
            let order = move || match sort() {
                sort if sort.column != column => "none",
                sort if sort.descending => "descending",
                _ => "ascending",
            };
            let mark = move || match order() {
                "ascending" => " ↑",
                "descending" => " ↓",
                _ => "",
            };
            let class = if column.is_number() { "right" } else { "" };
            view! {
                <span role="columnheader" class=class aria-sort=order>
                    <button type="button" data-column=column.name()
                        on:click=move |_| table.address.update(|address| address.sort = address.sort.clicked(column))>
                        {column.title()} {mark}
                    </button>
                </span>
            }
        };
        columns.into_iter().map(head).collect_view()
    };
    view! {
        <div role="rowgroup" class="heads">
            <div class="line" role="row" aria-rowindex="1" style:grid-template-columns=move || tracks.get()>
                <span role="columnheader"><span class="sr">"Selected"</span></span>
                {heads}
            </div>
        </div>
    }
}

/// What an element shows. It is compared as a whole, so that a row that did not change is not drawn again.
#[derive(Debug, Clone, PartialEq)]
struct GridRow {
    /// The place of the row in the order, from 0.
    place: usize,
    /// The conversation that the row is about.
    id: ConversationId,
    title: String,
    /// The texts of the columns, in the order of the address.
    cells: Vec<String>,
    /// The state in a word; tests read it as `data-state`.
    state: &'static str,
    /// The icon and the CSS class of the state.
    shape: (&'static str, &'static str),
    /// Whether a call failed: the number of failures is then red.
    has_failed: bool,
}

/// The element `nth` of the ring. It shows whichever row has this element's place in the window, and is
/// hidden if there is none.
#[component]
fn Row(table: Table, window: Window, nth: usize, tracks: Memo<String>) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let (first, count) = (window.first.get(), window.count.get().max(1));
        // Elements follow each other in a ring, so that scrolling by a row changes one of them.
        let place = first.saturating_add((nth.saturating_add(count).saturating_sub(first % count)) % count);
        let row = table.order.with(|order| order.places.get(place).copied())?;
        let columns = table.address.with(|address| address.columns.clone());
        table.board.version.track();
        let now = table.board.now.get();
        let is_current = table.board.status.with(Status::has_socket);
        table.board.rows(|rows| {
            let (id, row) = rows.get_index(row)?;
            Some(GridRow {
                place,
                id: id.clone(),
                title: fleet::title(row).to_owned(),
                cells: columns.iter().map(|column| column.text(row, now)).collect(),
                state: fleet::state(row, now),
                shape: shape_of(Some(row), is_current, now),
                has_failed: row.failed > 0,
            })
        })
    });
    let is_there = Memo::new(move |_| shown.with(Option::is_some));
    let of =
        move |read: fn(&GridRow) -> String| shown.with(|shown| shown.as_ref().map(read)).unwrap_or_default();
    let is_selected = Memo::new(move |_| {
        shown.with(|shown| {
            shown.as_ref().is_some_and(|shown| table.selected.with(|all| all.contains(&shown.id)))
        })
    });
    let is_current = Memo::new(move |_| {
        shown.with(|shown| {
            shown.as_ref().is_some_and(|shown| table.current.with(|id| id.as_ref() == Some(&shown.id)))
        })
    });
    let shape =
        Signal::derive(move || shown.with(|shown| shown.as_ref().map_or(("#dot", "gone"), |it| it.shape)));
    let cells = move || {
        let columns = table.address.with(|address| address.columns.clone());
        let cell = |(at, column): (usize, Column)| {
            let text = Memo::new(move |_| {
                shown.with(|it| it.as_ref().and_then(|it| it.cells.get(at).cloned())).unwrap_or_default()
            });
            let inside = match column {
                Column::State => view! { <StateIcon shape=shape /> <span>{move || text.get()}</span> }.into_any(),
                Column::Title => view! {
                    <a tabindex="-1" href=move || of(|it| route::path_of(&it.id)) title=move || of(|it| it.id.to_string())>
                        {move || text.get()}
                    </a>
                }
                .into_any(),
                _ => view! { <span title=move || text.get()>{move || text.get()}</span> }.into_any(),
            };
            let is_bad = move || {
                column == Column::Failed && shown.with(|it| it.as_ref().is_some_and(|it| it.has_failed))
            };
            let class = match column {
                Column::State => "state",
                Column::Call => "mono",
                _ if column.is_number() => "right num",
                _ => "",
            };
            view! { <span role="gridcell" class=class class:err=is_bad data-column=column.name()>{inside}</span> }
        };
        columns.into_iter().enumerate().map(cell).collect_view()
    };
    let top = move || {
        let place = shown.with(|it| it.as_ref().map_or(0, |it| it.place));
        format!("translateY({}px)", place.saturating_mul(ROW_PX))
    };
    view! {
        <div class="line" role="row" id=format!("row-{nth}") class:gone=move || !is_there.get() class:current=move || is_current.get()
            aria-hidden=move || (!is_there.get()).then_some("true")
            aria-rowindex=move || shown.with(|it| it.as_ref().map(|it| it.place.saturating_add(2).to_string()))
            aria-selected=move || is_selected.get().to_string()
            data-t="run-row" data-conversation=move || of(|it| it.id.to_string()) data-state=move || of(|it| it.state.to_owned())
            data-place=move || of(|it| it.place.to_string())
            style:transform=top style:grid-template-columns=move || tracks.get()>
            <span role="gridcell" class="pick">
                <input type="checkbox" tabindex="-1" prop:checked=move || is_selected.get()
                    aria-label=move || of(|it| format!("Select {}", it.title)) />
            </span>
            {cells}
        </div>
    }
}

/// The place of a conversation in the order; `None` if the filter hides it or the list does not have it.
/// Takes time proportional to the number of rows.
fn place_of(table: Table, id: &ConversationId) -> Option<usize> {
    let row = table.board.rows(|rows| rows.get_index_of(id))?;
    table.order.with(|order| order.places.iter().position(|at| *at == row))
}

/// Handles a click anywhere in the grid: one on a row makes it the current row, one on its box selects it
/// too. The title is a link, which the browser follows by itself.
fn clicked(table: Table, event: &MouseEvent) {
    let target = event.target().and_then(|it| it.dyn_into::<Element>().ok());
    let row = target.as_ref().and_then(|it| it.closest("[data-place]").ok().flatten());
    let place = row.and_then(|row| row.get_attribute("data-place")).and_then(|place| place.parse().ok());
    let Some(id) = place.and_then(|place| table.at(place)) else { return };
    if target.is_some_and(|it| it.closest(".pick").ok().flatten().is_some()) {
        table.toggle(&id);
    }
    table.current.set(Some(id));
}

/// Handles a key while the grid itself has the focus.
///
/// | key | does |
/// |---|---|
/// | ↑ ↓, Page Up, Page Down, Home, End | moves the current row and scrolls to it |
/// | Space | selects the current row, or no longer |
/// | Enter | opens the current conversation in this tab |
/// | Ctrl+A, ⌘A | selects the first 1,000 rows |
/// | Escape | selects none |
///
/// Other keys, and these with a modifier, are left to the browser.
fn keyed(table: Table, node: NodeRef<html::Div>, event: &KeyboardEvent) {
    let is_on_grid = event.target() == event.current_target();
    let is_plain = !(event.ctrl_key() || event.meta_key() || event.alt_key());
    let all = table.order.with_untracked(|order| order.places.len());
    let Some(node) = node.get_untracked().filter(|_| is_on_grid && all > 0) else { return };
    let page = (usize::try_from(node.client_height()).unwrap_or(0) / ROW_PX).saturating_sub(2).max(1);
    let current = table.current.get_untracked();
    let at = current.as_ref().and_then(|id| untrack(|| place_of(table, id)));
    let to = match event.key().as_str() {
        "a" if event.ctrl_key() || event.meta_key() => {
            let ids = (0..all.min(SELECTED_MAX)).filter_map(|place| table.at(place));
            table.selected.set(ids.collect());
            None
        }
        _ if !is_plain => return,
        "ArrowDown" => Some(at.map_or(0, |at| at.saturating_add(1))),
        "ArrowUp" => Some(at.map_or(0, |at| at.saturating_sub(1))),
        "PageDown" => Some(at.unwrap_or(0).saturating_add(page)),
        "PageUp" => Some(at.unwrap_or(0).saturating_sub(page)),
        "Home" => Some(0),
        "End" => Some(all.saturating_sub(1)),
        " " => {
            if let Some(id) = &current {
                table.toggle(id);
            }
            None
        }
        "Enter" => {
            if let Some(id) = &current {
                drop(browser::window().location().assign(&route::path_of(id)));
            }
            None
        }
        "Escape" => {
            table.selected.update(indexmap::IndexSet::clear);
            None
        }
        _ => return,
    };
    event.prevent_default();
    if let Some(to) = to.map(|to| to.min(all.saturating_sub(1))) {
        table.current.set(table.at(to));
        reveal(&node, to);
    }
}

/// Scrolls as little as possible so that the row at `place` is seen. A row that is on the screen already
/// moves nothing.
fn reveal(node: &HtmlElement, place: usize) {
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let (top, row) = (number(place.saturating_mul(ROW_PX)), number(ROW_PX));
    // Below the heads, which stand on the first row's height.
    let room = node.client_height().saturating_sub(row.saturating_mul(2));
    if top < node.scroll_top() {
        node.set_scroll_top(top);
    } else if top > node.scroll_top().saturating_add(room) {
        node.set_scroll_top(top.saturating_sub(room));
    }
}
