//! The writer of a model: the steps of [`super::super::writer`], one at a time.

use std::sync::Arc;

use model::frame::Durability;

use super::server::{ModelRefusal, ModelServer};
use super::{Answer, ModelLog, millis};
use crate::ops::{Op, Queued};
use crate::postgres::claims::Claims;
use crate::postgres::counting::{CommitCount, Counted};
use crate::postgres::failure::GroupFailure;
use crate::postgres::guarantee::CommitGuarantee;
use crate::postgres::known::{ConversationHead, WriterCache};
use crate::postgres::life::OVER;
use crate::postgres::plan::{PlanEffects, Planner, StatePacking};
use crate::postgres::prefetch::concerned;
use crate::postgres::writer::report;
use crate::{WriteFault, clock};

/// What the writing thread of a hub has.
#[derive(Debug, Default)]
pub(super) struct ModelWriter {
    known: WriterCache,
    count: CommitCount,
    /// The group that is being written, until it is.
    group: Option<Vec<Queued>>,
}

impl ModelWriter {
    /// Transactions that are certain.
    pub(super) fn certain(&self) -> i64 {
        self.count.certain()
    }
}

impl ModelLog {
    /// Makes one transaction of what waits, or tries again the one that failed. True if something was written.
    pub fn write(&self) -> bool {
        let mut writer = self.writer.lock();
        let group = writer.group.take().unwrap_or_else(|| self.queue.take_now());
        if group.is_empty() {
            return false;
        }
        match self.commit(&mut writer, &group) {
            Ok((effects, level)) => {
                report(&self.queue, &group, &effects, level);
                true
            }
            Err(failure) => {
                // Of what was planned nothing is certain.
                writer.known = WriterCache::default();
                writer.group = Some(group);
                self.failed(failure);
                false
            }
        }
    }

    /// Notes that the life ended well, unless another one has ended it.
    pub(super) fn end_well(&self) {
        let holed = self.queue.holed();
        let (certain, has_lost) = {
            let writer = self.writer.lock();
            if let Some(group) = &writer.group {
                return self.queue.unwritten(group.iter());
            }
            (writer.count.certain(), writer.count.has_lost())
        };
        let mut server = self.database.lock();
        if self.line.lock().is_cut || !server.answers_commits() {
            return;
        }
        if !server.tables.lives_on(self.life) {
            return;
        }
        for id in holed {
            if let Some(found) = server.tables.conversations.get_mut(&id) {
                found.life = 0;
            }
        }
        let timeline = server.tables.timeline;
        if let Some(life) = server.tables.lives.get_mut(&self.life) {
            (life.is_over, life.ended_well) = (true, !has_lost && life.commits >= certain);
            life.left_on = Some(timeline);
        }
    }

    /// Takes over what the settings say, and returns what a commit means by that and by the promise.
    pub(super) fn learn(&self, found: CommitGuarantee) -> Durability {
        let (durability, now) = (found.durability, self.now());
        let mut promise = self.promise.lock();
        if promise.learn(found, now) {
            self.queue.offers(promise.now().durability);
        }
        promise.now().durability.min(durability)
    }

    /// Reports that nothing can be written.
    fn failed(&self, failure: GroupFailure) {
        let (code, what) = match failure {
            GroupFailure::Passing { code, what } => (code, what),
            GroupFailure::Refused(what) => ("disk_failing", what),
            GroupFailure::Over => {
                self.queue.overtaken();
                ("disk_failing", String::from(OVER))
            }
        };
        self.queue.failed(WriteFault { code, what: Arc::from(what), since: clock::now_ms() });
    }

    /// Writes `group` as one transaction. Returns what it did, and what its commit means.
    fn commit(
        &self,
        writer: &mut ModelWriter,
        group: &[Queued],
    ) -> Result<(PlanEffects, Durability), GroupFailure> {
        let ModelWriter { known, count, .. } = writer;
        let mut server = self.database.lock();
        if self.line.lock().is_cut || !server.answers() {
            return Err(silent());
        }
        let counted = |server: &ModelServer| -> Result<Counted, GroupFailure> {
            let life = server.tables.lives.get(&self.life).ok_or(GroupFailure::Over)?;
            Ok(Counted { commits: life.commits, is_over: life.is_over })
        };
        if count.is_in_doubt() {
            // Whoever waits for the standby holds the row.
            if !server.answers_commits() {
                return Err(silent());
            }
            let counted = counted(&server)?;
            if let Some(effects) = count.settle(counted)? {
                return Ok((effects, self.promise.lock().now().durability.min(Durability::Synced)));
            }
        }
        prefetch(&mut server, known, (group, &self.claims));
        let planner = Planner::new(known, self.life, StatePacking::Now);
        let planner = if count.has_lost() { planner.keeping_all() } else { planner };
        let mut plan = planner.plan(group);
        let number = count.next();
        count.sent(std::mem::take(&mut plan.outcome));
        let before = server.guarantee();
        let stalls = !server.answers_commits();
        let made = server.commit((self.life, number), millis(self.lease), &plan);
        match made {
            Err(ModelRefusal::Fenced) => {
                count.not_made();
                let counted = counted(&server)?;
                return Err(count.recount(counted));
            }
            Err(ModelRefusal::NotOwned) => {
                count.not_made();
                return Err(GroupFailure::Over);
            }
            Err(ModelRefusal::Stale(statement)) => {
                count.not_made();
                let what = format!("rows are not as they were left by {statement}");
                return Err(GroupFailure::Passing { code: "disk_failing", what });
            }
            Err(ModelRefusal::Full) => {
                count.not_made();
                return Err(GroupFailure::Passing { code: "disk_full", what: String::from("no room") });
            }
            Ok(()) => {}
        }
        drop(server);
        match if stalls { Ok(Answer::Lost) } else { self.change() } {
            Ok(Answer::Comes) => {
                let level = self.learn(before.clone()).min(before.durability);
                Ok((count.made(), level))
            }
            _ => Err(silent()),
        }
    }
}

/// Why a group was not written while the database does not answer.
fn silent() -> GroupFailure {
    GroupFailure::Passing { code: "disk_failing", what: String::from("the database does not answer") }
}

/// Looks up what a plan for `group` needs to know.
fn prefetch(server: &mut ModelServer, known: &mut WriterCache, (group, claims): (&[Queued], &Claims)) {
    known.trim();
    for queued in group {
        let lacking: Vec<_> =
            concerned(&queued.op, Some(claims)).filter(|id| known.lacks(id)).cloned().collect();
        for id in lacking {
            match server.tables.conversations.get(&id) {
                Some(found) => {
                    let record = found.record();
                    let (key, epoch, head) = (record.key, record.epoch, record.head);
                    known.put(id, ConversationHead { key, epoch, head, loose: found.loose() });
                }
                None => known.is_absent(id),
            }
        }
        if matches!(queued.op, Op::Append(_) | Op::Keep(_)) {
            known.keys.push(server.number());
        }
    }
    known.keys.sort_unstable_by(|a, b| b.cmp(a));
}
