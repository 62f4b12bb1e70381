//! What is drawn in the panel, while the conversation may hold the same: its elements have ids of their own, and a click on a header keeps it
//! where it is.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::store::Store;

/// Stands in the context of what is drawn in the panel: the conversation may hold the same.
#[derive(Clone, Copy)]
pub(super) struct Aside;

/// The id of an element, also where the same stands in the panel and in the conversation.
pub(super) fn own_id(id: String) -> String {
    if use_context::<Aside>().is_some() { format!("side/{id}") } else { id }
}

/// Keeps the header that was clicked where it is.
pub(super) fn hold(event: &leptos::ev::MouseEvent, store: Store) {
    if let Some(element) = event.current_target().and_then(|it| it.dyn_into::<Element>().ok()) {
        store.reading.scroller.with_value(|scroller| scroller.hold(&element));
        store.reading.set_following(false);
    }
}
