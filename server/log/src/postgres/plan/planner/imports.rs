//! Imports: pieces are rows under a key that no conversation has, until the last step gives them one.

use super::Planner;
use crate::ImportId;
use crate::ops::{QueuedEvents, StagedImport};
use crate::postgres::known::ConversationHead;

impl Planner<'_> {
    /// Plans a piece of an import. One that does not continue the pieces before it is lost, and with it the
    /// import.
    pub(super) fn stage(&mut self, ticket: u64, import: ImportId, events: &QueuedEvents) {
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
    pub(super) fn adopt(&mut self, ticket: u64, adoption: &StagedImport) {
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
}
