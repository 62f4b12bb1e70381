//! The keys, explained.

use leptos::html;
use leptos::prelude::*;

use super::icon::icon;
use crate::store::use_store;

const KEYS: [(&str, &str); 9] = [
    ("1  2  3", "Answer, steps, all"),
    ("c", "Only the answer, and back"),
    ("f  End", "Follow the end"),
    ("j  k", "Next, previous row"),
    ("Enter", "Open or close the row"),
    ("s", "Tools"),
    ("/", "Filter conversations"),
    ("?", "These keys"),
    ("Esc", "Close"),
];

/// The dialog, while it is asked for.
#[component]
pub(crate) fn Help() -> impl IntoView {
    let store = use_store();
    move || store.help.get().then(|| view! { <Keys /> })
}

#[component]
fn Keys() -> impl IntoView {
    let store = use_store();
    let close = NodeRef::<html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = close.get() {
            drop(button.focus());
        }
    });
    let rows = KEYS.map(|(key, word)| view! { <dt><kbd>{key}</kbd></dt><dd>{word}</dd> });
    view! {
        <div class="veil" on:click=move |_| store.help.set(false)>
            <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" on:click=|event| event.stop_propagation()>
                <div class="atabs"><h2>"Keys"</h2><span class="grow"></span>
                    <button type="button" class="icon" aria-label="Close" node_ref=close
                        on:click=move |_| store.help.set(false)>{icon("#cross", "")}</button>
                </div>
                <dl>{rows}</dl>
            </div>
        </div>
    }
}
