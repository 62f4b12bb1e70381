//! The wall: all conversations as tiles, those that need a person first. Tiles are drawn from the rows of the
//! list; only the tile on which the pointer or the focus rests is subscribed to.

use leptos::prelude::*;
use model::ConversationId;
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusEvent, HtmlElement, KeyboardEvent};

use super::conversations::{FilterInput, FilterTrouble, arranged, slow_clock};
use super::tile::Tile;
use crate::browser;
use crate::fleet::{self, Filter, Line, List};
use crate::model::Model;
use crate::store::use_store;
use crate::wall::{self, TILES};

/// How long the pointer or the focus must rest on a tile before it is subscribed to, in milliseconds:
/// crossing the wall subscribes to nothing.
const REST_MS: i32 = 300;

/// The wall, with its filter and pages. It shows the same rows in the same order as the list, without the
/// headings; while the pointer or the focus is on it, tiles keep their places.
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
    let all = Memo::new(move |_| {
        list.with(|list| {
            let rows = list.lines.iter().filter_map(|line| match line {
                Line::Row(id) => Some(id.clone()),
                Line::Head(_) => None,
            });
            rows.collect::<Vec<_>>()
        })
    });
    let page = Memo::new(move |_| wall::page(wanted_page.get(), all.with(Vec::len)));
    let tiles = move || {
        // Tracked before what depends on it: an effect that reads the two in the other order is not run when
        // `all` alone changes.
        all.track();
        let first = page.get().saturating_mul(TILES);
        all.with(|all| all.iter().skip(first).take(TILES).cloned().collect::<Vec<_>>())
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
        <section class="wall" id="wall" role="main" aria-label="All conversations" data-t="wall" tabindex="-1"
            on:pointerenter=move |_| pointed.set(true) on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |_| focused.set(is_on_tile())
            on:focusout=move |event| if !stays(&event) { focused.set(false) }
            on:keydown=move |event| move_focus(&event)>
            <div class="wall-head">
                <p class="meta num">{move || words(&list.get(), all.with(Vec::len), store.reading.model(Model::total))}</p>
                <span class="search"><FilterInput id="wall-filter" /></span>
                <FilterTrouble />
                <span class="grow"></span>
                {move || (held() > 0).then(|| view! {
                    <button type="button" class="resort num" on:click=sort>{held()} " changed · sort again"</button>
                })}
                <Pager all=all page=page wanted=wanted_page />
            </div>
            <div class="tiles">
                <For each=tiles key=Clone::clone let:id><Tile id=id looked=looked /></For>
            </div>
            {move || (all.with(Vec::is_empty) && !filter.with(Filter::is_empty)).then(|| view! {
                <p class="meta pad">"No conversation fits the filter. "
                    <button type="button" class="link" on:click=move |_| store.panel.filter.set(String::new())>"Show all"</button></p>
            })}
            {move || (all.with(Vec::is_empty) && filter.with(Filter::is_empty)).then(|| view! {
                <p class="meta pad">"No conversation yet. " <a class="link" data-in="" href="/">"How to connect an agent"</a></p>
            })}
        </section>
    }
}

/// How many conversations there are, and how many of them need a person or run. `all` is how many fit the
/// filter, `total` how many the hub has.
fn words(list: &List, all: usize, total: u64) -> String {
    let [needs, running, _] = list.counts;
    let mut words = match fleet::extent(all, total) {
        Some(extent) => vec![format!("{extent} conversations")],
        None => vec![crate::format::counted(all, "conversation")],
    };
    words.extend((needs > 0).then(|| format!("{needs} need you")));
    words.extend((running > 0).then(|| format!("{running} running")));
    words.join(" · ")
}

/// Buttons that turn the pages of the wall, if it has more than one; [`TILES`] are on each.
#[component]
fn Pager(all: Memo<Vec<ConversationId>>, page: Memo<usize>, wanted: RwSignal<usize>) -> impl IntoView {
    let pages = Memo::new(move |_| wall::pages(all.with(Vec::len)));
    move || {
        (pages.get() > 1).then(|| {
            let back = move |_: leptos::ev::MouseEvent| wanted.set(page.get_untracked().saturating_sub(1));
            let is_last = move || pages.get() <= page.get().saturating_add(1);
            let forward = move |_: leptos::ev::MouseEvent| wanted.set(page.get_untracked().saturating_add(1));
            view! {
                <span class="pager num" data-t="pager">
                    <button type="button" class="chip" prop:disabled=move || page.get() == 0 on:click=back>"Back"</button>
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
fn look_at_rested(store: crate::store::Store) -> RwSignal<Option<ConversationId>> {
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

/// Moves the focus among the tiles with the keys that [`wall::step`] knows. The number of columns is
/// measured: it depends on the width of the page.
fn move_focus(event: &KeyboardEvent) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    let document = browser::document();
    let Ok(found) = document.query_selector_all(".tile") else { return };
    let tiles: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let top = tiles.first().map_or(0, HtmlElement::offset_top);
    let columns = tiles.iter().take_while(|tile| tile.offset_top() == top).count();
    let focused = document.active_element();
    let at = tiles.iter().position(|tile| focused.as_ref().is_some_and(|it| tile.is_same_node(Some(it))));
    if let Some(tile) = wall::step(&event.key(), at, tiles.len(), columns).and_then(|to| tiles.get(to)) {
        event.prevent_default();
        drop(tile.focus());
    }
}
