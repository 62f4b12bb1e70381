//! Random schedules of hubs that claim, write, are paused, wake and end, against a database in memory whose transactions follow one another.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const LEASE: u64 = 3;
const HUBS: usize = 3;
const CONVERSATIONS: u8 = 2;

/// The tables, and the database's clock.
#[derive(Debug, Default)]
struct Tables {
    now: u64,
    lives: Vec<Life>,
    owners: HashMap<u8, i64>,
    /// Who wrote each event.
    written: HashMap<u8, Vec<i64>>,
}

#[derive(Debug)]
struct Life {
    expires_at: u64,
    is_over: bool,
    ended_well: bool,
}

/// A hub: its life, and what it believes of conversations, each with the head that it knows.
#[derive(Debug, Default)]
struct Hub {
    life: i64,
    believes: HashMap<u8, usize>,
}

#[derive(Debug, Clone)]
enum Step {
    Tick,
    Renew(usize),
    Claim(usize, u8),
    Append(usize, u8),
    End(usize),
    Restart(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (hub, conversation) = (0..HUBS, 0..CONVERSATIONS);
    prop_oneof![
        3 => Just(Step::Tick),
        2 => hub.clone().prop_map(Step::Renew),
        4 => (hub.clone(), conversation.clone()).prop_map(|(hub, of)| Step::Claim(hub, of)),
        6 => (hub.clone(), conversation).prop_map(|(hub, of)| Step::Append(hub, of)),
        1 => hub.clone().prop_map(Step::End),
        1 => hub.prop_map(Step::Restart),
    ]
}

impl Tables {
    fn begin(&mut self) -> i64 {
        let life = Life { expires_at: self.now + LEASE, is_over: false, ended_well: false };
        self.lives.push(life);
        self.newest()
    }

    fn newest(&self) -> i64 {
        i64::try_from(self.lives.len()).unwrap()
    }

    fn life(&mut self, number: i64) -> &mut Life {
        &mut self.lives[usize::try_from(number).unwrap() - 1]
    }

    fn row(&mut self, number: i64) -> LifeRow {
        let now = self.now;
        let life = self.life(number);
        LifeRow {
            number,
            is_over: life.is_over,
            is_expired: life.expires_at <= now,
            ended_well: life.ended_well,
            address: Some(Arc::from("http://hub")),
            left_on: Some(1),
            timeline: Some(1),
        }
    }

    fn renew(&mut self, me: i64) -> LeaseRenewal {
        let expires_at = self.now + LEASE;
        let life = self.life(me);
        if !life.is_over {
            life.expires_at = expires_at;
        }
        renewal(u64::from(!life.is_over))
    }

    /// One transaction: true if the claimant has the conversation after it.
    fn claim(&mut self, me: i64, of: u8) -> bool {
        if self.life(me).is_over {
            return false;
        }
        let Some(owner) = self.owners.get(&of).copied() else {
            self.owners.insert(of, me);
            return true;
        };
        match decide_ownership(me, &self.row(owner)) {
            OwnershipDecision::Held => true,
            OwnershipDecision::Take { ends, .. } => {
                if let Some(ends) = ends {
                    self.life(ends).is_over = true;
                }
                self.owners.insert(of, me);
                true
            }
            OwnershipDecision::Follow(_) | OwnershipDecision::Closed => false,
        }
    }

    /// One transaction behind the fence: the life is not over, it has the conversation, and the head is the one that it knows.
    fn append(&mut self, me: i64, of: u8, head: usize) -> bool {
        let is_let_through = !self.life(me).is_over && self.owners.get(&of) == Some(&me);
        let written = self.written.entry(of).or_default();
        if is_let_through && written.len() == head {
            written.push(me);
            return true;
        }
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A life that was followed by another in a conversation never writes to it again, whatever was paused for how long.
    #[test]
    fn i9_two_owners_at_once_are_impossible(steps in proptest::collection::vec(step(), 1..120)) {
        let mut tables = Tables::default();
        let mut hubs: Vec<Hub> =
            (0..HUBS).map(|_| Hub { life: tables.begin(), ..Hub::default() }).collect();
        for step in steps {
            match step {
                Step::Tick => tables.now += 1,
                Step::Renew(hub) => drop(tables.renew(hubs[hub].life)),
                Step::Claim(hub, of) => {
                    if tables.claim(hubs[hub].life, of) {
                        let head = tables.written.get(&of).map_or(0, Vec::len);
                        hubs[hub].believes.insert(of, head);
                    }
                }
                Step::Append(hub, of) => {
                    let life = hubs[hub].life;
                    if let Some(head) = hubs[hub].believes.get_mut(&of)
                        && tables.append(life, of, *head)
                    {
                        *head += 1;
                    }
                }
                Step::End(hub) => {
                    let life = tables.life(hubs[hub].life);
                    (life.ended_well, life.is_over) = (!life.is_over, true);
                }
                Step::Restart(hub) => hubs[hub] = Hub { life: tables.begin(), ..Hub::default() },
            }
            for of in 0..CONVERSATIONS {
                let owner = tables.owners.get(&of).copied();
                let may: Vec<i64> = (1..=tables.newest())
                    .filter(|life| owner == Some(*life) && !tables.life(*life).is_over)
                    .collect();
                prop_assert!(may.len() <= 1);
                // Each life wrote without another in between.
                let written = tables.written.get(&of).cloned().unwrap_or_default();
                let mut runs = written.clone();
                runs.dedup();
                let mut once = runs.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(runs.len(), once.len(), "{:?}", written);
            }
        }
    }
}

#[test]
fn a_hub_that_lives_is_followed_and_one_that_died_is_taken_over() {
    let row = |is_over, is_expired, ended_well| LifeRow {
        number: 1,
        is_over,
        is_expired,
        ended_well,
        address: Some(Arc::from("http://a")),
        left_on: Some(1),
        timeline: Some(1),
    };
    assert_eq!(decide_ownership(1, &row(false, true, false)), OwnershipDecision::Held);
    assert_eq!(
        decide_ownership(2, &row(false, false, false)),
        OwnershipDecision::Follow(Arc::from("http://a"))
    );
    assert_eq!(
        decide_ownership(2, &row(false, true, false)),
        OwnershipDecision::Take { ends: Some(1), past: Handover::Torn }
    );
    assert_eq!(
        decide_ownership(2, &row(true, true, true)),
        OwnershipDecision::Take { ends: None, past: Handover::Whole }
    );
    assert_eq!(
        decide_ownership(2, &row(true, true, false)),
        OwnershipDecision::Take { ends: None, past: Handover::Torn }
    );
    assert_eq!(
        decide_ownership(2, &LifeRow { address: None, ..row(false, false, false) }),
        OwnershipDecision::Closed
    );
    assert_eq!(renewal(0), LeaseRenewal::StepsDown);
}

#[test]
fn i2_what_was_left_well_is_whole_on_the_timeline_on_which_it_was_left() {
    let past = |left_on, timeline| {
        let row = LifeRow {
            number: 1,
            is_over: true,
            is_expired: true,
            ended_well: true,
            address: Some(Arc::from("http://a")),
            left_on,
            timeline,
        };
        match decide_ownership(2, &row) {
            OwnershipDecision::Take { ends: None, past } => past,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(past(Some(1), Some(1)), Handover::Whole);
    assert_eq!(past(Some(1), Some(2)), Handover::Torn, "a standby was promoted since");
    assert_eq!(past(None, Some(2)), Handover::Torn, "an older version left it");
    assert_eq!(past(Some(2), None), Handover::Torn, "it was left on another database");
    assert_eq!(past(None, None), Handover::Whole, "this database never says");
}
