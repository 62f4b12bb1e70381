//! Buttons that copy exact bytes, not what is drawn. They say "Copied" only after the browser has done it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use crate::browser;
use crate::dom;
use crate::feedback::FeedbackText;
use crate::store::{Store, use_store};

/// How long a button shows the result of a click, in milliseconds.
const SAID_MS: i32 = 1_500;

/// The result of a click, shown on the button for a while and announced to screen readers.
#[derive(Clone, Copy)]
pub(super) struct CopyFeedback {
    /// The store in which results are announced.
    store: Store,
    /// What the button shows.
    words: RwSignal<FeedbackText>,
}

impl CopyFeedback {
    /// A notice that is empty until something is copied.
    pub(super) fn new(store: Store) -> Self {
        Self { store, words: RwSignal::new(FeedbackText::default()) }
    }

    /// Copies `text` and says whether that succeeded.
    pub(super) fn copy(self, text: &str) {
        self.store.copy(text, "Copied", move |is_done| {
            self.say(if is_done { "Copied" } else { "Not copied" });
        });
    }

    /// Shows `words` for a while. Does nothing if the button is gone.
    pub(super) fn say(self, words: &'static str) {
        let Some(number) = self.words.try_update(|said| said.say(words)) else { return };
        browser::after(SAID_MS, move || {
            self.words.try_update(|said| said.end(number));
        });
    }
}

/// The button. It shows `label` unless a result is shown.
#[component]
pub(super) fn CopyButton(
    said: CopyFeedback,
    label: impl Fn() -> &'static str + Send + 'static,
    press: impl Fn() + 'static,
) -> impl IntoView {
    view! {
        <button type="button" class="copy" data-t="furniture" on:click=move |_| press()>
            {move || said.words.with(FeedbackText::now).unwrap_or_else(&label)}
        </button>
    }
}

/// A button that copies the value of `text` at the time of the click.
#[component]
pub(super) fn Copy(
    /// Returns the text to be copied.
    text: impl Fn() -> String + Send + 'static,
    /// The label of the button.
    #[prop(default = "Copy")]
    label: &'static str,
) -> impl IntoView {
    let said = CopyFeedback::new(use_store());
    view! { <CopyButton said=said label=move || label press=move || said.copy(&text()) /> }
}

/// Copies the code of the block whose button was clicked, shows the source of a diagram in place of its drawing, or has one drawn again; nothing if the click was
/// elsewhere. Code blocks are built without Leptos and have no listeners of their own: the conversation listens for them all.
pub(super) fn copy_code(event: &MouseEvent, store: Store) {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let Some(button) =
        target.and_then(|it| it.closest("[data-copy], [data-turn], [data-again]").ok().flatten())
    else {
        return;
    };
    let block = button.closest(".code").ok().flatten();
    if let Some(block) = block.as_ref().filter(|_| button.has_attribute("data-turn")) {
        return dom::diagram::turn(block);
    }
    if let Some(block) = block.as_ref().filter(|_| button.has_attribute("data-again")) {
        return dom::diagram::draw_again(block);
    }
    let code = block.and_then(|block| block.query_selector("pre").ok().flatten());
    let Some(code) = code else { return };
    let text = code.text_content().unwrap_or_default();
    store.copy(&text, "Copied", move |is_done| {
        button.set_text_content(Some(if is_done { "Copied" } else { "Not copied" }));
        browser::after(SAID_MS, move || button.set_text_content(Some("Copy")));
    });
}
