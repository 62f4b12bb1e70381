//! Buttons that copy: the exact bytes, not what is drawn. They say "Copied" only when the browser has done it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use crate::browser;
use crate::said::Words;
use crate::store::{Store, use_store};

/// How long a button says that it has copied, in milliseconds.
const SAID_MS: i32 = 1_500;

/// What a button says of what became of a click, for a while.
#[derive(Clone, Copy)]
pub(super) struct Said {
    store: Store,
    words: RwSignal<Words>,
}

impl Said {
    /// The notice beside a copy button, empty until something is copied.
    pub(super) fn new(store: Store) -> Self {
        Self { store, words: RwSignal::new(Words::default()) }
    }

    /// Copies `text`, and says whether that was done.
    pub(super) fn copy(self, text: &str) {
        self.store.copy(text, "Copied", move |is_done| {
            self.say(if is_done { "Copied" } else { "Not copied" });
        });
    }

    /// Says `words` for a while. The button may be gone by then.
    pub(super) fn say(self, words: &'static str) {
        let Some(number) = self.words.try_update(|said| said.say(words)) else { return };
        browser::after(SAID_MS, move || {
            self.words.try_update(|said| said.end(number));
        });
    }
}

/// The button; `label` stands on it while there is nothing to say.
#[component]
pub(super) fn CopyButton(
    said: Said,
    label: impl Fn() -> &'static str + Send + 'static,
    press: impl Fn() + 'static,
) -> impl IntoView {
    view! {
        <button type="button" class="copy" data-t="furniture" on:click=move |_| press()>
            {move || said.words.with(Words::now).unwrap_or_else(&label)}
        </button>
    }
}

/// A button that copies what `text` gives when it is clicked.
#[component]
pub(super) fn Copy(
    /// What to copy.
    text: impl Fn() -> String + Send + 'static,
    /// What stands on the button.
    #[prop(default = "Copy")]
    label: &'static str,
) -> impl IntoView {
    let said = Said::new(use_store());
    view! { <CopyButton said=said label=move || label press=move || said.copy(&text()) /> }
}

/// Copies the code of the block whose button was clicked: blocks are built by hand and have no listeners of their own.
pub(super) fn copy_code(event: &MouseEvent, store: Store) {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let Some(button) = target.and_then(|it| it.closest("[data-copy]").ok().flatten()) else { return };
    let code =
        button.closest(".code").ok().flatten().and_then(|block| block.query_selector("pre").ok().flatten());
    let Some(code) = code else { return };
    let text = code.text_content().unwrap_or_default();
    store.copy(&text, "Copied", move |is_done| {
        button.set_text_content(Some(if is_done { "Copied" } else { "Not copied" }));
        browser::after(SAID_MS, move || button.set_text_content(Some("Copy")));
    });
}
