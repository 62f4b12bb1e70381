//! The edge of a pane beside the conversation. It is moved with the pointer or the arrow keys.
//!
//! The width is kept in the browser's storage under the name of the pane. It is stored when the pointer is
//! released, not with every move.

use leptos::ev::PointerEvent;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use crate::browser;
use crate::panes::Pane;

/// The edge of `pane`. The styles read the width from a variable of the root element. [`Pane`] knows the
/// bounds and what a key does.
#[component]
pub(super) fn Edge(pane: Pane) -> impl IntoView {
    let width = RwSignal::new(pane.parse(browser::setting(pane.name()).as_deref(), browser::width()));
    // The x coordinate at which the drag began, and the width at that time.
    let pulled = RwSignal::new(None::<(i32, u32)>);
    Effect::new(move |_| {
        let root = browser::document().document_element().and_then(|it| it.dyn_into::<HtmlElement>().ok());
        if let Some(root) = root {
            let name = format!("--{}", pane.name());
            drop(root.style().set_property(&name, &format!("{}px", width.get())));
        }
    });
    let keep = move || browser::keep_setting(pane.name(), &width.get_untracked().to_string());
    let press = move |event: KeyboardEvent| {
        let is_plain = !(event.ctrl_key() || event.meta_key() || event.alt_key());
        if let Some(px) = pane.pressed(width.get_untracked(), &event.key()).filter(|_| is_plain) {
            event.prevent_default();
            event.stop_propagation();
            width.set(px);
            keep();
        }
    };
    let pull = move |event: PointerEvent| {
        event.prevent_default();
        if let Some(edge) = event.current_target().and_then(|it| it.dyn_into::<Element>().ok()) {
            drop(edge.set_pointer_capture(event.pointer_id()));
        }
        pulled.set(Some((event.client_x(), width.get_untracked())));
    };
    let follow = move |event: PointerEvent| {
        if let Some((x, from)) = pulled.get_untracked() {
            width.set(pane.pulled(from, event.client_x().saturating_sub(x)));
        }
    };
    let leave = move |_: PointerEvent| {
        if pulled.get_untracked().is_some() {
            pulled.set(None);
            keep();
        }
    };
    let (narrowest, widest) = pane.bounds();
    view! {
        <div class="edge" role="separator" tabindex="0" aria-orientation="vertical" aria-label=pane.title() data-edge=pane.name()
            aria-valuemin=narrowest aria-valuemax=widest aria-valuenow=move || width.get()
            on:keydown=press on:pointerdown=pull on:pointermove=follow on:pointerup=leave on:pointercancel=leave></div>
    }
}
