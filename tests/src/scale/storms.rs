//! What comes all at once: a hub dies, and all hubs are restarted one after the other.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a simulation: numbers of hubs are computed beside their use, and a wrong one must stop the run"
)]

use super::load::{Dice, Load};
use super::needs::Machines;
use super::placed::{Placed, PlacedConversation};
use super::units::Units;

/// The wait of a client before its first attempt, in seconds: at least, and at random so much more (`shared/model/src/backoff.rs`).
const FIRST_WAIT_S: f64 = 0.25;

/// The lease of a hub, in seconds.
const LEASE_S: f64 = 3.0;

/// The time between two claims of a follower whose owner is gone, in seconds (`AGAIN` in `server/edge/src/peers.rs`).
const AGAIN_S: f64 = 0.1;

/// Reads and claims of a hub at a time (`READERS_MAX` in `server/log/src/postgres/database.rs`).
const CLAIMS_AT_ONCE: f64 = 6.0;

/// How long a read of an owner is under way, in seconds: three round trips. An assumption.
const READ_S: f64 = 0.001;

/// How long a claim is under way after its read, in seconds: four round trips and a commit. An assumption.
const CLAIM_S: f64 = 0.004;

/// What the death of a hub comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Death {
    /// Viewers who connect again.
    pub viewers: f64,
    /// Most of them that come to one hub in a second.
    pub peak_per_hub: f64,
    /// When the last of them has been let in, in seconds after the death.
    pub all_back_s: f64,
    /// Conversations that the living hubs begin to follow for them.
    pub follows: f64,
    /// Conversations that had the dead hub as their owner, each counted at each hub that followed it.
    pub orphaned: f64,
    /// Reads of owners that the database is asked for in a second until the lease has run out, and could answer.
    pub reads_per_s: (f64, f64),
    /// Claims that are made in a second when it has run out, if each hub that followed a conversation makes one.
    pub claims_per_s: f64,
    /// When the last of those conversations has an owner again, in seconds after the death.
    pub all_owned_s: f64,
}

/// The hub with the most viewers dies. The living have `cores` left for what follows, each.
pub fn death(load: &Load, placed: &Placed, (units, machines): (&Units, &Machines), dice: &mut Dice) -> Death {
    let viewers = placed.viewers();
    let dead = (0..load.hubs).max_by_key(|hub| viewers[*hub as usize]).unwrap_or(0);
    // A hub that is busy lets newcomers in beside its work; half of its cores are what it has for them.
    let join_s = units.join.amount / 1e6 / (machines.hub_cores / 2.0);
    let mut arrivals: Vec<Vec<f64>> = vec![Vec::new(); load.hubs as usize];
    let (mut follows, mut orphaned) = (0_u64, 0_u64);
    for one in &placed.conversations {
        follows += scatter(one, dead, &mut arrivals, dice);
        if one.owner == dead {
            orphaned += one.followers().count() as u64;
        }
    }
    let peak = arrivals.iter_mut().map(|times| busiest_second(times)).max().unwrap_or(0);
    let back = arrivals.iter().map(|times| served(times, join_s)).fold(0.0, f64::max);
    let living = f64::from(load.hubs - 1);
    let databases = f64::from(load.design.databases);
    // Half of each database is what is left beside its work.
    let answers =
        |unit_us: f64, limit: f64| (machines.database_cores / (unit_us / 1e6)).min(limit) / 2.0 * databases;
    let reads = (orphaned as f64 / AGAIN_S).min(living * CLAIMS_AT_ONCE / READ_S);
    let claims = (living * CLAIMS_AT_ONCE / (READ_S + CLAIM_S))
        .min(answers(units.lookup.amount + units.claim.amount, machines.database_transactions));
    Death {
        viewers: viewers[dead as usize] as f64,
        peak_per_hub: peak as f64,
        all_back_s: back,
        follows: follows as f64,
        orphaned: orphaned as f64,
        reads_per_s: (reads, answers(units.lookup.amount, machines.database_reads)),
        claims_per_s: claims,
        all_owned_s: LEASE_S + if orphaned == 0 { 0.0 } else { orphaned as f64 / claims },
    }
}

/// Sends the viewers of one conversation at `dead` to other hubs. How many of those did not have the conversation before.
fn scatter(one: &PlacedConversation, dead: u32, arrivals: &mut [Vec<f64>], dice: &mut Dice) -> u64 {
    let at_dead = one.audience.iter().find(|(hub, _)| *hub == dead).map_or(0, |(_, viewers)| *viewers);
    let mut new = Vec::new();
    for _ in 0..at_dead {
        let hub = another(dead, arrivals.len() as u32, dice);
        arrivals[hub as usize].push(FIRST_WAIT_S * (1.0 + dice.share()));
        let is_known = hub == one.owner || one.audience.binary_search_by_key(&hub, |(hub, _)| *hub).is_ok();
        if !is_known {
            new.push(hub);
        }
    }
    new.sort_unstable();
    new.dedup();
    new.len() as u64
}

/// Any hub but this one.
fn another(hub: u32, hubs: u32, dice: &mut Dice) -> u32 {
    (hub + 1 + dice.below(hubs - 1)) % hubs
}

/// Most arrivals within a second. Sorts the times.
fn busiest_second(times: &mut [f64]) -> usize {
    times.sort_unstable_by(f64::total_cmp);
    let (mut first, mut most) = (0, 0);
    for (last, time) in times.iter().enumerate() {
        while *time - times[first] >= 1.0 {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

/// When the last one is served who came at these times, one after the other.
fn served(times: &[f64], each_s: f64) -> f64 {
    times.iter().fold(0.0, |free_at: f64, time| free_at.max(*time) + each_s)
}

/// What a restart of all hubs, one after the other, comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RollingRestart {
    /// How often a viewer has to connect again, on average.
    pub moves: f64,
    /// Viewers of the hub that is restarted last, by the average.
    pub last: f64,
    /// Most viewers that come to one hub at one restart. They come within half a second: a hub that stops asks for a wait between 0.5
    /// and 1 s (`retry` in `server/edge/src/config.rs`).
    pub most_to_one_hub: f64,
}

/// Restarts the hubs in order. The viewers of each go to all others, also to those that were restarted.
pub fn rolling_restart(load: &Load, placed: &Placed, dice: &mut Dice) -> RollingRestart {
    let mut viewers = placed.viewers();
    let (mut moves, mut last, mut most) = (0, 0, 0);
    for hub in 0..load.hubs {
        last = std::mem::take(&mut viewers[hub as usize]);
        moves += last;
        let before = viewers.clone();
        for _ in 0..last {
            viewers[another(hub, load.hubs, dice) as usize] += 1;
        }
        let came = viewers.iter().zip(&before).map(|(now, before)| now - before).max().unwrap_or(0);
        most = most.max(came);
    }
    let average = f64::from(load.viewers) / f64::from(load.hubs);
    RollingRestart {
        moves: moves as f64 / f64::from(load.viewers),
        last: last as f64 / average,
        most_to_one_hub: most as f64,
    }
}
