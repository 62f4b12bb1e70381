//! What must hold once everything is mended.

use event_log::{EventLog, LogError};
use model::{ConversationId, View, fold, snapshot};

use super::machine::{HubRig, Machine};
use super::watcher::Watcher;
use super::world::{MACHINES, World};

/// Rounds in which a mended world must have come to rest.
const REST: usize = 300;

impl World {
    /// Goes on until nothing is left to do.
    pub(super) fn rest(&mut self) {
        for _ in 0..REST {
            self.pass(500);
            for chosen in 0..self.speakers.len() {
                self.publish(chosen, 0, 8);
            }
            for _ in 0..3 {
                for machine in 0..MACHINES {
                    self.work(machine);
                    if let Some(rig) = self.machines[machine].running() {
                        rig.run(|rig| rig.log.write());
                    }
                }
                self.carry(100);
                for chosen in 0..self.watchers.len() {
                    self.watch(chosen, 100, 64 << 10);
                }
                self.tell();
            }
            if self.is_at_rest() {
                return;
            }
        }
        let progress: Vec<_> =
            self.machines.iter().map(|machine| machine.running().map(HubRig::progress)).collect();
        let stands: Vec<_> = self.watchers.iter().map(Watcher::stands).collect();
        panic!("no rest: {:#?} {progress:?} {stands:?}", self.speakers);
    }

    /// The hub that has a conversation.
    fn owner(&self, id: &ConversationId) -> Option<&HubRig> {
        let has = |rig: &&HubRig| rig.hub.in_memory(id).is_some_and(|found| !found.is_followed());
        self.machines.iter().filter_map(Machine::running).find(has)
    }

    fn is_at_rest(&self) -> bool {
        let is_overtaken = |rig: &HubRig| rig.progress().is_overtaken;
        let all_run =
            self.machines.iter().all(|machine| machine.running().is_some_and(|rig| !is_overtaken(rig)));
        let said = self.speakers.iter().all(|speaker| speaker.publisher.acked == speaker.publisher.made);
        all_run
            && said
            && self.watchers.iter().all(|watcher| {
                let found = self.owner(&watcher.conversation);
                let found = found.and_then(|rig| rig.hub.in_memory(&watcher.conversation));
                found.is_some_and(|found| watcher.stands_at(found.epoch(), found.head()))
            })
    }

    /// Asserts what must hold for all conversations.
    pub(super) fn judge(&mut self) {
        assert_eq!(self.database.broken(), Vec::<String>::new());
        let mut seen = Vec::new();
        for id in self.conversations.clone() {
            let has = |rig: &&HubRig| rig.hub.in_memory(&id).is_some_and(|found| !found.is_followed());
            let owners = self.machines.iter().filter_map(Machine::running).filter(has).count();
            assert!(owners <= 1, "{id} has {owners} owners");
            let Some(found) = self.owner(&id).and_then(|rig| rig.hub.in_memory(&id)) else { continue };
            for watcher in self.watchers.iter().filter(|watcher| watcher.conversation == id) {
                watcher.must_see(&found.view());
            }
            seen.push((id, found.head(), snapshot::hash(&found.view())));
        }
        // The log by itself, read by a hub that was not there.
        (0..MACHINES).for_each(|machine| self.stop(machine));
        let mut reader = Machine::new(MACHINES);
        reader.start(&self.database);
        let reader = reader.rig.unwrap();
        for (id, head, hash) in seen {
            let Some(found) = reader.run(|rig| rig.hub.find(&id)).unwrap() else {
                assert_eq!(head, 0, "{id} is lost");
                continue;
            };
            assert_eq!((found.head(), snapshot::hash(&found.view())), (head, hash), "{id} read back");
            self.judge_events(&reader, &id, head);
        }
    }

    /// Every event once, in order, as far as the log has them one by one.
    fn judge_events(&self, reader: &HubRig, id: &ConversationId, head: u64) {
        let envelopes = match reader.log.read(id, 0, usize::MAX) {
            Ok(page) => page.envelopes,
            // A queue was full while the database was away: what it could not hold is in a state, not in events.
            Err(LogError::Gone { .. }) => return,
            Err(error) => panic!("{id}: {error}"),
        };
        if (envelopes.len() as u64) < head {
            return;
        }
        let seqs: Vec<_> = envelopes.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(seqs, (1..=head).collect::<Vec<_>>(), "{id} is dense");
        for speaker in self.speakers.iter().filter(|speaker| speaker.conversation() == id) {
            speaker.publisher.is_there_once_and_in_order(&envelopes);
        }
        let mut view = View::default();
        for envelope in &envelopes {
            fold::fold(&mut view, envelope, &mut |_| {});
        }
        let stands = reader.hub.in_memory(id).map(|found| snapshot::hash(&found.view()));
        assert_eq!(Some(snapshot::hash(&view)), stands, "{id} folded");
    }
}
