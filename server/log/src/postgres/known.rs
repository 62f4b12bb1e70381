//! What the writer knows of the database without asking: it holds only while every plan that was made is
//! committed. A commit that fails, or whose answer is lost, throws all of it away.

use std::collections::{HashMap, HashSet};

use compact_str::CompactString;
use model::{ConversationId, Epoch, Seq};

use crate::ImportId;

/// Most conversations that are known. Beyond, all are forgotten and asked for again.
const KNOWN_MAX: usize = 20_000;

/// The epoch and the head of a conversation in the database.
#[derive(Debug, Clone)]
pub(super) struct ConversationHead {
    /// The key of its row. A name that is removed and made again has another.
    pub(super) key: i64,
    /// The epoch of the conversation.
    pub(super) epoch: Epoch,
    /// The newest seq of the conversation.
    pub(super) head: Seq,
    /// How many blocks were written since the last compaction.
    pub(super) loose: usize,
}

/// What the writer knows of the database. Owned by the writer, filled by `prefetch`, changed by each plan.
#[derive(Debug, Default)]
pub(super) struct WriterCache {
    /// The heads of conversations, plans included.
    places: HashMap<ConversationId, ConversationHead>,
    /// Names that were asked for and that no conversation has.
    absent: HashSet<ConversationId>,
    /// Keys that the database has given out and no conversation has, the lowest last.
    pub(super) keys: Vec<i64>,
    /// The key of an import, its newest seq and its bytes.
    pub(super) imports: HashMap<ImportId, (i64, Seq, i64)>,
    /// Whether all imports under way are known.
    pub(super) has_imports: bool,
    /// The tools that count under their own names; nothing before they were read.
    pub(super) tools: Option<HashSet<CompactString>>,
    /// The newest day, since 1970, with measurements; nothing before one was written.
    pub(super) newest_day: Option<u64>,
    /// Tickets of compactions, in the group that is about to be planned, whose blocks are not there any more.
    pub(super) outdated: HashSet<u64>,
}

impl WriterCache {
    /// Keeps the number in bounds. Not between a plan and its commit.
    pub(super) fn trim(&mut self) {
        if self.places.len() > KNOWN_MAX {
            self.places.clear();
        }
        self.absent.clear();
        self.outdated.clear();
    }

    /// Whether it must be asked for.
    pub(super) fn lacks(&self, id: &ConversationId) -> bool {
        !self.places.contains_key(id) && !self.absent.contains(id)
    }

    /// The place of a conversation; nothing where there is none.
    pub(super) fn find(&self, id: &ConversationId) -> Option<&ConversationHead> {
        self.places.get(id)
    }

    /// Notes where a conversation stands.
    pub(super) fn put(&mut self, id: ConversationId, place: ConversationHead) {
        self.places.insert(id, place);
    }

    /// Notes that there is no conversation of that name.
    pub(super) fn is_absent(&mut self, id: ConversationId) {
        if !self.places.contains_key(&id) {
            self.absent.insert(id);
        }
    }

    /// Notes that a conversation stands at `head` of `epoch`.
    pub(super) fn stands(&mut self, id: &ConversationId, epoch: Epoch, head: Seq) {
        if let Some(place) = self.places.get_mut(id) {
            (place.epoch, place.head) = (epoch, head);
        }
    }

    /// Notes how many blocks of a conversation can be packed together.
    pub(super) fn loosens(&mut self, id: &ConversationId, loose: usize) {
        if let Some(place) = self.places.get_mut(id) {
            place.loose = loose;
        }
    }

    /// Forgets where a conversation stands.
    pub(super) fn forget(&mut self, id: &ConversationId) {
        self.places.remove(id);
    }

    /// The conversation goes. Returns where it stood; nothing if there was none.
    pub(super) fn remove(&mut self, id: &ConversationId) -> Option<ConversationHead> {
        self.absent.insert(id.clone());
        self.places.remove(id)
    }
}
