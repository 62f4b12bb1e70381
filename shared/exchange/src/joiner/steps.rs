//! The steps of a placement: it opens a loop, continues one, repeats a request, or branches off.
//!
//! ```text
//! find ─▶ Nothing ─▶ open     a new loop, in a new conversation or in the one that the caller named
//!      ─▶ Fork    ─▶ branch   a new loop that says where it branched off
//!      ─▶ Join    ─▶ join     results, news of the user; perhaps the end of one run and the start of the next
//!      ─▶ Retry   ─▶ again    the calls that were awaited are interrupted, the attempt is counted
//!                      └──▶ placement: the loop is asking now, and an AnswerReader waits for the answer
//! ```
//!
//! Each step changes the memory and returns the events that the request adds; it does no I/O.

use std::collections::BTreeSet;
use std::ops::Range;

use super::asked::{RequestDigest, piece};
use super::memory::{AgentLoop, LoopKey, LoopMemory, LoopPoint, LoopState, LoopTitle};
use super::retold::{appended, is_new_task, is_observation};
use super::tell::{self, RequestRecorder};
use super::title::{asks_for_title, title};
use super::{CallContext, ForkPoint, Placement, PlacementReason, conversation_name, named_conversation};
use crate::answer::{AnswerContext, AnswerReader, CallTicket};
use crate::request::{MessagePiece, ModelRequest, RequestRole};
use crate::turns::{ComparedTurn, TurnSide};
use dialects::Decoded;
use model::event::RunStatus;
use model::ids::{ConversationId, RunId};

/// A call that is being placed, with all that is needed to place it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacementStep<'a> {
    /// What is known of the call besides its body: the upstream, the time, the name for what it opens.
    pub(super) call: &'a CallContext<'a>,
    /// The body, as it was read.
    pub(super) request: &'a ModelRequest,
    /// The turns of the request and their hashes.
    pub(super) asked: &'a RequestDigest,
    /// The hash of the conversation if the call names one, else of the upstream and the caller. Only loops of
    /// the same scope are considered.
    pub(super) scope: u64,
    /// The number of the call, which its answer brings back.
    pub(super) number: u64,
}

/// Where the words with which the user begins a run stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunBeginning {
    /// Before the start of the run.
    Before,
    /// Inside of it, after its start. Another run of the conversation goes on, in which they would stand if they named
    /// none that is there.
    Inside,
}

/// What a [`Placement`] has besides its loop.
struct PlacementFields {
    /// Why it is placed there.
    why: PlacementReason,
    /// Whether the conversation is new to this memory.
    is_new: bool,
    /// Where the conversation branched off, if it did.
    fork_of: Option<ForkPoint>,
    /// The events that the request adds.
    events: Decoded,
    /// The range of `events` that are only history: the conversation may have them from elsewhere.
    history: Range<usize>,
    /// The run that ended because this request begins another one.
    ended: Option<RunId>,
}

impl<'a> PlacementStep<'a> {
    /// A recorder for the events of this request.
    fn teller(&self) -> RequestRecorder<'a> {
        RequestRecorder::new(self.request, self.asked)
    }

    /// Opens a new loop, in `conversation` or in a new one. The turns before `from` are known from the loop
    /// that it branches off from.
    pub(super) fn open(
        self,
        memory: &mut LoopMemory,
        conversation: Option<ConversationId>,
        fork_of: Option<ForkPoint>,
        from: usize,
    ) -> Placement {
        let is_named = conversation.is_some();
        let is_new = !is_named || memory.find(self.scope, LoopKey::Member).next().is_none();
        let conversation =
            conversation.unwrap_or_else(|| conversation_name(self.call.upstream, self.call.name));
        // A branch inside the conversation that it branches off from repeats nothing.
        let is_inside = fork_of.as_ref().is_some_and(|fork| fork.conversation == conversation);
        let mut new = AgentLoop::new(self.scope, conversation, self.call.name);
        new.session = self.request.session.as_deref().map(super::hash);
        let is_beside = is_named && memory.find(self.scope, LoopKey::Open).next().is_some();
        let mut teller = self.teller();
        let none = RunId::none();
        if !is_beside {
            teller.system(&mut new, &none);
        }
        let (news, end) = (self.asked.news, self.asked.turns.len());
        if is_new {
            teller.history(&mut new, 0..news, &none);
        }
        let history = 0..if is_named && is_new { teller.out.envelopes.len() } else { 0 };
        let said = if is_inside { from.max(news) } else { news }..end;
        if !is_beside {
            teller.history(&mut new, said.clone(), &none);
        }
        let has_title = is_named
            && memory.find(self.scope, LoopKey::Member).any(|(_, known)| known.title == LoopTitle::Told);
        let title = if has_title { None } else { self.title() };
        // Once the conversation has a title, no loop gives it another one, also when the one that gave it is forgotten.
        if has_title || title.is_some() {
            new.title = LoopTitle::Told;
        }
        teller.start(&mut new, title);
        if is_beside {
            let run = new.run.clone();
            teller.system(&mut new, &run);
            teller.history(&mut new, said, &run);
        }
        if let Some(fork) = &fork_of {
            teller.fork(&new.run, fork);
        }
        if let Some(parent) = self.call.parent {
            teller.parent(&new.run, parent);
        }
        teller.tools(&mut new);
        teller.anomalies(&new.run);
        new.note_executed(self.asked.executed());
        new.ask = self.asked.to_remember(self.request, from);
        let id = memory.add(new);
        let why = if fork_of.is_some() { PlacementReason::Fork } else { PlacementReason::New };
        self.placement(
            memory,
            id,
            PlacementFields { why, is_new, fork_of, events: teller.out, history, ended: None },
        )
    }

    /// Opens a new loop that branches off from the loop `id` at `point`.
    pub(super) fn branch(
        self,
        memory: &mut LoopMemory,
        conversation: Option<ConversationId>,
        (id, point): (u64, &LoopPoint),
        from: usize,
    ) -> Placement {
        let fork_of = memory.get(id).map(|parent| ForkPoint {
            conversation: parent.conversation.clone(),
            run: point.run.clone(),
            messages: u64::try_from(point.head.turns).unwrap_or(u64::MAX),
        });
        self.open(memory, conversation, fork_of, from)
    }

    /// Continues a loop; the turns from `from` on are new.
    pub(super) fn join(
        self,
        memory: &mut LoopMemory,
        id: u64,
        from: usize,
        why: PlacementReason,
    ) -> Placement {
        let beginning = self.beginning(memory, id);
        let gone_on = memory.change(id, self.call.at, |known| {
            let before = known.run.clone();
            let events = self.go_on(known, from, why, beginning);
            (events, (known.run != before).then_some(before))
        });
        let (events, ended) = gone_on.unwrap_or_default();
        self.placement(
            memory,
            id,
            PlacementFields { why, is_new: false, fork_of: None, events, history: 0..0, ended },
        )
    }

    /// Where what begins the next run of the loop `id` stands.
    fn beginning(self, memory: &LoopMemory, id: u64) -> RunBeginning {
        let Some(known) = memory.get(id).filter(|_| named_conversation(self.call, self.request).is_some())
        else {
            return RunBeginning::Before;
        };
        let mut open = memory.find(self.scope, LoopKey::Open);
        let is_beside = open.any(|(other, beside)| other != id && beside.conversation == known.conversation);
        if is_beside { RunBeginning::Inside } else { RunBeginning::Before }
    }

    /// Appends the results and news of the request to a loop, and ends its run if a new one begins.
    fn go_on(
        self,
        known: &mut AgentLoop,
        from: usize,
        why: PlacementReason,
        beginning: RunBeginning,
    ) -> Decoded {
        known.pass();
        known.attempt = 1;
        if known.state != LoopState::Failed {
            known.ask.told.clear();
        }
        let waited = known.awaited.len();
        let awaited: Vec<_> = known.awaited.iter().map(|awaited| awaited.call.name.clone()).collect();
        let mut teller = self.teller();
        let is_failed = why == PlacementReason::ToolFailed;
        let is_retold = is_failed || why == PlacementReason::Retold;
        let ends = known.awaited.iter().any(|awaited| known.ask.outputs.is_named(&awaited.call.name));
        let answer = self.asked.news.saturating_sub(1);
        let appended = is_retold.then(|| appended(known, self.asked, self.request, answer)).flatten();
        let answered = if is_failed {
            teller.failure_in_words(known, self.call.at)
        } else if is_retold {
            teller.results_in_words(known, self.call.at)
        } else {
            teller.results(known, from, self.call.at)
        };
        let mut results = std::mem::take(&mut teller.out);
        teller.system(known, &RunId::none());
        let begins = if is_retold && (answered > 0 || appended.is_some()) {
            self.begins_task(from) || (ends && self.begins_run(known, from, 0))
        } else {
            self.begins_run(known, from, answered)
        };
        if begins {
            teller.out.envelopes.append(&mut results.envelopes);
            if known.is_open {
                let run = known.run.clone();
                teller.appended(known, appended, &run);
            }
            if std::mem::take(&mut known.is_open) {
                let status = if answered == waited { RunStatus::Complete } else { RunStatus::Interrupted };
                tell::end(&known.run, status, &mut teller.out);
            }
            known.run = RunId::new(self.call.name);
            known.used.clear();
            if beginning == RunBeginning::Inside {
                teller.start(known, None);
                let run = known.run.clone();
                teller.news(known, from, &run);
            } else {
                teller.news(known, from, &RunId::none());
                teller.start(known, None);
            }
        } else {
            if answered > 0 {
                known.note_executed(awaited.iter());
            }
            teller.go_on(known);
            teller.out.envelopes.append(&mut results.envelopes);
            let run = known.run.clone();
            teller.appended(known, appended, &run);
            teller.news(known, from, &run);
        }
        teller.tools(known);
        teller.anomalies(&known.run);
        known.note_executed(self.asked.executed());
        known.ask = self.asked.to_remember(self.request, from);
        teller.out
    }

    /// Whether the request begins a new run, because the user has said something. What is in the same message
    /// as results, or brings a file after them, was said by the loop itself.
    fn begins_run(self, known: &AgentLoop, from: usize, answered: usize) -> bool {
        let news = || self.asked.turns.iter().zip(&self.asked.prints).skip(from);
        let mut said =
            news().filter(|(turn, print)| turn.side == TurnSide::User && !known.ask.told.contains(print));
        if answered == 0 {
            return said.any(|(turn, _)| !is_observation(self.request, turn));
        }
        let of_results: BTreeSet<usize> = news()
            .filter(|(turn, _)| turn.side == TurnSide::Results)
            .flat_map(|(turn, _)| turn.pieces.iter().map(|(message, _)| *message))
            .collect();
        said.any(|(turn, _)| {
            let is_apart = turn.pieces.iter().all(|(message, _)| !of_results.contains(message));
            is_apart && !self.has_file(turn)
        })
    }

    /// Whether the client says that there is another task.
    fn begins_task(self, from: usize) -> bool {
        let mut said = self.asked.turns.iter().skip(from).filter(|turn| turn.side == TurnSide::User);
        said.any(|turn| is_new_task(self.request, turn))
    }

    /// Whether a turn brings a file.
    fn has_file(self, turn: &ComparedTurn) -> bool {
        turn.pieces.iter().any(|place| matches!(piece(self.request, *place), Some(MessagePiece::File(_))))
    }

    /// Repeats the last request of a loop. What the loop waited for cannot come any more: these calls are
    /// interrupted.
    pub(super) fn again(self, memory: &mut LoopMemory, id: u64) -> Placement {
        let events = memory.change(id, self.call.at, |known| {
            known.attempt = known.attempt.saturating_add(1);
            if !matches!(known.state, LoopState::Failed | LoopState::Asking) {
                known.pass();
            }
            let mut teller = self.teller();
            teller.go_on(known);
            for awaited in std::mem::take(&mut known.awaited) {
                tell::state(
                    &known.run,
                    awaited.call.tool,
                    model::event::ToolState::Interrupted,
                    &mut teller.out,
                );
            }
            teller.retry(&known.run, known.attempt);
            teller.out
        });
        let events = events.unwrap_or_default();
        self.placement(
            memory,
            id,
            PlacementFields {
                why: PlacementReason::Retry,
                is_new: false,
                fork_of: None,
                events,
                history: 0..0,
                ended: None,
            },
        )
    }

    /// Marks the loop as asking and makes the placement with the reader of the answer.
    fn placement(self, memory: &mut LoopMemory, id: u64, outcome: PlacementFields) -> Placement {
        let PlacementFields { why, is_new, fork_of, events, history, ended } = outcome;
        let (_, words) = self.asked.before_answer();
        let opened = memory.change(id, self.call.at, |known| {
            (known.state, known.call, known.is_recalled) = (LoopState::Asking, self.number, false);
            let opening = AnswerContext {
                api: self.request.api,
                conversation: known.conversation.clone(),
                run: known.run.clone(),
                ticket: CallTicket { agent_loop: id, call: self.number },
                model: self.request.model.clone(),
                name: self.call.name.into(),
                used: known.used.clone(),
                words,
            };
            (known.attempt, opening)
        });
        let (attempt, opening) = opened.expect("the loop was found or added just before");
        let (conversation, run) = (opening.conversation.clone(), opening.run.clone());
        let answer = AnswerReader::new(opening);
        Placement { conversation, run, why, is_new, fork_of, attempt, events, history, ended, answer }
    }

    /// The title of the conversation: the beginning of what the user says now, since what stands before may be
    /// examples of the client; of what the user said first where the request has no word of the user. Nothing for a
    /// request that only asks for a title.
    fn title(self) -> Option<String> {
        let is_said = |turn: &&ComparedTurn| turn.side == TurnSide::User;
        let is_news = |turn: &&ComparedTurn| is_said(turn) && !is_observation(self.request, turn);
        let news = self.asked.turns.get(self.asked.news..).unwrap_or_default();
        let turn = news.iter().find(is_news).or_else(|| self.asked.turns.iter().find(is_said))?;
        let texts = turn.pieces.iter().filter_map(|place| {
            // Instructions stand with the turn, but the user did not say them.
            let by_user = !matches!(self.request.messages.get(place.0)?.role, RequestRole::System);
            match piece(self.request, *place)? {
                MessagePiece::Text(text) if by_user => Some(text.as_str()),
                _ => None,
            }
        });
        let asks_for_title =
            self.request.tools.is_empty() && texts.clone().next().is_some_and(asks_for_title);
        if asks_for_title { None } else { title(texts) }
    }
}
