//! Loads the rest of a result of which the hub sent only the beginning.
//!
//! ```text
//! No ─ click, or copying ─▶ Loading ─▶ Yes(JSON)         one state for all tabs of a card
//!                               └────▶ Failed(why) ─ click ─▶ Loading
//! ```

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::super::copy::CopyFeedback;
use super::{Ids, tool};
use crate::format;
use crate::store::{Store, use_store};
use crate::whole::{self, ResultLoad, Side};

/// Loads the whole result into `loaded`, for all components that show the call, and then calls `then`, also
/// after a failure.
pub(super) fn load(store: Store, ids: Ids, loaded: RwSignal<ResultLoad>, then: impl FnOnce() + 'static) {
    let (run, id) = ids.get_value();
    loaded.set(ResultLoad::Loading);
    spawn_local(async move {
        let answer = store.whole_result(&run, &id).await;
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
