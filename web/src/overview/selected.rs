//! What can be done with the runs that were selected: stopped, taken away as files, compared, archived, tagged, deleted.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use model::command::{Command, CommandAction};
use model::event::RunStatus;
use web_sys::KeyboardEvent;

use super::bulk::{self, AT_ONCE, PendingRequest};
use super::question::Question;
use super::runs::Table;
use crate::components::icon;
use crate::components::refused::refused;
use crate::exports::{self, EXPORTS};
use crate::rights::{self, Access};
use crate::route::{self, Looks};
use crate::{browser, format};

/// Most conversations that are taken away at once: browsers ask before a page saves many files.
const FILES_MAX: usize = 20;

/// The bar with what can be done; nothing while nothing is selected. What came of it is said below and stays there. What the reader has the
/// grant for on no conversation at all is off or missing; where it is lacking on one of several, the hub refuses that one.
#[component]
pub(super) fn Selected(table: Table) -> impl IntoView {
    let count = Memo::new(move |_| table.selected.with(indexmap::IndexSet::len));
    let told = RwSignal::new(None::<String>);
    let (tagging, asking) = (RwSignal::new(false), RwSignal::new(false));
    let is_too_many = move || count.get() > FILES_MAX;
    let access = RwSignal::new(None::<Access>);
    spawn_local(async move {
        let answer = browser::fetch_text(&rights::path(None)).await;
        // The tab may be closed by now.
        access.try_set(answer.ok().and_then(|answer| Access::read(&answer)));
    });
    let lacks = move |right| access.with(|it| it.as_ref().is_some_and(|it| !it.has_somewhere(right)));
    let may = move |right| access.with(|it| it.as_ref().is_some_and(|it| it.has_somewhere(right)));
    let stop_hint =
        move || lacks("control").then_some("You can only watch: you do not have the grant `control`");
    let export_hint = move || {
        if lacks("export") {
            "You can only watch: you do not have the grant `export`".to_owned()
        } else {
            format!("Save up to {FILES_MAX} as Markdown")
        }
    };
    let is_some = Memo::new(move |_| count.get() > 0);
    Effect::new(move |_| {
        // Whoever selects again is not asked at once.
        if !is_some.get() {
            asking.set(false);
        }
    });
    let bar = move || {
        is_some.get().then(|| {
            view! {
                <div class="selected" role="toolbar" aria-label="Selected runs" data-t="selected">
                    <span class="num">{move || format!("{} selected", format::grouped(count.get() as u64))}</span>
                    <button type="button" class="chip" prop:disabled=move || lacks("control") title=stop_hint
                        on:click=move |_| stop(table, told)>"Stop"</button>
                    <button type="button" class="chip" prop:disabled=move || is_too_many() || lacks("export")
                        title=export_hint on:click=move |_| export(table)>"Export"</button>
                    <Compare table=table />
                    {move || may("control").then(|| view! {
                        <Archive table=table told=told />
                        <button type="button" class="chip" data-act="tag" aria-expanded=move || tagging.get().to_string()
                            on:click=move |_| tagging.update(|is_open| *is_open = !*is_open)>"Tag…"</button>
                    })}
                    {move || may("admin").then(|| view! {
                        <button type="button" class="chip" id="delete-selected" data-act="delete"
                            on:click=move |_| asking.set(true)>"Delete…"</button>
                    })}
                    <button type="button" class="chip" on:click=move |_| table.selected.update(indexmap::IndexSet::clear)>"Clear"</button>
                    {move || (tagging.get() && may("control")).then(|| view! { <Tags table=table told=told /> })}
                </div>
            }
        })
    };
    view! {
        {bar}
        {move || (asking.get() && is_some.get()).then(|| view! { <Question table=table is_open=asking told=told /> })}
        <p class="meta told" role="status" data-t="told">{move || told.get().map(|why| refused(&why))}</p>
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

/// Archives the selected conversations; takes them out of the archive if all of them are in it.
#[component]
fn Archive(table: Table, told: RwSignal<Option<String>>) -> impl IntoView {
    let are_archived = Memo::new(move |_| {
        table.board.version.track();
        table.selected.with(|all| {
            table.board.rows(|rows| all.iter().all(|id| rows.get(id).is_some_and(|row| row.archived)))
        })
    });
    let press = move |_| {
        let archived = !are_archived.get_untracked();
        let word = if archived { "archived" } else { "unarchived" };
        label(table, told, word, move |_| Ok(Some(Change { archived: Some(archived), tags: None })));
    };
    view! {
        <button type="button" class="chip" data-act="archive" on:click=press>
            {move || if are_archived.get() { "Unarchive" } else { "Archive" }}
        </button>
    }
}

/// The tags that some of the selected conversations have, each with a button that takes it from all of them, and an input that
/// gives all of them one more.
#[component]
fn Tags(table: Table, told: RwSignal<Option<String>>) -> impl IntoView {
    let known = Memo::new(move |_| {
        table.board.version.track();
        let mut known = std::collections::BTreeSet::<String>::new();
        table.selected.with(|all| {
            table.board.rows(|rows| {
                let tags = all.iter().filter_map(|id| rows.get(id)).flat_map(|row| &row.tags);
                known.extend(tags.map(ToString::to_string));
            });
        });
        known
    });
    let field = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            drop(field.focus());
        }
    });
    let add = move || {
        let Some(field) = field.get_untracked() else { return };
        match bulk::typed_tag(&field.value()) {
            Ok(tag) => {
                field.set_value("");
                let word = format!("tagged {tag}");
                label(table, told, &word, move |tags| Ok(bulk::with_tag(tags, &tag)?.map(Change::tags)));
            }
            Err(why) => told.set(Some(why)),
        }
    };
    let remove = move |tag: String| {
        let word = format!("no longer tagged {tag}");
        label(table, told, &word, move |tags| Ok(bulk::without_tag(tags, &tag).map(Change::tags)));
    };
    let hear = move |event: KeyboardEvent| {
        if event.key() == "Enter" && !event.is_composing() {
            event.prevent_default();
            add();
        }
    };
    let chips = move || {
        let chip = |tag: String| {
            let (words, shown, gone) = (format!("Remove the tag {tag}"), tag.clone(), tag.clone());
            view! {
                <li class="chip" data-tag=tag>{shown} " "
                    <button type="button" class="icon" aria-label=words on:click=move |_| remove(gone.clone())>{icon("#cross", "")}</button></li>
            }
        };
        known.get().into_iter().map(chip).collect_view()
    };
    view! {
        <span class="tagging">
            <input node_ref=field id="tag-selected" aria-label="Tag for all selected conversations" placeholder="Tag, then Enter" autocomplete="off" on:keydown=hear />
            <ul class="chips" aria-label="Tags of the selected conversations">{chips}</ul>
        </span>
    }
}

/// A change of the label of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    archived: Option<bool>,
    tags: Option<Vec<String>>,
}

impl Change {
    /// All tags that it has from then on.
    fn tags(tags: Vec<String>) -> Self {
        Self { archived: None, tags: Some(tags) }
    }
}

/// Gives the hub the command `label` for each selected conversation that `change` changes, given its tags. Says at the end how many
/// were done, with the first refusal; `word` is what they are then.
fn label(
    table: Table,
    told: RwSignal<Option<String>>,
    word: &str,
    change: impl Fn(&[String]) -> Result<Option<Change>, String>,
) {
    let selected: Vec<ConversationId> = table.selected.with_untracked(|all| all.iter().cloned().collect());
    let tags = |id: &ConversationId| -> Vec<String> {
        table.board.rows(|rows| {
            rows.get(id).map(|row| row.tags.iter().map(ToString::to_string).collect()).unwrap_or_default()
        })
    };
    let (mut wanted, mut refused) = (Vec::new(), Vec::new());
    for id in selected {
        match change(&tags(&id)) {
            Ok(None) => {}
            Ok(Some(Change { archived, tags })) => {
                let tags = tags.map(|tags| tags.iter().map(|tag| tag.as_str().into()).collect());
                let action = CommandAction::Label { title: None, pinned: None, archived, tags, note: None };
                wanted.push((id, action));
            }
            Err(why) => refused.push(format!("{id}: {why}")),
        }
    }
    command(told, word.to_owned(), wanted, refused);
}

/// Gives the hub a command for each conversation, some at the same time, and says at the end how many were done, with the first
/// refusal. `refused` has those that were refused before.
fn command(
    told: RwSignal<Option<String>>,
    word: String,
    wanted: Vec<(ConversationId, CommandAction)>,
    mut refused: Vec<String>,
) {
    let all = wanted.len().saturating_add(refused.len());
    told.set(Some(format!("0 of {all} {word}…")));
    spawn_local(async move {
        let mut done = 0_usize;
        for some in wanted.chunks(AT_ONCE) {
            let requests =
                some.iter().cloned().map(|(id, action)| Box::pin(commanded(id, action)) as PendingRequest<_>);
            for came in bulk::together(requests.collect()).await {
                match came {
                    Ok(()) => done = done.saturating_add(1),
                    Err(why) => refused.push(why),
                }
            }
            told.set(Some(format!("{done} of {all} {word}…")));
        }
        told.set(Some(bulk::told(done, all, &word, &refused)));
    });
}

/// Gives the hub one command: `POST` to `/commands` of the conversation. The command has a random id, so that it is carried out
/// once. Fails with the conversation and the hub's reason.
async fn commanded(id: ConversationId, action: CommandAction) -> Result<(), String> {
    let command = Command { id: format!("runs-{:x}", browser::random()).into(), action };
    let body = serde_json::to_string(&command).map_err(|error| error.to_string())?;
    let answer = browser::post(&format!("{}/commands", route::view_path(&id)), &body).await;
    answer.map(drop).map_err(|why| format!("{id}: {why}"))
}

/// Asks the hub to stop the newest run of each selected conversation that is running. Those that are not running are left out.
fn stop(table: Table, told: RwSignal<Option<String>>) {
    let selected: Vec<ConversationId> = table.selected.with_untracked(|all| all.iter().cloned().collect());
    let runs = |id: &ConversationId| {
        table.board.rows(|rows| rows.get(id).is_some_and(|row| row.state == Some(RunStatus::Running)))
    };
    let running: Vec<ConversationId> = selected.into_iter().filter(runs).collect();
    if running.is_empty() {
        told.set(Some("None of them is running.".to_owned()));
        return;
    }
    let wanted = running.into_iter().map(|id| (id, CommandAction::Stop { run: None }));
    command(told, "stopped".to_owned(), wanted.collect(), Vec::new());
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
