//! A sub-agent: one line with its task and how its calls stand, and its own rows on a click.

use leptos::prelude::*;
use shared::event::RunStatus;
use shared::fold::Change;
use shared::view::Item;
use shared::{AgentId, RunId};

use super::elapsed::{Span, span_text};
use super::icon::{Chevron, StateIcon, run_icon};
use super::lane::Lane;
use crate::flow::{Counts, Flow};
use crate::open::Fold;
use crate::preview;
use crate::store::{agent_key, use_store};

#[derive(Debug, Clone, PartialEq)]
struct Head {
    name: String,
    task: String,
    status: RunStatus,
    span: Span,
}

/// A sub-agent and, when it is open, what it does.
#[component]
pub(super) fn Agent(run: RunId, id: AgentId, flow: Memo<Flow>) -> impl IntoView {
    let store = use_store();
    let key = StoredValue::new(agent_key(&run, &id));
    let (its_run, its_id) = (run.clone(), id.clone());
    let head = Memo::new(move |_| {
        store.track(&Change::Item(its_run.clone(), Item::Agent(its_id.clone())));
        store.view(|view| {
            let agent = view.runs.get(&its_run)?.agents.get(&its_id)?;
            let span = match (agent.status, agent.ended_at) {
                (RunStatus::Running, _) => Span::Since(agent.started_at, 0),
                (_, Some(end)) => Span::of(agent.started_at, Some(end)),
                _ => Span::None,
            };
            let name = agent.name.as_deref().unwrap_or(its_id.as_str()).to_owned();
            let task = agent.task.as_deref().map(preview::one_line).unwrap_or_default();
            Some(Head { name, task, status: agent.status, span })
        })
    });
    let open = Memo::new(move |_| key.with_value(|key| store.is_open(key, Fold::Agent)));
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::card::hold(&event, store);
        key.with_value(|key| store.choose(key, !open.get_untracked()));
    };
    let status =
        Memo::new(move |_| head.with(|head| head.as_ref().map(|head| head.status)).unwrap_or_default());
    let shape = Signal::derive(move || run_icon(status.get(), store.is_current()));
    let its_id = id.clone();
    let counts = Memo::new(move |_| flow.with(|flow| flow.counts(&its_id)));
    let text = move |read: fn(&Head) -> String| head.with(|head| head.as_ref().map(read)).unwrap_or_default();
    let is_running = move || status.get() == RunStatus::Running;
    let ids = StoredValue::new((run, id));
    view! {
        <div class="sub" class:done=move || !is_running()>
            <div class="card agent" data-state=move || crate::fleet::status_word(status.get())>
                <button type="button" data-nav="" aria-expanded=move || open.get().to_string() on:click=toggle>
                    <StateIcon shape=shape />
                    <span class="nm">{move || text(|head| head.name.clone())}</span>
                    <span class="pv task">{move || text(|head| head.task.clone())}</span>
                    <CountsOf counts=counts />
                    <span class="tm num" class:run=is_running>{move || text(|head| span_text(head.span))}</span>
                    <Chevron open=open />
                </button>
            </div>
            {move || open.get().then(|| {
                let (run, id) = ids.get_value();
                view! { <Lane run=run agent=Some(id) flow=flow open=true /> }.into_any()
            })}
        </div>
    }
}

/// How many calls gave a result, failed, and are open.
#[component]
fn CountsOf(counts: Memo<Counts>) -> impl IntoView {
    let one = |class: &'static str, sign: &'static str, word: &'static str, n: fn(Counts) -> usize| {
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
