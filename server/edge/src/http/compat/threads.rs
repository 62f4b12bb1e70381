//! Which conversation a caller means who names none: one in which this caller was answered what its history says was
//! answered. The same words from another caller are another conversation, and so is each of several that begin alike: a
//! history continues a conversation that ends where the history does, each of them once. Only where there is none it is a
//! history that was changed, and forks one that has gone on.
//!
//! What is remembered of a run that a caller began stands in the run too ([`Trace`]), so that a hub that comes back knows
//! its callers again.

use std::collections::{HashMap, VecDeque};

use event_log::blocking;
use indexmap::IndexMap;
use model::event::Kind;
use model::limits::{ALIKE_AT_ONCE_MS, THREADS_ALIKE_MAX, THREADS_REMEMBERED_MAX};
use model::{ConversationId, Json, RunId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::platform::Rows;
use crate::state::Shared;
use agents::RunAddress;
use agents::Spoken;
use event_log::clock;
use hub::Hub;

mod answers;
mod caller;
mod read_back;
mod sides;

use answers::{Breaks, Heard, is_answer, is_partial};
pub(super) use caller::Caller;
use sides::{Clue, clues};

/// Most forks of one thread that are remembered, the newest.
const BRANCHES_MAX: usize = 64;

/// The agent's own event that says how the caller of a run is known again.
const CALLER: &str = "remote_caller";

/// That which says that this caller hung up, and that the run went on.
const LEFT: &str = "remote_caller_left";

/// What was asked, and where.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    memory: Mutex<Memory>,
    /// Held while a run is begun.
    one: tokio::sync::Mutex<()>,
    /// What was remembered before the hub came back is known again.
    is_read_back: OnceCell<()>,
    /// What clients say of their threads.
    pub(super) rows: Rows,
}

#[derive(Debug, Default)]
struct Memory {
    /// By what was asked; the oldest first.
    asked: HashMap<u64, VecDeque<Known>>,
    /// What was asked, in the order in which it was remembered.
    order: VecDeque<u64>,
    /// Where a conversation goes on that its caller went another way from.
    forks: IndexMap<ConversationId, ConversationId>,
    /// All forks in which a thread went on, the newest last.
    branches: IndexMap<ConversationId, Vec<ConversationId>>,
}

/// Something that was asked.
#[derive(Debug, Clone)]
struct Known {
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

/// What is remembered of a run that a caller began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trace {
    /// Where it was begun: a fork that somebody else makes of that has this too, and is not meant.
    conversation: ConversationId,
    #[serde(flatten)]
    meant: Meant,
}

/// By what a conversation is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Meant {
    /// Its caller calls it so, and it is a fork of what was called so.
    Thread(ConversationId),
    History(History),
}

/// What a caller has said who names no conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct History {
    /// Stands for the agent and all that was said before the answer.
    asked: String,
    /// What the answer began with before the run: calls of the caller's own came between.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    before: String,
    /// Makes the same keys look different each time.
    salt: String,
    caller: String,
}

impl Trace {
    /// Of a run in `there`, for a caller who calls that `named`; nothing where that is its name.
    pub(super) fn of_thread(named: ConversationId, there: &ConversationId) -> Option<Self> {
        (named != *there).then(|| Self { conversation: there.clone(), meant: Meant::Thread(named) })
    }

    /// Of a run in `there`, where that goes on which its caller calls `named`.
    pub(super) fn goes_on_in(named: &ConversationId, there: &ConversationId) -> Self {
        Self { conversation: there.clone(), meant: Meant::Thread(named.clone()) }
    }

    /// Of a run in `there` that answers `messages`.
    pub(super) fn of_history(
        (agent, caller): (&str, &Caller),
        messages: &[Spoken],
        there: &ConversationId,
    ) -> Self {
        let (asked, before) = sides::asked(agent, messages);
        let salt = clock::random();
        let history =
            History { asked: hex(asked), before, salt: hex(salt), caller: hex(caller.sealed(salt)) };
        Self { conversation: there.clone(), meant: Meant::History(history) }
    }

    /// As it stands in the run.
    pub(super) fn note(&self) -> Kind {
        Kind::Custom { name: CALLER.into(), value: Json::of(self) }
    }

    /// What stands in a run that goes on when this caller of it has hung up; nothing where the caller names its
    /// conversation.
    pub(super) fn left(&self) -> Option<Kind> {
        let Meant::History(history) = &self.meant else { return None };
        Some(Kind::Custom { name: LEFT.into(), value: Json::of(&history.salt) })
    }
}

impl Threads {
    /// Waits for its turn to begin a run.
    pub(super) async fn one(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.one.lock().await
    }

    /// Waits until what was remembered before the hub came back is known again.
    pub(super) async fn remembered(&self, shared: &Shared) {
        self.is_read_back
            .get_or_init(|| async {
                let mut known_ones: HashMap<ConversationId, u64> = HashMap::new();
                for read_back::Found { trace, run, at, heard } in blocking(|| read_back::traces(&shared.hub))
                {
                    if let Meant::History(history) = &trace.meant {
                        let before = known_ones.insert(trace.conversation.clone(), of_hex(&history.asked));
                        self.go_on(before, &trace.conversation);
                    }
                    let place = RunAddress { conversation: trace.conversation.clone(), run };
                    self.remember(trace.clone(), &place.run, at);
                    if heard == Heard::Part {
                        self.left(&trace, &place);
                    }
                }
            })
            .await;
    }

    /// Where `named` goes on.
    pub(super) fn current(&self, named: &ConversationId) -> ConversationId {
        self.memory.lock().forks.get(named).unwrap_or(named).clone()
    }

    /// The conversations of the thread `named`: where it goes on first, then the others, the newest first.
    pub(super) fn family(&self, named: &ConversationId) -> Vec<ConversationId> {
        let memory = self.memory.lock();
        let current = memory.forks.get(named).unwrap_or(named);
        let branches = memory.branches.get(named).into_iter().flatten().rev();
        let others = branches.chain([named]).filter(|other| *other != current);
        std::iter::once(current).chain(others).cloned().collect()
    }

    /// Whether a conversation is a fork in which a thread of another name went on.
    pub(super) fn is_fork(&self, id: &ConversationId) -> bool {
        self.memory.lock().branches.values().any(|branches| branches.contains(id))
    }

    /// The thread `named` goes on in `there`.
    pub(super) fn goes_on_in(&self, named: &ConversationId, there: &ConversationId) {
        self.remember(Trace::goes_on_in(named, there), &RunId::none(), clock::now_ms());
    }

    /// The conversation that a caller goes on with who sends `messages` to the agent. `fits` says whether they continue it as
    /// it stands. What is found counts as gone on with: whoever asks next with the same words is given another.
    pub(super) fn find(
        &self,
        hub: &Hub,
        (agent, caller): (&str, &Caller),
        messages: &[Spoken],
        fits: impl Fn(&model::View) -> bool,
    ) -> Option<ConversationId> {
        let clues = clues(agent, messages);
        let seek = Seek { memory: &self.memory, hub, caller, now: clock::now_ms() };
        let open = clues.iter().find_map(|clue| seek.open(clue, &fits));
        open.or_else(|| clues.iter().find_map(|clue| seek.changed(clue)))
    }

    /// A caller has begun `run` at this time.
    pub(super) fn remember(&self, trace: Trace, run: &RunId, at: u64) {
        let Trace { conversation, meant } = trace;
        let mut memory = self.memory.lock();
        match meant {
            Meant::Thread(named) => {
                memory.forks.shift_remove(&named);
                if memory.forks.len() >= THREADS_REMEMBERED_MAX {
                    memory.forks.shift_remove_index(0);
                }
                if named != conversation {
                    let is_full = memory.branches.len() >= THREADS_REMEMBERED_MAX;
                    if is_full && !memory.branches.contains_key(&named) {
                        memory.branches.shift_remove_index(0);
                    }
                    let branches = memory.branches.entry(named.clone()).or_default();
                    branches.retain(|branch| *branch != conversation);
                    if branches.len() >= BRANCHES_MAX {
                        branches.remove(0);
                    }
                    branches.push(conversation.clone());
                }
                memory.forks.insert(named, conversation);
            }
            Meant::History(history) => memory.take(Known {
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

    /// The caller of the run at `place` has hung up before its end.
    pub(super) fn left(&self, trace: &Trace, place: &RunAddress) {
        let Meant::History(history) = &trace.meant else { return };
        let mut memory = self.memory.lock();
        let known = memory.asked.get_mut(&of_hex(&history.asked)).into_iter().flatten();
        let mut known = known.filter(|it| it.run == place.run && it.conversation == place.conversation);
        if let Some(known) = known.next() {
            known.heard = Heard::Part;
        }
    }

    /// Of what was read back: the question before went on in `conversation`.
    fn go_on(&self, before: Option<u64>, conversation: &ConversationId) {
        let mut memory = self.memory.lock();
        let known = before.and_then(|before| memory.asked.get_mut(&before));
        let known = known.and_then(|known| known.iter_mut().rfind(|it| it.conversation == *conversation));
        if let Some(known) = known {
            known.has_gone_on = true;
        }
    }
}

impl Memory {
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

/// Looks for what a history continues. What is remembered is looked up and let go of before a conversation is read, which
/// may wait for the disk.
struct Seek<'a> {
    memory: &'a Mutex<Memory>,
    hub: &'a Hub,
    caller: &'a Caller,
    now: u64,
}

impl Seek<'_> {
    /// One of those who asked this that nobody has gone on behind; from here on somebody has. Where several fit, they cannot
    /// be told apart, and who was answered first most likely goes on first; but what was left alone for long is left for
    /// good, and of that the newest is meant.
    fn open(&self, clue: &Clue, fits: &impl Fn(&model::View) -> bool) -> Option<ConversationId> {
        let is_new = |known: &Known| self.now.saturating_sub(known.at) <= ALIKE_AT_ONCE_MS;
        let mut alike = self.alike(clue, |known| !known.has_gone_on);
        let old = alike.iter().take_while(|known| !is_new(known)).count();
        alike.rotate_left(old);
        let is_left = alike.len().saturating_sub(old);
        alike.get_mut(is_left..).unwrap_or_default().reverse();
        let found =
            alike.into_iter().find(|known| self.is_it(known, clue, fits) && self.goes_on(known, clue));
        found.map(|known| known.conversation)
    }

    /// The newest conversation that has gone on another way.
    fn changed(&self, clue: &Clue) -> Option<ConversationId> {
        let mut alike = self.alike(clue, |_known| true).into_iter().rev();
        alike.find(|known| self.is_it(known, clue, &|_view| true)).map(|known| known.conversation)
    }

    /// Those who asked this, the oldest first, as they are remembered now.
    fn alike(&self, clue: &Clue, wanted: impl Fn(&Known) -> bool) -> Vec<Known> {
        let memory = self.memory.lock();
        let alike = memory.asked.get(&clue.asked).into_iter().flatten();
        alike.filter(|known| wanted(known) && rest(known, clue).is_some()).cloned().collect()
    }

    /// Notes that its caller goes on behind `known`; false where somebody else did so meanwhile.
    fn goes_on(&self, known: &Known, clue: &Clue) -> bool {
        let mut memory = self.memory.lock();
        memory.same(known, clue).is_none_or(|same| !std::mem::replace(&mut same.has_gone_on, true))
    }

    /// Whether the caller was answered `known`. Reads from the disk.
    fn is_it(&self, known: &Known, clue: &Clue, fits: &impl Fn(&model::View) -> bool) -> bool {
        let Some(rest) = rest(known, clue) else { return false };
        if hex(self.caller.sealed(of_hex(&known.history.salt))) != known.history.caller {
            return false;
        }
        let Some(found) = self.hub.find(&known.conversation).ok().flatten() else { return false };
        let breaks = if self.caller.door == "deep-agent" { Breaks::Off } else { Breaks::Never };
        let (is_it, answer) = found.look(|view| {
            let Some(run) = view.runs.get(&known.run) else { return (false, None) };
            let is_complete = run.status == model::event::RunStatus::Complete;
            let answer = is_complete.then(|| sides::hash(&sides::plain(&run.answer())));
            let was_told = match rest {
                Some(rest) => is_answer(run, rest, known.heard, breaks),
                None => is_partial(run, known.heard),
            };
            (was_told && fits(view), answer)
        });
        if answer != known.answer
            && let Some(same) = self.memory.lock().same(known, clue)
        {
            same.answer = answer;
        }
        is_it
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

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

fn of_hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests;
