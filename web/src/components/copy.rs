//! Buttons that copy: the exact bytes, not what is drawn.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use crate::browser;
use crate::store::{Store, use_store};

/// How long a button says that it has copied, in milliseconds.
const SAID_MS: i32 = 1_500;

/// A button that copies what `text` gives when it is clicked.
#[component]
pub(super) fn Copy(
    /// What to copy.
    text: impl Fn() -> String + Send + 'static,
    /// What stands on the button.
    #[prop(default = "Copy")]
    label: &'static str,
) -> impl IntoView {
    let store = use_store();
    let said = RwSignal::new(false);
    let copy = move |_| {
        browser::copy(&text());
        said.set(true);
        store.spoken.set("Copied".to_owned());
        browser::after(SAID_MS, move || {
            // The button may be gone by then.
            said.try_set(false);
        });
    };
    view! {
        <button type="button" class="copy" data-t="furniture" on:click=copy>
            {move || if said.get() { "Copied" } else { label }}
        </button>
    }
}

/// Copies the code of the block whose button was clicked: blocks are built by hand and have no listeners of their own.
pub(super) fn copy_code(event: &MouseEvent, store: Store) {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let Some(button) = target.and_then(|it| it.closest("[data-copy]").ok().flatten()) else { return };
    let code =
        button.closest(".code").ok().flatten().and_then(|block| block.query_selector("pre").ok().flatten());
    let Some(code) = code else { return };
    let text = code.text_content().unwrap_or_default();
    browser::copy(&text);
    store.spoken.set("Copied".to_owned());
    button.set_text_content(Some("Copied"));
    browser::after(SAID_MS, move || button.set_text_content(Some("Copy")));
}
