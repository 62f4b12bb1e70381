//! The question before conversations are deleted: it names all of them.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use web_sys::KeyboardEvent;

use super::bulk::{self, AT_ONCE, PendingRequest};
use super::runs::Table;
use crate::browser::{self, Deletion};
use crate::components::go_round;
use crate::components::refused::refused;
use crate::deleting::{GOES_MANY, STAYS};
use crate::{fleet, route};

/// A dialog that names the selected conversations and deletes them when the reader says so. Those in which a run goes on are refused
/// by the hub: they stay selected, and the button then stops the runs of its agents as well. It closes itself once nothing is
/// selected any more; what came of it is then in `told`. Escape and a click beside it close it without doing anything.
#[component]
pub(super) fn Question(
    table: Table,
    is_open: RwSignal<bool>,
    told: RwSignal<Option<String>>,
) -> impl IntoView {
    let (busy, stops) = (RwSignal::new(None::<String>), RwSignal::new(0_usize));
    let trouble = RwSignal::new(None::<String>);
    let names = Memo::new(move |_| {
        table.selected.with(|all| {
            table.board.rows(|rows| {
                let name = |id: &ConversationId| {
                    let title = rows.get(id).map_or(id.as_str(), fleet::title);
                    if title == id.as_str() { title.to_owned() } else { format!("{title} ({id})") }
                };
                all.iter().map(name).collect::<Vec<_>>()
            })
        })
    });
    let cancel = NodeRef::<html::Button>::new();
    Effect::new(move |_| {
        if let Some(button) = cancel.get() {
            drop(button.focus());
        }
    });
    let close = move || {
        is_open.set(false);
        browser::focus("delete-selected");
    };
    let press = move |_| {
        if busy.with_untracked(Option::is_none) {
            delete(table, Progress { busy, stops, trouble, is_open, told });
        }
    };
    let hear = move |event: KeyboardEvent| {
        if event.key() == "Escape" {
            event.prevent_default();
            close();
        } else {
            go_round(&event);
        }
    };
    let count = move || names.with(Vec::len);
    let heading = move || match count() {
        1 => "Delete 1 conversation?".to_owned(),
        count => format!("Delete {count} conversations?"),
    };
    let word = move || match (busy.get(), stops.get()) {
        (Some(busy), _) => busy,
        (None, 0) => "Delete".to_owned(),
        (None, _) => "Stop and delete".to_owned(),
    };
    let list = move || names.get().into_iter().map(|name| view! { <li>{name}</li> }).collect_view();
    view! {
        <div class="veil" on:click=move |_| close()>
            <div class="dialog question" role="alertdialog" aria-modal="true" aria-labelledby="question-title" data-t="question"
                on:click=|event| event.stop_propagation() on:keydown=hear>
                <h2 id="question-title">{heading}</h2>
                <ul tabindex="0" aria-label="Conversations to be deleted" data-t="question-names">{list}</ul>
                <p class="meta">{GOES_MANY} " " {STAYS}</p>
                {move || (stops.get() > 0).then(|| view! {
                    <p role="alert" data-t="question-runs">{still_running(stops.get())}
                        " Agents of this hub can be stopped; if others publish more, the conversation starts over."</p>
                })}
                {move || trouble.get().map(|why| view! { <p class="err" role="alert" data-t="question-trouble">{refused(&why)}</p> })}
                <div class="answers">
                    <button type="button" class="chip" node_ref=cancel on:click=move |_| close()>"Cancel"</button>
                    <button type="button" class="chip" data-act="delete-now" aria-disabled=move || busy.with(Option::is_some).to_string()
                        on:click=press>{word}</button>
                </div>
            </div>
        </div>
    }
}

/// Says that of the conversations to be deleted, `count` have an active run.
fn still_running(count: usize) -> String {
    match count {
        1 => "One of them still has an active run.".to_owned(),
        count => format!("{count} of them still have an active run."),
    }
}

/// What a deletion tells while it goes on and at its end.
#[derive(Clone, Copy)]
struct Progress {
    /// The progress, in words.
    busy: RwSignal<Option<String>>,
    /// How many were refused since a run goes on.
    stops: RwSignal<usize>,
    /// Why the first of the others was refused.
    trouble: RwSignal<Option<String>>,
    /// Whether the dialog is open.
    is_open: RwSignal<bool>,
    /// What is said beside the table.
    told: RwSignal<Option<String>>,
}

/// Deletes the selected conversations, some at the same time, and takes those that are gone out of the selection.
fn delete(table: Table, progress: Progress) {
    let Progress { busy, stops, trouble, is_open, told } = progress;
    let selected: Vec<ConversationId> = table.selected.with_untracked(|all| all.iter().cloned().collect());
    let force = if stops.get_untracked() > 0 { "?force=true" } else { "" };
    let all = selected.len();
    // The dialog may be closed meanwhile: its own signals are then gone.
    busy.set(Some(format!("Deleting… 0 of {all}")));
    trouble.set(None);
    spawn_local(async move {
        let (mut done, mut running, mut refused) = (0_usize, 0_usize, Vec::new());
        for some in selected.chunks(AT_ONCE) {
            let request = |id: &ConversationId| {
                let id = id.clone();
                let path = format!("{}{force}", route::view_path(&id));
                Box::pin(async move { (browser::delete(&path).await, id) }) as PendingRequest<_>
            };
            for (came, id) in bulk::together(some.iter().map(request).collect()).await {
                match came {
                    Ok(Deletion::Done) => {
                        done = done.saturating_add(1);
                        table.board.lose(std::slice::from_ref(&id));
                        table.selected.update(|all| {
                            all.shift_remove(&id);
                        });
                    }
                    Ok(Deletion::StillRunning) => running = running.saturating_add(1),
                    Err(why) => refused.push(format!("{id}: {why}")),
                }
            }
            busy.try_set(Some(format!("Deleting… {done} of {all}")));
        }
        busy.try_set(None);
        stops.try_set(running);
        if running == 0 && refused.is_empty() {
            is_open.set(false);
        } else {
            trouble.try_set(refused.first().cloned());
        }
        told.set(Some(bulk::told(done, all, "deleted", &refused)));
    });
}
