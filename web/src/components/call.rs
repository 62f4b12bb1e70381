//! What every picture of a tool call shows: its name, its state, how long it took and what it was given. The card, its content, the form of
//! consent and the row of the tools panel read it from here.

use leptos::prelude::*;
use model::event::ToolState;
use model::fold::ViewChange;
use model::view::{RunView, ToolView};
use model::{RunId, ToolCallId, View};

use super::elapsed::Span;
use crate::latency::{self, Group};
use crate::preview;
use crate::store::Store;

/// A call, by its run and its id.
pub(super) type Ids = StoredValue<(RunId, ToolCallId)>;

/// Milliseconds that a call may run before its time is shown.
const SHOWN_AFTER_MS: u64 = 2_000;

/// What the line shows, apart from texts that cost to make.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) state: ToolState,
    pub(super) span: Span,
    pub(super) latency_ms: Option<u64>,
    pub(super) question: Option<String>,
    /// A person has declined it.
    is_rejected: bool,
    /// Its run is over and has left it to who called the model.
    is_left: bool,
}

impl Head {
    /// The line of `tool`, a call of `run`.
    pub(super) fn of(tool: &ToolView, run: Option<&RunView>) -> Self {
        // Nobody works on what waits when its run is over.
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

    /// The call `id` of `run`; tracks both.
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

    /// Its state in a word.
    pub(super) fn word(&self) -> &'static str {
        match self.state {
            _ if self.is_rejected => "rejected",
            _ if self.is_left => "left to its caller",
            state => state.as_str(),
        }
    }

    /// For a call that is not there (any more).
    pub(super) fn none() -> Self {
        Self::of(&ToolView::default(), None)
    }
}

/// The calls by tool, made once for all who ask how long a tool usually takes.
#[derive(Clone, Copy)]
pub(crate) struct Groups(pub(crate) Memo<Vec<Group>>);

impl Groups {
    /// Of the conversation that `store` shows.
    pub(crate) fn of(store: Store) -> Self {
        Self(Memo::new(move |_| {
            store.reading.conversation.track();
            store.reading.recordings.track();
            store.reading.track_tools();
            store.reading.view(|view| latency::groups(view, |_| true))
        }))
    }
}

/// The line about the arguments. Made again only when they changed.
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
            Some(if is_writing { preview::tail(text) } else { preview::arguments(text) })
        });
        made.unwrap_or_default()
    })
}

/// How slow a call is, compared with the others of its tool; nothing when it is not.
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
            // How long somebody took to decide says nothing of the tool.
            (ToolState::Cancelled, _) => None,
            _ => head.latency_ms.map(|ms| (ms, true)),
        })?;
        groups.with(|groups| {
            let its = head.with(|head| groups.iter().find(|group| group.name == head.name));
            its?.slow_word(taken, is_over)
        })
    })
}
