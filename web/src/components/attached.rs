//! Files of messages: those that the reader is about to send, and those that stand in the conversation.
//!
//! ```text
//! ┌ [img] a.png PNG · 12 KB ✕   report.pdf PDF · 1 MB ✕ ┐   Attached, above the field of the composer
//! [📎]                                                     AttachButton: the browser's file dialog
//! ```

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::event::{FileKind, MessageFile};

use super::icon::icon;
use super::refused::refused;
use crate::attaching;
use crate::browser;
use crate::route;
use crate::store::{Store, use_store};
use crate::whole;

/// The files that the reader is about to send here, each with a button that takes it back, and why the last one was not
/// taken.
#[component]
pub(super) fn Attached() -> impl IntoView {
    let store = use_store();
    let files = move || {
        let files = store.attached();
        (!files.is_empty()).then(|| {
            let chips = files.into_iter().enumerate().map(|(number, file)| {
                let label = format!("Remove {}", file.name);
                let url = file.data.as_deref().filter(|_| file.kind() == Some(FileKind::Image));
                let url = url.map(|data| format!("data:{};base64,{data}", file.mime));
                view! {
                    <li class="attached" data-t="attached">
                        {url.map(|url| view! { <img alt="" src=url /> })}
                        <span class="nm">{file.name.to_string()}</span>
                        <span class="meta num">{attaching::words(&file)}</span>
                        <button type="button" class="icon" aria-label=label on:click=move |_| store.detach(number)>{icon("#cross", "")}</button>
                    </li>
                }
            });
            view! { <ul class="files" aria-label="Files to send">{chips.collect_view()}</ul> }
        })
    };
    view! {
        {files}
        {move || store.attach.problem.get().map(|why| view! { <p class="err trouble" role="alert" data-t="not-attached">{refused(&why)}</p> })}
    }
}

/// The button that opens the browser's file dialog; nothing if the agent takes no files.
#[component]
pub(super) fn AttachButton() -> impl IntoView {
    let store = use_store();
    let input = NodeRef::<html::Input>::new();
    let takes = Memo::new(move |_| store.takes_files().1);
    let chosen = move |_| {
        if let Some(input) = input.get_untracked() {
            if let Some(files) = input.files() {
                store.attach_all(&files);
            }
            // Allows the same file to be chosen again.
            input.set_value("");
        }
    };
    let ask = move |_| {
        if let Some(input) = input.get_untracked() {
            input.click();
        }
    };
    move || {
        let takes = takes.get();
        (!takes.is_empty()).then(|| {
            view! {
                <input type="file" class="sr" multiple=true tabindex="-1" aria-hidden="true" data-t="attach-file"
                    accept=attaching::accept(&takes) node_ref=input on:change=chosen />
                <button type="button" class="icon" aria-label="Attach files" title="Attach files; or paste them, or drop them here"
                    data-t="attach" on:click=ask>{icon("#plus", "")}</button>
            }
        })
    }
}

/// The contents of `file` in base64: its own, or what the hub has under its hash. The error is a sentence for the
/// reader.
async fn contents(store: Store, file: &MessageFile) -> Result<String, String> {
    if let Some(data) = &file.data {
        return Ok(data.clone());
    }
    let here = store.reading.conversation.get_untracked();
    let (Some(here), Some(hash)) = (here, &file.hash) else {
        return Err("The hub does not have it any more.".to_owned());
    };
    browser::fetch_text(&route::result_path(&here, hash)).await.map(|json| whole::text(&json))
}

/// The files of a message.
#[component]
pub(super) fn MessageFiles(files: Vec<MessageFile>) -> impl IntoView {
    let shown = files.into_iter().map(|file| view! { <ShownFile file=file /> });
    view! { <ul class="files of-message" aria-label="Files">{shown.collect_view()}</ul> }
}

/// A file of a message: an image is loaded and shown, another one is saved with a click.
#[component]
fn ShownFile(file: MessageFile) -> impl IntoView {
    let store = use_store();
    let (url, problem) = (RwSignal::new(None::<String>), RwSignal::new(None::<String>));
    let (name, words) = (file.name.to_string(), attaching::words(&file));
    let is_image = file.kind() == Some(FileKind::Image);
    let file = StoredValue::new(file);
    let load = move |then: fn(&str, &str)| {
        spawn_local(async move {
            let Some(file) = file.try_get_value() else { return };
            match contents(store, &file).await {
                Ok(data) => {
                    let address = format!("data:{};base64,{data}", file.mime);
                    then(&address, &file.name);
                    // The message may have left the page by now.
                    url.try_set(Some(address));
                }
                Err(why) => {
                    problem.try_set(Some(why));
                }
            }
        });
    };
    if is_image {
        load(|_, _| {});
    }
    let alt = name.clone();
    view! {
        <li class="attached" data-t="message-file">
            {move || url.get().filter(|_| is_image).map(|url| view! { <img class="file" alt=alt.clone() src=url /> })}
            <button type="button" class="link" title="Save" on:click=move |_| load(browser::save_as)>{name}</button>
            <span class="meta num">{words}</span>
            {move || problem.get().map(|why| view! { <span class="err">{why}</span> })}
        </li>
    }
}
