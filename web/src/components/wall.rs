//! The wall: all conversations as tiles, those that need a person first. Tiles are drawn from the rows of the
//! list; only the tile on which the pointer or the focus rests is subscribed to.

use std::collections::HashMap;

use leptos::html;
use leptos::prelude::*;
use model::ConversationId;
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusEvent, HtmlElement, KeyboardEvent};

use super::conversations::{FilterInput, FilterTrouble, arranged, slow_clock};
use super::tile::Tile;
use crate::browser;
use crate::fleet::{self, Filter, Group, Line, List};
use crate::format;
use crate::model::Model;
use crate::store::{Store, use_store};
use crate::wall::{self, Busy, TileBox, TileGrid, TileSize};

/// How long the pointer or the focus must rest on a tile before it is subscribed to, in milliseconds:
/// crossing the wall subscribes to nothing.
const REST_MS: i32 = 300;

/// The height above and below the tiles in CSS pixels: the head of the wall, and the space below.
const HEAD_PX: f64 = 60.0;

/// The space beside the tiles in CSS pixels; the styles have the same.
const SIDES_PX: f64 = 32.0;

/// How many calls a large tile has room for.
const CALLS: usize = 5;

/// The wall, with its filter and pages. It shows the same rows in the same order as the list, without the
/// headings; while the pointer or the focus is on it, tiles keep their places and sizes.
///
/// A page has as many tiles as the screen holds, and at least [`TILES_LEAST`](wall::TILES_LEAST). The busiest tiles are
/// large. Sizes change with the order, and with `slow_clock`.
#[component]
pub(crate) fn Wall() -> impl IntoView {
    let store = use_store();
    let (pointed, focused) = (RwSignal::new(false), RwSignal::new(false));
    let wanted_page = RwSignal::new(0_usize);
    let resort = Trigger::new();
    let clock = slow_clock(store);
    let filter = Memo::new(move |_| store.panel.filter.with(|text| Filter::parse(text)));
    Effect::new(move |_| {
        filter.track();
        wanted_page.set(0);
    });
    let is_held = Signal::derive(move || pointed.get() || focused.get());
    let list = arranged(store, filter, clock, is_held, resort);
    let all = listed(list);
    let root = NodeRef::<html::Section>::new();
    let grid = grid(store, root);
    let plan = plan(store, all, list, grid, clock, is_held);
    let pages = Memo::new(move |_| {
        plan.with(|plan| wall::pages(&plan.iter().map(|it| it.1).collect::<Vec<_>>(), grid.get()))
    });
    let page = Memo::new(move |_| wanted_page.get().min(pages.with(Vec::len).saturating_sub(1)));
    let tiles = move || {
        // Tracked before what depends on it: an effect that reads the two in the other order is not run when
        // `plan` alone changes.
        plan.track();
        let range = pages.with(|pages| pages.get(page.get()).cloned()).unwrap_or_default();
        plan.with(|plan| {
            plan.iter().skip(range.start).take(range.len()).map(|it| it.0.clone()).collect::<Vec<_>>()
        })
    };
    let held = move || list.with(|list| list.held_back);
    let sort = move |_| {
        pointed.set(false);
        focused.set(false);
        resort.notify();
    };
    let looked = look_at_rested(store);
    let stays = move |event: &FocusEvent| {
        let to = event.related_target().and_then(|it| it.dyn_into::<Element>().ok());
        to.is_some_and(|to| to.closest(".tile").ok().flatten().is_some())
    };
    view! {
        <section class="wall" id="wall" role="main" node_ref=root aria-label="All conversations" data-t="wall" tabindex="-1"
            on:pointerenter=move |_| pointed.set(true) on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |_| focused.set(is_on_tile())
            on:focusout=move |event| if !stays(&event) { focused.set(false) }
            on:keydown=move |event| move_focus(&event)>
            <div class="wall-head">
                <p class="meta num">
                    {move || words(&list.get(), all.with(Vec::len), store.reading.model(Model::total))}
                    {move || speed(store)}
                </p>
                <span class="search"><FilterInput id="wall-filter" /></span>
                <FilterTrouble />
                <span class="grow"></span>
                {move || (held() > 0).then(|| view! {
                    <button type="button" class="resort num" on:click=sort>{held()} " changed · sort again"</button>
                })}
                <Pager pages=Signal::derive(move || pages.with(Vec::len)) page=page wanted=wanted_page />
            </div>
            <div class="tiles">
                <For each=tiles key=Clone::clone let:id>
                    <SizedTile id=id plan=plan looked=looked />
                </For>
            </div>
            {nothing(store, all, filter)}
        </section>
    }
}

/// A tile with the size that the plan gives it.
#[component]
fn SizedTile(
    id: ConversationId,
    plan: Memo<Vec<(ConversationId, TileSize)>>,
    looked: RwSignal<Option<ConversationId>>,
) -> impl IntoView {
    let own = id.clone();
    let size = Memo::new(move |_| {
        let found =
            |plan: &Vec<(ConversationId, TileSize)>| plan.iter().find(|it| it.0 == own).map(|it| it.1);
        plan.with(found).unwrap_or(TileSize::Small)
    });
    view! { <Tile id=id size=size looked=looked /> }
}

/// The conversations of the list in order.
fn listed(list: Memo<List>) -> Memo<Vec<ConversationId>> {
    let of_line = |line: &Line| match line {
        Line::Row(id) => Some(id.clone()),
        Line::Head(_) => None,
    };
    Memo::new(move |_| list.with(|list| list.lines.iter().filter_map(of_line).collect()))
}

/// Says why there are no tiles.
fn nothing(store: Store, all: Memo<Vec<ConversationId>>, filter: Memo<Filter>) -> impl IntoView {
    move || {
        all.with(Vec::is_empty).then(|| if filter.with(Filter::is_empty) {
            view! {
                <p class="meta pad">"No conversation yet. " <a class="link" data-in="" href="/">"How to connect an agent"</a></p>
            }.into_any()
        } else {
            view! {
                <p class="meta pad">"No conversation matches the filter. "
                    <button type="button" class="link" on:click=move |_| store.panel.filter.set(String::new())>"Show all"</button></p>
            }.into_any()
        })
    }
}

/// How many conversations there are, and how many of them need a person or run. `all` is how many fit the
/// filter, `total` how many the hub has.
fn words(list: &List, all: usize, total: u64) -> String {
    let [needs, running, _] = list.counts;
    let mut words = match fleet::extent(all, total) {
        Some(extent) => vec![format!("{extent} conversations")],
        None => vec![format::counted(all, "conversation")],
    };
    words.extend(fleet::needing(needs));
    words.extend((running > 0).then(|| format!("{running} running")));
    words.join(" · ")
}

/// How fast all conversations write together, estimated; `None` if none does.
fn speed(store: Store) -> Option<String> {
    store.track_fleet();
    let now = store.reading.present.get();
    let rate = store.reading.model(|model| {
        let rows = model.fleet()?.values().filter(|row| row.written > 0);
        Some(rows.filter_map(|row| model.pulse(&row.conversation)).map(|pulse| pulse.rate(now)).sum::<u64>())
    });
    rate.filter(|rate| *rate > 0).map(|rate| format!(" · ≈ {} tok/s", format::grouped(rate)))
}

/// How many columns and rows of tiles the wall holds, measured once a second.
fn grid(store: Store, root: NodeRef<html::Section>) -> RwSignal<TileGrid> {
    let room = |width: f64, height: f64| TileGrid::of(width - SIDES_PX, height - HEAD_PX);
    let grid = RwSignal::new(room(browser::width(), 900.0));
    Effect::new(move |_| {
        store.reading.present.track();
        let Some(root) = root.get() else { return };
        let now = room(f64::from(root.client_width()), f64::from(root.client_height()));
        if grid.with_untracked(|grid| *grid != now) {
            grid.set(now);
        }
    });
    grid
}

/// The tiles in order, with their sizes. While `is_held`, those that are known keep their size.
fn plan(
    store: Store,
    all: Memo<Vec<ConversationId>>,
    list: Memo<List>,
    grid: RwSignal<TileGrid>,
    clock: Memo<u64>,
    is_held: Signal<bool>,
) -> Memo<Vec<(ConversationId, TileSize)>> {
    Memo::new(move |old: Option<&Vec<(ConversationId, TileSize)>>| {
        clock.track();
        list.track();
        let (grid, now) = (grid.get(), store.reading.present.get_untracked());
        let all = all.get();
        let busy: Vec<Busy> = store.reading.seen.with_untracked(|seen| {
            store.reading.model(|model| {
                let of = |id: &ConversationId| {
                    let row = model.fleet().and_then(|rows| rows.get(id));
                    let (did, words) = model.told(id);
                    let calls =
                        row.into_iter().flat_map(|row| row.call.iter().chain(&row.more_calls).take(CALLS));
                    let lines = did.iter().flat_map(|line| line.lines()).chain(words.lines());
                    Busy {
                        is_active: row.is_some_and(|row| fleet::group(row, now, seen) != Group::Recent),
                        recent: model.pulse(id).map_or(0, |pulse| pulse.recent(now)),
                        // A call has one line.
                        letters: calls.map(|_| 1).chain(lines.map(|line| line.chars().count())).collect(),
                    }
                };
                all.iter().map(of).collect()
            })
        });
        let old: HashMap<&ConversationId, TileSize> =
            old.into_iter().flatten().map(|(id, size)| (id, *size)).collect();
        let settled = |id: &ConversationId, size: TileSize| match old.get(id) {
            Some(old) if is_held.get_untracked() => *old,
            Some(old) => size.after(*old),
            None => size,
        };
        let sized = all.into_iter().zip(wall::sizes(&busy, grid));
        sized.map(|(id, size)| (settled(&id, size), id)).map(|(size, id)| (id, size)).collect()
    })
}

/// Buttons that turn the pages of the wall, if it has more than one.
#[component]
fn Pager(pages: Signal<usize>, page: Memo<usize>, wanted: RwSignal<usize>) -> impl IntoView {
    move || {
        (pages.get() > 1).then(|| {
            let back = move |_: leptos::ev::MouseEvent| wanted.set(page.get_untracked().saturating_sub(1));
            let is_last = move || pages.get() <= page.get().saturating_add(1);
            let forward = move |_: leptos::ev::MouseEvent| wanted.set(page.get_untracked().saturating_add(1));
            view! {
                <span class="pager num" data-t="pager">
                    <button type="button" class="chip" prop:disabled=move || page.get() == 0 on:click=back>"Previous"</button>
                    " page " {move || page.get().saturating_add(1)} " of " {move || pages.get()} " "
                    <button type="button" class="chip" prop:disabled=is_last
                        on:click=forward>"Next"</button>
                </span>
            }
        })
    }
}

/// The tile under the pointer or the focus. Once it has rested there for [`REST_MS`], its conversation is
/// opened, until it leaves. At most one conversation is open at a time, so the wall costs the hub no more
/// than the page of one conversation.
fn look_at_rested(store: Store) -> RwSignal<Option<ConversationId>> {
    let looked = RwSignal::new(None::<ConversationId>);
    Effect::new(move |_| {
        let Some(id) = looked.get() else {
            if store.panel.wall.get_untracked() {
                store.open(None);
            }
            return;
        };
        browser::after(REST_MS, move || {
            let is_same = looked.try_get_untracked().flatten().as_ref() == Some(&id);
            if is_same && store.panel.wall.get_untracked() {
                store.open(Some(id));
            }
        });
    });
    looked
}

/// Whether a tile has the focus.
fn is_on_tile() -> bool {
    let focused = browser::document().active_element();
    focused.is_some_and(|it| it.class_list().contains("tile"))
}

/// Moves the focus among the tiles with the keys that [`wall::step`] knows. Where tiles stand is measured: it
/// depends on the width of the page.
fn move_focus(event: &KeyboardEvent) {
    let is_moving = event.key().starts_with("Arrow") || matches!(event.key().as_str(), "Home" | "End");
    if !is_moving || event.ctrl_key() || event.meta_key() || event.alt_key() || is_typing() {
        return;
    }
    let document = browser::document();
    let Ok(found) = document.query_selector_all(".tile") else { return };
    let tiles: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let focused = document.active_element();
    let at = tiles.iter().position(|tile| focused.as_ref().is_some_and(|it| tile.is_same_node(Some(it))));
    let place = |tile: &HtmlElement| {
        let area = tile.get_bounding_client_rect();
        TileBox { left: area.left(), top: area.top(), right: area.right(), bottom: area.bottom() }
    };
    let boxes: Vec<TileBox> = tiles.iter().map(place).collect();
    if let Some(tile) = wall::step(&event.key(), at, &boxes).and_then(|to| tiles.get(to)) {
        event.prevent_default();
        drop(tile.focus());
    }
}

/// Whether the reader writes, so that the arrows move in the text.
fn is_typing() -> bool {
    browser::document().active_element().is_some_and(|it| it.tag_name() == "INPUT")
}
