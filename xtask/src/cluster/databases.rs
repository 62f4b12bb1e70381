//! Two PostgreSQL servers: a primary, and a standby that has each commit on its disk before the primary answers.

use super::ClusterEvent;
use super::child::{ChildServer, ServerStart, bound_to_us};
use super::folder::{ClusterFolder, random};
use crate::console::say;
use crate::database;
use crate::failure::{CommandFailure, CommandResult};
use crate::process::answer;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;

/// The role that the hubs and the standby come as.
pub(super) const ROLE: &str = "fanlight";

/// The name of the standby to the primary.
pub(super) const STANDBY: &str = "standby";

/// The name of the server that takes writes at first.
pub(super) const PRIMARY: &str = "primary";

/// Asks PostgreSQL to end at once and in order.
const FAST: &str = "INT";

/// The running servers. Dropping them ends the primary, then the standby.
#[derive(Debug)]
pub(super) struct Databases {
    primary: ChildServer,
    standby: ChildServer,
    ports: [u16; 2],
    pass_file: PathBuf,
    programs: PathBuf,
}

/// What is told of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseFacts {
    /// Port and process of the primary.
    pub(super) primary: (u16, u32),
    /// Port and process of the standby.
    pub(super) standby: (u16, u32),
    /// A file in PostgreSQL's own format with the password of [`ROLE`].
    pub(super) pass_file: PathBuf,
    pub(super) psql: PathBuf,
}

impl Databases {
    pub(super) fn start(folder: &ClusterFolder, events: &Sender<ClusterEvent>) -> CommandResult<Self> {
        let programs = database::programs().ok_or_else(|| {
            CommandFailure::new("there is no PostgreSQL").mend("apt-get install -y postgresql")
        })?;
        let ports = free_ports()?;
        let [primary_port, standby_port] = ports;
        let password = random()?;
        let pass_file = folder.write("database.pass", &format!("*:*:*:{ROLE}:{password}\n"))?;
        folder.give_to_databases(&pass_file)?;
        let maker = DatabaseMaker { folder, programs: &programs, pass_file: &pass_file };
        maker.make_primary(&password)?;
        let primary = maker.start(PRIMARY, primary_port, &[], events)?;
        maker.copy_to_standby(primary_port)?;
        let alone = [format!("cluster_name={STANDBY}"), String::from("synchronous_standby_names=")];
        let standby = maker.start(STANDBY, standby_port, &alone, events)?;
        Ok(Self { primary, standby, ports, pass_file, programs })
    }

    /// The log of the hubs: both servers, of which a hub takes the one that can be written.
    pub(super) fn url(&self) -> String {
        url(self.ports)
    }

    pub(super) fn pass_file(&self) -> &Path {
        &self.pass_file
    }

    pub(super) fn told(&self) -> DatabaseFacts {
        let [primary, standby] = self.ports;
        DatabaseFacts {
            primary: (primary, self.primary.pid()),
            standby: (standby, self.standby.pid()),
            pass_file: self.pass_file.clone(),
            psql: self.programs.join("psql"),
        }
    }
}

fn url([primary, standby]: [u16; 2]) -> String {
    format!("postgres://{ROLE}@127.0.0.1:{primary},127.0.0.1:{standby}/postgres")
}

/// Two ports that were free a moment ago.
fn free_ports() -> CommandResult<[u16; 2]> {
    let taking = || CommandFailure::io("taking a free port");
    // Both are held until both are known, so that they differ.
    let one = TcpListener::bind("127.0.0.1:0").map_err(taking())?;
    let two = TcpListener::bind("127.0.0.1:0").map_err(taking())?;
    let port = |socket: &TcpListener| socket.local_addr().map(|address| address.port()).map_err(taking());
    Ok([port(&one)?, port(&two)?])
}

/// Makes and starts servers in a folder.
struct DatabaseMaker<'a> {
    folder: &'a ClusterFolder,
    programs: &'a Path,
    pass_file: &'a Path,
}

impl DatabaseMaker<'_> {
    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = bound_to_us(&self.programs.join(program), FAST, self.folder.database_user());
        command.current_dir(self.folder.path()).env("PGPASSFILE", self.pass_file);
        command
    }

    /// Makes an empty database whose commits wait for the standby.
    fn make_primary(&self, password: &str) -> CommandResult {
        let pw_file = self.folder.write("initdb.pass", password)?;
        self.folder.give_to_databases(&pw_file)?;
        let mut make = self.command("initdb");
        make.args(["-U", ROLE, "--auth=scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]);
        answer(make.arg("--pwfile").arg(&pw_file).arg("-D").arg(self.data(PRIMARY)))?;
        std::fs::remove_file(&pw_file).map_err(CommandFailure::io("removing the password of initdb"))?;
        // In the file, so that `ALTER SYSTEM` can take the standby off while it runs.
        let path = self.data(PRIMARY).join("postgresql.conf");
        let writing = || CommandFailure::io(format!("writing {}", path.display()));
        let mut conf = std::fs::OpenOptions::new().append(true).open(&path).map_err(writing())?;
        conf.write_all(format!("synchronous_standby_names = '{STANDBY}'\n").as_bytes()).map_err(writing())
    }

    /// Copies the primary to where the standby begins.
    fn copy_to_standby(&self, primary_port: u16) -> CommandResult {
        say("copying the primary to the standby");
        let mut copy = self.command("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-U", ROLE, "-p"]).arg(primary_port.to_string());
        // -R makes the copy a standby of what it was copied from.
        copy.args(["-R", "-X", "stream", "--checkpoint=fast", "--no-sync", "-D"]);
        answer(copy.arg(self.data(STANDBY))).map(drop)
    }

    fn start(
        &self,
        name: &str,
        port: u16,
        settings: &[String],
        events: &Sender<ClusterEvent>,
    ) -> CommandResult<ChildServer> {
        let mut server = self.command("postgres");
        server.arg("-D").arg(self.data(name)).arg("-p").arg(port.to_string());
        let all = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=64MB"];
        for setting in all.into_iter().chain(settings.iter().map(String::as_str)) {
            server.args(["-c", setting]);
        }
        let ready = "database system is ready to accept";
        let start = ServerStart { name, ready, end_signal: FAST, folder: self.folder.path() };
        start.start(server, events).map(|(server, _line)| server)
    }
}

#[cfg(test)]
mod tests;
