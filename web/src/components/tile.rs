//! A tile of the wall: what a conversation is doing.
//!
//! ```text
//! ● Quarterly report            2:41    state, title, how long
//!   wrote 3 files                       what it did last, and its last words:
//!   … carried most of it; the           written by hand, since they change with the stream
//!   ◌ run_sql  0:14                     the calls that execute, the longest first
//!   gpt-5 · $0.12      ▁▂▅▇▅ 42 tok/s   model, cost, speed in the last minute
//!   11 tools · 1 failed  👁 3           counts
//! ```

use std::time::Duration;

use leptos::prelude::*;
use leptos::{html, svg};
use model::ConversationId;
use model::event::RunStatus;
use model::frame::{ConversationRow, RowCall};

use super::conversations::{shape_of, slow_clock};
use super::icon::{StateIcon, icon};
use crate::browser;
use crate::fleet;
use crate::format;
use crate::model::Model;
use crate::route;
use crate::store::{Store, use_store};
use crate::wall::{self, Pulse, TileSize};

/// How often the lines of a subscribed tile change at most, in milliseconds; nobody could read them faster.
const TICK_MS: u64 = 400;

/// The size of a sparkline in CSS pixels; the styles have the same.
const SPARK_PX: (u64, u64) = (60, 14);

/// A tile, which is a link to its conversation. `looked` is set to it while the pointer or the focus is on
/// it; the wall then opens the conversation, and the tile shows its newest steps instead of what the list
/// tells.
#[component]
pub(super) fn Tile(
    id: ConversationId,
    #[prop(into)] size: Signal<TileSize>,
    looked: RwSignal<Option<ConversationId>>,
) -> impl IntoView {
    let store = use_store();
    let (href, name) = (route::path_of(&id), id.to_string());
    let id = StoredValue::new(id);
    // The row is compared as a whole, so that a tile whose row did not change is not drawn again.
    let tile = Memo::new(move |_| {
        store.track_fleet();
        id.with_value(|id| store.reading.model(|model| model.fleet()?.get(id).cloned()))
    });
    let is_subscribed = Memo::new(move |_| {
        store.reading.live.get()
            && store.reading.conversation.with(|open| id.with_value(|id| open.as_ref() == Some(id)))
    });
    let live = live_lines(store, is_subscribed);
    let clock = slow_clock(store);
    let shape =
        Signal::derive(move || tile.with(|row| shape_of(row.as_ref(), store.is_current(), clock.get())));
    let is_stuck =
        move || tile.with(|row| row.as_ref().is_some_and(|row| fleet::stuck(row, clock.get()).is_some()));
    let class = move || match (size.get().class(), is_stuck()) {
        (size, true) => format!("tile {size} stuck"),
        (size, false) => format!("tile {size}"),
    };
    let title = Memo::new(move |_| tile.with(|row| row.as_ref().map(|row| fleet::title(row).to_owned())));
    let enter = move || looked.set(Some(id.get_value()));
    let leave = move || {
        looked.update(|looked| {
            if id.with_value(|id| looked.as_ref() == Some(id)) {
                *looked = None;
            }
        });
    };
    view! {
        <a class=class data-in="" data-t="tile" data-conversation=name href=href
            data-state=move || tile.with(|row| row.as_ref().map_or("", |row| fleet::state(row, clock.get())))
            data-subscribed=move || is_subscribed.get().then_some("")
            on:pointerenter=move |_| enter() on:pointerleave=move |_| leave()
            on:focus=move |_| enter() on:blur=move |_| leave()>
            <span class="tile-head">
                <StateIcon shape=shape />
                {move || tile.with(|row| row.as_ref().is_some_and(|row| row.pinned)).then(|| view! {
                    <svg class="pin" role="img" aria-label="pinned"><use href="#pin" /></svg>
                })}
                <strong class="n">{title}</strong>
                <span class="meta num">{move || tile.with(|row| row.as_ref().map(|row| elapsed(store, row)))}</span>
            </span>
            <Words id=id size=size live=live />
            <Calls tile=tile />
            <span class="tile-feet meta num">
                <span class="tile-cost">
                    <Spent tile=tile />
                    <span class="grow"></span>
                    <Speed id=id is_subscribed=is_subscribed />
                </span>
                <span class="tile-foot"><Counts tile=tile /></span>
            </span>
        </a>
    }
}

/// What the conversation did last, and its last words. They change with the stream, so they are written into two
/// elements by hand. While the tile is subscribed to, `live` has its newest steps instead.
#[component]
fn Words(
    id: StoredValue<ConversationId>,
    size: Signal<TileSize>,
    live: RwSignal<Vec<String>>,
) -> impl IntoView {
    let store = use_store();
    let is_small = Memo::new(move |_| size.get() == TileSize::Small);
    let (did, says) = (NodeRef::<html::Span>::new(), NodeRef::<html::Span>::new());
    let shown = StoredValue::new((String::new(), String::new()));
    Effect::new(move |_| {
        store.track_fleet();
        let (Some(did), Some(says)) = (did.get(), says.get()) else { return };
        let is_small = is_small.get();
        let of_row = |model: &Model| {
            id.with_value(|id| {
                let (mut lines, words) = model.told(id);
                if is_small {
                    // A small tile has one line.
                    lines.drain(..lines.len().saturating_sub(1));
                }
                (lines.join("\n"), words)
            })
        };
        let live = live.with(|live| live.join("\n"));
        let now = if live.is_empty() { store.reading.model(of_row) } else { (String::new(), live) };
        shown.update_value(|shown| {
            if shown.0 != now.0 {
                did.set_text_content(Some(&now.0));
            }
            if shown.1 != now.1 {
                says.set_text_content(Some(&now.1));
            }
            *shown = now;
        });
    });
    view! { <span class="ticker"><span class="lines">
        <span class="did" node_ref=did></span><span class="says" node_ref=says></span>
    </span></span> }
}

/// The calls that execute, each with its clock, the longest first.
#[component]
fn Calls(tile: Memo<Option<ConversationRow>>) -> impl IntoView {
    let calls = Memo::new(move |_| {
        let of_row = |row: &ConversationRow| row.call.iter().chain(&row.more_calls).cloned().collect();
        tile.with(|row| row.as_ref().map_or_else(Vec::new, of_row))
    });
    view! {
        <span class="tile-call num">
            {move || calls.get().into_iter().map(|call| view! { <Call call=call tile=tile /> }).collect_view()}
        </span>
    }
}

/// The model of the newest run, and what all runs cost.
#[component]
fn Spent(tile: Memo<Option<ConversationRow>>) -> impl IntoView {
    let model = Memo::new(move |_| tile.with(|row| row.as_ref()?.model.clone()));
    let cost = Memo::new(move |_| tile.with(|row| row.as_ref()?.usage?.cost.map(format::cost)));
    view! {
        {move || model.get().map(|model| {
            let title = model.clone();
            view! { <span class="n" title=title>{model}</span> }
        })}
        {move || cost.get().map(|cost| view! { <span>{cost}</span> })}
    }
}

/// How fast the conversation writes: the last minute as a line, and tokens per second. The line is written by hand. The
/// tile that is subscribed to has the rate that the publisher says, if it says one; others have an estimate.
#[component]
fn Speed(id: StoredValue<ConversationId>, is_subscribed: Memo<bool>) -> impl IntoView {
    let store = use_store();
    let (line, words) = (NodeRef::<svg::Path>::new(), NodeRef::<html::Span>::new());
    let shown = StoredValue::new((String::new(), String::new()));
    Effect::new(move |_| {
        store.track_fleet();
        let present = store.reading.present.get();
        let (Some(line), Some(words)) = (line.get(), words.get()) else { return };
        let said =
            is_subscribed.get().then(|| store.reading.model(|model| model.rate(browser::now_ms()))).flatten();
        let (path, rate) = store.reading.model(|model| {
            let pulse = id.with_value(|id| model.pulse(id));
            let path = pulse.map(|pulse| pulse.sparkline(present, SPARK_PX.0, SPARK_PX.1));
            (path.unwrap_or_default(), pulse.map_or(0, |pulse: &Pulse| pulse.rate(present)))
        });
        let text = match said {
            Some(said) => format!("{said} tok/s"),
            None if rate > 0 => format!("≈ {rate} tok/s"),
            None => String::new(),
        };
        shown.update_value(|shown| {
            if shown.0 != path {
                drop(line.set_attribute("d", &path));
            }
            if shown.1 != text {
                words.set_text_content(Some(&text));
            }
            *shown = (path, text);
        });
    });
    view! {
        <svg class="spark" viewBox="0 0 60 14" preserveAspectRatio="none" aria-hidden="true"><path node_ref=line></path></svg>
        <span class="speed" node_ref=words title="Tokens per second; ≈ is estimated from the bytes that were written"></span>
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

/// How long the newest run has taken while it works; "at least" if the page is not connected. A silent or stalled run says for how long it
/// is. One that waits for consent or has ended says how long ago its last event was, as list and table do.
fn elapsed(store: Store, row: &ConversationRow) -> String {
    match row.state {
        Some(RunStatus::Running) if row.approvals == 0 || row.stalled => {
            let now = store.reading.present.get();
            match fleet::silent(row, now) {
                Some(ms) if row.stalled => fleet::stalled(ms),
                Some(ms) => format!("silent {}", format::short_age(ms)),
                None => fleet::lasts(row, row.started_at, now, store.is_current()),
            }
        }
        Some(_) => {
            let ago = format::age(store.reading.present.get().saturating_sub(row.at));
            if ago == "now" { ago } else { format!("{ago} ago") }
        }
        None => String::new(),
    }
}

/// A call that executes, with its clock.
#[component]
fn Call(call: RowCall, tile: Memo<Option<ConversationRow>>) -> impl IntoView {
    let store = use_store();
    let RowCall { name, since } = call;
    let time = move || {
        let (now, is_current) = (store.reading.present.get(), store.is_current());
        tile.with(|row| row.as_ref().map(|row| fleet::lasts(row, since, now, is_current)))
    };
    let class = move || if fleet::is_stuck(since, store.reading.present.get()) { "slow" } else { "run" };
    view! { <span class=class>{icon("#ring", "")} <span class="n">{name.to_string()}</span> {time}</span> }
}

/// The counts of calls, failures, sub-agents and viewers, of the newest run; those that are 0 are left out.
#[component]
fn Counts(tile: Memo<Option<ConversationRow>>) -> impl IntoView {
    let count = move |read: fn(&ConversationRow) -> u64| {
        usize::try_from(tile.with(|row| row.as_ref().map_or(0, read))).unwrap_or(usize::MAX)
    };
    let counted = move |read: fn(&ConversationRow) -> u64, noun: &'static str| {
        Memo::new(move |_| Some(count(read)).filter(|n| *n > 0).map(|n| format::counted(n, noun)))
    };
    let (tools, agents) = (counted(|row| row.tools, "tool"), counted(|row| row.agents, "sub-agent"));
    let failed = Memo::new(move |_| Some(count(|row| row.failed)).filter(|n| *n > 0));
    let asks = Memo::new(move |_| Some(count(|row| row.approvals)).filter(|n| *n > 0));
    let viewers = Memo::new(move |_| Some(count(|row| row.viewers)).filter(|n| *n > 0));
    view! {
        {move || asks.get().map(|n| view! { <span class="appr">{n} " waiting for approval"</span> })}
        {move || failed.get().map(|n| view! { <span class="err">{n} " failed"</span> })}
        {move || tools.get().map(|text| view! { <span>{text}</span> })}
        {move || agents.get().map(|text| view! { <span>{text}</span> })}
        {move || viewers.get().map(|n| view! {
            <span class="viewers" title="Viewers">{icon("#eye", "")} {n} <span class="sr">" watching"</span></span>
        })}
    }
}
