//! The answers to the newest commands, so that a repeated command is not carried out twice.

use std::collections::HashSet;
use std::hash::{Hash as _, Hasher as _};

use compact_str::CompactString;
use indexmap::IndexMap;
use model::ConversationId;
use model::command::Done;
use model::limits::COMMANDS_REMEMBERED_MAX;
use parking_lot::Mutex;

/// How many locks there are for commands that are being carried out.
const AT_WORK: usize = 16;

/// The answers to the newest commands, at most `COMMANDS_REMEMBERED_MAX`. Owned by the hub's state.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    /// By conversation and id of the command, the oldest first.
    done: Mutex<IndexMap<(ConversationId, CompactString), Done>>,
    /// Held while a command is carried out, because the same one may come over two connections at once. Each
    /// lock stands for the conversations of one hash stripe.
    at_work: [tokio::sync::Mutex<()>; AT_WORK],
}

impl Remembered {
    /// Waits until no other command runs in `conversation` or in one that shares its lock. Drop the guard
    /// when the command is done.
    pub(crate) async fn turn(
        &self,
        conversation: &ConversationId,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match self.at_work.get(stripe(conversation)) {
            Some(at_work) => Some(at_work.lock().await),
            None => None,
        }
    }

    /// The answer to a command that was carried out before, if it is remembered.
    pub(super) fn get(&self, key: &(ConversationId, CompactString)) -> Option<Done> {
        self.done.lock().get(key).cloned()
    }

    /// Forgets the answers to commands in `conversation`.
    pub(crate) fn forget(&self, conversation: &ConversationId) {
        self.done.lock().retain(|(of, _), _| of != conversation);
    }

    /// In which conversations a command was carried out whose answer is remembered.
    pub(crate) fn conversations(&self) -> HashSet<ConversationId> {
        self.done.lock().keys().map(|(conversation, _)| conversation.clone()).collect()
    }

    /// Remembers the answer to a command.
    pub(super) fn put(&self, key: (ConversationId, CompactString), came: Done) {
        let mut done = self.done.lock();
        if done.len() >= COMMANDS_REMEMBERED_MAX {
            done.shift_remove_index(0);
        }
        done.insert(key, came);
    }
}

/// The index of the lock that stands for `conversation`.
fn stripe(conversation: &ConversationId) -> usize {
    let mut hasher = fnv::FnvHasher::default();
    conversation.hash(&mut hasher);
    usize::try_from(hasher.finish() % AT_WORK as u64).unwrap_or_default()
}
