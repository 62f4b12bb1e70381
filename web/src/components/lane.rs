//! The rows of one agent, in true order.

use leptos::prelude::*;
use shared::event::PartKind;
use shared::view::Item;
use shared::{AgentId, RunId};

use super::agent::Agent;
use super::agents::own_id;
use super::card::Card;
use super::note::note;
use super::text::{Answer, File};
use super::thinking::Thinking;
use crate::flow::{Bracket, Flow, Rank};
use crate::format;
use crate::open::Level;
use crate::store::{part_id, use_store};
use crate::window;

/// The rows of an agent, down to the rank `from`.
#[component]
pub(super) fn Lane(
    run: RunId,
    agent: Option<AgentId>,
    flow: Memo<Flow>,
    #[prop(into)] from: Signal<Rank>,
) -> impl IntoView {
    let store = use_store();
    let limit = RwSignal::new(window::rows(store.is_bare));
    let of = agent.clone();
    let rows = Memo::new(move |_| {
        let from = match from.get() {
            Rank::Step if store.level.get() == Level::All => Rank::Detail,
            from => from,
        };
        flow.with(|flow| {
            let rows = flow.lane(of.as_ref()).iter().filter(|row| row.rank >= from);
            rows.map(|row| row.item.clone()).collect::<Vec<_>>()
        })
    });
    let anchor = anchor(run.clone(), rows, limit);
    let before = move || {
        let newest = rows.with(Vec::len).saturating_sub(limit.get());
        anchor.get().unwrap_or(newest).min(newest)
    };
    let after = move || rows.with(Vec::len).saturating_sub(before()).saturating_sub(limit.get());
    let shown =
        move || rows.with(|rows| rows.iter().skip(before()).take(limit.get()).cloned().collect::<Vec<_>>());
    let ids = StoredValue::new((run, agent));
    view! {
        {move || (before() > 0).then(|| {
            let label = format!("Show {} earlier rows", format::grouped(before() as u64));
            let more = move |_| limit.update(|n| *n = n.saturating_mul(4));
            view! { <button type="button" class="more" on:click=more>{label}</button> }
        })}
        <For each=shown key=Clone::clone let:item>
            {ids.with_value(|(run, agent)| view! {
                <Row run=run.clone() agent=agent.clone() item=item flow=flow from=from />
            })}
        </For>
        {move || (after() > 0).then(|| {
            let label = format!("Show {} later rows", format::grouped(after() as u64));
            view! { <button type="button" class="more" on:click=move |_| anchor.set(None)>{label}</button> }
        })}
    }
}

/// The first row that is shown, where somebody wants to see one that is not among the newest; nothing while the view
/// follows the end.
fn anchor(run: RunId, rows: Memo<Vec<Item>>, limit: RwSignal<usize>) -> RwSignal<Option<usize>> {
    let store = use_store();
    let anchor = RwSignal::new(None::<usize>);
    Effect::new(move |_| {
        let wanted = store.wanted.get();
        let limit = limit.get_untracked();
        let Some((_, items)) = wanted.filter(|(of, _)| *of == run) else { return };
        let place = rows.with_untracked(|rows| {
            let at = rows.iter().position(|row| items.contains(row))?;
            let newest = rows.len().saturating_sub(limit);
            let first = anchor.get_untracked().unwrap_or(newest).min(newest);
            let is_shown = (first..first.saturating_add(limit)).contains(&at);
            (!is_shown).then(|| at.saturating_sub(limit / 2))
        });
        if place.is_some() {
            anchor.set(place);
        }
    });
    Effect::new(move |_| {
        if store.following.get() {
            anchor.set(None);
        }
    });
    anchor
}

/// One row, under the bracket of the calls that overlap with it.
#[component]
fn Row(
    run: RunId,
    agent: Option<AgentId>,
    item: Item,
    flow: Memo<Flow>,
    from: Signal<Rank>,
) -> impl IntoView {
    let key = item.clone();
    let is_tool = matches!(item, Item::Tool(_));
    let bracket = Memo::new(move |_| {
        // Of calls under one bracket, a failed one alone may be there.
        if !is_tool || from.get() > Rank::Step {
            return None;
        }
        flow.with(|flow| flow.row(agent.as_ref(), &key).and_then(|row| row.bracket))
    });
    let class = move || match bracket.get() {
        None => "row-of",
        Some(Bracket { is_first: true, .. }) => "row-of par first",
        Some(Bracket { is_last: true, .. }) => "row-of par last",
        Some(_) => "row-of par",
    };
    let (dom_id, part) = match &item {
        Item::Part(id) => (Some(own_id(part_id(&run, id))), Some(id.to_string())),
        _ => (None, None),
    };
    view! {
        <div class=class data-row="" id=dom_id data-part=part>
            {move || bracket.get().filter(|bracket| bracket.is_first).map(|bracket| {
                view! { <div class="meta num">{bracket_text(bracket)}</div> }
            })}
            {draw(run, item, flow)}
        </div>
    }
}

fn bracket_text(bracket: Bracket) -> String {
    match bracket.took {
        None => format!("{} in parallel", bracket.size),
        Some((wall, sum)) => format!(
            "{} in parallel · {} wall, {} in sum",
            bracket.size,
            format::duration(wall),
            format::duration(sum)
        ),
    }
}

/// What an item is never changes, so that this is decided once.
fn draw(run: RunId, item: Item, flow: Memo<Flow>) -> AnyView {
    let store = use_store();
    match item {
        Item::Part(id) => {
            let kind = store.view(|view| view.runs.get(&run)?.parts.get(&id).map(|part| part.kind));
            match kind.unwrap_or(PartKind::Text) {
                PartKind::Text => view! { <Answer run=run id=id /> }.into_any(),
                PartKind::Refusal => view! { <Answer run=run id=id is_refusal=true /> }.into_any(),
                PartKind::Thinking => view! { <Thinking run=run id=id /> }.into_any(),
                PartKind::File => view! { <File run=run id=id /> }.into_any(),
            }
        }
        Item::Tool(id) => view! { <Card run=run id=id /> }.into_any(),
        Item::Agent(id) => view! { <Agent run=run id=id flow=flow /> }.into_any(),
        Item::Note(number) => note(&run, number),
    }
}
