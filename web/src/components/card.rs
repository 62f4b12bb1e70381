//! A tool call in the conversation: a line with its state; a click unfolds its content.
//!
//! ```text
//! ✓ web_search  rates 2026            ×2  JSON · 8 KB    1.2 s ▾     head, preview, attempt, state_word, span
//!   3 of 10 pages                                                    progress, while it executes
//!   Waits for approval: …                                            question
//!   { arguments }                                                    Input, while it waits and the card is folded
//!   [Approve A] [Edit E] [Reject R]                                  Consent
//!   [Stop the run]                                                   StopSlow
//!   Input | Output | Raw | Timing                                    Body, while the card is unfolded
//! ```

use leptos::prelude::*;
use model::event::ToolState;
use model::{RunId, ToolCallId};

use super::aside::own_id;
use super::body::{Body, Input};
use super::call::{Head, Ids, glance_of, preview_of, slow_word};
use super::consent::{Consent, Draft};
use super::elapsed::span_text;
use super::icon::{Chevron, StateIcon, icon, tool_icon};
use super::kinds::Extent;
use crate::calls::earlier_attempts;
use crate::control::At;
use crate::failed::failed_last;
use crate::kinds;
use crate::open::Fold;
use crate::preview::{self, PreviewOutput};
use crate::signed;
use crate::store::{Store, card_id, use_store};

/// The text at the right of the line: the state; for a failure with its first line that is not empty; for an
/// edit or a to-do list what it changes; for another result its kind and size, or those of its beginning if
/// the hub sent no more.
fn state_word(store: Store, run: &RunId, id: &ToolCallId, head: Memo<Head>) -> Memo<String> {
    let glance = glance_of(store, run, id);
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        let state = head.with(|head| head.state);
        if state == ToolState::Error {
            let said = store
                .reading
                .view(|view| view.runs.get(&run)?.tools.get(&id)?.result.as_ref().map(PreviewOutput::of));
            let line = said.filter(|said| !said.is_empty()).and_then(|said| {
                said.text.lines().find(|line| !line.trim().is_empty()).map(preview::one_line)
            });
            return line.map_or_else(|| "error".to_owned(), |line| format!("error · {line}"));
        }
        if state != ToolState::Complete {
            return head.with(Head::word).to_owned();
        }
        if let Some(glance) = glance.get() {
            return glance.word();
        }
        let name = head.with(|head| head.name.clone());
        let output = store.reading.view(|view| {
            let tool = view.runs.get(&run)?.tools.get(&id)?;
            Some((PreviewOutput::of(tool.result.as_ref()?), tool.left_out()))
        });
        let shown = output.filter(|(output, _)| !output.is_empty() && !output.is_command());
        shown.map_or_else(
            || "completed".to_owned(),
            |(output, left_out)| match left_out {
                0 => kinds::summary(&name, &output),
                left_out => kinds::summary_of_beginning(&output, left_out),
            },
        )
    })
}

/// The number of this attempt, from 2 on, if the source gave several calls the same id.
fn attempt(store: Store, run: &RunId, id: &ToolCallId) -> Memo<Option<usize>> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        // The source's id is known when the call begins and does not change.
        store.reading.tool(&run, &id, |tool| tool.given_id.is_some()).filter(|has| *has)?;
        let before =
            store.reading.view(|view| view.runs.get(&run).map(|run| earlier_attempts(run, &id).len()));
        before.filter(|n| *n > 0).map(|n| n.saturating_add(1))
    })
}

/// The card of a call: its line and, unfolded, its content. A click folds and unfolds it, with the line at
/// its place on the screen; what the reader chose is kept in the store. At the level Steps a call that failed
/// as the newest step of its run unfolds by itself.
///
/// The icon is hollow while nobody knows whether the call still executes: without a connection, and after its
/// publisher was lost.
#[component]
pub(super) fn Card(run: RunId, id: ToolCallId) -> impl IntoView {
    let store = use_store();
    let key = StoredValue::new(card_id(&run, &id));
    let (dom_id, call) = (own_id(card_id(&run, &id)), id.to_string());
    let (its_run, its_id) = (run.clone(), id.clone());
    let head = Memo::new(move |_| Head::read(store, &its_run, &its_id));
    let preview = preview_of(store, &run, &id);
    let word = state_word(store, &run, &id, head);
    let silent_since = store.reading.silent_since(&run);
    let slow = slow_word(store, head, silent_since);
    let attempt = attempt(store, &run, &id);
    let failed = just_failed(store, &run, &id, head);
    let fold = move || Fold::Card { failed: failed.get() };
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, fold())));
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    let is_slow = move || slow.with(Option::is_some);
    let is_slow_now = Memo::new(move |_| is_slow() && head.with(|it| it.state == ToolState::Executing));
    let shape = Signal::derive(move || {
        let is_known = store.is_current() && silent_since.get().is_none();
        match tool_icon(head.with(|head| head.state), is_known) {
            (icon, "run spin") if is_slow() => (icon, "slow spin"),
            shape => shape,
        }
    });
    let span = Memo::new(move |_| head.with(|head| head.span).known_until(silent_since.get()));
    let latency = move || head.with(|head| head.latency_ms).map(|ms| ms.to_string());
    let ids = StoredValue::new((run, id));
    // A call that waits for consent shows all its arguments, even if the card is folded.
    let is_asked = Memo::new(move |_| head.with(|head| head.state == ToolState::Approval) && !open.get());
    let can_stop = Memo::new(move |_| {
        is_slow_now.get() && ids.with_value(|(run, _)| store.going().as_ref() == Some(run))
    });
    let body = key.with_value(|key| own_id(format!("{key}/body")));
    let controlled = body.clone();
    let form = Draft::of(store, ids);
    let has_form = Memo::new(move |_| head.with(|head| head.state == ToolState::Approval) || form.is_open());
    view! {
        <div class="card" id=dom_id data-t="tool-card" data-call=call
            data-name=move || head.with(|head| head.name.clone())
            data-state=move || head.with(|head| head.state.as_str())
            data-latency-ms=latency>
            <button type="button" data-nav="" aria-expanded=move || open.get().to_string()
                aria-controls=move || open.get().then(|| controlled.clone()) on:click=toggle>
                <StateIcon shape=shape />
                <span class="nm">{move || head.with(|head| head.name.clone())}</span>
                <span class="pv">{move || preview.get()}</span>
                <span class=move || {
                    format!("st {}", if is_slow_now.get() { "slow num" } else { word_class(head.with(|head| head.state)) })
                }>
                    {move || attempt.get().map(|n| view! {
                        <span class="again num" title="Attempts: see Timing">"×" {n}</span>
                    })}
                    {move || is_slow_now.get().then(|| icon("#hourglass", "slow"))}
                    {move || if is_slow_now.get() { slow.get().unwrap_or_default() } else { word.get() }}
                </span>
                <span class="tm num" class:slow=is_slow title=move || slow.get()>{move || span_text(span.get())}</span>
                <Chevron open=open />
            </button>
            <Lines ids=ids />
            {move || head.with(|head| head.question.clone()).map(|question| {
                view! { <div class="line appr">"Waits for approval: " {question}</div> }
            })}
            {move || is_asked.get().then(|| view! { <div class="asks" data-t="asks"><Input ids=ids extent=Extent::Whole /></div> })}
            {move || has_form.get().then(|| view! { <Consent ids=ids head=head form=form /> })}
            {move || can_stop.get().then(|| view! { <StopSlow ids=ids /> })}
            {move || open.get().then(|| view! { <Body ids=ids head=head id=body.clone() /> })}
        </div>
    }
}

/// The lines below that of a call: how far it is, and who decided about it.
#[component]
fn Lines(ids: Ids) -> impl IntoView {
    let store = use_store();
    let (progress, decided) =
        ids.with_value(|(run, id)| (progress_of(store, run, id), decided_by(store, run, id)));
    view! {
        {move || progress.get().map(|line| view! { <div class="line meta num">{line}</div> })}
        {move || decided.get().map(|who| view! { <div class="line meta" data-t="decided">{who}</div> })}
    }
}

/// A button that stops the run of a slow call. It is shown only for a run that the hub leads and that goes
/// on, and is off while the command is on the way.
#[component]
fn StopSlow(ids: Ids) -> impl IntoView {
    let store = use_store();
    let at = ids.with_value(|(run, _)| At::Run(run.clone()));
    let is_waiting = Memo::new(move |_| store.control.read(|control| control.is_waiting(&at)));
    view! {
        <div class="line acts-row">
            <button type="button" class="act" data-t="stop-slow" disabled=move || is_waiting.get() || !store.link.is_up()
                on:click=move |_| store.stop()>{icon("#stop", "")} {move || if is_waiting.get() { "Stopping" } else { "Stop the run" }}</button>
        </div>
    }
}

/// Whether the call failed as the newest step of its run. It stays true afterwards, so that the card does not
/// fold by itself.
fn just_failed(store: Store, run: &RunId, id: &ToolCallId, head: Memo<Head>) -> Memo<bool> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |was: Option<&bool>| {
        let is_error = head.with(|head| head.state == ToolState::Error);
        was == Some(&true) || (is_error && store.reading.view(|view| failed_last(view, &run, &id)))
    })
}

/// The progress that a call reports while it executes.
fn progress_of(store: Store, run: &RunId, id: &ToolCallId) -> Memo<Option<String>> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        let is_open = store.reading.tool(&run, &id, |tool| !tool.state.is_final()).unwrap_or(false);
        let call = (run.clone(), id.clone());
        let said = store.reading.model(|model| model.progress(&call).cloned()).filter(|_| is_open)?;
        let far = match (said.current, said.total) {
            (Some(current), Some(total)) => Some(format!("{current} of {total}")),
            (Some(current), None) => Some(current.to_string()),
            _ => None,
        };
        let words: Vec<String> =
            said.text.map(|text| preview::one_line(&text)).into_iter().chain(far).collect();
        (!words.is_empty()).then(|| words.join(" · "))
    })
}

/// Who decided about a call of one of the hub's agents, once the hub has said so: `approved by ann`.
fn decided_by(store: Store, run: &RunId, id: &ToolCallId) -> Memo<Option<String>> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        // It is known when a run begins whether it is the hub's, and only then is there something to wait for.
        store.reading.view(|view| view.runs.get(&run).is_some_and(|run| run.own)).then_some(())?;
        store.reading.track_rows(&run);
        store.reading.view(|view| signed::of_call(view.runs.get(&run)?, &id))
    })
}

/// The CSS class of the word for `state`.
fn word_class(state: ToolState) -> &'static str {
    match state {
        ToolState::Complete => "meta num",
        ToolState::Writing | ToolState::Pending => "pend",
        ToolState::Approval => "appr",
        ToolState::Executing => "run",
        ToolState::Error => "err",
        ToolState::Cancelled => "gone",
        ToolState::Interrupted => "slow",
    }
}
