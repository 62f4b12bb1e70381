//! The made-up world: what can happen in it, what must hold at its end.

use std::sync::Arc;
use std::time::Duration;

use event_log::{EventLog, Progress, SqliteLog, SqliteOptions, WriteControl};
use model::frame::Durability;
use model::{ConversationId, Envelope, Event, Kind, RunId, fold, snapshot};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::dice::Dice;
use super::network::Fate;
use super::publisher::Publisher;
use super::viewer::Viewer;
use event_log::clock;
use hub::Fanout;
use hub::{Hub, MemoryBounds, Publication};

/// Steps of one history.
const STEPS: usize = 250;

/// Rounds in which a mended world must have come to rest.
const REST: usize = 400;

/// What a log in this world holds in its queue: little, so that it overflows.
const QUEUE_BYTES: usize = 6 << 10;

/// How often each kind of event happened in a world.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    /// Events that publishers made up.
    pub(super) events: u64,
    /// Times that the hub died.
    pub(super) kills: u64,
    /// Times that it stopped in good order.
    pub(super) stops: u64,
    /// Times that a viewer came back with a position.
    pub(super) resumes: u64,
    /// Times that the disk became full.
    pub(super) full_disks: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.kills += other.kills;
        self.stops += other.stops;
        self.resumes += other.resumes;
        self.full_disks += other.full_disks;
    }
}

/// A hub that lives.
#[derive(Debug)]
pub(super) struct Rig {
    hub: Arc<Hub>,
    pub(super) fanout: Fanout,
    log: Arc<SqliteLog>,
    /// Writes for the log when it is told to, as its thread would.
    hand: WriteControl,
}

impl Rig {
    fn start(dir: &TempDir) -> Self {
        let options = SqliteOptions { queue_bytes: QUEUE_BYTES, ..SqliteOptions::default() };
        let (log, hand) = SqliteLog::by_hand(&dir.path().join("log.db"), &options).unwrap();
        let log = Arc::new(log);
        let as_log: Arc<dyn EventLog> = Arc::<SqliteLog>::clone(&log);
        let hub = Arc::new(Hub::new(as_log));
        hub.read_back();
        let fanout = Fanout::new(Arc::clone(&hub), TaskTracker::new(), Duration::from_secs(20));
        Self { hub, fanout, log, hand }
    }

    fn progress(&self) -> Progress {
        self.log.progress().borrow().clone()
    }

    fn keep_up(&self, now: u64, idle: Duration) {
        self.hub.keep_up(now, MemoryBounds { conversations: 1_000, bytes: 1 << 30, idle });
    }
}

/// One simulated history: a hub that may die, its log on disk, publishers and viewers.
#[derive(Debug)]
pub(super) struct World {
    dice: Dice,
    dir: TempDir,
    /// The hub; nothing only while one is gone and the next has not come.
    rig: Option<Rig>,
    now: u64,
    conversations: Vec<ConversationId>,
    publishers: Vec<Publisher>,
    viewers: Vec<Viewer>,
    tally: Tally,
}

impl World {
    /// A whole history from one seed.
    pub(super) async fn live(seed: u64) -> Tally {
        let mut world = Self::begin(seed);
        for _ in 0..STEPS {
            world.step();
            // Pumps are tasks: they run between the steps.
            if world.dice.once_in(2) {
                settle().await;
            }
        }
        world.rest().await;
        world.judge();
        world.tally.resumes = world.viewers.iter().map(|viewer| viewer.resumes).sum();
        world.tally.events = world.publishers.iter().map(|publisher| publisher.made).sum();
        world.tally
    }

    fn begin(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let now = 1_800_000_000_000;
        clock::travel(now);
        let count = 1 + dice.below(3);
        let conversations: Vec<_> =
            (0..count).map(|number| ConversationId::parse(&format!("c{number}")).unwrap()).collect();
        let publishers = (0..=dice.below(4)).map(|number| {
            let level = if dice.once_in(4) { Durability::Synced } else { Durability::Stored };
            Publisher::new(number, conversations[number % count].clone(), level)
        });
        let publishers = publishers.collect();
        let viewers = (0..=dice.below(5)).map(|number| Viewer::new(conversations[number % count].clone()));
        let viewers = viewers.collect();
        let rig = Some(Rig::start(&dir));
        Self { dice, dir, rig, now, conversations, publishers, viewers, tally: Tally::default() }
    }

    /// One thing that happens, chosen by the dice, and after it publishers hear what the log has kept.
    fn step(&mut self) {
        match self.dice.below(100) {
            0..30 => self.publish(),
            30..40 => self.gossip(),
            40..47 => self.rig.as_mut().unwrap().hand.write(),
            47..55 => self.rig.as_mut().unwrap().hand.write_entry(),
            55..70 => self.view(),
            70..80 => self.viewers.iter_mut().for_each(|viewer| viewer.serve(self.rig.as_ref().unwrap())),
            80..84 => self.break_something(),
            84..88 => self.rig.as_ref().unwrap().keep_up(self.now, Duration::from_secs(30)),
            88..90 => {
                let is_full = self.dice.once_in(2);
                self.tally.full_disks += u64::from(is_full);
                self.rig.as_mut().unwrap().hand.fill_the_disk(is_full);
            }
            90..98 => self.pass_time(),
            98 => self.stop(),
            _ => self.kill(),
        }
        let progress = self.rig.as_ref().unwrap().progress();
        self.publishers.iter_mut().for_each(|publisher| publisher.hear(&progress));
    }

    /// A publisher makes events up and sends a frame, which may be lost, or whose answer may be.
    fn publish(&mut self) {
        let chosen = self.dice.below(self.publishers.len());
        let (make, back, count) = (self.dice.below(6), self.dice.below(12), 1 + self.dice.below(9));
        let (is_lost, is_forgotten) = (self.dice.once_in(12), self.dice.once_in(12));
        let publisher = &mut self.publishers[chosen];
        publisher.make(make as u64);
        let back = if back < 9 { 0 } else { back as u64 };
        let Some((last, frame)) = publisher.frame(back, count as u64) else { return };
        if !is_lost {
            let outcome = self.rig.as_ref().unwrap().fanout.publish(&publisher.conversation.clone(), frame);
            publisher.went(last, outcome.map(|appended| appended.ticket));
        }
        if is_lost || is_forgotten {
            publisher.cut();
        }
    }

    /// Somebody who does not count says something that nobody waits for.
    fn gossip(&mut self) {
        let chosen = self.dice.below(self.conversations.len());
        let long = if self.dice.once_in(6) { 3_000 } else { 5 };
        let kind = Kind::Status { text: "x".repeat(long) };
        let event = Event::new(&RunId::new("gossip"), kind);
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        self.rig
            .as_ref()
            .unwrap()
            .fanout
            .publish(&self.conversations[chosen], Publication::of(vec![said]))
            .unwrap();
    }

    fn view(&mut self) {
        let chosen = self.dice.below(self.viewers.len());
        let (frames, room) = (1 + self.dice.below(6), 64 << self.dice.below(9));
        let viewer = &mut self.viewers[chosen];
        if viewer.wire.is_some() {
            viewer.read(frames);
        } else {
            viewer.connect(self.rig.as_ref().unwrap(), room);
        }
    }

    fn break_something(&mut self) {
        let chosen = self.dice.below(self.viewers.len());
        let fate = if self.dice.once_in(2) { Fate::Break } else { Fate::Vanish };
        let viewer = &mut self.viewers[chosen];
        viewer.cut(fate, self.rig.as_ref().unwrap());
        if self.dice.once_in(3) {
            viewer.notice(self.rig.as_ref().unwrap());
        }
    }

    /// Time passes; now and then the clock of the machine is set by an hour.
    fn pass_time(&mut self) {
        let hour = 3_600_000;
        self.now = match self.dice.below(20) {
            0 => self.now + hour,
            1 => self.now - hour,
            _ => self.now + self.dice.below(20_000) as u64,
        };
        clock::travel(self.now);
    }

    /// The hub stops in good order, and comes back.
    fn stop(&mut self) {
        self.tally.stops += 1;
        self.leave_all();
        self.rig.as_ref().unwrap().hub.tell_rows();
        // On a full disk it says what it did not write, which nobody was promised.
        drop(self.rig.as_ref().unwrap().log.close());
        self.begin_again();
    }

    /// The hub dies, and comes back.
    fn kill(&mut self) {
        self.tally.kills += 1;
        self.viewers.iter_mut().for_each(Viewer::orphan);
        self.publishers.iter_mut().for_each(Publisher::cut);
        self.begin_again();
    }

    /// Another life on the same disk. The one before lets go of the file first.
    fn begin_again(&mut self) {
        self.rig = None;
        self.rig = Some(Rig::start(&self.dir));
    }

    fn leave_all(&mut self) {
        for viewer in &mut self.viewers {
            viewer.cut(Fate::Break, self.rig.as_ref().unwrap());
            viewer.notice(self.rig.as_ref().unwrap());
        }
        self.publishers.iter_mut().for_each(Publisher::cut);
    }

    /// Everything is mended; goes on until nothing is left to do.
    async fn rest(&mut self) {
        self.rig.as_mut().unwrap().hand.fill_the_disk(false);
        for _ in 0..REST {
            for publisher in &mut self.publishers {
                if let Some((last, frame)) = publisher.frame(0, 8) {
                    let outcome =
                        self.rig.as_ref().unwrap().fanout.publish(&publisher.conversation.clone(), frame);
                    publisher.went(last, outcome.map(|appended| appended.ticket));
                }
            }
            self.rig.as_mut().unwrap().hand.write();
            self.now += 1_000;
            clock::travel(self.now);
            self.rig.as_ref().unwrap().keep_up(self.now, Duration::from_secs(30));
            self.rig.as_mut().unwrap().hand.write();
            let progress = self.rig.as_ref().unwrap().progress();
            self.publishers.iter_mut().for_each(|publisher| publisher.hear(&progress));
            for viewer in &mut self.viewers {
                if viewer.wire.is_none() {
                    viewer.connect(self.rig.as_ref().unwrap(), 64 << 10);
                }
            }
            for _ in 0..4 {
                settle().await;
                for viewer in &mut self.viewers {
                    viewer.serve(self.rig.as_ref().unwrap());
                    viewer.read(100);
                }
            }
            if self.is_at_rest() {
                return;
            }
        }
        panic!("no rest: {:#?} {:?}", self.publishers, self.rig.as_ref().unwrap().progress());
    }

    fn is_at_rest(&self) -> bool {
        let said = self.publishers.iter().all(|publisher| publisher.acked == publisher.made);
        said && self.viewers.iter().all(|viewer| {
            let conversation = self.rig.as_ref().unwrap().hub.find(&viewer.conversation).unwrap();
            // A viewer whose snapshot is still under way may stand at the same seq, of another life.
            conversation.is_none_or(|it| viewer.stands_at(it.epoch(), it.head()))
        })
    }

    /// Asserts what must hold for all conversations.
    fn judge(&mut self) {
        let mut seen = Vec::new();
        for id in &self.conversations {
            let Some(conversation) = self.rig.as_ref().unwrap().hub.find(id).unwrap() else { continue };
            let now = snapshot::hash(&conversation.view());
            for viewer in self.viewers.iter().filter(|viewer| viewer.conversation == *id) {
                viewer.must_see(&conversation.view(), id);
            }
            seen.push((id.clone(), conversation.head(), now));
        }
        // The log by itself, read back by another life.
        self.leave_all();
        self.rig.as_ref().unwrap().hub.tell_rows();
        self.rig.as_mut().unwrap().hand.write();
        self.rig.as_ref().unwrap().log.close().unwrap();
        self.begin_again();
        for (id, head, hash) in seen {
            let Some(conversation) = self.rig.as_ref().unwrap().hub.find(&id).unwrap() else {
                assert_eq!(head, 0, "{id} is lost");
                continue;
            };
            assert_eq!(
                (conversation.head(), snapshot::hash(&conversation.view())),
                (head, hash),
                "{id} read back"
            );
            self.judge_events(&id, head);
        }
    }

    /// Every event once, in order, as far as the log has them one by one.
    fn judge_events(&self, id: &ConversationId, head: u64) {
        let envelopes = match self.rig.as_ref().unwrap().log.read(id, 0, usize::MAX) {
            Ok(page) => page.envelopes,
            // The queue was full while the disk was: what it could not hold is in a state, not in events.
            Err(event_log::LogError::Gone { begins_after }) => {
                assert!(self.tally.full_disks > 0, "nothing was full, and a hole before {begins_after}");
                return;
            }
            Err(error) => panic!("{id}: {error}"),
        };
        let seqs: Vec<_> = envelopes.iter().map(|envelope| envelope.seq).collect();
        assert_eq!(seqs, (1..=head).collect::<Vec<_>>(), "{id} is dense");
        for publisher in self.publishers.iter().filter(|publisher| publisher.conversation == *id) {
            publisher.is_there_once_and_in_order(&envelopes);
        }
        let mut view = model::View::default();
        for envelope in &envelopes {
            fold::fold(&mut view, envelope, &mut |_| {});
        }
        let stands =
            self.rig.as_ref().unwrap().hub.find(id).unwrap().map(|found| snapshot::hash(&found.view()));
        assert_eq!(Some(snapshot::hash(&view)), stands, "{id} folded");
    }
}

/// Lets the tasks run until they wait.
async fn settle() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}
