//! Texts of an answer that are still streamed, and files.
//!
//! ```text
//! part of the view ─▶ Answer  ─▶ MarkdownBox     text and refusals
//!                  ─▶ Growing ─▶ PlainBox        thinking, arguments while they are written, output of a tool
//!                  ─▶ File                       a data: image is shown, anything else is a link
//! ```
//!
//! The boxes of `dom` keep what they have drawn and add to it; Leptos would write the whole text anew with
//! each delta.

use leptos::html;
use leptos::prelude::*;
use model::fold::ViewChange;
use model::view::{Item, PartView};
use model::{PartId, RunId};

use crate::dom::{MarkdownBox, PlainBox};
use crate::find::Place;
use crate::store::{Store, use_store};

/// The longest `data:` image that is shown, in bytes.
const IMAGE_BYTES_MAX: usize = 4 << 20;

/// Reads a part, and tracks it. `None` if it is not, or no longer, in the view.
pub(super) fn part<T>(
    store: Store,
    run: &RunId,
    id: &PartId,
    read: impl FnOnce(&PartView) -> T,
) -> Option<T> {
    store.reading.track(&ViewChange::Item(run.clone(), Item::Part(id.clone())));
    store.reading.view(|view| view.runs.get(run)?.parts.get(id).map(read))
}

/// Whether a part still grows: neither the part nor its run has ended.
fn is_growing(store: Store, run: &RunId, part: &PartView) -> bool {
    part.ended_at.is_none()
        && store.reading.view(|view| view.runs.get(run).is_some_and(model::view::RunView::is_running))
}

/// A text of the answer, as Markdown, with the caret at its end while it grows.
///
/// Of a very long text the beginning is taken out of the document while the view follows the end; a button
/// brings it back, and so does a hit of Find in it.
#[component]
pub(super) fn Answer(run: RunId, id: PartId, #[prop(optional)] is_refusal: bool) -> impl IntoView {
    let store = use_store();
    let node = NodeRef::<html::Div>::new();
    let (hidden, wants_all) = (RwSignal::new(false), RwSignal::new(store.reading.is_bare));
    let mut shown: Option<MarkdownBox> = None;
    let place = Place::Part(run.clone(), id.clone());
    Effect::new(move |_| {
        if store.reading.sought.with(|sought| sought.as_ref().is_some_and(|sought| sought.place == place)) {
            wants_all.set(true);
        }
    });
    Effect::new(move |_| {
        let Some(element) = node.get() else { return };
        let shown = shown.get_or_insert_with(|| MarkdownBox::new(element.into()));
        part(store, &run, &id, |part| shown.show(&part.body.text, is_growing(store, &run, part)));
        if wants_all.get() {
            shown.show_hidden();
            hidden.set(false);
        } else if store.reading.following.get_untracked() {
            // Only while following: text that the reader is reading must not be removed.
            hidden.set(shown.trim());
        }
    });
    let all = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        wants_all.set(true);
    };
    view! {
        {is_refusal.then(|| view! { <div class="meta">"The model declined"</div> })}
        {move || hidden.get().then(|| view! {
            <button type="button" class="more" data-t="furniture" on:click=all>"Show the beginning of this text"</button>
        })}
        <div class="ans" data-t="answer" node_ref=node></div>
    }
}

/// A complete text as Markdown, such as an earlier answer in a conversation that was imported.
#[component]
pub(super) fn Written(text: String) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        if let Some(element) = node.get() {
            MarkdownBox::new(element.into()).show(&text, false);
        }
    });
    view! { <div class="ans" node_ref=node></div> }
}

/// A plain text that may grow.
#[component]
pub(super) fn Growing(
    /// Calls its argument with the text and whether it still grows; tracks what it reads.
    read: impl Fn(&mut dyn FnMut(&str, bool)) + 'static,
    /// The CSS class of the box.
    class: &'static str,
    /// Whether the box scrolls to its end while it grows.
    #[prop(optional)]
    newest: bool,
) -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    let mut shown: Option<PlainBox> = None;
    Effect::new(move |_| {
        let Some(element) = node.get() else { return };
        let at_end = element.scroll_height() - element.client_height() - element.scroll_top() <= 8;
        let shown = shown.get_or_insert_with(|| PlainBox::new(element.clone().into()));
        read(&mut |text, grows| shown.show(text, grows));
        if newest && at_end {
            element.set_scroll_top(element.scroll_height());
        }
    });
    view! { <div class=class node_ref=node tabindex="0"></div> }
}

/// A file. An image inside the stream is shown; a file from elsewhere is only linked, never fetched.
#[component]
pub(super) fn File(run: RunId, id: PartId) -> impl IntoView {
    let store = use_store();
    let url = move || part(store, &run, &id, |part| part.body.text.to_string()).unwrap_or_default();
    move || {
        let url = url();
        let is_image = ["png", "jpeg", "gif", "webp"].iter().any(|kind| {
            url.strip_prefix("data:image/")
                .is_some_and(|rest| rest.starts_with(kind) && rest.contains(";base64,"))
        });
        if is_image && url.len() <= IMAGE_BYTES_MAX {
            view! { <img class="file" alt="An image of the answer" src=url /> }.into_any()
        } else if url.starts_with("https://") || url.starts_with("http://") {
            let name = crate::preview::one_line(&url);
            view! {
                <p class="file"><a href=url target="_blank" rel="noopener noreferrer">"Open file: " {name}</a></p>
            }
            .into_any()
        } else {
            let kind = url.split([';', ',']).next().unwrap_or_default().chars().take(60).collect::<String>();
            view! { <p class="file meta">"A file (" {kind} ")"</p> }.into_any()
        }
    }
}
