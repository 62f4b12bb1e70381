//! Notes of a run: failures and custom events.
//!
//! ```text
//! ✗ rate_limited  try later           Failure: code, message, hint, "Copy error"
//! · plan  {"steps":[…]}            ▸  Event: name, beginning of the value
//! ```

use leptos::prelude::*;
use model::RunId;
use model::event::ErrorFact;
use model::view::NoteBody;

use super::copy::Copy;
use super::icon::{Chevron, icon};
use super::output::{OutputText, Text};
use crate::format;
use crate::open::Fold;
use crate::preview;
use crate::store::use_store;

/// The note with this number in `run`; nothing if there is none. Not reactive: notes never change while the part of
/// the conversation that is here is the same.
pub(super) fn note(run: &RunId, number: usize) -> AnyView {
    let store = use_store();
    let note = store.reading.view(|view| view.runs.get(run)?.notes.get(number).cloned());
    match note.map(|note| note.body) {
        Some(NoteBody::Error(error)) => view! { <Failure error=error /> }.into_any(),
        Some(NoteBody::Custom { name, value } | NoteBody::Raw { name, value }) => {
            let key = format!("note/{run}/{number}");
            view! { <Event name=name.to_string() json=value.as_str().to_owned() key=key /> }.into_any()
        }
        None => ().into_any(),
    }
}

/// A failure: its code and message, and whether and when a retry may help, as far as its source said so.
#[component]
pub(super) fn Failure(error: ErrorFact) -> impl IntoView {
    let hint = match (error.retryable, error.retry_after_ms) {
        (Some(true), Some(ms)) => format!("Can be retried, after {}", format::duration(ms)),
        (Some(true), None) => "Can be retried".to_owned(),
        (Some(false), _) => "Permanent: trying again does not help".to_owned(),
        (None, _) => String::new(),
    };
    let copied = format!("{}: {}", error.code, error.message);
    view! {
        <div class="failure" role="note">
            {icon("#cross", "err")}
            <div>
                <div><span class="err what">{error.code.to_string()}</span> " " {error.message}</div>
                <div class="meta num">{hint} <Copy text=move || copied.clone() label="Copy error" /></div>
            </div>
        </div>
    }
}

/// A custom event of the stream, or one that no decoder has a better form for: its name and the beginning of
/// its value. A click unfolds the value as JSON.
#[component]
fn Event(name: String, json: String, key: String) -> impl IntoView {
    let store = use_store();
    let line = preview::one_line(&json);
    let key = StoredValue::new(key);
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, Fold::Line)));
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    view! {
        <div class="card event">
            <button type="button" data-nav="" aria-expanded=move || open.get().to_string() on:click=toggle>
                {icon("#dot", "gone")}
                <span class="nm">{name}</span>
                <span class="pv">{line}</span>
                <span class="st"></span>
                <span></span>
                <Chevron open=open />
            </button>
            {move || open.get().then(|| {
                let shown = OutputText { text: json.clone(), is_json: true, is_cut: false };
                view! { <div class="body"><Text shown=shown /></div> }
            })}
        </div>
    }
}
