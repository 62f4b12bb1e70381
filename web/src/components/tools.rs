//! The Tools tab of the panel: every call of the conversation with its time, grouped by tool or in another
//! order.
//!
//! `list` scrolls the rows and moves the focus among them.
//!
//! ```text
//! view ─▶ groups by tool (latency) ─▶ Calls (calls::calls) ─▶ rows: filter, order, held places ─▶ ToolRow
//!                                         │
//!                                         └▶ longest: all time bars are drawn against it
//! ```

use std::collections::HashSet;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event};

use super::call::Groups;
use super::tool_row::ToolRow;
use crate::agents;
use crate::calls::{self, Calls, Filter, Sort, Wanted};
use crate::follow::Follow;
use crate::format;
use crate::latency::{self, CallKey, ToolLatencies};
use crate::store::{Store, use_store};
use crate::window;

mod list;

use list::{keep_newest_in_view, move_focus, place_of};

/// The calls of `groups`; `every` tells how long calls of a tool usually take. Tracks the states of calls, and the ticker only while a
/// call executes. `groups` may be reduced to one agent, `every` never is. Whether a call executes is looked
/// for in the newest 16 runs only: active runs are among the newest.
fn all_calls(store: Store, groups: Memo<Vec<ToolLatencies>>, every: Memo<Vec<ToolLatencies>>) -> Memo<Calls> {
    Memo::new(move |_| {
        // A call that begins to wait for approval changes no group.
        store.reading.track_tools();
        let any_runs = store.reading.view(|view| {
            let open = view.runs.values().rev().take(16).flat_map(|run| run.open.iter());
            open.into_iter().any(|item| matches!(item, model::view::Item::Tool(_)))
        });
        let now = if any_runs { store.reading.now.get() } else { 0 };
        let wanted: HashSet<CallKey> =
            groups.with(|groups| groups.iter().flat_map(|group| group.calls.iter().cloned()).collect());
        let mut calls = every.with(|every| store.reading.view(|view| calls::calls(view, every, now)));
        calls.retain(|key, _| wanted.contains(key));
        calls
    })
}

/// The Tools tab. It expects [`Groups`] in the context, which the panel computes once for all its tabs.
///
/// Rows keep their places while the pointer or the focus is on them. The list follows its newest row until
/// the reader scrolls up in it, and independently of the conversation. Filter and order are the tab's own and
/// are lost when another tab is shown.
#[component]
pub(crate) fn Tools() -> impl IntoView {
    let store = use_store();
    let Groups(every) = expect_context();
    // Only the calls of one agent and the agents below it, if the reader chose one.
    let inside = Memo::new(move |_| {
        every.track();
        let only = store.reading.only.get()?;
        Some(store.reading.view(|view| agents::calls_below(view, &only)))
    });
    let groups = Memo::new(move |_| match inside.get() {
        None => every.get(),
        Some(inside) => store.reading.view(|view| latency::groups(view, |call| inside.contains(call))),
    });
    let wanted = RwSignal::new(Wanted::default());
    let calls = all_calls(store, groups, every);
    let longest =
        Memo::new(move |_| calls.with(|all| all.values().map(|call| call.taken_ms).max().unwrap_or(0)));
    let (pointed, focused) = (RwSignal::new(false), RwSignal::new(false));
    let rows = Memo::new(move |was: Option<&(Wanted, Vec<CallKey>)>| {
        let wanted = wanted.get();
        // Rows keep their places while the pointer or the focus is on them, unless the reader chose another
        // filter or order.
        let held = was.filter(|(was, _)| (pointed.get() || focused.get()) && *was == wanted);
        let rows = calls.with(|calls| calls::rows(calls, &wanted, held.map(|(_, rows)| rows.as_slice())));
        (wanted, rows)
    });
    let is_by_tool = Memo::new(move |_| wanted.with(|wanted| wanted.sort == Sort::Tool));
    let names = move || names_of(groups, calls, rows);
    let follow = StoredValue::new_local(Follow::default());
    keep_newest_in_view(store, groups, move || {
        !pointed.get_untracked() && !focused.get_untracked() && follow.with_value(Follow::is_on)
    });
    let look = move |event: &Event| {
        // Only scrolling by the reader counts, not that of the panel.
        if pointed.get_untracked() || focused.get_untracked() {
            let list = event.current_target().and_then(|it| it.dyn_into::<Element>().ok());
            follow.update_value(|follow| list.iter().for_each(|it| follow.scrolled(place_of(it), true)));
        }
    };
    view! {
        {move || store.reading.part.with(Option::is_some).then(|| view! {
            <p class="meta pad" role="status" data-t="part-of-calls">"Loading earlier calls…"</p>
        })}
        <Chips calls=calls wanted=wanted />
        <div class="rows" data-t="tool-rows" on:scroll=move |event| look(&event)
            on:pointerenter=move |event| { pointed.set(true); look(&event); }
            on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |event| { focused.set(true); look(&event); } on:focusout=move |_| focused.set(false)
            on:keydown=move |event| move_focus(&event)>
            {move || if is_by_tool.get() {
                view! {
                    <For each=names key=Clone::clone let:name>
                        <GroupOf name=name groups=groups calls=calls rows=rows longest=longest wanted=wanted />
                    </For>
                }
                .into_any()
            } else {
                view! { <Ordered rows=rows calls=calls longest=longest /> }.into_any()
            }}
            {move || calls.with(Calls::is_empty).then(|| view! { <p class="meta pad">"No tool calls yet"</p> })}
            {move || (!calls.with(Calls::is_empty) && rows.with(|(_, rows)| rows.is_empty())).then(|| view! {
                <p class="meta pad">"No such call. "
                    <button type="button" class="link" on:click=move |_| wanted.update(clear)>"Show all"</button>
                </p>
            })}
        </div>
    }
}

/// The calls in an order other than by tool. At most [`window::CALLS`] rows are drawn: the newest if the
/// order is by start, otherwise the first. A line says how many more there are.
#[component]
fn Ordered(rows: Memo<(Wanted, Vec<CallKey>)>, calls: Memo<Calls>, longest: Memo<u64>) -> impl IntoView {
    let shown = move || {
        rows.with(|(wanted, rows)| {
            let newest_last = wanted.sort == Sort::Start;
            let skipped = if newest_last { rows.len().saturating_sub(window::CALLS) } else { 0 };
            rows.iter().skip(skipped).take(window::CALLS).cloned().collect::<Vec<_>>()
        })
    };
    let hidden = move || rows.with(|(_, rows)| rows.len().saturating_sub(window::CALLS));
    view! {
        <For each=shown key=Clone::clone let:key>
            <ToolRow key=key calls=calls longest=longest is_named=true />
        </For>
        {move || (hidden() > 0).then(|| view! { <p class="meta earlier">{hidden()} " more: use a filter"</p> })}
    }
}

/// The names of the tools of which a call passes the filter, in the order of their first calls.
fn names_of(
    groups: Memo<Vec<ToolLatencies>>,
    calls: Memo<Calls>,
    rows: Memo<(Wanted, Vec<CallKey>)>,
) -> Vec<String> {
    let mut names: Vec<String> =
        groups.with(|groups| groups.iter().map(|group| group.name.clone()).collect());
    // Memos are read before those that depend on them.
    calls.with(|calls| {
        rows.with(|(_, rows)| {
            let shown: HashSet<&str> =
                rows.iter().filter_map(|key| Some(calls.get(key)?.name.as_str())).collect();
            names.retain(|name| shown.contains(name.as_str()));
        });
    });
    names
}

/// Removes all filters; the order stays.
fn clear(wanted: &mut Wanted) {
    *wanted = Wanted { sort: wanted.sort, ..Wanted::default() };
}

/// The filters with the number of their calls, the order, and the choices of an agent and of a tool. One
/// filter is on at a time; a click on it takes it back.
#[component]
fn Chips(calls: Memo<Calls>, wanted: RwSignal<Wanted>) -> impl IntoView {
    let chips = Filter::ALL.map(|it| {
        let count = Memo::new(move |_| calls.with(|all| all.values().filter(|call| it.takes(call)).count()));
        let is_on = move || wanted.with(|wanted| wanted.filter == Some(it));
        let toggle = move |_| {
            wanted.update(|wanted| wanted.filter = if wanted.filter == Some(it) { None } else { Some(it) });
        };
        view! {
            <button type="button" class="chip num" aria-pressed=move || is_on().to_string() on:click=toggle>
                {it.word()} " " {move || count.get()}
            </button>
        }
    });
    let orders = Sort::ALL.map(|sort| view! { <option value=sort.word()>{sort.word()}</option> });
    let sort = move |event: Event| {
        let word = event_target_value(&event);
        if let Some(sort) = Sort::ALL.into_iter().find(|sort| sort.word() == word) {
            wanted.update(|wanted| wanted.sort = sort);
        }
    };
    view! {
        <div class="chips">{chips}</div>
        <div class="chips picks">
            <select aria-label="Order of the calls" data-t="sort" on:change=sort>{orders}</select>
            <ByAgent calls=calls wanted=wanted />
            {move || wanted.with(|wanted| wanted.tool.clone()).map(|tool| view! {
                <button type="button" class="chip" aria-pressed="true" data-t="only-tool" title="Show all tools"
                    on:click=move |_| wanted.update(|wanted| wanted.tool = None)>{tool} " ×"</button>
            })}
        </div>
    }
}

/// The choice of an agent, if calls of several are there. Agents are listed in the order of their first
/// calls.
#[component]
fn ByAgent(calls: Memo<Calls>, wanted: RwSignal<Wanted>) -> impl IntoView {
    let store = use_store();
    let agents = Memo::new(move |_| {
        let mut agents: Vec<_> = Vec::new();
        calls.with(|calls| {
            for ((run, _), call) in calls {
                if !agents.iter().any(|(_, agent)| *agent == call.agent) {
                    agents.push((run.clone(), call.agent.clone()));
                }
            }
        });
        let named = |(run, agent): (model::RunId, Option<model::AgentId>)| {
            let name = match &agent {
                None => "main agent".to_owned(),
                Some(id) => store
                    .reading
                    .view(|view| view.runs.get(&run)?.agents.get(id)?.name.as_deref().map(str::to_owned))
                    .unwrap_or_else(|| id.to_string()),
            };
            (agent, name)
        };
        agents.into_iter().map(named).collect::<Vec<_>>()
    });
    let choose = move |event: Event| {
        let at = event_target_value(&event).parse::<usize>().ok();
        let agent =
            at.and_then(|at| agents.with_untracked(|agents| agents.get(at).map(|(agent, _)| agent.clone())));
        wanted.update(|wanted| wanted.agent = agent);
    };
    move || {
        (agents.with(Vec::len) > 1).then(|| {
            let options = agents.with(|agents| {
                let names = agents.iter().enumerate();
                names
                    .map(|(at, (_, name))| view! { <option value=at.to_string()>{name.clone()}</option> })
                    .collect_view()
            });
            view! {
                <select aria-label="Agent of the calls" data-t="by-agent" on:change=choose>
                    <option value="all">"all agents"</option>
                    {options}
                </select>
            }
        })
    }
}

/// A tool with its calls: the heading with its numbers and, below it, the newest calls that pass the filter.
/// A click on the heading shows only this tool, or all again.
#[component]
fn GroupOf(
    name: String,
    groups: Memo<Vec<ToolLatencies>>,
    calls: Memo<Calls>,
    rows: Memo<(Wanted, Vec<CallKey>)>,
    longest: Memo<u64>,
    wanted: RwSignal<Wanted>,
) -> impl IntoView {
    // As its calls are called in the conversation.
    let title = if name.is_empty() { "tool".to_owned() } else { name.clone() };
    let own = name.clone();
    let meta = move || {
        groups.with(|groups| groups.iter().find(|group| group.name == name).map(meta_of)).unwrap_or_default()
    };
    let its_name = own.clone();
    let its_rows = Memo::new(move |_| {
        calls.with(|calls| {
            rows.with(|(_, rows)| {
                let is_its = |key: &&CallKey| calls.get(*key).is_some_and(|call| call.name == its_name);
                rows.iter().filter(is_its).cloned().collect::<Vec<_>>()
            })
        })
    });
    // Only the newest calls are shown, with an equal share for each tool.
    let share = move || window::CALLS.checked_div(groups.with(Vec::len)).unwrap_or(0).max(8);
    let hidden = move || {
        let share = share();
        its_rows.with(Vec::len).saturating_sub(share)
    };
    let newest = move || {
        let hidden = hidden();
        its_rows.with(|rows| rows.iter().skip(hidden).cloned().collect::<Vec<_>>())
    };
    let only = move |_| {
        wanted.update(|wanted| {
            wanted.tool = if wanted.tool.as_ref() == Some(&own) { None } else { Some(own.clone()) };
        });
    };
    view! {
        <button type="button" class="grp" title="Only this tool" on:click=only>
            {title} " " <span class="meta num">{meta}</span>
        </button>
        {move || (hidden() > 0).then(|| view! { <p class="meta earlier">{hidden()} " earlier"</p> })}
        <For each=newest key=Clone::clone let:key><ToolRow key=key calls=calls longest=longest /></For>
    }
}

/// The heading's numbers: how many calls, p50 and p95 of their durations, and how many failed.
fn meta_of(group: &ToolLatencies) -> String {
    let time = |name: &str, ms: Option<u64>| ms.map(|ms| format!("{name} {}", format::duration(ms)));
    let failed = (group.failed > 0).then(|| format!("{} failed", group.failed));
    let several = group.calls.len() > 1;
    let p50 = time("p50", group.p50()).filter(|_| several);
    let p95 = time("p95", group.p95()).filter(|_| several);
    let words = [Some(group.calls.len().to_string()), p50, p95, failed];
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
