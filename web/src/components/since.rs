//! What happened in the conversation since the reader looked, folded into a few lines above it.

use leptos::prelude::*;

use super::icon::icon;
use crate::browser;
use crate::store::use_store;

/// The lines, with a button that goes to the first new thing and one that takes the lines away. Nothing if little is new.
#[component]
pub(super) fn Since() -> impl IntoView {
    let store = use_store();
    move || {
        let since = store.reading.since.get()?;
        let heading = format!("Since you looked at {}", browser::time_of_day(since.at));
        let lines = since.lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view();
        let first = since.first;
        let go = first.map(|place| {
            let press = move |_| {
                store.reveal_text(&place);
                store.reading.since.set(None);
            };
            view! { <button type="button" class="link" data-t="since-go" on:click=press>"Go there"</button> }
        });
        Some(view! {
            <section class="since" aria-label="Since you looked" data-t="since">
                <header><strong class="num">{heading}</strong> {go} <span class="grow"></span>
                    <button type="button" class="icon" aria-label="Close" data-t="since-close"
                        on:click=move |_| store.reading.since.set(None)>{icon("#cross", "")}</button></header>
                <ul>{lines}</ul>
            </section>
        })
    }
}
