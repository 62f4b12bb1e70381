//! The keys that command agents, and those of turns.
//!
//! The keys press the buttons that are on the page, so what they do and when they may is decided in one
//! place: by the component.

use leptos::prelude::*;
use model::MessageId;
use model::view::{Item, RunView};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::focused_place;
use crate::browser;
use crate::find::Place;
use crate::flow;
use crate::pieces::{self, Piece};
use crate::route;
use crate::store::Store;

/// Clicks the button with `data-act=act` near the focus; if there is none, the only such button of the page.
/// If there are several and none is near the focus, nothing is clicked: which one is meant is not clear.
/// Screen readers hear it.
pub(super) fn press(store: Store, act: &str) {
    let selector = format!("[data-act={act}]:not([disabled])");
    let document = browser::document();
    let around =
        document.active_element().and_then(|it| it.closest("[data-call], [data-run]").ok().flatten());
    let near = around.and_then(|it| it.query_selector(&selector).ok().flatten());
    let found = near.or_else(|| {
        let all = document.query_selector_all(&selector).ok()?;
        all.get(0).filter(|_| all.length() == 1)?.dyn_into().ok()
    });
    match found.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
        Some(button) => button.click(),
        None => store.spoken.set("Nothing here can be approved, rejected or retried".to_owned()),
    }
}

/// Edits the focused call, otherwise the message of the turn.
pub(super) fn edit(store: Store) {
    if matches!(focused_place(), Some(Place::Tool(..))) {
        return press(store, "edit");
    }
    match message(store).filter(|_| untrack(|| store.can_ask_again())) {
        Some(message) => store.control.editing.set(Some(message)),
        None => press(store, "edit"),
    }
}

/// Opens a new conversation and focuses the composer.
pub(super) fn begin(_: Store) {
    browser::follow_link(route::NEW);
    browser::after(50, || browser::focus("composer"));
}

/// Forks the conversation after the focused turn.
pub(super) fn fork(store: Store) {
    if let Some(message) = message(store).filter(|_| untrack(|| store.can_fork())) {
        store.fork_after(&message);
    }
}

/// Copies the focused turn.
pub(super) fn copy(store: Store) {
    if let Some(message) = message(store) {
        store.copy_turn(&message);
    }
}

/// The message with which the focused turn begins; without a focus, that of the last turn.
fn message(store: Store) -> Option<MessageId> {
    let place = focused_place();
    if let Some(Place::Message(message)) = place {
        return Some(message);
    }
    let of = match place {
        Some(Place::Tool(run, id)) => Some((run, Item::Tool(id))),
        Some(Place::Part(run, id)) => Some((run, Item::Part(id))),
        _ => None,
    };
    store.reading.view(|view| {
        let pieces = pieces::pieces(view);
        let at = of.and_then(|(id, item)| {
            let run = view.runs.get(&id)?;
            pieces::piece_of(&pieces, &id, run, &lanes_of(run, item))
        });
        let before = pieces.get(..at.unwrap_or(pieces.len())).unwrap_or_default();
        let is_users = |id: &&MessageId| view.messages.get(*id).is_some_and(|it| it.role == "user");
        let mut messages = before.iter().rev().filter_map(|piece| match piece {
            Piece::Message(id) => Some(id),
            Piece::Section { .. } => None,
        });
        messages.find(is_users).cloned()
    })
}

/// `item` and the sub-agents that contain it, from the innermost to the outermost.
fn lanes_of(run: &RunView, item: Item) -> Vec<Item> {
    let agent = match &item {
        Item::Tool(id) => run.tools.get(id).and_then(|tool| tool.agent.as_ref()),
        Item::Part(id) => run.parts.get(id).and_then(|part| part.agent.as_ref()),
        Item::Agent(_) | Item::Note(_) => None,
    };
    let lanes = agent.map(|agent| flow::lanes_to(run, agent)).unwrap_or_default();
    std::iter::once(item).chain(lanes.into_iter().map(Item::Agent)).collect()
}
