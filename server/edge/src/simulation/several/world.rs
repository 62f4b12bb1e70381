//! The made-up world of several hubs: what goes on in it without anything going wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use event_log::{EventLog, ModelDatabase, ModelFlaw, Owner, Purpose, clock};
use hub::{OpenError, Publication};
use model::frame::Durability;
use model::{ConversationId, Envelope, Event, Kind, RunId};

use super::link::Link;
use super::machine::Machine;
use super::speaker::{FrameBetweenHubs, Speaker};
use super::watcher::{SocketWait, Watcher};
use crate::peers;
use crate::simulation::dice::Dice;
use crate::simulation::publisher::Publisher;

/// Steps of one history.
const STEPS: usize = 400;

/// Machines with a hub.
pub(super) const MACHINES: usize = 3;

/// The counts of what happened in a world.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    /// Events that publishers made up.
    pub(super) events: u64,
    /// Hubs that were killed, stopped in order, paused, and ended since another one had taken over.
    pub(super) kills: u64,
    pub(super) stops: u64,
    pub(super) pauses: u64,
    pub(super) overtaken: u64,
    /// Hubs that were cut off from the database or from one another.
    pub(super) cuts: u64,
    /// Standbys that became the primary, and those that lacked something then.
    pub(super) promotions: u64,
    pub(super) losses: u64,
    /// Events that were acked as `stored` and that a promotion has lost.
    pub(super) lost: u64,
    /// Conversations that were given up for another hub.
    pub(super) moves: u64,
    /// Times that a viewer came back with a position.
    pub(super) resumes: u64,
}

/// The state of one simulated history.
#[derive(Debug)]
pub(super) struct World {
    pub(super) dice: Dice,
    /// The time of day, in milliseconds since 1970.
    pub(super) now: u64,
    pub(super) database: Arc<ModelDatabase>,
    pub(super) machines: Vec<Machine>,
    /// The links, by the machines of the hub that follows and of the one that is followed.
    pub(super) links: BTreeMap<(usize, usize), Link>,
    /// The number of links that were asked for.
    made_links: u64,
    /// Pairs of machines between which nothing arrives, the lower first.
    pub(super) partitions: BTreeSet<(usize, usize)>,
    pub(super) conversations: Vec<ConversationId>,
    pub(super) speakers: Vec<Speaker>,
    pub(super) watchers: Vec<Watcher>,
    pub(super) tally: Tally,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.kills += other.kills;
        self.stops += other.stops;
        self.pauses += other.pauses;
        self.overtaken += other.overtaken;
        self.cuts += other.cuts;
        self.promotions += other.promotions;
        self.losses += other.losses;
        self.lost += other.lost;
        self.moves += other.moves;
        self.resumes += other.resumes;
    }
}

impl World {
    /// A whole history from one seed, in which `flaw` is left out of the database.
    pub(super) fn live(seed: u64, flaw: Option<ModelFlaw>) -> Tally {
        let mut world = Self::begin(seed, flaw);
        for _ in 0..STEPS {
            world.step();
        }
        world.mend();
        world.rest();
        // Who has nothing to say does not hear that a promotion has lost what was acked as `stored`.
        for speaker in &mut world.speakers {
            speaker.publisher.make(1);
        }
        world.rest();
        world.judge();
        world.tally.resumes = world.watchers.iter().map(|watcher| watcher.resumes).sum();
        world.tally.events = world.speakers.iter().map(|speaker| speaker.publisher.made).sum();
        world.tally.lost = world.speakers.iter().map(|speaker| speaker.lost).sum();
        world.tally
    }

    fn begin(seed: u64, flaw: Option<ModelFlaw>) -> Self {
        let mut dice = Dice::new(seed);
        let now = 1_800_000_000_000;
        clock::travel(now);
        let count = 1 + dice.below(3);
        let conversations: Vec<_> =
            (0..count).map(|number| ConversationId::parse(&format!("c{number}")).unwrap()).collect();
        let mut speakers = Vec::new();
        for number in 0..=1 + dice.below(3) {
            let level = if dice.once_in(3) { Durability::Stored } else { Durability::Replicated };
            let publisher = Publisher::new(number, conversations[number % count].clone(), level);
            speakers.push(Speaker::new(publisher, dice.below(MACHINES)));
        }
        let mut watchers = Vec::new();
        for number in 0..=1 + dice.below(4) {
            watchers.push(Watcher::new(conversations[number % count].clone(), dice.below(MACHINES)));
        }
        let database = ModelDatabase::new(flaw);
        let mut machines: Vec<_> = (0..MACHINES).map(Machine::new).collect();
        for machine in &mut machines {
            machine.start(&database);
        }
        let (links, partitions, tally) = (BTreeMap::new(), BTreeSet::new(), Tally::default());
        let made_links = 0;
        Self {
            dice,
            now,
            database,
            machines,
            links,
            made_links,
            partitions,
            conversations,
            speakers,
            watchers,
            tally,
        }
    }

    /// One thing that happens, chosen by the dice; then whoever is connected hears.
    fn step(&mut self) {
        match self.dice.below(100) {
            0..24 => {
                let chosen = self.dice.below(self.speakers.len());
                let (make, back, count) = (self.dice.below(6), self.dice.below(12), 1 + self.dice.below(9));
                self.speakers[chosen].publisher.make(make as u64);
                self.publish(chosen, if back < 9 { 0 } else { back as u64 }, count as u64);
            }
            24..28 => self.gossip(),
            28..40 => {
                let chosen = self.dice.below(MACHINES);
                if let Some(rig) = self.machines[chosen].running() {
                    rig.run(|rig| rig.log.write());
                }
            }
            40..50 => {
                let chosen = self.dice.below(self.watchers.len());
                let (frames, room) = (1 + self.dice.below(6), 64 << self.dice.below(9));
                self.watch(chosen, frames, room);
            }
            50..66 => {
                let chosen = self.dice.below(MACHINES);
                self.work(chosen);
            }
            66..78 => {
                let frames = 1 + self.dice.below(8);
                self.carry(frames);
            }
            78..90 => {
                let ms = self.dice.below(1_200) as u64;
                self.pass(ms);
            }
            90..92 => self.give_up(),
            _ => self.go_wrong(),
        }
        self.tell();
    }

    /// A publisher sends its next frame to its hub.
    pub(super) fn publish(&mut self, chosen: usize, back: u64, count: u64) {
        let speaker = &mut self.speakers[chosen];
        let machine = speaker.at.0;
        let Some(rig) = self.machines[machine].running() else { return };
        if speaker.at.1 != Some(rig.log.life()) {
            speaker.hop(machine);
            speaker.at.1 = Some(rig.log.life());
        }
        if speaker.publisher.level > rig.log.durability() {
            return;
        }
        let Some((last, publication)) = speaker.publisher.frame(back, count) else { return };
        let id = speaker.conversation().clone();
        let is_here = rig.hub.in_memory(&id).is_some_and(|found| !found.is_followed());
        let owner = if is_here {
            Ok(Owner::Here)
        } else {
            rig.run(|rig| peers::look_for_owner(&rig.hub, &id, Purpose::Make))
        };
        let session = speaker.session;
        match owner {
            Ok(Owner::Here) => {
                self.take(machine, FrameBetweenHubs { speaker: (chosen, session), last, publication });
            }
            Ok(Owner::Elsewhere(address)) => {
                let passed = FrameBetweenHubs { speaker: (chosen, session), last, publication };
                if let Some(link) = self.link(machine, &address) {
                    link.passed.push_back(passed);
                    let number = link.number;
                    let speaker = &mut self.speakers[chosen];
                    let to = self.machines.iter().position(|other| *other.address == *address);
                    speaker.passed_to.extend(to.map(|to| (to, number)));
                    speaker.publisher.sent = speaker.publisher.sent.max(last);
                }
            }
            Err(_) => {}
        }
    }

    /// The hub of a machine publishes a frame in a conversation of its own.
    fn take(&mut self, machine: usize, passed: FrameBetweenHubs) {
        let Some(rig) = self.machines[machine].running() else { return };
        let FrameBetweenHubs { speaker: (chosen, session), last, publication } = passed;
        let speaker = &mut self.speakers[chosen];
        let id = speaker.conversation().clone();
        let outcome = rig.run(|rig| rig.fanout.publish(&id, publication));
        if speaker.session == session && speaker.went((machine, rig), last, outcome, &self.database) {
            let next = self.dice.below(MACHINES);
            speaker.hop(next);
        }
    }

    /// Somebody who does not count says something at the hub that has a conversation.
    fn gossip(&mut self) {
        let id = &self.conversations[self.dice.below(self.conversations.len())];
        let long = if self.dice.once_in(6) { 3_000 } else { 5 };
        let event = Event::new(&RunId::new("gossip"), Kind::Status { text: "x".repeat(long) });
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        let has = |machine: &&Machine| {
            machine
                .running()
                .is_some_and(|rig| rig.hub.in_memory(id).is_some_and(|found| !found.is_followed()))
        };
        if let Some(rig) = self.machines.iter().find(has).and_then(Machine::running) {
            // Nobody waits for it.
            drop(rig.run(|rig| rig.fanout.publish(id, Publication::of(vec![said]))));
        }
    }

    /// A viewer comes, or reads what has come.
    pub(super) fn watch(&mut self, chosen: usize, frames: usize, room: usize) {
        let watcher = &mut self.watchers[chosen];
        if let Some(rig) = self.machines[watcher.machine].running() {
            watcher.connect(rig, room);
        }
        watcher.read(frames);
    }

    /// The hub of a machine goes on: its viewers are served, and what it had followed and lost is followed or taken over.
    pub(super) fn work(&mut self, machine: usize) {
        let Some(rig) = self.machines[machine].running() else { return };
        if rig.progress().is_overtaken {
            self.tally.overtaken += 1;
            return self.stop(machine);
        }
        let now = self.now;
        rig.run(|rig| rig.keep_up(now));
        let mut wanted = Vec::new();
        for (number, watcher) in self.watchers.iter_mut().enumerate() {
            if watcher.machine != machine {
                continue;
            }
            if let SocketWait::Follow(address, have) = watcher.serve(rig) {
                wanted.push((number, address, have));
            }
        }
        for (number, address, have) in wanted {
            let id = self.watchers[number].conversation.clone();
            if self.link(machine, &address).is_some_and(|link| link.follow(&id, have)) {
                self.watchers[number].prepared();
            }
        }
        self.doubt(machine);
        self.hand_over(machine);
        self.recover(machine);
    }

    /// The hub of a machine asks the log whether hubs that are silent still have what it follows. Where they do not, the link is lost.
    fn doubt(&mut self, machine: usize) {
        for to in 0..MACHINES {
            let is_silent = self.machines[to].running().is_none() || self.is_apart(machine, to);
            let Some(link) = self.links.get(&(machine, to)).filter(|_| is_silent) else { continue };
            let (Some(id), Some(rig)) = (link.follows.any().cloned(), self.machines[machine].running())
            else {
                continue;
            };
            let found = rig.run(|rig| peers::look_for_owner(&rig.hub, &id, Purpose::Make));
            if found == Ok(Owner::Here) {
                self.lose((machine, to));
            }
        }
    }

    /// What the hub of a machine has lost the link of.
    fn recover(&mut self, machine: usize) {
        let Some(rig) = self.machines[machine].rig.as_mut() else { return };
        for conversation in std::mem::take(&mut rig.recovering) {
            let Some(rig) = self.machines[machine].rig.as_mut() else { return };
            if !conversation.is_watched() || conversation.is_over() {
                rig.run(|rig| rig.hub.unfollow(&conversation));
                continue;
            }
            match rig.run(|rig| rig.hub.take_over(&conversation)) {
                Ok(next) => rig.run(|rig| rig.fanout.deliver(next.id())),
                Err(OpenError::Elsewhere { address }) => {
                    let is_asked = match self.link(machine, &address) {
                        Some(link) => {
                            link.follow(conversation.id(), None);
                            true
                        }
                        None => false,
                    };
                    if !is_asked && let Some(rig) = self.machines[machine].rig.as_mut() {
                        rig.recovering.push(conversation);
                    }
                }
                Err(_) => rig.recovering.push(conversation),
            }
        }
    }

    /// The link from the hub of a machine to the one at an address; nothing if that cannot be reached.
    fn link(&mut self, from: usize, address: &str) -> Option<&mut Link> {
        let to = self.machines.iter().position(|machine| machine.address == *address)?;
        let (rig, other) = (self.machines[from].running()?, self.machines[to].running()?);
        let lives = (rig.log.life(), other.log.life());
        if from == to || self.is_apart(from, to) {
            return None;
        }
        self.made_links += 1;
        let number = self.made_links;
        Some(self.links.entry((from, to)).or_insert_with(|| Link::new(number, lives, rig)))
    }

    /// Whether nothing arrives between two machines.
    pub(super) fn is_apart(&self, one: usize, other: usize) -> bool {
        self.partitions.contains(&(one.min(other), one.max(other)))
    }

    /// What is on links goes on, as far as both ends run and the line between them is whole.
    pub(super) fn carry(&mut self, frames: usize) {
        for (from, to) in self.links.keys().copied().collect::<Vec<_>>() {
            if self.is_apart(from, to) {
                continue;
            }
            let Some(mut link) = self.links.remove(&(from, to)) else { continue };
            if let Some(rig) = self.machines[to].running() {
                link.serve(rig);
                for passed in std::mem::take(&mut link.passed) {
                    self.take(to, passed);
                }
            }
            if self.machines[from].running().is_some()
                && let Some(rig) = self.machines[from].rig.as_mut()
            {
                link.hear(rig, frames);
            }
            self.links.insert((from, to), link);
        }
    }

    /// Time passes, everywhere at once. Hubs renew their leases, now and then one of them late; who was paused long enough goes on, and
    /// dead hubs start again now and then.
    pub(super) fn pass(&mut self, ms: u64) {
        self.now += ms;
        clock::travel(self.now);
        self.database.pass(ms);
        for machine in &mut self.machines {
            machine.pass(ms);
            if machine.paused_until.is_some_and(|until| until <= self.now) {
                machine.paused_until = None;
            }
            if machine.rig.is_none() && self.dice.once_in(3) {
                machine.start(&self.database);
            }
            if !self.dice.once_in(8)
                && let Some(rig) = machine.running()
            {
                rig.run(|rig| rig.log.renew());
            }
        }
    }

    /// Publishers hear what is kept, as far as the way to them is whole. Those whose hub is gone go elsewhere.
    pub(super) fn tell(&mut self) {
        for speaker in &mut self.speakers {
            let at = speaker.at.0;
            let is_gone = speaker.at.1.is_some() && speaker.at.1 != self.machines[at].life();
            let is_lost = speaker.owing().into_iter().any(|(by, life)| {
                self.machines[by].life() != Some(life) || (by != at && !self.links.contains_key(&(at, by)))
            });
            // Another link may have taken the place of the one that had its frames.
            let is_there =
                |to: usize, number: u64| self.links.get(&(at, to)).is_some_and(|link| link.number == number);
            let is_lost = is_lost || speaker.passed_to.iter().any(|(to, number)| !is_there(*to, *number));
            if is_gone || is_lost {
                let next = self.dice.below(MACHINES);
                speaker.hop(next);
                continue;
            }
            for (number, machine) in self.machines.iter().enumerate() {
                let is_apart = self.partitions.contains(&(at.min(number), at.max(number)));
                if let (Some(rig), Some(_), false) =
                    (machine.running(), self.machines[at].running(), is_apart)
                {
                    speaker.hear(number, rig, self.database.losses());
                }
            }
        }
        for watcher in &mut self.watchers {
            if watcher.is_orphan(self.machines[watcher.machine].life()) {
                watcher.cut(None);
                watcher.machine = self.dice.below(MACHINES);
            }
        }
    }
}
