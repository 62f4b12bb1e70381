//! A sub-agent in the conversation: a line with its task and call counts, its newest steps, and its rows once
//! unfolded.
//!
//! ```text
//! ◌ researcher  find the rates of 2026      ✓ 9  ✗ 1  ◌ 2   1:08  ▸
//!   searched the web · read 3 pages                            newest steps, while folded and running
//!   rows                                                       unfolded: all; folded: what asks a person
//! ```

use leptos::prelude::*;
use model::event::RunStatus;
use model::fold::ViewChange;
use model::view::Item;
use model::{AgentId, RunId};

use super::agents::CopyAgent;
use super::aside::own_id;
use super::elapsed::{Span, span_text};
use super::icon::{Chevron, StateIcon, run_icon};
use super::lane::Lane;
use crate::agents;
use crate::flow::{CallCounts, Flow, FlowRow, RowRank};
use crate::open::Fold;
use crate::preview;
use crate::store::{Store, agent_key, use_store};

/// What the line of a sub-agent shows.
#[derive(Debug, Clone, PartialEq)]
struct Head {
    /// The name of the sub-agent, or its id if it has none.
    name: String,
    /// The task that it was given, in one line.
    task: String,
    /// The status of the sub-agent.
    status: RunStatus,
    /// From its start to its end; none if it ended at a time that nobody reported.
    span: Span,
}

/// A sub-agent. A click on its line shows it in the panel; the button at the right unfolds its steps in
/// place, with the line where it is. One below the depth [`agents::DEPTH_MAX`] is not indented further and
/// shows its path instead.
#[component]
pub(super) fn Agent(run: RunId, id: AgentId, flow: Memo<Flow>) -> impl IntoView {
    let store = use_store();
    let key = StoredValue::new(agent_key(&run, &id));
    let dom_id = own_id(agent_key(&run, &id));
    let head = head_of(store, &run, &id);
    let open = Memo::new(move |_| key.with_value(|key| store.reading.is_open(key, Fold::Agent)));
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    let status =
        Memo::new(move |_| head.with(|head| head.as_ref().map(|head| head.status)).unwrap_or_default());
    let silent_since = store.reading.silent_since(&run);
    let shape =
        Signal::derive(move || run_icon(status.get(), store.is_current() && silent_since.get().is_none()));
    let span = Memo::new(move |_| {
        head.with(|head| head.as_ref().map_or(Span::None, |head| head.span)).known_until(silent_since.get())
    });
    let its_id = id.clone();
    let counts = Memo::new(move |_| flow.with(|flow| flow.counts(&its_id)));
    let text = move |read: fn(&Head) -> String| head.with(|head| head.as_ref().map(read)).unwrap_or_default();
    let is_running = move || status.get() == RunStatus::Running;
    let path = store
        .reading
        .view(|view| view.runs.get(&run).map(|it| (agents::path(it, &id).len(), agents::path_line(it, &id))));
    let (depth, line) = path.unwrap_or_default();
    let is_deep = depth > agents::DEPTH_MAX;
    let chip = is_deep.then(|| view! { <span class="path-chip meta">{line}</span> });
    let name = id.to_string();
    let ids = StoredValue::new((run, id));
    let inspect = move |_| store.inspect(Some(ids.get_value()));
    let unfold = move || if open.get() { "Fold the steps away" } else { "Show the steps here" };
    view! {
        <div class="sub" class:done=move || !is_running() class:deep=is_deep>
            <div class="card agent" id=dom_id data-t="agent-card" data-agent=name
                data-state=move || crate::fleet::status_word(status.get())>
                <button type="button" data-nav="" title="Show it in the panel" on:click=inspect>
                    <StateIcon shape=shape />
                    {chip}
                    <span class="nm">{move || text(|head| head.name.clone())}</span>
                    <span class="pv task">{move || text(|head| head.task.clone())}</span>
                    <CountsOf counts=counts />
                    <span class="tm num" class:run=is_running>{move || span_text(span.get())}</span>
                </button>
                <button type="button" class="unfold" aria-expanded=move || open.get().to_string() aria-label=unfold
                    title=unfold on:click=toggle><Chevron open=open /></button>
            </div>
            <Below ids=ids flow=flow open=open is_running=Signal::derive(is_running) />
        </div>
    }
}

/// The part below the line of a sub-agent: its newest steps while folded, otherwise its rows.
#[component]
fn Below(
    ids: StoredValue<(RunId, AgentId)>,
    flow: Memo<Flow>,
    open: Memo<bool>,
    is_running: Signal<bool>,
) -> impl IntoView {
    let store = use_store();
    let ticker = Memo::new(move |_| {
        if !is_running.get() || open.get() {
            return Vec::new();
        }
        flow.with(|flow| {
            ids.with_value(|(run, id)| {
                store
                    .reading
                    .view(|view| view.runs.get(run).map(|run| agents::ticker(run, flow, id)))
                    .unwrap_or_default()
            })
        })
    });
    let from = Memo::new(move |_| if open.get() { RowRank::Step } else { RowRank::Asked });
    // Calls that wait for a person are shown even if the sub-agent is folded.
    let asks = Memo::new(move |_| {
        let asks = |row: &FlowRow| row.rank == RowRank::Asked;
        ids.with_value(|(_, id)| flow.with(|flow| flow.lane(Some(id)).iter().any(asks)))
    });
    let kept = ids.with_value(|(run, _)| store.kept(run));
    let is_kept = move || ids.with_value(|(_, id)| kept.with(|kept| kept.contains(&Item::Agent(id.clone()))));
    // One memo for all reasons: the rows are rebuilt only when the last reason is gone.
    let has_rows = Memo::new(move |_| open.get() || asks.get() || is_kept());
    view! {
        {move || ticker.with(|lines| (!lines.is_empty()).then(|| {
            let lines = lines.iter().map(|line| view! { <span>{line.clone()}</span> }).collect_view();
            view! { <div class="ticker meta" data-t="agent-ticker">{lines}</div> }
        }))}
        {move || has_rows.get().then(|| {
            let (run, id) = ids.get_value();
            let (its_run, its_id) = ids.get_value();
            view! {
                <Lane run=run agent=Some(id) flow=flow from=from />
                {move || open.get().then(|| view! { <CopyAgent run=its_run.clone() id=its_id.clone() /> })}
            }
            .into_any()
        })}
    }
}

/// The head of a sub-agent, updated when the agent changes.
fn head_of(store: Store, run: &RunId, id: &AgentId) -> Memo<Option<Head>> {
    let (run, id) = (run.clone(), id.clone());
    Memo::new(move |_| {
        store.reading.track(&ViewChange::Item(run.clone(), Item::Agent(id.clone())));
        store.reading.view(|view| {
            let agent = view.runs.get(&run)?.agents.get(&id)?;
            let span = match (agent.status, agent.ended_at) {
                (RunStatus::Running, _) => Span::Since(agent.started_at, 0),
                (_, Some(end)) => Span::of(agent.started_at, Some(end)),
                _ => Span::None,
            };
            let name = agent.name.as_deref().unwrap_or(id.as_str()).to_owned();
            let task = agent.task.as_deref().map(preview::one_line).unwrap_or_default();
            Some(Head { name, task, status: agent.status, span })
        })
    })
}

/// How many calls are done, failed and open; a count of 0 is left out.
#[component]
pub(super) fn CountsOf(counts: Memo<CallCounts>) -> impl IntoView {
    let one = |class: &'static str, sign: &'static str, word: &'static str, n: fn(CallCounts) -> usize| {
        move || {
            let n = n(counts.get());
            (n > 0).then(|| view! { <span class=class title=word>{sign} " " {n}</span> })
        }
    };
    view! {
        <span class="st meta num counts">
            {one("ok", "✓", "complete", |counts| counts.done)}
            {one("err", "✗", "failed", |counts| counts.failed)}
            {one("run", "◌", "open", |counts| counts.open)}
        </span>
    }
}
