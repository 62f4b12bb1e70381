//! The panel beside the conversation, with the tabs Tools, Agents, Find and Details.

use leptos::prelude::*;

use super::agents::Agents;
use super::details::Details;
use super::edge::Edge;
use super::find::Find;
use super::icon::icon;
use super::tools::Tools;
use crate::panes::Pane;
use crate::store::{Sheet, Tab, use_store};

/// The panel, with its tabs.
#[component]
pub(crate) fn Panel() -> impl IntoView {
    let store = use_store();
    let tab = |it: Tab, word: &'static str| {
        view! {
            <button type="button" role="tab" data-tab=word aria-selected=move || (store.panel.tab.get() == it).to_string()
                on:click=move |_| if it == Tab::Find { store.ask_word() } else { store.panel.tab.set(it) }>{word}</button>
        }
    };
    let tabs = [
        tab(Tab::Tools, "Tools"),
        tab(Tab::Agents, "Agents"),
        tab(Tab::Find, "Find"),
        tab(Tab::Details, "Details"),
    ];
    view! {
        <aside class="tools" class:off=move || !store.panel.is_beside.get() class:sheet=move || store.panel.sheet.get() == Sheet::Tools
            aria-label="Tools, agents, finding and details">
            <div class="atabs panel-tabs">
                <span role="tablist" aria-label="Panel">{tabs}</span>
                <span class="grow"></span>
                <button type="button" class="icon close" aria-label="Close" on:click=move |_| store.panel.sheet.set(Sheet::None)>
                    {icon("#cross", "")}
                </button>
            </div>
            <Edge pane=Pane::Panel />
            {move || match store.panel.tab.get() {
                Tab::Tools => view! { <Tools /> }.into_any(),
                Tab::Agents => view! { <Agents /> }.into_any(),
                Tab::Find => view! { <Find /> }.into_any(),
                Tab::Details => view! { <Details /> }.into_any(),
            }}
        </aside>
    }
}
