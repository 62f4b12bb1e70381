//! Elements that the panel and the conversation may show at the same time: they get ids of their own in the
//! panel, and a click on a header keeps it at its place.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::store::Store;

/// A context for what is drawn in the panel, where an element of the conversation may be shown a second time.
#[derive(Clone, Copy)]
pub(super) struct Aside;

/// The DOM id of an element. It gets a prefix in the panel, since the same element may be in the conversation
/// too.
pub(super) fn own_id(id: String) -> String {
    if use_context::<Aside>().is_some() { format!("side/{id}") } else { id }
}

/// Holds the clicked header at its place on the screen, and stops following the end of the conversation. To
/// be called before what is below the header folds or unfolds.
pub(super) fn hold(event: &leptos::ev::MouseEvent, store: Store) {
    if let Some(element) = event.current_target().and_then(|it| it.dyn_into::<Element>().ok()) {
        store.reading.scroller.with_value(|scroller| scroller.hold(&element));
        store.reading.set_following(false);
    }
}
