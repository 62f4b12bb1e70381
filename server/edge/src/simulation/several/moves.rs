//! Conversations that hubs give up for one another.

use std::sync::Arc;

use event_log::{EventLog, LeavingEnd, LogError, Purpose, settled};
use model::frame::Durability;

use super::world::{MACHINES, World};
use crate::peers;

impl World {
    /// Whoever has a conversation begins to give it up for another hub.
    pub(super) fn give_up(&mut self) {
        let id = self.conversations[self.dice.below(self.conversations.len())].clone();
        let to = self.dice.below(MACHINES);
        let address: Arc<str> = Arc::from(self.machines[to].address.as_str());
        for machine in (0..MACHINES).filter(|machine| *machine != to) {
            let Some(rig) = self.machines[machine].running() else { continue };
            let Ok((conversation, ticket)) = rig.run(|rig| rig.hub.give_up(&id, &address)) else { continue };
            rig.log.hasten(ticket, Durability::Stored);
            self.tally.moves += 1;
            if let Some(rig) = self.machines[machine].rig.as_mut() {
                rig.leaving.push((conversation, ticket, to));
            }
        }
    }

    /// What the hub of a machine gives up and has written is offered to the other hub, if that can be reached, and then followed.
    pub(super) fn hand_over(&mut self, machine: usize) {
        let Some(rig) = self.machines[machine].rig.as_mut() else { return };
        for (conversation, ticket, to) in std::mem::take(&mut rig.leaving) {
            let Some(rig) = self.machines[machine].rig.as_mut() else { return };
            let end = match settled(&rig.progress(), ticket, Durability::Stored) {
                Some(Ok(())) => LeavingEnd::Gone,
                Some(Err(LogError::SetAside)) => LeavingEnd::Stays,
                _ => {
                    rig.leaving.push((conversation, ticket, to));
                    continue;
                }
            };
            if !self.is_apart(machine, to)
                && let Some(other) = self.machines[to].running()
            {
                // Whatever it comes to: who asks next claims it.
                drop(other.run(|other| peers::look_for_owner(&other.hub, conversation.id(), Purpose::Make)));
            }
            let Some(rig) = self.machines[machine].rig.as_mut() else { return };
            rig.log.released(conversation.id(), end);
            rig.recovering.push(conversation);
        }
    }
}
