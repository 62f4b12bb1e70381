//! What goes wrong, one thing after the other: a hub dies or is paused, the network between some machines is cut, the database fails over,
//! fills its disk, or has a slow one. Each begins and ends here; what everybody else makes of it is looked at elsewhere.

use std::net::Ipv4Addr;
use std::time::Duration;

use tests::wait::load_for;

use super::cluster::{Cluster, HUBS};
use super::databases::Waiting;
use crate::settings::SeededRandom;

/// How long a hub is paused or cut off: longer than the lease of 3 s.
const LONG_MS: (u64, u64) = (3_500, 6_000);

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    KillHub,
    KillOwner,
    PauseHub,
    CutFromDatabases,
    CutFromHubs,
    CutFromBoth,
    Promotion,
    FullDisk,
    SlowDisk,
}

use FaultKind::{
    CutFromBoth, CutFromDatabases, CutFromHubs, FullDisk, KillHub, KillOwner, PauseHub, Promotion, SlowDisk,
};

/// All kinds, by what fails: a process, the network, a database.
const GROUPS: [[FaultKind; 3]; 3] = [
    [KillHub, KillOwner, PauseHub],
    [CutFromDatabases, CutFromHubs, CutFromBoth],
    [Promotion, FullDisk, SlowDisk],
];

impl FaultKind {
    /// For the figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            KillHub => "a hub is killed",
            KillOwner => "the hub that owns most is killed",
            PauseHub => "a hub is paused",
            CutFromDatabases => "a hub is cut off from the databases",
            CutFromHubs => "a hub is cut off from other hubs",
            CutFromBoth => "a hub is cut off from both",
            Promotion => "the standby is promoted",
            FullDisk => "a database's disk is full",
            SlowDisk => "a database's disk is slow",
        }
    }
}

/// Which faults come, without end: all nine in each round, in an order of chance in which a process, the network and a database take turns.
pub(super) struct FaultPlan {
    random: SeededRandom,
    /// The one kind that comes, if only one does.
    only: Option<FaultKind>,
    /// Those of this round, the next one last.
    round: Vec<FaultKind>,
}

impl FaultPlan {
    /// All kinds, or the one with the number `only`, from 1.
    pub(super) fn new(random: SeededRandom, only: u64) -> Self {
        let only = only.checked_sub(1).map(|number| GROUPS.as_flattened()[number as usize]);
        Self { random, only, round: Vec::new() }
    }

    pub(super) fn next(&mut self) -> FaultKind {
        if let Some(only) = self.only {
            return only;
        }
        if self.round.is_empty() {
            let [processes, networks, databases] = GROUPS.map(|group| self.shuffled(group));
            for ((process, network), database) in processes.into_iter().zip(networks).zip(databases) {
                let turn = self.shuffled([process, network, database]);
                self.round.extend(turn);
            }
        }
        self.round.pop().expect("a round was begun")
    }

    fn shuffled<T: Copy>(&mut self, mut all: [T; 3]) -> [T; 3] {
        for place in (1..all.len()).rev() {
            all.swap(place, self.random.between(0, place as u64 + 1) as usize);
        }
        all
    }
}

/// Lets a fault happen from its beginning to its end. What it was, with what chance decided about it.
pub(super) async fn inflict(cluster: &mut Cluster, kind: FaultKind, random: &mut SeededRandom) -> String {
    let hub = random.between(0, HUBS as u64) as usize;
    let long = Duration::from_millis(random.between(LONG_MS.0, LONG_MS.1));
    match kind {
        KillHub => kill(cluster, hub, random).await,
        KillOwner => {
            let owner = cluster.busiest();
            kill(cluster, owner, random).await
        }
        PauseHub => {
            let hub = if random.between(0, 2) == 0 { cluster.busiest() } else { hub };
            cluster.hubs[hub].hub.signal("STOP").await;
            load_for(long).await;
            cluster.hubs[hub].hub.signal("CONT").await;
            format!("hub {hub} for {long:?}")
        }
        CutFromDatabases => {
            let away = databases(cluster);
            cut(cluster, hub, &away, long).await
        }
        CutFromHubs => {
            let mut away = others(cluster, hub);
            away.truncate(random.between(1, HUBS as u64) as usize);
            cut(cluster, hub, &away, long).await
        }
        CutFromBoth => {
            let away = [databases(cluster), others(cluster, hub)].concat();
            cut(cluster, hub, &away, long).await
        }
        Promotion => promote(cluster, random).await,
        FullDisk => {
            let is_primary = random.between(0, 3) > 0;
            let full = if is_primary { cluster.primary() } else { cluster.standby() };
            let failures = full.stay_full(cluster.primary(), long).await;
            format!("the {} for {long:?}, which found {failures} times no room", role(is_primary))
        }
        SlowDisk => {
            let is_primary = random.between(0, 2) == 0;
            if is_primary {
                cluster.primary().stall(long, random).await;
            } else {
                cluster.standby().stall_receiver(long, random).await;
            }
            format!("the {} for {long:?}", role(is_primary))
        }
    }
}

fn role(is_primary: bool) -> &'static str {
    if is_primary { "primary" } else { "standby" }
}

/// Kills a hub and starts it again after a while.
async fn kill(cluster: &mut Cluster, hub: usize, random: &mut SeededRandom) -> String {
    let away = Duration::from_millis(random.between(0, 5_000));
    cluster.hubs[hub].hub.kill().await;
    load_for(away).await;
    cluster.hubs[hub].hub.start_again().await;
    format!("hub {hub}, away for {away:?}")
}

fn databases(cluster: &Cluster) -> Vec<Ipv4Addr> {
    cluster.databases.iter().map(super::databases::DatabaseServer::address).collect()
}

fn others(cluster: &Cluster, hub: usize) -> Vec<Ipv4Addr> {
    let all = cluster.hubs.iter().enumerate().filter(|(number, _)| *number != hub);
    all.map(|(_, node)| node.address()).collect()
}

/// Cuts a hub off from `away` for `time`.
async fn cut(cluster: &Cluster, hub: usize, away: &[Ipv4Addr], time: Duration) -> String {
    let here = cluster.hubs[hub].address();
    cluster.network.cut(here, away);
    load_for(time).await;
    cluster.network.mend(here, away);
    format!("hub {hub} from {} machines for {time:?}", away.len())
}

/// The primary is lost: killed, or silent for everybody. The standby becomes the primary; what was the primary is made a standby of it.
/// Until then commits wait for a standby, or are told not to.
async fn promote(cluster: &mut Cluster, random: &mut SeededRandom) -> String {
    let (is_silent, is_alone) = (random.between(0, 2) == 0, random.between(0, 2) == 0);
    let away = Duration::from_millis(random.between(0, 4_000));
    let old = cluster.primary().address();
    let mut everybody: Vec<Ipv4Addr> = cluster.hubs.iter().map(super::cluster::HubMachine::address).collect();
    everybody.extend([cluster.standby().address(), cluster.network.here()]);
    if is_silent {
        cluster.network.cut(old, &everybody);
    } else {
        cluster.both().0.kill();
    }
    load_for(away).await;
    cluster.standby().promote();
    cluster.primary = 1 - cluster.primary;
    if is_alone {
        cluster.primary().wait_for_standby(Waiting::ForNobody);
    }
    // It must not come back as it is.
    cluster.both().1.kill();
    if is_silent {
        cluster.network.mend(old, &everybody);
    }
    let (primary, standby) = cluster.both();
    standby.follow(primary);
    cluster.primary().wait_for_standby(Waiting::ForStandby);
    let how = if is_silent { "silent" } else { "killed" };
    let waits = if is_alone { "nobody waits for" } else { "commits wait for" };
    format!("after {away:?} without the primary, which was {how}; {waits} a standby until there is one")
}
