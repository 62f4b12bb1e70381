//! A message of the conversation.
//!
//! ```text
//! user                     at the right, plain text, what its client put around it folded, TurnActs
//! assistant                Markdown, as an answer, Rating
//! system, tool, …          ▸ role  1.2 KB  beginning …
//! ```

use leptos::prelude::*;
use model::MessageId;
use model::event::MessageFile;
use model::fold::ViewChange;
use model::instructions::told_apart;
use model::view::MessageView;

use super::aside::own_id;
use super::attached::MessageFiles;
use super::icon::Chevron;
use super::rating::Rating;
use super::text::Written;
use super::turn::{Rewrite, TurnActs};
use crate::control::Rated;
use crate::format;
use crate::open::Fold;
use crate::preview::{PREVIEW_CHARS, cut};
use crate::store::{message_id, use_store};

/// A message: the user's at the right, an earlier answer as Markdown, one of any other role (such as
/// `system`) in one line that unfolds.
#[component]
pub(super) fn Message(id: MessageId) -> impl IntoView {
    let store = use_store();
    let (dom_id, name) = (message_id(&id), id.to_string());
    let key = StoredValue::new(dom_id.clone());
    let (its_id, dom_id) = (id.clone(), own_id(dom_id));
    let message = Memo::new(move |_| {
        store.reading.track(&ViewChange::Message(id.clone()));
        store.reading.view(|view| view.messages.get(&id).cloned())
    });
    let content = move || {
        let Some(MessageView { role, text, files, .. }) = message.get() else { return ().into_any() };
        let text = text.to_string();
        match role.as_str() {
            "user" => view! { <UserMessage text=text files=files key=key id=its_id.clone() /> }.into_any(),
            "assistant" => view! {
                <Written text=text />
                <div class="answer-foot"><Rating of=Rated::Message(its_id.clone()) /></div>
            }
            .into_any(),
            _ => view! { <OtherMessage role=role.to_string() text=text key=key /> }.into_any(),
        }
    };
    view! { <div class="message" id=dom_id data-message=name>{content}</div> }
}

/// The longest message, in characters, that is shown whole at first.
const WHOLE_CHARS: usize = 2_000;

/// A message of the user as plain text, with its files and the commands for its turn. A long one is cut at first, at
/// [`WHOLE_CHARS`]. What its client put around the words is folded below them. While it is edited, the form stands below it.
#[component]
fn UserMessage(
    text: String,
    files: Vec<MessageFile>,
    key: StoredValue<String>,
    id: MessageId,
) -> impl IntoView {
    let store = use_store();
    let asked = told_apart(&text);
    let (start, is_long) = cut(asked.words, WHOLE_CHARS);
    let (start, size) = (start.to_owned(), format::bytes(asked.words.len() as u64));
    let (words, instructions) = (asked.words.to_owned(), asked.instructions.join("\n"));
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, Fold::Line)));
    let instructions_key = StoredValue::new(key.with_value(|key| format!("{key}/instructions")));
    let (its_id, first) = (id.clone(), text.clone());
    let is_edited = Memo::new(move |_| {
        store.control.editing.with(|editing| editing.as_ref() == Some(&its_id)) && store.can_ask_again()
    });
    let its_id = id.clone();
    let whole = move || if is_long && !open.get() { format!("{start}…") } else { words.clone() };
    view! {
        <div class="asked">
            <div class="user" data-row="" dir="auto">
                {whole}
                {move || (is_long && !open.get()).then(|| {
                    let show = move |_| key.with_value(|key| store.reading.choose(key, true));
                    view! { <button type="button" class="more" on:click=show>"Show all " {size.clone()}</button> }
                })}
                {(!instructions.is_empty()).then(|| view! { <Instructions text=instructions key=instructions_key /> })}
            </div>
            {(!files.is_empty()).then(|| view! { <MessageFiles files=files /> })}
            {(!store.reading.is_bare && !store.reading.is_beside).then(|| view! { <TurnActs id=id /> })}
            {move || is_edited.get().then(|| view! { <Rewrite id=its_id.clone() text=first.clone() /> })}
        </div>
    }
}

/// What a client put around the words of its user, in one line that unfolds.
#[component]
fn Instructions(text: String, key: StoredValue<String>) -> impl IntoView {
    let store = use_store();
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, Fold::Line)));
    let size = format::bytes(text.len() as u64);
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    view! {
        <div class="instructions" data-t="instructions">
            <button type="button" class="more" aria-expanded=move || open.get().to_string() on:click=toggle>
                <Chevron open=open /> "Instructions from the client" <span class="num">{size}</span>
            </button>
            {move || open.get().then(|| view! { <div class="instructions-text">{text.clone()}</div> })}
        </div>
    }
}

/// A message of another role, in one line that unfolds.
#[component]
fn OtherMessage(role: String, text: String, key: StoredValue<String>) -> impl IntoView {
    let store = use_store();
    let line = cut(&crate::preview::one_line(&text), PREVIEW_CHARS).0.to_owned();
    let size = format::bytes(text.len() as u64);
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, Fold::Line)));
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    view! {
        <div class="other" data-row="">
            <button type="button" class="think" data-nav="" aria-expanded=move || open.get().to_string() on:click=toggle>
                <Chevron open=open />
                <span>{role}</span>
                <span class="meta num">{size}</span>
                {move || (!open.get()).then(|| view! { <span class="pv">{line.clone()}</span> })}
            </button>
            {move || open.get().then(|| view! { <div class="think-text" dir="auto">{text.clone()}</div> })}
        </div>
    }
}
