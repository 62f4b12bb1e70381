//! One transaction: a group of operations as rows. The events that one conversation has in a group become one
//! block.
//!
//! ```text
//! Commit::new ──▶ apply, for each operation ──▶ finish ──▶ the caller commits ──▶ the writer acts on the Outcome
//!                   │ appends are collected        │ one block for each conversation
//!                   └ others flush what was collected of their conversation, then write
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use model::event::Kind;
use model::frame::ConversationRow;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq};
use rusqlite::Connection;

use super::documents::StoredDocument;
use super::known::{ConversationCache, RowUpdate};
use super::ops::{CompactedBlocks, Op, PackedView, Queued, QueuedEvents, StagedImport};
use super::pace::WriterPace;
use super::tools::ToolCallCounts;
use super::{blocks, documents, imports, marks, measures, purge, rows, sweep, tools, views};
use crate::measure::MeasureCounts;
use crate::queue::{DOCUMENT_BYTES, Queue, UnindexedDocuments};
use crate::rows::active_at;
use crate::{Attachment, Checkpoint, ImportId, PublisherMark, SearchDocument};

/// How many blocks of one conversation may collect before they are packed together.
const LOOSE_MAX: usize = 64;

/// What a transaction did beside the rows that it wrote. The writer acts on it once the transaction is
/// committed.
#[derive(Debug, Default)]
pub(super) struct CommitEffects {
    /// The number of conversations that are new.
    pub(super) made: u64,
    /// The number of conversations that were removed.
    pub(super) removed: u64,
    /// Tickets of appends that do not continue what is written of their conversations, each with the head
    /// that is written.
    pub(super) misfits: Vec<(u64, Seq)>,
    /// Tickets of operations that were left out.
    pub(super) lost: Vec<u64>,
    /// Whether rows of removed conversations wait to be deleted.
    pub(super) sweeps: bool,
    /// Conversations, with their keys, whose blocks should be packed together.
    pub(super) ripe: Vec<(ConversationId, i64)>,
    /// The documents that were written, whose words are still to be added to the index; `None` if there are none.
    pub(super) documents: Option<UnindexedDocuments>,
    /// Tickets of checkpoints whose state is still to be packed, with the keys of their conversations.
    pub(super) to_pack: HashMap<u64, i64>,
}

/// One transaction while it is written. It collects the events of each conversation and writes them as one
/// block in [`Commit::finish`]. Dropped without that, the transaction is incomplete and must be rolled back.
pub(super) struct Commit<'a> {
    /// The connection, which is in a transaction.
    connection: &'a Connection,
    /// Where conversations stand; includes what this transaction has applied.
    known: &'a mut ConversationCache,
    /// The life that writes.
    life: i64,
    /// Whether states are packed here, because the packer has ended.
    inline: bool,
    /// What was collected of each conversation.
    batches: IndexMap<ConversationId, ConversationBatch<'a>>,
    /// Texts that the events have completed, in the order in which they came: what a search finds is listed in
    /// the order in which it was written.
    documents: Vec<(&'a ConversationId, &'a SearchDocument)>,
    /// When to rest.
    pace: WriterPace<&'a Queue>,
    /// The tool calls of the group.
    calls: ToolCallCounts,
    /// What was measured in the group.
    measures: MeasureCounts,
    /// What to do after the commit.
    outcome: CommitEffects,
}

/// What a group has of one conversation, collected for one block.
#[derive(Default)]
struct ConversationBatch<'a> {
    /// The events, without a hole.
    envelopes: Vec<Arc<Envelope>>,
    /// The newest mark of each publisher, with the ticket that brought it.
    marks: IndexMap<&'a PublisherId, (&'a PublisherMark, u64)>,
    /// Large results of the events.
    attachments: Vec<&'a Attachment>,
    /// The bytes of the texts that are written by now.
    bytes: i64,
}

impl CommitEffects {
    /// Notes a document that was written.
    pub(super) fn wrote(&mut self, document: StoredDocument) {
        let documents = self.documents.get_or_insert(UnindexedDocuments { newest: 0, bytes: 0 });
        documents.newest = documents.newest.max(document.id);
        documents.bytes = documents.bytes.saturating_add(document.bytes + DOCUMENT_BYTES);
    }
}

impl<'a> Commit<'a> {
    /// Begins to write over `connection`, which must be in a transaction.
    pub(super) fn new(
        connection: &'a Connection,
        known: &'a mut ConversationCache,
        life: i64,
        inline: bool,
        pace: WriterPace<&'a Queue>,
    ) -> Self {
        let (calls, measures, outcome) =
            (ToolCallCounts::default(), MeasureCounts::default(), CommitEffects::default());
        let (batches, documents) = (IndexMap::new(), Vec::new());
        Self { connection, known, life, inline, batches, documents, pace, calls, measures, outcome }
    }

    /// Writes one operation, or collects it to be written with its neighbours. An error of the database
    /// leaves the transaction incomplete: it must be rolled back.
    pub(super) fn apply(&mut self, queued: &'a Queued) -> rusqlite::Result<()> {
        self.pace.step();
        match &queued.op {
            Op::Append(events) => self.append(queued.ticket, events),
            Op::Keep(checkpoint) => self.keep(queued.ticket, checkpoint),
            Op::View(view) => self.view(view),
            Op::Compact(compacted) => self.compact(compacted),
            Op::Rows(rows) => rows.iter().try_for_each(|row| self.row(row)),
            Op::Remove(conversation) => self.remove(conversation),
            Op::Stage(import, events) => self.stage(queued.ticket, *import, events),
            Op::Adopt(adoption) => self.adopt(queued.ticket, adoption),
            Op::Abandon(import) => {
                self.outcome.sweeps = true;
                imports::abandon(self.connection, *import)
            }
            Op::Rename(conversation, epoch) => self.rename(conversation, epoch),
            Op::Purge(_) => {
                self.outcome.sweeps = true;
                purge::begin(self.connection)
            }
            Op::Sync | Op::Release(_) => Ok(()),
        }
    }

    /// Writes what was collected. The caller commits the transaction.
    pub(super) fn finish(mut self) -> rusqlite::Result<CommitEffects> {
        self.write_documents()?;
        for (conversation, batch) in std::mem::take(&mut self.batches) {
            self.pace.step();
            self.flush(&conversation, &batch)?;
        }
        tools::add(self.connection, &self.calls)?;
        measures::add(self.connection, &self.measures)?;
        Ok(self.outcome)
    }

    /// Collects events if they continue the conversation; otherwise notes a misfit.
    fn append(&mut self, ticket: u64, events: &'a QueuedEvents) -> rusqlite::Result<()> {
        let (id, after) = (&events.conversation, &events.after);
        let (place, made) = self.known.find_or_make(self.connection, id, &after.epoch, self.life)?;
        self.outcome.made += u64::from(made);
        if place.head != after.seq {
            self.outcome.misfits.push((ticket, place.head));
            self.outcome.lost.push(ticket);
            return Ok(());
        }
        place.epoch.clone_from(&after.epoch);
        place.head = events.envelopes.last().map_or(place.head, |envelope| envelope.seq);
        let batch = self.batches.entry(id.clone()).or_default();
        batch.envelopes.extend(events.envelopes.iter().map(Arc::clone));
        if let Some(mark) = &events.mark {
            batch.marks.insert(&mark.publisher, (mark, ticket));
        }
        self.documents.extend(events.documents.iter().map(|document| (id, document)));
        batch.attachments.extend(&events.attachments);
        self.calls.add(&events.calls);
        self.measures.add(&events.measurements);
        Ok(())
    }

    /// Writes what was collected of one conversation, because something follows that must come after it.
    fn flush_one(&mut self, conversation: &ConversationId) -> rusqlite::Result<()> {
        self.write_documents()?;
        match self.batches.shift_remove(conversation) {
            Some(batch) => self.flush(conversation, &batch),
            None => Ok(()),
        }
    }

    /// Writes the texts that were collected, of all conversations. Their batches must not be written yet.
    fn write_documents(&mut self) -> rusqlite::Result<()> {
        for (conversation, document) in std::mem::take(&mut self.documents) {
            self.pace.step();
            let Some(place) = self.known.find(self.connection, conversation)? else { continue };
            let Some(stored) = documents::put(self.connection, place.key, document)? else { continue };
            self.outcome.wrote(stored);
            if let Some(batch) = self.batches.get_mut(conversation) {
                batch.bytes += stored.growth();
            }
        }
        Ok(())
    }

    /// Writes a batch as one block with its marks and results.
    fn flush(
        &mut self,
        conversation: &ConversationId,
        batch: &ConversationBatch<'_>,
    ) -> rusqlite::Result<()> {
        let Some(place) = self.known.find(self.connection, conversation)? else { return Ok(()) };
        let (written, mut bytes) = blocks::insert(self.connection, place.key, &batch.envelopes)?;
        bytes += batch.bytes;
        place.loose += written;
        for (mark, ticket) in batch.marks.values() {
            marks::put(self.connection, place.key, mark, marks::turn(self.life, *ticket))?;
        }
        for attachment in &batch.attachments {
            bytes += blocks::attach(self.connection, place.key, attachment)?;
        }
        let at = active_at(&batch.envelopes);
        place.write(self.connection, RowUpdate { at, life: Some(self.life), bytes })?;
        let ended = batch.envelopes.iter().any(|envelope| matches!(envelope.event.kind, Kind::RunEnd(_)));
        if place.loose >= LOOSE_MAX || (ended && place.loose > 1) {
            self.outcome.ripe.push((conversation.clone(), place.key));
        }
        Ok(())
    }

    /// Writes a checkpoint. If events are missing before it, those of them that it brings are written as
    /// well.
    fn keep(&mut self, ticket: u64, checkpoint: &Checkpoint) -> rusqlite::Result<()> {
        let (id, view) = (&checkpoint.row.conversation, &checkpoint.view);
        self.flush_one(id)?;
        let (place, made) = self.known.find_or_make(self.connection, id, &checkpoint.epoch, self.life)?;
        self.outcome.made += u64::from(made);
        let key = place.key;
        let mut bytes = 0;
        let heals = view.seq > place.head;
        if heals {
            let missing: Vec<_> = checkpoint
                .newest
                .iter()
                .filter(|envelope| envelope.seq > place.head)
                .map(Arc::clone)
                .collect();
            let (written, more) = blocks::insert(self.connection, key, &missing)?;
            place.loose += written;
            bytes += more;
            place.head = view.seq;
            marks::clear(self.connection, key)?;
            for (turn, mark) in checkpoint.marks.iter().enumerate() {
                let turn = marks::turn(self.life, ticket)
                    .saturating_sub_unsigned((checkpoint.marks.len() - turn) as u64);
                marks::put(self.connection, key, mark, turn)?;
            }
        }
        if view.seq == place.head {
            place.epoch.clone_from(&checkpoint.epoch);
        }
        if heals || self.inline {
            bytes += views::put(self.connection, key, view.seq, &views::pack(view))?;
        } else {
            self.outcome.to_pack.insert(ticket, key);
        }
        marks::trim(self.connection, key)?;
        place.write(self.connection, RowUpdate { at: checkpoint.at, life: Some(self.life), bytes })?;
        self.row(&checkpoint.row)
    }

    /// Writes a state that the packer has packed, unless the conversation is a different one by now.
    fn view(&mut self, view: &PackedView) -> rusqlite::Result<()> {
        self.flush_one(&view.conversation)?;
        let Some(place) = self.known.find(self.connection, &view.conversation)? else { return Ok(()) };
        if place.key != view.key || view.seq > place.head {
            return Ok(());
        }
        let bytes = views::put(self.connection, place.key, view.seq, &view.body)?;
        place.write(self.connection, RowUpdate { at: 0, life: None, bytes })
    }

    /// Replaces small blocks by those that the packer has made of them.
    fn compact(&mut self, compacted: &CompactedBlocks) -> rusqlite::Result<()> {
        self.flush_one(&compacted.conversation)?;
        let Some(place) = self.known.find(self.connection, &compacted.conversation)? else { return Ok(()) };
        if place.key != compacted.key {
            return Ok(());
        }
        let bytes = blocks::replace(self.connection, compacted)?;
        place.loose = place.loose.saturating_sub(compacted.instead_of.len());
        place.write(self.connection, RowUpdate { at: 0, life: None, bytes })
    }

    /// Writes a row of the list.
    fn row(&mut self, row: &ConversationRow) -> rusqlite::Result<()> {
        match self.known.find(self.connection, &row.conversation)? {
            Some(place) => rows::put(self.connection, place.key, row),
            None => Ok(()),
        }
    }

    /// Makes a conversation invisible; its rows are deleted later.
    fn remove(&mut self, conversation: &ConversationId) -> rusqlite::Result<()> {
        self.batches.shift_remove(conversation);
        self.documents.retain(|(of, _)| *of != conversation);
        let Some(place) = self.known.find(self.connection, conversation)? else { return Ok(()) };
        let key = place.key;
        self.known.remove(conversation);
        sweep::mark_removed(self.connection, key)?;
        self.outcome.removed += 1;
        self.outcome.sweeps = true;
        Ok(())
    }

    /// Writes a piece of an import.
    fn stage(&mut self, ticket: u64, import: ImportId, events: &QueuedEvents) -> rusqlite::Result<()> {
        if !imports::stage(self.connection, import, events, &mut self.outcome)? {
            self.outcome.lost.push(ticket);
        }
        Ok(())
    }

    /// Makes a conversation of an import, unless one of that name exists.
    fn adopt(&mut self, ticket: u64, adoption: &'a StagedImport) -> rusqlite::Result<()> {
        let id = &adoption.row.conversation;
        let is_there = self.known.find(self.connection, id)?.is_some();
        let key = if is_there { None } else { imports::adopt(self.connection, adoption, self.life)? };
        let Some(key) = key else {
            self.outcome.lost.push(ticket);
            return Ok(());
        };
        self.calls.add(&adoption.calls);
        self.measures.add(&adoption.measurements);
        self.outcome.made += 1;
        self.outcome.ripe.push((id.clone(), key));
        rows::put(self.connection, key, &adoption.row)
    }

    /// Notes the new epoch of a conversation.
    fn rename(&mut self, conversation: &ConversationId, epoch: &Epoch) -> rusqlite::Result<()> {
        self.flush_one(conversation)?;
        let Some(place) = self.known.find(self.connection, conversation)? else { return Ok(()) };
        place.epoch.clone_from(epoch);
        place.write(self.connection, RowUpdate { at: 0, life: Some(self.life), bytes: 0 })
    }
}
