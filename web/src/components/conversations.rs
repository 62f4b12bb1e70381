//! The list of conversations: its filter, its rows, and its pages.
//!
//! ```text
//! [ find ] Filter            ← FilterInput, and FilterTrouble below it
//! state: model: …            ← Chips
//! + New  Open  (Wall  Runs)
//! 3 changed · sort again     ← while rows are held in their places
//! Needs you 2                ← Head of a group
//!   ✋ title            2 m   ← Row
//!      what it does now
//! page 1 of 3                ← Pager
//! newest 40 of 120 · Older   ← Older
//! ```
//!
//! [`crate::fleet`] decides without a browser which rows there are, in which order and with which words; this
//! file draws them.

use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;
use model::frame::{ConversationRow, RowCall};
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusEvent};

use super::edge::Edge;
use super::elapsed::{Span, span_text};
use super::icon::{StateIcon, icon, run_icon};
use super::recording::OpenRecording;
use crate::browser;
use crate::fleet::{self, Filter, Group, Line, List, Wish};
use crate::format;
use crate::model::Model;
use crate::panes::Pane;
use crate::route;
use crate::route::{RUNS, SEARCH, search_address};
use crate::store::{Sheet, Store, use_store};
use crate::window;

/// The navigation at the left edge: filter, buttons, rows, pages. On a narrow window it is a sheet, shown
/// while `panel.sheet` is [`Sheet::List`].
///
/// While the pointer is on it, or a row of it has the focus by keyboard, rows keep their places; a chip then
/// says how many rows are out of place and sorts again when it is clicked. At most [`window::CONVERSATIONS`]
/// lines are in the document; a changed filter goes back to the first page.
#[component]
pub(crate) fn Conversations() -> impl IntoView {
    let store = use_store();
    let text = store.panel.filter;
    let filter = Memo::new(move |_| text.with(|text| Filter::parse(text)));
    let page = RwSignal::new(0_usize);
    let (pointed, focused) = (RwSignal::new(false), RwSignal::new(false));
    let resort = Trigger::new();
    let clock = slow_clock(store);
    let is_held = Signal::derive(move || pointed.get() || focused.get());
    let list = arranged(store, filter, clock, is_held, resort);
    Effect::new(move |_| {
        filter.track();
        page.set(0);
    });
    let held = move || list.with(|list| list.held_back);
    let sort = move || {
        pointed.set(false);
        focused.set(false);
        resort.notify();
    };
    let lines = move || {
        list.with(|list| {
            let first = first_line(page.get(), list.lines.len());
            list.lines.iter().skip(first).take(window::CONVERSATIONS).cloned().collect::<Vec<_>>()
        })
    };
    view! {
        <nav class="list" class:sheet=move || store.panel.sheet.get() == Sheet::List aria-label="Conversations"
            on:pointerenter=move |_| pointed.set(true) on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |event| focused.set(is_on_row(&event)) on:focusout=move |_| focused.set(false)>
            <div class="search">
                {icon("#find", "")}
                <FilterInput id="filter" />
            </div>
            <Chips text=text />
            <FilterTrouble />
            <span class="list-tools">
                {move || (store.control.has_agents() && store.beginning().is_some()).then(|| view! {
                    <a class="plain" data-in="" href=route::NEW title="New conversation (n)" data-t="new"
                        on:click=move |_| { store.panel.sheet.set(Sheet::None); browser::after(50, || browser::focus("composer")); }>
                        {icon("#plus", "")} " New"</a>
                })}
                <OpenRecording />
                // Beside the title, where the screen is wide enough for it.
                <a class="plain if-narrow" data-in="" href=route::WALL title="All conversations as tiles (g w)"
                    on:click=move |_| store.panel.sheet.set(Sheet::None)>{icon("#tiles", "")} " Wall"</a>
                <a class="plain if-narrow" href=RUNS title="All conversations as a table, each with its newest run">{icon("#menu", "")} " Runs"</a>
                <a class="plain if-narrow" href=SEARCH>"Search"</a>
            </span>
            {move || (held() > 0).then(|| view! {
                <button type="button" class="resort num" on:click=move |_| sort()>{held()} " changed · sort again"</button>
            })}
            <div class="rows">
                <For each=lines key=Clone::clone let:line>
                    {match line {
                        Line::Head(group) => view! { <Head group=group list=list /> }.into_any(),
                        Line::Row(id) => view! { <Row id=id clock=clock /> }.into_any(),
                    }}
                </For>
                <Pager list=list page=page />
                <Older sort=sort />
            </div>
            <Edge pane=Pane::List />
        </nav>
    }
}

/// The rows that `filter` shows, in order. While `is_held`, rows keep their places, until `resort` is
/// triggered.
///
/// `clock` is the hub's time in coarse steps ([`slow_clock`]): ages and silences are judged by it, so a row
/// changes its group at most once per step without an event. The wall of tiles uses the same list.
pub(super) fn arranged(
    store: Store,
    filter: Memo<Filter>,
    clock: Memo<u64>,
    is_held: Signal<bool>,
    resort: Trigger,
) -> Memo<List> {
    // The filter of the previous list: with another filter the order is not held.
    let made_for = StoredValue::new(Filter::default());
    Memo::new(move |old: Option<&List>| {
        store.track_fleet();
        resort.track();
        let (filter, now) = (filter.get(), clock.get());
        let is_same = made_for.with_value(|before| *before == filter);
        let frozen = old.filter(|_| is_held.get() && is_same);
        let arranged = |model: &Model| {
            let rows = model.fleet()?.values();
            Some(
                store
                    .reading
                    .seen
                    .with(|seen| fleet::arrange(rows, Wish { filter: &filter, now, seen }, frozen)),
            )
        };
        let list = store.reading.model(arranged).unwrap_or_default();
        made_for.set_value(filter);
        list
    })
}

/// The index of the first line of a page. Pages are counted from 0; a page after the last one is read as the
/// last.
fn first_line(page: usize, lines: usize) -> usize {
    page.min(lines.saturating_sub(1) / window::CONVERSATIONS).saturating_mul(window::CONVERSATIONS)
}

/// The filter input of the list and of the wall, with completions for its conditions.
///
/// `id` is the DOM id of the input; the completions are in a `datalist` whose id is made of it. Both inputs
/// write `panel.filter`, so what was typed here also filters the wall. The link behind the input searches for the same in the texts of all
/// conversations.
#[component]
pub(super) fn FilterInput(id: &'static str) -> impl IntoView {
    let store = use_store();
    let text = store.panel.filter;
    let values = move || {
        store.track_fleet();
        let rows = |model: &Model| {
            let rows = model.fleet().into_iter().flat_map(|rows| rows.values());
            text.with(|text| fleet::completions(text, rows))
        };
        store
            .reading
            .model(rows)
            .into_iter()
            .map(|value| view! { <option value=value></option> })
            .collect_view()
    };
    let list = format!("{id}-values");
    view! {
        <input type="search" id=id placeholder="Filter" aria-label="Filter conversations" list=list.clone()
            prop:value=move || text.get() on:input=move |event| text.set(event_target_value(&event)) />
        <datalist id=list>{values}</datalist>
        // The styles show it while something is typed.
        <a class="plain" href=move || text.with(|text| search_address(text)) data-t="search-texts">"Search texts"</a>
    }
}

/// Says which words of the filter look like a condition but are none. Nothing is drawn while there is no such
/// word.
#[component]
pub(super) fn FilterTrouble() -> impl IntoView {
    let store = use_store();
    let words = Memo::new(move |_| store.panel.filter.with(|text| fleet::unknown(text)));
    move || {
        words
            .get()
            .map(|words| view! { <p class="meta pad slow" role="status" data-t="filter-trouble">{words}</p> })
    }
}

/// Chips that add a condition to the filter, `text`. A click puts the condition in and the focus into the
/// input, so that the reader types the value.
#[component]
fn Chips(text: RwSignal<String>) -> impl IntoView {
    let chips = fleet::CHIPS.map(|chip| {
        let put = move |_| {
            text.update(|text| *text = fleet::with_chip(text, chip));
            browser::focus("filter");
        };
        view! {
            <button type="button" class="chip" on:click=put
                aria-pressed=move || text.with(|text| fleet::has_chip(text, chip)).to_string()>{chip}</button>
        }
    });
    view! { <div class="chips filters" role="group" aria-label="Conditions" data-t="filter-chips">{chips}</div> }
}

/// Buttons that turn the pages of the list, if it has more than one. A new page is shown from its top.
#[component]
fn Pager(list: Memo<List>, page: RwSignal<usize>) -> impl IntoView {
    // The index of the page and the number of pages.
    let place = Memo::new(move |_| {
        let lines = list.with(|list| list.lines.len());
        (first_line(page.get(), lines) / window::CONVERSATIONS, lines.div_ceil(window::CONVERSATIONS))
    });
    let turn = move |to: usize| {
        page.set(to);
        if let Ok(Some(rows)) = browser::document().query_selector(".list .rows") {
            rows.set_scroll_top(0);
        }
    };
    move || {
        let (at, pages) = place.get();
        let next = at.saturating_add(1);
        (pages > 1).then(|| {
            view! {
                <p class="pager pad num" data-t="list-pager">
                    <button type="button" class="chip" prop:disabled=at == 0
                        on:click=move |_| turn(at.saturating_sub(1))>"Previous"</button>
                    " page " {next} " of " {pages} " "
                    <button type="button" class="chip" prop:disabled=next == pages
                        on:click=move |_| turn(next)>"Next"</button>
                </p>
            }
        })
    }
}

/// Says that the hub has more conversations than the list, with a button that loads older ones.
///
/// The button fetches one page over HTTP and is disabled meanwhile. An error of the request is shown beside
/// the button and the list stays as it is.
#[component]
fn Older(
    /// Sorts the list, so that the loaded rows appear although the pointer is on it.
    sort: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let store = use_store();
    let words = Memo::new(move |_| {
        store.track_fleet();
        store.reading.model(|model| fleet::extent(model.fleet()?.len(), model.total()))
    });
    let failure = RwSignal::new(None::<String>);
    let is_asked = RwSignal::new(false);
    let ask = move |_| {
        let Some(path) = store.reading.model(Model::older_path).filter(|_| !is_asked.get_untracked()) else {
            return;
        };
        is_asked.set(true);
        spawn_local(async move {
            let answer = browser::fetch_text(&path).await;
            is_asked.set(false);
            failure.set(answer.and_then(|answer| store.take_older(&answer)).err());
            sort();
        });
    };
    move || {
        words.get().map(|words| {
            view! {
                <p class="meta pad num" data-t="older">
                    {words} " · " <button type="button" class="link" prop:disabled=move || is_asked.get() on:click=ask>"Older"</button>
                    {move || failure.get().map(|why| view! { " · " <span class="err">{why}</span> })}
                </p>
            }
        })
    }
}

/// Whether the event concerns a row with keyboard focus. A row that was clicked does not hold the list.
fn is_on_row(event: &FocusEvent) -> bool {
    let element = event.target().and_then(|it| it.dyn_into::<Element>().ok());
    element.is_some_and(|it| it.matches(".conv:focus-visible").unwrap_or(false))
}

/// The hub's time for the order of the list, rounded down to 15 seconds, so that the list is not sorted every
/// second.
pub(super) fn slow_clock(store: Store) -> Memo<u64> {
    const STEP_MS: u64 = 15_000;
    Memo::new(move |_| (store.reading.present.get() / STEP_MS).saturating_mul(STEP_MS))
}

/// The icon and the CSS class of a conversation.
///
/// What wants a person's attention comes first: an approval, a run whose publisher is gone, a call that takes
/// very long, a silent run. Only then the state of the newest run counts. `now` is the hub's time in
/// milliseconds since 1970. `is_current` is whether the page is connected; without a connection a running run
/// is drawn hollow, since nobody knows whether it still runs.
pub(crate) fn shape_of(
    row: Option<&ConversationRow>,
    is_current: bool,
    now: u64,
) -> (&'static str, &'static str) {
    match row {
        Some(row) if row.approvals > 0 => ("#hand", "appr"),
        Some(row) if row.stalled => ("#broken", "slow"),
        Some(row) if fleet::stuck(row, now).is_some() => ("#clock", "slow"),
        Some(row) if fleet::silent(row, now).is_some() => ("#hollow", "slow"),
        Some(ConversationRow { state: Some(status), .. }) => run_icon(*status, is_current),
        _ => ("#dot", "gone"),
    }
}

/// The heading of a group with the number of its rows, those on other pages included.
#[component]
fn Head(group: Group, list: Memo<List>) -> impl IntoView {
    let count = move || list.with(|list| list.counts.get(group as usize).copied().unwrap_or(0));
    view! { <h2>{group.title()} <span class="num">{count}</span></h2> }
}

/// What a row shows. It is compared as a whole, so that a row whose conversation did not change is not drawn
/// again.
#[derive(Debug, Clone, PartialEq)]
struct RowContent {
    /// The title, or the name of the conversation if it has none.
    title: String,
    /// What the conversation does now, or the beginning of its last answer: the second line.
    line: String,
    /// The state in a word; tests read it as `data-state`.
    state: &'static str,
    /// The row as the hub sent it.
    row: ConversationRow,
    /// When something last happened, in milliseconds since 1970 by the hub's clock; 0 is unknown.
    at: u64,
    /// The call whose growing time is shown.
    call: Option<RowCall>,
}

impl RowContent {
    /// Reads a row at the hub's time `now`.
    fn of(row: &ConversationRow, now: u64) -> Self {
        Self {
            title: fleet::title(row).to_owned(),
            line: fleet::line(row, now),
            state: fleet::state(row, now),
            row: row.clone(),
            call: fleet::call(row, now).cloned(),
            at: row.at,
        }
    }
}

/// A row of the list of conversations: icon, pin, title, age, tags, what it does now, how many calls failed, and a dot
/// if something came since the reader looked. It is a link; a click opens the conversation and closes the
/// sheet.
///
/// The age and the time of an executing call grow with the page's ticker; everything else changes when the
/// list does, or with `clock`.
#[component]
fn Row(id: ConversationId, clock: Memo<u64>) -> impl IntoView {
    let store = use_store();
    let path = route::path_of(&id);
    let name = id.to_string();
    let own = id.clone();
    let row = Memo::new(move |_| {
        store.track_fleet();
        let now = clock.get();
        store.reading.model(|model| model.fleet()?.get(&own).map(|row| RowContent::of(row, now)))
    });
    let is_current = Memo::new(move |_| store.reading.conversation.with(|open| open.as_ref() == Some(&id)));
    let text =
        move |read: fn(&RowContent) -> String| row.with(|row| row.as_ref().map(read)).unwrap_or_default();
    let shape = Signal::derive(move || {
        row.with(|row| shape_of(row.as_ref().map(|row| &row.row), store.is_current(), clock.get()))
    });
    let age = move || {
        let at = row.with(|row| row.as_ref().map_or(0, |row| row.at));
        match at {
            // The hub has not reported the conversation yet: it has just begun.
            0 => "now".to_owned(),
            at => format::age(store.reading.present.get().saturating_sub(at)),
        }
    };
    let line = move || {
        row.with(|row| match row.as_ref().map(|row| (row, row.call.as_ref())) {
            Some((_, Some(call))) => format!("{} · {}", call.name, span_text(Span::Since(call.since, 0))),
            Some((row, None)) => row.line.clone(),
            None => String::new(),
        })
    };
    let is_unread = Memo::new(move |_| {
        let is_new = |row: &RowContent| store.reading.seen.with(|seen| seen.is_unread(&row.row));
        !is_current.get() && row.with(|row| row.as_ref().is_some_and(is_new))
    });
    let failed = Memo::new(move |_| row.with(|row| row.as_ref().map_or(0, |row| row.row.failed)));
    let is_pinned = Memo::new(move |_| row.with(|row| row.as_ref().is_some_and(|row| row.row.pinned)));
    let tags =
        Memo::new(move |_| row.with(|row| row.as_ref().map(|row| row.row.tags.clone()).unwrap_or_default()));
    let state = move || row.with(|row| row.as_ref().map_or("", |row| row.state));
    view! {
        <a class="conv" data-in="" data-t="conversation-row" data-conversation=name data-state=state href=path
            aria-current=move || is_current.get().then_some("true")
            on:click=move |_| store.panel.sheet.set(Sheet::None)>
            <StateIcon shape=shape />
            <span class="n">
                {move || is_pinned.get().then(|| view! {
                    <svg class="pin" role="img" aria-label="pinned" data-t="pinned"><use href="#pin" /></svg>
                })}
                {move || text(|row| row.title.clone())}
            </span>
            <span class="t num">{age}</span>
            <span class="d">
                {move || tags.get().into_iter().map(|tag| view! { <span class="tag" data-t="tag">{tag.to_string()}</span> }).collect_view()}
                {line}
            </span>
            {move || (failed.get() > 0).then(|| view! { <span class="e err num">{failed.get()} " failed"</span> })}
            {move || is_unread.get().then(|| view! {
                <i class="unread" role="img" aria-label="unread" title="Something new since you looked"></i>
            })}
        </a>
    }
}
