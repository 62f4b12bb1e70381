//! What all dialogs have in common: a title, a button that closes, and a focus that stays inside.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::icon::icon;
use crate::browser;
use crate::store::{OpenDialog, use_store};

/// The elements that Tab reaches in a dialog.
const CONTROLS: &str = "a[href], button:not([disabled]), input, select, textarea, [tabindex='0']";

/// Keeps the focus inside a dialog: Tab on the last control goes to the first, Shift+Tab on the first to the
/// last.
pub(crate) fn go_round(event: &KeyboardEvent) {
    if event.key() != "Tab" {
        return;
    }
    let of = event.current_target().and_then(|it| it.dyn_into::<Element>().ok());
    let Some(found) = of.and_then(|it| it.query_selector_all(CONTROLS).ok()) else { return };
    let last = found.length().saturating_sub(1);
    let (from, to) = if event.shift_key() { (0, last) } else { (last, 0) };
    let control = |at| found.get(at).and_then(|it| it.dyn_into::<HtmlElement>().ok());
    let focused = browser::document().active_element();
    let is_at_end = control(from).is_some_and(|it| it.is_same_node(focused.as_ref().map(AsRef::as_ref)));
    if let Some(next) = control(to).filter(|_| is_at_end) {
        event.prevent_default();
        drop(next.focus());
    }
}

/// A dialog with a title and a button that closes it, which has the focus at first. A click beside it closes
/// it too. Tab stays inside.
#[component]
pub(super) fn Dialog(title: &'static str, children: Children) -> impl IntoView {
    let store = use_store();
    let close = NodeRef::<html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = close.get() {
            drop(button.focus());
        }
    });
    view! {
        <div class="veil" on:click=move |_| store.open_dialog(OpenDialog::None)>
            <div class="dialog" role="dialog" aria-modal="true" aria-label=title data-t="dialog"
                on:click=|event| event.stop_propagation() on:keydown=|event| go_round(&event)>
                <div class="atabs"><h2>{title}</h2><span class="grow"></span>
                    <button type="button" class="icon" aria-label="Close" node_ref=close
                        on:click=move |_| store.open_dialog(OpenDialog::None)>{icon("#cross", "")}</button>
                </div>
                {children()}
            </div>
        </div>
    }
}
