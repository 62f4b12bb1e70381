//! The answers to the commands that were done last: a command that is repeated is not done twice.

use std::hash::{Hash as _, Hasher as _};

use compact_str::CompactString;
use indexmap::IndexMap;
use model::ConversationId;
use model::command::Done;
use model::limits::COMMANDS_REMEMBERED_MAX;
use parking_lot::Mutex;

/// How many conversations may be commanded at the same time.
const AT_WORK: usize = 16;

/// The answers to the commands that were done last.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    done: Mutex<IndexMap<(ConversationId, CompactString), Done>>,
    /// Held while a command is carried out: the same one may come over two connections at once. Each stands for some of the
    /// conversations.
    at_work: [tokio::sync::Mutex<()>; AT_WORK],
}

impl Remembered {
    /// Waits until nobody else commands in `conversation`, or in one of those that share its turn.
    pub(super) async fn turn(
        &self,
        conversation: &ConversationId,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match self.at_work.get(stripe(conversation)) {
            Some(at_work) => Some(at_work.lock().await),
            None => None,
        }
    }

    /// What came of a command before, where it is remembered.
    pub(super) fn get(&self, key: &(ConversationId, CompactString)) -> Option<Done> {
        self.done.lock().get(key).cloned()
    }

    /// Remembers what came of a command.
    pub(super) fn put(&self, key: (ConversationId, CompactString), came: Done) {
        let mut done = self.done.lock();
        if done.len() >= COMMANDS_REMEMBERED_MAX {
            done.shift_remove_index(0);
        }
        done.insert(key, came);
    }
}

fn stripe(conversation: &ConversationId) -> usize {
    let mut hasher = fnv::FnvHasher::default();
    conversation.hash(&mut hasher);
    usize::try_from(hasher.finish() % AT_WORK as u64).unwrap_or_default()
}
