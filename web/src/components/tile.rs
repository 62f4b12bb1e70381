//! A tile of the wall: what a conversation is doing.
//!
//! ```text
//! ● Quarterly report            2:41    state, title, how long
//!   searched the web                    ticker: the newest steps
//!   wrote 3 files
//!   ◌ run_sql  0:14                     the call that executes longest
//!   11 tools · 1 failed  👁 3  42 tok/s  counts
//! ```

use std::time::Duration;

use leptos::prelude::*;
use model::ConversationId;
use model::event::RunStatus;
use model::frame::{ConversationRow, RowCall};

use super::conversations::{shape_of, slow_clock};
use super::icon::{StateIcon, icon};
use crate::browser;
use crate::fleet;
use crate::format;
use crate::route;
use crate::store::{Store, use_store};
use crate::wall;

/// How often the lines of a subscribed tile change at most, in milliseconds; nobody could read them faster.
const TICK_MS: u64 = 400;

/// What a tile shows. It is compared as a whole, so that a tile whose row did not change is not drawn again.
#[derive(Debug, Clone, PartialEq)]
struct TileContent {
    /// The row as the hub sent it.
    row: ConversationRow,
    /// The last activities of the conversation that the list reported, the newest last.
    lines: Vec<String>,
}

/// A tile, which is a link to its conversation. `looked` is set to it while the pointer or the focus is on
/// it; the wall then opens the conversation, and the tile shows its newest steps instead of what the list
/// tells.
#[component]
pub(super) fn Tile(id: ConversationId, looked: RwSignal<Option<ConversationId>>) -> impl IntoView {
    let store = use_store();
    let (href, name) = (route::path_of(&id), id.to_string());
    let id = StoredValue::new(id);
    let tile = Memo::new(move |_| {
        store.track_fleet();
        id.with_value(|id| {
            store.reading.model(|model| {
                let row = model.fleet()?.get(id)?.clone();
                Some(TileContent { row, lines: model.ticker(id) })
            })
        })
    });
    let is_subscribed = Memo::new(move |_| {
        store.reading.live.get()
            && store.reading.conversation.with(|open| id.with_value(|id| open.as_ref() == Some(id)))
    });
    let live = live_lines(store, is_subscribed);
    let clock = slow_clock(store);
    let read =
        move |read: fn(&TileContent) -> String| tile.with(|it| it.as_ref().map(read)).unwrap_or_default();
    let shape = Signal::derive(move || {
        tile.with(|tile| shape_of(tile.as_ref().map(|tile| &tile.row), store.is_current(), clock.get()))
    });
    let is_stuck =
        move || tile.with(|it| it.as_ref().is_some_and(|it| fleet::stuck(&it.row, clock.get()).is_some()));
    let lines = move || {
        let live = live.get();
        if live.is_empty() {
            tile.with(|it| it.as_ref().map(|it| it.lines.clone())).unwrap_or_default()
        } else {
            live
        }
    };
    let call = Memo::new(move |_| tile.with(|tile| tile.as_ref()?.row.call.clone()));
    let enter = move || looked.set(Some(id.get_value()));
    let leave = move || {
        looked.update(|looked| {
            if id.with_value(|id| looked.as_ref() == Some(id)) {
                *looked = None;
            }
        });
    };
    view! {
        <a class="tile" class:stuck=is_stuck data-in="" data-t="tile" data-conversation=name href=href
            data-state=move || tile.with(|it| it.as_ref().map_or("", |it| fleet::state(&it.row, clock.get())))
            data-subscribed=move || is_subscribed.get().then_some("")
            on:pointerenter=move |_| enter() on:pointerleave=move |_| leave()
            on:focus=move |_| enter() on:blur=move |_| leave()>
            <span class="tile-head">
                <StateIcon shape=shape />
                {move || tile.with(|it| it.as_ref().is_some_and(|it| it.row.pinned)).then(|| view! {
                    <svg class="pin" role="img" aria-label="pinned"><use href="#pin" /></svg>
                })}
                <strong class="n">{move || read(|it| fleet::title(&it.row).to_owned())}</strong>
                <span class="meta num">{move || tile.with(|it| it.as_ref().map(|it| elapsed(store, &it.row)))}</span>
            </span>
            <span class="ticker">
                {move || lines().into_iter().map(|line| view! { <span>{line}</span> }).collect_view()}
            </span>
            <span class="tile-call num">
                {move || call.get().map(|call| view! { <Call call=call tile=tile /> })}
            </span>
            <span class="tile-foot meta num">
                <Counts tile=tile />
                {move || is_subscribed.get().then(|| rate(store))}
            </span>
        </a>
    }
}

/// The newest steps of the conversation while the tile is subscribed to, updated every [`TICK_MS`]; empty
/// otherwise. The interval ends with the tile.
fn live_lines(store: Store, is_subscribed: Memo<bool>) -> RwSignal<Vec<String>> {
    let lines = RwSignal::new(Vec::new());
    Effect::new(move |_| {
        if !is_subscribed.get() {
            lines.set(Vec::new());
            return;
        }
        let look = move || {
            let newest = store.reading.view(wall::lines);
            if lines.try_with_untracked(|lines| *lines != newest) == Some(true) {
                lines.set(newest);
            }
        };
        look();
        // The interval also ends with the tile.
        if let Ok(handle) = set_interval_with_handle(look, Duration::from_millis(TICK_MS)) {
            on_cleanup(move || handle.clear());
        }
    });
    lines
}

/// How long the newest run has taken, or how long ago it ended; "at least" if the page is not connected. A
/// silent or stalled run says for how long it is.
fn elapsed(store: Store, row: &ConversationRow) -> String {
    match (row.state, row.ended_at) {
        (Some(RunStatus::Running), _) => {
            let now = store.reading.present.get();
            match fleet::silent(row, now) {
                Some(ms) if row.stalled => format!("stalled {}", format::age(ms)),
                Some(ms) => format!("silent {}", format::age(ms)),
                None => fleet::lasts(row, row.started_at, now, store.is_current()),
            }
        }
        (_, Some(end)) => {
            let ago = format::age(store.reading.present.get().saturating_sub(end));
            if ago == "now" { ago } else { format!("{ago} ago") }
        }
        _ => String::new(),
    }
}

/// The call that has been executing for the longest time.
#[component]
fn Call(call: RowCall, tile: Memo<Option<TileContent>>) -> impl IntoView {
    let store = use_store();
    let RowCall { name, since } = call;
    let time = move || {
        let (now, is_current) = (store.reading.present.get(), store.is_current());
        tile.with(|it| it.as_ref().map(|it| fleet::lasts(&it.row, since, now, is_current)))
    };
    let class = move || if fleet::is_stuck(since, store.reading.present.get()) { "slow" } else { "run" };
    view! { <span class=class>{icon("#ring", "")} <span class="n">{name.to_string()}</span> {time}</span> }
}

/// The counts of calls, failures, sub-agents and viewers, of the newest run; those that are 0 are left out.
#[component]
fn Counts(tile: Memo<Option<TileContent>>) -> impl IntoView {
    let count = move |read: fn(&ConversationRow) -> u64| {
        usize::try_from(tile.with(|it| it.as_ref().map_or(0, |it| read(&it.row)))).unwrap_or(usize::MAX)
    };
    let counted = move |read: fn(&ConversationRow) -> u64, noun: &'static str| {
        Memo::new(move |_| Some(count(read)).filter(|n| *n > 0).map(|n| format::counted(n, noun)))
    };
    let (tools, agents) = (counted(|row| row.tools, "tool"), counted(|row| row.agents, "sub-agent"));
    let failed = Memo::new(move |_| Some(count(|row| row.failed)).filter(|n| *n > 0));
    let asks = Memo::new(move |_| Some(count(|row| row.approvals)).filter(|n| *n > 0));
    let viewers = Memo::new(move |_| Some(count(|row| row.viewers)).filter(|n| *n > 0));
    view! {
        {move || asks.get().map(|n| view! { <span class="appr">{n} " waiting for consent"</span> })}
        {move || failed.get().map(|n| view! { <span class="err">{n} " failed"</span> })}
        {move || tools.get().map(|text| view! { <span>{text}</span> })}
        {move || agents.get().map(|text| view! { <span>{text}</span> })}
        {move || viewers.get().map(|n| view! {
            <span class="viewers" title="Viewers">{icon("#eye", "")} {n} <span class="sr">" watching"</span></span>
        })}
    }
}

/// The tokens of the last second in the conversation that is open, which is that of the tile.
fn rate(store: Store) -> impl IntoView {
    move || {
        store.reading.now.track();
        let rate = store.reading.model(|model| model.rate(browser::now_ms()));
        rate.map(|n| view! { <span>{format!("{n} tok/s")}</span> })
    }
}
