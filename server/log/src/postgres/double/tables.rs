//! The tables of the model, and what the statements of [`super::super`] do to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use model::fold::fold;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq, View};

use crate::blocks::events;
use crate::ops::Encoding;
use crate::ownership::LifeRow;
use crate::postgres::life::WHOLE_LIFE;
use crate::postgres::plan::Plan;
use crate::postgres::read::ConversationRecord;
use crate::{LogError, PublisherMark, views};

/// What a database holds. A copy is what a standby has.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelTables {
    /// The lives of hubs, by number.
    pub(super) lives: BTreeMap<i64, ModelLife>,
    /// The owner of each conversation.
    pub(super) owners: BTreeMap<ConversationId, ModelOwner>,
    /// The conversations by name.
    pub(super) conversations: BTreeMap<ConversationId, ModelConversation>,
    /// The timeline of the server that has them: not a row, and raised with each promotion.
    pub(super) timeline: i64,
}

/// A row of `owner`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelOwner {
    /// The life that has the conversation.
    pub(super) life: i64,
    /// The timeline on which it was given up last.
    pub(super) left_on: Option<i64>,
}

/// A row of `life`. Times are those of the database, in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct ModelLife {
    /// The address under which other hubs reach it.
    pub(super) address: Arc<str>,
    /// The number of its transactions.
    pub(super) commits: i64,
    /// When the lease runs out.
    pub(super) expires_at: u64,
    /// Since when it has renewed its lease in time.
    pub(super) steady_since: u64,
    /// Whether it has ended, or another has ended it.
    pub(super) is_over: bool,
    /// Whether it had written everything when it ended.
    pub(super) ended_well: bool,
    /// The timeline on which it ended well.
    pub(super) left_on: Option<i64>,
}

/// A conversation with all rows that belong to it.
#[derive(Debug, Clone)]
pub(super) struct ModelConversation {
    key: i64,
    epoch: Epoch,
    pub(super) head: Seq,
    at: u64,
    pub(super) life: i64,
    loose: usize,
    /// The blocks of events, by the first seq of each.
    blocks: BTreeMap<Seq, ModelBlock>,
    /// The newest state with its seq.
    view: Option<(Seq, Arc<[u8]>)>,
    /// Epoch, number and turn of each publisher.
    marks: IndexMap<PublisherId, (u64, u64, i64)>,
}

/// A row of `event`.
#[derive(Debug, Clone)]
struct ModelBlock {
    encoding: Encoding,
    body: Arc<[u8]>,
}

impl ModelLife {
    /// The life that nobody lives, which has what was given up.
    pub(super) fn whole() -> Self {
        let life = Self::begun("", 0);
        Self { is_over: true, ended_well: true, ..life }
    }

    /// A life that begins at `now`, has no lease yet, and is reached under `address`.
    pub(super) fn begun(address: &str, now: u64) -> Self {
        Self {
            address: Arc::from(address),
            commits: 0,
            expires_at: now,
            steady_since: now,
            is_over: false,
            ended_well: false,
            left_on: None,
        }
    }

    /// Renews the lease for so many milliseconds from `now`, as each commit of the life does.
    pub(super) fn renew(&mut self, now: u64, lease_ms: u64) {
        if self.expires_at <= now + lease_ms / 3 {
            self.steady_since = now;
        }
        self.expires_at = now + lease_ms;
    }
}

impl ModelTables {
    /// The owner of a conversation as life `me`, whose lease is so long, sees it; nothing if nobody has it.
    pub(super) fn owner(&self, (me, lease_ms): (i64, u64), now: u64, id: &ConversationId) -> Option<LifeRow> {
        let ModelOwner { life: number, left_on } = *self.owners.get(id)?;
        let owner = self.lives.get(&number)?;
        let is_steady = self.lives.get(&me).is_some_and(|me| {
            me.expires_at > now + lease_ms / 3 && me.steady_since.saturating_add(lease_ms) <= now
        });
        Some(LifeRow {
            number,
            is_over: owner.is_over,
            is_expired: owner.expires_at <= now && is_steady,
            ended_well: owner.ended_well,
            address: Some(Arc::clone(&owner.address)),
            left_on: if number == WHOLE_LIFE { left_on } else { owner.left_on },
            timeline: Some(self.timeline),
        })
    }

    /// Whether the life is there and goes on.
    pub(super) fn lives_on(&self, life: i64) -> bool {
        self.lives.get(&life).is_some_and(|row| !row.is_over)
    }

    /// The first conversation that `plan` changes and that the life does not have.
    pub(super) fn not_owned(&self, plan: &Plan, life: i64) -> Option<ConversationId> {
        let owned = |id: &ConversationId| self.has(id, life);
        plan.changes.values().map(|change| &change.id).chain(&plan.released).find(|id| !owned(id)).cloned()
    }

    /// Whether one of `names` is not the life's.
    pub(super) fn lost(&self, names: &[ConversationId], life: i64) -> bool {
        names.iter().any(|id| !self.has(id, life))
    }

    /// Whether the life has the conversation.
    fn has(&self, id: &ConversationId, life: i64) -> bool {
        self.owners.get(id).is_some_and(|owner| owner.life == life)
    }

    /// Makes the life the owner of the conversation.
    pub(super) fn take(&mut self, id: &ConversationId, life: i64) {
        let owner = self.owners.entry(id.clone()).or_insert(ModelOwner { life, left_on: None });
        owner.life = life;
    }

    /// The statement of [`super::super::batch`] that would find other rows than it names.
    pub(super) fn misfit(&self, plan: &Plan) -> Option<&'static str> {
        for change in plan.changes.values() {
            let found = self.conversations.get(&change.id).map(|found| found.head);
            if found != change.before {
                return Some(if change.before.is_none() { "MAKE" } else { "CHANGE" });
            }
        }
        None
    }

    /// Carries a plan out whose statements all fit.
    pub(super) fn apply(&mut self, plan: &Plan) {
        for id in &plan.released {
            self.owners.insert(id.clone(), ModelOwner { life: WHOLE_LIFE, left_on: Some(self.timeline) });
        }
        self.conversations.retain(|_, found| !plan.removed.contains(&found.key));
        for (key, change) in &plan.changes {
            let found = self.conversations.entry(change.id.clone()).or_insert_with(|| ModelConversation {
                key: *key,
                epoch: change.epoch.clone(),
                head: 0,
                at: 0,
                life: 0,
                loose: 0,
                blocks: BTreeMap::new(),
                view: None,
                marks: IndexMap::new(),
            });
            found.epoch = change.epoch.clone();
            found.head = change.head;
            found.at = found.at.max(change.at);
            found.life = change.life.unwrap_or(found.life);
            found.loose = change.loose;
        }
        let keys: BTreeMap<i64, ConversationId> =
            self.conversations.iter().map(|(id, found)| (found.key, id.clone())).collect();
        let mut with = |key: i64, change: &mut dyn FnMut(&mut ModelConversation)| {
            if let Some(found) = keys.get(&key).and_then(|id| self.conversations.get_mut(id)) {
                change(found);
            }
        };
        for (key, block) in &plan.blocks {
            with(*key, &mut |found| {
                let body = Arc::from(block.body.as_slice());
                found.blocks.insert(block.first, ModelBlock { encoding: block.encoding, body });
            });
        }
        for (key, (seq, body)) in &plan.views {
            with(*key, &mut |found| {
                if found.view.as_ref().is_none_or(|(kept, _)| kept <= seq) {
                    found.view = Some((*seq, Arc::from(body.as_slice())));
                }
            });
        }
        for key in plan.changes.keys().filter(|key| plan.cleared.contains(*key)) {
            with(*key, &mut |found| found.marks.clear());
        }
        for ((key, publisher), mark) in &plan.marks {
            with(*key, &mut |found| {
                found.marks.insert(publisher.clone(), *mark);
            });
        }
    }
}

impl ModelConversation {
    /// The row, as the other functions of the log need it.
    pub(super) fn record(&self) -> ConversationRecord {
        ConversationRecord {
            key: self.key,
            epoch: self.epoch.clone(),
            head: self.head,
            at: self.at,
            life: self.life,
        }
    }

    /// How many blocks were written since the last compaction, of which there is none here.
    pub(super) fn loose(&self) -> usize {
        self.loose
    }

    /// The events after `after`, with a hole where the log has one.
    pub(super) fn events(&self, after: Seq) -> Result<Vec<Envelope>, LogError> {
        let mut found = Vec::new();
        for block in self.blocks.values() {
            found.extend(events(block.encoding.number(), &block.body)?);
        }
        found.retain(|envelope| envelope.seq > after);
        Ok(found)
    }

    /// The state where it was left: the newest one that is stored, and the events after it folded.
    pub(super) fn state(&self) -> Result<View, LogError> {
        let mut view = match &self.view {
            Some((_, body)) => views::unpack(body)?,
            None => View::default(),
        };
        for envelope in self.events(view.seq)? {
            if envelope.seq == view.seq + 1 {
                fold(&mut view, &envelope, &mut |_| {});
            }
        }
        if view.seq != self.head {
            return Err(LogError::Unreadable(Arc::from(format!(
                "after seq {} events are missing up to {}",
                view.seq, self.head
            ))));
        }
        Ok(view)
    }

    /// How far publishers have come, the one that was silent longest first.
    pub(super) fn marks(&self) -> Vec<PublisherMark> {
        let mut marks: Vec<_> = self.marks.iter().collect();
        marks.sort_by_key(|(_, (.., turn))| *turn);
        let mark = |(publisher, (epoch, seq, _)): (&PublisherId, &(u64, u64, i64))| PublisherMark {
            publisher: publisher.clone(),
            epoch: *epoch,
            seq: *seq,
        };
        marks.into_iter().map(mark).collect()
    }
}
