//! The content of a call's card: input, output, raw text and times.
//!
//! `foot` draws the times and the copy button; `whole` loads results of which the hub sent only the
//! beginning.
//!
//! | tab | shows |
//! |---|---|
//! | Input | the arguments: raw while the model writes them, then in a readable form (`kinds`) |
//! | Output | the result in its own form (`kinds`), or the output so far, or why there is none |
//! | Raw | both as they were received |
//! | Timing | when the call was written, started and ended, and its attempts |

use std::sync::Arc;

use leptos::prelude::*;
use model::event::{RunStatus, ToolState};
use model::view::ToolView;

use super::call::{Head, Ids, glance_of};
use super::kinds::{CallContent, Extent};
use super::output::{OutputText, Text};
use super::text::Growing;
use crate::browser;
use crate::calls;
use crate::find::{Kind, Place, Sought};
use crate::format;
use crate::kinds;
use crate::modules::{self, from_module};
use crate::page_modules::PageModule;
use crate::preview::PreviewOutput;
use crate::store::{Store, use_store};
use crate::whole::{self as results, ResultLoad, Side, copied};

mod foot;
mod whole;

use foot::{Foot, Timing};
use whole::Whole;

/// A tab of the card. Until the reader chooses one, it is Output from the moment when the call executes,
/// before that Input. Of an edit or a to-do list it is Input, as long as the call has not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Input,
    Output,
    Raw,
    Timing,
}

impl Tab {
    /// All tabs in the order in which they are shown.
    const ALL: [Self; 4] = [Self::Input, Self::Output, Self::Raw, Self::Timing];

    /// The label of the tab.
    fn word(self) -> &'static str {
        match self {
            Self::Input => "Input",
            Self::Output => "Output",
            Self::Raw => "Raw",
            Self::Timing => "Timing",
        }
    }
}

/// Reads a call of the current view; `None` if it is not there.
fn tool<T>(store: Store, ids: Ids, read: impl FnOnce(&ToolView) -> T) -> Option<T> {
    ids.with_value(|(run, id)| store.reading.tool(run, id, read))
}

/// The content of the card, built when the card is opened and dropped when it is closed; a whole result that
/// was loaded goes with it. The bare page shows input and output below each other instead of tabs.
#[component]
pub(super) fn Body(
    ids: Ids,
    head: Memo<Head>,
    /// The DOM id of the element.
    #[prop(optional)]
    id: Option<String>,
) -> impl IntoView {
    let store = use_store();
    let chosen = RwSignal::new(None::<Tab>);
    let loaded = RwSignal::new(ResultLoad::No);
    let started = Memo::new(move |_| head.with(|head| head.state >= ToolState::Executing));
    let glance = ids.with_value(|(run, id)| glance_of(store, run, id));
    let failed = Memo::new(move |_| head.with(|head| head.state == ToolState::Error));
    let is_output = move || failed.get() || (started.get() && glance.with(Option::is_none));
    let tab = Memo::new(move |_| chosen.get().unwrap_or(if is_output() { Tab::Output } else { Tab::Input }));
    if store.reading.is_bare {
        return view! { <div class="body" id=id><Input ids=ids extent=Extent::Whole /><Result ids=ids head=head loaded=loaded /></div> }
            .into_any();
    }
    // A hit of Find chooses the tab that contains it.
    Effect::new(move |_| {
        if let Some(kind) = sought(store, ids) {
            chosen.set(Some(if kind == Kind::Arguments { Tab::Input } else { Tab::Output }));
        }
    });
    Effect::new(move |_| {
        tab.track();
        store.reading.tell_drawn();
    });
    let tabs = Tab::ALL.map(|it| {
        view! {
            <button type="button" role="tab" aria-selected=move || (tab.get() == it).to_string()
                on:click=move |_| chosen.set(Some(it))>
                {it.word()}
            </button>
        }
    });
    view! {
        <div class="body" id=id>
            <div class="tabs" role="tablist">{tabs}</div>
            {move || match tab.get() {
                Tab::Input => view! { <Input ids=ids extent=Extent::Preview /> }.into_any(),
                Tab::Output => view! { <Result ids=ids head=head loaded=loaded /> }.into_any(),
                Tab::Raw => view! { <Raw ids=ids loaded=loaded /> }.into_any(),
                Tab::Timing => view! { <Timing ids=ids /> }.into_any(),
            }}
            <Foot ids=ids tab=tab loaded=loaded />
        </div>
    }
    .into_any()
}

/// The part of the call that contains the hit which is to be shown, if one does. Tracks the hit.
fn sought(store: Store, ids: Ids) -> Option<Kind> {
    store.reading.sought.with(|sought| {
        let Sought { place: Place::Tool(run, id), kind, .. } = sought.as_ref()? else { return None };
        ids.with_value(|(its_run, its_id)| its_run == run && its_id == id).then_some(*kind)
    })
}

/// The longest text, in bytes, that is shown whole because it contains a hit.
const FOUND_BYTES_MAX: usize = 1 << 20;

/// A text in its raw form, so that no formatting hides the hit in it. A button below it ends that by
/// forgetting the hit. A text of more than [`FOUND_BYTES_MAX`] bytes is shown in pieces like any other.
fn found_in(store: Store, text: String) -> AnyView {
    let shown = if text.len() <= FOUND_BYTES_MAX {
        view! { <pre class="pre" tabindex="0">{text}</pre> }.into_any()
    } else {
        view! { <Text shown=OutputText { text, is_json: false, is_cut: false } /> }.into_any()
    };
    view! {
        {shown}
        <button type="button" class="more" data-t="own-form" on:click=move |_| store.reading.sought.set(None)>"Show it formatted"</button>
    }
    .into_any()
}

/// The arguments: as written while the model writes them, in a readable form once they are complete, if they
/// are JSON. Incomplete JSON is never laid out. On the bare page they are JSON.
#[component]
pub(super) fn Input(
    ids: Ids,
    /// How much of long texts is shown at first; all of it where somebody decides about the call.
    extent: Extent,
) -> impl IntoView {
    let store = use_store();
    let is_writing =
        Memo::new(move |_| tool(store, ids, |tool| tool.state == ToolState::Writing).unwrap_or(false));
    let is_found = Memo::new(move |_| sought(store, ids) == Some(Kind::Arguments));
    move || {
        if is_writing.get() {
            let read = move |show: &mut dyn FnMut(&str, bool)| {
                tool(store, ids, |tool| show(&tool.arguments.text, true));
            };
            return view! { <Growing read=read class="pre live" newest=true /> }.into_any();
        }
        let text = tool(store, ids, |tool| tool.arguments.text.to_string()).unwrap_or_default();
        if text.trim().is_empty() {
            return view! { <p class="none meta">"No arguments"</p> }.into_any();
        }
        if is_found.get() {
            return found_in(store, text);
        }
        if !store.reading.is_bare {
            return drawn(CallContent::Arguments(text.into(), extent));
        }
        let is_json = model::Json::parse(&text).is_some();
        view! { <Text shown=OutputText { text, is_json, is_cut: false } /> }.into_any()
    }
}

/// What the module of forms draws of a call.
fn drawn(content: CallContent) -> AnyView {
    from_module(PageModule::Kinds, move || modules::call_content(content.clone())).into_any()
}

/// What came of the call, the first of these that is there:
///
/// 1. the whole result, if the reader loaded it,
/// 2. the result as the hub sent it, with a line about bytes that were not kept and a button that loads the
///    rest; "completed" if it is empty,
/// 3. the output so far, while the tool executes,
/// 4. a sentence that says why there is nothing: rejected, left to the caller, cut off by the end of the run.
#[component]
fn Result(ids: Ids, head: Memo<Head>, loaded: RwSignal<ResultLoad>) -> impl IntoView {
    let store = use_store();
    let state = Memo::new(move |_| head.with(|head| head.state));
    let has_result = Memo::new(move |_| tool(store, ids, |tool| tool.result.is_some()).unwrap_or(false));
    let has_output = Memo::new(move |_| tool(store, ids, |tool| tool.output.len > 0).unwrap_or(false));
    // A memo, so that what the reader opened in the result stays open when other parts of the call change.
    let output =
        Memo::new(move |_| tool(store, ids, |tool| tool.result.as_ref().map(PreviewOutput::of)).flatten());
    let whole = whole_of(loaded);
    let is_found = Memo::new(move |_| sought(store, ids) == Some(Kind::Result));
    let in_form = move |text: String, extent: Extent| {
        if is_found.get() {
            return found_in(store, text);
        }
        let name = head.with_untracked(|head| head.name.clone());
        let read = |tool: &ToolView| kinds::language_of_arguments(&tool.arguments.text);
        let language = untrack(|| tool(store, ids, read)).unwrap_or_default();
        drawn(CallContent::Result { name, language, text: text.into(), extent })
    };
    move || {
        if let Some(json) = whole.get() {
            let text = results::text(&json);
            let shown = if store.reading.is_bare {
                let is_json = model::Json::parse(&text).is_some();
                view! { <Text shown=OutputText { text, is_json, is_cut: false } /> }.into_any()
            } else {
                in_form(text, Extent::Whole)
            };
            return view! { {shown} <Attached ids=ids /> }.into_any();
        }
        if has_result.get() {
            return match output.get() {
                Some(output) if !output.is_empty() => {
                    let is_command = output.is_command();
                    let PreviewOutput { text, is_json } = output;
                    // The bare page shows what was sent, unformatted.
                    let shown = if store.reading.is_bare {
                        view! { <Text shown=OutputText { text, is_json, is_cut: true } /> }.into_any()
                    } else if is_command {
                        view! {
                            <p class="none ok">"completed"</p>
                            <details open=is_found.get()>
                                <summary>"Command"</summary>
                                {in_form(text, Extent::Preview)}
                            </details>
                        }
                        .into_any()
                    } else {
                        in_form(text, Extent::Preview)
                    };
                    view! { {shown} <Lost ids=ids /> <Attached ids=ids /> <Whole ids=ids loaded=loaded /> }
                        .into_any()
                }
                _ if state.get() == ToolState::Error => {
                    let words = calls::no_result(ToolState::Error, RunStatus::Running, None);
                    view! { <p class="none err" data-t="no-reason">{words}</p> <Attached ids=ids /> }
                        .into_any()
                }
                _ => view! { <p class="none ok">"completed"</p> <Attached ids=ids /> }.into_any(),
            };
        }
        if has_output.get() {
            let read = move |show: &mut dyn FnMut(&str, bool)| {
                tool(store, ids, |tool| {
                    show(&kinds::without_orders(&tool.output.text), !tool.state.is_final());
                });
            };
            return view! { <Growing read=read class="pre live" newest=true /> }.into_any();
        }
        let ended = ids.with_value(|(run, _)| store.reading.run(run, |run| (run.status, run.ended_at)));
        let (status, ended_at) = ended.unwrap_or_default();
        let word = match head.with(Head::word) {
            "rejected" => "Rejected: it was not executed.".to_owned(),
            "executed by the caller" => {
                "The program that called the model executes it; its result was not reported.".to_owned()
            }
            _ => calls::no_result(state.get(), status, ended_at.map(browser::time_of_day).as_deref()),
        };
        view! { <p class="none meta">{word}</p> }.into_any()
    }
}

/// The files and embeds that came with the result; nothing on the bare page. It is read once, when the result
/// is drawn.
#[component]
fn Attached(ids: Ids) -> impl IntoView {
    let store = use_store();
    let things = ids.with_value(|(run, id)| {
        store.reading.view(|view| {
            let tool = view.runs.get(run)?.tools.get(id)?;
            let files = tool.files.as_ref().map(|files| kinds::files(files.as_str()));
            let embeds = tool.embeds.as_ref().map(|embeds| kinds::embeds(embeds.as_str()));
            Some(files.into_iter().chain(embeds).flatten().collect::<Vec<_>>())
        })
    });
    let things = things.unwrap_or_default();
    (!things.is_empty() && !store.reading.is_bare).then(|| drawn(CallContent::Attached(things)))
}

/// Arguments and result as they were received, as far as they are loaded.
#[component]
fn Raw(ids: Ids, loaded: RwSignal<ResultLoad>) -> impl IntoView {
    let store = use_store();
    let whole = whole_of(loaded);
    let text = move || {
        let known = |tool: &ToolView| {
            let beginning = tool.result.as_ref().map(model::Json::as_str);
            whole.with(|whole| copied(tool, Side::Raw, whole.as_deref().or(beginning)))
        };
        tool(store, ids, known).flatten().unwrap_or_default()
    };
    view! {
        {move || view! { <Text shown=OutputText { text: text(), is_json: false, is_cut: whole.with(Option::is_none) } /> }}
        <Lost ids=ids />
        <Whole ids=ids loaded=loaded />
    }
}

/// Says how many bytes of a result were not kept anywhere. They cannot be loaded: the hub cut the result when it
/// when it took it in.
#[component]
fn Lost(ids: Ids) -> impl IntoView {
    let store = use_store();
    let lost = Memo::new(move |_| tool(store, ids, |tool| tool.result_cut).unwrap_or(0));
    move || {
        (lost.get() > 0).then(|| {
            view! { <p class="none meta" data-t="lost">{format::bytes(lost.get())} " more were not kept"</p> }
        })
    }
}

/// The JSON of the whole result; `None` until it is loaded.
fn whole_of(loaded: RwSignal<ResultLoad>) -> Memo<Option<Arc<str>>> {
    Memo::new(move |_| loaded.with(|loaded| loaded.json().cloned()))
}
