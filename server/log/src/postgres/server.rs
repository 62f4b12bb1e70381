//! For tests: a PostgreSQL server of its own, from the system's packages, in a folder that goes with it. It listens on a socket in
//! that folder alone, so it needs no port.
//!
//! A shell stands between the test and the server: it ends the server and removes the folder when the pipe to it is closed, whatever way
//! the test's process ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal};

use super::PostgresUrl;
use crate::conformance::LogPlace;
use crate::{EventLog, PostgresLog, PostgresOptions};

/// The time that a start may take.
const START: Duration = Duration::from_mins(1);

/// Starts the server, and ends it once the pipe closes.
const SCRIPT: &str = r#"
dir=$1; shift
"$@" >> "$dir/log" 2>&1 &
server=$!
read -r word
kill -QUIT "$server" 2> /dev/null
wait "$server"
[ "$word" = keep ] || rm -rf "$dir"
"#;

/// A PostgreSQL server for tests and benches, in a folder of its own. Dropping it ends it and removes the folder.
#[derive(Debug)]
pub struct TestPostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    shell: Mutex<Option<Child>>,
    places: AtomicU64,
}

/// A schema of a server: a place for one log.
#[derive(Debug, Clone)]
pub struct PostgresPlace {
    url: String,
}

impl TestPostgresServer {
    /// The server that all tests of this process share.
    ///
    /// # Panics
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<TestPostgresServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a server with an empty database.
    ///
    /// # Panics
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub fn start() -> Self {
        let programs = postgres_programs();
        let folder = tempfile::Builder::new().prefix("fanlight-postgres").tempdir().expect("a folder").keep();
        give_to_server_user(&folder);
        let server = Self { folder, programs, shell: Mutex::default(), places: AtomicU64::new(0) };
        let mut make = server.command("initdb");
        make.args(["-U", "fanlight", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", "-D"]);
        let made = make.arg(server.data_folder()).stdout(Stdio::null()).output().expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.resume();
        server
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A program of PostgreSQL, as the user that it wants to be: never as root.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        if !is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
        command.current_dir(&self.folder);
        command
    }

    /// Starts a server that follows this one, which must be of [`TestPostgresServer::start`]. Whether it is waited
    /// for, the settings of this one say.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn standby(&self) -> Self {
        let folder = tempfile::Builder::new().prefix("fanlight-postgres").tempdir().expect("a folder").keep();
        give_to_server_user(&folder);
        let (programs, shell) = (self.programs.clone(), Mutex::default());
        let standby = Self { folder, programs, shell, places: AtomicU64::new(0) };
        let mut copy = standby.command("pg_basebackup");
        copy.args(["-U", "fanlight", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h"])
            .arg(&self.folder);
        let copied = copy.arg("-D").arg(standby.data_folder()).output().expect("pg_basebackup runs");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        standby.resume();
        standby
    }

    /// Stops all processes of the server for a while, as a machine that freezes does.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets the server go on after [`TestPostgresServer::pause`].
    pub fn wake(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, what: Signal) {
        let first = self.pid().expect("it runs");
        for pid in std::iter::once(first).chain(children(first)) {
            signal(pid, what);
        }
    }

    /// Starts the server again after [`TestPostgresServer::kill`].
    ///
    /// # Panics
    /// When it does not come up.
    pub fn resume(&self) {
        let deadline = Instant::now() + START;
        loop {
            let mut server = self.command("postgres");
            let folder = self.folder.display();
            server.arg("-D").arg(self.data_folder()).args(["-c", "listen_addresses="]);
            server.arg("-c").arg(format!("unix_socket_directories={folder}"));
            for setting in ["max_connections=300", "shared_buffers=64MB", "max_wal_size=512MB"] {
                server.args(["-c", setting]);
            }
            let mut shell = Command::new("sh");
            shell
                .args(["-c", SCRIPT, "sh"])
                .arg(&self.folder)
                .arg(server.get_program())
                .args(server.get_args());
            let mut shell = shell.stdin(Stdio::piped()).current_dir(&self.folder).spawn().expect("a shell");
            // It ends early while processes of one that was killed are still there.
            let came_up = loop {
                if self.sql("SELECT 1") {
                    break true;
                }
                assert!(Instant::now() < deadline, "{}", self.trace());
                if self.has_given_up(&mut shell) {
                    break false;
                }
            };
            if came_up {
                *self.shell.lock() = Some(shell);
                return;
            }
            end(shell, "keep");
        }
    }

    /// Whether the server that `shell` started has ended without being told to.
    fn has_given_up(&self, shell: &mut Child) -> bool {
        let trace = self.trace();
        let last = trace.lines().last().unwrap_or_default();
        let is_over =
            last.contains("FATAL:  lock file") || last.contains("HINT:  ") || last.contains("DETAIL:  ");
        is_over && !self.is_running() || shell.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// What the server has said so far.
    fn trace(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The id of the server's first process.
    pub fn pid(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.data_folder().join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn is_running(&self) -> bool {
        self.pid().is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
    }

    /// Kills the server as the loss of its machine does: nothing is finished, nothing is told.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&self) {
        let first = self.pid().expect("it runs");
        // Stopped, so that it starts no more processes. Those of the connections would finish what they do, and outlive it.
        signal(first, Signal::STOP);
        let all: Vec<i32> = children(first).into_iter().chain([first]).collect();
        for pid in &all {
            signal(*pid, Signal::KILL);
        }
        let deadline = Instant::now() + START;
        while all.iter().any(|pid| is_alive(*pid)) {
            assert!(Instant::now() < deadline, "processes of the server do not end");
            std::thread::yield_now();
        }
        if let Some(shell) = self.shell.lock().take() {
            end(shell, "keep");
        }
    }

    /// Runs a statement. Whether it went well.
    pub fn sql(&self, statement: &str) -> bool {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-U", "fanlight", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qc", statement, "-h"])
            .arg(&self.folder);
        psql.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        psql.status().is_ok_and(|status| status.success())
    }

    /// How long commits of one small row take, by PostgreSQL's own `pgbench`: each of `clients` connections makes one after the
    /// other for `seconds` seconds. Shortest first. Waits meanwhile.
    ///
    /// # Panics
    /// When `pgbench` does not run.
    pub fn commits(&self, clients: usize, seconds: usize) -> Vec<Duration> {
        assert!(self.sql("CREATE TABLE IF NOT EXISTS commits (at timestamptz)"), "{}", self.trace());
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        std::fs::write(&script, "INSERT INTO commits VALUES (now());\n").expect("a file");
        let (clients, seconds) = (clients.to_string(), seconds.to_string());
        let mut bench = Command::new(self.programs.join("pgbench"));
        bench.args(["-n", "-l", "-c", &clients, "-T", &seconds, "-U", "fanlight", "-h"]).arg(&self.folder);
        bench.arg("-f").arg(&script).arg("postgres").current_dir(folder.path());
        let ran = bench.output().expect("pgbench runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        // A line has the connection, the number of the transaction and its time in microseconds.
        let time = |line: &str| line.split(' ').nth(2)?.parse().ok().map(Duration::from_micros);
        let logs = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path());
        let logs = logs.filter(|path| *path != script).filter_map(|path| std::fs::read_to_string(path).ok());
        let mut times: Vec<Duration> =
            logs.flat_map(|log| log.lines().filter_map(time).collect::<Vec<_>>()).collect();
        times.sort_unstable();
        times
    }

    /// A new place for a log.
    ///
    /// # Panics
    /// When the server does not make one.
    pub fn place(&self) -> PostgresPlace {
        let name = format!("place{}", self.places.fetch_add(1, Ordering::Relaxed));
        assert!(self.sql(&format!("CREATE SCHEMA {name}")), "{}", self.trace());
        let socket = self.folder.display().to_string().replace('/', "%2F");
        PostgresPlace { url: format!("postgres://fanlight@{socket}/postgres?options=-csearch_path%3D{name}") }
    }
}

impl Drop for TestPostgresServer {
    fn drop(&mut self) {
        match self.shell.lock().take() {
            Some(shell) => end(shell, "remove"),
            // It was killed and not started again: no shell is there to remove the folder.
            None => drop(std::fs::remove_dir_all(&self.folder)),
        }
    }
}

impl PostgresPlace {
    /// The schema on this server or on `other`, whichever can be written.
    #[must_use]
    pub fn on_either(&self, other: &TestPostgresServer) -> Self {
        let socket = other.folder.display().to_string().replace('/', "%2F");
        Self { url: self.url.replacen("/postgres?", &format!(",{socket}/postgres?"), 1) }
    }

    /// The URL, as `--log` takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens the log there for one of several hubs, which others reach under `address`.
    ///
    /// # Panics
    /// When it cannot be opened.
    pub fn open_shared(&self, address: &str) -> PostgresLog {
        let url: PostgresUrl = self.url.parse().expect("a URL");
        let lease = Duration::from_millis(500);
        let options =
            PostgresOptions { lease, address: Some(address.to_owned()), ..PostgresOptions::default() };
        PostgresLog::open(&url, &options).expect("it opens")
    }

    /// Opens the log there, for a life that is held to be dead soon after it said nothing more.
    ///
    /// # Panics
    /// When it cannot be opened.
    pub fn open_log(&self) -> PostgresLog {
        let url: PostgresUrl = self.url.parse().expect("a URL");
        let options = PostgresOptions { lease: Duration::from_millis(150), ..PostgresOptions::default() };
        PostgresLog::open(&url, &options).expect("it opens")
    }
}

impl LogPlace for PostgresPlace {
    fn open(&self) -> Box<dyn EventLog> {
        Box::new(self.open_log())
    }
}

fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process");
    if let Err(error) = rustix::process::kill_process(pid, signal) {
        assert_eq!(error, rustix::io::Errno::SRCH, "only one that has ended already is not told");
    }
}

/// State and parent of a process; nothing once it is gone.
fn process_stat(pid: i32) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// Whether it runs: one that nobody has waited for does not.
fn is_alive(pid: i32) -> bool {
    process_stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

fn children(of: i32) -> Vec<i32> {
    let all =
        std::fs::read_dir("/proc").map(|folder| folder.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let pids = all.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| process_stat(*pid).is_some_and(|(_, parent)| parent == of)).collect()
}

/// Tells the shell to end the server, and waits until it has.
fn end(mut shell: Child, word: &str) {
    use std::io::Write as _;

    if let Some(mut pipe) = shell.stdin.take() {
        // One that is gone needs no word.
        drop(writeln!(pipe, "{word}"));
    }
    drop(shell.wait());
}

/// Where the newest PostgreSQL of this machine has its programs.
///
/// # Panics
/// When there is none.
pub fn postgres_programs() -> PathBuf {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").map(|folder| folder.flatten().collect::<Vec<_>>());
    let folders = versions.unwrap_or_default().into_iter().map(|version| version.path().join("bin"));
    let newest = folders.filter(|bin| bin.join("initdb").exists()).max();
    newest.expect("PostgreSQL is not installed: apt-get install -y postgresql")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a folder to the user that the server runs as.
fn give_to_server_user(folder: &Path) {
    if !is_root() {
        return;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = users.lines().find_map(|line| line.strip_prefix("postgres:")).expect("a user postgres");
    let mut numbers = user.split(':').skip(1).map(|number| number.parse().ok());
    let (user, group) = (numbers.next().flatten(), numbers.next().flatten());
    std::os::unix::fs::chown(folder, user, group).expect("a folder of ours");
}
