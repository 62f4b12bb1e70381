//! Which conversation a caller means who names none: the one in which was said what its history says. As with the proxy,
//! only words are compared, without white space: clients join and cut texts, and leave thinking and calls out.

use std::collections::VecDeque;
use std::hash::Hasher as _;

use fnv::FnvHasher;
use indexmap::IndexMap;
use parking_lot::Mutex;
use shared::ConversationId;
use shared::RunId;

use crate::agents::Spoken;
use crate::hub::Hub;
use crate::runner::Place;

/// Most questions that are remembered, and most forks.
const REMEMBERED_MAX: usize = 10_000;

/// Most conversations in which the same was asked, of which a history may be one.
const ALIKE_MAX: usize = 16;

/// What was asked, and where.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    memory: Mutex<Memory>,
    /// Held while a run is begun.
    one: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Memory {
    asked: IndexMap<u64, VecDeque<Known>>,
    /// Where a conversation goes on that its caller went another way from.
    forks: IndexMap<ConversationId, ConversationId>,
}

/// Something that was asked.
#[derive(Debug)]
struct Known {
    conversation: ConversationId,
    run: RunId,
    /// What the answer began with before the run: calls of the caller's own came between.
    before: String,
}

/// What one side said until the other spoke.
#[derive(Debug, PartialEq, Eq)]
struct Side {
    is_answer: bool,
    words: String,
}

impl Threads {
    /// Waits for its turn to begin a run.
    pub(super) async fn one(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.one.lock().await
    }

    /// Where `named` goes on.
    pub(super) fn current(&self, named: &ConversationId) -> ConversationId {
        self.memory.lock().forks.get(named).unwrap_or(named).clone()
    }

    /// `named` goes on there.
    pub(super) fn moved(&self, named: ConversationId, there: ConversationId) {
        let mut memory = self.memory.lock();
        memory.forks.shift_remove(&named);
        if named != there {
            make_room(&mut memory.forks);
            memory.forks.insert(named, there);
        }
    }

    /// The conversation in which `messages` were said but for the last of them, by a caller with `mark`.
    pub(super) fn find(&self, hub: &Hub, mark: u64, messages: &[Spoken]) -> Option<ConversationId> {
        let sides = sides(messages);
        let answer = sides.iter().rposition(|side| side.is_answer)?;
        let key = key(mark, sides.get(..answer)?);
        let words = sides.get(answer).map(|side| side.words.as_str())?;
        let memory = self.memory.lock();
        let known = memory.asked.get(&key)?;
        let is_it = |known: &&Known| {
            let Some(rest) = words.strip_prefix(known.before.as_str()) else { return false };
            let found = hub.find(&known.conversation).ok().flatten();
            found.is_some_and(|found| {
                found.look(|view| view.runs.get(&known.run).is_some_and(|run| plain(&run.answer()) == rest))
            })
        };
        known.iter().rev().find(is_it).map(|known| known.conversation.clone())
    }

    /// The answer to `messages` is the run at `place`.
    pub(super) fn remember(&self, mark: u64, messages: &[Spoken], place: &Place) {
        let mut sides = sides(messages);
        let before = match sides.pop_if(|side| side.is_answer) {
            Some(begun) => begun.words,
            None => String::new(),
        };
        let Place { conversation, run } = place.clone();
        let mut memory = self.memory.lock();
        make_room(&mut memory.asked);
        let alike = memory.asked.entry(key(mark, &sides)).or_default();
        if alike.len() >= ALIKE_MAX {
            alike.pop_front();
        }
        alike.push_back(Known { conversation, run, before });
    }
}

fn make_room<K: std::hash::Hash + Eq, V>(map: &mut IndexMap<K, V>) {
    if map.len() >= REMEMBERED_MAX {
        map.shift_remove_index(0);
    }
}

/// What tells callers from one another who ask the same of `agent`.
pub(super) fn mark(scope: u64, agent: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write_u64(scope);
    hasher.write(agent.as_bytes());
    hasher.finish()
}

fn key(mark: u64, sides: &[Side]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write_u64(mark);
    for side in sides {
        hasher.write_u8(u8::from(side.is_answer));
        hasher.write(side.words.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}

/// What was said, side by side. Instructions are left out: clients change them as they like.
fn sides(messages: &[Spoken]) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::new();
    for spoken in messages {
        let is_answer = match spoken.role.as_str() {
            "assistant" => true,
            "system" => continue,
            _ => false,
        };
        let words = plain(&spoken.text);
        match sides.last_mut() {
            Some(last) if last.is_answer == is_answer => last.words.push_str(&words),
            _ => sides.push(Side { is_answer, words }),
        }
    }
    sides
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
