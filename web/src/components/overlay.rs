//! What lies over the page: the keys, the palette, settings, export. One at a time, closed by Escape.

use leptos::html;
use leptos::prelude::*;

use super::compare::Choice;
use super::copy::Copy;
use super::icon::icon;
use super::palette::Palette;
use super::settings::Settings;
use crate::exports::{self, EXPORTS};
use crate::keys::COMMANDS;
use crate::store::{Over, use_store};

/// Whatever is asked for.
#[component]
pub(crate) fn Overlay() -> impl IntoView {
    let store = use_store();
    move || match store.over.get() {
        Over::Nothing => ().into_any(),
        Over::Help => view! { <Keys /> }.into_any(),
        Over::Palette => view! { <Palette /> }.into_any(),
        Over::Settings => view! { <Settings /> }.into_any(),
        Over::Export => view! { <Export /> }.into_any(),
        Over::Compare => view! { <Choice /> }.into_any(),
    }
}

/// A dialog with a title and a button that closes it, which has the focus at first. The focus goes back to where it was.
#[component]
pub(super) fn Dialog(title: &'static str, children: Children) -> impl IntoView {
    let store = use_store();
    let close = NodeRef::<html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = close.get() {
            drop(button.focus());
        }
    });
    view! {
        <div class="veil" on:click=move |_| store.over.set(Over::Nothing)>
            <div class="dialog" role="dialog" aria-modal="true" aria-label=title data-t="dialog"
                on:click=|event| event.stop_propagation()>
                <div class="atabs"><h2>{title}</h2><span class="grow"></span>
                    <button type="button" class="icon" aria-label="Close" node_ref=close
                        on:click=move |_| store.over.set(Over::Nothing)>{icon("#cross", "")}</button>
                </div>
                {children()}
            </div>
        </div>
    }
}

#[component]
fn Keys() -> impl IntoView {
    let store = use_store();
    let rows = COMMANDS.into_iter().filter(move |command| command.is_offered(store)).map(|command| {
        let keys = command.shown.split(' ').map(|key| view! { <kbd>{key}</kbd> " " }).collect_view();
        view! { <dt>{keys}</dt><dd>{command.title}</dd> }
    });
    view! { <Dialog title="Keys"><dl>{rows.collect_view()}</dl></Dialog> }
}

/// The conversation as a file, and as a link.
#[component]
fn Export() -> impl IntoView {
    let store = use_store();
    let rows = move || {
        let conversation = store.conversation.get();
        let Some(conversation) = conversation else {
            return view! { <p class="meta pad">"No conversation is open"</p> }.into_any();
        };
        let rows = EXPORTS.map(|export| {
            let href = exports::path(&conversation, export);
            view! {
                <a class="option" href=href download="" data-export=export.name>
                    <strong>{export.title}</strong> " " <span class="meta">{export.hint}</span>
                </a>
            }
        });
        rows.into_iter().collect_view().into_any()
    };
    let link = move || store.link(None).unwrap_or_default();
    view! {
        <Dialog title="Export">
            {rows}
            <div class="setting"><span>"A link to this view"</span><Copy text=link label="Copy link" /></div>
        </Dialog>
    }
}
