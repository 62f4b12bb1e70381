//! The agents in the panel: a tree of all agents, or one agent with all its steps.
//!
//! ```text
//! Depth [≤ 1] [≤ 2] [all]        main ▸ research ▸ web
//! main        ✓9 ✗1   1:08       ✓4   12k tokens   0:31   [Only this agent]
//!   research  ✓4      0:31       its task
//!     web     ◌2      0:12       its rows, as in the conversation
//!         Tree                          One
//! ```
//!
//! [`crate::agents`] makes the tree of a view; this file draws it.

use leptos::prelude::*;
use model::event::RunStatus;
use model::fold::ViewChange;
use model::view::Item;
use model::{AgentId, RunId};

use super::agent::CountsOf;
use super::aside::Aside;
use super::copy::Copy;
use super::elapsed::{Span, span_text};
use super::icon::{StateIcon, icon, run_icon};
use super::lane::Lane;
use crate::agents::{self, Branch};
use crate::flow::RowRank;
use crate::store::{AgentKey, Store, use_store};

/// The Agents tab: the tree of all agents, or the one that `panel.agent` names.
#[component]
pub(crate) fn Agents() -> impl IntoView {
    let store = use_store();
    move || match store.panel.agent.get() {
        Some(agent) => view! { <One agent=agent /> }.into_any(),
        None => view! { <Tree /> }.into_any(),
    }
}

/// The branches of the tree, down to `depth` levels below the main agents; `None` is all of them. They are
/// computed anew when an agent is added or changes, at most once per painting.
fn branches(store: Store, depth: RwSignal<Option<usize>>) -> Memo<Vec<Branch>> {
    Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.track_items();
        store.reading.track_tools();
        store.reading.running.track();
        let runs = store.reading.view(|view| {
            let agents = |(id, run): (&RunId, &model::view::RunView)| {
                (id.clone(), run.agents.keys().cloned().collect::<Vec<_>>())
            };
            view.runs.iter().map(agents).collect::<Vec<_>>()
        });
        for (run, agents) in runs {
            store.reading.track_rows(&run);
            store.reading.track(&ViewChange::Run(run.clone()));
            for agent in agents {
                store.reading.track(&ViewChange::Item(run.clone(), Item::Agent(agent)));
            }
        }
        store.reading.view(|view| agents::tree(view, depth.get()))
    })
}

/// The tree with its filter by level, which is offered from two levels on. The deepest level ever seen is
/// remembered, so that the filter can be taken back.
#[component]
fn Tree() -> impl IntoView {
    let store = use_store();
    let depth = RwSignal::new(None::<usize>);
    let branches = branches(store, depth);
    let deepest = Memo::new(move |was: Option<&usize>| {
        let now = branches.with(|all| all.iter().map(|it| it.depth).max().unwrap_or(0));
        // Levels that the filter hides still count.
        was.copied().unwrap_or(0).max(now)
    });
    let chips = move || {
        (deepest.get() > 1).then(|| {
            let levels = (1..deepest.get().min(5)).map(Some).chain([None]);
            let chips = levels.map(|level| {
                let word = level.map_or_else(|| "all".to_owned(), |level| format!("≤ {level}"));
                view! {
                    <button type="button" class="chip num" aria-pressed=move || (depth.get() == level).to_string()
                        on:click=move |_| depth.set(level)>{word}</button>
                }
            });
            view! {
                <div class="chips" role="group" aria-label="Depth"><span class="meta depth">"Depth"</span>{chips.collect_view()}</div>
            }
        })
    };
    let keys = move || {
        branches.with(|all| all.iter().map(|it| (it.run.clone(), it.agent.clone())).collect::<Vec<_>>())
    };
    let is_alone = move || branches.with(|all| all.iter().all(|it| it.agent.is_none()));
    view! {
        {chips}
        <div class="rows agent-tree" data-t="agent-tree">
            <For each=keys key=Clone::clone let:key><BranchRow key=key branches=branches /></For>
            {move || is_alone().then(|| view! { <p class="meta pad">"No sub-agents yet"</p> })}
        </div>
    }
}

/// A row of the tree: state, name, calls by state, usage, time, task. `key` without an agent is the main
/// agent of the run.
///
/// A click on a sub-agent shows it in this tab; one on a main agent goes to its run in the conversation. Rows
/// are indented by 16 pixels for each level, at most eight.
#[component]
fn BranchRow(key: (RunId, Option<AgentId>), branches: Memo<Vec<Branch>>) -> impl IntoView {
    let store = use_store();
    let (run, agent) = key.clone();
    let branch = Memo::new(move |_| {
        branches.with(|all| all.iter().find(|it| it.run == key.0 && it.agent == key.1).cloned())
    });
    let read = move |read: fn(&Branch) -> String| branch.with(|it| it.as_ref().map(read)).unwrap_or_default();
    let status = Memo::new(move |_| branch.with(|it| it.as_ref().map(|it| it.status)).unwrap_or_default());
    let silent_since = store.reading.silent_since(&run);
    let shape =
        Signal::derive(move || run_icon(status.get(), store.is_current() && silent_since.get().is_none()));
    let depth = Memo::new(move |_| branch.with(|it| it.as_ref().map_or(0, |it| it.depth)));
    let indent = move || format!("{}px", depth.get().min(8).saturating_mul(16).saturating_add(12));
    let counts = Memo::new(move |_| branch.with(|it| it.as_ref().map(|it| it.counts)).unwrap_or_default());
    let span = Memo::new(move |_| {
        let span = branch.with(|it| it.as_ref().map_or(Span::None, |it| Span::of(it.span.0, it.span.1)));
        span.known_until(silent_since.get())
    });
    let named = agent.as_ref().map(ToString::to_string);
    let choose = move |_| match agent.clone() {
        Some(agent) => store.inspect(Some((run.clone(), agent))),
        None => store.reveal_row(&crate::timeline::Key::Run(run.clone())),
    };
    view! {
        <button type="button" class="branch" class:main=move || depth.get() == 0 data-t="agent-row" data-agent=named
            data-state=move || crate::fleet::status_word(status.get()) style:padding-left=indent on:click=choose>
            <span class="first">
                <StateIcon shape=shape />
                <span class="nm">{move || read(|it| it.name.clone())}</span>
                <CountsOf counts=counts />
                <span class="meta num" data-t="agent-used">{move || read(Branch::used)}</span>
                <span class="tm num meta" class:run=move || status.get() == RunStatus::Running>
                    {move || span_text(span.get())}
                </span>
            </span>
            <span class="task meta">{move || read(|it| it.task.clone())}</span>
        </button>
    }
}

/// A button that copies the answer of a sub-agent, once the sub-agent has ended. Nothing is drawn before, nor
/// for one that ended without an answer.
#[component]
pub(super) fn CopyAgent(run: RunId, id: AgentId) -> impl IntoView {
    let store = use_store();
    let ids = StoredValue::new((run, id));
    let answer = move || {
        ids.with_value(|(run, id)| {
            store.reading.view(|view| view.runs.get(run).map(|run| agents::answer(run, id)))
        })
        .unwrap_or_default()
    };
    let is_there = Memo::new(move |_| {
        let (run, id) = ids.get_value();
        store.reading.track(&ViewChange::Item(run.clone(), Item::Agent(id.clone())));
        let is_over = store.reading.view(|view| {
            view.runs.get(&run)?.agents.get(&id).map(|agent| agent.status != RunStatus::Running)
        });
        is_over == Some(true) && !answer().trim().is_empty()
    });
    move || {
        is_there
            .get()
            .then(|| view! { <div class="answer-foot"><Copy text=answer label="Copy its answer" /></div> })
    }
}

/// One agent: the path from the main agent to it, status, usage and time, its task, and its rows. A name in
/// the path shows that agent.
///
/// "Only this agent" reduces conversation, tools and timeline to it, or no longer. The rows are those of the
/// conversation, drawn a second time: [`Aside`] in the context makes their DOM ids differ.
#[component]
fn One(agent: AgentKey) -> impl IntoView {
    let store = use_store();
    provide_context(Aside);
    let flow = store.reading.flow(&agent.0);
    let key = StoredValue::new(agent.clone());
    let branch = {
        let (run, id) = agent.clone();
        Memo::new(move |_| {
            store.reading.track(&ViewChange::Item(run.clone(), Item::Agent(id.clone())));
            store.reading.track_rows(&run);
            let wanted = Some(id.clone());
            store.reading.view(|view| {
                agents::tree(view, None).into_iter().find(|it| it.run == run && it.agent == wanted)
            })
        })
    };
    let crumbs = move || {
        branch.track();
        let (run, id) = key.get_value();
        let path = store
            .reading
            .view(|view| view.runs.get(&run).map(|run| agents::path(run, &id)))
            .unwrap_or_default();
        let last = path.len().saturating_sub(1);
        let crumb = |(at, (id, name)): (usize, (AgentId, String))| {
            let to = (run.clone(), id);
            if at == last {
                view! { <span aria-current="true">{name}</span> }.into_any()
            } else {
                view! {
                    <button type="button" class="crumb-to" on:click=move |_| store.inspect(Some(to.clone()))>{name}</button>
                    <span aria-hidden="true">" ▸ "</span>
                }
                .into_any()
            }
        };
        path.into_iter().enumerate().map(crumb).collect_view()
    };
    let is_only =
        Memo::new(move |_| key.with_value(|key| store.reading.only.with(|only| only.as_ref() == Some(key))));
    let only = move |_| {
        let next = (!is_only.get_untracked()).then(|| key.get_value());
        store.look_only_at(next);
    };
    let status = move || branch.with(|it| it.as_ref().map(|it| it.status)).unwrap_or_default();
    let silent_since = store.reading.silent_since(&agent.0);
    let shape =
        Signal::derive(move || run_icon(status(), store.is_current() && silent_since.get().is_none()));
    let counts = Memo::new(move |_| branch.with(|it| it.as_ref().map(|it| it.counts)).unwrap_or_default());
    let time = move || {
        let span = branch.with(|it| it.as_ref().map_or(Span::None, |it| Span::of(it.span.0, it.span.1)));
        span_text(span.known_until(silent_since.get()))
    };
    let (run, id) = agent;
    let (its_run, its_id) = (run.clone(), id.clone());
    let shown = run.to_string();
    view! {
        <nav class="crumbs" aria-label="Agents" data-t="agent-path">
            <button type="button" class="icon" aria-label="All agents" title="All agents"
                on:click=move |_| store.inspect(None)>{icon("#agents", "")}</button>
            <button type="button" class="crumb-to" on:click=move |_| store.inspect(None)>"main"</button>
            <span aria-hidden="true">" ▸ "</span>
            {crumbs}
        </nav>
        <div class="one-head">
            <StateIcon shape=shape />
            <CountsOf counts=counts />
            <span class="num meta" data-t="agent-used">{move || branch.with(|it| it.as_ref().map(Branch::used))}</span>
            <span class="num meta">{time}</span>
            <span class="grow"></span>
            <button type="button" class="chip" data-t="only-agent" aria-pressed=move || is_only.get().to_string()
                on:click=only>"Only this agent"</button>
        </div>
        <p class="meta pad one-task">{move || branch.with(|it| it.as_ref().map(|it| it.task.clone()))}</p>
        <div class="rows one" data-t="agent-transcript" data-run=shown>
            <Lane run=run agent=Some(id) flow=flow from=RowRank::Step />
            <CopyAgent run=its_run id=its_id />
        </div>
    }
}

/// The conversation while it is reduced to one sub-agent: its path, a button that shows everything again, and
/// its rows.
#[component]
pub(super) fn OnlyAgent(agent: AgentKey) -> impl IntoView {
    let store = use_store();
    let flow = store.reading.flow(&agent.0);
    let (run, id) = agent;
    let line = store
        .reading
        .view(|view| view.runs.get(&run).map(|run| agents::path_line(run, &id)))
        .unwrap_or_default();
    let shown = run.to_string();
    view! {
        <div class="only-agent" data-t="only">
            <span class="nm">"Only " {line}</span>
            <button type="button" class="chip" on:click=move |_| store.look_only_at(None)>"Show everything"</button>
        </div>
        <section class="turn" data-run=shown><Lane run=run agent=Some(id) flow=flow from=RowRank::Step /></section>
    }
}
