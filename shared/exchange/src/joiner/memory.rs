//! The memory of the joiner: what is known of agent loops, and the keys by which they are found again. All
//! hashes are of what was said, never the text itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use compact_str::CompactString;

use super::asked::hash;
use super::outputs::OutputContract;
use super::retold::AnswerLetters;
use crate::answer::HandedOverCall;
use model::ids::{ConversationId, RunId, ToolCallId};
use model::limits::{CALLS_AWAITED_MAX, FORK_POINTS_MAX, OFFERED_TOOLS_MAX};
use model::view::{RunView, ToolView};

/// A key by which a loop is found inside its scope. Numbers are hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoopKey {
    /// Every loop of the scope has this key.
    Member,
    /// Every loop of the scope whose run is open has this key.
    Open,
    /// What was said, including the last answer of the loop.
    Full(u64),
    /// What was said before the last answer of the loop, if that did not fail.
    Answered(u64),
    /// The last answer of the loop and the turn before it.
    Tail(u64),
    /// The last answer of the loop, if it is so specific that no other loop is likely to say the same.
    Said(u64),
    /// The vendor's id of a tool call whose result the loop waits for.
    Awaited(u64),
    /// The vendor's id of the last answer of the loop.
    Response(u64),
    /// The body of the last request of the loop.
    Body(u64),
    /// What the last request of the loop said, if that failed.
    Failed(u64),
    /// What was said, including an earlier answer of the loop.
    Passed(u64),
    /// The vendor's id of an earlier answer.
    PassedResponse(u64),
}

/// The state of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopState {
    /// A model call is being answered.
    Asking,
    /// The caller carries out tool calls, since this time in milliseconds since 1970.
    Waiting(u64),
    /// The last answer left no tool call to the caller.
    Done,
    /// The last model call failed.
    Failed,
    /// The results did not come in time.
    GivenUp,
}

/// Whether a loop has given its conversation a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopTitle {
    /// The loop has given no title: another loop may.
    Untold,
    /// The loop has given a title, or the conversation had one before the loop was known.
    Told,
}

/// A tool call whose result a loop waits for.
#[derive(Debug, Clone)]
pub(super) struct AwaitedCall {
    pub(super) call: HandedOverCall,
    /// Since when the loop waits, in milliseconds since 1970.
    pub(super) since: u64,
}

/// The point in a loop after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopPosition {
    /// The hash of what was said up to here.
    pub(super) full: u64,
    /// The hash of what was said before the answer.
    pub(super) asked: u64,
    /// The number of turns up to here.
    pub(super) turns: usize,
    /// The hash of the answer and the turn before it.
    pub(super) tail: u64,
    /// The print of the answer, if it is so specific that it identifies the loop.
    pub(super) said: Option<u64>,
    /// The letters of the answer's text, if it has any.
    pub(super) letters: Option<AnswerLetters>,
    /// The hash of the vendor's id of the answer.
    pub(super) response: Option<u64>,
}

/// A point after which the loop went on: another loop may branch off there.
#[derive(Debug, Clone)]
pub(super) struct LoopPoint {
    pub(super) head: LoopPosition,
    pub(super) run: RunId,
}

/// The request that is being answered, or was answered last.
#[derive(Debug, Clone, Default)]
pub(super) struct LatestRequest {
    /// The hash of what was said before the answer.
    pub(super) before: u64,
    /// The hash of all that the request said.
    pub(super) whole: u64,
    pub(super) turns: usize,
    /// The print of the turn that is answered.
    pub(super) last: u64,
    /// The hash of the body; nothing if it could not be read.
    pub(super) body: Option<u64>,
    /// A hash of the ids of the results that the request brings.
    pub(super) ids: u64,
    /// What the request says about the end of its loop.
    pub(super) outputs: OutputContract,
    /// The prints of the turns that were published with the request.
    pub(super) told: Vec<u64>,
}

/// An agent loop: the model calls that one task of an agent needs, and the run that they belong to now.
#[derive(Debug)]
pub(super) struct AgentLoop {
    pub(super) scope: u64,
    pub(super) conversation: ConversationId,
    /// The hash of the session that its requests name.
    pub(super) session: Option<u64>,
    /// The beginning of the ids of its messages.
    pub(super) name: CompactString,
    pub(super) messages: u64,
    pub(super) run: RunId,
    pub(super) is_open: bool,
    /// Whether the conversation has its title from this loop.
    pub(super) title: LoopTitle,
    /// The loop was read back from its conversation, and no call has joined it yet: its run may belong to
    /// another publisher.
    pub(super) is_recalled: bool,
    pub(super) state: LoopState,
    /// The number of the last model call.
    pub(super) call: u64,
    pub(super) attempt: u32,
    pub(super) head: Option<LoopPosition>,
    pub(super) ask: LatestRequest,
    pub(super) awaited: Vec<AwaitedCall>,
    /// The last answer may have been the end, although it calls a tool.
    pub(super) may_be_over: bool,
    /// Tools whose calls were followed by results and another answer: their results are awaited.
    pub(super) executed: BTreeSet<CompactString>,
    /// The ids of the tool calls of the run.
    pub(super) used: BTreeSet<ToolCallId>,
    /// The hash of the system prompt; nothing for a loop that was recalled, whose prompt was published
    /// before.
    pub(super) system: Option<u64>,
    pub(super) tools: u64,
    pub(super) model: Option<CompactString>,
    pub(super) touched: u64,
    pub(super) points: VecDeque<LoopPoint>,
    /// The keys by which the loop is found now.
    marks: Vec<LoopKey>,
}

impl AgentLoop {
    /// Notes that the caller executes these `tools`.
    pub(super) fn note_executed<'a>(&mut self, tools: impl Iterator<Item = &'a CompactString>) {
        let room = OFFERED_TOOLS_MAX.saturating_sub(self.executed.len());
        let new: Vec<_> = tools.filter(|tool| !self.executed.contains(*tool)).take(room).cloned().collect();
        self.executed.extend(new);
    }

    /// A loop without any call.
    pub(super) fn new(scope: u64, conversation: ConversationId, name: &str) -> Self {
        Self {
            scope,
            conversation,
            session: None,
            name: CompactString::new(name),
            messages: 0,
            run: RunId::new(name),
            is_open: false,
            title: LoopTitle::Untold,
            is_recalled: false,
            state: LoopState::Asking,
            call: 0,
            attempt: 1,
            head: None,
            ask: LatestRequest::default(),
            awaited: Vec::new(),
            may_be_over: false,
            executed: BTreeSet::new(),
            used: BTreeSet::new(),
            system: Some(0),
            tools: 0,
            model: None,
            touched: 0,
            points: VecDeque::new(),
            marks: Vec::new(),
        }
    }

    /// A loop of which only the run is known, with the tool calls that have no results.
    pub(super) fn recalled(scope: u64, conversation: &ConversationId, (id, run): (&RunId, &RunView)) -> Self {
        let is_open = |tool: &ToolView| !tool.server && tool.result.is_none() && tool.pending_at.is_some();
        let open = run.tools.iter().filter(|(_, tool)| is_open(tool));
        let awaited = open.map(|(tool, view)| AwaitedCall {
            call: HandedOverCall {
                tool: tool.clone(),
                given: view.given_id.clone().unwrap_or_else(|| CompactString::new(tool.as_str())),
                name: view.name.clone(),
                asks: view.question.is_some(),
            },
            since: view.executing_at.or(view.pending_at).unwrap_or_default(),
        });
        Self {
            run: id.clone(),
            is_open: run.is_running(),
            is_recalled: true,
            title: LoopTitle::Told,
            state: LoopState::GivenUp,
            system: None,
            awaited: awaited.take(CALLS_AWAITED_MAX).collect(),
            used: run.tools.keys().cloned().collect(),
            ..Self::new(scope, conversation.clone(), &format!("{id}-again"))
        }
    }

    /// Remembers the present point as one after which the loop goes on. The oldest points are forgotten.
    pub(super) fn pass(&mut self) {
        let Some(head) = self.head else { return };
        if self.points.back().is_some_and(|last| last.head == head) {
            return;
        }
        if self.points.len() >= FORK_POINTS_MAX {
            self.points.pop_front();
        }
        self.points.push_back(LoopPoint { head, run: self.run.clone() });
    }

    /// The keys by which the loop is to be found in its present state.
    fn wanted(&self) -> Vec<LoopKey> {
        let mut marks = vec![LoopKey::Member];
        marks.extend(self.is_open.then_some(LoopKey::Open));
        marks.extend(self.ask.body.map(LoopKey::Body));
        for point in &self.points {
            marks.push(LoopKey::Passed(point.head.full));
            marks.extend(point.head.response.map(LoopKey::PassedResponse));
        }
        if self.state == LoopState::Asking {
            return marks;
        }
        if let Some(head) = self.head {
            marks.extend([LoopKey::Full(head.full), LoopKey::Tail(head.tail)]);
            marks.extend(head.said.map(LoopKey::Said));
            marks.extend(head.response.map(LoopKey::Response));
            if self.state != LoopState::Failed {
                marks.push(LoopKey::Answered(head.asked));
            }
        }
        if self.state == LoopState::Failed {
            marks.push(LoopKey::Failed(self.ask.whole));
        }
        let given = self.awaited.iter().map(|awaited| &awaited.call.given).filter(|given| !given.is_empty());
        marks.extend(given.map(|given| LoopKey::Awaited(hash(given))));
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

/// All loops that are remembered, and what finds them.
#[derive(Debug, Default)]
pub(super) struct LoopMemory {
    loops: BTreeMap<u64, AgentLoop>,
    found_by: BTreeMap<(u64, LoopKey), Vec<u64>>,
    /// The loops by the time of their last change, in milliseconds since 1970.
    by_age: BTreeSet<(u64, u64)>,
    next: u64,
}

impl LoopMemory {
    pub(super) fn len(&self) -> usize {
        self.loops.len()
    }

    pub(super) fn get(&self, id: u64) -> Option<&AgentLoop> {
        self.loops.get(&id)
    }

    /// Adds a loop and returns its number. It is found by no key before [`LoopMemory::change`].
    pub(super) fn add(&mut self, new: AgentLoop) -> u64 {
        self.next = self.next.saturating_add(1);
        self.by_age.insert((new.touched, self.next));
        self.loops.insert(self.next, new);
        self.next
    }

    /// Changes a loop at the time `at`, and updates its keys. Nothing if the loop is unknown.
    pub(super) fn change<T>(
        &mut self,
        id: u64,
        at: u64,
        change: impl FnOnce(&mut AgentLoop) -> T,
    ) -> Option<T> {
        let known = self.loops.get_mut(&id)?;
        self.by_age.remove(&(known.touched, id));
        known.touched = known.touched.max(at);
        self.by_age.insert((known.touched, id));
        let back = change(known);
        let (scope, wanted) = (known.scope, known.wanted());
        let old = std::mem::replace(&mut known.marks, wanted.clone());
        for mark in old {
            self.unmark(scope, mark, id);
        }
        for mark in wanted {
            self.found_by.entry((scope, mark)).or_default().push(id);
        }
        Some(back)
    }

    /// Forgets a loop and returns it.
    pub(super) fn remove(&mut self, id: u64) -> Option<AgentLoop> {
        let mut gone = self.loops.remove(&id)?;
        self.by_age.remove(&(gone.touched, id));
        for mark in std::mem::take(&mut gone.marks) {
            self.unmark(gone.scope, mark, id);
        }
        Some(gone)
    }

    /// Removes a key of the loop `id`.
    fn unmark(&mut self, scope: u64, mark: LoopKey, id: u64) {
        if let Some(found) = self.found_by.get_mut(&(scope, mark)) {
            found.retain(|other| *other != id);
            if found.is_empty() {
                self.found_by.remove(&(scope, mark));
            }
        }
    }

    /// The loops of `scope` with the key `mark`, with their numbers.
    pub(super) fn find(&self, scope: u64, mark: LoopKey) -> impl Iterator<Item = (u64, &AgentLoop)> {
        let ids = self.found_by.get(&(scope, mark)).map(Vec::as_slice).unwrap_or_default();
        ids.iter().filter_map(|id| self.loops.get(id).map(|known| (*id, known)))
    }

    /// All remembered loops with their numbers, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &AgentLoop)> {
        self.loops.iter().map(|(id, known)| (*id, known))
    }

    /// The loop whose last change is longest ago, among those without a call that is being answered: the time
    /// of the change, and the number of the loop.
    pub(super) fn oldest(&self) -> Option<(u64, u64)> {
        let at_rest = |id: &u64| self.loops.get(id).is_some_and(|known| known.state != LoopState::Asking);
        self.by_age.iter().find(|(_, id)| at_rest(id)).copied()
    }
}
