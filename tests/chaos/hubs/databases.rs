//! A PostgreSQL server on a machine of its own: started, killed, promoted, rebuilt as a standby, with a disk that fills and one that stalls.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use event_log::postgres_programs;
use rustix::process::{Pid, Signal, kill_process};
use tests::process::{all, stat};
use tests::wait::load_for;
use tests::{TestMachine, TestNetwork};

use crate::settings::SeededRandom;

/// Who runs the servers: they refuse to run as root.
const USER: &str = "postgres";

/// The size of a server's disk in kilobytes. It is in memory, and takes what is on it.
const DISK_KB: u64 = 512 << 10;

/// How often a disk is made as small as what is on it, which may grow meanwhile.
const TRIES: usize = 20;

/// How long a server may take to do what it is asked for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Each server is called so by the one that it follows, and each waits for the one of that name.
const STANDBY: &str = "standby";

/// The settings of both servers. Files of the log are small, so that new ones are needed while a disk is full; a server whose
/// machine falls silent is given up soon.
const SETTINGS: &str = "
listen_addresses = '*'
unix_socket_directories = ''
cluster_name = 'standby'
synchronous_standby_names = 'standby'
shared_buffers = 32MB
max_wal_size = 96MB
min_wal_size = 4MB
wal_keep_size = 32MB
wal_sender_timeout = 3s
wal_receiver_timeout = 3s
wal_retrieve_retry_interval = 200ms
";

/// Who may connect: whoever reaches the machine, which is nobody but this test.
const ALLOWED: &str = "
host all all 0.0.0.0/0 trust
host replication all 0.0.0.0/0 trust
";

/// A server and its machine. Dropping it kills the server.
#[derive(Debug)]
pub(super) struct DatabaseServer {
    child: Option<Child>,
    machine: TestMachine,
    data: PathBuf,
    programs: PathBuf,
    /// Gets what the server says.
    trace: PathBuf,
}

impl DatabaseServer {
    /// A machine with nothing on its disk. What the server says goes into a file in `folder`.
    pub(super) fn new(network: &TestNetwork, folder: &Path, name: &str) -> Self {
        let disk = folder.join(name);
        let machine = network.machine_with_disk(&disk, DISK_KB, USER);
        let (data, trace) = (disk.join("data"), folder.join(format!("{name}.log")));
        Self { child: None, machine, data, programs: postgres_programs(), trace }
    }

    pub(super) fn address(&self) -> Ipv4Addr {
        self.machine.address()
    }

    /// A program of PostgreSQL on that machine.
    fn command(&self, program: &str) -> Command {
        let enter = self.machine.enter(Some(USER), "QUIT");
        let (first, rest) = enter.split_first().unwrap();
        let mut command = Command::new(first);
        command.args(rest).arg(self.programs.join(program)).stdin(Stdio::null());
        command
    }

    /// Makes an empty database and starts its server. Its commits wait for a standby.
    pub(super) fn make(&mut self) {
        let mut make = self.command("initdb");
        make.args(["-U", "fanlight", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]);
        finish(make.arg("--wal-segsize=1").arg("-D").arg(&self.data));
        for (name, lines) in [("postgresql.conf", SETTINGS), ("pg_hba.conf", ALLOWED)] {
            let path = self.machine.file(&self.data.join(name));
            let text = std::fs::read_to_string(&path).unwrap() + lines;
            std::fs::write(&path, text).unwrap();
        }
        self.start();
    }

    /// Replaces what is on the disk by a copy of `primary`, and follows it.
    pub(super) fn follow(&mut self, primary: &Self) {
        self.kill();
        self.machine.shell(&format!("rm -rf '{}'", self.data.display()));
        let mut copy = self.command("pg_basebackup");
        copy.args(["-h", &primary.address().to_string(), "-U", "fanlight"]);
        copy.args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"]);
        finish(copy.arg(&self.data));
        self.start();
    }

    /// Starts the server and waits until it answers.
    pub(super) fn start(&mut self) {
        let trace = std::fs::OpenOptions::new().create(true).append(true).open(&self.trace).unwrap();
        let mut server = self.command("postgres");
        server.arg("-D").arg(&self.data).stdout(trace.try_clone().unwrap()).stderr(trace);
        self.child = Some(server.spawn().unwrap());
        self.until("to start", |server| server.ask("SELECT 1").is_some());
    }

    /// Waits until `is_so`, and starts the server again where it has ended meanwhile.
    ///
    /// # Panics
    /// When it does not come to that.
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "the database of {} is not {what}", self.trace.display());
            if self.has_ended() {
                self.start();
            }
        }
    }

    /// Waits until it takes requests, and starts it again where it has given up.
    pub(super) fn recover(&mut self) {
        self.until("well again", |server| server.ask("SELECT 1").is_some());
    }

    /// Waits until its commits reach the standby.
    pub(super) fn is_followed(&self) -> bool {
        let streaming =
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'";
        self.ask(streaming).is_some_and(|count| count == "1")
    }

    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|ended| ended.is_some()))
    }

    /// The server becomes one that takes writes.
    pub(super) fn promote(&self) {
        assert_eq!(self.ask("SELECT pg_promote()").as_deref(), Some("t"), "{}", self.trace.display());
    }

    /// Whether commits wait for a standby from now on.
    pub(super) fn wait_for_standby(&self, waits: Waiting) {
        let names = match waits {
            Waiting::ForNobody => "SET synchronous_standby_names = ''",
            Waiting::ForStandby => "SET synchronous_standby_names = 'standby'",
        };
        debug_assert!(SETTINGS.contains(&format!("'{STANDBY}'")));
        assert!(self.ask(&format!("ALTER SYSTEM {names}")).is_some());
        assert!(self.ask("SELECT pg_reload_conf()").is_some());
    }

    /// What the server answers to `statement`: fields with `|` between them, rows in lines. Nothing where it does not.
    pub(super) fn ask(&self, statement: &str) -> Option<String> {
        let mut psql = Command::new("timeout");
        psql.arg("60").arg(self.programs.join("psql"));
        psql.args(["-h", &self.address().to_string(), "-U", "fanlight", "-d", "postgres"]);
        psql.args(["-v", "ON_ERROR_STOP=1", "-XAtqc", statement]);
        let ran = psql.env("PGCONNECT_TIMEOUT", "2").stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
        ran.status.success().then_some(said)
    }

    /// Kills all of it at once, as the loss of its machine does. One that does not run stays as it is.
    pub(super) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // Stopped first, so that it starts no more processes.
            let first = child.id();
            signal_all(&[first], Signal::STOP);
            let all: Vec<u32> = children(first).chain([first]).collect();
            signal_all(&all, Signal::KILL);
            drop(child.wait());
            let deadline = Instant::now() + PATIENCE;
            while all
                .iter()
                .any(|pid| stat(*pid).is_some_and(|fields| fields.get(1) == Some(&u64::from(first))))
            {
                assert!(Instant::now() < deadline, "processes of the database do not end");
                std::thread::yield_now();
            }
        }
        // The next server must not take another process for this one.
        drop(std::fs::remove_file(self.machine.file(&self.data.join("postmaster.pid"))));
    }

    /// Leaves no room on its disk for `time`, while `primary`, which may be this one, begins new files of its log. How often
    /// the server found no room.
    pub(super) async fn stay_full(&self, primary: &Self, time: Duration) -> usize {
        let before = self.failures();
        let until = Instant::now() + time;
        let is_full = (0..TRIES).any(|_| self.machine.try_resize_disk(self.machine.disk_used()));
        assert!(is_full, "the disk grows faster than it is made smaller");
        while Instant::now() < until {
            // It does not answer where it has given up.
            primary.ask("SELECT pg_switch_wal()");
            load_for(Duration::from_millis(200)).await;
        }
        assert!(self.machine.try_resize_disk(DISK_KB));
        self.failures() - before
    }

    /// How often the server has found no room so far.
    fn failures(&self) -> usize {
        let said = std::fs::read_to_string(&self.trace).unwrap_or_default();
        said.matches("No space left on device").count()
    }

    /// For `time` stops all of it again and again for some hundred milliseconds, as a disk that stalls does.
    pub(super) async fn stall(&self, time: Duration, random: &mut SeededRandom) {
        self.stop_in_turns(time, random, |_| true).await;
    }

    /// The same with the process alone that writes what comes from the primary: a standby with a disk that stalls.
    pub(super) async fn stall_receiver(&self, time: Duration, random: &mut SeededRandom) {
        self.stop_in_turns(time, random, |name| name.contains("walreceiver")).await;
    }

    async fn stop_in_turns(&self, time: Duration, random: &mut SeededRandom, which: fn(&str) -> bool) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let first = self.child.as_ref().unwrap().id();
            let stopped: Vec<u32> =
                [first].into_iter().chain(children(first)).filter(|pid| which(&name(*pid))).collect();
            signal_all(&stopped, Signal::STOP);
            load_for(Duration::from_millis(random.between(200, 700))).await;
            signal_all(&stopped, Signal::CONT);
            load_for(Duration::from_millis(random.between(20, 120))).await;
        }
    }
}

/// Whom commits wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nobody but the server itself.
    ForNobody,
    /// The standby too.
    ForStandby,
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program that must do well.
fn finish(command: &mut Command) {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Sends a signal to processes. Those that are gone need none.
fn signal_all(pids: &[u32], what: Signal) {
    for pid in pids.iter().filter_map(|pid| i32::try_from(*pid).ok().and_then(Pid::from_raw)) {
        let _gone = kill_process(pid, what);
    }
}

/// The processes that `of` has started.
fn children(of: u32) -> impl Iterator<Item = u32> {
    all().filter(move |pid| stat(*pid).is_some_and(|fields| fields.get(1) == Some(&u64::from(of))))
}

/// The command line of a process, which those of PostgreSQL make their name.
fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}
