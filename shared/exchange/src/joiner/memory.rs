//! What is remembered of agent loops, and by what they are found again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use compact_str::CompactString;

use super::asked::hash;
use super::outputs::OutputContract;
use crate::answer::HandedOverCall;
use model::ids::{ConversationId, RunId, ToolCallId};
use model::limits::{CALLS_AWAITED_MAX, FORK_POINTS_MAX, OFFERED_TOOLS_MAX};
use model::view::{RunView, ToolView};

/// Something by which a loop is found, inside its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoopKey {
    /// It is one.
    Member,
    /// What was said up to and with its last answer.
    Full(u64),
    /// What was said up to its last answer, and was answered.
    Answered(u64),
    /// Its last answer and the turn before.
    Tail(u64),
    /// Its last answer, where nobody else is likely to say the same.
    Said(u64),
    /// The vendor's id of a call whose result it waits for.
    Awaited(u64),
    /// The vendor's id of its last answer.
    Response(u64),
    /// The body of its last request.
    Body(u64),
    /// What its last request said, which failed.
    Failed(u64),
    /// What was said up to and with an earlier answer.
    Passed(u64),
    /// The vendor's id of an earlier answer.
    PassedResponse(u64),
}

/// How a loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopState {
    /// A call is on its way.
    Asking,
    /// Its caller carries out calls, since then.
    Waiting(u64),
    /// The last answer asked for nothing.
    Done,
    /// The last call failed.
    Failed,
    /// The results did not come in time.
    GivenUp,
}

/// A call whose result is waited for.
#[derive(Debug, Clone)]
pub(super) struct AwaitedCall {
    pub(super) call: HandedOverCall,
    /// Since when, in milliseconds since 1970.
    pub(super) since: u64,
}

/// The point after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopHead {
    /// What was said up to here.
    pub(super) full: u64,
    /// The same without the answer.
    pub(super) asked: u64,
    /// How many turns that was.
    pub(super) turns: usize,
    pub(super) tail: u64,
    pub(super) said: Option<u64>,
    pub(super) response: Option<u64>,
}

/// A point that the loop went past.
#[derive(Debug, Clone)]
pub(super) struct LoopPoint {
    pub(super) head: LoopHead,
    pub(super) run: RunId,
}

/// The request that is being answered, or was last.
#[derive(Debug, Clone, Default)]
pub(super) struct LatestRequest {
    /// What was said before the answer.
    pub(super) before: u64,
    /// All that it said.
    pub(super) whole: u64,
    pub(super) turns: usize,
    pub(super) last: u64,
    pub(super) body: Option<u64>,
    pub(super) ids: u64,
    /// How its loop can end.
    pub(super) outputs: OutputContract,
    /// The turns that were told with it.
    pub(super) told: Vec<u64>,
}

/// One agent loop.
#[derive(Debug)]
pub(super) struct AgentLoop {
    pub(super) scope: u64,
    pub(super) conversation: ConversationId,
    /// The session that it names, hashed.
    pub(super) session: Option<u64>,
    /// What the ids of its messages begin with.
    pub(super) name: CompactString,
    pub(super) messages: u64,
    pub(super) run: RunId,
    pub(super) is_open: bool,
    /// It was found in its conversation, and no call has joined it yet: its run may be somebody else's.
    pub(super) is_recalled: bool,
    pub(super) state: LoopState,
    /// The number of its last call.
    pub(super) call: u64,
    pub(super) attempt: u32,
    pub(super) head: Option<LoopHead>,
    pub(super) ask: LatestRequest,
    pub(super) awaited: Vec<AwaitedCall>,
    /// Its last answer may have been its end, though it calls a tool.
    pub(super) may_be_over: bool,
    /// Tools whose calls were followed by their results, and these by another answer: what they give back is awaited.
    pub(super) executed: BTreeSet<CompactString>,
    /// Ids of calls of the run.
    pub(super) used: BTreeSet<ToolCallId>,
    /// The system prompt; nothing for a loop that was recalled, whose prompt was told before.
    pub(super) system: Option<u64>,
    pub(super) tools: u64,
    pub(super) model: Option<CompactString>,
    pub(super) touched: u64,
    pub(super) points: VecDeque<LoopPoint>,
    /// By what it is found now.
    marks: Vec<LoopKey>,
}

impl AgentLoop {
    /// These `tools` are executed by the caller.
    pub(super) fn note_executed<'a>(&mut self, tools: impl Iterator<Item = &'a CompactString>) {
        let room = OFFERED_TOOLS_MAX.saturating_sub(self.executed.len());
        let new: Vec<_> = tools.filter(|tool| !self.executed.contains(*tool)).take(room).cloned().collect();
        self.executed.extend(new);
    }

    /// A loop that has not called yet.
    pub(super) fn new(scope: u64, conversation: ConversationId, name: &str) -> Self {
        Self {
            scope,
            conversation,
            session: None,
            name: CompactString::new(name),
            messages: 0,
            run: RunId::new(name),
            is_open: false,
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

    /// A loop of which only its run is left, with the calls that have no results.
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
            state: LoopState::GivenUp,
            system: None,
            awaited: awaited.take(CALLS_AWAITED_MAX).collect(),
            used: run.tools.keys().cloned().collect(),
            ..Self::new(scope, conversation.clone(), &format!("{id}-again"))
        }
    }

    /// The point at which it stands is one that it goes past.
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

    fn wanted(&self) -> Vec<LoopKey> {
        let mut marks = vec![LoopKey::Member];
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

/// All loops that are remembered.
#[derive(Debug, Default)]
pub(super) struct LoopMemory {
    loops: BTreeMap<u64, AgentLoop>,
    found_by: BTreeMap<(u64, LoopKey), Vec<u64>>,
    /// By when they were last heard of.
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

    /// Adds a loop.
    pub(super) fn add(&mut self, new: AgentLoop) -> u64 {
        self.next = self.next.saturating_add(1);
        self.by_age.insert((new.touched, self.next));
        self.loops.insert(self.next, new);
        self.next
    }

    /// Changes a loop at `at`, and by what it is found.
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

    /// Forgets a loop.
    pub(super) fn remove(&mut self, id: u64) -> Option<AgentLoop> {
        let mut gone = self.loops.remove(&id)?;
        self.by_age.remove(&(gone.touched, id));
        for mark in std::mem::take(&mut gone.marks) {
            self.unmark(gone.scope, mark, id);
        }
        Some(gone)
    }

    fn unmark(&mut self, scope: u64, mark: LoopKey, id: u64) {
        if let Some(found) = self.found_by.get_mut(&(scope, mark)) {
            found.retain(|other| *other != id);
            if found.is_empty() {
                self.found_by.remove(&(scope, mark));
            }
        }
    }

    /// The loops that `mark` finds.
    pub(super) fn find(&self, scope: u64, mark: LoopKey) -> impl Iterator<Item = (u64, &AgentLoop)> {
        let ids = self.found_by.get(&(scope, mark)).map(Vec::as_slice).unwrap_or_default();
        ids.iter().filter_map(|id| self.loops.get(id).map(|known| (*id, known)))
    }

    /// All remembered loops with their numbers, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &AgentLoop)> {
        self.loops.iter().map(|(id, known)| (*id, known))
    }

    /// The loop that has been silent longest among those that no call is on its way of, and when it was heard of.
    pub(super) fn oldest(&self) -> Option<(u64, u64)> {
        let at_rest = |id: &u64| self.loops.get(id).is_some_and(|known| known.state != LoopState::Asking);
        self.by_age.iter().find(|(_, id)| at_rest(id)).copied()
    }
}
