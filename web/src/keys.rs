//! The keyboard: single keys, off inside inputs and with a modifier.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use crate::browser;
use crate::open::Level;
use crate::store::{Sheet, Store};
use leptos::prelude::*;

/// Listens for as long as the page lives.
pub(crate) fn listen(store: Store) {
    browser::listen(&browser::document(), "keydown", move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing() {
            return;
        }
        let key = event.key();
        let is_taken =
            if is_in_input(&event) { key == "Escape" && leave_input() } else { press(store, &key) };
        if is_taken {
            event.prevent_default();
        }
    });
}

fn is_in_input(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|it| matches!(it.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT"))
}

fn leave_input() -> bool {
    let focused = browser::document().active_element().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    focused.is_some_and(|it| it.blur().is_ok())
}

/// Does what `key` says; false when it says nothing here.
fn press(store: Store, key: &str) -> bool {
    match key {
        "1" => store.choose_level(Level::Answer),
        "2" => store.choose_level(Level::Steps),
        "3" => store.choose_level(Level::All),
        "c" => store.toggle_level(),
        "f" | "End" => store.follow(),
        // The browser's own keys that move up: the view no longer follows, the browser moves.
        "ArrowUp" | "PageUp" | "Home" => {
            store.release();
            return false;
        }
        "s" => store.toggle_tools(),
        "/" => focus_filter(store),
        "?" => store.help.update(|on| *on = !*on),
        "j" => move_focus(store, 1),
        "k" => move_focus(store, -1),
        "Escape" if store.help.get_untracked() => store.help.set(false),
        "Escape" if store.sheet.get_untracked() != Sheet::None => store.sheet.set(Sheet::None),
        _ => return false,
    }
    true
}

fn focus_filter(store: Store) {
    if browser::width() < 800.0 {
        store.sheet.set(Sheet::List);
    }
    let filter = browser::document().get_element_by_id("filter");
    if let Some(filter) = filter.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
        drop(filter.focus());
    }
}

/// Moves the focus among the rows of the conversation, from the focused one or from the first that can be seen.
fn move_focus(store: Store, by: isize) {
    store.release();
    let document = browser::document();
    let Ok(found) = document.query_selector_all(".scroll [data-nav]") else { return };
    let rows: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let focused = document.active_element();
    let at = rows.iter().position(|row| focused.as_ref().is_some_and(|it| it.is_same_node(Some(row))));
    let next = match at {
        Some(at) => at.checked_add_signed(by),
        None => rows.iter().position(|row| row.get_bounding_client_rect().top() >= 44.0),
    };
    if let Some(row) = next.and_then(|next| rows.get(next)) {
        drop(row.focus());
    }
}
