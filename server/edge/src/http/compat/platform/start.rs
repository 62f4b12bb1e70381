//! Where the run of a request begins: at the end of its thread, or at an earlier checkpoint, which makes a
//! fork. Also what happens to a run that is going on there.

use std::sync::Arc;

use axum::http::StatusCode;
use compact_str::CompactString;
use event_log::blocking;
use model::code::ErrorCode;
use model::event::RunStatus;
use model::view::TopItem;
use model::{ConversationId, RunId, ToolCallId, View};

use super::assistants::uuid;
use super::fault::Fault;
use super::states::{Branch, Thread, no_checkpoint, waiting};
use super::wire::{RunRequest, Strategy, consents};
use crate::fork::{ForkPlace, fork};
use crate::http::compat::attended::Attended;
use crate::http::compat::begin::{begun, go_on, seq_before};
use crate::http::compat::{Begun, fresh, sampling};
use crate::http::hubs;
use crate::state::Shared;
use crate::threads::{BeginTurn, RunBeginner};
use agents::Refusal;
use agents::RunAddress;
use agents::{Spoken, Started, Terms, Turn};
use event_log::clock;
use exchange::continuation::Trace;
use hub::Conversation;

/// The place where a run begins, and what of the request is new there. Made by [`find`]; whoever has it
/// begins the run or appends the messages, and then drops it, which lets others begin.
#[derive(Debug)]
pub(super) struct Found {
    /// The conversation: that of the thread, or a fork.
    pub(super) into: ConversationId,
    /// The messages that the conversation does not have.
    pub(super) messages: Vec<Spoken>,
    /// Whether the last message or run there is still unanswered, so that a run may begin without new
    /// messages.
    is_open: bool,
    /// While this is held, no other run begins in the thread.
    pub(super) turn: BeginTurn,
}

/// A random UUID of version 4.
pub(super) fn fresh_uuid() -> String {
    let bytes = [clock::random().to_be_bytes(), clock::random().to_be_bytes()].concat();
    let mut text = uuid(&bytes);
    // The digit that says the version: 4, all random.
    text.replace_range(14..15, "4");
    text
}

/// Begins the run that a request asks for in `thread`, or passes its answers on to the waiting run.
///
/// Fails with 400 for a form of the answer that the agent's model does not have, with 422 if nothing is said and nothing is unanswered, with 404 for an unknown checkpoint, with 409
/// if the thread is busy and the request says `reject`, or if there is nothing to resume, with 503 when the
/// hub drains, and with whatever the registry of agents refuses.
pub(super) async fn start(
    shared: &Arc<Shared>,
    agent: CompactString,
    thread: &ConversationId,
    ask: RunRequest,
) -> Result<Begun, Fault> {
    if shared.is_draining() {
        return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops; come back in a moment").into());
    }
    if let Some(resume) = &ask.resume {
        return resumed(shared, thread, resume).await;
    }
    let left_out = sampling::left_out(&shared.agents, &agent, &ask.sampling)?;
    let found = find(shared, thread, ask.checkpoint.as_deref(), ask.messages, ask.strategy).await?;
    if found.messages.is_empty() && !found.is_open {
        return Err(Fault::wrong("input: nothing is said, and everything before was answered"));
    }
    let trace = Trace::goes_on_in(thread, &found.into);
    // After a restart the hub goes on in the newest place that was noted.
    let has_forks = *thread != found.into || shared.threads.family(thread).len() > 1;
    let note = has_forks.then(|| trace.note());
    let run = Some(RunId::new(&fresh_uuid()));
    let terms = Terms { sampling: ask.sampling, ..Terms::default() };
    let turn = Turn { run, note, terms, ..Turn::new(agent, found.into, found.messages) };
    let started = blocking(|| shared.agents.start(turn))?;
    shared.asked.began(&shared.agents, &shared.gate, &started.place);
    shared.threads.remember(trace, &started.place.run, clock::now_ms());
    drop(found.turn);
    Ok(Begun { left_out, ..taken(shared, started, false)? })
}

/// Enters the conversation of a run for its caller. What happens when the caller hangs up is in each request,
/// not in the settings, so the watch that other doors use is switched off.
fn taken(shared: &Arc<Shared>, started: Started, has_waited: bool) -> Result<Begun, Fault> {
    let mut attended = Attended::new(shared, "langgraph", &started.place, None);
    attended.over();
    Ok(begun(shared, started, attended, has_waited)?)
}

/// Finds the conversation for `messages`: after the checkpoint, or at the end of the thread. A run that is
/// going on there is dealt with first, as `strategy` says, and then the search begins again, since the thread
/// has changed. The turn to begin is given back while it waits, so a slow run keeps nobody else from
/// beginning there.
pub(super) async fn find(
    shared: &Arc<Shared>,
    id: &ConversationId,
    checkpoint: Option<&str>,
    messages: Vec<Spoken>,
    strategy: Strategy,
) -> Result<Found, Fault> {
    let mut from = checkpoint.map(str::to_owned);
    loop {
        shared.threads.remembered(&shared.hub, shared.peers.as_ref().map(|_| id)).await;
        let mut turn = shared.threads.begins(&RunBeginner::Named(id.clone())).await;
        shared.threads.begins_in(&mut turn, &shared.threads.current(id)).await;
        let thread = Thread::read(shared, id).await?;
        let head = thread.head();
        if let Some((head, run)) = head.and_then(|head| Some((head, going(shared, head)?))) {
            drop(turn);
            if strategy == Strategy::Rollback && from.is_none() {
                from = before(head, &run);
            }
            make_way(shared, &head.conversation, &run, strategy).await?;
            continue;
        }
        let place = match &from {
            Some(id) => Some(thread.find(id).ok_or_else(|| no_checkpoint(id))?),
            None => head.map(|head| (head, head.states.len().saturating_sub(1))),
        };
        let Some((branch, number)) = place else {
            return Ok(Found { into: id.clone(), messages, is_open: false, turn });
        };
        let count = branch.states.get(number).map_or(0, |state| state.count);
        let count = known(&branch.view, count, &messages);
        if count == branch.view.items.len() && is_elsewhere(shared, branch) {
            // The run would begin in a fork that another hub has taken over. What was read here of it is as old as what that hub has stored.
            let fork = branch.conversation.id().clone();
            drop(turn);
            hubs::moving::bring(shared, &fork).await?;
            continue;
        }
        let messages = news(&branch.view, count, messages);
        let is_open = is_open(&branch.view, count);
        let into = place_after(shared, branch, count).await?;
        return Ok(Found { into, messages, is_open, turn });
    }
}

/// Whether the conversation of a branch is not this hub's own.
fn is_elsewhere(shared: &Shared, branch: &Branch) -> bool {
    shared.peers.is_some()
        && shared.hub.in_memory(branch.conversation.id()).is_none_or(|found| found.is_followed())
}

/// The newest run of this hub's agents that is going on in a branch. Runs of other publishers keep nobody
/// from beginning.
fn going(shared: &Shared, branch: &Branch) -> Option<RunId> {
    let goes_on = |run: &RunId| {
        let place = RunAddress { conversation: branch.conversation.id().clone(), run: run.clone() };
        shared.agents.is_waiting(&place).is_some()
    };
    branch.view.runs.keys().rev().find(|run| goes_on(run)).cloned()
}

/// The id of the checkpoint before the messages that `run` answers; `None` if the run is not in the branch.
fn before(branch: &Branch, run: &RunId) -> Option<String> {
    let place = branch.view.items.iter().position(|item| matches!(item, TopItem::Run(id) if id == run))?;
    let asked = branch.view.items.get(..place)?.iter().rev();
    let asked = asked.take_while(|item| matches!(item, TopItem::Message(_))).count();
    let count = place.saturating_sub(asked);
    branch.states.iter().find(|state| state.count == count).map(|state| state.id.clone())
}

/// Waits until `run` is over; with the strategies other than `Enqueue` it is stopped. A run that waits for a
/// person is always stopped, because it would wait for ever. Fails with 409 for `Reject`, with 503 when the
/// hub drains.
async fn make_way(
    shared: &Shared,
    conversation: &Arc<Conversation>,
    run: &RunId,
    strategy: Strategy,
) -> Result<(), Fault> {
    let waits = conversation.read_view(|view| view.runs.get(run).is_some_and(|run| !waiting(run).is_empty()));
    if strategy == Strategy::Reject && !waits {
        let why = "the thread is busy with another run; multitask_strategy says what becomes of it";
        return Err(Fault::new(StatusCode::CONFLICT, why));
    }
    let place = RunAddress { conversation: conversation.id().clone(), run: run.clone() };
    if waits || strategy != Strategy::Enqueue {
        shared.agents.stop(&place);
    }
    loop {
        let mut appended = std::pin::pin!(conversation.appended());
        appended.as_mut().enable();
        let Some(mut goes_on) = shared.agents.is_waiting(&place) else { return Ok(()) };
        tokio::select! {
            () = appended => {}
            // An error means that the run is over.
            _ = goes_on.changed() => {}
            () = shared.drain.cancelled() => {
                return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops").into());
            }
        }
    }
}

/// The index of the item of a message; `None` if it has none.
fn place(view: &View, spoken: &Spoken) -> Option<usize> {
    let id = spoken.id.as_ref()?;
    view.items.iter().position(|item| matches!(item, TopItem::Message(it) if it == id))
}

/// How many of the first `count` items stay with these `messages`: a known message with a changed text replaces the old one, so only the items before it stay.
fn known(view: &View, count: usize, messages: &[Spoken]) -> usize {
    let changed = messages.iter().filter_map(|spoken| {
        let known = spoken.id.as_ref().and_then(|id| view.messages.get(id))?;
        place(view, spoken).filter(|_| known.text != spoken.text.as_str())
    });
    changed.fold(count, usize::min)
}

/// The `messages` that are new after the first `count` items. Messages without an id are always new.
fn news(view: &View, count: usize, messages: Vec<Spoken>) -> Vec<Spoken> {
    let is_new = |spoken: &Spoken| place(view, spoken).is_none_or(|at| at >= count);
    messages.into_iter().filter(is_new).collect()
}

/// Whether the last of the first `count` items is a question without an answer, or a run that failed.
fn is_open(view: &View, count: usize) -> bool {
    let last = count.checked_sub(1).and_then(|last| view.items.get(last));
    match last {
        None => false,
        Some(TopItem::Message(id)) => view.messages.get(id).is_some_and(|message| message.role == "user"),
        Some(TopItem::Run(id)) => {
            view.runs.get(id).is_some_and(|run| !run.is_running() && run.status != RunStatus::Complete)
        }
    }
}

/// The conversation for what comes after the first `count` items: the same one at its end, otherwise a fork;
/// a fresh one if nothing comes before them. Fails with `gone` if the log no longer has the place.
async fn place_after(shared: &Shared, branch: &Branch, count: usize) -> Result<ConversationId, Fault> {
    let Some(next) = branch.view.items.get(count) else { return Ok(branch.conversation.id().clone()) };
    let at = seq_before(shared, &branch.conversation, next).await?;
    if at == 0 {
        return Ok(fresh(branch.conversation.id().as_str())?);
    }
    Ok(fork(
        &shared.fanout,
        &shared.work,
        &branch.conversation,
        ForkPlace { at: Some(at), ..ForkPlace::default() },
        None,
    )
    .await?)
}

/// Passes the answers of a request on to the calls of the newest running run that wait. Fails with 409 if
/// none waits, with 422 if the answers do not fit the calls.
async fn resumed(
    shared: &Arc<Shared>,
    thread: &ConversationId,
    resume: &serde_json::Value,
) -> Result<Begun, Fault> {
    let thread = Thread::read(shared, thread).await?;
    let head = thread.head();
    let waits: Vec<ToolCallId> = head
        .and_then(|head| head.view.runs.values().rev().find(|run| run.is_running()))
        .map_or_else(Vec::new, waiting);
    if waits.is_empty() {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "command.resume: no call of the thread waits for an answer",
        ));
    }
    let consents = consents(resume, &waits)?;
    let conversation = head.map(|head| Arc::clone(&head.conversation));
    let started = go_on(shared, conversation, consents).await?;
    taken(shared, started, true)
}
