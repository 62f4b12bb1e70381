//! Finds the conversation and the run that a model call belongs to. The calls of one agent are separate
//! requests; they are joined by what they say, so that the loop of an agent becomes one run.
//!
//! Reading order: this file, `asked` (a request in comparable form), `memory` (what is remembered of loops),
//! `find` (the rules), `steps` (what each result of a search does), `retold`, `outputs`, `tell`, `title`, `known`.

use std::ops::Range;

use super::answer::{AnswerReader, AnswerSummary, RunContinuation};
use super::request::ModelRequest;
use super::turns::{TurnSide, after, is_telling};
use dialects::Decoded;
use model::event::{RunStatus, ToolState};
use model::ids::{ConversationId, RunId};
use model::limits::{
    CALLS_AWAITED_MAX, ITEMS_PER_RUN_MAX, LOOP_REMEMBERED_MS, LOOPS_REMEMBERED_MAX, OUTPUT_AWAITED_MS,
    RESULTS_AWAITED_MS,
};
use model::view::View;

mod asked;
mod find;
mod known;
mod memory;
mod outputs;
mod retold;
mod steps;
mod tell;
mod title;

pub use asked::RequestDigest;
use asked::hash;
use find::{LoopMatch, LoopSearch};
use memory::{AgentLoop, AwaitedCall, LoopKey, LoopMemory, LoopPosition, LoopState};
use steps::PlacementStep;

/// Headers in which clients name their session, in lower case. The first one that a request has counts.
pub const SESSION_HEADERS: [&str; 9] = [
    "x-claude-code-session-id",
    "thread-id",
    "conversation_id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-opencode-session",
    "x-amp-thread-id",
];

/// How many runs of a conversation, from the newest, may still get results after a restart of the hub.
const RUNS_RECALLED_MAX: usize = 16;

/// What is known of a call besides its request.
#[derive(Debug, Clone)]
pub struct CallContext<'a> {
    /// The name of the upstream; new conversations are named after it.
    pub upstream: &'a str,
    /// A fingerprint of the caller's key, never the key itself. Calls with different fingerprints are never
    /// joined by what they say.
    pub caller: u64,
    /// The conversation, if a header or the path names it. It takes precedence over all else.
    pub conversation: Option<ConversationId>,
    /// The value of a header of [`SESSION_HEADERS`].
    pub session: Option<&'a str>,
    /// How many attempts came before this one, as the client counts them (`x-stainless-retry-count`).
    pub attempts_before: Option<u32>,
    /// What called this agent, if a header says so (`Fanlight-Parent`).
    pub parent: Option<&'a str>,
    /// A name that no other call ever has. The ids of runs, parts and messages are made from it.
    pub name: &'a str,
    /// When the request arrived, in milliseconds since 1970.
    pub at: u64,
}

/// The place of a call: its conversation and run, and why.
#[derive(Debug)]
pub struct Placement {
    /// The id of the conversation.
    pub conversation: ConversationId,
    /// The id of the run.
    pub run: RunId,
    /// Why the call belongs there.
    pub why: PlacementReason,
    /// The call begins a conversation that the joiner did not know before.
    pub is_new: bool,
    /// Where the conversation branches off, if it is a fork.
    pub fork_of: Option<ForkPoint>,
    /// The number of this attempt at the same request, from 1.
    pub attempt: u32,
    /// What is to be appended to the conversation before anything of the answer.
    pub events: Decoded,
    /// The range of `events` that are history. A hub that has the conversation already leaves them out, see
    /// [`Placement::leave_out`]. Empty unless the call names the conversation: only then the conversation may
    /// have events from a time that the joiner does not remember. See [`CallJoiner::recall`].
    pub history: Range<usize>,
    /// The run of the loop that this call ends. It no longer waits for results.
    pub ended: Option<RunId>,
    /// Reads the answer of the call. What it returns at the end belongs into [`CallJoiner::heard`].
    pub answer: AnswerReader,
}

/// Why a call belongs where it was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementReason {
    /// The call continues nothing that is known: it begins a new loop (in a new conversation, unless the call names one).
    New,
    /// The call names the answer that it continues.
    Previous,
    /// The call brings the results of tool calls that a loop waits for.
    Awaited,
    /// The history of the call is all that was said in the loop.
    History,
    /// Only the end of the call's history is what was said last in the loop.
    Tail,
    /// The history of the call is all that was said in the loop, but the last answer is written anew or has something behind it.
    Retold,
    /// The call is the same request again.
    Retry,
    /// The call is the last request of the loop again, with the failure of a tool behind it that the loop's last answer called.
    ToolFailed,
    /// The history of the call is that of another conversation up to a point, after which that conversation went on differently.
    Fork,
}

/// The point at which a conversation branches off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    /// The conversation that it branches off from.
    pub conversation: ConversationId,
    /// The run after which it branches off.
    pub run: RunId,
    /// The number of messages that both have in common.
    pub messages: u64,
}

/// Events for a conversation.
#[derive(Debug)]
pub struct PlacedEvents {
    /// The id of the conversation.
    pub conversation: ConversationId,
    /// The run that they are about.
    pub run: RunId,
    /// The run goes on without events while its caller executes tools. Code that ends runs whose publisher
    /// was lost must leave it alone until [`CallJoiner`] says otherwise.
    pub waits: bool,
    /// The events to append.
    pub events: Decoded,
}

/// Puts model calls into conversations and runs. Its memory is bounded; when it forgets a loop, the loop goes
/// on in a new conversation.
///
/// It does no input or output: the events that it returns must be appended by its owner.
#[derive(Debug, Default)]
pub struct CallJoiner {
    memory: LoopMemory,
    /// The number of calls so far.
    calls: u64,
    /// The ends of runs that were forgotten and not yet returned.
    forgotten: Vec<PlacedEvents>,
}

impl CallJoiner {
    /// Finds where `call` with `request` belongs, and remembers it. The summary of every placement's answer
    /// must be passed to [`CallJoiner::heard`], or its run never ends.
    pub fn place(&mut self, call: &CallContext<'_>, request: &ModelRequest) -> Placement {
        self.place_asked(call, request, RequestDigest::of(request))
    }

    /// Like [`CallJoiner::place`], with the digest of `request` made before. It takes long for a long history
    /// and needs no joiner, so others that want to lock the joiner need not wait for it.
    pub fn place_asked(
        &mut self,
        call: &CallContext<'_>,
        request: &ModelRequest,
        mut asked: RequestDigest,
    ) -> Placement {
        self.calls = self.calls.saturating_add(1);
        self.make_room();
        let conversation = named_conversation(call, request);
        let scope = scope(call, conversation.as_ref());
        let search = LoopSearch { memory: &self.memory, scope, call, request };
        let named = search.named();
        match (&named, &request.previous) {
            (Some(named), _) => asked.go_on_from(named.point.head.full, named.point.head.turns),
            (None, Some(unknown)) => asked.go_on_from(hash(unknown), 0),
            (None, None) => {}
        }
        let found = search.find(&asked, named);
        let step = PlacementStep { call, request, asked: &asked, scope, number: self.calls };
        match found {
            LoopMatch::Retry { id } => step.again(&mut self.memory, id),
            LoopMatch::Join { id, from, why } => step.join(&mut self.memory, id, from, why),
            LoopMatch::Fork { id, point, from } => {
                step.branch(&mut self.memory, conversation, (id, &point), from)
            }
            LoopMatch::Nothing => step.open(&mut self.memory, conversation, None, 0),
        }
    }

    /// The conversation that a call names, if the joiner knows nothing of it. If the hub has it from an
    /// earlier time, it should be recalled, see [`CallJoiner::recall`].
    pub fn unknown(&self, call: &CallContext<'_>, request: &ModelRequest) -> Option<ConversationId> {
        let conversation = named_conversation(call, request)?;
        let scope = scope(call, Some(&conversation));
        self.memory.find(scope, LoopKey::Member).next().is_none().then_some(conversation)
    }

    /// Remembers the runs of `conversation` from a time before this joiner whose calls have no results: they
    /// may get them yet. `at` is in milliseconds since 1970. Call it before [`CallJoiner::place`].
    pub fn recall(&mut self, conversation: &ConversationId, view: &View, at: u64) {
        let scope = conversation_scope(conversation);
        for (run, known) in view.runs.iter().rev().take(RUNS_RECALLED_MAX) {
            let recalled = AgentLoop::recalled(scope, conversation, (run, known));
            if !recalled.awaited.is_empty() {
                let id = self.memory.add(recalled);
                self.memory.change(id, at, |_| ());
            }
        }
    }

    /// Takes the end of an answer, at `at` (milliseconds since 1970): ends its run, or says that its calls
    /// are executed now.
    pub fn heard(&mut self, heard: AnswerSummary, at: u64) -> PlacedEvents {
        let mut events = Decoded::default();
        let id = heard.ticket.agent_loop;
        let (conversation, run) = (heard.conversation.clone(), heard.run.clone());
        let is_last = self.memory.get(id).map(|known| known.call == heard.ticket.call);
        match is_last {
            Some(true) => {
                self.memory.change(id, at, |known| settle(known, heard, at, &mut events));
            }
            // Another attempt has replaced it, and decides about the run.
            Some(false) => {}
            None => {
                let status = match heard.verdict {
                    RunContinuation::GoesOn => RunStatus::Interrupted,
                    RunContinuation::Ends(status) => status,
                };
                tell::end(&run, status, &mut events);
            }
        }
        let waits = self.memory.get(id).is_some_and(|known| known.is_open && known.run == run);
        PlacedEvents { conversation, run, waits, events }
    }

    /// Gives up runs whose results did not come in time, and forgets old loops. Call it about once a second
    /// with the time in milliseconds since 1970, and append what it returns.
    pub fn tick(&mut self, now: u64) -> Vec<PlacedEvents> {
        let is_late = |known: &AgentLoop| match known.state {
            LoopState::Waiting(since) => {
                let most = if known.may_be_over { OUTPUT_AWAITED_MS } else { RESULTS_AWAITED_MS };
                now.saturating_sub(since) >= most
            }
            _ => false,
        };
        let late: Vec<u64> =
            self.memory.all().filter(|(_, known)| is_late(known)).map(|(id, _)| id).collect();
        let mut placed = std::mem::take(&mut self.forgotten);
        for id in late {
            placed.extend(self.memory.change(id, 0, |known| {
                let mut events = Decoded::default();
                if std::mem::take(&mut known.may_be_over) {
                    for awaited in &known.awaited {
                        tell::state(&known.run, awaited.call.tool.clone(), ToolState::Complete, &mut events);
                    }
                    tell::end(&known.run, RunStatus::Complete, &mut events);
                    known.state = LoopState::Done;
                } else {
                    tell::give_up(&known.run, RESULTS_AWAITED_MS, &mut events);
                    known.state = LoopState::GivenUp;
                }
                known.is_open = false;
                PlacedEvents {
                    conversation: known.conversation.clone(),
                    run: known.run.clone(),
                    waits: false,
                    events,
                }
            }));
        }
        while let Some((touched, id)) = self.memory.oldest() {
            if now.saturating_sub(touched) < LOOP_REMEMBERED_MS {
                break;
            }
            self.forget(id);
        }
        placed.append(&mut self.forgotten);
        placed
    }

    /// Forgets all loops, for a hub that stops: the runs that still wait for results are interrupted.
    pub fn close(&mut self) -> Vec<PlacedEvents> {
        let ids: Vec<u64> = self.memory.all().map(|(id, _)| id).collect();
        for id in ids {
            self.forget(id);
        }
        std::mem::take(&mut self.forgotten)
    }

    /// The number of loops that are remembered.
    pub fn remembered(&self) -> usize {
        self.memory.len()
    }

    /// Forgets the oldest loops until there is room for another one.
    fn make_room(&mut self) {
        while self.memory.len() >= LOOPS_REMEMBERED_MAX {
            // `oldest` does not return loops whose call is being answered; there are no more of them than
            // connections.
            let Some((_, id)) = self.memory.oldest() else { return };
            self.forget(id);
        }
    }

    /// Forgets a loop. If its run is open and was begun by this joiner, the end of the run is noted in
    /// `forgotten`.
    fn forget(&mut self, id: u64) {
        let is_ours = |gone: &AgentLoop| gone.is_open && !gone.is_recalled;
        let Some(gone) = self.memory.remove(id).filter(is_ours) else { return };
        let mut events = Decoded::default();
        let status = if gone.may_be_over { RunStatus::Complete } else { RunStatus::Interrupted };
        tell::end(&gone.run, status, &mut events);
        self.forgotten.push(PlacedEvents {
            conversation: gone.conversation,
            run: gone.run,
            waits: false,
            events,
        });
    }
}

/// Changes a loop by the end of an answer, and appends to `events` what that means for its run.
fn settle(known: &mut AgentLoop, heard: AnswerSummary, at: u64, events: &mut Decoded) {
    let AnswerSummary { mut verdict, words, calls, used, response, .. } = heard;
    let judged = match verdict {
        RunContinuation::GoesOn => known.ask.outputs.judge(&calls, |name| known.executed.contains(name)),
        RunContinuation::Ends(_) => outputs::OutputVerdict::No,
    };
    known.may_be_over = judged == outputs::OutputVerdict::Perhaps;
    if matches!(judged, outputs::OutputVerdict::Forced | outputs::OutputVerdict::Ends) {
        // The caller has its answer. If it sends a result nevertheless, the run goes on.
        verdict = RunContinuation::Ends(RunStatus::Complete);
    }
    for call in calls
        .iter()
        .filter(|call| judged == outputs::OutputVerdict::Ends && known.ask.outputs.is_named(&call.name))
    {
        tell::state(&known.run, call.tool.clone(), ToolState::Complete, events);
    }
    let room = ITEMS_PER_RUN_MAX.saturating_sub(known.used.len());
    known.used.extend(used.into_iter().take(room));
    if let RunContinuation::Ends(status) = verdict {
        tell::end(&known.run, status, events);
        known.is_open = false;
        if status != RunStatus::Complete {
            known.state = LoopState::Failed;
            return;
        }
    }
    let ask = &known.ask;
    let print = words.print(TurnSide::Assistant);
    known.head = Some(LoopPosition {
        full: if words.is_empty() { ask.before } else { after(ask.before, print) },
        asked: ask.before,
        turns: ask.turns.saturating_add(usize::from(!words.is_empty())),
        tail: after(ask.last, print),
        said: words.is_telling().then_some(print),
        letters: retold::AnswerLetters::of(&words),
        response: response.as_deref().map(hash),
    });
    for call in &calls {
        if verdict == RunContinuation::GoesOn && !call.asks && !known.may_be_over {
            tell::state(&known.run, call.tool.clone(), ToolState::Executing, events);
        }
    }
    let awaited = calls.into_iter().take(CALLS_AWAITED_MAX);
    known.awaited = awaited.map(|call| AwaitedCall { call, since: at }).collect();
    known.state = if verdict == RunContinuation::GoesOn { LoopState::Waiting(at) } else { LoopState::Done };
}

/// The conversation that a call names itself, directly or by its session.
fn named_conversation(call: &CallContext<'_>, request: &ModelRequest) -> Option<ConversationId> {
    if call.conversation.is_some() {
        return call.conversation.clone();
    }
    let session = call.session.filter(|session| is_telling(session)).or(request.session.as_deref())?;
    Some(conversation_name(call.upstream, session))
}

/// The part of the memory in which a call is looked for: its conversation if it names one, else the calls
/// with the same upstream and key.
fn scope(call: &CallContext<'_>, conversation: Option<&ConversationId>) -> u64 {
    match conversation {
        Some(conversation) => conversation_scope(conversation),
        None => after(after(2, hash(call.upstream)), call.caller),
    }
}

fn conversation_scope(conversation: &ConversationId) -> u64 {
    after(1, hash(conversation.as_str()))
}

/// The name of the conversation of `upstream` that a client calls `name`. Long names are replaced by their
/// hash.
fn conversation_name(upstream: &str, name: &str) -> ConversationId {
    const MOST: usize = 96;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let text: String = upstream.chars().chain(['-']).chain(name.chars()).map(plain).collect();
    let short = if text.len() <= MOST {
        text
    } else {
        format!("{upstream:.16}-{:016x}", hash(name)).chars().map(plain).collect()
    };
    ConversationId::parse(&short).expect("a short name of plain letters with a dash in it")
}

#[cfg(test)]
mod tests;
