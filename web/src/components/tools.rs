//! The tools panel: every call of the conversation, by tool, with its time; parallel and slow ones show at a glance.

use leptos::prelude::*;
use shared::event::ToolState;
use shared::{RunId, ToolCallId};

use super::card::{Head, preview_of};
use super::elapsed::{Span, span_text};
use super::icon::{StateIcon, tool_icon};
use crate::agents;
use crate::browser;
use crate::format;
use crate::latency::{self, CallKey, Group, taken_ms};
use crate::store::{Store, use_store};
use crate::window;

/// Which calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    Running,
    Failed,
    Slow,
}

impl Filter {
    fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Slow => "slow",
        }
    }
}

/// A call as the filters and bars see it.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    key: CallKey,
    state: ToolState,
    taken_ms: u64,
    is_slow: bool,
}

impl Call {
    fn passes(&self, filter: Filter) -> bool {
        match filter {
            Filter::Running => self.state == ToolState::Executing,
            Filter::Failed => self.state == ToolState::Error,
            Filter::Slow => self.is_slow,
        }
    }
}

/// The calls of each group. Looks at the ticker only while a call runs.
fn calls(store: Store, groups: Memo<Vec<Group>>) -> Memo<Vec<Vec<Call>>> {
    Memo::new(move |_| {
        let any_runs = store.view(|view| {
            let open = view.runs.values().rev().take(16).flat_map(|run| run.open.iter());
            open.into_iter().any(|item| matches!(item, shared::view::Item::Tool(_)))
        });
        let now = if any_runs { store.now.get() } else { 0 };
        groups.with(|groups| groups.iter().map(|group| calls_of(store, group, now)).collect())
    })
}

fn calls_of(store: Store, group: &Group, now: u64) -> Vec<Call> {
    let slow_from = group.slow_from_ms();
    store.view(|view| {
        let call = |key: &CallKey| {
            let tool = view.runs.get(&key.0)?.tools.get(&key.1)?;
            let taken_ms = taken_ms(tool, now).unwrap_or(0);
            Some(Call { key: key.clone(), state: tool.state, taken_ms, is_slow: taken_ms > slow_from })
        };
        group.calls.iter().filter_map(call).collect()
    })
}

/// The calls.
#[component]
pub(super) fn Tools() -> impl IntoView {
    let store = use_store();
    let filter = RwSignal::new(None::<Filter>);
    let groups = Memo::new(move |_| {
        store.conversation.track();
        store.track_tools();
        let only = store.only.get();
        store.view(|view| {
            let inside = only.map(|only| agents::calls_below(view, &only));
            latency::groups(view, |call| inside.as_ref().is_none_or(|inside| inside.contains(call)))
        })
    });
    let calls = calls(store, groups);
    let longest = Memo::new(move |_| {
        calls.with(|all| all.iter().flatten().map(|call| call.taken_ms).max().unwrap_or(0))
    });
    let shown = move || {
        let wanted = filter.get();
        let passes = |call: &Call| wanted.is_none_or(|wanted| call.passes(wanted));
        let names = groups.with(|groups| groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>());
        calls.with(|calls| {
            let kept = names.into_iter().zip(calls).filter(|(_, calls)| calls.iter().any(passes));
            kept.map(|(name, _)| name).collect::<Vec<_>>()
        })
    };
    let is_pointed = StoredValue::new(false);
    keep_newest_in_view(store, groups, is_pointed);
    let chips = [Filter::Running, Filter::Failed, Filter::Slow].map(|it| {
        let count =
            Memo::new(move |_| calls.with(|all| all.iter().flatten().filter(|call| call.passes(it)).count()));
        let is_on = move || filter.get() == Some(it);
        let toggle = move |_| filter.update(|now| *now = if *now == Some(it) { None } else { Some(it) });
        view! {
            <button type="button" class="chip num" aria-pressed=move || is_on().to_string() on:click=toggle>
                {it.word()} " " {move || count.get()}
            </button>
        }
    });
    view! {
        <div class="chips">{chips}</div>
        <div class="rows" on:pointerenter=move |_| is_pointed.set_value(true)
            on:pointerleave=move |_| is_pointed.set_value(false)>
                <For each=shown key=Clone::clone let:name>
                    <GroupOf name=name groups=groups calls=calls filter=filter longest=longest />
                </For>
                {move || groups.with(Vec::is_empty).then(|| view! { <p class="meta pad">"No tool calls yet"</p> })}
        </div>
    }
}

/// While the conversation follows its end, so does the panel: the newest call is in view, unless the pointer is there.
fn keep_newest_in_view(store: Store, groups: Memo<Vec<Group>>, is_pointed: StoredValue<bool>) {
    Effect::new(move |was: Option<usize>| {
        let count = groups.with(|groups| groups.iter().map(|group| group.calls.len()).sum::<usize>());
        if was.is_some_and(|was| was < count) && store.following.get_untracked() && !is_pointed.get_value() {
            let newest = store.view(|view| {
                let (run, newest) = view.runs.iter().next_back()?;
                Some(row_id(run, newest.tools.keys().next_back()?))
            });
            browser::before_paint(move || {
                let row = newest.and_then(|id| browser::document().get_element_by_id(&id));
                if let Some(row) = row {
                    row.scroll_into_view_with_scroll_into_view_options(&nearest());
                }
            });
        }
        count
    });
}

fn nearest() -> web_sys::ScrollIntoViewOptions {
    let options = web_sys::ScrollIntoViewOptions::new();
    options.set_block(web_sys::ScrollLogicalPosition::Nearest);
    options
}

/// The element of a call's row.
fn row_id(run: &RunId, tool: &ToolCallId) -> String {
    format!("row/{run}/{tool}")
}

/// One tool with its calls.
#[component]
fn GroupOf(
    name: String,
    groups: Memo<Vec<Group>>,
    calls: Memo<Vec<Vec<Call>>>,
    filter: RwSignal<Option<Filter>>,
    longest: Memo<u64>,
) -> impl IntoView {
    let title = name.clone();
    let at = Memo::new(move |_| groups.with(|groups| groups.iter().position(|group| group.name == name)));
    let meta =
        move || groups.with(|groups| at.get().and_then(|at| groups.get(at)).map(meta_of)).unwrap_or_default();
    let rows = Memo::new(move |_| {
        let wanted = filter.get();
        let passes = |call: &&Call| wanted.is_none_or(|wanted| call.passes(wanted));
        calls.with(|all| {
            let group = at.get().and_then(|at| all.get(at)).map(Vec::as_slice).unwrap_or_default();
            group.iter().filter(passes).map(|call| call.key.clone()).collect::<Vec<_>>()
        })
    });
    // Of many calls the newest are shown; every tool has its share.
    let share = move || window::CALLS.checked_div(groups.with(Vec::len)).unwrap_or(0).max(8);
    let hidden = move || rows.with(Vec::len).saturating_sub(share());
    let newest = move || rows.with(|rows| rows.iter().skip(hidden()).cloned().collect::<Vec<_>>());
    let call = move |key: &CallKey| {
        calls.with(|all| at.get().and_then(|at| all.get(at))?.iter().find(|call| call.key == *key).cloned())
    };
    view! {
        <div class="grp">{title} " " <span class="meta num">{meta}</span></div>
        {move || (hidden() > 0).then(|| view! { <p class="meta earlier">{hidden()} " earlier"</p> })}
        <For each=newest key=Clone::clone let:key>
            {
                let own = key.clone();
                let bar = Memo::new(move |_| call(&own).map(|call| (call.taken_ms, call.is_slow)));
                view! { <ToolRow key=key bar=bar longest=longest /> }
            }
        </For>
    }
}

fn meta_of(group: &Group) -> String {
    let time = |name: &str, ms: Option<u64>| ms.map(|ms| format!("{name} {}", format::duration(ms)));
    let failed = (group.failed > 0).then(|| format!("{} failed", group.failed));
    let several = group.calls.len() > 1;
    let p50 = time("p50", group.p50()).filter(|_| several);
    let p95 = time("p95", group.p95()).filter(|_| several);
    let words = [Some(group.calls.len().to_string()), p50, p95, failed];
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// One call: a click shows its card.
#[component]
fn ToolRow(key: CallKey, bar: Memo<Option<(u64, bool)>>, longest: Memo<u64>) -> impl IntoView {
    let store = use_store();
    let (run, id) = key.clone();
    let (call, dom_id) = (id.to_string(), row_id(&run, &id));
    let preview = preview_of(store, &run, &id);
    let head = Memo::new(move |_| store.tool(&run, &id, Head::of));
    let state =
        Memo::new(move |_| head.with(|head| head.as_ref().map(|head| head.state)).unwrap_or_default());
    let is_slow = move || bar.get().is_some_and(|(_, is_slow)| is_slow);
    let shape = Signal::derive(move || match tool_icon(state.get(), store.is_current()) {
        (icon, "run spin") if is_slow() => (icon, "slow spin"),
        shape => shape,
    });
    let width = move || {
        let (taken, longest) = (bar.get().map_or(0, |(ms, _)| ms), longest.get().max(1));
        format!("{}%", taken.saturating_mul(100).div_ceil(longest).min(100))
    };
    let class = move || match state.get() {
        _ if is_slow() => "bar slow",
        ToolState::Executing => "bar run",
        ToolState::Error => "bar err",
        _ => "bar gone",
    };
    let time = move || {
        let span = head.with(|head| head.as_ref().map_or(Span::None, |head| head.span));
        match state.get() {
            ToolState::Complete | ToolState::Error | ToolState::Executing | ToolState::Interrupted => {
                span_text(span)
            }
            other => other.as_str().to_owned(),
        }
    };
    view! {
        <button type="button" class="row" id=dom_id data-t="tool-row" data-call=call
            data-name=move || head.with(|head| head.as_ref().map(|head| head.name.clone()))
            data-state=move || state.get().as_str()
            data-latency-ms=move || head.with(|head| head.as_ref()?.latency_ms.map(|ms| ms.to_string()))
            on:click=move |_| store.reveal(&key)>
            <StateIcon shape=shape />
            <span class="pv">{move || preview.get()}</span>
            <span class=class><i style:width=width></i></span>
            <span class="tm num" class:run=move || state.get() == ToolState::Executing class:slow=is_slow>{time}</span>
        </button>
    }
}
