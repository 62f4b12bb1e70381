//! `cargo xtask cluster`: three hubs on one log in PostgreSQL, on this machine, to try out what they do when one of them dies.
//!
//! ```text
//! xtask ── primary ── standby      each in a group of its own: Ctrl-C reaches xtask alone,
//!       ├─ hub a (demo)            which ends hubs first, so that they can store what they have
//!       ├─ hub b
//!       └─ hub c
//! ```
//!
//! Everything is in one temporary folder, which is removed at the end: data, keys, and what each program says.

mod child;
mod databases;
mod folder;
mod hubs;
mod told;

use crate::console::say;
use crate::database;
use crate::failure::{CommandFailure, CommandResult};
use crate::product;
use crate::workspace::Workspace;
use child::ChildServer;
use databases::Databases;
use folder::ClusterFolder;
use hubs::ClusterHub;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use told::ClusterFacts;

/// What the command waits for once everything runs.
#[derive(Debug, PartialEq, Eq)]
enum ClusterEvent {
    /// The person wants everything to end.
    Stop,
    /// The program of this name has ended.
    Ended(String),
}

/// Everything that was started. Dropping it ends the hubs, then the databases, and removes the folder.
struct Cluster {
    hubs: Vec<ClusterHub>,
    databases: Databases,
    folder: ClusterFolder,
}

/// Starts two databases and three hubs, says what to try, and ends everything when it is interrupted.
pub(crate) fn run(ws: &Workspace) -> CommandResult {
    database::ensure("the databases of a cluster")?;
    let fanlight = program(ws)?;
    let (sender, events) = channel();
    watch_signals(sender.clone())?;
    let cluster = Cluster::start(&fanlight, &sender)?;
    let facts = cluster.facts(fanlight);
    say(facts.summary());
    wait(&events, &facts);
    say("ending the hubs, then the databases");
    Ok(())
}

/// The hub's program: `FANLIGHT_BIN`, else the product, which is built first.
fn program(ws: &Workspace) -> CommandResult<PathBuf> {
    if let Some(program) = std::env::var_os("FANLIGHT_BIN").map(PathBuf::from) {
        let program = program.canonicalize();
        return program.map_err(CommandFailure::io("finding the program that FANLIGHT_BIN names"));
    }
    product::build(ws)?;
    Ok(ws.product())
}

/// Sends an event for each signal that asks for the end. From here on none of them ends this process by itself.
fn watch_signals(events: Sender<ClusterEvent>) -> CommandResult {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(CommandFailure::io("watching signals"))?;
    thread::spawn(move || {
        for _signal in &mut signals {
            // The command is over and nobody waits any more.
            let _gone = events.send(ClusterEvent::Stop);
        }
    });
    Ok(())
}

/// Waits until somebody wants the end, and says what to do about each program that ended on its own.
fn wait(events: &Receiver<ClusterEvent>, facts: &ClusterFacts) {
    while let Ok(ClusterEvent::Ended(name)) = events.recv() {
        say(facts.ended(&name));
    }
}

impl Cluster {
    fn start(fanlight: &Path, events: &Sender<ClusterEvent>) -> CommandResult<Self> {
        let folder = ClusterFolder::create()?;
        say(format!("starting two databases and three hubs in {}", folder.path().display()));
        let databases = Databases::start(&folder, events)?;
        let mut cluster = Self { hubs: Vec::new(), databases, folder };
        let secret = cluster.folder.secret("hub.secret")?;
        for name in hubs::NAMES {
            let start = hubs::HubStart {
                program: fanlight,
                name,
                log: &cluster.databases.url(),
                secret: &secret,
                pass_file: cluster.databases.pass_file(),
                folder: cluster.folder.path(),
            };
            let hub = ClusterHub::start(&start, events)?;
            cluster.hubs.push(hub);
        }
        Ok(cluster)
    }

    fn facts(&self, fanlight: PathBuf) -> ClusterFacts {
        ClusterFacts {
            fanlight,
            folder: self.folder.path().to_owned(),
            hubs: self.hubs.iter().map(ClusterHub::told).collect(),
            databases: self.databases.told(),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // All at once, so that they drain side by side. The fields are dropped afterwards, in their order.
        self.hubs.iter_mut().map(ClusterHub::server).for_each(ChildServer::ask_to_end);
    }
}
