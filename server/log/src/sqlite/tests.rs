//! Tests of the log on disk, with real files. Dropping a log without closing it is what a process does that dies.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::model::event::{Kind, RunEnd, RunStart, RunStatus};
use ::model::testkit;
use ::model::{Envelope, Event, RunId};
use tempfile::TempDir;

use super::*;
use crate::{Attachment, Health, PublisherMark, WriteControl, reached};

mod finding;
mod full;
mod imports;
mod journaled;
mod kept;
mod lives;
mod measured;
mod refused;
mod words;

/// A directory with a log in it.
struct Disk {
    directory: TempDir,
}

impl Disk {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("fanlight.db")
    }

    fn open(&self) -> SqliteLog {
        SqliteLog::open(&self.path(), &SqliteOptions::default()).unwrap()
    }

    fn bounded(&self, max_bytes: u64) -> SqliteLog {
        SqliteLog::open(
            &self.path(),
            &SqliteOptions { max_bytes: Some(max_bytes), ..SqliteOptions::default() },
        )
        .unwrap()
    }
}

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn at(seq: Seq) -> Position {
    Position { epoch: Epoch::new("e1"), seq }
}

/// Waits until `ticket` is kept at `level`.
fn wait(log: &SqliteLog, ticket: Ticket, level: Durability) -> Result<(), LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(reached(log, ticket, level))
}

fn stored(log: &SqliteLog, ticket: Ticket) {
    wait(log, ticket, Durability::Stored).unwrap();
}

/// `from` to `to`, each with a text of `bytes` bytes that does not repeat.
fn events(from: Seq, to: Seq, bytes: usize) -> Vec<Arc<Envelope>> {
    let envelope = |seq: u64| {
        let mut text = String::new();
        let mut number = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while text.len() < bytes {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{number:016x}").unwrap();
        }
        text.truncate(bytes);
        let event = Event::new(&RunId::new("r1"), Kind::Status { text });
        Arc::new(Envelope {
            event,
            seq,
            at: 1_795_300_000_000 + seq,
            producer_at: None,
            publisher: None,
            by_hub: false,
        })
    };
    (from..=to).map(envelope).collect()
}

fn append(log: &SqliteLog, name: &str, after: Seq, envelopes: &[Arc<Envelope>]) -> Ticket {
    append_with(log, name, after, envelopes, |_| {})
}

/// Appends what `add` adds to the events.
fn append_with(
    log: &SqliteLog,
    name: &str,
    after: Seq,
    envelopes: &[Arc<Envelope>],
    add: impl FnOnce(&mut Append<'_>),
) -> Ticket {
    let (id, after) = (id(name), at(after));
    let mut append = Append::of(&id, &after, envelopes);
    add(&mut append);
    log.append(append).unwrap()
}

fn row(name: &str, view: &::model::View, at: u64) -> ConversationRow {
    ConversationRow {
        conversation: id(name),
        title: view.title.clone(),
        forked_from: view.forked_from.clone(),
        state: view.runs.last().map(|(_, run)| run.status),
        stalled: false,
        activity: None,
        reason: None,
        epoch: Epoch::new("e1"),
        head: view.seq,
        started_at: 0,
        ended_at: None,
        at,
        runs: view.runs.len() as u64,
        tools: 0,
        failed: 0,
        approvals: 0,
        agents: 0,
        anomalies: 0,
        viewers: 0,
        call: None,
        more_calls: Vec::new(),
        written: 0,
        asks: None,
        model: None,
        answer: None,
        used: Vec::new(),
        good: 0,
        bad: 0,
        pinned: view.label.pinned,
        archived: view.label.archived,
        tags: view.label.tags.clone(),
        agent: None,
        host: None,
        usage: None,
        said: None,
    }
}

fn checkpoint(name: &str, history: &[Arc<Envelope>], newest: usize) -> Checkpoint {
    let view = testkit::folded(history);
    let at = history.last().map_or(0, |envelope| envelope.at);
    let newest = history[history.len().saturating_sub(newest)..].to_vec();
    Checkpoint { row: row(name, &view, at), epoch: Epoch::new("e1"), view, at, marks: Vec::new(), newest }
}

impl crate::conformance::LogPlace for Disk {
    fn open(&self) -> Box<dyn EventLog> {
        Box::new(Self::open(self))
    }
}

#[test]
fn the_log_on_disk_keeps_every_rule_of_logs() {
    let cases = crate::conformance::run(crate::conformance::LogKind::Lasting, &|| Box::new(Disk::new()));
    assert!(cases >= 100, "{cases} cases");
}

#[test]
fn i1_whatever_happens_what_was_stored_is_there_in_order_once() {
    let new: &dyn Fn() -> Box<dyn crate::conformance::LogPlace> = &|| Box::new(Disk::new());
    crate::conformance::run_histories(crate::conformance::LogKind::Lasting, new, 24);
}

/// Writes each event as a block of its own.
fn one_by_one(log: &SqliteLog, history: &[Arc<Envelope>]) {
    for envelope in history {
        let ticket = append(log, "c", envelope.seq - 1, std::slice::from_ref(envelope));
        stored(log, log.sync().max(ticket));
    }
}

/// Waits until the packer has made a few blocks of many.
fn until_packed(log: &SqliteLog) {
    let blocks = || {
        let count = |connection: &rusqlite::Transaction<'_>| {
            connection.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).map_err(unreadable)
        };
        log.readers.read::<i64>(count).unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while blocks() > 4 && Instant::now() < deadline {
        stored(log, log.sync());
    }
    assert!(blocks() <= 4, "{} blocks", blocks());
}

/// Waits until nothing is left of conversations that went.
fn until_swept(log: &SqliteLog) {
    let is_due = |connection: &rusqlite::Transaction<'_>| sweep::is_due(connection).map_err(unreadable);
    let deadline = Instant::now() + Duration::from_secs(30);
    while log.readers.read(is_due).unwrap() {
        assert!(Instant::now() < deadline, "rows of conversations that went are still there");
        std::thread::yield_now();
    }
}

#[test]
fn what_was_appended_is_read_back_whole_and_from_anywhere() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 500, 40);
    for run in history.chunks(7) {
        append(&log, "c", run[0].seq - 1, run);
    }
    for after in [0, 1, 6, 7, 250, 498, 499, 500] {
        let page = log.read(&id("c"), after, 10_000).unwrap();
        assert_eq!(page.head, 500);
        assert_eq!(page.envelopes, history[usize::try_from(after).unwrap()..]);
        assert_eq!(
            log.read(&id("c"), after, 3).unwrap().envelopes,
            history.iter().skip(usize::try_from(after).unwrap()).take(3).cloned().collect::<Vec<_>>()
        );
    }
    assert_eq!(log.read(&id("other"), 0, 1), Err(LogError::Unknown));
    assert_eq!(log.count(), 1);
}

#[test]
fn an_append_that_does_not_continue_is_refused() {
    let disk = Disk::new();
    let log = disk.open();
    append(&log, "c", 0, &events(1, 3, 4));
    let wrong = log.append(Append::of(&id("c"), &at(2), &events(3, 4, 4)));
    assert_eq!(wrong, Err(LogError::Conflict { found: 3, expected: 2 }));
}

#[test]
fn a_run_that_ended_is_packed_into_few_blocks_and_reads_the_same() {
    let disk = Disk::new();
    let log = disk.open();
    let run = RunId::new("r1");
    let mut facts = vec![Event::new(&run, Kind::RunStart(RunStart::default()))];
    for number in 0..200 {
        let text = format!("word {number} ").into();
        facts.push(Event::new(&run, Kind::PartDelta { part: "p1".into(), off: None, text }));
    }
    let end = RunEnd { status: RunStatus::Complete, finish_reason: None, usage: None, lost: false };
    facts.push(Event::new(&run, Kind::RunEnd(end)));
    let history = testkit::logged(facts);
    one_by_one(&log, &history);
    until_packed(&log);
    assert_eq!(log.read(&id("c"), 0, 1_000).unwrap().envelopes, history);
    assert_eq!(log.read(&id("c"), 100, 1).unwrap().envelopes, history[100..101]);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().view, testkit::folded(&history));
}

#[test]
fn i10_marks_are_kept_with_what_was_said_the_silent_ones_first() {
    let disk = Disk::new();
    let log = disk.open();
    let mark = |name: &str, epoch, seq| PublisherMark { publisher: name.into(), epoch, seq };
    let said = [mark("a", 1, 1), mark("b", u64::MAX, u64::MAX), mark("c", 1, 1), mark("a", 1, 2)];
    for (head, mark) in said.into_iter().enumerate() {
        let head = head as u64;
        append_with(&log, "c", head, &events(head + 1, head + 1, 4), |append| append.mark = Some(mark));
    }
    stored(&log, append_with(&log, "c", 4, &[], |append| append.mark = Some(mark("d", 1, 1))));
    drop(log);
    let marks = disk.open().load(&id("c")).unwrap().unwrap().marks;
    assert_eq!(marks, [mark("b", u64::MAX, u64::MAX), mark("c", 1, 1), mark("a", 1, 2), mark("d", 1, 1)]);
}

#[test]
fn a_conversation_that_went_is_gone_and_its_name_begins_anew() {
    let disk = Disk::new();
    let log = disk.open();
    append(&log, "c", 0, &events(1, 30, 40));
    append(&log, "d", 0, &events(1, 3, 40));
    stored(&log, log.remove(&id("c")));
    assert!(log.load(&id("c")).unwrap().is_none());
    assert_eq!(log.count(), 1);
    append(&log, "c", 0, &events(1, 2, 4));
    assert_eq!(log.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 2, 4));
    assert_eq!(log.load(&id("d")).unwrap().unwrap().position, at(3));
}

#[test]
fn i9_synced_is_said_only_of_what_was_asked_for() {
    let disk = Disk::new();
    let log = disk.open();
    let ticket = append(&log, "c", 0, &events(1, 1, 4));
    stored(&log, ticket);
    assert!(log.progress().borrow().synced < ticket);
    let later = append_with(&log, "c", 1, &events(2, 2, 4), |append| append.level = Durability::Synced);
    wait(&log, later, Durability::Synced).unwrap();
    assert!(log.progress().borrow().synced >= ticket);
    wait(&log, log.sync(), Durability::Synced).unwrap();
}

#[test]
fn results_beside_their_events_are_kept_once() {
    let disk = Disk::new();
    let log = disk.open();
    for after in [0, 1] {
        let attachment = Attachment { hash: "00ff".into(), json: Arc::from(r#"{"rows":[1,2]}"#) };
        let more = events(after + 1, after + 1, 4);
        append_with(&log, "c", after, &more, |append| append.attachments.push(attachment));
    }
    assert_eq!(log.attachment(&id("c"), "00ff").unwrap().as_deref(), Some(r#"{"rows":[1,2]}"#));
    assert_eq!(log.attachment(&id("c"), "0000").unwrap(), None);
    assert_eq!(log.attachment(&id("x"), "00ff").unwrap(), None);
}
