//! The content of a call's card: what went in, what came out, the bytes as they came, and its times.

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::event::ToolState;
use shared::view::ToolView;
use shared::{RunId, ToolCallId};

use super::card::Head;
use super::copy::Copy;
use super::kinds::{attached, draw};
use super::output::{Shown, Text};
use super::text::Growing;
use crate::browser;
use crate::calls::earlier_attempts;
use crate::format;
use crate::kinds;
use crate::preview::Output;
use crate::route;
use crate::store::{Store, use_store};

/// A call, by its run and its id.
pub(super) type Ids = StoredValue<(RunId, ToolCallId)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Input,
    Output,
    Raw,
    Timing,
}

impl Tab {
    const ALL: [Self; 4] = [Self::Input, Self::Output, Self::Raw, Self::Timing];

    fn word(self) -> &'static str {
        match self {
            Self::Input => "Input",
            Self::Output => "Output",
            Self::Raw => "Raw",
            Self::Timing => "Timing",
        }
    }
}

fn tool<T>(store: Store, ids: Ids, read: impl FnOnce(&ToolView) -> T) -> Option<T> {
    ids.with_value(|(run, id)| store.tool(run, id, read))
}

/// The content. On the page of the conversation alone input and output stand below each other.
#[component]
pub(super) fn Body(ids: Ids, head: Memo<Head>) -> impl IntoView {
    let store = use_store();
    let chosen = RwSignal::new(None::<Tab>);
    let started = Memo::new(move |_| head.with(|head| head.state >= ToolState::Executing));
    let tab =
        Memo::new(move |_| chosen.get().unwrap_or(if started.get() { Tab::Output } else { Tab::Input }));
    if store.is_bare {
        return view! { <div class="body"><Input ids=ids /><Result ids=ids head=head /></div> }.into_any();
    }
    let tabs = Tab::ALL.map(|it| {
        view! {
            <button type="button" role="tab" aria-selected=move || (tab.get() == it).to_string()
                on:click=move |_| chosen.set(Some(it))>
                {it.word()}
            </button>
        }
    });
    view! {
        <div class="body">
            <div class="tabs" role="tablist">{tabs}</div>
            {move || match tab.get() {
                Tab::Input => view! { <Input ids=ids /> }.into_any(),
                Tab::Output => view! { <Result ids=ids head=head /> }.into_any(),
                Tab::Raw => view! { <Raw ids=ids /> }.into_any(),
                Tab::Timing => view! { <Timing ids=ids /> }.into_any(),
            }}
            <Foot ids=ids tab=tab />
        </div>
    }
    .into_any()
}

/// The arguments: as they are written, laid out when they are whole.
#[component]
pub(super) fn Input(ids: Ids) -> impl IntoView {
    let store = use_store();
    let is_writing =
        Memo::new(move |_| tool(store, ids, |tool| tool.state == ToolState::Writing).unwrap_or(false));
    move || {
        if is_writing.get() {
            let read = move |show: &mut dyn FnMut(&str, bool)| {
                tool(store, ids, |tool| show(&tool.arguments.text, true));
            };
            return view! { <Growing read=read class="pre live" newest=true /> }.into_any();
        }
        let text = tool(store, ids, |tool| tool.arguments.text.clone()).unwrap_or_default();
        if text.trim().is_empty() {
            return view! { <p class="none meta">"No arguments"</p> }.into_any();
        }
        let is_json = shared::Json::parse(&text).is_some();
        view! { <Text shown=Shown { text, is_json, is_cut: false } /> }.into_any()
    }
}

/// The result, or what the call has printed so far.
#[component]
fn Result(ids: Ids, head: Memo<Head>) -> impl IntoView {
    let store = use_store();
    let state = Memo::new(move |_| head.with(|head| head.state));
    let has_result = Memo::new(move |_| tool(store, ids, |tool| tool.result.is_some()).unwrap_or(false));
    let has_output = Memo::new(move |_| tool(store, ids, |tool| tool.output.len > 0).unwrap_or(false));
    // What the reader opened in it stays open, whatever else of the call changes.
    let output = Memo::new(move |_| tool(store, ids, |tool| tool.result.as_ref().map(Output::of)).flatten());
    move || {
        if has_result.get() {
            return match output.get() {
                Some(output) if !output.is_empty() => {
                    let Output { text, is_json } = output;
                    // The page of the conversation alone shows what was sent, as it was.
                    let shown = if store.is_bare {
                        view! { <Text shown=Shown { text, is_json, is_cut: true } /> }.into_any()
                    } else {
                        draw(&head.with_untracked(|head| head.name.clone()), text)
                    };
                    view! { {shown} <Attached ids=ids /> <Whole ids=ids /> }.into_any()
                }
                _ => view! { <p class="none ok">"completed"</p> <Attached ids=ids /> }.into_any(),
            };
        }
        if has_output.get() {
            let read = move |show: &mut dyn FnMut(&str, bool)| {
                tool(store, ids, |tool| show(&tool.output.text, !tool.state.is_final()));
            };
            return view! { <Growing read=read class="pre live" newest=true /> }.into_any();
        }
        let word = match state.get() {
            ToolState::Complete => "completed",
            ToolState::Interrupted => "No result was recorded before the run ended.",
            ToolState::Cancelled => "Cancelled before it gave a result.",
            ToolState::Error => "It failed and gave no message.",
            _ => "No result yet.",
        };
        view! { <p class="none meta">{word}</p> }.into_any()
    }
}

/// The rest of a result of which the hub sent the beginning only: a button, then all of it.
#[component]
fn Whole(ids: Ids) -> impl IntoView {
    let store = use_store();
    let loaded = RwSignal::new(Loaded::No);
    let reference = Memo::new(move |_| tool(store, ids, |tool| tool.result_ref.clone()).flatten());
    let load = move |_| {
        let conversation = store.conversation.get_untracked();
        let Some((conversation, reference)) = conversation.zip(reference.get_untracked()) else { return };
        loaded.set(Loaded::Loading);
        spawn_local(async move {
            let path = route::result_path(&conversation, &reference.hash);
            loaded.set(match browser::fetch_text(&path).await {
                Ok(text) => Loaded::Yes(text),
                Err(why) => Loaded::Failed(why),
            });
        });
    };
    move || {
        let bytes = format::bytes(reference.get()?.bytes);
        Some(match loaded.get() {
            Loaded::No => view! {
                <button type="button" class="more" data-t="load-all" on:click=load>{format!("Load all ({bytes})")}</button>
            }
            .into_any(),
            Loaded::Loading => view! { <p class="none meta">{format!("Loading {bytes}…")}</p> }.into_any(),
            Loaded::Failed(why) => view! {
                <p class="none err">{why} " "
                    <button type="button" class="link" on:click=load>"Try again"</button>
                </p>
            }
            .into_any(),
            Loaded::Yes(text) => {
                let output = shared::Json::parse(&text).as_ref().map(Output::of);
                let (text, is_json) = output.map_or((text, false), |output| (output.text, output.is_json));
                view! { <Text shown=Shown { text, is_json, is_cut: false } /> }.into_any()
            }
        })
    }
}

/// Files and embeds that came with the result.
#[component]
fn Attached(ids: Ids) -> impl IntoView {
    let store = use_store();
    let things = ids.with_value(|(run, id)| {
        store.view(|view| {
            let tool = view.runs.get(run)?.tools.get(id)?;
            let files = tool.files.as_ref().map(|files| kinds::files(files.as_str()));
            let embeds = tool.embeds.as_ref().map(|embeds| kinds::embeds(embeds.as_str()));
            Some(files.into_iter().chain(embeds).flatten().collect::<Vec<_>>())
        })
    });
    let things = things.unwrap_or_default();
    (!things.is_empty() && !store.is_bare).then(|| attached(things))
}

/// How far the loading of a result is.
#[derive(Debug, Clone)]
enum Loaded {
    No,
    Loading,
    Yes(String),
    Failed(String),
}

/// Arguments and result exactly as they came.
#[component]
fn Raw(ids: Ids) -> impl IntoView {
    let store = use_store();
    move || {
        let text = raw_text(store, ids);
        view! { <Text shown=Shown { text, is_json: false, is_cut: true } /> }
    }
}

fn raw_text(store: Store, ids: Ids) -> String {
    let read = tool(store, ids, |tool| {
        let result = tool.result.as_ref().map_or(tool.output.text.as_str(), |result| result.as_str());
        let cut =
            if tool.left_out() > 0 { format!("\n… {} bytes more", tool.left_out()) } else { String::new() };
        format!("{}\n{result}{cut}", tool.arguments.text)
    });
    read.unwrap_or_default()
}

/// The times of a call.
#[component]
fn Timing(ids: Ids) -> impl IntoView {
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
            store.track(&shared::fold::Change::Run(run.clone()));
            store.view(|view| {
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

/// Times in short, and the copy button of what is shown.
#[component]
fn Foot(ids: Ids, tab: Memo<Tab>) -> impl IntoView {
    let store = use_store();
    let times = move || {
        let read = tool(store, ids, |tool| {
            let queued =
                tool.queued_ms.filter(|ms| *ms > 0).map(|ms| format!("queued {}", format::duration(ms)));
            let ran = tool.latency_ms().map(|ms| format!("ran {}", format::duration(ms)));
            let by = tool.server.then(|| "by the provider".to_owned());
            [queued, ran, by].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        });
        read.unwrap_or_default()
    };
    let copied = move || match tab.get_untracked() {
        Tab::Input => tool(store, ids, |tool| tool.arguments.text.clone()).unwrap_or_default(),
        Tab::Raw => raw_text(store, ids),
        Tab::Output | Tab::Timing => tool(store, ids, |tool| match &tool.result {
            Some(result) => result.to_text().into_owned(),
            None => tool.output.text.clone(),
        })
        .unwrap_or_default(),
    };
    view! { <div class="foot meta num"><span>{times}</span><span class="grow"></span><Copy text=copied /></div> }
}
