//! What lies over the page: the keys, the palette, settings, export, order, the choice for a comparison, deletion. One is
//! shown at a time; Escape closes it.
//!
//! ```text
//! store.open_dialog(…) ─▶ page inert, focus kept ─▶ Overlay draws the dialog ─▶ Escape, the cross, a click beside it ─▶ focus back
//! ```

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::compare::Choice;
use super::copy::Copy;
use super::dialog::Dialog;
use super::label::Order;
use super::palette::Palette;
use super::settings::Settings;
use super::share::Share;
use crate::browser::{self, Deletion};
use crate::deleting::{GOES, STAYS};
use crate::exports::{self, EXPORTS};
use crate::keys::COMMANDS;
use crate::modules::{self, from_module};
use crate::page_modules::PageModule;
use crate::rights::ReaderAction;
use crate::route;
use crate::store::{OpenDialog, use_store};

/// The open dialog, if any, over the page. The module that draws dialogs is fetched when the first one is
/// opened.
#[component]
pub(crate) fn Overlay() -> impl IntoView {
    let store = use_store();
    move || {
        let dialog = store.panel.dialog.get();
        (dialog != OpenDialog::None)
            .then(|| from_module(PageModule::Dialogs, move || modules::dialog(dialog)))
    }
}

/// What draws the dialog that is open; nothing for [`OpenDialog::None`].
pub(crate) fn shown_dialog(dialog: OpenDialog) -> AnyView {
    match dialog {
        OpenDialog::None => ().into_any(),
        OpenDialog::Help => view! { <Keys /> }.into_any(),
        OpenDialog::Palette => view! { <Palette /> }.into_any(),
        OpenDialog::Settings => view! { <Settings /> }.into_any(),
        OpenDialog::Export => view! { <Export /> }.into_any(),
        OpenDialog::Order => view! { <Order /> }.into_any(),
        OpenDialog::Compare => view! { <Choice /> }.into_any(),
        OpenDialog::Delete => view! { <Delete /> }.into_any(),
        OpenDialog::Share => view! { <Share /> }.into_any(),
    }
}

/// The list of keys and what they do, without the commands that the hub cannot execute.
#[component]
fn Keys() -> impl IntoView {
    let store = use_store();
    let rows = COMMANDS.into_iter().filter(move |command| command.is_offered(store)).map(|command| {
        let key = |key: &'static str| match key {
            "or" => view! { <span class="meta">"or "</span> }.into_any(),
            key => view! { <kbd>{key}</kbd> " " }.into_any(),
        };
        let keys = command.shown.split(' ').map(key).collect_view();
        view! { <dt>{keys}</dt><dd>{command.title}</dd> }
    });
    let help = view! { <p><a href="/help" target="_blank">"Help: the documents of this version"</a></p> };
    view! { <Dialog title="Keys"><dl>{rows.collect_view()}</dl>{help}</Dialog> }
}

/// Links that export the conversation as a file, one for each of [`EXPORTS`], or why the reader may not; and a link to
/// the view, to be copied.
#[component]
fn Export() -> impl IntoView {
    let store = use_store();
    let rows = move || {
        let conversation = store.reading.conversation.get();
        let Some(conversation) = conversation else {
            return view! { <p class="meta pad">"No conversation is open"</p> }.into_any();
        };
        if let Some(why) = store.why_not(ReaderAction::Export) {
            return view! { <p class="meta pad" data-t="no-export">{why}</p> }.into_any();
        }
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

/// Asks whether to delete the conversation: its name, what is deleted, what stays, and the button that does
/// it. While a run goes on, the hub refuses; then the button stops the runs of its agents as well.
#[component]
fn Delete() -> impl IntoView {
    let store = use_store();
    let (busy, stops) = (RwSignal::new(false), RwSignal::new(false));
    let trouble = RwSignal::new(None::<String>);
    let press = move |_| {
        let Some(conversation) = store.reading.conversation.get_untracked() else { return };
        let force = if stops.get_untracked() { "?force=true" } else { "" };
        let path = format!("{}{force}", route::view_path(&conversation));
        busy.set(true);
        trouble.set(None);
        spawn_local(async move {
            let came = browser::delete(&path).await;
            // The dialog may be closed by now.
            busy.try_set(false);
            match came {
                Ok(Deletion::Done) => {
                    store.open_dialog(OpenDialog::None);
                    browser::follow_link("/");
                }
                Ok(Deletion::StillRunning) => {
                    stops.try_set(true);
                }
                Err(why) => {
                    trouble.try_set(Some(why));
                }
            }
        });
    };
    let name = move || {
        store.reading.conversation.with(|id| id.as_ref().map(ToString::to_string).unwrap_or_default())
    };
    let word = move || match (busy.get(), stops.get()) {
        (true, _) => "Deleting…",
        (false, true) => "Stop and delete",
        (false, false) => "Delete",
    };
    view! {
        <Dialog title="Delete the conversation">
            <p class="pad">"The conversation " <strong data-t="delete-name">{name}</strong> " will be deleted for everybody."</p>
            <p class="meta pad">{GOES}</p>
            <p class="meta pad">{STAYS}</p>
            {move || stops.get().then(|| view! {
                <p class="pad" role="alert" data-t="delete-runs">"It still has an active run. Agents of this hub can be stopped; if others publish more, the conversation starts over."</p>
            })}
            {move || trouble.get().map(|why| view! { <p class="pad" role="alert" data-t="delete-trouble">{why}</p> })}
            <div class="setting answers">
                <button type="button" class="act" on:click=move |_| store.open_dialog(OpenDialog::None)>"Cancel"</button>
                <button type="button" class="act" data-act="delete-now" disabled=move || busy.get() on:click=press>{word}</button>
            </div>
        </Dialog>
    }
}
