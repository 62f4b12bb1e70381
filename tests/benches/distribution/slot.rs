//! The way that was not taken: a logical replication slot, read by PostgreSQL's own `pg_recvlogical`, whose rows are cut apart here as a
//! hub would have to. What a hub does with a row afterwards (read its events, fold, send) is left out, so what this costs is a lower bound.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use event_log::postgres_programs;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tests::process::{cpu, own_cpu};

use crate::load::Arrivals;

/// The publication of new rows of events.
const PUBLICATION: &str = "distribution";

/// Bytes behind the kind of a message of `pgoutput` that has no row: those of a transaction's begin, and of its end.
const BEGIN_BYTES: usize = 20;
const COMMIT_BYTES: usize = 25;

/// A slot, and the program that reads it.
#[derive(Debug)]
pub(crate) struct Slot {
    name: &'static str,
    url: String,
    receiver: Child,
    reader: Option<JoinHandle<()>>,
    rows: Arc<Rows>,
}

/// What was read from a slot so far.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// CPU time of the thread that reads, in nanoseconds.
    cpu: AtomicU64,
    /// Bytes of the rows that are new, and of those whose events came before and were packed anew.
    new: AtomicU64,
    packed: AtomicU64,
    /// The newest seq of each conversation, by its key in the database.
    heads: Mutex<HashMap<i64, u64>>,
}

/// A statement for the database at `url`; what it answers, without heads and spaces around it.
pub(crate) fn ask(url: &str, statement: &str) -> Result<String, String> {
    let mut psql = Command::new(postgres_programs().join("psql"));
    said(psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statement, url]))
}

/// What a program wrote, or what it complained of.
fn said(program: &mut Command) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        program.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let [out, complaint] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    if status.success() { Ok(out) } else { Err(complaint) }
}

/// Has a server decode its log from its next start on.
pub(crate) fn allow(server: &event_log::TestPostgresServer) {
    assert!(server.sql("ALTER SYSTEM SET wal_level = logical"), "the server takes the setting");
    server.kill();
    server.resume();
}

/// Publishes the rows of events of the log at `url`.
pub(crate) fn publish(url: &str) {
    let statement = format!("CREATE PUBLICATION {PUBLICATION} FOR TABLE event WITH (publish = 'insert')");
    ask(url, &statement).expect("a publication");
}

/// Makes the slot `name`.
pub(crate) fn create(url: &str, name: &str) -> Result<String, String> {
    said(program(url, name).args(["--create-slot", "-P", "pgoutput"]))
}

/// Reads the slot `name` until it fails, and tells how; for one that is not there.
pub(crate) fn failure(url: &str, name: &str) -> String {
    said(reading(&mut program(url, name)).arg("--no-loop")).expect_err("a slot that is not there")
}

fn program(url: &str, name: &str) -> Command {
    let mut program = Command::new(postgres_programs().join("pg_recvlogical"));
    program.args(["-d", url, "--slot", name]);
    program
}

fn reading(program: &mut Command) -> &mut Command {
    let options = ["proto_version=1", "binary=true"].map(|option| ["-o", option]).concat();
    let names = format!("publication_names={PUBLICATION}");
    program.arg("--start").args(options).args(["-o", &names, "-f", "-", "-F", "0", "-s", "1"])
}

impl Slot {
    /// Makes the slot and reads it. What comes is noted in `arrivals`.
    pub(crate) fn start(url: &str, name: &'static str, arrivals: &Arc<Arrivals>) -> Self {
        create(url, name).expect("a slot");
        let rows = Arc::<Rows>::default();
        let (receiver, reader) = read(url, name, arrivals, &rows);
        Self { name, url: url.to_owned(), receiver, reader: Some(reader), rows }
    }

    /// CPU time so far: of the database's process that decodes, and of what receives and cuts.
    pub(crate) fn cpu(&self) -> (Duration, Duration) {
        let statement =
            format!("SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{}'", self.name);
        let sender = ask(&self.url, &statement).ok().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        let cutting = Duration::from_nanos(self.rows.cpu.load(Ordering::Relaxed));
        (cpu(sender), cpu(self.receiver.id()) + cutting)
    }

    /// Bytes of the rows so far that were new, and of those that were packed anew.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.rows.new.load(Ordering::Relaxed), self.rows.packed.load(Ordering::Relaxed))
    }

    /// Bytes of its log that the server keeps for the slot alone.
    pub(crate) fn kept(&self) -> u64 {
        let name = self.name;
        let statement = format!(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint FROM pg_replication_slots WHERE slot_name = '{name}'"
        );
        ask(&self.url, &statement).ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
    }

    /// Stops what receives, as a machine that freezes does, or lets it go on.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.receiver.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("a process of ours");
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.receiver.kill());
        drop(self.receiver.wait());
        if let Some(reader) = self.reader.take() {
            drop(reader.join());
        }
    }
}

/// Starts the program and the thread that cuts what it writes.
fn read(url: &str, name: &str, arrivals: &Arc<Arrivals>, rows: &Arc<Rows>) -> (Child, JoinHandle<()>) {
    let mut receiver = program(url, name);
    let receiver = reading(&mut receiver).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut receiver = receiver.spawn().expect("pg_recvlogical runs");
    let mut from = BufReader::with_capacity(1 << 16, receiver.stdout.take().expect("a pipe"));
    let (arrivals, rows) = (Arc::clone(arrivals), Arc::clone(rows));
    let reader = std::thread::spawn(move || {
        // It ends with the program.
        while message(&mut from, &arrivals, &rows).is_ok() {
            rows.cpu.store(u64::try_from(own_cpu().as_nanos()).unwrap_or(0), Ordering::Relaxed);
        }
    });
    (receiver, reader)
}

/// Reads one message of `pgoutput` and the line's end that the program puts behind it.
fn message(from: &mut impl Read, arrivals: &Arrivals, rows: &Rows) -> io::Result<()> {
    match bytes(from, 1)?.first() {
        Some(b'B') => drop(bytes(from, BEGIN_BYTES)?),
        Some(b'C') => drop(bytes(from, COMMIT_BYTES)?),
        Some(b'R') => relation(from)?,
        Some(b'I') => {
            // The table, and the word for a new row.
            bytes(from, 5)?;
            row(from, arrivals, rows)?;
        }
        kind => return Err(io::Error::other(format!("a message of the kind {kind:?}"))),
    }
    bytes(from, 1).map(drop)
}

/// A description of the table, which is known.
fn relation(from: &mut impl Read) -> io::Result<()> {
    bytes(from, 4)?;
    word(from)?;
    word(from)?;
    bytes(from, 1)?;
    for _column in 0..number(&bytes(from, 2)?) {
        bytes(from, 1)?;
        word(from)?;
        bytes(from, 8)?;
    }
    Ok(())
}

/// A row of events: conversation, first, last, and what else there is of it.
fn row(from: &mut impl Read, arrivals: &Arrivals, rows: &Rows) -> io::Result<()> {
    let mut fields = Vec::new();
    for _column in 0..number(&bytes(from, 2)?) {
        fields.push(match bytes(from, 1)?.first() {
            Some(b'b' | b't') => {
                let length = number(&bytes(from, 4)?);
                bytes(from, usize::try_from(length).map_err(io::Error::other)?)?
            }
            _null => Vec::new(),
        });
    }
    let [conversation, first, last, .., body] = &fields[..] else {
        return Err(io::Error::other("a row of another table"));
    };
    let key = i64::try_from(number(conversation)).map_err(io::Error::other)?;
    let (first, last) = (number(first), number(last));
    let mut heads = rows.heads.lock();
    let head = heads.entry(key).or_default();
    if last > *head {
        arrivals.note_row(key, first.max(*head + 1)..=last);
        *head = last;
        rows.new.fetch_add(body.len() as u64, Ordering::Relaxed);
    } else {
        rows.packed.fetch_add(body.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn bytes(from: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A word that ends with a zero.
fn word(from: &mut impl Read) -> io::Result<()> {
    while bytes(from, 1)? != [0] {}
    Ok(())
}

/// A number, its highest byte first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
