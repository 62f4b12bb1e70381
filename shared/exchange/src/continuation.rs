//! Which conversation a caller means who names none: one in which this caller was answered what its history says was
//! answered. The same words from another caller are another conversation, and so is each of several that begin alike: a
//! history continues a conversation that ends where the history does, each of them once. Only where there is none it is a
//! history that was changed, and forks one that has gone on.
//!
//! What is remembered of a run that a caller began stands in the run too ([`Trace`]), so that a hub that comes back knows
//! its callers again.
//!
//! ```text
//! history ── clues ──▶ Continuations::open, ::changed ──▶ candidates, in order
//!                              candidate + its view ── check ──▶ Check ──▶ Continuations::take: this one, or the next
//! ```
//!
//! Conversations are read by whoever asks: between two steps nothing is held.

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

pub use answers::{Breaks, Heard, Telling};
use answers::{is_answer, is_partial};
pub use caller::Caller;
pub use placing::{Extent, Placing, place};
pub use sides::{Clue, clues};
pub use trace::{Found, Trace, begun};
use trace::{History, Meant, hex, of_hex};

/// Most forks of one thread that are remembered, the newest.
const BRANCHES_MAX: usize = 64;

/// What callers asked, and where. Holds at most [`THREADS_REMEMBERED_MAX`] questions, forks and threads with forks each.
#[derive(Debug, Default)]
pub struct Continuations {
    /// By what was asked; the oldest first.
    asked: HashMap<u64, VecDeque<Known>>,
    /// What was asked, in the order in which it was remembered.
    order: VecDeque<u64>,
    /// Where a conversation goes on that its caller went another way from.
    forks: IndexMap<ConversationId, ConversationId>,
    /// All forks in which a thread went on, the newest last.
    branches: IndexMap<ConversationId, Vec<ConversationId>>,
}

/// Something that was asked: a candidate for what a caller goes on with.
#[derive(Debug, Clone)]
pub struct Known {
    conversation: ConversationId,
    run: RunId,
    history: History,
    /// When, in milliseconds since 1970.
    at: u64,
    heard: Heard,
    /// Its caller has gone on behind it.
    has_gone_on: bool,
    /// Stands for the words of the answer, once that is complete.
    answer: Option<u64>,
}

impl Known {
    /// Where it was asked.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }
}

/// What the view of a candidate says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Check {
    /// Whether the caller was answered there what its history says.
    pub is_it: bool,
    /// Stands for the words of the answer, once that is complete.
    answer: Option<u64>,
}

/// Whether `caller` may be meant by a candidate, as far as that is known without its conversation.
pub fn may_be(known: &Known, clue: &Clue, caller: &Caller) -> bool {
    rest(known, clue).is_some() && hex(caller.sealed(of_hex(&known.history.salt))) == known.history.caller
}

/// Whether a candidate, whose conversation is `view`, was answered as the history says. `telling` is how the caller's door tells
/// failures; `fits` says whether what the caller sends continues the conversation as it stands.
pub fn check(
    known: &Known,
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

impl Continuations {
    /// Where `named` goes on.
    pub fn current(&self, named: &ConversationId) -> ConversationId {
        self.forks.get(named).unwrap_or(named).clone()
    }

    /// The conversations of the thread `named`: where it goes on first, then the others, the newest first.
    pub fn family(&self, named: &ConversationId) -> Vec<ConversationId> {
        let current = self.forks.get(named).unwrap_or(named);
        let branches = self.branches.get(named).into_iter().flatten().rev();
        let others = branches.chain([named]).filter(|other| *other != current);
        std::iter::once(current).chain(others).cloned().collect()
    }

    /// Whether a conversation is a fork in which a thread of another name went on.
    pub fn is_fork(&self, id: &ConversationId) -> bool {
        self.branches.values().any(|branches| branches.contains(id))
    }

    /// Those who asked this that nobody has gone on behind, in the order in which they are to be tried. Where several fit, they
    /// cannot be told apart, and who was answered first most likely goes on first; but what was left alone for long is left for
    /// good, and of that the newest is meant.
    pub fn open(&self, clue: &Clue, now: u64) -> Vec<Known> {
        let is_new = |known: &Known| now.saturating_sub(known.at) <= ALIKE_AT_ONCE_MS;
        let mut alike = self.alike(clue, |known| !known.has_gone_on);
        let old = alike.iter().take_while(|known| !is_new(known)).count();
        alike.rotate_left(old);
        let is_left = alike.len().saturating_sub(old);
        alike.get_mut(is_left..).unwrap_or_default().reverse();
        alike
    }

    /// Those who asked this whatever became of it, the newest first.
    pub fn changed(&self, clue: &Clue) -> Vec<Known> {
        let mut alike = self.alike(clue, |_known| true);
        alike.reverse();
        alike
    }

    /// Those who asked this, the oldest first, as they are remembered now.
    fn alike(&self, clue: &Clue, wanted: impl Fn(&Known) -> bool) -> Vec<Known> {
        let alike = self.asked.get(&clue.asked).into_iter().flatten();
        alike.filter(|known| wanted(known) && rest(known, clue).is_some()).cloned().collect()
    }

    /// Remembers what the view of a candidate said about it.
    pub fn checked(&mut self, known: &Known, clue: &Clue, check: Check) {
        if check.answer != known.answer
            && let Some(same) = self.same(known, clue)
        {
            same.answer = check.answer;
        }
    }

    /// Notes that its caller goes on behind `known`. False where somebody else did so meanwhile.
    pub fn go_on(&mut self, known: &Known, clue: &Clue) -> bool {
        self.same(known, clue).is_none_or(|same| !std::mem::replace(&mut same.has_gone_on, true))
    }

    /// A caller has begun `run` at this time, in milliseconds since 1970.
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
                self.forks.insert(named, conversation);
            }
            Meant::History(history) => self.take(Known {
                conversation,
                run: run.clone(),
                history,
                at,
                heard: Heard::All,
                has_gone_on: false,
                answer: None,
            }),
        }
    }

    /// The caller of `run`, of which `trace` was remembered, has hung up before its end.
    pub fn left(&mut self, trace: &Trace, run: &RunId) {
        let Meant::History(history) = &trace.meant else { return };
        let known = self.asked.get_mut(&of_hex(&history.asked)).into_iter().flatten();
        let mut known = known.filter(|it| it.run == *run && it.conversation == trace.conversation);
        if let Some(known) = known.next() {
            known.heard = Heard::Part;
        }
    }

    /// Takes what was read back of the runs of conversations, the oldest first: each question that another one of the same conversation
    /// follows was gone on behind.
    pub fn read_back(&mut self, found: Vec<Found>) {
        let mut known: HashMap<ConversationId, u64> = HashMap::new();
        for Found { trace, run, at, heard } in found {
            if let Meant::History(history) = &trace.meant
                && let Some(before) = known.insert(trace.conversation.clone(), of_hex(&history.asked))
            {
                self.went_on(before, &trace.conversation);
            }
            self.remember(trace.clone(), &run, at);
            if heard == Heard::Part {
                self.left(&trace, &run);
            }
        }
    }

    /// What was asked `before` went on in `conversation`.
    fn went_on(&mut self, before: u64, conversation: &ConversationId) {
        let mut known = self.asked.get_mut(&before).into_iter().flatten();
        if let Some(known) = known.rfind(|it| it.conversation == *conversation) {
            known.has_gone_on = true;
        }
    }

    fn take(&mut self, known: Known) {
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

    /// What is remembered of `known` now, if it is not forgotten.
    fn same(&mut self, known: &Known, clue: &Clue) -> Option<&mut Known> {
        let mut alike = self.asked.get_mut(&clue.asked)?.iter_mut();
        alike.find(|it| it.run == known.run && it.conversation == known.conversation)
    }

    /// Forgets the oldest of those who asked this.
    fn forget_one(&mut self, asked: u64) {
        let Some(alike) = self.asked.get_mut(&asked) else { return };
        alike.pop_front();
        if alike.is_empty() {
            self.asked.remove(&asked);
        }
    }
}

/// What of the clue's answer a run said that is `known`, and in it nothing where the clue has no answer; nothing where that
/// run said something else.
#[expect(clippy::option_option, reason = "a run may fit without an answer")]
fn rest<'a>(known: &Known, clue: &'a Clue) -> Option<Option<&'a str>> {
    let Some(words) = &clue.answer else { return Some(None) };
    let rest = words.strip_prefix(known.history.before.as_str())?;
    let is_other =
        known.answer.is_some_and(|answer| known.heard == Heard::All && answer != sides::hash(rest));
    (!is_other).then_some(Some(rest))
}

#[cfg(test)]
mod tests;
