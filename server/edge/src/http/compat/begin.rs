//! Begins what callers ask for: finds the conversation, what of the request is new in it, and starts the run.
//!
//! ```text
//! named, or found by its history ─▶ answers to waiting calls? ── yes ─▶ pass them on, the run goes on
//!                                        │ no
//!                                        ▼
//!                  results of the caller's tools are appended
//!                                        │
//!             where does the history part from the conversation?
//!              nowhere: go on here  │  before an item: fork there
//!                                   ▼
//!                      the rest of the messages begins a run
//! ```
//!
//! A run of the conversation that was told to stop is waited for, so that the new one comes after its end.

use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use dialects::Decoded;
use event_log::{Purpose, blocking};
use exchange::OfferedTool;
use exchange::continuation::{Caller, Extent, Placing, Trace, place};
use model::code::ErrorCode;
use model::event::{Kind, ToolResult, ToolState};
use model::view::{RunView, TopItem};
use model::{ConversationId, Position, RunId, Seq, ToolCallId, View};

use super::{Attended, Begun, CallResult, Consent, Thread, TurnRequest, fresh, sampling};
use crate::fork::{ForkPlace, fork};
use crate::http::Reading;
use crate::http::conversations::HttpViewer;
use crate::http::hubs::asked::{self, Learn};
use crate::sharing::stand_in;
use crate::state::Shared;
use crate::threads::{BeginTurn, RunBeginner};
use agents::ConsentAnswer;
use agents::Refusal;
use agents::RunAddress;
use agents::{Spoken, Started, Terms, Turn};
use event_log::clock;
use hub::{Conversation, EventOrigin, OpenError, Publication};
use tokio::time::Instant;

/// Most events that are read at once in search of a place in a conversation.
const EVENTS_AT_ONCE: usize = 2_000;

/// How long a run may take to hear the answers to its calls. After that the caller is told what it does
/// anyway.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// How long a run that was told to stop is waited for.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

/// How long a caller waits at most for what another hub has told it to be seen here.
const CAUGHT_UP_WITHIN: Duration = Duration::from_millis(500);

/// The time between two looks meanwhile.
const CAUGHT_UP_LOOK: Duration = Duration::from_millis(10);

/// Begins what a caller asks for. The same caller begins one run at a time, and so do all in one conversation, because a caller that sends
/// the same twice at once must not start two runs. Other callers do not wait for that, however long the disk takes.
///
/// Fails with `elsewhere` if another hub serves the caller or has the conversation, to which the request is then passed on, with
/// `shutting_down` when the hub drains, with `bad_conversation` if a fresh name is not allowed, with `bad_request` for a form of the answer
/// that the agent's model does not have, with `gone` if the log no longer has the place of a fork, with `not_running` if none of the answered calls
/// waits, and with whatever the registry of agents refuses. What was begun before a failure stays: results
/// that were appended, or a fork.
pub(super) async fn begin(shared: &Arc<Shared>, asked: TurnRequest) -> Result<Begun, Refusal> {
    if shared.is_draining() {
        return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops; come back in a moment"));
    }
    let TurnRequest { door, agent, thread, messages, extent, results, tools, run, consents, terms } = asked;
    at_home(shared, &thread).await?;
    let mut begins = shared.threads.begins(&beginner(&thread)).await;
    let (id, found) =
        continued(shared, &mut begins, (&agent, &thread), &messages, (extent, !results.is_empty())).await?;
    if !consents.is_empty() {
        // A run that is slow to hear must not keep others from beginning here. An answer is taken only
        // once.
        drop(begins);
        let started = go_on(shared, found, consents).await?;
        let attended = Attended::new(shared, door, &started.place, None);
        return begun(shared, started, attended, true);
    }
    let (tools, mut left_out) = takes(shared, &agent, tools, &terms);
    left_out.extend(sampling::left_out(&shared.agents, &agent, &terms.sampling)?);
    if let Some(found) = &found {
        stopped(shared, found).await;
    }
    let mut has_gap = false;
    let (into, from) = match found {
        Some(found) if shared.agents.knows(&agent) => {
            let takes = blocking(|| take_results(shared, &found, &results))?;
            let (placing, is_known) =
                found.read_view(|view| (place(view, &messages, (extent, takes)), !view.items.is_empty()));
            match placing {
                _ if !is_known => (id.clone(), 0),
                Placing::Rest(from) => {
                    let told = messages.iter().take(from).filter(|spoken| spoken.role == "user").count();
                    has_gap = found.read_view(|view| told < questions(view));
                    (id.clone(), from)
                }
                Placing::Before(item, from) => {
                    let at = seq_before(shared, &found, &item).await?;
                    let cut = ForkPlace { at: Some(at), ..ForkPlace::default() };
                    // A fork before the first event would have nothing in it.
                    let into = if at == 0 {
                        fresh(&agent)
                    } else {
                        fork(&shared.fanout, &shared.work, &found, cut, None).await
                    };
                    (into?, from)
                }
            }
        }
        _ => (id.clone(), 0),
    };
    let news = messages.get(from..).unwrap_or_default().to_vec();
    let trace = match thread {
        Thread::Named(name) => Trace::of_thread(name, &into),
        Thread::Exactly(_) => None,
        Thread::Told(caller) => Some(Trace::of_history((&agent, &caller), &messages, &into, clock::random())),
    };
    let note = trace.as_ref().map(Trace::note);
    let turn = Turn { run, tools, note, terms, ..Turn::new(agent, into, news) };
    let started = blocking(|| shared.agents.start(turn))?;
    shared.asked.began(&shared.agents, &shared.gate, &started.place);
    let attended = Attended::new(shared, door, &started.place, trace.clone());
    if let Some(trace) = trace {
        shared.threads.remember(trace, &started.place.run, clock::now_ms());
    }
    Ok(Begun { left_out, has_gap, ..begun(shared, started, attended, false)? })
}

/// Who begins: whoever names a conversation, or else the caller.
fn beginner(thread: &Thread) -> RunBeginner {
    match thread {
        Thread::Named(id) | Thread::Exactly(id) => RunBeginner::Named(id.clone()),
        Thread::Told(caller) => RunBeginner::Told(caller.print()),
    }
}

/// The conversation that stands for the caller: the one that it names, or one for all of its kind.
fn home(thread: &Thread) -> ConversationId {
    match thread {
        Thread::Named(id) | Thread::Exactly(id) => id.clone(),
        Thread::Told(caller) => stand_in("callers", caller.print()),
    }
}

/// Fails with `elsewhere` if another hub serves the caller and has not decided yet where it goes on.
async fn at_home(shared: &Arc<Shared>, thread: &Thread) -> Result<(), Refusal> {
    if asked::decided().is_some() {
        Ok(())
    } else {
        asked::at_home(&shared.ownership, &home(thread), Purpose::Make).await
    }
}

/// The conversation in which the caller of `agent` goes on, and what there is of it. From here on nobody else `begins` a run in it. Fails with
/// `elsewhere` if another hub has it.
async fn continued(
    shared: &Arc<Shared>,
    begins: &mut BeginTurn,
    (agent, thread): (&CompactString, &Thread),
    messages: &[Spoken],
    (extent, takes): (Extent, bool),
) -> Result<(ConversationId, Option<Arc<Conversation>>), Refusal> {
    let home = home(thread);
    // Where another hub has decided, it has the caller and goes on to serve it.
    let served = shared.peers.as_ref().filter(|_| asked::decided().is_none()).map(|_| &home);
    shared.threads.remembered(&shared.hub, served).await;
    let id = match (asked::decided(), thread) {
        (Some(decided), _) => decided,
        (None, Thread::Named(id)) => shared.threads.current(id),
        (None, Thread::Exactly(id)) => id.clone(),
        (None, Thread::Told(caller)) => {
            catch_up(shared, (agent, caller), messages).await;
            let fits = |view: &View| matches!(place(view, messages, (extent, takes)), Placing::Rest(_));
            let joined = blocking(|| shared.threads.find(&shared.hub, (agent, caller), messages, fits));
            joined.map_or_else(|| fresh(agent), Ok)?
        }
    };
    shared.threads.begins_in(begins, &id).await;
    match blocking(|| shared.hub.find(&id)) {
        Ok(found) if found.as_ref().is_none_or(|found| !found.is_followed()) => Ok((id, found)),
        Ok(_) | Err(OpenError::Elsewhere { .. }) => {
            Err(asked::go_to(&id, learn(shared, thread, agent, messages)))
        }
        Err(error) => Err(Refusal::new(error.code(), error.to_string())),
    }
}

/// Waits until this hub has seen the end of what another hub runs for this caller, for [`CAUGHT_UP_WITHIN`] at most: a caller who goes on at
/// once would not be recognised.
async fn catch_up(shared: &Arc<Shared>, caller: (&CompactString, &Caller), messages: &[Spoken]) {
    let (agent, caller) = caller;
    let deadline = Instant::now() + CAUGHT_UP_WITHIN;
    while shared.peers.is_some()
        && Instant::now() < deadline
        && blocking(|| shared.threads.is_behind(&shared.hub, (agent, caller), messages))
    {
        tokio::time::sleep(CAUGHT_UP_LOOK).await;
    }
}

/// What this hub remembers of a caller whose conversation another hub has, once that one has begun the run; `None` for one who names the very
/// conversation.
fn learn(shared: &Arc<Shared>, thread: &Thread, agent: &str, messages: &[Spoken]) -> Option<Learn> {
    let (shared, agent, messages) = (Arc::clone(shared), CompactString::new(agent), messages.to_vec());
    let thread = match thread {
        Thread::Exactly(_) => return None,
        Thread::Named(name) => Ok(name.clone()),
        Thread::Told(caller) => Err(caller.clone()),
    };
    Some(Box::new(move |there, run| {
        let trace = match thread {
            Ok(name) => Trace::goes_on_in(&name, there),
            Err(caller) => Trace::of_history((&agent, &caller), &messages, there, clock::random()),
        };
        shared.threads.remember(trace, run, clock::now_ms());
    }))
}

/// The caller's tools that the agent can be offered, and what of the request it cannot take into account:
/// `tools`, `enable_tools`. All of the tools are offered or none.
fn takes(
    shared: &Shared,
    agent: &str,
    tools: Vec<OfferedTool>,
    terms: &Terms,
) -> (Vec<OfferedTool>, Vec<&'static str>) {
    let mut left_out = Vec::new();
    let takes = shared.agents.takes_tools(agent) || tools.is_empty();
    if !takes {
        left_out.push("tools");
    }
    if terms.without_tools && !shared.agents.can_do_without_tools(agent) {
        left_out.push("enable_tools");
    }
    (if takes { tools } else { Vec::new() }, left_out)
}

/// Waits for runs that were told to stop, so that what is said next comes after their end; at most
/// [`STOPPED_WITHIN`].
async fn stopped(shared: &Shared, conversation: &Conversation) {
    let is_stopping = |(run, view): (&RunId, &RunView)| {
        let place = RunAddress { conversation: conversation.id().clone(), run: run.clone() };
        view.is_running() && shared.agents.is_stopping(&place)
    };
    let all = async {
        loop {
            let mut appended = std::pin::pin!(conversation.appended());
            appended.as_mut().enable();
            if !conversation.read_view(|view| view.runs.iter().any(is_stopping)) {
                return;
            }
            appended.await;
        }
    };
    // A run that does not stop in time goes on beside the new one.
    drop(tokio::time::timeout(STOPPED_WITHIN, all).await);
}

/// Enters the conversation of a run for its caller. Fails if the conversation cannot be opened, with the code
/// of that; the run then goes on without the caller.
pub(super) fn begun(
    shared: &Arc<Shared>,
    started: Started,
    attended: Attended,
    has_waited: bool,
) -> Result<Begun, Refusal> {
    let conversation = shared.hub.enter(&started.place.conversation);
    let conversation = conversation.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let viewer = HttpViewer::new(&Reading::of(shared), conversation);
    Ok(Begun { viewer, started, has_waited, left_out: Vec::new(), has_gap: false, attended })
}

/// How many messages of persons the conversation has.
fn questions(view: &View) -> usize {
    view.messages.values().filter(|message| message.role == "user").count()
}

/// Passes a caller's answers on to calls that wait for consent. The caller is told what the run does after it
/// began to wait, even if somebody else has answered before.
///
/// Fails with `not_running` if no run of the conversation has any of the calls, with `gone` if the log no
/// longer has the answers that somebody else gave, and with whatever the agent refuses of an answer.
pub(super) async fn go_on(
    shared: &Arc<Shared>,
    found: Option<Arc<Conversation>>,
    consents: Vec<Consent>,
) -> Result<Started, Refusal> {
    let is_asked = |run: &RunView| consents.iter().any(|consent| run.tools.contains_key(&consent.tool));
    let of = |view: &View| {
        let (id, run) = view.runs.iter().rev().find(|(_, run)| is_asked(run))?;
        let is_open = |consent: &Consent| {
            run.tools.get(&consent.tool).is_some_and(|tool| tool.state == ToolState::Approval)
        };
        Some((id.clone(), view.seq, consents.iter().map(is_open).collect::<Vec<bool>>()))
    };
    let known = found.and_then(|found| Some((found.read_view(of)?, found)));
    let ((run, seq, open), found) = known.ok_or_else(|| {
        Refusal::new(
            ErrorCode::NotRunning,
            "no run of this conversation has one of the calls that are answered",
        )
    })?;
    let mut seq = seq;
    if open.contains(&false) {
        let answers = |kind: &Kind, of: &RunId| {
            *of == run
                && matches!(kind, Kind::ApprovalAnswer { tool, .. } if consents.iter().any(|it| it.tool == *tool))
        };
        seq = first(shared, &found, answers).await?.saturating_sub(1);
    }
    let place = RunAddress { conversation: found.id().clone(), run };
    let tools: Vec<ToolCallId> = consents.iter().map(|consent| consent.tool.clone()).collect();
    for (Consent { tool, answer }, is_open) in consents.into_iter().zip(open) {
        if is_open {
            shared.agents.consent(&found, &place, ConsentAnswer { tool, answer, saw: None })?;
        }
    }
    heard(shared, &found, &place, &tools).await;
    Ok(Started { place, after: Position { epoch: found.epoch().clone(), seq } })
}

/// Waits until the run has heard the answers to its calls, because until then it looks as if it still waited;
/// at most [`HEARD_WITHIN`], since an agent may be slow to say that it has paused.
async fn heard(shared: &Shared, conversation: &Conversation, place: &RunAddress, tools: &[ToolCallId]) {
    let waits = |run: &RunView| {
        let asks = |tool: &ToolCallId| run.tools.get(tool).is_some_and(|it| it.state == ToolState::Approval);
        run.is_running() && tools.iter().any(asks)
    };
    let mut patience = std::pin::pin!(tokio::time::sleep(HEARD_WITHIN));
    loop {
        let mut appended = std::pin::pin!(conversation.appended());
        appended.as_mut().enable();
        if !conversation.read_view(|view| view.runs.get(&place.run).is_some_and(waits)) {
            return;
        }
        tokio::select! {
            () = appended => {}
            () = shared.drain.cancelled() => return,
            () = &mut patience => return,
        }
    }
}

/// Appends results of calls that the newest run has left to its caller: those that are pending while the run
/// is over. Results of other calls are ignored, since each history repeats all results. True if there were
/// any.
fn take_results(
    shared: &Shared,
    conversation: &Conversation,
    results: &[CallResult],
) -> Result<bool, Refusal> {
    let mut said = Decoded::default();
    let mut by = EventOrigin::Outside;
    conversation.read_view(|view| {
        let Some((id, run)) = view.runs.last() else { return };
        if run.own {
            // The caller to whom a run of the hub's own agents left its calls comes through one of the hub's
            // doors.
            by = EventOrigin::Hub;
        }
        for given in results {
            let waits = run.tools.get(&given.tool).is_some_and(|tool| tool.state == ToolState::Pending);
            if waits && !run.is_running() {
                let result = ToolResult::new(given.tool.clone(), given.output.clone(), given.is_error);
                said.push(id, Kind::ToolResult(result));
            }
        }
    });
    if said.envelopes.is_empty() {
        return Ok(false);
    }
    let published =
        shared.fanout.publish(conversation.id(), Publication { by, ..Publication::of(said.envelopes) });
    published.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(true)
}

/// The head of the conversation before `item` began; 0 if it began with the first event. Reads the log from
/// the beginning, page by page. Fails with `gone` if the log no longer has the item.
pub(super) async fn seq_before(
    shared: &Shared,
    conversation: &Arc<Conversation>,
    item: &TopItem,
) -> Result<Seq, Refusal> {
    let begins = |kind: &Kind, run: &RunId| match item {
        TopItem::Message(id) => matches!(kind, Kind::Message(message) if message.message == *id),
        TopItem::Run(id) => run == id,
    };
    Ok(first(shared, conversation, begins).await?.saturating_sub(1))
}

/// The seq of the first event for which `wanted` is true. Fails with `gone` if the log no longer has the
/// beginning, or if no event is wanted. Reads [`EVENTS_AT_ONCE`] events at a time, so little of a long
/// conversation is in memory.
async fn first(
    shared: &Shared,
    conversation: &Arc<Conversation>,
    wanted: impl Fn(&Kind, &RunId) -> bool,
) -> Result<Seq, Refusal> {
    let gone = |why: String| Refusal::new(ErrorCode::Gone, why);
    let mut after = 0;
    loop {
        let page = shared.hub.read(conversation, after, EVENTS_AT_ONCE).await;
        let page = page.map_err(|error| gone(error.to_string()))?;
        let found = page.envelopes.iter().find(|envelope| wanted(&envelope.event.kind, &envelope.event.run));
        if let Some(found) = found {
            return Ok(found.seq);
        }
        let last = page.envelopes.last().map(|envelope| envelope.seq);
        after = last.ok_or_else(|| gone(String::from("the log does not have the beginning any more")))?;
    }
}

#[cfg(test)]
mod tests;
