//! The list of conversations.

use leptos::prelude::*;
use shared::ConversationId;
use shared::event::RunStatus;
use shared::frame::ConversationRow;
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusEvent};

use super::icon::{StateIcon, icon, run_icon};
use super::recording::OpenRecording;
use crate::browser;
use crate::fleet::{self, Group, Line, List};
use crate::format;
use crate::route;
use crate::store::{Sheet, Store, use_store};
use crate::window;

/// The list, its filter, and the chip that sorts it again after it stood still under the pointer.
#[component]
pub(crate) fn Conversations() -> impl IntoView {
    let store = use_store();
    let filter = RwSignal::new(String::new());
    let (pointed, focused) = (RwSignal::new(false), RwSignal::new(false));
    let resort = Trigger::new();
    let clock = slow_clock(store);
    let list = Memo::new(move |old: Option<&List>| {
        store.track_fleet();
        resort.track();
        let filter = filter.get();
        let frozen = old.filter(|_| (pointed.get() || focused.get()) && filter.is_empty());
        store
            .model(|model| {
                model.fleet().map(|rows| fleet::arrange(rows.values(), &filter, clock.get(), frozen))
            })
            .unwrap_or_default()
    });
    let held = move || list.with(|list| list.held_back);
    let sort = move |_| {
        pointed.set(false);
        focused.set(false);
        resort.notify();
    };
    let lines =
        move || list.with(|list| list.lines.iter().take(window::CONVERSATIONS).cloned().collect::<Vec<_>>());
    let more = move || list.with(|list| list.lines.len().saturating_sub(window::CONVERSATIONS));
    view! {
        <nav class="list" class:sheet=move || store.sheet.get() == Sheet::List aria-label="Conversations"
            on:pointerenter=move |_| pointed.set(true) on:pointerleave=move |_| pointed.set(false)
            on:focusin=move |event| focused.set(is_on_row(&event)) on:focusout=move |_| focused.set(false)>
            <div class="search">
                {icon("#find", "")}
                <input type="search" id="filter" placeholder="Filter" aria-label="Filter conversations"
                    on:input=move |event| filter.set(event_target_value(&event)) />
            </div>
            <span class="list-tools">
                {move || store.agents.with(|agents| !agents.is_empty()).then(|| view! {
                    <a class="plain" data-in="" href=route::NEW title="New conversation (n)" data-t="new"
                        on:click=move |_| { store.sheet.set(Sheet::None); browser::after(50, || browser::focus("composer")); }>
                        {icon("#plus", "")} " New"</a>
                })}
                <OpenRecording />
                <a class="plain" data-in="" href=route::WALL title="All conversations as tiles (g w)"
                    on:click=move |_| store.sheet.set(Sheet::None)>{icon("#tiles", "")} " Wall"</a>
            </span>
            {move || (held() > 0).then(|| view! {
                <button type="button" class="resort num" on:click=sort>{held()} " changed · sort again"</button>
            })}
            <div class="rows">
                <For each=lines key=Clone::clone let:line>
                    {match line {
                        Line::Head(group) => view! { <Head group=group list=list /> }.into_any(),
                        Line::Row(id) => view! { <Row id=id clock=clock /> }.into_any(),
                    }}
                </For>
                {move || (more() > 0).then(|| view! { <p class="meta pad">{more()} " more: use the filter"</p> })}
            </div>
        </nav>
    }
}

/// Whether a row has the focus of the keyboard: one that was clicked is not being looked for any more.
fn is_on_row(event: &FocusEvent) -> bool {
    let element = event.target().and_then(|it| it.dyn_into::<Element>().ok());
    element.is_some_and(|it| it.matches(".conv:focus-visible").unwrap_or(false))
}

/// The hub's time as far as the order of the list depends on it: it moves four times a minute.
pub(super) fn slow_clock(store: Store) -> Memo<u64> {
    const STEP_MS: u64 = 15_000;
    Memo::new(move |_| (store.now.get() / STEP_MS).saturating_mul(STEP_MS))
}

/// The icon and class of a conversation.
pub(super) fn shape_of(row: Option<&ConversationRow>, is_current: bool) -> (&'static str, &'static str) {
    match row {
        Some(row) if row.approvals > 0 => ("#hand", "appr"),
        Some(row) if row.stalled => ("#broken", "slow"),
        Some(ConversationRow { state: Some(status), .. }) => run_icon(*status, is_current),
        _ => ("#dot", "gone"),
    }
}

#[component]
fn Head(group: Group, list: Memo<List>) -> impl IntoView {
    let count = move || list.with(|list| list.counts.get(group as usize).copied().unwrap_or(0));
    view! { <h2>{group.title()} <span class="num">{count}</span></h2> }
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    title: String,
    line: String,
    state: &'static str,
    row: ConversationRow,
    at: u64,
}

impl Shown {
    fn of(row: &ConversationRow, now: u64) -> Self {
        Self {
            title: fleet::title(row).to_owned(),
            line: fleet::line(row, now),
            state: fleet::state(row),
            row: row.clone(),
            at: if row.state == Some(RunStatus::Running) && !row.stalled { u64::MAX } else { row.at },
        }
    }
}

/// One conversation.
#[component]
fn Row(id: ConversationId, clock: Memo<u64>) -> impl IntoView {
    let store = use_store();
    let path = route::path_of(&id);
    let name = id.to_string();
    let own = id.clone();
    let row = Memo::new(move |_| {
        store.track_fleet();
        let now = clock.get();
        store.model(|model| model.fleet()?.get(&own).map(|row| Shown::of(row, now)))
    });
    let is_current = move || store.conversation.with(|open| open.as_ref() == Some(&id));
    let text = move |read: fn(&Shown) -> String| row.with(|row| row.as_ref().map(read)).unwrap_or_default();
    let shape = Signal::derive(move || {
        row.with(|row| shape_of(row.as_ref().map(|row| &row.row), store.is_current()))
    });
    let age = move || {
        let at = row.with(|row| row.as_ref().map_or(0, |row| row.at));
        match at {
            // Of one that has just begun the hub has not told yet.
            0 | u64::MAX => "now".to_owned(),
            at => format::age(store.now.get().saturating_sub(at)),
        }
    };
    let state = move || row.with(|row| row.as_ref().map_or("", |row| row.state));
    view! {
        <a class="conv" data-in="" data-t="conversation-row" data-conversation=name data-state=state href=path
            aria-current=move || is_current().then_some("true")
            on:click=move |_| store.sheet.set(Sheet::None)>
            <StateIcon shape=shape />
            <span class="n">{move || text(|row| row.title.clone())}</span>
            <span class="t num">{age}</span>
            <span class="d">{move || text(|row| row.line.clone())}</span>
        </a>
    }
}
