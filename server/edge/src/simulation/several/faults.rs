//! What goes wrong in the world of several hubs.

use super::world::{MACHINES, World};

/// The longest pause of a hub, and the longest that something is cut off, in milliseconds: twice a lease.
const PAUSE_MS_MAX: usize = 6_000;

impl World {
    /// One thing that goes wrong, or is mended.
    pub(super) fn go_wrong(&mut self) {
        let machine = self.dice.below(MACHINES);
        match self.dice.below(40) {
            0..3 => {
                self.tally.kills += 1;
                self.kill(machine);
            }
            3..5 => {
                if self.machines[machine].running().is_some() {
                    self.tally.stops += 1;
                    self.stop(machine);
                }
            }
            5..9 => {
                self.tally.pauses += 1;
                let until = self.now + self.dice.below(PAUSE_MS_MAX) as u64;
                self.machines[machine].is_suspended = self.dice.once_in(3);
                self.machines[machine].paused_until.get_or_insert(until);
            }
            9..11 => self.machines[machine].paused_until = None,
            11..14 => {
                self.tally.cuts += 1;
                self.machines[machine].cut();
            }
            14..18 => self.machines[machine].reconnect(),
            18..20 => {
                self.tally.cuts += 1;
                let other = (machine + 1) % MACHINES;
                self.partitions.insert((machine.min(other), machine.max(other)));
            }
            20..23 => {
                let other = (machine + 1) % MACHINES;
                self.partitions.remove(&(machine.min(other), machine.max(other)));
            }
            23..26 => {
                let places: Vec<_> = self.links.keys().copied().collect();
                if !places.is_empty() {
                    let chosen = self.dice.below(places.len());
                    self.lose(places[chosen]);
                }
            }
            26..29 => {
                let chosen = self.dice.below(self.watchers.len());
                let watcher = &mut self.watchers[chosen];
                watcher.cut(self.machines[watcher.machine].rig.as_ref());
                watcher.machine = machine;
            }
            29..31 => {
                let chosen = self.dice.below(self.speakers.len());
                self.speakers[chosen].hop(machine);
            }
            _ => self.shake_the_database(machine),
        }
    }

    /// Something of the database goes wrong, or is mended.
    fn shake_the_database(&mut self, machine: usize) {
        let database = &self.database;
        match self.dice.below(14) {
            0..2 => database.detach_standby(),
            2..5 => database.attach_standby(),
            5 => database.leave_standby_behind(),
            6..8 => database.wait_for_standby(),
            8 => database.go_away(),
            9 => database.recover(),
            10 => database.fill(),
            11 => {
                if let Some(rig) = &self.machines[machine].rig {
                    rig.log.lose_answer();
                }
            }
            _ => {
                self.tally.promotions += 1;
                let later = self.dice.below(2_000) as u64;
                self.tally.losses += u64::from(!self.database.promote(later).is_empty());
            }
        }
    }

    /// The hub of a machine dies.
    pub(super) fn kill(&mut self, machine: usize) {
        self.machines[machine].paused_until = None;
        if let Some(rig) = self.machines[machine].rig.take() {
            self.end_links(machine);
            drop(rig);
        }
    }

    /// The hub of a machine stops in good order: its viewers, publishers and links go, and everything is written.
    pub(super) fn stop(&mut self, machine: usize) {
        for watcher in self.watchers.iter_mut().filter(|watcher| watcher.machine == machine) {
            watcher.cut(self.machines[machine].rig.as_ref());
            watcher.machine = self.dice.below(MACHINES);
        }
        self.end_links(machine);
        if let Some(rig) = self.machines[machine].rig.take() {
            rig.close();
        }
    }

    /// All links of the hub of a machine end.
    fn end_links(&mut self, machine: usize) {
        let of: Vec<_> =
            self.links.keys().copied().filter(|(from, to)| *from == machine || *to == machine).collect();
        for place in of {
            self.lose(place);
        }
    }

    /// Ends the link between two machines.
    pub(super) fn lose(&mut self, (from, to): (usize, usize)) {
        let Some(link) = self.links.remove(&(from, to)) else { return };
        let (mine, theirs) = link.lives;
        let other = self.machines[to].rig.take();
        let is_same = other.as_ref().is_some_and(|rig| rig.log.life() == theirs);
        let rig = self.machines[from].rig.as_mut().filter(|rig| rig.log.life() == mine);
        link.lose(rig, other.as_ref().filter(|_| is_same));
        self.machines[to].rig = other;
    }

    /// Mends every fault of the world.
    pub(super) fn mend(&mut self) {
        self.partitions.clear();
        self.database.recover();
        self.database.attach_standby();
        self.database.wait_for_standby();
        for machine in &mut self.machines {
            machine.reconnect();
            machine.paused_until = None;
        }
        let places: Vec<_> = self.links.keys().copied().collect();
        for place in places {
            self.lose(place);
        }
    }
}
