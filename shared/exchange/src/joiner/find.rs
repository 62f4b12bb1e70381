//! Finds where a request belongs. The rules are in docs/integrations/proxy.md, in the order of this file.
//!
//! 1. the last request again, which failed (`retry`)
//! 2. the answer that the request names: continued, or branched off from if the loop went on since (`named`)
//! 3. a loop that waits for these results, or whose history the request continues (`joined`)
//! 4. a request that is still being answered, sent again according to the client's count (`in_flight`)
//! 5. a loop that failed, by the same evidence as in 3
//! 6. a loop whose last answer is the end of this history (`tail`)
//! 7. a loop whose history this is but for its last answer, which comes back in other words (`retold`)
//! 8. a loop whose last request this is with an error behind it, which names a tool that was called there (`failed_tool`)
//! 9. a point after which a loop went on differently (`fork`)
//!
//! Loops are looked up by hash, so the time does not depend on how many other conversations are known. Rule 7 compares texts, of all loops that
//! were asked the same, up to a bound in bytes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::asked::{RequestDigest, hash};
use super::memory::{AgentLoop, LoopKey, LoopMemory, LoopPoint, LoopPosition, LoopState};
use super::retold::{RetoldText, ToolFailure, last_of_user};
use super::{CallContext, PlacementReason};
use crate::request::{MessagePiece, ModelRequest};
use crate::turns::{TurnSide, after, is_telling};

/// The result of a search: where a request belongs.
#[derive(Debug)]
pub(super) enum LoopMatch {
    /// The request continues the loop `id`; its turns from `from` on are new.
    Join { id: u64, from: usize, why: PlacementReason },
    /// The request is the last one of the loop `id` again.
    Retry { id: u64 },
    /// The request branches off from the loop `id` at a point after which the loop went on differently; its
    /// turns from `from` on are new.
    Fork { id: u64, point: LoopPoint, from: usize },
    /// The request belongs to no loop that is known.
    Nothing,
}

/// The answer that a request names: its loop, and the point after it.
#[derive(Debug)]
pub(super) struct NamedAnswer {
    /// The number of the loop in the memory.
    pub(super) id: u64,
    /// The point after the answer.
    pub(super) point: LoopPoint,
    /// Nothing was said in the loop after the answer.
    is_head: bool,
}

/// A search of the memory for one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopSearch<'a> {
    /// The loops that are known.
    pub(super) memory: &'a LoopMemory,
    /// The scope of the caller; loops of others are not seen.
    pub(super) scope: u64,
    pub(super) call: &'a CallContext<'a>,
    pub(super) request: &'a ModelRequest,
}

/// What indicates that a request belongs to a loop.
#[derive(Debug, Default, Clone, Copy)]
struct LoopEvidence {
    /// The number of results that the loop waits for, with ids that are unique.
    telling: usize,
    /// The number of results that the loop waits for, with ids that other loops may use too.
    plain: usize,
    /// The history of the request begins with all that the loop said up to its last answer: the index of the
    /// first turn after that.
    from: Option<usize>,
}

impl LoopSearch<'_> {
    /// The answer that the request names as the one that it continues.
    pub(super) fn named(self) -> Option<NamedAnswer> {
        let id = hash(self.request.previous.as_deref()?);
        let is_there = |head: Option<u64>| head == Some(id);
        let live = self.memory.find(self.scope, LoopKey::Response(id)).next();
        if let Some((agent_loop, known)) = live {
            let head = known.head.filter(|head| is_there(head.response))?;
            return Some(NamedAnswer {
                id: agent_loop,
                point: LoopPoint { head, run: known.run.clone() },
                is_head: true,
            });
        }
        let (agent_loop, known) = self.memory.find(self.scope, LoopKey::PassedResponse(id)).next()?;
        let point = known.points.iter().rev().find(|point| is_there(point.head.response))?;
        Some(NamedAnswer { id: agent_loop, point: point.clone(), is_head: false })
    }

    /// The loop that the request belongs to, and why.
    pub(super) fn find(self, asked: &RequestDigest, named: Option<NamedAnswer>) -> LoopMatch {
        let again = |id| LoopMatch::Retry { id };
        if let Some(found) = self.retry(asked).map(again) {
            return found;
        }
        if let Some(NamedAnswer { id, point, is_head }) = named {
            return match (is_head, self.in_flight(asked)) {
                (true, _) => LoopMatch::Join { id, from: 0, why: PlacementReason::Previous },
                (false, Some(id)) => again(id),
                (false, None) => LoopMatch::Fork { id, point, from: 0 },
            };
        }
        if self.request.previous.is_some() {
            return LoopMatch::Nothing;
        }
        // Of two loops that said the same until one of them failed, the one that did not fail goes on.
        self.joined(asked, |state| state != LoopState::Failed)
            .or_else(|| self.in_flight(asked).map(again))
            .or_else(|| self.joined(asked, |state| state == LoopState::Failed))
            .or_else(|| self.tail(asked))
            .or_else(|| self.retold(asked))
            .or_else(|| self.failed_tool(asked))
            .or_else(|| self.fork(asked))
            .unwrap_or(LoopMatch::Nothing)
    }

    /// The loop whose request is still being answered, or was, and is sent again according to the client's
    /// own count: the client gave up, and the hub has not noticed yet. Nothing where several loops match,
    /// since they cannot be distinguished.
    fn in_flight(self, asked: &RequestDigest) -> Option<u64> {
        if self.call.attempts_before.unwrap_or_default() == 0 {
            return None;
        }
        let mut same = self.memory.find(self.scope, LoopKey::Body(asked.body?));
        match (same.next(), same.next()) {
            (Some((id, _)), None) => Some(id),
            _ => None,
        }
    }

    /// The loop whose last request was this one and failed.
    fn retry(self, asked: &RequestDigest) -> Option<u64> {
        // A client that counts attempts and says that this is the first makes a new call, unless it is in the session
        // whose call failed: some clients count from 0 each time. In the middle of a conversation, the history says
        // whose call it is.
        let has_answer = asked.has_answer() || self.request.previous.is_some();
        let is_of = |known: &AgentLoop| self.is_session_of(known);
        let is_first = !has_answer && self.call.attempts_before == Some(0);
        let body = asked.body?;
        let mut same = self.memory.find(self.scope, LoopKey::Body(body));
        let is_same = |known: &AgentLoop| known.state == LoopState::Failed && (!is_first || is_of(known));
        if let Some((id, _)) = same.find(|(_, known)| is_same(known)) {
            return Some(id);
        }
        let ids = asked.result_ids(self.request);
        let is_alike = |known: &AgentLoop| known.system == Some(asked.system) && known.tools == asked.tools;
        let mut failed = self.memory.find(self.scope, LoopKey::Failed(asked.whole()));
        failed
            .find(|(_, known)| known.ask.ids == ids && (has_answer || (is_of(known) && is_alike(known))))
            .map(|(id, _)| id)
    }

    /// Whether the request is of the session that a loop is of. Inside of a conversation that the call names itself,
    /// only the session that the body names counts.
    fn is_session_of(self, known: &AgentLoop) -> bool {
        let in_body = || {
            let session = self.request.session.as_deref().map(hash);
            session.is_some() && session == known.session
        };
        let in_header = || self.call.session.is_some_and(is_telling) && self.call.conversation.is_none();
        in_header() || in_body()
    }

    /// The loop that waits for these results, or whose history this request continues. Only loops in a state
    /// that `fits` are considered.
    fn joined(self, asked: &RequestDigest, fits: impl Fn(LoopState) -> bool) -> Option<LoopMatch> {
        let mut found: BTreeMap<u64, LoopEvidence> = BTreeMap::new();
        let from = if self.request.continues { 0 } else { asked.news };
        for piece in asked.results(self.request, from) {
            let (MessagePiece::Result { id, .. } | MessagePiece::Consent { id, .. }) = piece else {
                continue;
            };
            if id.is_empty() {
                continue;
            }
            for (agent_loop, _) in self.memory.find(self.scope, LoopKey::Awaited(hash(id))) {
                let evidence = found.entry(agent_loop).or_default();
                let counted = if is_telling(id) { &mut evidence.telling } else { &mut evidence.plain };
                *counted = counted.saturating_add(1);
            }
        }
        if self.request.continues {
            let session = self.request.session.as_deref().map(hash);
            self.memory
                .find(self.scope, LoopKey::Member)
                .filter(|(_, known)| known.state != LoopState::Asking && known.session == session)
                .for_each(|(id, _)| found.entry(id).or_default().from = Some(0));
        } else {
            self.add_history(asked, &mut found);
        }
        found.retain(|id, _| self.memory.get(*id).is_some_and(|known| fits(known.state)));
        let (id, evidence) = self.best(asked, found)?;
        let why = if evidence.telling.saturating_add(evidence.plain) > 0 {
            PlacementReason::Awaited
        } else {
            PlacementReason::History
        };
        Some(LoopMatch::Join { id, from: evidence.from.unwrap_or(asked.news), why })
    }

    /// Adds to `found` the loops whose history the request continues, and sets where it goes on.
    fn add_history(self, asked: &RequestDigest, found: &mut BTreeMap<u64, LoopEvidence>) {
        for (id, evidence) in found.iter_mut() {
            let head = self.memory.get(*id).and_then(|known| known.head);
            let is_there =
                |head: &LoopPosition| head.turns >= asked.news && asked.prefix(head.turns) == Some(head.full);
            evidence.from = head.filter(is_there).map(|head| head.turns);
        }
        // A loop that has not received all that the model said is another one, which only began alike.
        for at in (asked.news.max(1)..=asked.turns.len()).rev() {
            let Some(prefix) = asked.prefix(at) else { continue };
            let mut any = false;
            for (id, known) in self.memory.find(self.scope, LoopKey::Full(prefix)) {
                if !contradicts(known, asked, at) {
                    found.entry(id).or_default().from = Some(at);
                    any = true;
                }
            }
            if any {
                return;
            }
        }
    }

    /// The loop with the strongest evidence; nothing if no evidence is unique.
    fn best(self, asked: &RequestDigest, found: BTreeMap<u64, LoopEvidence>) -> Option<(u64, LoopEvidence)> {
        // An id that others may use too indicates nothing by itself.
        let counts = |evidence: &LoopEvidence| evidence.telling > 0 || evidence.from.is_some();
        let known = found.into_iter().filter(|(_, evidence)| counts(evidence));
        let known = known.filter_map(|(id, evidence)| Some((id, evidence, self.memory.get(id)?)));
        known
            .max_by_key(|(id, evidence, known)| {
                let is_alike = (known.system == Some(asked.system), known.tools == asked.tools);
                // The older loop is taken first, so that two loops that cannot be distinguished each keep a
                // run.
                let age = if self.request.continues {
                    (0, known.touched)
                } else {
                    (u64::MAX.saturating_sub(known.touched), 0)
                };
                (evidence.telling, evidence.from, evidence.plain, is_alike, age, Reverse(*id))
            })
            .map(|(id, evidence, _)| (id, evidence))
    }

    /// The loop whose last answer is the end of this history, although the beginning of the history was
    /// changed or the answer comes back in other words.
    fn tail(self, asked: &RequestDigest) -> Option<LoopMatch> {
        let answer = asked.news.checked_sub(1)?;
        let print = *asked.prints.get(answer)?;
        let before = answer.checked_sub(1).and_then(|at| asked.prints.get(at));
        let tail =
            before.and_then(|before| self.alone(asked, LoopKey::Tail(after(*before, print)), |_| true));
        let said = || self.alone(asked, LoopKey::Said(print), |_| true);
        let turn = asked.turns.get(answer)?;
        let names = || turn.words.calls.iter().map(|call| &call.name);
        let answered = || {
            let prefix = asked.prefix(answer)?;
            let calls_the_same = |known: &AgentLoop| {
                !known.awaited.is_empty()
                    && known.awaited.iter().map(|awaited| &awaited.call.name).eq(names())
            };
            self.alone(asked, LoopKey::Answered(prefix), calls_the_same)
        };
        // The caller kept the part that it received of an answer that broke off.
        let broken = || self.alone(asked, LoopKey::Failed(asked.prefix(answer)?), |_| true);
        let id = tail.or_else(said).or_else(answered).or_else(broken)?;
        Some(LoopMatch::Join { id, from: asked.news, why: PlacementReason::Tail })
    }

    /// The loop that said all of this history but for its last answer, which the client wrote anew. Nothing where
    /// several loops fit: of two that said the same, none can be told from the other. Instructions and tools must be
    /// the same too, since nothing else says that it is not another agent that was asked the same.
    fn retold(self, asked: &RequestDigest) -> Option<LoopMatch> {
        let answer = asked.news.checked_sub(1)?;
        let key = LoopKey::Answered(asked.prefix(answer)?);
        self.memory.find(self.scope, key).next()?;
        let text = RetoldText::of(asked, self.request, answer)?;
        let is_ours = |known: &AgentLoop| {
            known.system == Some(asked.system) && known.tools == asked.tools && text.is_answer_of(known)
        };
        let id = self.alone(asked, key, is_ours).filter(|_| text.is_compared())?;
        Some(LoopMatch::Join { id, from: asked.news, why: PlacementReason::Retold })
    }

    /// The loop whose last request this is, but for what a framework put behind its last words: that a tool failed which the loop's last answer
    /// called. The same must hold as for an answer in other words.
    fn failed_tool(self, asked: &RequestDigest) -> Option<LoopMatch> {
        let text = last_of_user(asked, self.request)?;
        let failure = ToolFailure::of(&text)?;
        let turn = asked.turns.last()?;
        let before = asked.prefix(asked.turns.len().saturating_sub(1))?;
        let print = turn.words.with_text(failure.before).print(TurnSide::User);
        let is_ours = |known: &AgentLoop| {
            known.system == Some(asked.system)
                && known.tools == asked.tools
                && known.awaited.iter().any(|awaited| awaited.call.name == failure.tool)
        };
        let id = self.alone(asked, LoopKey::Answered(after(before, print)), is_ours)?;
        Some(LoopMatch::Join { id, from: asked.turns.len(), why: PlacementReason::ToolFailed })
    }

    /// The only loop that `mark` finds, or the only one of several that has the same instructions.
    fn alone(self, asked: &RequestDigest, mark: LoopKey, fits: impl Fn(&AgentLoop) -> bool) -> Option<u64> {
        let is_ours = |known: &AgentLoop| fits(known) && !contradicts(known, asked, asked.news);
        let found = || self.memory.find(self.scope, mark).filter(|(_, known)| is_ours(known));
        let mut all = found();
        match (all.next(), all.next()) {
            (Some((id, _)), None) => Some(id),
            (None, _) => None,
            _ => {
                let mut alike = found().filter(|(_, known)| known.system == Some(asked.system));
                match (alike.next(), alike.next()) {
                    (Some((id, _)), None) => Some(id),
                    _ => None,
                }
            }
        }
    }

    /// The loop that went on differently after a point up to which this request says the same; the latest
    /// such point.
    fn fork(self, asked: &RequestDigest) -> Option<LoopMatch> {
        let first_answer = asked.turns.iter().position(|turn| turn.side == TurnSide::Assistant)?;
        for at in (first_answer.saturating_add(1)..=asked.turns.len()).rev() {
            let Some(prefix) = asked.prefix(at) else { continue };
            let known = self.memory.find(self.scope, LoopKey::Passed(prefix)).last();
            let Some((id, known)) = known else { continue };
            let point = known.points.iter().rev().find(|point| point.head.full == prefix);
            return point.map(|point| LoopMatch::Fork { id, point: point.clone(), from: at });
        }
        None
    }
}

/// Whether the ids of tool calls show that the history is that of another loop, which said the same.
fn contradicts(known: &AgentLoop, asked: &RequestDigest, at: usize) -> bool {
    let Some(answer) = at.checked_sub(1).and_then(|last| asked.turns.get(last)) else { return false };
    let ours = || known.awaited.iter().map(|awaited| &awaited.call.given).filter(|given| is_telling(given));
    let mut theirs = answer.words.calls.iter().filter(|call| is_telling(&call.id)).peekable();
    if theirs.peek().is_none() || ours().next().is_none() {
        return false;
    }
    !theirs.any(|call| ours().any(|given| *given == call.id))
}
