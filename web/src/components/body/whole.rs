//! Loads the rest of a result of which the hub sent only the beginning.
//!
//! ```text
//! No ─ click, or copying ─▶ Loading ─▶ Yes(JSON)         one state for all tabs of a card
//!                               └────▶ Failed(why) ─ click ─▶ Loading
//! ```

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use model::{RunId, ToolCallId};

use super::super::copy::CopyFeedback;
use super::{Ids, tool};
use crate::browser;
use crate::format;
use crate::route;
use crate::store::{Store, use_store};
use crate::whole::{self, ResultLoad, Side};

/// Fetches the whole result of a call from the hub, as JSON. The error is a sentence for the reader. It fails
/// if the result names no stored rest, as in a recording, and if the hub refuses.
async fn fetch(store: Store, run: &RunId, id: &ToolCallId) -> Result<Arc<str>, String> {
    let reference = store.reading.view(|view| view.runs.get(run)?.tools.get(id)?.result_ref.clone());
    let Some((conversation, reference)) = store.reading.conversation.get_untracked().zip(reference) else {
        return Err("The rest of it is not here.".to_owned());
    };
    let text = browser::fetch_text(&route::result_path(&conversation, &reference.hash)).await?;
    Ok(text.into())
}

/// Loads the whole result into `loaded`, for all components that show the call, and then calls `then`, also
/// after a failure.
pub(super) fn load(store: Store, ids: Ids, loaded: RwSignal<ResultLoad>, then: impl FnOnce() + 'static) {
    let (run, id) = ids.get_value();
    loaded.set(ResultLoad::Loading);
    spawn_local(async move {
        let answer = fetch(store, &run, &id).await;
        // The card may be closed by now.
        loaded.try_set(answer.map_or_else(ResultLoad::Failed, ResultLoad::Yes));
        then();
    });
}

/// Copies a side of a call. If only the beginning of the result is here, the whole is loaded first. Browsers
/// may refuse the clipboard so long after the click; `said` then says that nothing was copied.
pub(super) fn copy(store: Store, ids: Ids, side: Side, loaded: RwSignal<ResultLoad>, said: CopyFeedback) {
    let text = move || {
        let known = loaded.try_get_untracked()?;
        untrack(|| tool(store, ids, |tool| whole::copied(tool, side, known.json().map(AsRef::as_ref))))?
    };
    if let Some(text) = text() {
        return said.copy(&text);
    }
    said.say("Loading…");
    load(store, ids, loaded, move || {
        if let Some(text) = text() {
            return said.copy(&text);
        }
        store.spoken.set("Not copied: the rest of the result is not there".to_owned());
        said.say("Not copied");
    });
}

/// Copies the result of a call, for the key that copies; its card may be folded. The whole result is fetched
/// if need be and not kept.
pub(crate) fn copy_result(store: Store, run: RunId, id: ToolCallId) {
    let read = move |run: &RunId, id: &ToolCallId, json: Option<&str>| {
        store.reading.view(|view| whole::copied(view.runs.get(run)?.tools.get(id)?, Side::Result, json))
    };
    if let Some(text) = read(&run, &id, None) {
        return store.copy(&text, "Copied", |_| {});
    }
    spawn_local(async move {
        let json = fetch(store, &run, &id).await;
        match json.map(|json| read(&run, &id, Some(&json))) {
            Ok(Some(text)) => store.copy(&text, "Copied", |_| {}),
            Ok(None) => {}
            Err(why) => store.spoken.set(format!("Not copied. {why}")),
        }
    });
}

/// A button that loads the whole result and says how large it is, shown until that is loaded. Nothing if the
/// hub sent all of it.
#[component]
pub(super) fn Whole(ids: Ids, loaded: RwSignal<ResultLoad>) -> impl IntoView {
    let store = use_store();
    let reference = Memo::new(move |_| tool(store, ids, |tool| tool.result_ref.clone()).flatten());
    let ask = move |_| load(store, ids, loaded, || {});
    move || {
        let bytes = format::bytes(reference.get()?.bytes);
        match loaded.get() {
            ResultLoad::No => Some(view! {
                <button type="button" class="more" data-t="load-all" on:click=ask>{format!("Load all ({bytes})")}</button>
            }
            .into_any()),
            ResultLoad::Loading => Some(view! { <p class="none meta">{format!("Loading {bytes}…")}</p> }.into_any()),
            ResultLoad::Failed(why) => Some(view! {
                <p class="none err">{why} " "
                    <button type="button" class="link" on:click=ask>"Try again"</button>
                </p>
            }
            .into_any()),
            ResultLoad::Yes(_) => None,
        }
    }
}
