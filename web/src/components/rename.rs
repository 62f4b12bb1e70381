//! The title in the bar, and the input in its place while somebody renames the conversation.
//!
//! ```text
//! Title ✎ ──click, g r──▶ [ Title____ ] ──Enter──▶ command `label` ─▶ Title ✎
//!                              └ Escape, or the focus goes elsewhere: nothing changes
//! ```

use leptos::html;
use leptos::prelude::*;
use model::event::LabelChange;
use web_sys::KeyboardEvent;

use super::icon::icon;
use super::refused::refused;
use crate::browser;
use crate::control::At;
use crate::store::use_store;

/// The DOM id of the button that begins to rename; it has the focus afterwards.
const BUTTON: &str = "rename";

/// The title `text`, which can be renamed where commands can be given. A refusal of the hub stands beside it.
#[component]
pub(super) fn Title(text: Memo<String>) -> impl IntoView {
    let store = use_store();
    let can = Memo::new(move |_| store.can_label() && !store.panel.wall.get() && !store.control.fresh.get());
    let is_open = Memo::new(move |_| can.get() && store.control.renaming.get());
    let shown = move || if store.control.fresh.get() { "New conversation".into() } else { text.get() };
    let trouble = move || {
        let at = At::Label(store.reading.conversation.get()?);
        store.control.read(|control| control.trouble(&at).map(str::to_owned))
    };
    move || {
        if is_open.get() {
            // The page has its heading while it is changed, too.
            return view! { <h1 class="sr">{shown}</h1> <Rename text=text /> }.into_any();
        }
        view! {
            <h1 class="title">{shown}</h1>
            {move || can.get().then(|| view! {
                <button type="button" class="icon hide of-conversation" id=BUTTON aria-label="Rename" title="Rename (g r)"
                    on:click=move |_| store.control.renaming.set(true)>{icon("#pen", "")}</button>
            })}
            {move || trouble().map(|why| view! { <span class="err hide" role="alert" data-t="rename-trouble">{refused(&why)}</span> })}
        }
        .into_any()
    }
}

/// The input with the title, which has the focus and is selected. An empty one goes back to the title that the runs say.
#[component]
fn Rename(text: Memo<String>) -> impl IntoView {
    let store = use_store();
    let field = NodeRef::<html::Input>::new();
    let before = text.get_untracked();
    let own = before.clone();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            drop(field.focus());
            field.select();
        }
    });
    let leave = move || {
        store.control.renaming.set(false);
        browser::after(0, || browser::focus(BUTTON));
    };
    let hear = move |event: KeyboardEvent| {
        // The other keys are the input's, and Enter may end a word that is being composed.
        event.stop_propagation();
        if event.is_composing() {
            return;
        }
        match event.key().as_str() {
            "Enter" => {
                event.prevent_default();
                let title = field.get_untracked().map(|field| field.value().trim().to_owned());
                if let Some(title) = title.filter(|title| *title != own) {
                    store.label(LabelChange { title: Some(title), ..LabelChange::default() });
                }
                leave();
            }
            "Escape" => {
                event.prevent_default();
                leave();
            }
            _ => {}
        }
    };
    view! {
        <input class="title" node_ref=field value=before maxlength="200" aria-label="Title of the conversation" data-t="rename-field"
            on:keydown=hear on:blur=move |_| store.control.renaming.set(false) />
    }
}
