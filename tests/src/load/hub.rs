//! This hub as benches start it: with the configuration that everybody gets, in a folder that outlives it, asked over plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Outcome;
use super::clock::Clock;
use super::server::ServerProcess;
use crate::process::cpu;

/// How long a start may take, in seconds: a hub with gigabytes of events may have to read them.
const START_S: u64 = 900;

/// How long all rows may take to be made, in seconds.
const REST_S: u64 = 300;

/// Seconds in a row in which the hub used next to nothing: then all rows are made, which begins a second after an event.
const QUIET_S: u32 = 3;

/// What a hub uses in a second in which it does nothing, at most: it looks after the runs that are open, tens of thousands of them maybe.
const QUIET_CPU: Duration = Duration::from_millis(100);

/// A running hub.
#[derive(Debug)]
pub struct BenchHub {
    server: ServerProcess,
    address: SocketAddr,
    place: PathBuf,
    options: Vec<String>,
    /// From the start of the process until it said that it is ready.
    pub ready_after: Duration,
}

impl BenchHub {
    /// Starts one that keeps what it keeps in `place`, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready.
    pub fn start(place: &Path, options: &[&str]) -> Outcome<Self> {
        Self::launch(place, options.iter().map(|option| (*option).to_owned()).collect())
    }

    fn launch(place: &Path, options: Vec<String>) -> Outcome<Self> {
        std::fs::create_dir_all(place)?;
        let clock = Clock::start();
        let mut command = Command::new(crate::hub::binary());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--trace", "warn", "--data-dir"])
            .arg(place.join("data"));
        let mut server = ServerProcess::start(command.args(&options), &place.join("printed"))?;
        let listens = |line: &str| line.strip_prefix("listening on http://")?.trim().parse().ok();
        let address = server.printed_within(START_S, listens)?;
        let is_ready = || ask(address, "/readyz").is_ok_and(|(status, _)| status == 200);
        if !clock.wait_for(START_S, is_ready) {
            return Err("the hub listens and is not ready".into());
        }
        let ready_after = Duration::from_micros(clock.micros());
        Ok(Self { server, address, place: place.to_owned(), options, ready_after })
    }

    /// Kills it as a crash would and starts another one in its place.
    ///
    /// # Errors
    /// When it does not end, or the other does not get ready.
    pub fn killed_and_started(mut self) -> Outcome<Self> {
        self.server.kill()?;
        Self::launch(&self.place, std::mem::take(&mut self.options))
    }

    /// Stops it in peace and starts another one in its place.
    ///
    /// # Errors
    /// When the other does not get ready.
    pub fn stopped_and_started(self) -> Outcome<Self> {
        let Self { mut server, place, options, .. } = self;
        server.stop(REST_S)?;
        Self::launch(&place, options)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Resident memory, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.server.resident_bytes()
    }

    /// Ends it as a crash would; what is in its folder stays.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> Outcome<()> {
        self.server.kill()
    }

    /// The bytes that its folder takes on the disk.
    pub fn disk_bytes(&self) -> u64 {
        size(&self.place.join("data"))
    }

    /// The body at `path`.
    ///
    /// # Errors
    /// When the answer is no success.
    pub fn get(&self, path: &str) -> Outcome<Vec<u8>> {
        let (status, body) = ask(self.address, path)?;
        if status != 200 {
            return Err(format!("{path} was answered {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    /// Waits until the hub has nothing left to do.
    ///
    /// # Errors
    /// When it does not come to rest.
    pub fn rest(&self) -> Outcome<Rest> {
        let (clock, mut used, mut quiet, mut before) = (Clock::start(), cpu(self.pid()), 0, cpu(self.pid()));
        while quiet < QUIET_S {
            if clock.micros() > REST_S * 1_000_000 {
                return Err(format!("the hub did not come to rest within {REST_S} s").into());
            }
            clock.wait_until(clock.micros() + 1_000_000);
            let now = cpu(self.pid());
            let is_quiet = now.saturating_sub(used) <= QUIET_CPU;
            (quiet, before) = if is_quiet { (quiet + 1, before) } else { (0, now) };
            used = now;
        }
        Ok(Rest { cpu: used, idle_cores: used.saturating_sub(before).as_secs_f64() / f64::from(QUIET_S) })
    }
}

/// A hub that has nothing left to do.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// The CPU that it had used by then.
    pub cpu: Duration,
    /// What it uses of a core nevertheless.
    pub idle_cores: f64,
}

impl Rest {
    /// The CPU that was spent from `before` to this rest, in microseconds.
    pub fn micros_since(&self, before: &Self) -> f64 {
        self.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6
    }
}

/// The bytes that a folder takes on the disk, or a file.
fn size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // What goes away meanwhile takes nothing.
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.blocks() * 512;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

/// One request over a connection of its own; status and body.
fn ask(at: SocketAddr, path: &str) -> Outcome<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    // A client of HTTP/1.0 gets the body in one piece, and then the end.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {at}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = memchr::memmem::find(&answer, b"\r\n\r\n").ok_or("an answer without a head")? + 4;
    let body = answer.split_off(end);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or("an answer without a status")?, body))
}
