//! A group of operations as the rows that they come to: pure, so that a transaction is a handful of statements, whatever the number of
//! operations and conversations.
//!
//! ```text
//! operation             rows
//! Append                change of the conversation, blocks, marks, documents, results, calls, measurements
//! Keep                  the same for events that it brings; the state at once if it fills a hole, else by the packer
//! View, Rows, Compact   the state, the row of the list, the blocks, if the conversation still has that key
//! Stage, Adopt          rows under a key that no conversation has; then the conversation with that key
//! Remove                nothing that the group would have written of it, and its removal
//! ```
//!
//! Events of one conversation in a group become one run of blocks, written when the whole group is planned.
//! What a later operation replaces is not written at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compact_str::CompactString;
use indexmap::IndexMap;
use model::event::Kind;
use model::frame::ConversationRow;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq};

use super::known::{ConversationHead, WriterCache};
use crate::blocks::cut;
use crate::documents::{self, clean, item};
use crate::measure::MeasureCounts;
use crate::numbers::integer;
use crate::ops::{Block, Compacted, Encoding, Events, Op, PackedView, Queued, StagedImport};
use crate::pack::pack;
use crate::rows::{StoredRow, active_at};
use crate::tools::CallCounts;
use crate::{Attachment, Checkpoint, Document, Import, Mark, views};

/// Blocks of one conversation after which they are packed together.
const LOOSE_MAX: usize = 64;

/// What a transaction does beside the rows that it writes. It is acted upon once the transaction is committed.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How many conversations are new.
    pub(super) made: u64,
    /// How many conversations went.
    pub(super) removed: u64,
    /// Appends that do not continue what is written of their conversations, and where that ends.
    pub(super) misfits: Vec<(u64, Seq)>,
    /// Tickets of the operations that are left out.
    pub(super) lost: Vec<u64>,
    /// Conversations, with their keys, whose blocks can be packed together.
    pub(super) ripe: Vec<(ConversationId, i64)>,
    /// The operations that keep a state which is not packed yet, with the keys of their conversations.
    pub(super) to_pack: HashMap<u64, i64>,
}

/// How a conversation's row changes.
#[derive(Debug)]
pub(super) struct Change {
    /// The name of the conversation.
    pub(super) id: ConversationId,
    /// Where it stood before; nothing for a new one.
    pub(super) before: Option<Seq>,
    /// The epoch that it is in afterwards.
    pub(super) epoch: Epoch,
    /// The newest seq afterwards.
    pub(super) head: Seq,
    /// When its newest event was taken, in milliseconds since 1970; 0 leaves it as it is.
    pub(super) at: u64,
    /// Whether this life wrote it. `None` if the contents were only stored in another form, which must not
    /// make a torn conversation whole.
    pub(super) life: Option<i64>,
    /// How many blocks it has afterwards that can be packed together.
    pub(super) loose: usize,
    /// Bytes that it takes more.
    pub(super) bytes: i64,
    /// The events that the group has of it, not yet made into blocks.
    envelopes: Vec<Arc<Envelope>>,
    /// How many runs end in these events: then it is a good time to pack the blocks.
    ended: u64,
}

/// The key of a document. Conversation, run, kind and item.
pub(super) type DocumentKey = (i64, CompactString, &'static str, CompactString);

/// A document as it is written, beside its key.
#[derive(Debug)]
pub(super) struct DocumentRow {
    /// The tool, or the role of a message.
    pub(super) name: CompactString,
    /// The event that completed the text.
    pub(super) seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub(super) at: u64,
    /// The text, as [`clean`] prepared it.
    pub(super) body: String,
}

/// The rows of one transaction, by the keys of their conversations. [`super::batch::Batch`] makes statements
/// of it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The rows of conversations, in the order in which the group first named them.
    pub(super) changes: IndexMap<i64, Change>,
    /// Blocks of events, uncompressed.
    pub(super) blocks: Vec<(i64, Block)>,
    /// Large results by conversation and hash.
    pub(super) attachments: IndexMap<(i64, CompactString), Arc<str>>,
    /// Texts for the search, the newest of each item last.
    pub(super) documents: IndexMap<DocumentKey, DocumentRow>,
    /// By conversation and publisher: the publisher's epoch and number, and the turn of the operation.
    pub(super) marks: IndexMap<(i64, PublisherId), (u64, u64, i64)>,
    /// Conversations whose marks are deleted before `marks` is written.
    pub(super) cleared: HashSet<i64>,
    /// Conversations whose oldest marks beyond the bound are deleted.
    pub(super) trimmed: HashSet<i64>,
    pub(super) views: IndexMap<i64, (Seq, Vec<u8>)>,
    /// Rows of the list.
    pub(super) rows: IndexMap<i64, StoredRow>,
    pub(super) removed: Vec<i64>,
    /// Conversations whose blocks are replaced: the first seqs of those that go, and the blocks that come.
    pub(super) compacted: Vec<(i64, Vec<i64>, Vec<Block>)>,
    pub(super) calls: CallCounts,
    /// Measurements, by the rows that they change.
    pub(super) measures: MeasureCounts,
    /// Imports under way: the key, the number, and the bytes and head that they have now.
    pub(super) staged: IndexMap<i64, (u64, i64, Seq)>,
    /// Imports that became conversations.
    pub(super) adopted: Vec<i64>,
    /// The keys of imports that go.
    pub(super) abandoned: Vec<i64>,
    pub(super) outcome: Outcome,
}

/// Makes a plan. It changes what is known as if the plan were committed already; if it is not, the writer
/// forgets all that is known.
pub(super) struct Planner<'a> {
    /// What the database has, with what the plan has applied so far. `prefetch` has asked for all that the
    /// group needs.
    known: &'a mut WriterCache,
    /// The life that writes.
    life: i64,
    /// Whether states are packed here and now, since nobody else will.
    packs: Packs,
    /// The plan so far.
    plan: Plan,
}

/// Who packs states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packs {
    /// The packer, later.
    Later,
    /// The writer, at once: the log is about to end.
    Now,
}

/// The place of the operation `ticket` of this life among all: later ones are higher, in a later life too.
fn turn(life: i64, ticket: u64) -> i64 {
    // 2^43 operations in one life, 2^20 lives.
    (life << 43).saturating_add_unsigned(ticket)
}

impl<'a> Planner<'a> {
    /// Begins a plan of life `life`.
    pub(super) fn new(known: &'a mut WriterCache, life: i64, packs: Packs) -> Self {
        Self { known, life, packs, plan: Plan::default() }
    }

    /// The plan for `group`.
    pub(super) fn plan(mut self, group: &[Queued]) -> Plan {
        for queued in group {
            self.apply(queued);
        }
        self.finish()
    }

    fn apply(&mut self, queued: &Queued) {
        match &queued.op {
            Op::Append(events) => self.append(queued.ticket, events),
            Op::Keep(checkpoint) => self.keep(queued.ticket, checkpoint),
            Op::View(view) => self.view(view),
            Op::Compact(compacted) => self.compact(queued.ticket, compacted),
            Op::Rows(rows) => rows.iter().for_each(|row| self.row(row)),
            Op::Remove(conversation) => self.remove(conversation),
            Op::Stage(import, events) => self.stage(queued.ticket, *import, events),
            Op::Adopt(adoption) => self.adopt(queued.ticket, adoption),
            Op::Abandon(import) => {
                if let Some((key, ..)) = self.known.imports.remove(import) {
                    self.plan.abandoned.push(key);
                }
            }
            Op::Rename(conversation, epoch) => self.rename(conversation, epoch),
            Op::Sync | Op::Purge(_) => {}
        }
    }

    /// The key of a conversation, which is made in `epoch` where there is none.
    fn find_or_make(&mut self, id: &ConversationId, epoch: &Epoch) -> Option<i64> {
        if let Some(place) = self.known.find(id) {
            return Some(place.key);
        }
        let key = self.known.keys.pop()?;
        self.known.put(id.clone(), ConversationHead { key, epoch: epoch.clone(), head: 0, loose: 0 });
        self.plan.outcome.made += 1;
        self.change(id, None);
        Some(key)
    }

    /// The change of a conversation that is known. `before` is where it stood; nothing for a new one.
    fn change(&mut self, id: &ConversationId, before: Option<Seq>) -> Option<&mut Change> {
        let place = self.known.find(id)?;
        let change = self.plan.changes.entry(place.key).or_insert_with(|| Change {
            id: id.clone(),
            before,
            epoch: place.epoch.clone(),
            head: place.head,
            at: 0,
            life: None,
            loose: place.loose,
            bytes: 0,
            envelopes: Vec::new(),
            ended: 0,
        });
        Some(change)
    }

    /// The change of a conversation that was there before or is in the plan.
    fn touch(&mut self, id: &ConversationId) -> Option<&mut Change> {
        let head = self.known.find(id)?.head;
        self.change(id, Some(head))
    }

    /// Plans events if they continue the conversation; otherwise notes a misfit.
    fn append(&mut self, ticket: u64, events: &Events) {
        let (id, after, life) = (&events.conversation, &events.after, self.life);
        let Some(key) = self.find_or_make(id, &after.epoch) else { return self.lose(ticket) };
        let head = self.known.find(id).map_or(0, |place| place.head);
        if head != after.seq {
            self.plan.outcome.misfits.push((ticket, head));
            return self.lose(ticket);
        }
        let Some(change) = self.touch(id) else { return };
        change.epoch.clone_from(&after.epoch);
        change.head = events.envelopes.last().map_or(head, |envelope| envelope.seq);
        change.at = change.at.max(active_at(&events.envelopes));
        change.life = Some(life);
        change.envelopes.extend(events.envelopes.iter().map(Arc::clone));
        change.ended +=
            events.envelopes.iter().filter(|it| matches!(it.event.kind, Kind::RunEnd(_))).count() as u64;
        let (epoch, head) = (change.epoch.clone(), change.head);
        self.known.stands(id, epoch, head);
        if let Some(mark) = &events.mark {
            self.mark(key, mark, turn(life, ticket));
        }
        let bytes = self.beside(key, &events.attachments, &events.documents);
        if let Some(change) = self.plan.changes.get_mut(&key) {
            change.bytes += bytes;
        }
        self.plan.calls.add(&events.calls);
        self.plan.measures.add(&events.measurements);
    }

    fn lose(&mut self, ticket: u64) {
        self.plan.outcome.lost.push(ticket);
    }

    /// Plans how far a publisher has come; the newest of the group counts.
    fn mark(&mut self, key: i64, mark: &Mark, turn: i64) {
        self.plan.marks.insert((key, mark.publisher.clone()), (mark.epoch, mark.seq, turn));
    }

    /// Takes what is kept beside events. Returns its bytes.
    fn beside(&mut self, key: i64, attachments: &[Attachment], documents: &[Document]) -> i64 {
        let mut bytes = 0;
        for attachment in attachments {
            let before =
                self.plan.attachments.insert((key, attachment.hash.clone()), Arc::clone(&attachment.json));
            bytes += if before.is_none() { attachment.json.len() } else { 0 };
        }
        for document in documents {
            let Some(item) = item(document) else { continue };
            let place = (
                key,
                CompactString::from(document.run.as_str()),
                documents::word(document.kind),
                item.into(),
            );
            let text = clean(&document.text);
            bytes += text.len();
            // One that comes again is the newest.
            self.plan.documents.shift_remove(&place);
            let text =
                DocumentRow { name: document.name.clone(), seq: document.seq, at: document.at, body: text };
            self.plan.documents.insert(place, text);
        }
        integer(bytes as u64)
    }

    /// Plans a state. Where it is ahead of what is written it fills a hole: the events that it brings are
    /// written, its marks replace all others, and the state is packed here, so that it is stored together
    /// with them.
    fn keep(&mut self, ticket: u64, checkpoint: &Checkpoint) {
        let (id, view, life) = (&checkpoint.row.conversation, &checkpoint.view, self.life);
        let Some(key) = self.find_or_make(id, &checkpoint.epoch) else { return self.lose(ticket) };
        let Some(change) = self.touch(id) else { return };
        let heals = view.seq > change.head;
        if heals {
            let head = change.head;
            let missing = checkpoint.newest.iter().filter(|envelope| envelope.seq > head);
            change.envelopes.extend(missing.map(Arc::clone));
            change.head = view.seq;
        }
        if view.seq == change.head {
            change.epoch.clone_from(&checkpoint.epoch);
        }
        change.at = change.at.max(checkpoint.at);
        change.life = Some(life);
        let (epoch, head) = (change.epoch.clone(), change.head);
        self.known.stands(id, epoch, head);
        if heals {
            self.plan.marks.retain(|(of, _), _| *of != key);
            self.plan.cleared.insert(key);
            let count = checkpoint.marks.len();
            for (place, mark) in checkpoint.marks.iter().enumerate() {
                let turn = turn(life, ticket).saturating_sub_unsigned((count - place) as u64);
                self.mark(key, mark, turn);
            }
        }
        if heals || self.packs == Packs::Now {
            self.put_view(key, view.seq, views::pack(view));
        } else {
            self.plan.outcome.to_pack.insert(ticket, key);
        }
        self.plan.trimmed.insert(key);
        self.row(&checkpoint.row);
    }

    /// Plans a packed state unless the plan has a newer one.
    fn put_view(&mut self, key: i64, seq: Seq, body: Vec<u8>) {
        if self.plan.views.get(&key).is_none_or(|(kept, _)| *kept <= seq) {
            self.plan.views.insert(key, (seq, body));
        }
    }

    /// Plans a state from the packer, unless the conversation has another key by now or the state is ahead of
    /// it.
    fn view(&mut self, view: &PackedView) {
        let Some(place) = self.known.find(&view.conversation) else { return };
        if place.key == view.key && view.seq <= place.head {
            self.put_view(view.key, view.seq, view.body.clone());
        }
    }

    /// Joins blocks, unless they are not there any more or the plan joins blocks of the conversation already.
    fn compact(&mut self, ticket: u64, compacted: &Compacted) {
        let Some(place) = self.known.find(&compacted.conversation) else { return };
        let is_outdated = self.known.outdated.contains(&ticket);
        if place.key != compacted.key
            || is_outdated
            || self.plan.compacted.iter().any(|(key, ..)| *key == place.key)
        {
            return;
        }
        let Some(change) = self.touch(&compacted.conversation) else { return };
        change.loose = change.loose.saturating_sub(compacted.instead_of.len());
        let after: usize = compacted.blocks.iter().map(|block| block.body.len()).sum();
        change.bytes += integer(after as u64) - integer(compacted.bytes_before);
        let loose = change.loose;
        self.known.loosens(&compacted.conversation, loose);
        let blocks =
            compacted.blocks.iter().map(|block| Block { body: block.body.clone(), ..*block }).collect();
        self.plan.compacted.push((compacted.key, compacted.instead_of.clone(), blocks));
    }

    /// Plans a row of the list, unless the plan has a newer one. One of a conversation that does not exist is
    /// dropped.
    fn row(&mut self, row: &ConversationRow) {
        let Some(key) = self.known.find(&row.conversation).map(|place| place.key) else { return };
        if self.plan.rows.get(&key).is_some_and(|planned| planned.head > row.head) {
            return;
        }
        self.plan.rows.insert(key, StoredRow::of(row));
    }

    /// Plans a removal: nothing of the conversation is written, and what the database has of it goes. An
    /// import that became the conversation in this same plan is given up instead.
    fn remove(&mut self, conversation: &ConversationId) {
        let Some(place) = self.known.remove(conversation) else { return };
        let key = place.key;
        let was_there = self.plan.changes.shift_remove(&key).is_none_or(|change| change.before.is_some());
        let plan = &mut self.plan;
        plan.attachments.retain(|(of, _), _| *of != key);
        plan.documents.retain(|(of, ..), _| *of != key);
        plan.marks.retain(|(of, _), _| *of != key);
        plan.compacted.retain(|(of, ..)| *of != key);
        plan.views.shift_remove(&key);
        plan.rows.shift_remove(&key);
        plan.outcome.to_pack.retain(|_, of| *of != key);
        plan.outcome.removed += 1;
        if plan.adopted.contains(&key) {
            plan.adopted.retain(|of| *of != key);
            plan.abandoned.push(key);
        } else if was_there {
            plan.removed.push(key);
        }
    }

    /// Plans the new epoch that a conversation got when it was loaded.
    fn rename(&mut self, conversation: &ConversationId, epoch: &Epoch) {
        let life = self.life;
        let Some(change) = self.touch(conversation) else { return };
        change.epoch.clone_from(epoch);
        change.life = Some(life);
        let head = change.head;
        self.known.stands(conversation, epoch.clone(), head);
    }

    /// Plans a piece of an import. One that does not continue the pieces before it is lost, and with it the
    /// import.
    fn stage(&mut self, ticket: u64, import: Import, events: &Events) {
        let begin = events.after.seq;
        let (key, head, before) = match self.known.imports.get(&import) {
            Some(staged) => *staged,
            None => match self.known.keys.pop() {
                Some(key) => (key, begin, 0),
                None => return self.lose(ticket),
            },
        };
        if head != begin {
            return self.lose(ticket);
        }
        let mut bytes = self.beside(key, &events.attachments, &events.documents);
        bytes += self.blocks(key, &events.envelopes).1;
        let head = events.envelopes.last().map_or(head, |envelope| envelope.seq);
        self.known.imports.insert(import, (key, head, before + bytes));
        self.plan.staged.insert(key, (import.0, before + bytes, head));
    }

    /// Plans the conversation of an import, unless pieces of it are missing or the name is taken; then its
    /// ticket is lost.
    fn adopt(&mut self, ticket: u64, adoption: &StagedImport) {
        let id = &adoption.row.conversation;
        let staged = self.known.imports.get(&adoption.import).copied();
        let Some((key, head, bytes)) =
            staged.filter(|(_, head, _)| *head == adoption.head && self.known.find(id).is_none())
        else {
            return self.lose(ticket);
        };
        self.known.imports.remove(&adoption.import);
        self.known.put(id.clone(), ConversationHead { key, epoch: adoption.epoch.clone(), head, loose: 0 });
        self.plan.adopted.push(key);
        self.plan.outcome.made += 1;
        let life = self.life;
        if let Some(change) = self.change(id, None) {
            (change.at, change.life, change.bytes) = (adoption.at, Some(life), bytes);
        }
        self.put_view(key, head, adoption.body.clone());
        self.plan.calls.add(&adoption.calls);
        self.plan.measures.add(&adoption.measurements);
        self.plan.outcome.ripe.push((id.clone(), key));
        self.row(&adoption.row);
    }

    /// Takes events as blocks. Returns the number of blocks and their bytes.
    fn blocks(&mut self, key: i64, envelopes: &[Arc<Envelope>]) -> (usize, i64) {
        let (mut written, mut bytes) = (0, 0);
        for run in cut(envelopes) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let body = pack(run);
            bytes += integer(body.len() as u64);
            let (raw, encoding) = (body.len(), Encoding::Plain);
            self.plan.blocks.push((key, Block { first: first.seq, last: last.seq, encoding, raw, body }));
            written += 1;
        }
        (written, bytes)
    }

    /// Makes blocks of the collected events, and names the conversations that are worth packing.
    fn finish(mut self) -> Plan {
        let keys: Vec<i64> = self.plan.changes.keys().copied().collect();
        for key in keys {
            let Some(change) = self.plan.changes.get_mut(&key) else { continue };
            let (envelopes, id) = (std::mem::take(&mut change.envelopes), change.id.clone());
            let (written, bytes) = self.blocks(key, &envelopes);
            let Some(change) = self.plan.changes.get_mut(&key) else { continue };
            change.bytes += bytes;
            change.loose += written;
            let (loose, ended) = (change.loose, change.ended > 0);
            self.known.loosens(&id, loose);
            if loose >= LOOSE_MAX || (ended && loose > 1) {
                self.plan.outcome.ripe.push((id, key));
            }
        }
        self.plan
    }
}
