//! Commands for a turn (copy, fork, edit and run again) and for a run that broke off (go on).
//!
//! | component | shown | commands |
//! |---|---|---|
//! | [`TurnActs`] | beside each message of the user | copy, link, fork, export, edit and run again |
//! | [`Rewrite`] | in place of a message that is edited | run again, cancel |
//! | [`GoOn`] | below a run that broke off or waits | retry, go on, now, stop |
//! | [`Origin`] | above a fork | a link, compare |

use leptos::html;
use leptos::prelude::*;
use model::event::RunStatus;
use model::retry::ModelRetry;
use model::view::RunView;
use model::{MessageId, RunId};

use super::icon::icon;
use super::refused::refused;
use crate::control::{self, At};
use crate::exports;
use crate::fleet;
use crate::format;
use crate::rights::ReaderAction;
use crate::route;
use crate::store::{Store, use_store};

/// The commands for the turn that begins with the message `id` of the user. Copying works anywhere; forking
/// and exporting need a hub that has the conversation, and running again one with agents; all three that the reader
/// may do so. A refusal is shown
/// below. The component has few nodes, since every turn has one.
#[component]
pub(super) fn TurnActs(id: MessageId) -> impl IntoView {
    let store = use_store();
    let open = RwSignal::new(false);
    let at = At::Message(id.clone());
    let id = StoredValue::new(id);
    let can_fork = move || store.can_fork();
    let can_export = move || store.is_present() && store.may(ReaderAction::Export);
    let can_share = move || store.is_present() && store.may(ReaderAction::Share);
    let path = move || {
        store
            .reading
            .conversation
            .get()
            .map(|conversation| id.with_value(|id| exports::turn_path(&conversation, id)))
    };
    let can_ask = move || store.can_ask_again();
    let trouble = move || store.control.read(|control| control.trouble(&at).map(str::to_owned));
    view! {
        <div class="acts" class:open=move || open.get()>
            <button type="button" class="icon more-acts" aria-label="Actions for this turn" aria-expanded=move || open.get().to_string()
                on:click=move |_| open.update(|open| *open = !*open)>{icon("#more", "")}</button>
            <span class="acts-list" role="group" aria-label="Turn">
                <button type="button" class="copy" data-act="copy-turn" on:click=move |_| id.with_value(|id| store.copy_turn(id))>"Copy turn"</button>
                <button type="button" class="copy" on:click=move |_| id.with_value(|id| copy_link(store, id))>"Copy link"</button>
                {move || can_fork().then(|| view! {
                    <button type="button" class="copy" data-act="fork" disabled=move || !store.link.is_up()
                        on:click=move |_| id.with_value(|id| store.fork_after(id))>"Fork from here"</button>
                })}
                {move || can_export().then(|| view! {
                    <a class="copy" data-act="export-turn" download="" href=path>"Export turn"</a>
                })}
                {move || can_share().then(|| view! {
                    <button type="button" class="copy" data-act="share-turn"
                        on:click=move |_| store.open_sharing(Some(id.get_value()))>"Share turn"</button>
                })}
                {move || can_ask().then(|| view! {
                    <button type="button" class="copy" data-act="ask-again"
                        on:click=move |_| store.control.editing.set(Some(id.get_value()))>"Edit and run again"</button>
                })}
            </span>
        </div>
        {move || trouble().map(|why| view! { <p class="err trouble" role="status" data-t="trouble">{refused(&why)}</p> })}
    }
}

/// Copies a link to the message `id`, with what the page shows now; nothing if no conversation is open.
fn copy_link(store: Store, id: &MessageId) {
    if let Some(link) = store.link(Some(crate::find::Place::Message(id.clone()))) {
        store.copy(&link, "Link copied", |_| {});
    }
}

/// A form that sends a changed message in a fork; the conversation itself does not change. Enter sends,
/// Shift+Enter makes a new line, Escape cancels. Without an agent that can answer, nothing is sent.
#[component]
pub(super) fn Rewrite(id: MessageId, text: String) -> impl IntoView {
    let store = use_store();
    let written = RwSignal::new(text.clone());
    let area = NodeRef::<html::Textarea>::new();
    Effect::new(move |_| {
        if let Some(area) = area.get() {
            drop(area.focus());
        }
    });
    let rows = text.lines().count().clamp(2, 8).to_string();
    let can_send = move || store.link.is_up() && written.with(|text| !text.trim().is_empty());
    let send = move || {
        if let (true, Some(agent)) = (untrack(can_send), untrack(|| store.answers())) {
            store.say_instead(&id, &agent, written.get_untracked().trim());
            store.control.editing.set(None);
        }
    };
    let pressed = send.clone();
    let press = move |event: leptos::ev::KeyboardEvent| match event.key().as_str() {
        "Enter" if !event.shift_key() && !event.is_composing() => {
            event.prevent_default();
            pressed();
        }
        "Escape" => store.control.editing.set(None),
        _ => {}
    };
    view! {
        <div class="rewrite written" data-t="rewrite">
            <textarea aria-label="Edited message" rows=rows node_ref=area prop:value=text on:keydown=press
                on:input=move |event| written.set(event_target_value(&event))></textarea>
            <div class="acts-row">
                <span class="meta">"Runs in a fork; this conversation stays as it is."</span>
                <span class="grow"></span>
                <button type="button" class="act" on:click=move |_| store.control.editing.set(None)>"Cancel"</button>
                <button type="button" class="act primary" disabled=move || !can_send() on:click=move |_| send()>"Run again"</button>
            </div>
        </div>
    }
}

/// Resumes a run that broke off, or makes a waiting run ask its model at once. It says how long the wait
/// takes.
///
/// The time comes from the retry that the run announced, else from `retry_after_ms` of the error with which
/// it ended. A run that waits is resumed by its publisher; only for the hub's own agents are there buttons
/// that cut the wait short or stop the run.
#[component]
pub(super) fn GoOn(id: RunId) -> impl IntoView {
    let store = use_store();
    let its_id = id.clone();
    let until = Memo::new(move |_| {
        store.reading.track_rows(&its_id);
        store.reading.view(|view| {
            let run = view.runs.get(&its_id)?;
            let asked = || Some(run.ended_at?.saturating_add(run.error.as_ref()?.retry_after_ms?));
            ModelRetry::of(run).map(|retry| retry.at).or_else(asked)
        })
    });
    let its_id = id.clone();
    let waits = Memo::new(move |_| {
        until.get().is_some() && store.reading.run(&its_id, RunView::is_running).unwrap_or_default()
    });
    let its_id = id.clone();
    // Only the hub's own agents take the command not to wait.
    let is_led = Memo::new(move |_| {
        let is_own = store.reading.run(&its_id, control::is_own).unwrap_or_default();
        is_own
            && waits.get()
            && store.has_agents()
            && store.may(ReaderAction::Retry)
            && store.is_ours(&its_id)
    });
    let its_id = id.clone();
    let can = Memo::new(move |_| is_led.get() || store.can_go_on(&its_id));
    // The button stays, since it may have the focus.
    let is_due = move || is_led.get() && until.get() <= Some(store.reading.now.get());
    let its_id = id.clone();
    let word = Memo::new(move |_| match store.reading.run(&its_id, |run| run.status).unwrap_or_default() {
        RunStatus::Running => "Retry now",
        RunStatus::Error => "Retry",
        _ => "Go on",
    });
    let at = StoredValue::new(At::Run(id.clone()));
    let is_off = move || {
        at.with_value(|at| store.control.read(|control| control.is_waiting(at))) || !store.link.is_up()
    };
    let trouble =
        move || at.with_value(|at| store.control.read(|control| control.trouble(at).map(str::to_owned)));
    let id = StoredValue::new(id);
    let left = move || {
        let (until, now) = (until.get()?, store.reading.now.get());
        if waits.get() {
            let retry =
                id.with_value(|id| store.reading.view(|view| view.runs.get(id).and_then(ModelRetry::of)));
            return retry.map(|retry| retry.words(now));
        }
        let left = until.saturating_sub(now);
        (left > 0).then(|| format!("the model asks to wait {}", format::clock(left.saturating_add(999))))
    };
    move || {
        (waits.get() || can.get()).then(|| {
            view! {
                <div class="acts-row go-on" data-t="go-on">
                    {move || can.get().then(|| view! {
                        <button type="button" class="act" data-act="go-on" disabled=move || is_off() || is_due()
                            on:click=move |_| id.with_value(|id| store.go_on(id))>
                            {move || word.get()} " " <kbd>","</kbd>
                        </button>
                    })}
                    {move || is_led.get().then(|| view! {
                        <button type="button" class="act" data-act="stop-retry" disabled=is_off
                            on:click=move |_| id.with_value(|id| store.stop_run(id))>"Stop " <kbd>"."</kbd></button>
                    })}
                    <span class="meta num trouble" data-t="retry">{left}</span>
                    {move || trouble().map(|why| view! { <span class="err trouble" role="status" data-t="trouble">{refused(&why)}</span> })}
                </div>
            }
        })
    }
}

/// The conversation from which this one was forked, as a link, with a button that compares the two. Shown if
/// the list has that conversation.
#[component]
pub(super) fn Origin() -> impl IntoView {
    let store = use_store();
    let from = Memo::new(move |_| {
        store.track_fleet();
        store.reading.conversation.track();
        store.reading.live.track();
        let from = store.reading.view(|view| Some(view.forked_from.as_ref()?.conversation.clone()))?;
        let title =
            store.reading.model(|model| model.fleet()?.get(&from).map(|row| fleet::title(row).to_owned()));
        title.map(|title| (from, title))
    });
    move || {
        from.get().filter(|_| !store.reading.is_beside && !store.reading.is_bare).map(|(from, title)| {
            let path = route::path_of(&from);
            let compare = move |_| store.compare_with(&from);
            view! {
                <p class="origin meta" data-t="origin">
                    {icon("#fork", "")} "Forked from " <a data-in="" href=path>{title}</a> " · "
                    <button type="button" class="link" on:click=compare>"Compare"</button>
                </p>
            }
        })
    }
}
