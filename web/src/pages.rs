//! The two pages: the full page, and the bare page.

use leptos::prelude::*;

use crate::components::{
    Aloud, Connection, Conversations, DropVeil, Overlay, Panel, ReplayBar, StatusBar, Timeline, TopBar,
    Transcript,
};
use crate::modules::{self, from_module};
use crate::page_modules::PageModule;
use crate::store::{Sheet, use_store};

/// The full page: bars, list, conversation and panel; the wall in place of panel and timeline while it is
/// shown. What screen readers are told is outside of `.app`, which is inert below a dialog.
#[component]
pub(crate) fn Full() -> impl IntoView {
    let store = use_store();
    view! {
        <Aloud />
        <div class="app" class:walled=move || store.panel.wall.get()>
            <a class="skip" href="#transcript">"Skip to the conversation"</a>
            <TopBar />
            <ReplayBar />
            <Conversations />
            <Transcript />
            {move || if store.panel.wall.get() {
                from_module(PageModule::Wall, modules::wall).into_any()
            } else {
                view! { <Panel /> <Timeline /> }.into_any()
            }}
            <StatusBar />
        </div>
        {move || (store.panel.sheet.get() != Sheet::None).then(|| view! {
            <div class="veil under" on:click=move |_| store.panel.sheet.set(Sheet::None)></div>
        })}
        <Overlay />
        <DropVeil />
    }
}

/// The bare page: the conversation alone, with everything unfolded, for recordings, measurements and frames
/// of other pages.
#[component]
pub(crate) fn Bare() -> impl IntoView {
    view! {
        <div class="app bare">
            <Transcript />
            <div class="sr"><Connection /></div>
        </div>
    }
}
