//! The button that opens the dialog in which a conversation is deleted, for those who may.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::browser;
use crate::deleting::is_allowed;
use crate::store::{OpenDialog, use_store};

/// The button that opens the dialog; nothing for readers who may not delete, and where no conversation of
/// the hub is open. The hub is asked when it comes.
#[component]
pub(crate) fn DeleteButton() -> impl IntoView {
    let store = use_store();
    let may = RwSignal::new(false);
    spawn_local(async move {
        let answer = browser::fetch_text("/v1/access").await;
        // The tab may be closed by now.
        may.try_set(answer.is_ok_and(|answer| is_allowed(&answer)));
    });
    move || {
        let is_here =
            store.reading.conversation.with(Option::is_some) && store.reading.recording.with(Option::is_none);
        (may.get() && is_here).then(|| {
            view! {
                <p class="pad">
                    <button type="button" class="plain" data-act="delete"
                        on:click=move |_| store.open_dialog(OpenDialog::Delete)>"Delete…"</button>
                </p>
            }
        })
    }
}
