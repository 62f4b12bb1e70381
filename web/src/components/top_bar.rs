//! The bar at the top: the title, the state of the newest run, totals, and the commands of the view.
//!
//! ```text
//! ☰ ✺ Fanlight  Wall  Runs  Dashboard  Search   Title  ● Running 2:41  14 steps · 38k tokens · $0.21    3 watching  [Answer|Steps|All] …
//!                                              └ Pill ───────┘ └ Counts ───────────────────┘    └ Watching
//! ▁▁▁▁▁▁▁▁▁▁▁ Progress, while the page catches up
//! ```
//!
//! Below a width that the stylesheet sets, parts with the class `hide` are left out.

use leptos::prelude::*;
use model::event::{RunStatus, ToolState};
use model::fold::ViewChange;
use model::view::{Item, RunView, View};

use super::elapsed::{Span, span_text};
use super::icon::{StateIcon, icon, run_icon};
use super::rename::Title;
use super::shared::ShareButton;
use crate::fleet;
use crate::format;
use crate::leading;
use crate::link::Status;
use crate::modules::{self, more_from_module};
use crate::open::Level;
use crate::page_modules::PageModule;
use crate::route;
use crate::route::{DASHBOARD, RUNS, SEARCH};
use crate::store::{OpenDialog, Sheet, Store, use_store};
use crate::timeline::Drawer;

/// Most names of viewers in the pill; the title has all.
const NAMES_SHOWN: usize = 3;

/// What the bar shows of the newest run, or of the one that leads those side by side. It is compared as a whole, so that deltas of texts do not draw the
/// bar again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Newest {
    pub(super) id: model::RunId,
    status: RunStatus,
    /// From the start of the run to its end, if it has ended.
    span: Span,
    /// When the run stalled although it is active, by the hub's clock, in milliseconds since 1970.
    stalled: Option<u64>,
    /// Since when a call of it, or of a run that goes on beside it, has waited for consent, in milliseconds since 1970.
    asks: Option<u64>,
    /// Whether a call of these runs executes: the run is then not silent.
    calls: bool,
}

/// Since when the first open call of `run` has waited for consent, in milliseconds since 1970.
pub(super) fn asks(run: &RunView) -> Option<u64> {
    let mut calls =
        run.open.iter().filter_map(|item| if let Item::Tool(id) = item { run.tools.get(id) } else { None });
    calls
        .find(|tool| tool.state == ToolState::Approval)
        .map(|tool| tool.pending_at.unwrap_or(tool.started_at))
}

/// Whether a call of `run` executes.
fn executes(run: &RunView) -> bool {
    let mut calls =
        run.open.iter().filter_map(|item| if let Item::Tool(id) = item { run.tools.get(id) } else { None });
    calls.any(|tool| tool.state == ToolState::Executing)
}

/// The run that the bar is about; `None` while the conversation has none. It is the newest run, or of those that go on side by side with
/// it the one that [`leading::leading`] names.
fn newest(store: Store) -> Memo<Option<Newest>> {
    let chosen = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.track_items();
        let together = store.reading.view(leading::together);
        for run in &together {
            store.reading.track(&ViewChange::Run(run.clone()));
        }
        let id = store.reading.view(|view| leading::leading(view, &together))?;
        Some((id, together))
    });
    Memo::new(move |_| {
        let (id, together) = chosen.get()?;
        for run in &together {
            store.reading.track_rows(run);
        }
        let of_all = |view: &View| {
            let running =
                || together.iter().filter_map(|id| view.runs.get(id)).filter(|run| run.is_running());
            (running().filter_map(asks).min(), running().any(executes))
        };
        let (asks, calls) = store.reading.view(of_all);
        store.reading.run(&id, |run| Newest {
            id: id.clone(),
            status: run.status,
            span: Span::of(run.started_at, run.ended_at),
            stalled: run.stalled_at.filter(|_| run.is_running()),
            asks,
            calls,
        })
    })
}

/// The title of the page: the headline of the conversation, otherwise its name or that of the recording;
/// empty if nothing is open. Tracks the list of conversations and the seq.
pub(crate) fn title(store: Store) -> String {
    if store.panel.wall.get() {
        return "All conversations".to_owned();
    }
    store.track_fleet();
    store.reading.seq.track();
    let name = match store.reading.recording.get() {
        Some(recording) => Some(recording.name),
        None => store.reading.conversation.get().map(|id| id.to_string()),
    };
    let Some(name) = name else { return String::new() };
    // A part of a conversation does not know the first words, which the row of the list does.
    let listed =
        store.reading.model(|model| model.earlier().and(model.row()).and_then(|row| row.title.clone()));
    listed.or_else(|| store.reading.view(View::headline)).unwrap_or(name)
}

/// The bar at the top of every screen of the page. What concerns one conversation has the class
/// `of-conversation` and is not shown on the wall.
#[component]
pub(crate) fn TopBar() -> impl IntoView {
    let store = use_store();
    let newest = newest(store);
    let title = Memo::new(move |_| title(store));
    let levels = Level::ALL.map(|level| {
        view! {
            <button type="button" aria-pressed=move || (store.reading.level.get() == level).to_string()
                on:click=move |_| store.reading.choose_level(level)>{level.word()}</button>
        }
    });
    view! {
        <header class="top">
            <button type="button" class="icon small" aria-label="Conversations"
                on:click=move |_| store.panel.toggle_sheet(Sheet::List)>{icon("#menu", "")}</button>
            <a class="mark" href="/" data-in="">{icon("#fan", "run")} <span class="hide">"Fanlight"</span></a>
            <a class="crumb hide" data-in="" href=route::WALL title="All conversations as tiles (g w)">"Wall"</a>
            <a class="crumb hide" href=RUNS title="All conversations as a table, each with its newest run">"Runs"</a>
            <a class="crumb hide" href=DASHBOARD title="Figures over time">"Dashboard"</a>
            <a class="crumb hide" href=SEARCH title="Search (g f)">"Search"</a>
            <Title text=title />
            {move || (!store.panel.wall.get()).then(|| view! {
                {move || newest.with(Option::is_some).then(|| view! { <Pill newest=newest /> })}
                {more_from_module(PageModule::Conversation, move || modules::conversation(modules::Piece::Counts(newest)))}
                <span class="grow"></span>
                <Watching />
            })}
            {move || store.panel.wall.get().then(|| view! { <span class="grow"></span> })}
            <span class="seg of-conversation" role="group" aria-label="Detail">{levels}</span>
            <button type="button" class="plain hide of-conversation" aria-pressed=move || store.reading.following.get().to_string()
                on:click=move |_| if store.reading.following.get_untracked() { store.reading.release() } else { store.reading.follow() }>
                {move || if store.reading.following.get() { "Following" } else { "Follow" }} " " <kbd>"f"</kbd>
            </button>
            <button type="button" class="icon of-conversation" aria-label="Timeline" title="Timeline (t)" data-t="timeline-toggle"
                aria-pressed=move || (store.panel.drawer.get() != Drawer::Closed).to_string()
                on:click=move |_| store.toggle_timeline()>{icon("#times", "")}</button>
            <button type="button" class="icon of-conversation" aria-label="Tools" title="Tools (s)"
                on:click=move |_| store.panel.toggle_tools()>{icon("#panel", "")}</button>
            <button type="button" class="icon hide of-conversation" aria-label="Find" title="Find (/)"
                on:click=move |_| store.ask_word()>{icon("#find", "")}</button>
            {move || store.can_label().then(|| view! {
                <button type="button" class="icon hide of-conversation" aria-label="Organise" title="Pin, archive, tags, note (g o)" data-t="order"
                    on:click=move |_| store.open_dialog(OpenDialog::Order)>{icon("#pin", "")}</button>
            })}
            <ShareButton />
            <button type="button" class="icon hide of-conversation" aria-label="Export" title="Export (g e)"
                on:click=move |_| store.open_dialog(OpenDialog::Export)>{icon("#save", "")}</button>
            <button type="button" class="icon hide" aria-label="Settings" title="Settings (g s)"
                on:click=move |_| store.open_dialog(OpenDialog::Settings)>{icon("#moon", "")}</button>
            <Progress />
        </header>
    }
}

/// How many viewers the conversation has by the hub's count, this page among them, and who they are; nothing
/// while it is the only one. A title has all names that the hub tells, the pill the first of them.
#[component]
fn Watching() -> impl IntoView {
    let store = use_store();
    move || {
        let (viewers, names) = (store.link.viewers.get(), store.link.viewer_names.get());
        (viewers > 1).then(|| {
            let title = match names.join(", ") {
                none if none.is_empty() => String::from("Viewers of this conversation, including you"),
                names => format!("Viewers of this conversation, including you: {names}"),
            };
            view! {
                <span class="pill num hide" data-t="watching" title=title>
                    {icon("#eye", "")} {viewers} " watching" {named(&names)}
                </span>
            }
        })
    }
}

/// The first names of viewers, as they follow the number; nothing where there are none.
fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_SHOWN) {
        _ if shown.is_empty() => shown,
        0 => format!(": {shown}"),
        more => format!(": {shown} and {more} more"),
    }
}

/// A line that grows while the page catches up after a lost connection: the share of the missed events that
/// have arrived.
#[component]
fn Progress() -> impl IntoView {
    let store = use_store();
    let part = Memo::new(move |_| {
        store.reading.seq.track();
        let is_catching_up =
            !store.reading.live.get() && store.link.status.with(|status| *status == Status::Up);
        is_catching_up.then(|| store.reading.model(crate::model::Model::caught_up)).flatten()
    });
    move || {
        part.get().map(|part| {
            let (there, missed) = part;
            let width = format!("{}%", there.saturating_mul(100) / missed.max(1));
            view! { <i class="progress" role="presentation" style:width=width></i> }
        })
    }
}

/// The state of the newest run in a word, and for how long. These come first, in this order:
///
/// 1. a call waits for consent: since when it waits; without a connection, that it did when the page last heard of it,
/// 2. the run stalled, because its publisher is gone: the time until then,
/// 3. the page has no connection: the run went on when the page last heard of it,
/// 4. the run is silent: how long no event has come, although nothing executes. Only while the page is live,
///    never in a replay.
#[component]
fn Pill(newest: Memo<Option<Newest>>) -> impl IntoView {
    let store = use_store();
    let status =
        Memo::new(move |_| newest.with(|run| run.as_ref().map(|run| run.status)).unwrap_or_default());
    let stalled =
        Memo::new(move |_| newest.with(|run| run.as_ref().is_some_and(|run| run.stalled.is_some())));
    let asks = Memo::new(move |_| newest.with(|run| run.as_ref().and_then(|run| run.asks)));
    // How long no event has arrived although the run is active.
    let silent = Memo::new(move |_| {
        let may_be = newest.with(|run| {
            run.as_ref()
                .is_some_and(|run| run.status == RunStatus::Running && !run.calls && run.stalled.is_none())
        });
        let now = store.reading.now.get();
        let is_live = may_be && asks.get().is_none() && !store.replay.is_on();
        let newest = store.reading.model(crate::model::Model::event_at).filter(|_| is_live)?;
        fleet::silence(newest, now).map(format::short_age)
    });
    // Whether the page cannot know that an active run still goes on, or that a call still waits.
    let is_unknown = Memo::new(move |_| {
        (status.get() == RunStatus::Running || asks.get().is_some())
            && !store.is_current()
            && store.reading.recording.with(Option::is_none)
    });
    let shape = Signal::derive(move || match () {
        () if asks.get().is_some() => ("#hand", "appr"),
        () if stalled.get() || silent.with(Option::is_some) => ("#hollow", "slow"),
        () => run_icon(status.get(), store.is_current()),
    });
    let class = move || match status.get() {
        _ if asks.get().is_some() => "pill num appr",
        _ if stalled.get() || is_unknown.get() || silent.with(Option::is_some) => "pill num slow",
        RunStatus::Running => "pill num run",
        RunStatus::Error => "pill num err",
        RunStatus::Interrupted => "pill num slow",
        RunStatus::Complete | RunStatus::Cancelled => "pill num",
    };
    let time = move || {
        if let Some(since) = asks.get() {
            return span_text(Span::Since(since, 0));
        }
        if let Some(age) = silent.get().filter(|_| !is_unknown.get()) {
            return age;
        }
        let span = |run: &Newest| run.span.known_until(run.stalled);
        span_text(newest.with(|run| run.as_ref().map_or(Span::None, span)))
    };
    let word = move || match status.get() {
        _ if asks.get().is_some() && is_unknown.get() => "Was waiting for approval",
        _ if asks.get().is_some() => "Waits for approval",
        RunStatus::Running if stalled.get() => "Stalled",
        RunStatus::Running if is_unknown.get() => "Was running",
        RunStatus::Running if silent.with(Option::is_some) => "Silent",
        RunStatus::Running => "Running",
        RunStatus::Complete if time().is_empty() => "Done",
        RunStatus::Error if time().is_empty() => "Failed",
        RunStatus::Cancelled if time().is_empty() => "Cancelled",
        RunStatus::Interrupted if time().is_empty() => "Interrupted",
        RunStatus::Complete => "Done in",
        RunStatus::Error => "Failed after",
        RunStatus::Cancelled => "Cancelled after",
        RunStatus::Interrupted => "Interrupted after",
    };
    view! { <span class=class data-t="pill"><StateIcon shape=shape /> <span class="hide">{word}</span> {time}</span> }
}
