//! What can be done with the runs that were selected: stopped, taken away as files, compared.

use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use model::event::RunStatus;

use super::runs::Table;
use crate::exports::{self, EXPORTS};
use crate::rights::{self, Access};
use crate::route::{self, Looks};
use crate::{browser, format};

/// Most conversations that are taken away at once: browsers ask before a page saves many files.
const FILES_MAX: usize = 20;

/// The bar with the buttons Stop, Export, Compare and Clear; nothing while nothing is selected. What came of
/// stopping is said below it and stays there. Stop and Export are off for readers who have the grant on no
/// conversation at all; where they lack it on one of several, the hub refuses that one.
#[component]
pub(super) fn Selected(table: Table) -> impl IntoView {
    let count = Memo::new(move |_| table.selected.with(indexmap::IndexSet::len));
    let told = RwSignal::new(None::<String>);
    let is_too_many = move || count.get() > FILES_MAX;
    let access = RwSignal::new(None::<Access>);
    spawn_local(async move {
        let answer = browser::fetch_text(&rights::path(None)).await;
        // The tab may be closed by now.
        access.try_set(answer.ok().and_then(|answer| Access::read(&answer)));
    });
    let lacks = move |right| access.with(|it| it.as_ref().is_some_and(|it| !it.has_somewhere(right)));
    let stop_hint = move || lacks("control").then_some("You may watch: you have no grant `control`");
    let export_hint = move || match lacks("export") {
        true => "You may watch: you have no grant `export`".to_owned(),
        false => format!("Save up to {FILES_MAX} as Markdown"),
    };
    let bar = move || {
        (count.get() > 0).then(|| {
            view! {
                <div class="selected" role="toolbar" aria-label="Selected runs" data-t="selected">
                    <span class="num">{move || format!("{} selected", format::grouped(count.get() as u64))}</span>
                    <button type="button" class="chip" prop:disabled=move || lacks("control") title=stop_hint
                        on:click=move |_| stop(table, told)>"Stop"</button>
                    <button type="button" class="chip" prop:disabled=move || is_too_many() || lacks("export")
                        title=export_hint on:click=move |_| export(table)>"Export"</button>
                    <Compare table=table />
                    <button type="button" class="chip" on:click=move |_| table.selected.update(indexmap::IndexSet::clear)>"Clear"</button>
                </div>
            }
        })
    };
    view! {
        {bar}
        <p class="meta told" role="status" data-t="told">{move || told.get()}</p>
    }
}

/// A link to the two that are selected, side by side; off unless they are exactly two.
#[component]
fn Compare(table: Table) -> impl IntoView {
    let link = Memo::new(move |_| {
        table.selected.with(|all| match all.iter().collect::<Vec<_>>()[..] {
            [first, second] => {
                Some(route::link(first, &Looks { compare: Some(second.clone()), ..Looks::default() }))
            }
            _ => None,
        })
    });
    move || {
        match link.get() {
        Some(link) => view! { <a class="chip" href=link data-t="compare">"Compare"</a> }.into_any(),
        None => {
            view! { <button type="button" class="chip" disabled="" title="Select two runs to compare them">"Compare"</button> }
                .into_any()
        }
    }
    }
}

/// Asks the hub to stop the newest run of each selected conversation that is running, one after the other:
/// `POST` to its `/commands`. Says at the end how many were stopped, with the first refusal. A command has a
/// random id, so that it is carried out once. Those that are not running are left out.
fn stop(table: Table, told: RwSignal<Option<String>>) {
    let selected: Vec<ConversationId> = table.selected.with_untracked(|all| all.iter().cloned().collect());
    let runs = |id: &&ConversationId| {
        table.board.rows(|rows| rows.get(*id).is_some_and(|row| row.state == Some(RunStatus::Running)))
    };
    let running: Vec<ConversationId> = selected.iter().filter(runs).cloned().collect();
    if running.is_empty() {
        told.set(Some("None of them is running.".to_owned()));
        return;
    }
    told.set(Some(format!("Stopping {}…", running.len())));
    spawn_local(async move {
        let (mut stopped, mut refused) = (0_usize, Vec::new());
        for id in &running {
            let body = format!("{{\"id\":\"stop-{:x}\",\"command\":\"stop\"}}", browser::random());
            match browser::post(&format!("{}/commands", route::view_path(id)), &body).await {
                Ok(_) => stopped = stopped.saturating_add(1),
                Err(why) => refused.push(format!("{id}: {why}")),
            }
        }
        let mut words = format!("{stopped} of {} stopped.", running.len());
        if let Some(first) = refused.first() {
            words.extend([" ", first]);
            if refused.len() > 1 {
                words.extend([" (and ", &refused.len().saturating_sub(1).to_string(), " more)"]);
            }
        }
        told.set(Some(words));
    });
}

/// Saves each selected conversation as a Markdown file, at most [`FILES_MAX`].
fn export(table: Table) {
    let [markdown, ..] = EXPORTS;
    let paths = table.selected.with_untracked(|all| {
        all.iter().take(FILES_MAX).map(|id| exports::path(id, markdown)).collect::<Vec<_>>()
    });
    for (n, path) in paths.into_iter().enumerate() {
        // One after the other: browsers drop downloads that begin at the same moment.
        browser::after(i32::try_from(n).unwrap_or(0).saturating_mul(150), move || browser::save(&path));
    }
}
