//! Tests of the log in PostgreSQL, against a real server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use model::event::{Kind, RunEnd, RunStart, RunStatus};
use model::{Envelope, Event, RunId, testkit};

use super::opening::PostgresBlockSource;
use super::*;
use crate::conformance::{self, LogKind, LogPlace};
use crate::ops::CompactedBlocks;
use crate::packer::BlockSource;
use crate::{Health, blocks, reached};

fn place() -> Box<dyn LogPlace> {
    Box::new(TestPostgresServer::shared().place())
}

#[test]
fn the_log_in_postgresql_keeps_every_rule_of_logs() {
    let cases = conformance::run(LogKind::Lasting, &place);
    assert!(cases >= 100, "{cases} cases");
}

#[test]
fn i1_whatever_happens_what_was_stored_is_there_in_order_once() {
    conformance::run_histories(LogKind::Lasting, &place, 12);
}

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn at(seq: Seq) -> Position {
    Position { epoch: Epoch::new("e1"), seq }
}

fn events(from: Seq, to: Seq) -> Vec<Arc<Envelope>> {
    let envelope = |seq: u64| {
        let event = Event::new(&RunId::new("r1"), Kind::Status { text: format!("event {seq}") });
        Arc::new(Envelope { event, seq, at: seq, producer_at: None, publisher: None, by_hub: false })
    };
    (from..=to).map(envelope).collect()
}

fn append(log: &PostgresLog, name: &str, after: Seq, envelopes: &[Arc<Envelope>]) -> Ticket {
    log.append(Append::of(&id(name), &at(after), envelopes)).unwrap()
}

/// Waits until `ticket` is stored.
fn wait(log: &PostgresLog, ticket: Ticket) -> Result<(), LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(reached(log, ticket, Durability::Stored))
}

/// Waits until the log has come so far that `done` holds.
fn until(log: &PostgresLog, done: impl Fn(&Progress) -> bool) {
    let mut progress = log.progress();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_mins(1), progress.wait_for(done)).await.unwrap().unwrap();
    });
}

#[test]
fn a_log_that_notes_its_own_end_is_not_overtaken_by_it() {
    let log = TestPostgresServer::shared().place().open_log();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let renewed = |is_ending| {
        log.shared.is_ending.store(is_ending, Ordering::Release);
        // No life has this number, so whoever renews it finds it over.
        runtime.block_on(life::keep_alive(log.shared.clone(), -1, Duration::from_millis(30)));
        log.progress().borrow().health.clone()
    };
    assert_eq!(renewed(true), Health::Well);
    assert_ne!(renewed(false), Health::Well);
}

/// Four publishers, each with a conversation of its own, append one event after the other and wait for each, until `disturb` is done.
/// Then all that was appended must be there, once, and before it all that was acked.
fn under_load(place: &PostgresPlace, disturb: impl FnOnce()) {
    let log = place.open_log();
    let is_over = AtomicBool::new(false);
    let heads: Vec<(String, Seq, Seq, Ticket)> = std::thread::scope(|scope| {
        let publishers: Vec<_> = (0..4)
            .map(|n| {
                let (log, is_over) = (&log, &is_over);
                scope.spawn(move || {
                    let (name, mut head, mut acked, mut newest) = (format!("c{n}"), 0, 0, Ticket::default());
                    while !is_over.load(Ordering::Relaxed) {
                        newest = append(log, &name, head, &events(head + 1, head + 1));
                        head += 1;
                        if wait(log, newest).is_ok() {
                            acked = head;
                            continue;
                        }
                        // Without a pause the queue is full before the database is back, and what it has no room for is a hole.
                        while log.progress().borrow().health != Health::Well
                            && !is_over.load(Ordering::Relaxed)
                        {
                            std::thread::yield_now();
                        }
                    }
                    (name, head, acked, newest)
                })
            })
            .collect();
        let disturbed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(disturb));
        is_over.store(true, Ordering::Relaxed);
        assert!(disturbed.is_ok(), "{:?}, {:?}", log.figures(), log.progress().borrow().health);
        publishers.into_iter().map(|publisher| publisher.join().unwrap()).collect()
    });
    let last = heads.iter().map(|(.., newest)| *newest).max().unwrap();
    until(&log, |progress| progress.has(last) && progress.health == Health::Well);
    assert_eq!((log.figures().holed, log.figures().set_aside), (0, 0));
    drop(log);
    let log = place.open_log();
    for (name, head, acked, _) in heads {
        assert!(acked > 10, "{name} had {acked} acks: there was no load");
        assert_eq!(log.load(&id(&name)).unwrap().unwrap().position.seq, head);
        let mut read = Vec::new();
        while (read.len() as u64) < head {
            read.extend(log.read(&id(&name), read.len() as u64, 100_000).unwrap().envelopes);
        }
        assert_eq!(read, events(1, head));
    }
}

/// Waits until the log of `place` has as many more commits as `count`.
fn until_commits(server: &TestPostgresServer, schema: &str, count: u32) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let grown = format!(
        "DO $$ BEGIN IF (SELECT max(commits) FROM {schema}.life) < {count} THEN RAISE EXCEPTION 'not yet'; END IF; END $$"
    );
    while !server.sql(&grown) {
        assert!(Instant::now() < deadline, "there is no load");
    }
}

fn schema(place: &PostgresPlace) -> &str {
    place.url().rsplit_once("%3D").unwrap().1
}

#[test]
fn i9_nothing_acked_is_lost_or_doubled_when_the_database_is_killed_under_load() {
    let server = TestPostgresServer::start();
    let place = server.place();
    let name = schema(&place);
    under_load(&place, || {
        for round in 1..=3 {
            until_commits(&server, name, round * 40);
            server.kill();
            server.resume();
        }
        until_commits(&server, name, 160);
    });
}

#[test]
fn i10_a_transaction_whose_answer_is_lost_is_made_once() {
    let server = TestPostgresServer::start();
    let place = server.place();
    let name = schema(&place);
    under_load(&place, || {
        for round in 1..=25 {
            until_commits(&server, name, round * 8);
            let end =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fanlight'";
            assert!(server.sql(end));
        }
    });
}

#[test]
fn i9_a_life_that_another_has_taken_over_writes_nothing() {
    let server = TestPostgresServer::shared();
    let place = server.place();
    let paused = place.open_log();
    wait(&paused, append(&paused, "c", 0, &events(1, 3))).unwrap();
    // What one that starts does once nothing was heard of the other for long enough.
    assert!(server.sql(&format!("UPDATE {}.life SET over = true", schema(&place))));
    let late = append(&paused, "c", 3, &events(4, 5));
    let refused = wait(&paused, late).unwrap_err();
    assert!(refused.to_string().contains("another hub"), "{refused}");
    let next = place.open_log();
    let found = next.load(&id("c")).unwrap().unwrap();
    assert_eq!(found.position.seq, 3);
    assert_ne!(
        found.position.epoch,
        Epoch::new("e1"),
        "what was shown and not stored is told as a new epoch"
    );
    let more = next.append(Append::of(&id("c"), &found.position, &events(4, 4))).unwrap();
    wait(&next, more).unwrap();
    assert!(!paused.progress().borrow().has(late));
    let unwritten = paused.close().unwrap_err();
    assert_eq!(unwritten.events, 2);
    assert_eq!(next.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 4));
}

#[test]
fn a_database_in_use_is_refused_and_one_of_the_dead_is_taken_over() {
    let place = TestPostgresServer::shared().place();
    let log = place.open_log();
    let url: PostgresUrl = place.url().parse().unwrap();
    let second = PostgresLog::open(&url, &PostgresOptions::default());
    assert!(matches!(second, Err(PostgresError::InUse)), "{second:?}");
    wait(&log, append(&log, "c", 0, &events(1, 3))).unwrap();
    drop(log);
    assert_eq!(place.open_log().load(&id("c")).unwrap().unwrap().position.seq, 3);
}

#[test]
fn a_database_of_a_later_version_is_refused() {
    let server = TestPostgresServer::shared();
    let place = server.place();
    place.open_log().close().unwrap();
    assert!(server.sql(&format!("UPDATE {}.fanlight_schema SET version = 99", schema(&place))));
    let refused = PostgresLog::open(&place.url().parse().unwrap(), &PostgresOptions::default()).unwrap_err();
    assert!(matches!(refused, PostgresError::Newer { found: 99, .. }), "{refused}");
}

#[test]
fn of_several_hosts_one_that_answers_is_taken() {
    let place = TestPostgresServer::shared().place();
    let (user, rest) = place.url().split_once('@').unwrap();
    let url: PostgresUrl = format!("{user}@%2Fnowhere,{rest}").parse().unwrap();
    let options = PostgresOptions { lease: Duration::from_millis(150), ..PostgresOptions::default() };
    let log = PostgresLog::open(&url, &options).unwrap();
    wait(&log, append(&log, "c", 0, &events(1, 3))).unwrap();
    log.close().unwrap();
}

#[test]
fn a_run_that_ended_is_packed_into_few_blocks_and_reads_the_same() {
    let log = TestPostgresServer::shared().place().open_log();
    let run = RunId::new("r1");
    let mut facts = vec![Event::new(&run, Kind::RunStart(RunStart::default()))];
    for number in 0..100 {
        let text = format!("word {number} ").into();
        facts.push(Event::new(&run, Kind::PartDelta { part: "p1".into(), off: None, text }));
    }
    let end = RunEnd { status: RunStatus::Complete, finish_reason: None, usage: None, lost: false };
    facts.push(Event::new(&run, Kind::RunEnd(end)));
    let history = testkit::logged(facts);
    for envelope in &history {
        let ticket = append(&log, "c", envelope.seq - 1, std::slice::from_ref(envelope));
        wait(&log, ticket).unwrap();
    }
    let blocks = || {
        let count = log.read_with(|session| {
            Box::pin(async move {
                let found = read::find(session, &id("c")).await?.ok_or(LogError::Unknown)?;
                read::newest_first(session, found.key, 1_000).await.map(|blocks| blocks.len())
            })
        });
        count.unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while blocks() > 4 {
        assert!(Instant::now() < deadline, "{} blocks", blocks());
        wait(&log, log.sync()).unwrap();
    }
    assert_eq!(log.read(&id("c"), 0, 1_000).unwrap().envelopes, history);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().view, testkit::folded(&history));
}

#[test]
fn i9_blocks_that_were_joined_already_are_not_joined_again() {
    let log = TestPostgresServer::shared().place().open_log();
    for seq in 1..=6 {
        wait(&log, append(&log, "c", seq - 1, &events(seq, seq))).unwrap();
    }
    let joined = || {
        let mut source = PostgresBlockSource { database: Arc::clone(&log.shared.database) };
        let key = log.read_with(|session| {
            Box::pin(async { Ok(read::find(session, &id("c")).await?.map(|found| found.key)) })
        });
        let key = key.unwrap().unwrap();
        let loose = source.newest_first(key, 10).unwrap();
        let some = loose.get(loose.len() - 4..).unwrap();
        let bodies = source.bodies(key, some).unwrap();
        let (newest, oldest) = (some.first().unwrap(), some.last().unwrap());
        Op::Compact(Box::new(CompactedBlocks {
            conversation: id("c"),
            key,
            instead_of: some.iter().map(|it| it.id).collect(),
            bytes_before: some.iter().map(|it| it.bytes).sum(),
            block: blocks::join(&bodies, oldest.first, newest.last).unwrap(),
        }))
    };
    // As after a failure: several wait that were made from the same blocks, in one group and in two.
    let [first, second, third] = [joined(), joined(), joined()];
    let queue = &log.shared.queue;
    queue.put(first);
    wait(&log, queue.put(second)).unwrap();
    wait(&log, queue.put(third)).unwrap();
    wait(&log, append(&log, "c", 6, &events(7, 7))).unwrap();
    assert_eq!(log.progress().borrow().health, Health::Well);
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, events(1, 7));
}

#[test]
fn i8_while_the_database_is_away_events_are_taken_and_the_reason_is_said() {
    let server = TestPostgresServer::start();
    let log = server.place().open_log();
    wait(&log, append(&log, "c", 0, &events(1, 3))).unwrap();
    server.kill();
    let ticket = append(&log, "c", 3, &events(4, 6));
    let failed = wait(&log, ticket).unwrap_err();
    assert!(matches!(failed, LogError::Failing(_)), "{failed}");
    assert!(matches!(log.progress().borrow().health, Health::Failing(_)));
    assert!(matches!(log.read(&id("c"), 0, 10), Err(LogError::Unreadable(_))));
    server.resume();
    until(&log, |progress| progress.has(ticket) && progress.health == Health::Well);
    assert_eq!(log.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 6));
    log.close().unwrap();
}

mod limited;
mod older;
mod promoted;
mod shared;
