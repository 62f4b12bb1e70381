//! Saying how far the writing has come, and why it does not go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::frame::Durability;

use super::super::failure::GroupFailure;
use super::super::life;
use super::super::plan::PlanEffects;
use super::{PostgresWriter, WriterShared};
use crate::ops::{Op, PackedView, Queued};
use crate::queue::Queue;
use crate::{WriteFault, clock};

/// Reports the tickets of a group whose commit means `level`. What is missing from the group is reported before its tickets are.
pub(in crate::postgres) fn report(queue: &Queue, group: &[Queued], effects: &PlanEffects, level: Durability) {
    let of = |ticket: u64| group.iter().find(|queued| queued.ticket == ticket).map(|queued| &queued.op);
    queue.count_aside(effects.misfits.len() as u64);
    for (ticket, head) in &effects.misfits {
        let conversation = of(*ticket).and_then(Op::conversation);
        tracing::error!(?conversation, head, "events do not continue the log and are left out");
        if let Some(conversation) = conversation {
            queue.misfit(conversation, *head);
        }
    }
    for ticket in &effects.lost {
        queue.lose(*ticket);
    }
    let ticket = group.last().map_or(0, |queued| queued.ticket);
    queue.wrote(ticket, group.iter().map(|queued| queued.bytes).sum(), level);
}

impl PostgresWriter {
    /// Acts on a group whose commit means `level`: counts, reports its tickets, and hands on what can be packed.
    pub(super) fn wrote(&mut self, group: Vec<Queued>, outcome: PlanEffects, level: Durability) {
        let WriterShared { queue, packer, conversation_count, commits, .. } = &self.shared;
        commits.store(self.count.certain(), Ordering::Release);
        if self.failing_since.take().is_some() {
            tracing::info!("the log writes again");
        }
        self.refused = 0;
        conversation_count.commit(outcome.made, outcome.removed);
        if outcome.removed > 0 || group.iter().any(|queued| matches!(queued.op, Op::Abandon(_))) {
            queue.sweep_after(Duration::ZERO);
        }
        report(queue, &group, &outcome, level);
        for (conversation, key) in outcome.ripe {
            packer.compact(conversation, key);
        }
        for queued in group {
            if let Op::Keep(checkpoint) = queued.op
                && let Some(key) = outcome.to_pack.get(&queued.ticket)
                && let Err(checkpoint) = packer.keep(*key, checkpoint)
            {
                // The packer is gone. Under its key: by now the name may be that of another conversation.
                queue.put(Op::View(Box::new(PackedView::of(*key, *checkpoint))));
            }
        }
    }

    /// Reports that nothing can be written, and since when. Traced once in a series of failures.
    pub(super) fn failed(&mut self, failure: &GroupFailure) {
        let (code, what) = match failure {
            GroupFailure::Passing { code, what } => (*code, what.clone()),
            GroupFailure::Refused(what) => ("disk_failing", what.clone()),
            GroupFailure::Over => {
                self.shared.queue.overtaken();
                ("disk_failing", String::from(life::OVER))
            }
        };
        let since = *self.failing_since.get_or_insert_with(|| {
            tracing::warn!(error = what, "the log cannot write");
            clock::now_ms()
        });
        self.shared.queue.failed(WriteFault { code, what: Arc::from(what), since });
    }
}
