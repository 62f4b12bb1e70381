//! A strip over the conversation if it is not up to date: since when it is stale, or the hub's refusal.

use leptos::prelude::*;

use crate::browser;
use crate::link::Status;
use crate::store::use_store;

/// The strip, shown only if there is something to say: the time of which the page is, once the connection has
/// been lost for long; or why the hub refused the conversation, if an older state of it is still shown. The
/// page of a conversation that was never shown says it itself.
#[component]
pub(super) fn Strip() -> impl IntoView {
    let store = use_store();
    let stale = Memo::new(move |_| match store.link.status.get() {
        Status::Reconnecting { is_stale: true, since, .. } => Some(since),
        _ => None,
    });
    let problem = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.seq.track();
        store.reading.track_items();
        let is_there =
            store.link.status.with(Status::has_socket) && store.reading.recording.with(Option::is_none);
        store.reading.model(|model| {
            model.problem().filter(|_| is_there && !model.view().items.is_empty()).map(str::to_owned)
        })
    });
    let words = move || match stale.get() {
        Some(since) => Some(format!("Shown as of {}", browser::time_of_day(since))),
        None => problem.get(),
    };
    let state = move || if stale.get().is_some() { "stale" } else { "refused" };
    move || words().map(|words| view! { <p class="strip num" data-t="strip" data-state=state>{words}</p> })
}
