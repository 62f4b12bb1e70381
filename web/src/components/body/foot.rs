//! The foot of a call's content (times in short and the copy button), and the tab with all times.

use leptos::prelude::*;
use model::event::ToolState;

use super::super::copy::{CopyButton, CopyFeedback};
use super::{Ids, Tab, tool, whole};
use crate::browser;
use crate::calls::{self, earlier_attempts};
use crate::format;
use crate::store::use_store;
use crate::whole::{ResultLoad, Side, lost};

/// A table of the times of a call: how long the model wrote it, how long it was queued, how long it ran, all
/// together; and, above, how its earlier attempts ended. Times that nobody reported are left out.
#[component]
pub(super) fn Timing(ids: Ids) -> impl IntoView {
    let store = use_store();
    let rows = move || {
        let read = tool(store, ids, |tool| {
            let between = |from: Option<u64>, to: Option<u64>| {
                Some(format::duration(to?.saturating_sub(from.filter(|ms| *ms > 0)?)))
            };
            let queued =
                tool.queued_ms.map(format::duration).or_else(|| between(tool.pending_at, tool.executing_at));
            [
                ("written in", between(Some(tool.started_at), tool.pending_at)),
                ("queued", queued),
                ("ran", tool.latency_ms().map(format::duration)),
                ("from start to end", between(Some(tool.started_at), tool.ended_at)),
            ]
        });
        let rows = read.into_iter().flatten().filter_map(|(name, time)| Some((name, time?)));
        rows.map(|(name, time)| view! { <tr><th>{name}</th><td class="num">{time}</td></tr> }).collect_view()
    };
    let attempts = move || {
        let told = ids.with_value(|(run, id)| {
            store.reading.track(&model::fold::ViewChange::Run(run.clone()));
            store.reading.view(|view| {
                let run = view.runs.get(run)?;
                let told = earlier_attempts(run, id).into_iter().enumerate().filter_map(|(at, before)| {
                    let tool = run.tools.get(&before)?;
                    let took = tool.latency_ms().map(|ms| format!(" after {}", format::duration(ms)));
                    let how = format!("{}{}", tool.state.as_str(), took.unwrap_or_default());
                    Some((format!("attempt {}", at.saturating_add(1)), how))
                });
                Some(told.collect::<Vec<_>>())
            })
        });
        let told = told.unwrap_or_default().into_iter();
        told.map(|(name, how)| view! { <tr data-t="attempt"><th>{name}</th><td class="num">{how}</td></tr> })
            .collect_view()
    };
    view! { <table class="times"><tbody>{attempts}{rows}</tbody></table> }
}

/// The times in short, and the button that copies what the tab shows: the arguments, the result, or both raw.
/// If only the beginning of a result was kept anywhere, the button says so.
#[component]
pub(super) fn Foot(ids: Ids, tab: Memo<Tab>, loaded: RwSignal<ResultLoad>) -> impl IntoView {
    let store = use_store();
    let times =
        move || tool(store, ids, |tool| calls::times(tool, browser::moment_of_day)).unwrap_or_default();
    let side = move |tab| match tab {
        Tab::Input => Side::Arguments,
        Tab::Raw => Side::Raw,
        Tab::Output | Tab::Timing => Side::Result,
    };
    let label = Memo::new(move |_| {
        let tab = tab.get();
        let read = tool(store, ids, |tool| match tool.state {
            _ if lost(tool, side(tab)) > 0 => "Copy the beginning",
            ToolState::Error if tab == Tab::Output => "Copy error",
            _ => "Copy",
        });
        read.unwrap_or("Copy")
    });
    let said = CopyFeedback::new(store);
    let press = move || whole::copy(store, ids, side(tab.get_untracked()), loaded, said);
    view! {
        <div class="foot meta num"><span>{times}</span><span class="grow"></span>
            <CopyButton said=said label=move || label.get() press=press />
        </div>
    }
}
