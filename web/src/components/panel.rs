//! The panel beside the conversation, with the tabs Tools, Agents, Outline, Find and Details.

use leptos::prelude::*;

use super::edge::Edge;
use super::icon::icon;
use crate::browser;
use crate::faces::has_room_beside;
use crate::modules::{self, from_module};
use crate::page_modules::PageModule;
use crate::panes::Pane;
use crate::store::{Sheet, Tab, use_store};

/// The panel and its tabs. On a wide window it is beside the conversation unless the reader hid it, on a
/// narrow one a sheet that is opened.
///
/// The content of a tab is in a module that is fetched when the panel is first seen; it is built anew
/// whenever another tab is chosen. A click on Find also puts the focus into its input.
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
        tab(Tab::Outline, "Outline"),
        tab(Tab::Find, "Find"),
        tab(Tab::Details, "Details"),
    ];
    // A page without room for the panel fetches what draws it when it is opened, or when nothing else is to do.
    let is_due = Memo::new(move |_| {
        let is_seen = store.panel.is_beside.get() && has_room_beside(browser::width());
        is_seen || store.panel.sheet.get() == Sheet::Tools || store.modules.has(PageModule::Panel)
    });
    view! {
        <aside class="tools" class:off=move || !store.panel.is_beside.get() class:sheet=move || store.panel.sheet.get() == Sheet::Tools
            aria-label="Tools, agents, outline, find and details">
            <div class="atabs panel-tabs">
                <span role="tablist" aria-label="Panel">{tabs}</span>
                <span class="grow"></span>
                <button type="button" class="icon close" aria-label="Close" on:click=move |_| store.panel.sheet.set(Sheet::None)>
                    {icon("#cross", "")}
                </button>
            </div>
            <Edge pane=Pane::Panel />
            {move || is_due.get().then(|| {
                let tab = store.panel.tab.get();
                from_module(PageModule::Panel, move || modules::panel(tab))
            })}
        </aside>
    }
}
