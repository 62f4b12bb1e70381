//! What all components of a tool call show: its name, its state, its duration and its arguments. The card,
//! its content, the form of consent and the row of the Tools tab read it from here.

use leptos::prelude::*;
use model::event::ToolState;
use model::fold::ViewChange;
use model::view::{RunView, ToolView};
use model::{RunId, ToolCallId, View};

use super::elapsed::Span;
use crate::kinds::{self, ArgumentsGlance};
use crate::latency::{self, ToolLatencies};
use crate::preview;
use crate::store::Store;

/// The run and the id of a call.
pub(super) type Ids = StoredValue<(RunId, ToolCallId)>;

/// How long a call may execute before its time is shown, in milliseconds.
const SHOWN_AFTER_MS: u64 = 2_000;

/// What the line of a call shows, except for texts that are expensive to make.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    /// The name of the tool, or `tool` if it has none.
    pub(super) name: String,
    /// The state of the call.
    pub(super) state: ToolState,
    /// The time that the line shows.
    pub(super) span: Span,
    /// How long the call took, in milliseconds, once it is over.
    pub(super) latency_ms: Option<u64>,
    /// What the person is asked, while the call waits for consent.
    pub(super) question: Option<String>,
    /// Whether a person declined the call.
    is_rejected: bool,
    /// Whether the run ended and left the call to the program that called the model.
    is_left: bool,
}

impl Head {
    /// The head of `tool`, a call of `run`.
    pub(super) fn of(tool: &ToolView, run: Option<&RunView>) -> Self {
        // A pending call stays pending once its run has ended.
        let is_left = tool.state == ToolState::Pending && run.is_some_and(|run| !run.is_running());
        let span = match tool.state {
            ToolState::Pending if is_left => Span::None,
            ToolState::Cancelled if tool.executing_at.is_none() => Span::None,
            ToolState::Executing => {
                Span::Since(tool.executing_at.or(tool.pending_at).unwrap_or(tool.started_at), SHOWN_AFTER_MS)
            }
            ToolState::Pending | ToolState::Approval => {
                tool.pending_at.map_or(Span::None, |at| Span::Since(at, SHOWN_AFTER_MS))
            }
            ToolState::Interrupted => tool
                .ended_at
                .zip(tool.executing_at.or(tool.pending_at))
                .map_or(Span::None, |(to, from)| Span::AtLeast(to.saturating_sub(from))),
            _ => tool.latency_ms().map_or(Span::None, Span::Took),
        };
        Self {
            name: if tool.name.is_empty() { "tool".to_owned() } else { tool.name.to_string() },
            state: tool.state,
            span,
            latency_ms: tool.latency_ms(),
            question: tool.question.clone().filter(|_| tool.state == ToolState::Approval),
            is_rejected: tool.rejected && tool.state == ToolState::Cancelled,
            is_left,
        }
    }

    /// Reads the call `id` of `run`, and tracks both.
    pub(super) fn read(store: Store, run: &RunId, id: &ToolCallId) -> Self {
        let is_pending = store.reading.tool(run, id, |tool| tool.state == ToolState::Pending) == Some(true);
        if is_pending {
            store.reading.track(&ViewChange::Run(run.clone()));
        }
        let read = |view: &View| {
            let run = view.runs.get(run)?;
            Some(Self::of(run.tools.get(id)?, Some(run)))
        };
        store.reading.view(read).unwrap_or_else(Self::none)
    }

    /// The state in a word.
    pub(super) fn word(&self) -> &'static str {
        match self.state {
            _ if self.is_rejected => "rejected",
            _ if self.is_left => "executed by the caller",
            state => state.as_str(),
        }
    }

    /// The head for a call that is not, or no longer, in the view.
    pub(super) fn none() -> Self {
        Self::of(&ToolView::default(), None)
    }
}

/// A context with the calls grouped by tool, computed once for all components that compare a call with others
/// of its tool.
#[derive(Clone, Copy)]
pub(crate) struct Groups(pub(crate) Memo<Vec<ToolLatencies>>);

impl Groups {
    /// The groups of the conversation that `store` shows.
    pub(crate) fn of(store: Store) -> Self {
        Self(Memo::new(move |_| {
            store.reading.conversation.track();
            store.reading.recordings.track();
            store.reading.track_tools();
            store.reading.view(|view| latency::groups(view, |_| true))
        }))
    }
}

/// A preview of the arguments in one line. It is made anew only when they change.
pub(super) fn preview_of(store: Store, run: &RunId, id: &ToolCallId) -> Memo<String> {
    let (run, id) = (run.clone(), id.clone());
    let (its_run, its_id) = (run.clone(), id.clone());
    let written = Memo::new(move |_| {
        store.reading.tool(&its_run, &its_id, |tool| (tool.arguments.len, tool.state == ToolState::Writing))
    });
    Memo::new(move |_| {
        let is_writing = written.get().is_some_and(|(_, is_writing)| is_writing);
        let made = store.reading.view(|view| {
            let text = &view.runs.get(&run)?.tools.get(&id)?.arguments.text;
            Some(if is_writing {
                preview::tail(text)
            } else {
                kinds::current_task(text).unwrap_or_else(|| preview::arguments(text))
            })
        });
        made.unwrap_or_default()
    })
}

/// What the arguments are, if they are an edit, a patch or a to-do list. Read once they are complete.
pub(super) fn glance_of(store: Store, run: &RunId, id: &ToolCallId) -> Memo<Option<ArgumentsGlance>> {
    let (run, id) = (run.clone(), id.clone());
    let (its_run, its_id) = (run.clone(), id.clone());
    let written = Memo::new(move |_| {
        let read = |tool: &ToolView| (tool.state != ToolState::Writing).then_some(tool.arguments.len);
        store.reading.tool(&its_run, &its_id, read).flatten()
    });
    Memo::new(move |_| {
        written.get()?;
        store
            .reading
            .view(|view| kinds::glance_of_arguments(&view.runs.get(&run)?.tools.get(&id)?.arguments.text))
    })
}

/// How slow a call is compared with others of its tool; `None` if it is not slow. A call that executes is
/// measured until now, or until its publisher was lost; a finished one by its latency. Without [`Groups`] in
/// the context nothing is slow.
pub(super) fn slow_word(
    store: Store,
    head: Memo<Head>,
    silent_since: Memo<Option<u64>>,
) -> Memo<Option<String>> {
    let groups = use_context::<Groups>();
    Memo::new(move |_| {
        let Groups(groups) = groups?;
        let (taken, is_over) = head.with(|head| match (head.state, head.span) {
            (ToolState::Executing, Span::Since(from, _)) => {
                let until = silent_since.get().unwrap_or_else(|| store.reading.now.get());
                Some((until.saturating_sub(from), false))
            }
            // The time that a person took to decide says nothing about the tool.
            (ToolState::Cancelled, _) => None,
            _ => head.latency_ms.map(|ms| (ms, true)),
        })?;
        groups.with(|groups| {
            let its = head.with(|head| groups.iter().find(|group| group.name == head.name));
            its?.slow_word(taken, is_over)
        })
    })
}
