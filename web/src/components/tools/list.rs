//! Scrolling of the list of calls, and the keys that move among its rows.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::super::tool_row::row_id;
use crate::browser;
use crate::follow::Place;
use crate::latency::ToolLatencies;
use crate::store::Store;

/// The scroll position of a list, in CSS pixels.
pub(super) fn place_of(list: &Element) -> Place {
    Place {
        top: f64::from(list.scroll_top()),
        window: f64::from(list.client_height()),
        content: f64::from(list.scroll_height()),
    }
}

/// Scrolls to a new call, if `follows` returns true then: to the newest call of the newest run, as little as
/// possible. It is an effect: it ends with the component.
pub(super) fn keep_newest_in_view(
    store: Store,
    groups: Memo<Vec<ToolLatencies>>,
    follows: impl Fn() -> bool + 'static,
) {
    Effect::new(move |was: Option<usize>| {
        let count = groups.with(|groups| groups.iter().map(|group| group.calls.len()).sum::<usize>());
        if was.is_some_and(|was| was < count) && follows() {
            let newest = store.reading.view(|view| {
                let (run, newest) = view.runs.iter().next_back()?;
                Some(row_id(run, newest.tools.keys().next_back()?))
            });
            browser::before_paint(move || {
                let row = newest.and_then(|id| browser::document().get_element_by_id(&id));
                if let Some(row) = row {
                    row.scroll_into_view_with_scroll_into_view_options(&nearest());
                }
            });
        }
        count
    });
}

/// Options that scroll as little as possible.
fn nearest() -> web_sys::ScrollIntoViewOptions {
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Nearest);
    options
}

/// Moves the focus among the rows with the arrow keys, Home and End; nothing if no row has the focus.
pub(super) fn move_focus(event: &KeyboardEvent) {
    let document = browser::document();
    let Ok(found) = document.query_selector_all("[data-t=tool-row]") else { return };
    let rows: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let focused = document.active_element();
    let Some(at) = rows.iter().position(|row| focused.as_ref().is_some_and(|it| row.is_same_node(Some(it))))
    else {
        return;
    };
    let to = match event.key().as_str() {
        "ArrowDown" => at.checked_add(1),
        "ArrowUp" => at.checked_sub(1),
        "Home" => Some(0),
        "End" => rows.len().checked_sub(1),
        _ => return,
    };
    event.prevent_default();
    // The conversation handles these keys too.
    event.stop_propagation();
    if let Some(row) = to.and_then(|to| rows.get(to)) {
        drop(row.focus());
    }
}
