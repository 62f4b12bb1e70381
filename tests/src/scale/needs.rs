//! What the steps need of the machines, and which need is met last.

use super::load::Load;
use super::traffic::{HubSteps, Steps};
use super::units::Units;

/// The machines, all of them assumptions but the bounds of the code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machines {
    /// Cores of a hub.
    pub hub_cores: f64,
    /// Memory of a hub, in bytes.
    pub hub_bytes: f64,
    /// What a hub can send in a second, in bytes.
    pub hub_network: f64,
    /// Cores of a database.
    pub database_cores: f64,
    /// Transactions that a database makes in a second, by the flushes of its log.
    pub database_transactions: f64,
    /// Reads of one row by its key that a database answers in a second, each in a transaction that writes nothing.
    pub database_reads: f64,
    /// What a database writes into its log in a second, in bytes.
    pub database_wal: f64,
    /// Connections that a database has room for.
    pub database_connections: f64,
    /// Conversations in the memory of a hub (`CONVERSATIONS_MAX` in `shared/model/src/limits.rs`).
    pub conversations: f64,
    /// Connections of a hub to its database (six readers, the writer and the lease, in `server/log/src/postgres`).
    pub connections: f64,
}

impl Default for Machines {
    fn default() -> Self {
        Self {
            hub_cores: 16.0,
            hub_bytes: 64e9,
            hub_network: 10e9 / 8.0,
            database_cores: 64.0,
            database_transactions: 20_000.0,
            database_reads: 200_000.0,
            database_wal: 500e6,
            database_connections: 1_000.0,
            conversations: 50_000.0,
            connections: 8.0,
        }
    }
}

/// A resource that is used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// The name of it.
    pub of: &'static str,
    /// How much is needed, at the hub or database that needs most.
    pub needs: f64,
    /// How much of it there is.
    pub has: f64,
    /// The unit in which both are counted.
    pub in_units: &'static str,
}

impl Need {
    /// How much of it is in use; over 1 is more than there is.
    pub fn share(&self) -> f64 {
        self.needs / self.has
    }
}

/// The CPU of hubs by what it is for, in cores.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cores {
    /// Cores that take events in.
    pub events: f64,
    /// Cores that store events.
    pub stored: f64,
    /// Cores that pass events on to their owners, and ask who these are.
    pub passed: f64,
    /// Cores for frames between hubs, at both ends.
    pub links: f64,
    /// Cores for frames to viewers.
    pub viewers: f64,
}

impl Cores {
    /// The sum of all cores.
    pub fn sum(&self) -> f64 {
        self.events + self.stored + self.passed + self.links + self.viewers
    }
}

/// The cores that all hubs use together.
pub fn hub_cores(steps: &Steps, units: &Units) -> Cores {
    let cores = |count: f64, micros: f64| count * micros / 1e6;
    Cores {
        events: cores(steps.events, units.event.amount),
        stored: cores(steps.rows, units.stored.amount) + cores(steps.transactions, units.storing.amount),
        passed: cores(steps.passed, units.passed.amount) + cores(steps.lookups, units.asked.amount),
        links: cores(steps.linked, units.linked.amount)
            + cores(steps.link_frames, units.link_out.amount + units.link_in.amount),
        viewers: cores(steps.shown, units.shown.amount) + cores(steps.deliveries, units.delivery.amount),
    }
}

/// The cores that all databases use together.
pub fn database_cores(steps: &Steps, units: &Units) -> f64 {
    let Units { transaction, row, lookup, look, .. } = units;
    let micros = steps.transactions * transaction.amount
        + steps.rows * row.amount
        + steps.lookups * lookup.amount
        + steps.looks * look.amount;
    micros / 1e6
}

/// The average hub of `steps`.
pub fn average(steps: &Steps, load: &Load) -> HubSteps {
    let hubs = f64::from(load.hubs);
    HubSteps {
        steps: Steps {
            events: steps.events / hubs,
            passed: steps.passed / hubs,
            linked: steps.linked / hubs,
            link_frames: steps.link_frames / hubs,
            shown: steps.shown / hubs,
            deliveries: steps.deliveries / hubs,
            transactions: steps.transactions / hubs,
            rows: steps.rows / hubs,
            lookups: steps.lookups / hubs,
            looks: steps.looks / hubs,
            follows: steps.follows / hubs,
        },
        link_frames_in: steps.link_frames / hubs,
        passed_in: steps.passed / hubs,
    }
}

/// The cores that one hub uses.
pub fn cores_of(hub: &HubSteps, units: &Units) -> f64 {
    let steps = &hub.steps;
    let received = (hub.link_frames_in - steps.link_frames) * units.link_in.amount / 1e6;
    // `hub_cores` counts each frame between hubs at both ends, and this hub gets others than it sends.
    hub_cores(steps, units).sum() + received
}

/// The bytes that one hub sends in a second.
pub fn sent_by(hub: &HubSteps, units: &Units) -> f64 {
    (hub.steps.deliveries + hub.steps.link_frames + hub.steps.passed) * units.frame.amount
}

/// The memory of a hub with so many viewers and conversations.
pub fn memory_of(viewers: f64, conversations: f64, units: &Units) -> f64 {
    viewers * units.viewer.amount + conversations * units.conversation.amount
}

/// What is needed in a second in which `all` happens, with `hub` as the hub that is looked at: the average or the busiest.
pub fn needs(load: &Load, all: &Steps, hub: &HubSteps, (units, machines): (&Units, &Machines)) -> [Need; 9] {
    let (hubs, databases) = (f64::from(load.hubs), f64::from(load.design.databases));
    let held = f64::from(load.agents) / hubs + hub.steps.follows;
    let viewers = hub.steps.deliveries / load.events_per_s;
    let need = |of, needs, has, in_units| Need { of, needs, has, in_units };
    [
        need("hub: CPU", cores_of(hub, units), machines.hub_cores, "cores"),
        need("hub: memory", memory_of(viewers, held, units) / 1e9, machines.hub_bytes / 1e9, "GB"),
        need("hub: conversations in memory", held, machines.conversations, ""),
        need("hub: network", sent_by(hub, units) * 8e-9, machines.hub_network * 8e-9, "Gbit/s"),
        need("database: CPU", database_cores(all, units) / databases, machines.database_cores, "cores"),
        need("database: transactions", all.transactions / databases, machines.database_transactions, "/s"),
        need("database: reads of owners", all.lookups / databases, machines.database_reads, "/s"),
        need(
            "database: its log",
            all.rows * units.wal.amount / databases / 1e6,
            machines.database_wal / 1e6,
            "MB/s",
        ),
        need("database: connections", hubs * machines.connections, machines.database_connections, ""),
    ]
}

/// The needs by how much of each is in use, the most first.
pub fn by_share(mut needs: Vec<Need>) -> Vec<Need> {
    needs.sort_by(|one, other| other.share().total_cmp(&one.share()));
    needs
}
