//! Which conversation a caller means who names none: the one in which was said what its history says. As with the proxy,
//! only words are compared, without white space: clients join and cut texts, and leave thinking and calls out.
//!
//! What is remembered of a run that a caller began stands in the run too ([`Trace`]), so that a hub that comes back knows
//! its callers again.

use std::collections::VecDeque;
use std::hash::Hasher as _;

use fnv::FnvHasher;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use shared::event::Kind;
use shared::{ConversationId, Json, RunId};
use tokio::sync::OnceCell;

use crate::agents::Spoken;
use crate::clock;
use crate::hub::Hub;
use crate::log::blocking;
use crate::proxy::keys;
use crate::state::Shared;

mod read_back;

/// Most questions that are remembered, and most forks.
const REMEMBERED_MAX: usize = 10_000;

/// Most conversations in which the same was asked, of which a history may be one.
const ALIKE_MAX: usize = 16;

/// The agent's own event that says how the caller of a run is known again.
const CALLER: &str = "remote_caller";

/// The keys of a caller. They are not kept; of those who name no conversation a salted hash is, by which a hub that comes
/// back tells them apart.
#[derive(Clone)]
pub(super) struct Keys(Vec<u8>);

impl Keys {
    /// Those that a request carries.
    pub(super) fn of(headers: &axum::http::HeaderMap) -> Self {
        Self(keys(headers))
    }

    /// What tells them from others without telling them; nothing where there are none.
    fn sealed(&self, salt: u64) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let mut hasher = Sha256::new();
        hasher.update(salt.to_be_bytes());
        hasher.update(&self.0);
        let sealed = hasher.finalize();
        sealed.iter().take(8).fold(0, |all, byte| (all << 8) | u64::from(*byte))
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// What was asked, and where.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    memory: Mutex<Memory>,
    /// Held while a run is begun.
    one: tokio::sync::Mutex<()>,
    /// What was remembered before the hub came back is known again.
    is_read_back: OnceCell<()>,
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
    history: History,
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

/// What one side said until the other spoke.
#[derive(Debug, PartialEq, Eq)]
struct Side {
    is_answer: bool,
    words: String,
}

impl Trace {
    /// Of a run in `there`, for a caller who calls that `named`; nothing where that is its name.
    pub(super) fn of_thread(named: ConversationId, there: &ConversationId) -> Option<Self> {
        (named != *there).then(|| Self { conversation: there.clone(), meant: Meant::Thread(named) })
    }

    /// Of a run in `there` that answers `messages`.
    pub(super) fn of_history(
        (agent, keys): (&str, &Keys),
        messages: &[Spoken],
        there: &ConversationId,
    ) -> Self {
        let mut sides = sides(messages);
        let before = sides.pop_if(|side| side.is_answer).map_or_else(String::new, |begun| begun.words);
        let salt = clock::random();
        let history = History {
            asked: hex(key(agent, &sides)),
            before,
            salt: hex(salt),
            caller: hex(keys.sealed(salt)),
        };
        Self { conversation: there.clone(), meant: Meant::History(history) }
    }

    /// As it stands in the run.
    pub(super) fn note(&self) -> Kind {
        Kind::Custom { name: CALLER.into(), value: Json::of(self) }
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
                for (trace, run) in blocking(|| read_back::traces(&shared.hub)) {
                    self.remember(trace, &run);
                }
            })
            .await;
    }

    /// Where `named` goes on.
    pub(super) fn current(&self, named: &ConversationId) -> ConversationId {
        self.memory.lock().forks.get(named).unwrap_or(named).clone()
    }

    /// The conversation in which `messages` were said to the agent but for the last of them, by a caller with these keys.
    pub(super) fn find(
        &self,
        hub: &Hub,
        (agent, keys): (&str, &Keys),
        messages: &[Spoken],
    ) -> Option<ConversationId> {
        let sides = sides(messages);
        let answer = sides.iter().rposition(|side| side.is_answer)?;
        let key = key(agent, sides.get(..answer)?);
        let words = sides.get(answer).map(|side| side.words.as_str())?;
        let memory = self.memory.lock();
        let known = memory.asked.get(&key)?;
        let is_it = |known: &&Known| {
            let Some(rest) = words.strip_prefix(known.history.before.as_str()) else { return false };
            if hex(keys.sealed(of_hex(&known.history.salt))) != known.history.caller {
                return false;
            }
            let found = hub.find(&known.conversation).ok().flatten();
            found.is_some_and(|found| {
                found.look(|view| view.runs.get(&known.run).is_some_and(|run| plain(&run.answer()) == rest))
            })
        };
        known.iter().rev().find(is_it).map(|known| known.conversation.clone())
    }

    /// A caller has begun `run`.
    pub(super) fn remember(&self, trace: Trace, run: &RunId) {
        let Trace { conversation, meant } = trace;
        let mut memory = self.memory.lock();
        match meant {
            Meant::Thread(named) => {
                memory.forks.shift_remove(&named);
                make_room(&mut memory.forks);
                memory.forks.insert(named, conversation);
            }
            Meant::History(history) => {
                make_room(&mut memory.asked);
                let alike = memory.asked.entry(of_hex(&history.asked)).or_default();
                if alike.len() >= ALIKE_MAX {
                    alike.pop_front();
                }
                alike.push_back(Known { conversation, run: run.clone(), history });
            }
        }
    }
}

fn make_room<K: std::hash::Hash + Eq, V>(map: &mut IndexMap<K, V>) {
    if map.len() >= REMEMBERED_MAX {
        map.shift_remove_index(0);
    }
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

fn of_hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default()
}

fn key(agent: &str, sides: &[Side]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(agent.as_bytes());
    hasher.write_u8(0xff);
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
