//! The Details tab of the panel: facts about the conversation that are shown nowhere else.

use leptos::prelude::*;

use super::delete::DeleteButton;
use crate::browser;
use crate::details::{self, Section};
use crate::route;
use crate::store::{Store, use_store};

/// Tracks what the facts depend on: once a second while events arrive, at once for rare changes.
fn look(store: Store) {
    store.reading.conversation.track();
    store.reading.recordings.track();
    store.reading.live.track();
    store.reading.running.track();
    store.reading.track_items();
    store.reading.now.track();
    if store.replay.is_on() {
        store.reading.seq.track();
    }
}

/// The Details tab: the sections of [`details`], and where the conversation was forked from. It can be
/// selected and copied while events arrive.
#[component]
pub(crate) fn Details() -> impl IntoView {
    let store = use_store();
    // The text nodes are updated in place, so that a selection stays.
    let facts = move || {
        look(store);
        let name = match store.reading.recording.get() {
            Some(recording) => recording.name,
            None => {
                store.reading.conversation.with(|id| id.as_ref().map(ToString::to_string)).unwrap_or_default()
            }
        };
        let now = store.reading.now.get_untracked();
        let status = store.link.status.get();
        let told = store.reading.model(|model| {
            let link = details::link(model, &status, browser::date_and_time);
            details::sections(model, name, now, browser::date_and_time).into_iter().chain(link)
        });
        let from = store.reading.view(|view| view.forked_from.clone()).map(|from| {
            let path = route::path_of(&from.conversation);
            view! {
                <p class="meta pad" data-t="details-origin">
                    "Forked from " <a data-in="" href=path>{from.conversation.to_string()}</a> " at seq " {from.seq}
                </p>
            }
        });
        (from, told.map(section).collect_view())
    };
    view! {
        <div class="rows" data-t="details" role="region" aria-label="Details" tabindex="0">{facts} <DeleteButton /></div>
    }
}

/// A group of facts under its title.
fn section((title, facts): Section) -> impl IntoView {
    let fact = |(name, fact)| view! { <dt>{name}</dt><dd class="num">{fact}</dd> };
    view! { <h3 class="grp">{title}</h3><dl>{facts.into_iter().map(fact).collect_view()}</dl> }
}
