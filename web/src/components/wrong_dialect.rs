//! What is said below a run whose stream was read in a wrong dialect, and what the reader can do about it.
//!
//! ```text
//! ✂ The stream was read in the wrong dialect: nothing in the stream is openai-chat; it looks like anthropic.
//!   [Read as anthropic]  [Copy command]  fanlight tee --url http://127.0.0.1:4600 --dialect anthropic --conversation=c
//! ```
//!
//! "Read as" reads a recording again in the right dialect; of a conversation it opens what the hub kept of the stream as one.

use leptos::prelude::*;
use model::RunId;

use super::copy::Copy;
use super::icon::icon;
use crate::reread;
use crate::store::{Store, use_store};

/// The line. `said` is the text of the warning.
#[component]
pub(super) fn WrongDialect(id: RunId, said: String) -> impl IntoView {
    let store = use_store();
    let right = reread::right_dialect(&said);
    let conversation = store.reading.conversation.get_untracked();
    let is_recording = store.reading.recording.with_untracked(Option::is_some);
    let can_read =
        is_recording || store.reading.run(&id, reread::kept_stream).is_some_and(|kept| kept.is_some());
    let title = if is_recording {
        "Reads the file again"
    } else {
        "Opens what the hub kept of the stream, in the browser alone; the conversation stays as it is"
    };
    let read = right.filter(|_| can_read).map(|name| {
        let press = move |_| read_as(store, &id, name);
        view! { <button type="button" class="act" data-act="read-as" title=title on:click=press>"Read as " {name}</button> }
    });
    let command = right.zip(conversation.filter(|_| !is_recording)).map(|(name, conversation)| {
        let command = reread::command(&crate::browser::origin(), name, conversation.as_str());
        let text = command.clone();
        view! { <Copy text=move || text.clone() label="Copy command" /> <code>{command}</code> }
    });
    let advice = if right.is_some() {
        "."
    } else {
        ". Send it again under the name of its dialect, or without --dialect; a file can be dropped here."
    };
    view! {
        <div class="end slow" data-t="wrong-dialect">
            {icon("#broken", "slow")}
            <div>
                "The stream was read in the wrong dialect: " {said} {advice}
                {(read.is_some() || command.is_some()).then(|| view! { <div class="acts-row">{read} {command}</div> })}
            </div>
        </div>
    }
}

/// Reads the stream of a run in another dialect.
fn read_as(store: Store, id: &RunId, dialect: &'static str) {
    if store.reading.recording.with_untracked(Option::is_some) {
        store.reading.reopen.with_value(|reopen| {
            if let Some(reopen) = reopen {
                reopen(dialect);
            }
        });
        return;
    }
    let kept = store.reading.view(|view| view.runs.get(id).and_then(reread::kept_stream));
    let name = store.reading.conversation.get_untracked().map_or_else(String::new, |it| it.to_string());
    if let Some(kept) = kept {
        store.panel.open_text.with_value(|open| {
            if let Some(open) = open {
                open(&format!("{name} (what was kept)"), &kept, dialect);
            }
        });
    }
}
