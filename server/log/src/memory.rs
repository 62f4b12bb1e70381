//! The log in memory: for tests and for demos that need no disk. It keeps the newest events of each
//! conversation, as many as a ring holds, and promises nothing beyond the life of the process.
//!
//! What it does with each append: the events go into the ring of their conversation, large results and
//! measurements beside it; documents, calls and marks of publishers are dropped. So nothing can be searched,
//! listed or loaded, and a hub on this log forgets conversations that leave its memory.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use dashmap::DashMap;
use indexmap::IndexMap;
use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Seq};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    Append, Attachment, Checkpoint, EndedToolCall, EventLog, EventPage, ImportId, ListQuery, LogError,
    MeasureQuery, Measured, Measurement, Progress, QueryCancel, Retention, SearchQuery, SearchResults,
    StoredConversation, Ticket, ToolFigures, Unwritten,
};
use crate::measure::MeasuresInMemory;
use crate::ring::Ring;
use model::weigh::weigh;

/// Most bytes of large results that are kept beside their events, over all conversations.
const ATTACHED_BYTES_MAX: usize = 64 << 20;

/// A log that keeps the newest events of each conversation in memory and nothing else: it cannot list, search or load, and
/// promises [`Durability::Memory`]. Dropping it forgets everything.
#[derive(Debug, Default)]
pub struct MemoryLog {
    /// The newest events of each conversation.
    conversations: DashMap<ConversationId, Ring>,
    /// Results that are too large for their events.
    attached: Mutex<AttachedResults>,
    /// The sums of measurements.
    measures: Mutex<MeasuresInMemory>,
    /// Histories that are being imported and are not complete yet. Each begins where its first piece says.
    staged: Mutex<HashMap<ImportId, (Ring, Vec<Attachment>)>>,
    /// The channel of [`EventLog::progress`]. Its value never changes, since nobody waits for a ticket of
    /// this log.
    progress: watch::Sender<Progress>,
}

impl EventLog for MemoryLog {
    fn durability(&self) -> Durability {
        Durability::Memory
    }

    fn indexes(&self) -> bool {
        false
    }

    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        match self.conversations.get(conversation) {
            Some(kept) if kept.head() != after => {
                Err(LogError::Conflict { found: kept.head(), expected: after })
            }
            _ => Ok(()),
        }
    }

    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError> {
        let Append { conversation, after, envelopes, attachments, measurements, .. } = append;
        self.attached.lock().put(conversation, attachments);
        if envelopes.is_empty() {
            return Ok(Ticket::default());
        }
        let known = self.conversations.get_mut(conversation);
        let mut kept = known.unwrap_or_else(|| {
            // An append that continues a state begins after it.
            let place = self.conversations.entry(conversation.clone());
            place.or_insert_with(|| Ring::after_seq(after.seq))
        });
        if kept.head() != after.seq {
            return Err(LogError::Conflict { found: kept.head(), expected: after.seq });
        }
        for envelope in envelopes {
            kept.push(Arc::clone(envelope), weigh(envelope));
        }
        drop(kept);
        if !measurements.is_empty() {
            self.measures.lock().add(&measurements);
        }
        Ok(Ticket::default())
    }

    fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        // Only a conversation that begins with a state is new here; of all others the events are here.
        let place = self.conversations.entry(checkpoint.row.conversation);
        place.or_insert_with(|| Ring::after_seq(checkpoint.view.seq));
        Ticket::default()
    }

    fn put_rows(&self, _rows: Vec<ConversationRow>) {}

    fn sync(&self) -> Ticket {
        Ticket::default()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        Vec::new()
    }

    fn load(&self, _conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        Ok(None)
    }

    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError> {
        let kept = self.conversations.get(conversation).ok_or(LogError::Unknown)?;
        if !kept.reaches(after) {
            return Err(LogError::Gone { begins_after: kept.begins_after() });
        }
        Ok(EventPage { envelopes: kept.page(after, limit), head: kept.head() })
    }

    fn list(&self, _query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        Ok(Vec::new())
    }

    fn count(&self) -> u64 {
        self.conversations.len() as u64
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        Ok(Vec::new())
    }

    fn search(&self, _query: &SearchQuery, _stop: &QueryCancel) -> Result<SearchResults, LogError> {
        Err(LogError::BadQuery(String::from(
            "the log in memory is not searched; serve with --log sqlite:PATH",
        )))
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        Ok(Vec::new())
    }

    fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        self.measures.lock().measured(query, stop)
    }

    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError> {
        Ok(self.attached.lock().get(conversation, hash))
    }

    fn remove(&self, conversation: &ConversationId) -> Ticket {
        self.conversations.remove(conversation);
        self.attached.lock().forget(conversation);
        Ticket::default()
    }

    fn gap(&self, _conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError> {
        // It keeps the newest events without a hole.
        Ok(None)
    }

    fn stage(&self, import: ImportId, append: Append<'_>) -> Ticket {
        let mut staged = self.staged.lock();
        let staged = staged.entry(import).or_insert_with(|| (Ring::after_seq(append.after.seq), Vec::new()));
        for envelope in append.envelopes {
            staged.0.push(Arc::clone(envelope), weigh(envelope));
        }
        staged.1.extend(append.attachments);
        Ticket::default()
    }

    fn adopt(
        &self,
        import: ImportId,
        checkpoint: Checkpoint,
        _calls: Vec<EndedToolCall>,
        measurements: Vec<Measurement>,
    ) -> Ticket {
        self.measures.lock().add(&measurements);
        let (conversation, seq) = (checkpoint.row.conversation, checkpoint.view.seq);
        let (ring, attachments) =
            self.staged.lock().remove(&import).unwrap_or_else(|| (Ring::after_seq(seq), Vec::new()));
        self.attached.lock().put(&conversation, attachments);
        self.conversations.insert(conversation, ring);
        Ticket::default()
    }

    fn abandon(&self, import: ImportId) {
        self.staged.lock().remove(&import);
    }

    fn expired(
        &self,
        _rule: &Retention,
        _now: u64,
        _keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
        // Its bounds are those of the ring.
        Ok(Vec::new())
    }

    fn close(&self) -> Result<(), Unwritten> {
        Ok(())
    }
}

/// Tool results that are kept beside their events: the newest of all conversations, within [`ATTACHED_BYTES_MAX`].
#[derive(Debug, Default)]
struct AttachedResults {
    /// The results by conversation and hash, the oldest first.
    results: IndexMap<(ConversationId, CompactString), Arc<str>>,
    /// The length of all of them, in bytes.
    bytes: usize,
}

impl AttachedResults {
    /// Adds results and drops the oldest ones beyond the bound.
    fn put(&mut self, conversation: &ConversationId, attachments: Vec<Attachment>) {
        for Attachment { hash, json } in attachments {
            self.bytes += json.len();
            if let Some(same) = self.results.insert((conversation.clone(), hash), json) {
                self.bytes -= same.len();
            }
        }
        while self.bytes > ATTACHED_BYTES_MAX {
            let Some((_, oldest)) = self.results.shift_remove_index(0) else { return };
            self.bytes -= oldest.len();
        }
    }

    /// A result of a conversation by its hash.
    fn get(&self, conversation: &ConversationId, hash: &str) -> Option<Arc<str>> {
        self.results.get(&(conversation.clone(), hash.into())).map(Arc::clone)
    }

    /// Drops the results of a conversation.
    fn forget(&mut self, conversation: &ConversationId) {
        self.results.retain(|(of, _), _| of != conversation);
        self.bytes = self.results.values().map(|json| json.len()).sum();
    }
}

#[cfg(test)]
mod tests;
