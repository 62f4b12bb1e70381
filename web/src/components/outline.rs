//! The Outline tab of the panel: questions, headings and failures of the conversation, each a way to its place.

use leptos::prelude::*;

use super::icon::icon;
use crate::outline::{Entry, EntryKind, Outline, outline};
use crate::store::{Store, use_store};

/// The outline, read again once a second while the conversation grows.
fn read(store: Store) -> Memo<Outline> {
    let grown = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.live.track();
        store.reading.now.track();
        // More of the conversation may come from the hub, with the same head.
        (store.reading.view(|view| view.seq), store.reading.part.get())
    });
    Memo::new(move |_| {
        // Read, not only tracked: a memo computes only when it is read.
        grown.with(|_place| ());
        store.reading.view(outline)
    })
}

/// The Outline tab. Above the entries stand the ways to the start and to the end of the conversation.
#[component]
pub(crate) fn OutlineTab() -> impl IntoView {
    let store = use_store();
    let outline = read(store);
    let entries = move || outline.with(|outline| outline.entries.clone());
    let words = move || match outline.with(|outline| (outline.entries.len(), outline.left_out)) {
        (0, _) => Some("No questions, headings or failures so far".to_owned()),
        (_, 0) => None,
        (_, left_out) => Some(format!("{left_out} earlier ones are left out")),
    };
    view! {
        <div class="outline-ends">
            <button type="button" class="chip" data-t="to-start" on:click=move |_| store.reveal_start()>"↑ Start"</button>
            <button type="button" class="chip" data-t="to-end" on:click=move |_| store.reveal_end()>"↓ End"</button>
        </div>
        <div class="rows" data-t="outline" role="region" aria-label="Outline" tabindex="0">
            {move || words().map(|words| view! { <p class="meta pad">{words}</p> })}
            <For each=entries key=Clone::clone let:entry><Row entry=entry /></For>
        </div>
    }
}

/// An entry; a click scrolls to its place.
#[component]
fn Row(entry: Entry) -> impl IntoView {
    let store = use_store();
    let (class, shape) = match entry.kind {
        EntryKind::Question => ("hit outline-of question", None),
        EntryKind::Heading(1 | 2) => ("hit outline-of heading", None),
        EntryKind::Heading(_) => ("hit outline-of heading low", None),
        EntryKind::FailedCall | EntryKind::FailedRun => ("hit outline-of failed", Some("#cross")),
    };
    let (kind, text) = (entry.kind.word(), entry.text.clone());
    let show = move |_| store.reveal_entry(&entry);
    view! {
        <button type="button" class=class data-t="entry" data-kind=kind on:click=show>
            {shape.map(|shape| icon(shape, "err"))} <span class="sr">{kind} ": "</span> <span class="pv" dir="auto">{text}</span>
        </button>
    }
}
