//! Several hubs on one database in a made-up world, from one seed: hubs are killed, stopped in order, paused for longer than their lease, and cut
//! off from the database and from one another; the database is away, full, promoted, and its answers are lost. Publishers and viewers go from
//! hub to hub.
//!
//! ```text
//! real       hub, conversations, fan-out, catch-up; owners, leases, claims, the plan of each transaction (`event_log::ModelLog` says which
//!            parts of the log); what a follower follows; what is done with a publication of another hub's conversation; the viewer's tracker
//! made up    sockets and links between hubs, clocks, the rows of the database, the moment at which each of them goes on
//! ```
//!
//! After a random history everything is mended, and then must hold: nothing that was acked as `replicated` was lost, and nothing that was
//! acked as `stored`, unless a standby was promoted that did not have it; every event is there once and in order; every viewer sees what
//! the log has; and no transaction of a hub was made after another one had what it changes (I1, I2, I4, I5, I9, I10).
//!
//! `FANLIGHT_SEED` runs one seed, `FANLIGHT_SEEDS` so many of them from `FANLIGHT_SEEDS_FROM` on.

use event_log::ModelFlaw;

use super::number;

mod faults;
mod judge;
mod link;
mod machine;
mod moves;
mod speaker;
mod watcher;
mod world;

use world::{Tally, World};

/// Seeds that every run of the tests tries.
const SEEDS: u64 = 150;

/// Seeds whose histories showed a fault once: what is said again after a conversation came back waited for a transaction that was lost (5262),
/// the log expected events that a promotion had lost (7604), and a conversation that nobody had went on in an epoch of which a promotion had lost
/// what was shown (9849).
const SEEDS_OF_FAULTS: [u64; 3] = [5_262, 7_604, 9_849];

/// Seeds within which each flaw must be found.
const SEEDS_FOR_A_FLAW: u64 = 60;

#[test]
fn i1_i2_i4_i5_i9_i10_several_hubs_in_a_bad_world_lose_and_double_nothing() {
    let first = number("FANLIGHT_SEEDS_FROM").unwrap_or(1);
    let seeds = match (number("FANLIGHT_SEED"), number("FANLIGHT_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count) => first..first + count.unwrap_or(SEEDS),
    };
    let mut told = Tally::default();
    for seed in seeds.clone() {
        // Printed by the harness when the seed fails.
        eprintln!("FANLIGHT_SEED={seed}");
        told.add(World::live(seed, None));
    }
    eprintln!("{} seeds: {told:?}", seeds.count());
    // One seed alone may have none of them.
    assert!(number("FANLIGHT_SEED").is_some() || (told.events > 0 && told.kills > 0 && told.resumes > 0));
}

#[test]
fn i1_i2_i9_histories_that_showed_a_fault_once_show_none() {
    for seed in SEEDS_OF_FAULTS {
        eprintln!("FANLIGHT_SEED={seed}");
        World::live(seed, None);
    }
}

/// The first seed whose history shows that a rule is left out.
fn found(flaw: ModelFlaw) -> Option<u64> {
    (1..=SEEDS_FOR_A_FLAW).find(|seed| std::panic::catch_unwind(|| World::live(*seed, Some(flaw))).is_err())
}

#[test]
fn i9_the_simulation_of_several_hubs_finds_a_writer_without_a_fence() {
    assert!(found(ModelFlaw::NoFence).is_some());
}

#[test]
fn i10_the_simulation_of_several_hubs_finds_marks_of_publishers_that_do_not_move_with_the_owner() {
    assert!(found(ModelFlaw::MarksStay).is_some());
}
