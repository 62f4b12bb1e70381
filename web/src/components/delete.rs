//! The button that opens the dialog in which a conversation is deleted, for those who may.

use leptos::prelude::*;

use crate::rights::ReaderAction;
use crate::store::{OpenDialog, use_store};

/// The button that opens the dialog; nothing for readers who may not delete, and where no conversation of
/// the hub is open.
#[component]
pub(crate) fn DeleteButton() -> impl IntoView {
    let store = use_store();
    move || {
        let is_here =
            store.reading.conversation.with(Option::is_some) && store.reading.recording.with(Option::is_none);
        (is_here && store.may(ReaderAction::Delete)).then(|| {
            view! {
                <p class="pad">
                    <button type="button" class="plain" data-act="delete"
                        on:click=move |_| store.open_dialog(OpenDialog::Delete)>"Delete…"</button>
                </p>
            }
        })
    }
}
