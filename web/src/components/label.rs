//! The dialog in which somebody puts a conversation in order: pin, archive, tags and a note. Each change is a command at once, the note
//! when it is saved.

use leptos::html;
use leptos::prelude::*;
use model::event::{LabelChange, is_tag};
use model::limits::{LABEL_TAG_CHARS_MAX, LABEL_TAGS_MAX};
use model::view::ConversationLabels;
use web_sys::KeyboardEvent;

use super::dialog::Dialog;
use super::icon::icon;
use super::refused::refused;
use crate::control::At;
use crate::rights::ReaderAction;
use crate::store::use_store;

/// The dialog. Without a conversation whose label this page can change it says so.
#[component]
pub(super) fn Order() -> impl IntoView {
    let store = use_store();
    let can = Memo::new(move |_| store.can_label());
    let label = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.seq.track();
        store.reading.view(|view| view.label.clone())
    });
    let trouble = move || {
        let at = At::Label(store.reading.conversation.get()?);
        store.control.read(|control| control.trouble(&at).map(str::to_owned))
    };
    let rows = move || {
        if !can.get() {
            let why = store.why_not(ReaderAction::Label).unwrap_or("No conversation is open");
            return view! { <p class="meta pad">{why}</p> }.into_any();
        }
        view! {
            <Switch name="pin" title="Pinned" words="Pin to the top" label=label is_on=|label| label.pinned
                change=|pinned| LabelChange { pinned: Some(pinned), ..LabelChange::default() } />
            <Switch name="archive" title="Archived" words="Archive" label=label is_on=|label| label.archived
                change=|archived| LabelChange { archived: Some(archived), ..LabelChange::default() } />
            <Tags label=label />
            <Note label=label />
        }
        .into_any()
    };
    view! {
        <Dialog title="Organise">
            {rows}
            {move || trouble().map(|why| view! { <p class="err pad" role="alert" data-t="label-trouble">{refused(&why)}</p> })}
            {move || label.with(|label| label.by.clone()).map(|by| view! {
                <p class="meta pad">"Changed last by " {by.to_string()}</p>
            })}
        </Dialog>
    }
}

/// A button that is pressed or not: whether `is_on` holds of the label. A click gives the command that `change` makes.
#[component]
fn Switch(
    name: &'static str,
    title: &'static str,
    words: &'static str,
    label: Memo<ConversationLabels>,
    is_on: fn(&ConversationLabels) -> bool,
    change: fn(bool) -> LabelChange,
) -> impl IntoView {
    let store = use_store();
    let now = Memo::new(move |_| label.with(is_on));
    view! {
        <div class="setting">
            <span>{title}</span>
            <button type="button" class="chip" data-t=format!("label-{name}") aria-pressed=move || now.get().to_string()
                on:click=move |_| store.label(change(!now.get_untracked()))>{words}</button>
        </div>
    }
}

/// The tags, each with a button that takes it away, and an input for more: Enter, a space or a comma ends a tag.
#[component]
fn Tags(label: Memo<ConversationLabels>) -> impl IntoView {
    let store = use_store();
    let known = Memo::new(move |_| {
        label.with(|label| label.tags.iter().map(ToString::to_string).collect::<Vec<String>>())
    });
    // What this page wants: ahead of the hub's answer, so that two changes in a row do not undo each other.
    let tags = RwSignal::new(Vec::<String>::new());
    Effect::new(move |_| tags.set(known.get()));
    let field = NodeRef::<html::Input>::new();
    let refused = RwSignal::new(None::<String>);
    let put = move |wanted: Vec<String>| {
        let change = wanted.iter().map(|tag| tag.as_str().into()).collect();
        tags.set(wanted);
        store.label(LabelChange { tags: Some(change), ..LabelChange::default() });
    };
    let add = move || {
        let Some(field) = field.get_untracked() else { return };
        let mut wanted = tags.get_untracked();
        match added(&mut wanted, &field.value()) {
            Ok(false) => {}
            Ok(true) => {
                field.set_value("");
                put(wanted);
            }
            Err(why) => return refused.set(Some(why)),
        }
        refused.set(None);
    };
    let remove = move |tag: &str| {
        put(tags.get_untracked().into_iter().filter(|other| other != tag).collect());
        if let Some(field) = field.get_untracked() {
            drop(field.focus());
        }
    };
    let hear = move |event: KeyboardEvent| {
        if matches!(event.key().as_str(), "Enter" | "," | " ") && !event.is_composing() {
            event.prevent_default();
            add();
        }
    };
    let shown = move || {
        let tag = move |tag: String| {
            let (shown, name, words) = (tag.clone(), tag.clone(), format!("Remove the tag {tag}"));
            view! {
                <li class="chip" data-tag=name>{shown} " "
                    <button type="button" class="icon" aria-label=words on:click=move |_| remove(&tag)>{icon("#cross", "")}</button></li>
            }
        };
        tags.get().into_iter().map(tag).collect_view()
    };
    view! {
        <div class="setting">
            <label for="label-tag">"Tags"</label>
            <input id="label-tag" node_ref=field placeholder="Add a tag" autocomplete="off" on:keydown=hear on:change=move |_| add() />
        </div>
        <ul class="chips tags pad" aria-label="Tags" data-t="label-tags">{shown}</ul>
        {move || refused.get().map(|why| view! { <p class="err pad" role="alert" data-t="tag-trouble">{super::refused::refused(&why)}</p> })}
    }
}

/// Adds the tags in `text` to `tags`; whether there were any. Fails with the reason for a person if one cannot be a tag, or if there
/// are too many.
fn added(tags: &mut Vec<String>, text: &str) -> Result<bool, String> {
    let before = tags.len();
    for word in text.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty()) {
        if !is_tag(word) {
            return Err(format!("A tag has at most {LABEL_TAG_CHARS_MAX} characters"));
        }
        if !tags.iter().any(|tag| tag == word) {
            tags.push(word.into());
        }
    }
    if tags.len() > LABEL_TAGS_MAX {
        return Err(format!("A conversation has at most {LABEL_TAGS_MAX} tags"));
    }
    Ok(tags.len() > before)
}

/// The note, with a button that saves it. What others write meanwhile does not replace what is being typed.
#[component]
fn Note(label: Memo<ConversationLabels>) -> impl IntoView {
    let store = use_store();
    let field = NodeRef::<html::Textarea>::new();
    let before = label.with_untracked(|label| label.note.clone()).unwrap_or_default();
    let save = move |_| {
        if let Some(field) = field.get_untracked() {
            store.label(LabelChange { note: Some(field.value()), ..LabelChange::default() });
        }
    };
    view! {
        <div class="setting"><label for="label-note">"Note"</label>
            <button type="button" class="chip" data-t="label-note-save" on:click=save>"Save the note"</button></div>
        <textarea id="label-note" class="label-note" rows="4" node_ref=field prop:value=before></textarea>
    }
}
