//! The hubs of a cluster.

use super::ClusterEvent;
use super::child::{ChildServer, ServerStart, bound_to_us};
use crate::failure::{CommandFailure, CommandResult};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::Sender;

/// The names of the hubs. The first has the demo.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Asks a hub to drain and to end.
const DRAIN: &str = "TERM";

/// A running hub. Dropping it drains and ends it.
#[derive(Debug)]
pub(super) struct ClusterHub {
    server: ChildServer,
    facts: HubFacts,
}

/// What is told of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HubFacts {
    pub(super) name: String,
    /// The URL at which it listens, without a path.
    pub(super) url: String,
    pub(super) pid: u32,
    /// The line that starts another one in its place.
    pub(super) again: String,
}

/// The settings with which a hub is started.
#[derive(Debug, Clone, Copy)]
pub(super) struct HubStart<'a> {
    pub(super) program: &'a Path,
    /// The name of the hub, one of [`NAMES`].
    pub(super) name: &'a str,
    /// The log, as `--log` takes it.
    pub(super) log: &'a str,
    /// The file with what the hubs know one another by.
    pub(super) secret: &'a Path,
    /// The file with the password of the database.
    pub(super) pass_file: &'a Path,
    /// The folder that holds the data directories of all hubs.
    pub(super) folder: &'a Path,
}

impl HubStart<'_> {
    /// The arguments of `fanlight` for a hub that listens at `address`, and which the others reach there.
    fn arguments(&self, address: &str) -> Vec<String> {
        let data = self.folder.join(format!("hub-{}", self.name));
        let mut arguments = vec![
            String::from("serve"),
            format!("--listen={address}"),
            format!("--hub-address=http://{address}"),
            format!("--hub-secret-file={}", self.secret.display()),
            format!("--log={}", self.log),
            format!("--data-dir={}", data.display()),
        ];
        if NAMES.first() == Some(&self.name) {
            arguments.push(String::from("--demo"));
        }
        arguments
    }

    /// The line for a shell that starts this hub at `address`.
    fn line(&self, address: &str) -> String {
        let words = self.arguments(address).join(" ");
        format!("PGPASSFILE={} {} {words}", self.pass_file.display(), self.program.display())
    }

    fn command(&self) -> Command {
        let mut command = bound_to_us(self.program, DRAIN, None);
        // Any free port: the hub says which one it took.
        command.args(self.arguments("127.0.0.1:0")).env("PGPASSFILE", self.pass_file);
        command
    }
}

impl ClusterHub {
    pub(super) fn start(start: &HubStart<'_>, events: &Sender<ClusterEvent>) -> CommandResult<Self> {
        let name = format!("hub {}", start.name);
        let ready = "listening on ";
        let how = ServerStart { name: &name, ready, end_signal: DRAIN, folder: start.folder };
        let (server, line) = how.start(start.command(), events)?;
        let address = line.split_once("http://").map(|(_, address)| address.trim());
        let address = address.ok_or_else(|| CommandFailure::new(format!("{name} says `{line}`")))?;
        let facts = HubFacts {
            url: format!("http://{address}"),
            pid: server.pid(),
            again: start.line(address),
            name,
        };
        Ok(Self { server, facts })
    }

    pub(super) fn server(&mut self) -> &mut ChildServer {
        &mut self.server
    }

    pub(super) fn told(&self) -> HubFacts {
        self.facts.clone()
    }
}

#[cfg(test)]
mod tests;
