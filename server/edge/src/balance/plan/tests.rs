//! What moves, over random loads: hubs that are given conversations with random rates, and decide each for itself by what the others told a look ago.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What a hub of the test may use.
const ROOM: u64 = 1_000;

/// The time between two looks.
const LOOK_MS: u64 = 2_000;

fn id(number: usize) -> ConversationId {
    ConversationId::parse(&format!("c{number}")).unwrap()
}

fn hub(number: usize) -> Arc<str> {
    Arc::from(format!("http://10.0.0.{number}"))
}

fn load(used: u64) -> HubLoad {
    HubLoad { used_millicores: used, room_millicores: ROOM, arrivals: 0 }
}

fn busy(number: usize, events_per_minute: u64) -> Candidate {
    Candidate { conversation: id(number), events_per_minute, mobility: Mobility::Free }
}

/// What goes where, as numbers.
fn planned(own: u64, others: &[u64], rates: &[u64], moves: &Recollection, now: u64) -> Vec<(String, String)> {
    let others = others.iter().enumerate().map(|(at, used)| (hub(at), load(*used))).collect();
    let own_ones = rates.iter().enumerate().map(|(at, rate)| busy(at, *rate)).collect();
    let planned = plan(now, load(own), others, own_ones, moves);
    planned.into_iter().map(|it| (it.conversation.to_string(), it.to.to_string())).collect()
}

#[test]
fn the_busiest_go_to_the_least_full_until_the_hub_is_below_its_room() {
    let none = Recollection::default();
    let to = |conversation: &str, hub: &str| (conversation.to_owned(), format!("http://10.0.0.{hub}"));
    assert_eq!(planned(1_100, &[500, 200], &[600, 3_000, 7_000, 800], &none, 0), [to("c1", "1")]);
    let many = [1_000; 20];
    assert_eq!(planned(1_500, &[100, 130], &many, &none, 0), [to("c0", "0"), to("c1", "1")], "two at a look");
    assert!(planned(1_000, &[0], &many, &none, 0).is_empty(), "not above its room");
    assert!(planned(1_500, &[700, 900], &many, &none, 0).is_empty(), "nobody is clearly below");
    assert!(planned(1_500, &[100], &[59; 20], &none, 0).is_empty(), "nothing that is worth it");
    assert!(planned(1_500, &[0], &[9_000], &none, 0).is_empty(), "it would be too much there as well");
}

#[test]
fn hubs_that_take_no_part_or_were_given_enough_get_nothing_and_what_is_bound_stays() {
    let none = Recollection::default();
    let own = vec![busy(0, 1_000), Candidate { mobility: Mobility::Bound, ..busy(1, 2_000) }, busy(2, 900)];
    let off = HubLoad { room_millicores: 0, ..load(0) };
    let enough = HubLoad { arrivals: ARRIVALS_PER_MINUTE_MAX, ..load(0) };
    let others = vec![(hub(0), off), (hub(1), enough)];
    assert_eq!(plan(0, load(2_000), others.clone(), own.clone(), &none), []);
    let others = [others, vec![(hub(2), load(0))]].concat();
    let to = |number| MovePlan { conversation: id(number), to: hub(2) };
    assert_eq!(plan(0, load(2_000), others, own, &none), [to(0)], "the other one would fill it");
}

#[test]
fn what_was_moved_stays_for_ten_minutes_and_what_could_not_be_moved_for_one() {
    let mut moves = Recollection::default();
    moves.arrived(&id(0), 0);
    moves.stayed(&id(1), 0);
    let at =
        |now| planned(1_500, &[0], &[700, 600, 500, 500, 500, 500], &moves, now).into_iter().map(|it| it.0);
    assert_eq!(at(0).collect::<Vec<_>>(), ["c2", "c3"]);
    assert_eq!(at(RETRY_MS).collect::<Vec<_>>(), ["c1", "c2"]);
    assert_eq!(at(QUIET_MS).collect::<Vec<_>>(), ["c0", "c1"]);
    assert_eq!((moves.arrivals(59_999), moves.arrivals(60_000)), (1, 0));
}

/// Hubs with conversations, that look one after the other.
struct Cluster {
    /// What else each hub has to do, in thousandths of a core.
    other_work: Vec<u64>,
    hubs: Vec<Recollection>,
    /// Where each conversation is, and its events in a minute.
    conversations: Vec<(usize, u64)>,
    now: u64,
    /// Each move: when, what, from where, to where.
    made: Vec<(u64, usize, usize, usize)>,
}

impl Cluster {
    fn new(other_work: Vec<u64>, conversations: Vec<(usize, u64)>) -> Self {
        let hubs = other_work.iter().map(|_| Recollection::default()).collect();
        Self { other_work, hubs, conversations, now: 0, made: Vec::new() }
    }

    /// What a hub has to do: an event a second is a hundredth of its room.
    fn load(&self, at: usize) -> HubLoad {
        let events = self.conversations.iter().filter(|(place, _)| *place == at).map(|it| it.1).sum::<u64>();
        let used_millicores = self.other_work[at] + events / 6;
        HubLoad { used_millicores, room_millicores: ROOM, arrivals: self.hubs[at].arrivals(self.now) }
    }

    /// One look of each hub; all see what the others told before. `refuses` says which moves do not come about.
    fn look(&mut self, refuses: impl Fn(usize) -> bool) {
        let told: Vec<_> = (0..self.hubs.len()).map(|at| (hub(at), self.load(at))).collect();
        for from in 0..self.hubs.len() {
            self.hubs[from].forget_old(self.now);
            let others = told.iter().filter(|(address, _)| *address != hub(from)).cloned().collect();
            let own = self.conversations.iter().enumerate().filter(|(_, (place, _))| *place == from);
            let own = own.map(|(number, (_, rate))| busy(number, *rate)).collect();
            for MovePlan { conversation, to } in plan(self.now, told[from].1, others, own, &self.hubs[from]) {
                let to = (0..self.hubs.len()).find(|at| hub(*at) == to).unwrap();
                let number = (0..self.conversations.len()).find(|at| id(*at) == conversation).unwrap();
                self.hubs[from].gave(&conversation, self.now);
                if refuses(number) {
                    self.hubs[from].stayed(&conversation, self.now);
                    continue;
                }
                assert!(told[to].1.permille() <= TARGET_PERMILLE_MAX, "a hub that is full gets nothing");
                assert!(told[from].1.is_overloaded(), "only an overloaded hub gives");
                self.hubs[to].arrived(&conversation, self.now);
                self.conversations[number].0 = to;
                self.made.push((self.now, number, from, to));
            }
        }
        self.now += LOOK_MS;
    }

    /// No hub gave more within any minute than it may, and nothing moved twice within the time for which it stays.
    fn check(&self) {
        for (at, (when, number, from, _)) in self.made.iter().enumerate() {
            let later = &self.made[at + 1..];
            let minute = later.iter().filter(|it| it.2 == *from && it.0 < when + MINUTE_MS);
            assert!(minute.count() < MOVES_PER_MINUTE_MAX);
            let again = later.iter().find(|it| it.1 == *number);
            assert!(again.is_none_or(|again| again.0 >= when + QUIET_MS), "{again:?} after {when}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn over_random_histories_of_load_no_full_hub_gets_anything_moves_are_bounded_and_nothing_goes_to_and_fro(
        other_work in proptest::collection::vec(0_u64..1_500, 2..6),
        places in proptest::collection::vec((0_usize..6, 0_u64..2_000), 1..60),
        changes in proptest::collection::vec((0_usize..60, 0_u64..2_000, 0_usize..6, 0_u64..1_500), 500),
        refused in 1_usize..12,
    ) {
        let hubs = other_work.len();
        let places = places.into_iter().map(|(place, rate)| (place % hubs, rate)).collect();
        let mut cluster = Cluster::new(other_work, places);
        for (number, rate, place, work) in changes {
            let count = cluster.conversations.len();
            cluster.conversations[number % count].1 = rate;
            cluster.other_work[place % hubs] = work;
            cluster.look(|number| number % refused == 1);
        }
        cluster.check();
    }

    #[test]
    fn with_loads_that_stay_the_same_moves_come_to_an_end_and_help(
        other_work in proptest::collection::vec(0_u64..400, 2..6),
        rates in proptest::collection::vec(60_u64..600, 1..120),
    ) {
        // All are at the first hub.
        let mut cluster = Cluster::new(other_work, rates.into_iter().map(|rate| (0, rate)).collect());
        let before = cluster.load(0);
        for _ in 0..900 {
            cluster.look(|_| false);
        }
        let (count, others) = (cluster.made.len(), cluster.hubs.len() - 1);
        for _ in 0..900 {
            cluster.look(|_| false);
        }
        prop_assert_eq!(cluster.made.len(), count, "after half an hour nothing moves any more");
        let mut moved = BTreeMap::<usize, usize>::new();
        cluster.made.iter().for_each(|it| *moved.entry(it.1).or_default() += 1);
        prop_assert!(moved.values().all(|times| *times == 1), "each moves once");
        prop_assert!((1..=others).all(|at| !cluster.load(at).is_overloaded()));
        let is_full = |at| cluster.load(at).with(170).permille() > TARGET_PERMILLE_MAX;
        let helped = !cluster.load(0).is_overloaded() || (1..=others).all(is_full);
        prop_assert!(helped, "{before:?} became {:?}", cluster.load(0));
    }

    #[test]
    fn where_all_are_loaded_alike_nothing_moves(
        hubs in 2_usize..6,
        used in 0_u64..5_000,
        rates in proptest::collection::vec(0_u64..5_000, 0..40),
    ) {
        let none = Recollection::default();
        let others = (1..hubs).map(|at| (hub(at), load(used))).collect();
        let own = rates.iter().enumerate().map(|(at, rate)| busy(at, *rate)).collect();
        prop_assert_eq!(plan(0, load(used), others, own, &none), []);
    }
}
