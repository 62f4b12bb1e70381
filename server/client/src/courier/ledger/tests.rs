//! Tests of the ledger, against a hub that is a few lines: it keeps numbers, and it forgets.

use proptest::prelude::*;

use super::*;

/// A hub with one publisher: what it was told in which life, by the events' own counts.
#[derive(Debug, Default)]
struct Hub {
    life: u64,
    last: u64,
    told: Vec<u64>,
}

impl Hub {
    fn take(&mut self, numbers: FrameNumbers, events: &[u64]) -> Result<(), u64> {
        if numbers.life > self.life {
            (self.life, self.last) = (numbers.life, 0);
        }
        assert_eq!(numbers.life, self.life, "an older life");
        assert_eq!(numbers.last + 1 - numbers.first, events.len() as u64);
        if numbers.first > self.last + 1 {
            return Err(self.last + 1);
        }
        if numbers.last > self.last {
            let skip = usize::try_from(self.last + 1 - numbers.first).unwrap();
            self.told.extend(&events[skip..]);
            self.last = numbers.last;
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
enum Step {
    Offer(u64),
    /// The courier sends up to so many events in one frame.
    Send(u64),
    /// The hub reads so many frames.
    Read(usize),
    /// The courier reads so many answers.
    Hear(usize),
    /// The connection is lost with everything in it, and made again.
    Cut,
    /// The hub dies and forgets everything.
    Forget,
    /// The courier gives acked events away, up to so many before the newest acked.
    GiveAway(u64),
}

fn step(forgets: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u64).prop_map(Step::Offer),
        8 => (1..5_u64).prop_map(Step::Send),
        6 => (1..4_usize).prop_map(Step::Read),
        6 => (1..4_usize).prop_map(Step::Hear),
        1 => Just(Step::Cut),
        1 => Just(if forgets { Step::Forget } else { Step::Cut }),
        1 => (0..4_u64).prop_map(Step::GiveAway),
    ]
}

/// A courier, a hub and the two directions between them.
#[derive(Debug, Default)]
struct World {
    ledger: AckLedger,
    hub: Hub,
    to_hub: VecDeque<(FrameNumbers, Vec<u64>)>,
    to_courier: VecDeque<(u64, Result<(), u64>)>,
    missing: u64,
}

impl World {
    fn cut(&mut self) {
        self.ledger.lost();
        self.to_hub.clear();
        self.to_courier.clear();
        self.ledger.connected();
    }

    fn send(&mut self, count: u64) {
        let (after, last) = match self.ledger.due() {
            None => return,
            Some(DueFrame::Question(event)) => (event, event),
            Some(DueFrame::Events(after)) => (after, (after + count).min(self.ledger.offered())),
        };
        assert!(after >= self.ledger.begins_after, "it is not here any more");
        let numbers = self.ledger.send(last);
        self.to_hub.push_back((numbers, (after + 1..=last).collect()));
    }

    fn read(&mut self) {
        if let Some((numbers, events)) = self.to_hub.pop_front() {
            let answer = self.hub.take(numbers, &events);
            self.to_courier.push_back((numbers.id, answer));
        }
    }

    fn hear(&mut self) {
        match self.to_courier.pop_front() {
            None => {}
            Some((id, Ok(()))) => drop(self.ledger.ack(id)),
            Some((id, Err(expected))) => {
                if let GapRecovery::NewLife { missing } = self.ledger.gap(id, expected) {
                    self.missing += missing;
                }
            }
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Offer(count) => self.ledger.offer(count),
            Step::Send(count) => self.send(count),
            Step::Read(count) => (0..count).for_each(|_| self.read()),
            Step::Hear(count) => (0..count).for_each(|_| self.hear()),
            Step::Cut => self.cut(),
            Step::Forget => {
                self.hub = Hub::default();
                self.cut();
            }
            Step::GiveAway(kept) => self.ledger.forget(self.ledger.acked().saturating_sub(kept)),
        }
    }

    /// Lets everything run until nothing moves any more.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if self.ledger.is_done() && self.to_hub.is_empty() && self.to_courier.is_empty() {
                return;
            }
            self.send(3);
            self.read();
            self.hear();
        }
        panic!("it does not come to an end: {self:?}");
    }
}

proptest! {
    /// I10: whatever is cut and sent again, the hub is told every event once and in order.
    #[test]
    fn i10_a_hub_that_remembers_is_told_everything_once(steps in proptest::collection::vec(step(false), 0..150)) {
        let mut world = World::default();
        world.ledger.connected();
        for step in &steps {
            world.take(step);
        }
        world.settle();
        prop_assert_eq!(&world.hub.told, &(1..=world.ledger.offered()).collect::<Vec<_>>());
        prop_assert_eq!(world.missing, 0);
    }

    /// A hub that forgets is told again what is still here: in order, once in each of its lives, up to the end.
    #[test]
    fn i10_a_hub_that_forgets_is_told_again_what_is_left(steps in proptest::collection::vec(step(true), 0..150)) {
        let mut world = World::default();
        world.ledger.connected();
        for step in &steps {
            world.take(step);
        }
        world.settle();
        let told = &world.hub.told;
        let offered = world.ledger.offered();
        prop_assert!(told.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{told:?}");
        prop_assert!(told.last().is_none_or(|last| *last == offered));
        let first = told.first().copied().unwrap_or(offered + 1);
        prop_assert!(first - 1 <= world.missing, "{first} {}", world.missing);
        // What is kept is there.
        prop_assert!(world.ledger.begins_after >= first - 1 || told.is_empty());
    }
}

#[test]
fn a_hub_that_forgot_is_noticed_although_nothing_is_left_to_say() {
    let mut world = World::default();
    world.ledger.connected();
    world.ledger.offer(5);
    world.settle();
    assert_eq!(world.ledger.acked(), 5);
    world.take(&Step::Forget);
    assert_eq!(world.ledger.due(), Some(DueFrame::Question(5)));
    assert!(!world.ledger.is_done());
    world.settle();
    assert_eq!(world.hub.told, [1, 2, 3, 4, 5]);
    assert_eq!(world.missing, 0);
}

#[test]
fn what_is_given_away_makes_a_new_life() {
    let mut world = World::default();
    world.ledger.connected();
    world.ledger.offer(5);
    world.settle();
    world.ledger.offer(2);
    world.ledger.forget(4);
    world.take(&Step::Forget);
    world.settle();
    assert_eq!((world.hub.told, world.missing, world.ledger.life), (vec![5, 6, 7], 4, 2));
}

#[test]
fn answers_to_frames_of_an_older_connection_mean_nothing() {
    let mut ledger = AckLedger::default();
    ledger.offer(4);
    ledger.connected();
    let old = ledger.send(2);
    ledger.lost();
    ledger.connected();
    assert!(!ledger.ack(old.id));
    assert_eq!(ledger.gap(old.id, 9), GapRecovery::Stale);
    assert_eq!(ledger.due(), Some(DueFrame::Events(0)));
}

#[test]
fn i7_frames_without_an_ack_are_bounded() {
    let mut ledger = AckLedger::default();
    ledger.offer(1_000);
    ledger.connected();
    while let Some(DueFrame::Events(after)) = ledger.due() {
        ledger.send(after + 1);
    }
    assert_eq!(ledger.flights.len(), FLIGHTS_MAX);
}
