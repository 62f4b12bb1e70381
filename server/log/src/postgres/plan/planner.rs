//! Makes the plan of a group, one operation after the other.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::Kind;
use model::frame::ConversationRow;
use model::{ConversationId, Envelope, Epoch, Seq};

use super::{DocumentRow, Plan, RowChange};
use crate::blocks::cut;
use crate::documents::{self, clean, item};
use crate::numbers::integer;
use crate::ops::{Block, CompactedBlocks, Encoding, Op, PackedView, Queued, QueuedEvents};
use crate::pack::pack;
use crate::postgres::known::{ConversationHead, WriterCache};
use crate::rows::{StoredRow, active_at};
use crate::{Attachment, Checkpoint, PublisherMark, SearchDocument, views};

mod imports;

/// Blocks of one conversation after which they are packed together.
const LOOSE_MAX: usize = 64;

/// Makes a plan. It changes what is known as if the plan were committed already; if it is not, the writer
/// forgets all that is known.
pub(in crate::postgres) struct Planner<'a> {
    /// What the database has, with what the plan has applied so far. `prefetch` has asked for all that the
    /// group needs.
    known: &'a mut WriterCache,
    /// The life that writes.
    life: i64,
    /// Whether states are packed here and now, since nobody else will.
    packs: StatePacking,
    /// Whether no conversation is given up.
    keeps_all: bool,
    /// The plan so far.
    plan: Plan,
}

/// The thread that packs states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum StatePacking {
    /// The packer packs them later.
    Later,
    /// The writer packs them at once: the log is about to end.
    Now,
}

/// The place of the operation `ticket` of this life among all: later ones are higher, in a later life too.
fn turn(life: i64, ticket: u64) -> i64 {
    // 2^43 operations in one life, 2^20 lives.
    (life << 43).saturating_add_unsigned(ticket)
}

impl<'a> Planner<'a> {
    /// Begins a plan of life `life`.
    pub(in crate::postgres) fn new(known: &'a mut WriterCache, life: i64, packs: StatePacking) -> Self {
        Self { known, life, packs, keeps_all: false, plan: Plan::default() }
    }

    /// Keeps every conversation: none is given up, and those who asked for it are told.
    pub(in crate::postgres) fn keeping_all(self) -> Self {
        Self { keeps_all: true, ..self }
    }

    /// The plan for `group`.
    pub(in crate::postgres) fn plan(mut self, group: &[Queued]) -> Plan {
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
            Op::Release(_) if self.keeps_all => self.lose(queued.ticket),
            Op::Release(conversation) => {
                // What another hub will have written is asked for anew should this life ever claim it again.
                self.known.forget(conversation);
                self.plan.released.push(conversation.clone());
            }
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
    fn change(&mut self, id: &ConversationId, before: Option<Seq>) -> Option<&mut RowChange> {
        let place = self.known.find(id)?;
        let change = self.plan.changes.entry(place.key).or_insert_with(|| RowChange {
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
    fn touch(&mut self, id: &ConversationId) -> Option<&mut RowChange> {
        let head = self.known.find(id)?.head;
        self.change(id, Some(head))
    }

    /// Plans events if they continue the conversation; otherwise notes a misfit.
    fn append(&mut self, ticket: u64, events: &QueuedEvents) {
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
    fn mark(&mut self, key: i64, mark: &PublisherMark, turn: i64) {
        self.plan.marks.insert((key, mark.publisher.clone()), (mark.epoch, mark.seq, turn));
    }

    /// Takes what is kept beside events. Returns its bytes.
    fn beside(&mut self, key: i64, attachments: &[Attachment], documents: &[SearchDocument]) -> i64 {
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
                documents::kind_name(document.kind),
                item.into(),
            );
            let text = clean(&document.text).into_owned();
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
        if heals || self.packs == StatePacking::Now {
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
    fn compact(&mut self, ticket: u64, compacted: &CompactedBlocks) {
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
        change.bytes += integer(compacted.block.body.len() as u64) - integer(compacted.bytes_before);
        let loose = change.loose;
        self.known.loosens(&compacted.conversation, loose);
        let block = Block { body: compacted.block.body.clone(), ..compacted.block };
        self.plan.compacted.push((compacted.key, compacted.instead_of.clone(), block));
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
