//! A run: a line that folds its steps, its rows, and how it ended.
//!
//! ```text
//! ▾ Execution steps (11 tools)   1 failed · 2 sub-agents · 41.2 s     Steps, if there are any
//!   rows of the main agent                                            Lane: all, or only those that stay
//!   Failed: …  Stalled · no word from its publisher for 42 s          End
//!   [Retry ,]  the model asks to wait 8 s                             GoOn
//!   [Copy answer]                                                     CopyAnswer
//! ```
//!
//! A run that is interrupted by messages is drawn in sections. Only the last section has what stands below
//! the rows.

use leptos::prelude::*;
use model::RunId;
use model::event::{ErrorFact, RunStatus};
use model::retry::ModelRetry;
use model::view::{NoteBody, RunView};

use super::aside::own_id;
use super::copy::{CopyButton, CopyFeedback};
use super::elapsed::{Span, span_text};
use super::icon::{Chevron, icon};
use super::lane::Lane;
use super::note::Failure;
use super::rating::Rating;
use super::turn::GoOn;
use super::wrong_dialect::WrongDialect;
use crate::control::Rated;
use crate::flow::{Flow, RowRank};
use crate::format;
use crate::open::Fold;
use crate::preview;
use crate::reread;
use crate::signed;
use crate::store::{run_id, steps_key, use_store};

/// What the run shows besides its rows. It is compared as a whole, so that a delta of a text does not draw it
/// again.
#[derive(Debug, Clone, PartialEq)]
struct Head {
    /// How the run ended, or that it runs.
    status: RunStatus,
    /// The title for the outline that screen readers use.
    title: String,
    /// From its start to its end, if it has ended.
    span: Span,
    /// The activity; empty if it is a retry, which is shown below with its countdown.
    activity: String,
    /// When the run stalled, by the hub's clock, in milliseconds since 1970.
    stalled_at: Option<u64>,
    /// Whether a call of it waits for approval.
    asks: bool,
    /// A failure that no note reports.
    error: Option<ErrorFact>,
    /// What people did with the run, and who they are: `stopped by ann`.
    signed: Vec<String>,
}

impl Head {
    /// Reads the head of `run`.
    fn of(run: &RunView) -> Self {
        let is_told = |error: &ErrorFact| {
            run.notes.iter().any(|note| matches!(&note.body, NoteBody::Error(told) if told == error))
        };
        Self {
            status: run.status,
            title: run
                .title
                .clone()
                .or_else(|| run.name.as_deref().map(str::to_owned))
                .unwrap_or_else(|| "Run".to_owned()),
            span: Span::of(run.started_at, run.ended_at),
            activity: run
                .activity
                .as_deref()
                .filter(|_| !ModelRetry::of(run).is_some_and(|retry| retry.is_line))
                .map(preview::one_line)
                .unwrap_or_default(),
            stalled_at: run.stalled_at,
            asks: super::top_bar::asks(run).is_some(),
            error: run.error.clone().filter(|error| !is_told(error)),
            signed: signed::of_run(run),
        }
    }
}

/// A run, or a section of it: from its item `from` to the next message within the run.
///
/// While the steps are folded only the rows of rank [`RowRank::Kept`] or higher are shown: the answer, and
/// what must not be overlooked. Whether they are folded depends on the level, on the reader's setting for the
/// run's dialect, and on what the reader chose for this run.
#[component]
pub(super) fn Run(id: RunId, from: usize) -> impl IntoView {
    let store = use_store();
    let its_id = id.clone();
    let head = Memo::new(move |_| {
        // The next row ends the wait for a retry.
        store.reading.track_rows(&its_id);
        store.reading.run(&its_id, Head::of)
    });
    let stretch = store.reading.stretch(&id, from);
    let flow = store.reading.flow_of(&id, stretch);
    let is_last = Memo::new(move |_| stretch.with(|items| items.end == usize::MAX));
    let key = StoredValue::new(steps_key(&id));
    let dialect = store.reading.run(&id, |run| run.dialect.clone()).flatten();
    // Whether there is an answer matters only if the reader's setting folds the steps once there is one.
    let answered = Memo::new(move |_| {
        let folds = store.reading.steps_choice.get().folds(dialect.as_deref());
        folds && flow.with(Flow::has_answer)
    });
    let open = Memo::new(move |_| {
        let fold = Fold::Steps { answered: answered.get() };
        key.with_value(|key| store.reading.is_open(key, fold))
    });
    let has_steps = Memo::new(move |_| flow.with(Flow::has_steps));
    let rank = Memo::new(move |_| if open.get() { RowRank::Step } else { RowRank::Kept });
    let dom_id = if from == 0 { run_id(&id) } else { format!("{}/{from}", run_id(&id)) };
    let (name, dom_id, own) = (id.to_string(), own_id(dom_id), StoredValue::new(id.clone()));
    view! {
        <section class="turn" class:stalled=move || head.with(|head| head.as_ref().is_some_and(|it| it.stalled_at.is_some()))
            id=dom_id data-run=name>
            <h2 class="sr">{move || head.with(|head| head.as_ref().map(|head| head.title.clone()))}</h2>
            {move || has_steps.get().then(|| view! { <Steps head=head flow=flow open=open key=key /> })}
            <Lane run=id agent=None flow=flow from=rank />
            {move || is_last.get().then(|| view! {
                <End head=head id=own.get_value() />
                <GoOn id=own.get_value() />
                <CopyAnswer head=head id=own.get_value() />
            })}
        </section>
    }
}

/// How long the hub has heard nothing from the run's publisher. Both times are in milliseconds since 1970;
/// below a second no time is named.
fn no_word(now: u64, since: u64) -> String {
    let seconds = now.saturating_sub(since) / 1000;
    let long = (seconds > 0).then(|| format!(" for {}", format::duration(seconds.saturating_mul(1000))));
    format!("no word from its publisher{}", long.unwrap_or_default())
}

/// The line above the steps, which folds and unfolds them: how many tools were called, how many calls failed,
/// how many sub-agents there were, and the time. While the steps of a running run are folded, it says what
/// the run does.
#[component]
fn Steps(
    head: Memo<Option<Head>>,
    flow: Memo<Flow>,
    open: Memo<bool>,
    key: StoredValue<String>,
) -> impl IntoView {
    let store = use_store();
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    let counts = move || {
        flow.with(|flow| {
            let failed = (flow.failed > 0).then(|| format!("{} failed", flow.failed));
            let agents = (flow.agents > 0).then(|| format::counted(flow.agents, "sub-agent"));
            failed.into_iter().chain(agents).collect::<Vec<_>>()
        })
    };
    let meta = move || {
        let (status, span, activity, stalled, asks) = head.with(|head| match head {
            Some(head) => (head.status, head.span, head.activity.clone(), head.stalled_at, head.asks),
            None => (RunStatus::Complete, Span::None, String::new(), None, false),
        });
        let mut words = counts();
        if stalled.is_some() {
            words.push("stalled".to_owned());
        } else if status == RunStatus::Running && !open.get() {
            words.push(match activity {
                _ if asks => "waiting for approval".to_owned(),
                none if none.is_empty() => "working".to_owned(),
                activity => activity,
            });
        }
        words.extend(Some(span_text(span.known_until(stalled))).filter(|time| !time.is_empty()));
        words.join(" · ")
    };
    view! {
        <button type="button" class="steps" data-nav="" data-row="" aria-expanded=move || open.get().to_string()
            on:click=toggle>
            <Chevron open=open />
            {move || format!("Execution steps ({})", format::counted(flow.with(|flow| flow.tools), "tool"))}
            <span class="meta num">{meta}</span>
        </button>
    }
}

/// Below a run that has ended: a button that copies the whole answer as Markdown, if there is one, and what people think of the run.
#[component]
fn CopyAnswer(head: Memo<Option<Head>>, id: RunId) -> impl IntoView {
    let store = use_store();
    let id = StoredValue::new(id);
    let answer = move || {
        id.with_value(|id| store.reading.view(|view| view.runs.get(id).map(RunView::answer)))
            .unwrap_or_default()
    };
    let is_over = Memo::new(move |_| {
        head.with(|head| head.as_ref().is_some_and(|head| head.status != RunStatus::Running))
    });
    move || {
        is_over.get().then(|| {
            let copy = (!answer().trim().is_empty()).then(|| {
                let said = CopyFeedback::new(store);
                let press = move || store.with_whole_runs(move || said.copy(&answer()));
                view! { <CopyButton said=said label=|| "Copy answer" press=press /> }
            });
            view! { <div class="answer-foot">{copy} <Rating of=Rated::Run(id.get_value()) /></div> }
        })
    }
}

/// How the run ended, if not successfully; what it is doing, while it runs. If the stream was read in a wrong
/// dialect, it says so instead of saying that the stream broke off.
#[component]
fn End(head: Memo<Option<Head>>, id: RunId) -> impl IntoView {
    let id = StoredValue::new(id);
    let status = Memo::new(move |_| head.with(|head| head.as_ref().map(|head| head.status)));
    let error = Memo::new(move |_| head.with(|head| head.as_ref().and_then(|head| head.error.clone())));
    let signed = Memo::new(move |_| {
        head.with(|head| head.as_ref().map(|it| it.signed.join(" · ")).unwrap_or_default())
    });
    let store = use_store();
    let stalled = Memo::new(move |_| head.with(|head| head.as_ref().and_then(|head| head.stalled_at)));
    let activity = Memo::new(move |_| {
        let running = |head: &&Head| head.status == RunStatus::Running && !head.activity.is_empty();
        head.with(|head| head.as_ref().filter(running).map(|head| head.activity.clone()))
    });
    // A stream in another dialect did not break off: its anomaly says what it is, and this line what the
    // reader can do.
    let other = Memo::new(move |_| {
        let is_odd = matches!(status.get(), Some(RunStatus::Interrupted | RunStatus::Error));
        if !is_odd {
            return None;
        }
        // The warning comes after the end of the run.
        store.reading.seq.track();
        store.reading.view(|view| {
            let dialect = id.with_value(|id| view.runs.get(id).and_then(|run| run.dialect.as_deref()))?;
            reread::warning(view, dialect).map(str::to_owned)
        })
    });
    let word = move || match status.get()? {
        RunStatus::Interrupted if other.with(Option::is_some) => None,
        RunStatus::Cancelled => Some(("#slash", "gone", "Cancelled")),
        RunStatus::Interrupted => Some(("#broken", "slow", "The stream broke off before its end")),
        RunStatus::Error => Some(("#cross", "err", "The run failed")),
        RunStatus::Running | RunStatus::Complete => None,
    };
    view! {
        {move || error.get().map(|error| view! { <Failure error=error /> })}
        {move || stalled.get().map(|since| view! {
            <div class="end slow num" data-t="stalled">
                {icon("#broken", "slow")} "Stalled · " {move || no_word(store.reading.now.get(), since)}
            </div>
        })}
        {move || activity.get().map(|line| view! { <div class="activity meta">{line}</div> })}
        {move || other.get().map(|said| view! {
            <WrongDialect id=id.get_value() said=said />
        })}
        {move || word().map(|(shape, class, word)| {
            view! { <div class="end meta">{icon(shape, class)} {word}</div> }
        })}
        {move || Some(signed.get()).filter(|said| !said.is_empty()).map(|said| {
            view! { <div class="activity meta" data-t="signed">{said}</div> }
        })}
    }
}
