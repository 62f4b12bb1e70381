//! The row of a call in the panel. A click shows the call in the conversation; Space unfolds its content in
//! place.
//!
//! ```text
//! ✓ name   first argument …   researcher  ▁▁▃  1.2 s      time bar: the share of the longest time
//! ⧗ 3.2× usual (p95 4.1 s)                                  if it is slow
//!   Input | Output | Raw | Timing                           Body, after Space
//! ```

use leptos::prelude::*;
use model::event::ToolState;
use model::{RunId, ToolCallId};
use web_sys::KeyboardEvent;

use super::body::Body;
use super::call::{Head, preview_of, slow_word};
use super::elapsed::span_text;
use super::icon::{icon, tool_icon};
use crate::calls::Calls;
use crate::latency::CallKey;
use crate::store::{Store, use_store};

/// The DOM id of a call's row. Not that of its card: both are on the page.
pub(super) fn row_id(run: &RunId, tool: &ToolCallId) -> String {
    format!("row/{run}/{tool}")
}

/// The name of the sub-agent that made a call; `None` for the main agent.
fn agent_of(store: Store, run: &RunId, id: &ToolCallId) -> Memo<Option<String>> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        let agent = store.reading.tool(&run, &id, |tool| tool.agent.clone()).flatten()?;
        let name = store
            .reading
            .view(|view| Some(view.runs.get(&run)?.agents.get(&agent)?.name.clone()?.to_string()));
        Some(name.unwrap_or_else(|| agent.to_string()))
    })
}

/// The row of a call. Its bar shows the share of the `longest` time of all rows, in milliseconds. A click and
/// Enter show the call in the conversation.
///
/// Screen readers hear the tool and the state even where the row does not show them.
#[component]
pub(super) fn ToolRow(
    key: CallKey,
    calls: Memo<Calls>,
    longest: Memo<u64>,
    /// Whether the row shows the name of the tool. Rows grouped by tool have it in their heading.
    #[prop(optional)]
    is_named: bool,
) -> impl IntoView {
    let store = use_store();
    let (run, id) = key.clone();
    let (call, dom_id) = (id.to_string(), row_id(&run, &id));
    let preview = preview_of(store, &run, &id);
    let (its_run, its_id) = (run.clone(), id.clone());
    let head = Memo::new(move |_| Head::read(store, &its_run, &its_id));
    let state = Memo::new(move |_| head.with(|head| head.state));
    let own = key.clone();
    let taken = Memo::new(move |_| {
        calls.with(|calls| calls.get(&own).map_or((0, false), |call| (call.taken_ms, call.is_slow)))
    });
    let is_slow = move || taken.get().1;
    let silent_since = store.reading.silent_since(&run);
    let slow = slow_word(store, head, silent_since);
    let shape = move || match tool_icon(state.get(), store.is_current() && silent_since.get().is_none()) {
        (icon, "run spin") if is_slow() => (icon, "slow spin"),
        shape => shape,
    };
    let span = Memo::new(move |_| head.with(|head| head.span).known_until(silent_since.get()));
    let agent = agent_of(store, &run, &id);
    let width = move || {
        let (taken, longest) = (taken.get().0, longest.get().max(1));
        format!("{}%", taken.saturating_mul(100).div_ceil(longest).min(100))
    };
    let class = move || match state.get() {
        _ if is_slow() => "bar slow",
        ToolState::Executing => "bar run",
        ToolState::Error => "bar err",
        _ => "bar gone",
    };
    let time = move || match state.get() {
        ToolState::Complete | ToolState::Error | ToolState::Executing | ToolState::Interrupted => {
            span_text(span.get())
        }
        _ => head.with(Head::word).to_owned(),
    };
    // Screen readers get the tool and the state even if the row does not show them.
    let said = move || {
        let name = head.with(|head| format!("{}, ", head.name));
        format!("{}{}", if is_named { "" } else { &name }, head.with(Head::word))
    };
    let open = RwSignal::new(false);
    let keys = move |event: KeyboardEvent| {
        if event.key() == " " {
            event.prevent_default();
            open.update(|open| *open = !*open);
        }
    };
    let ids = StoredValue::new((run, id));
    view! {
        <button type="button" class=if is_named { "row named" } else { "row" } id=dom_id data-t="tool-row" data-call=call
            title="Enter: show it in the conversation. Space: its content here."
            data-name=move || head.with(|head| head.name.clone())
            data-state=move || state.get().as_str()
            data-latency-ms=move || head.with(|head| head.latency_ms.map(|ms| ms.to_string()))
            on:keydown=keys
            on:click=move |_| store.reveal(&key)>
            <svg class=move || shape().1 role="img" aria-label=said><use href=move || shape().0 /></svg>
            {is_named.then(|| view! { <span class="nm">{move || head.with(|head| head.name.clone())}</span> })}
            <span class="pv">{move || preview.get()}</span>
            {move || agent.get().map(|name| view! { <span class="of" data-t="row-agent">{name}</span> })}
            <span class=class><i style:width=width></i></span>
            <span class="tm num" class:run=move || state.get() == ToolState::Executing class:slow=is_slow>{time}</span>
        </button>
        {move || slow.get().map(|word| view! { <p class="slow-word slow num">{icon("#hourglass", "slow")} " " {word}</p> })}
        {move || open.get().then(|| view! { <div class="details" data-t="details"><Body ids=ids head=head /></div> })}
    }
}
