//! The table of runs: what is chosen, filtered, sorted and selected.
//!
//! ```text
//! Board (rows, as the hub sends them) ─┐
//! RunsAddress (filter, sort, columns,  ├─▶ order: indices of rows ─▶ Grid
//!              time: the address bar) ─┘                          └▶ Summary, Selected
//! ```

use indexmap::IndexSet;
use leptos::prelude::*;
use model::ConversationId;

use super::address::{RunsAddress, UNTIL_NOW};
use super::board::Board;
use super::grid::Grid;
use super::selected::Selected;
use super::table::{Column, RowSums, SortedRows, Wanted};
use crate::components::icon;
use crate::components::refused::refused;
use crate::route::search_address;
use crate::{browser, fleet, format};

/// The rows of the table, as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableOrder {
    /// The indices in the board of the rows that are shown, in order.
    pub(super) places: Vec<usize>,
    /// What the rows are together that fit the filter.
    sums: RowSums,
    /// What the order was made for, and how many rows were loaded and how often some had been removed by then.
    made_for: (Wanted, usize, u64),
}

impl TableOrder {
    /// The order from `sorted`. Of one that is `held` nothing moves and what came since stands at the end, unless the reader changed the
    /// filter or rows were removed.
    fn next(held: Option<&Self>, sorted: &SortedRows, made_for: (Wanted, usize, u64)) -> Self {
        let stays = held.filter(|old| {
            let ((wanted, count, removed), now) = (&old.made_for, &made_for);
            *wanted == now.0 && *count <= now.1 && *removed == now.2
        });
        let places = match stays {
            Some(old) => {
                let new = sorted.order().iter().filter(|at| **at >= old.made_for.1);
                old.places.iter().chain(new).copied().collect()
            }
            None => sorted.order().to_vec(),
        };
        Self { places, sums: sorted.sums(), made_for }
    }
}

/// Everything that the parts of the table share. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// The rows of all conversations, as far as they are loaded.
    pub(super) board: Board,
    /// What the reader chose. Each change is written into the address bar, so that the table can be sent as a
    /// link.
    pub(super) address: RwSignal<RunsAddress>,
    /// The rows that are shown, in order.
    pub(super) order: Memo<TableOrder>,
    /// The conversations that the buttons of [`Selected`] concern. They stay selected while a filter hides
    /// them.
    pub(super) selected: RwSignal<IndexSet<ConversationId>>,
    /// The row that keys act on; the last one that was clicked or moved to.
    pub(super) current: RwSignal<Option<ConversationId>>,
    /// Whether the pointer is over the rows: then they keep their order, unless the reader changes the
    /// filter, or rows were removed.
    pub(super) is_held: RwSignal<bool>,
}

impl Table {
    /// The table that the address of the page describes, with nothing selected.
    fn new(board: Board) -> Self {
        let query = browser::window().location().search().unwrap_or_default();
        let address = RwSignal::new(RunsAddress::parse(&query));
        let wanted = Memo::new(move |_| address.with(RunsAddress::wanted));
        let is_held = RwSignal::new(false);
        let sorted = StoredValue::new_local(SortedRows::default());
        let order = Memo::new(move |old: Option<&TableOrder>| {
            board.sorting.track();
            let held = old.filter(|_| is_held.get_untracked());
            let (wanted, removed, time) = (wanted.get(), board.removed.get(), board.hub_time());
            board.rows(|rows| {
                let next = sorted.try_update_value(|sorted| {
                    sorted.sort(&wanted, rows, removed, board.take_changed(), time);
                    TableOrder::next(held, sorted, (wanted, rows.len(), removed))
                });
                next.unwrap_or_default()
            })
        });
        let (selected, current) = (RwSignal::new(IndexSet::new()), RwSignal::new(None));
        Effect::new(move |_| {
            board.removed.track();
            let is_there = |id: &ConversationId| board.rows(|rows| rows.contains_key(id));
            if selected.with_untracked(|all: &IndexSet<ConversationId>| !all.iter().all(is_there)) {
                selected.update(|all| all.retain(is_there));
            }
            if current.with_untracked(|id| id.as_ref().is_some_and(|id| !is_there(id))) {
                current.set(None);
            }
        });
        Self { board, address, order, selected, current, is_held }
    }

    /// Selects a conversation, or no longer.
    pub(super) fn toggle(self, id: &ConversationId) {
        self.selected.update(|selected| {
            if !selected.shift_remove(id) {
                selected.insert(id.clone());
            }
        });
    }

    /// The conversation at the place `place` of the order, from 0. Tracks nothing.
    pub(super) fn at(self, place: usize) -> Option<ConversationId> {
        let row = self.order.with_untracked(|order| order.places.get(place).copied())?;
        self.board.rows(|rows| rows.get_index(row).map(|(id, _)| id.clone()))
    }
}

/// The page `/runs`: filter, chips, time and columns; what is wrong with the filter; the sums; what can be
/// done with selected rows; and the rows.
#[component]
pub(super) fn Runs(board: Board) -> impl IntoView {
    let table = Table::new(board);
    Effect::new(move |_| browser::replace_address(&table.address.with(RunsAddress::address)));
    view! {
        <div class="runs" data-t="runs">
            <h1 class="sr">"Runs"</h1>
            <div class="controls">
                <FilterField table=table />
                <Chips table=table />
                <Time table=table />
                <span class="grow"></span>
                <Columns table=table />
            </div>
            <Trouble table=table />
            <Summary table=table />
            <Selected table=table />
            <Grid table=table />
        </div>
    }
}

/// Where the filter is typed. The language is that of the list of conversations ([`fleet`]); values are
/// completed from the rows that are loaded.
#[component]
fn FilterField(table: Table) -> impl IntoView {
    let text = Memo::new(move |_| table.address.with(|address| address.filter.clone()));
    let values = move || {
        let typed = text.get();
        // Something is offered for a word that is being typed; else nobody reads the rows.
        let is_wanted = !typed.ends_with(char::is_whitespace) && !typed.is_empty();
        let found = if is_wanted {
            table.board.rows(|rows| fleet::completions(&typed, rows.values()))
        } else {
            Vec::new()
        };
        found.into_iter().map(|value| view! { <option value=value></option> }).collect_view()
    };
    view! {
        <span class="search">
            {icon("#find", "")}
            <input type="search" id="filter" placeholder="Filter: words, state:silent, model:…, tool:…" aria-label="Filter runs"
                list="filter-values" prop:value=move || text.get()
                on:input=move |event| table.address.update(|address| address.filter = event_target_value(&event)) />
            <datalist id="filter-values">{values}</datalist>
            <a class="plain" href=move || text.with(|text| search_address(text)) data-t="search-texts"
                title="Search the texts of all conversations">"Search texts"</a>
        </span>
    }
}

/// Conditions that a click puts into the filter.
#[component]
fn Chips(table: Table) -> impl IntoView {
    let chips = ["state:silent", "has:approval", "state:running", "has:error", "slower:10m"].map(|chip| {
        let put = move |_| {
            table.address.update(|address| address.filter = fleet::with_chip(&address.filter, chip));
        };
        let is_on = move || table.address.with(|address| fleet::has_chip(&address.filter, chip));
        view! {
            <button type="button" class="chip" on:click=put aria-pressed=move || is_on().to_string()>{chip}</button>
        }
    });
    view! { <div class="chips" role="group" aria-label="Conditions" data-t="filter-chips">{chips}</div> }
}

/// The time that the table is reduced to, if it is, as a chip; a click shows all times again. A second one shows everything since its
/// beginning. The dashboard links to the table with a time.
#[component]
fn Time(table: Table) -> impl IntoView {
    move || {
        table.address.with(|address| address.time).map(|(from, to)| {
            let goes_on = to >= UNTIL_NOW;
            let words = if goes_on {
                format!("since {}", browser::date_and_time(from))
            } else {
                format!("{} – {}", browser::date_and_time(from), browser::date_and_time(to))
            };
            let until_now = (!goes_on).then(|| {
                let press = move |_| table.address.update(|address| address.time = Some((from, UNTIL_NOW)));
                view! {
                    <button type="button" class="chip" data-t="time-until-now" title="Shows runs from the start of this period until now"
                        on:click=press>"until now"</button>
                }
            });
            view! {
                <button type="button" class="chip" aria-pressed="true" data-t="time"
                    title="Only runs from this period are shown; click to show all"
                    on:click=move |_| table.address.update(|address| address.time = None)>{words} " ✕"</button>
                {until_now}
            }
        })
    }
}

/// A list of all columns with boxes. The last column that is shown cannot be taken away.
#[component]
fn Columns(table: Table) -> impl IntoView {
    let boxes = Column::ALL.map(|column| {
        let is_on = move || table.address.with(|address| address.columns.contains(&column));
        let change = move |_| {
            table.address.update(|address| {
                let chosen = |it: &Column| (*it == column) != address.columns.contains(it);
                let columns: Vec<Column> = Column::ALL.into_iter().filter(chosen).collect();
                if !columns.is_empty() {
                    address.columns = columns;
                }
            });
        };
        view! {
            <label><input type="checkbox" name=column.name() prop:checked=is_on on:change=change /> " " {column.title()}</label>
        }
    });
    view! {
        <details class="columns">
            <summary class="chip">"Columns"</summary>
            <fieldset><legend class="sr">"Columns"</legend>{boxes}</fieldset>
        </details>
    }
}

/// Says which words of the filter look like a condition but are none; otherwise why older rows could not be
/// loaded.
#[component]
fn Trouble(table: Table) -> impl IntoView {
    let words = Memo::new(move |_| {
        let filter = table.address.with(|address| fleet::unknown(&address.filter));
        filter.or_else(|| {
            table.board.trouble.get().map(|why| format!("Older conversations are missing: {why}"))
        })
    });
    move || {
        words
            .get()
            .map(|words| view! { <p class="meta slow" role="status" data-t="filter-trouble">{refused(&words)}</p> })
    }
}

/// What the rows that fit the filter are together, and how many of the hub's rows are loaded while that is not all.
#[component]
fn Summary(table: Table) -> impl IntoView {
    let told = Memo::new(move |_| {
        let total = table.board.total.get()?;
        Some(table.order.with(|order| order.sums.words(total)))
    });
    let words = move || {
        let (Some(told), Some(total)) = (told.get(), table.board.total.get()) else {
            return "Loading…".to_owned();
        };
        table.board.version.track();
        let known = table.board.rows(indexmap::IndexMap::len) as u64;
        if known < total { format!("{told} · {} loaded", format::grouped(known)) } else { told }
    };
    view! { <p class="meta num summary" data-t="summary">{words}</p> }
}
