//! The rows of one agent in the order of their events, of which only a limited part is in the document.
//!
//! A lane is what one agent of one run did: parts, calls, sub-agents and notes, as [`Flow`] orders them. The
//! main agent's lane is in the conversation, that of a sub-agent in its card or in the panel. As in the
//! conversation as a whole, only the newest rows that fit a budget are in the document, or those around the
//! target of a jump.

use std::ops::Range;

use leptos::prelude::*;
use model::event::PartKind;
use model::view::Item;
use model::{AgentId, RunId};

use super::agent::Agent;
use super::aside::own_id;
use super::card::Card;
use super::note::note;
use super::text::{Answer, File};
use super::thinking::Thinking;
use crate::flow::{Flow, FlowRow, OverlapGroup, RowRank};
use crate::format;
use crate::open::Level;
use crate::scroll::Scroller;
use crate::store::{Store, part_id, use_store};
use crate::window;

/// The rows of `agent` with rank `from` or higher; without an agent, those of the main agent. Rows that do
/// not fit are behind the buttons "earlier" and "later".
///
/// At the level All, `from` = [`RowRank::Step`] shows the details too. A row in which the reader writes is
/// always in the document. A click on "earlier" shows four times as many rows; a script's click moves in
/// smaller steps, and in the end moves the window itself.
#[component]
pub(super) fn Lane(
    run: RunId,
    agent: Option<AgentId>,
    flow: Memo<Flow>,
    #[prop(into)] from: Signal<RowRank>,
) -> impl IntoView {
    let store = use_store();
    let limit = RwSignal::new(window::rows(store.reading.is_bare));
    let of = agent.clone();
    // A row in which the reader writes stays, even if its rank falls.
    let kept = store.kept(&run);
    let rows = Memo::new(move |_| {
        let from = match from.get() {
            RowRank::Step if store.reading.level.get() == Level::All => RowRank::Detail,
            from => from,
        };
        flow.with(|flow| {
            let is_there = |row: &&FlowRow| row.rank >= from || kept.with(|kept| kept.contains(&row.item));
            let rows = flow.lane(of.as_ref()).iter().filter(is_there);
            rows.map(|row| row.item.clone()).collect::<Vec<_>>()
        })
    });
    let weigh = Weigh { run: StoredValue::new(run.clone()), rows };
    let newest = newest(store, weigh, limit);
    let anchor = anchor(run.clone(), weigh, newest, limit);
    // The row's place, wherever it is now: earlier rows may come from the hub.
    let anchored = Memo::new(move |was: Option<&Option<usize>>| {
        weigh.place(anchor.get().as_ref()?, was.copied().flatten().unwrap_or(0))
    });
    let before = Memo::new(move |_| anchored.get().unwrap_or(usize::MAX).min(newest.get()));
    let count = Memo::new(move |_| match anchored.get() {
        Some(from) if from < newest.get() => {
            weigh.with(store, |count, weight| window::fitting(count, from, limit.get(), weight))
        }
        _ => rows.with(Vec::len).saturating_sub(before.get()),
    });
    // `rows` is read first: an effect that reads the two in the other order is not run when `rows` alone
    // changes.
    let hidden = move |range: Range<usize>| {
        let is_hidden = |row: &&Item| !kept.with(|kept| kept.contains(row));
        rows.with(|rows| rows.get(range).unwrap_or_default().iter().filter(is_hidden).count())
    };
    let above = move || {
        rows.track();
        hidden(0..before.get())
    };
    let after = move || {
        rows.track();
        hidden(before.get().saturating_add(count.get()).min(rows.with(Vec::len))..rows.with(Vec::len))
    };
    let shown = move || {
        rows.track();
        kept.track();
        shown_rows(rows, kept, before.get()..before.get().saturating_add(count.get()))
    };
    let ids = StoredValue::new((run, agent));
    view! {
        {move || (above() > 0).then(|| {
            let label = format!("Show {} earlier rows", format::grouped(above() as u64));
            let more = move |event: leptos::ev::MouseEvent| {
                store.reading.scroller.with_value(Scroller::hold_first);
                let rows = limit.get_untracked();
                let wanted = if event.is_trusted() { Some(rows.saturating_mul(4)) } else { window::grown(rows) };
                match wanted {
                    Some(wanted) => limit.set(wanted),
                    None => anchor.set(weigh.row(first_before(store, weigh, before, rows / 2))),
                }
            };
            view! { <button type="button" class="more" data-earlier="" on:click=more>{label}</button> }
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

/// The index of the first of the newest rows that are shown.
fn newest(store: Store, weigh: Weigh, limit: RwSignal<usize>) -> Memo<usize> {
    let newest = Memo::new(move |was: Option<&(usize, Option<Item>)>| {
        // Rows that the reader is reading must not be removed, wherever they are now: earlier ones may come from the hub.
        let was = was.filter(|_| !store.reading.following.get_untracked());
        let held = was.and_then(|(near, row)| weigh.place(row.as_ref()?, *near));
        let at = weigh.with(store, |count, weight| window::first_held(count, limit.get(), held, weight));
        (at, weigh.row(at))
    });
    Memo::new(move |_| newest.with(|newest| newest.0))
}

/// The rows in `window`, and those in which the reader writes.
fn shown_rows(rows: Memo<Vec<Item>>, kept: Memo<Vec<Item>>, window: Range<usize>) -> Vec<Item> {
    let is_shown = |(at, row): &(usize, &Item)| window.contains(at) || kept.with(|kept| kept.contains(row));
    rows.with(|rows| rows.iter().enumerate().filter(is_shown).map(|(_, row)| row.clone()).collect())
}

/// The index of the first of the rows before `before` that together weigh `rows`.
fn first_before(store: Store, weigh: Weigh, before: Memo<usize>, rows: usize) -> usize {
    untrack(|| weigh.with(store, |_, weight| window::first(before.get(), rows, weight)))
}

/// The weights of the rows of a run. A row with an open body weighs more than a line of text
/// ([`window::row_weight`]).
#[derive(Clone, Copy)]
struct Weigh {
    /// The run of the rows.
    run: StoredValue<RunId>,
    /// The rows in order.
    rows: Memo<Vec<Item>>,
}

impl Weigh {
    /// The row at index `at`. Tracks nothing.
    fn row(self, at: usize) -> Option<Item> {
        self.rows.with_untracked(|rows| rows.get(at).cloned())
    }

    /// The index of `row`: `near`, if it is there still. Tracks the rows.
    fn place(self, row: &Item, near: usize) -> Option<usize> {
        self.rows.with(|rows| {
            let is_near = rows.get(near) == Some(row);
            if is_near { Some(near) } else { rows.iter().position(|it| it == row) }
        })
    }

    /// Calls `read` with the number of rows and a function that returns the weight of a row. Tracks the rows.
    /// If the run is not in the view, each row weighs 1.
    fn with<T>(self, store: Store, read: impl FnOnce(usize, &dyn Fn(usize) -> usize) -> T) -> T {
        self.rows.with(|rows| {
            self.run.with_value(|id| {
                store.reading.view(|view| {
                    let run = view.runs.get(id);
                    read(rows.len(), &|at| {
                        run.map_or(1, |it| {
                            window::row_weight(it, rows.get(at), |item| store.reading.has_body(id, item))
                        })
                    })
                })
            })
        })
    }
}

/// The index of the first row that is shown after a jump to a row that is not in the document; `None` while
/// the newest rows are shown. Following the end clears it. A jump to a row that is there already moves
/// nothing.
fn anchor(run: RunId, weigh: Weigh, newest: Memo<usize>, limit: RwSignal<usize>) -> RwSignal<Option<Item>> {
    let store = use_store();
    let anchor = RwSignal::new(None::<Item>);
    Effect::new(move |_| {
        let wanted = store.reading.wanted.get();
        let limit = limit.get_untracked();
        let Some((_, items)) = wanted.filter(|(of, _)| *of == run) else { return };
        let wanted = weigh.rows.with_untracked(|rows| rows.iter().position(|row| items.contains(row)));
        let Some(at) = wanted else { return };
        let newest = newest.get_untracked();
        let place = untrack(|| {
            weigh.with(store, |count, weight| {
                let first = anchor.get_untracked().and_then(|row| weigh.place(&row, 0));
                let first = first.unwrap_or(newest).min(newest);
                let shown =
                    if first == newest { count } else { window::fitting(count, first, limit, weight) };
                let is_shown = (first..first.saturating_add(shown)).contains(&at);
                // Half of the budget goes to the rows above it.
                (!is_shown).then(|| window::first(at.saturating_add(1), limit / 2, weight))
            })
        });
        if let Some(row) = place.and_then(|place| weigh.row(place)) {
            anchor.set(Some(row));
        }
    });
    Effect::new(move |_| {
        if store.reading.following.get() {
            anchor.set(None);
        }
    });
    anchor
}

/// A row, with the bracket of the calls that ran in parallel with it.
#[component]
fn Row(
    run: RunId,
    agent: Option<AgentId>,
    item: Item,
    flow: Memo<Flow>,
    from: Signal<RowRank>,
) -> impl IntoView {
    let key = item.clone();
    let is_tool = matches!(item, Item::Tool(_));
    let bracket = Memo::new(move |_| {
        // With this rank, a failed call may be shown without the others of its bracket.
        if !is_tool || from.get() > RowRank::Step {
            return None;
        }
        flow.with(|flow| flow.row(agent.as_ref(), &key).and_then(|row| row.bracket))
    });
    let class = move || match bracket.get() {
        None => "row-of",
        Some(OverlapGroup { is_first: true, .. }) => "row-of par first",
        Some(OverlapGroup { is_last: true, .. }) => "row-of par last",
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

/// How many calls ran in parallel and, once they are over, how long they took: from the first start to the
/// last end ("wall"), and all their durations added ("in sum").
fn bracket_text(bracket: OverlapGroup) -> String {
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

/// The content of a row. Not reactive, but for notes: the kind of an item never changes.
fn draw(run: RunId, item: Item, flow: Memo<Flow>) -> AnyView {
    let store = use_store();
    match item {
        Item::Part(id) => {
            let kind = store.reading.view(|view| view.runs.get(&run)?.parts.get(&id).map(|part| part.kind));
            match kind.unwrap_or(PartKind::Text) {
                PartKind::Text => view! { <Answer run=run id=id /> }.into_any(),
                PartKind::Refusal => view! { <Answer run=run id=id is_refusal=true /> }.into_any(),
                PartKind::Thinking => view! { <Thinking run=run id=id /> }.into_any(),
                PartKind::File => view! { <File run=run id=id /> }.into_any(),
            }
        }
        Item::Tool(id) => view! { <Card run=run id=id /> }.into_any(),
        Item::Agent(id) => view! { <Agent run=run id=id flow=flow /> }.into_any(),
        // Notes are numbered within the part of the conversation that is here.
        Item::Note(number) => {
            let drawn = move || {
                store.reading.part.track();
                note(&run, number)
            };
            view! { {drawn} }.into_any()
        }
    }
}
