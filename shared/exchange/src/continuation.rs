//! Finds the conversation that a caller continues who names none: one in which this caller received the answer that its
//! history contains. The same words from another caller belong to another conversation. Where several conversations begin
//! alike, a history continues one that ends where the history ends, and each of them is continued once. Only where there
//! is none, the history was changed by the caller, and forks a conversation that has gone on.
//!
//! A run records what is remembered of the caller that began it ([`Trace`]), so that a restarted hub recognizes its
//! callers.
//!
//! ```text
//! history ── clues ──▶ Continuations::open, ::changed ──▶ candidates, in order
//!                              candidate + its view ── check ──▶ Check ──▶ Continuations::go_on: this one, or the next
//! ```
//!
//! The module does not read conversations: its caller reads them and passes their views to [`check`]. Between two steps no
//! lock is held.

use std::collections::{HashMap, VecDeque};

use indexmap::IndexMap;
use model::event::RunStatus;
use model::limits::{ALIKE_AT_ONCE_MS, THREADS_ALIKE_MAX, THREADS_REMEMBERED_MAX};
use model::{ConversationId, RunId, View};

mod answers;
mod caller;
mod placing;
mod sides;
mod trace;

pub use answers::{Breaks, ReceivedAnswer, Telling};
use answers::{is_answer, is_partial};
pub use caller::Caller;
pub use placing::{Extent, Placing, place};
pub use sides::{Clue, clues};
pub use trace::{Found, Trace, begun};
use trace::{History, Meant, hex, of_hex};

/// The most forks of one thread that are remembered; the oldest are forgotten.
const BRANCHES_MAX: usize = 64;

/// Remembers what callers asked, and in which conversation. It holds at most [`THREADS_REMEMBERED_MAX`]
/// questions, as many forks and as many threads with forks, and forgets the oldest.
#[derive(Debug, Default)]
pub struct Continuations {
    /// The questions by the hash of what was asked; of equal ones the oldest first.
    asked: HashMap<u64, VecDeque<AskedQuestion>>,
    /// The hashes of what was asked, in the order in which they were remembered.
    order: VecDeque<u64>,
    /// The conversation in which a named one goes on since its caller changed the history, and since when, in milliseconds since 1970.
    forks: IndexMap<ConversationId, (ConversationId, u64)>,
    /// All forks in which a named conversation went on, the newest last.
    branches: IndexMap<ConversationId, Vec<ConversationId>>,
}

/// A question that a caller asked: a candidate for what a caller continues.
#[derive(Debug, Clone)]
pub struct AskedQuestion {
    conversation: ConversationId,
    run: RunId,
    history: History,
    /// When it was asked, in milliseconds since 1970.
    at: u64,
    heard: ReceivedAnswer,
    /// A later request of its caller has continued it.
    has_gone_on: bool,
    /// The hash of the words of the answer, once the answer is complete.
    answer: Option<u64>,
}

impl AskedQuestion {
    /// The conversation in which it was asked.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }
}

/// What the view of a candidate's conversation says about the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Check {
    /// Whether the history of the caller has the answer that the candidate's run gave.
    pub is_it: bool,
    /// The hash of the words of the answer, once the answer is complete.
    answer: Option<u64>,
}

/// Whether `caller` may be the one that asked the candidate's question, as far as that is known without
/// reading its conversation.
pub fn may_be(known: &AskedQuestion, clue: &Clue, caller: &Caller) -> bool {
    rest(known, clue).is_some() && hex(caller.sealed(of_hex(&known.history.salt))) == known.history.caller
}

/// Whether the run of a candidate, whose conversation is `view`, was answered as the history says. `telling`
/// says how the caller's door reports failures; `fits` says whether what the caller sends continues the
/// conversation as it is now.
pub fn check(
    known: &AskedQuestion,
    clue: &Clue,
    telling: &Telling<'_>,
    view: &View,
    fits: impl Fn(&View) -> bool,
) -> Check {
    let (Some(rest), Some(run)) = (rest(known, clue), view.runs.get(&known.run)) else {
        return Check::default();
    };
    let is_complete = run.status == RunStatus::Complete;
    let answer = is_complete.then(|| sides::hash(&sides::plain(&run.answer())));
    let was_told = match rest {
        Some(rest) => is_answer(run, rest, known.heard, telling),
        None => is_partial(run, known.heard),
    };
    Check { is_it: was_told && fits(view), answer }
}

/// Whether the run of a candidate has ended, as far as `view` shows its conversation.
pub fn has_ended(known: &AskedQuestion, view: &View) -> bool {
    view.runs.get(&known.run).is_some_and(|run| !run.is_running())
}

impl Continuations {
    /// The conversation in which `named` goes on: itself, or the newest fork.
    pub fn current(&self, named: &ConversationId) -> ConversationId {
        self.forks.get(named).map_or(named, |(fork, _)| fork).clone()
    }

    /// All conversations of the thread `named`: first the one in which it goes on, then the others, the
    /// newest first.
    pub fn family(&self, named: &ConversationId) -> Vec<ConversationId> {
        let current = self.forks.get(named).map_or(named, |(fork, _)| fork);
        let branches = self.branches.get(named).into_iter().flatten().rev();
        let others = branches.chain([named]).filter(|other| *other != current);
        std::iter::once(current).chain(others).cloned().collect()
    }

    /// Whether a conversation is a fork in which a thread with another name went on.
    pub fn is_fork(&self, id: &ConversationId) -> bool {
        self.branches.values().any(|branches| branches.contains(id))
    }

    /// The candidates that asked this and that no later request has continued, in the order in which they are
    /// to be tried. Where several fit, they cannot be told apart; the one that was answered first most likely
    /// goes on first. A question that nobody continued within `ALIKE_AT_ONCE_MS` was probably abandoned;
    /// such candidates come last, the newest of them first.
    pub fn open(&self, clue: &Clue, now: u64) -> Vec<AskedQuestion> {
        let is_new = |known: &AskedQuestion| now.saturating_sub(known.at) <= ALIKE_AT_ONCE_MS;
        let mut alike = self.alike(clue, |known| !known.has_gone_on);
        let old = alike.iter().take_while(|known| !is_new(known)).count();
        alike.rotate_left(old);
        let is_left = alike.len().saturating_sub(old);
        alike.get_mut(is_left..).unwrap_or_default().reverse();
        alike
    }

    /// All candidates that asked this, continued or not, the newest first.
    pub fn changed(&self, clue: &Clue) -> Vec<AskedQuestion> {
        let mut alike = self.alike(clue, |_known| true);
        alike.reverse();
        alike
    }

    /// The candidates that asked this and that `wanted` accepts, the oldest first, as copies.
    fn alike(&self, clue: &Clue, wanted: impl Fn(&AskedQuestion) -> bool) -> Vec<AskedQuestion> {
        let alike = self.asked.get(&clue.asked).into_iter().flatten();
        alike.filter(|known| wanted(known) && rest(known, clue).is_some()).cloned().collect()
    }

    /// Remembers what the view of a candidate's conversation said about it.
    pub fn checked(&mut self, known: &AskedQuestion, clue: &Clue, check: Check) {
        if check.answer != known.answer
            && let Some(same) = self.same(known, clue)
        {
            same.answer = check.answer;
        }
    }

    /// Marks `known` as continued. False if another request has continued it in the meantime.
    pub fn go_on(&mut self, known: &AskedQuestion, clue: &Clue) -> bool {
        self.same(known, clue).is_none_or(|same| !std::mem::replace(&mut same.has_gone_on, true))
    }

    /// Remembers that a caller has begun `run`, at the time `at` in milliseconds since 1970.
    pub fn remember(&mut self, trace: Trace, run: &RunId, at: u64) {
        let Trace { conversation, meant } = trace;
        match meant {
            Meant::Thread(named) => {
                self.forks.shift_remove(&named);
                if self.forks.len() >= THREADS_REMEMBERED_MAX {
                    self.forks.shift_remove_index(0);
                }
                if named != conversation {
                    let is_full = self.branches.len() >= THREADS_REMEMBERED_MAX;
                    if is_full && !self.branches.contains_key(&named) {
                        self.branches.shift_remove_index(0);
                    }
                    let branches = self.branches.entry(named.clone()).or_default();
                    branches.retain(|branch| *branch != conversation);
                    if branches.len() >= BRANCHES_MAX {
                        branches.remove(0);
                    }
                    branches.push(conversation.clone());
                }
                self.forks.insert(named, (conversation, at));
            }
            Meant::History(history) => self.take(AskedQuestion {
                conversation,
                run: run.clone(),
                history,
                at,
                heard: ReceivedAnswer::All,
                has_gone_on: false,
                answer: None,
            }),
        }
    }

    /// Notes that the caller of `run`, remembered with `trace`, has hung up before the end of the answer.
    pub fn left(&mut self, trace: &Trace, run: &RunId) {
        let Meant::History(history) = &trace.meant else { return };
        let known = self.asked.get_mut(&of_hex(&history.asked)).into_iter().flatten();
        let mut known = known.filter(|it| it.run == *run && it.conversation == trace.conversation);
        if let Some(known) = known.next() {
            known.heard = ReceivedAnswer::Part;
        }
    }

    /// Takes what was read back from the runs of conversations, the oldest first. A question that another one
    /// of the same conversation follows counts as continued. It may be read back again, with what has come since:
    /// questions that are known stay as they are.
    pub fn read_back(&mut self, found: Vec<Found>) {
        let mut known: HashMap<ConversationId, u64> = HashMap::new();
        for Found { trace, run, at, heard, is_running } in found {
            if let Meant::History(history) = &trace.meant
                && let Some(before) = known.insert(trace.conversation.clone(), of_hex(&history.asked))
            {
                self.went_on(before, &trace.conversation);
            }
            let is_known = self.knows(&trace, &run, at);
            if !is_known {
                self.remember(trace.clone(), &run, at);
            }
            // What the caller of a run that goes on has heard, this hub knows itself if it serves it.
            if heard == ReceivedAnswer::Part && !(is_known && is_running) {
                self.left(&trace, &run);
            }
        }
    }

    /// Whether the question with which a caller began `run` is remembered, or where a thread goes on as of `at` or later.
    fn knows(&self, trace: &Trace, run: &RunId, at: u64) -> bool {
        let history = match &trace.meant {
            Meant::History(history) => history,
            Meant::Thread(named) => return self.forks.get(named).is_some_and(|(_, known)| *known >= at),
        };
        let mut alike = self.asked.get(&of_hex(&history.asked)).into_iter().flatten();
        alike.any(|known| known.run == *run && known.conversation == trace.conversation)
    }

    /// Marks the question with the hash `before` as continued in `conversation`.
    fn went_on(&mut self, before: u64, conversation: &ConversationId) {
        let mut known = self.asked.get_mut(&before).into_iter().flatten();
        if let Some(known) = known.rfind(|it| it.conversation == *conversation) {
            known.has_gone_on = true;
        }
    }

    /// Remembers a question. The oldest of all, and the oldest of those that asked the same, are forgotten
    /// where there are too many.
    fn take(&mut self, known: AskedQuestion) {
        let asked = of_hex(&known.history.asked);
        if self.order.len() >= THREADS_REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.forget_one(oldest);
        }
        if self.asked.get(&asked).is_some_and(|alike| alike.len() >= THREADS_ALIKE_MAX) {
            self.forget_one(asked);
        }
        self.order.push_back(asked);
        self.asked.entry(asked).or_default().push_back(known);
    }

    /// What is remembered of `known` now; nothing if it was forgotten.
    fn same(&mut self, known: &AskedQuestion, clue: &Clue) -> Option<&mut AskedQuestion> {
        let mut alike = self.asked.get_mut(&clue.asked)?.iter_mut();
        alike.find(|it| it.run == known.run && it.conversation == known.conversation)
    }

    /// Forgets the oldest question with the hash `asked`.
    fn forget_one(&mut self, asked: u64) {
        let Some(alike) = self.asked.get_mut(&asked) else { return };
        alike.pop_front();
        if alike.is_empty() {
            self.asked.remove(&asked);
        }
    }
}

/// The part of the clue's answer that the run of `known` would have said. The inner value is nothing where
/// the clue has no answer; the outer one is nothing where the run said something else.
#[expect(clippy::option_option, reason = "a run may fit without an answer")]
fn rest<'a>(known: &AskedQuestion, clue: &'a Clue) -> Option<Option<&'a str>> {
    let Some(words) = &clue.answer else { return Some(None) };
    let rest = words.strip_prefix(known.history.before.as_str())?;
    let is_other =
        known.answer.is_some_and(|answer| known.heard == ReceivedAnswer::All && answer != sides::hash(rest));
    (!is_other).then_some(Some(rest))
}

#[cfg(test)]
mod tests;
