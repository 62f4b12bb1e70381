//! Tests of attendance, in virtual time.

use model::ToolCallId;
use model::event::{RunStart, ToolProgress};
use model::testkit::{events, folded, logged};

use super::*;

const PATIENCE: OrphanTimeouts =
    OrphanTimeouts { stalled_after: Some(15_000), interrupted_after: Some(300_000) };

fn run() -> RunId {
    RunId::new("r")
}

fn said(event: Event) -> Envelope {
    Envelope {
        event,
        seq: 0,
        at: 0,
        producer_at: None,
        publisher: Some(PublisherId::new("p")),
        by_hub: false,
    }
}

fn start() -> Envelope {
    said(Event::new(&run(), Kind::RunStart(RunStart::default())))
}

fn status() -> Envelope {
    said(Event::new(&run(), Kind::Status { text: "on".into() }))
}

fn end() -> Envelope {
    said(Event::new(&run(), Kind::RunEnd(RunEnd::default())))
}

fn running() -> View {
    folded(&logged(events(r#"{"k":"run.start","run":"r"}"#)))
}

/// Attendance of a run that `speaker` has begun at 0.
fn begun(speaker: PublisherConnection) -> Attendance {
    let mut attendance = Attendance::default();
    assert!(!attendance.hear(speaker, &start(), 0));
    attendance
}

fn kinds(verdict: &OrphanVerdict) -> Vec<String> {
    let name = |event: &Event| serde_json::to_value(event).unwrap()["k"].as_str().unwrap().to_owned();
    verdict.events.iter().map(name).collect()
}

#[test]
fn a_run_that_a_connection_attends_may_be_silent_for_ever() {
    let mut attendance = begun(PublisherConnection::Connection(1));
    assert!(!attendance.wants_look());
    assert_eq!(attendance.judge(&running(), &PATIENCE, u64::MAX), OrphanVerdict::default());
}

#[test]
fn who_is_gone_leaves_a_run_that_stalls_and_then_ends() {
    let mut attendance = begun(PublisherConnection::Connection(1));
    attendance.hear(PublisherConnection::Connection(2), &status(), 10);
    assert!(!attendance.leave(2, 1_000), "another one attends it");
    assert!(attendance.leave(1, 2_000));
    assert!(!attendance.leave(1, 3_000), "the timer knows");
    let early = attendance.judge(&running(), &PATIENCE, 16_999);
    assert_eq!((kinds(&early), early.next), (vec![], Some(17_000)));
    let stalled = attendance.judge(&running(), &PATIENCE, 17_000);
    assert_eq!(stalled.events, [Event::new(&run(), Kind::RunStalled { since: 2_000 })]);
    assert_eq!((stalled.stalled, stalled.next), (1, Some(302_000)));
    let again = attendance.judge(&running(), &PATIENCE, 301_999);
    assert_eq!((kinds(&again), again.next), (vec![], Some(302_000)));
    let ended = attendance.judge(&running(), &PATIENCE, 302_000);
    assert_eq!(kinds(&ended), ["error", "run.end"]);
    assert_eq!((ended.interrupted, ended.next), (1, None));
}

#[test]
fn a_passer_by_attends_for_the_moment() {
    let mut attendance = begun(PublisherConnection::Passing);
    assert!(attendance.wants_look());
    attendance.hear(PublisherConnection::Passing, &status(), 14_000);
    assert!(!attendance.wants_look(), "once is enough");
    assert_eq!(attendance.judge(&running(), &PATIENCE, 15_000).next, Some(29_000));
    attendance.hear(PublisherConnection::Connection(7), &status(), 20_000);
    assert_eq!(attendance.judge(&running(), &PATIENCE, 29_000), OrphanVerdict::default());
    assert!(attendance.leave(7, 30_000), "the timer had forgotten it");
}

#[test]
fn the_end_of_a_run_ends_its_attendance() {
    let mut attendance = begun(PublisherConnection::Passing);
    attendance.hear(PublisherConnection::Passing, &end(), 5);
    assert_eq!(attendance.judge(&running(), &PATIENCE, u64::MAX), OrphanVerdict::default());
    // What comes late does not make it run.
    attendance.hear(PublisherConnection::Passing, &status(), 6);
    assert_eq!(attendance.judge(&View::default(), &PATIENCE, u64::MAX), OrphanVerdict::default());
}

#[test]
fn a_lost_run_is_said_to_go_on_before_what_comes_of_it() {
    let lost = || {
        let mut attendance = begun(PublisherConnection::Passing);
        assert_eq!(attendance.judge(&running(), &PATIENCE, 300_000).interrupted, 1);
        attendance
    };
    let mut attendance = lost();
    assert!(attendance.hear(PublisherConnection::Passing, &status(), 300_001));
    assert!(!attendance.hear(PublisherConnection::Passing, &status(), 300_002), "once");
    assert!(attendance.wants_look(), "and nobody attends it again");
    assert!(!lost().hear(PublisherConnection::Passing, &start(), 300_001), "it is said by the event itself");
    assert!(lost().hear(PublisherConnection::Passing, &end(), 300_001));
}

#[test]
fn what_is_not_kept_takes_a_stall_back_by_a_word_that_is() {
    let mut attendance = begun(PublisherConnection::Passing);
    assert_eq!(attendance.judge(&running(), &PATIENCE, 15_000).stalled, 1);
    let progress = ToolProgress::new(ToolCallId::new("t"));
    let progress = said(Event::new(&run(), Kind::ToolProgress(progress)));
    assert!(attendance.hear(PublisherConnection::Passing, &progress, 15_001));
    assert!(!attendance.hear(PublisherConnection::Passing, &progress, 15_002));
}

#[test]
fn what_was_running_when_the_hub_stopped_is_waited_for() {
    let mut attendance = Attendance::default();
    assert!(!attendance.adopt(&View::default(), 0, 0));
    assert!(attendance.adopt(&running(), 0, 1_000));
    assert_eq!(attendance.judge(&running(), &PATIENCE, 1_000).next, Some(16_000));
    let lost = r#"{"k":"run.start","run":"r"}
        {"k":"run.end","run":"r","status":"interrupted","lost":true}"#;
    let mut attendance = Attendance::default();
    assert!(!attendance.adopt(&folded(&logged(events(lost))), 0, 0));
    assert!(attendance.hear(PublisherConnection::Passing, &status(), 5));
}

#[test]
fn what_is_taken_over_is_waited_for_from_then_on_and_silent_since_its_last_event() {
    let mut attendance = Attendance::default();
    assert!(attendance.adopt(&running(), 1_000, 841_000));
    assert_eq!(attendance.judge(&running(), &PATIENCE, 855_999).next, Some(856_000));
    let stalled = attendance.judge(&running(), &PATIENCE, 856_000);
    assert_eq!(stalled.events, [Event::new(&run(), Kind::RunStalled { since: 1_000 })]);
    let ended = attendance.judge(&running(), &PATIENCE, 1_141_000);
    let said = serde_json::to_string(&ended.events).unwrap();
    assert!(said.contains("nothing was heard from it for 1140 s"), "{said}");
    // A word of it counts from when it came.
    attendance.adopt(&running(), 1_000, 2_000_000);
    attendance.hear(PublisherConnection::Passing, &status(), 2_001_000);
    let stalled = attendance.judge(&running(), &PATIENCE, 2_016_000);
    assert_eq!(stalled.events, [Event::new(&run(), Kind::RunStalled { since: 2_001_000 })]);
}

#[test]
fn whose_publisher_does_not_come_back_is_lost_without_waiting() {
    let patience = OrphanTimeouts { stalled_after: None, interrupted_after: None };
    let mut attendance = begun(PublisherConnection::Connection(1));
    assert!(attendance.leave_for_good(1, 10));
    let ended = attendance.judge(&running(), &patience, 10);
    assert_eq!((kinds(&ended), ended.interrupted), (vec!["error".to_owned(), "run.end".to_owned()], 1));
    // A word of it takes that back, as of every run that was lost.
    assert!(attendance.hear(PublisherConnection::Passing, &status(), 11));
    assert_eq!(attendance.judge(&running(), &patience, u64::MAX), OrphanVerdict::default());
    // What others attend goes on, and so does what is published to before it is said.
    let mut attendance = begun(PublisherConnection::Connection(1));
    attendance.hear(PublisherConnection::Connection(2), &status(), 1);
    assert!(!attendance.leave_for_good(1, 10));
    let mut heard = begun(PublisherConnection::Connection(1));
    assert!(heard.leave_for_good(1, 10));
    heard.hear(PublisherConnection::Passing, &status(), 10);
    for attendance in [&mut attendance, &mut heard] {
        assert_eq!(attendance.judge(&running(), &patience, u64::MAX), OrphanVerdict::default());
    }
}

#[test]
fn of_what_was_read_back_only_those_that_are_named_are_lost_without_waiting() {
    let others = folded(&logged(events(
        "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"run.start\",\"run\":\"other\"}",
    )));
    let mut attendance = Attendance::default();
    attendance.adopt(&others, 0, 1_000);
    assert!(!attendance.lose_runs(|id| id.as_str() == "nobody's"));
    assert!(attendance.lose_runs(|id| *id == run()));
    let ended = attendance.judge(&others, &PATIENCE, 1_000);
    assert_eq!((ended.interrupted, ended.next), (1, Some(16_000)), "the other is waited for");
    // Who publishes to it again attends it.
    let mut attendance = Attendance::default();
    attendance.adopt(&running(), 0, 1_000);
    attendance.hear(PublisherConnection::Connection(1), &status(), 1_000);
    assert!(!attendance.lose_runs(|_| true));
}

#[test]
fn patience_may_be_without_end() {
    let patience = OrphanTimeouts { stalled_after: None, interrupted_after: None };
    assert_eq!(patience.first_ms(), u64::MAX);
    assert_eq!(
        begun(PublisherConnection::Passing).judge(&running(), &patience, u64::MAX),
        OrphanVerdict::default()
    );
    let patience = OrphanTimeouts { stalled_after: Some(5), interrupted_after: None };
    let stalled = begun(PublisherConnection::Passing).judge(&running(), &patience, u64::MAX);
    assert_eq!((stalled.stalled, stalled.next), (1, None));
}

#[test]
fn i7_attendance_is_bounded() {
    let mut attendance = Attendance::default();
    for number in 0..RUNS_MAX + 5 {
        attendance.hear(PublisherConnection::Connection(1), &status_of(&format!("r{number}")), 0);
    }
    for number in 0..1_000 {
        attendance.hear(PublisherConnection::Connection(number), &status_of("r0"), 0);
    }
    assert_eq!(attendance.runs.len(), RUNS_MAX);
    assert_eq!(attendance.runs[0].connections.len(), CONNECTIONS_PER_RUN_MAX);
}

fn status_of(run: &str) -> Envelope {
    said(Event::new(&RunId::new(run), Kind::Status { text: String::new() }))
}

#[test]
fn a_publisher_that_only_asks_how_far_it_has_come_is_back() {
    let mut attendance = begun(PublisherConnection::Connection(1));
    assert!(attendance.leave(1, 0));
    attendance.is_back(PublisherConnection::Connection(2), &PublisherId::new("another"));
    assert_eq!(attendance.judge(&running(), &PATIENCE, 15_000).stalled, 1);
    attendance.is_back(PublisherConnection::Connection(3), &PublisherId::new("p"));
    assert_eq!(attendance.judge(&running(), &PATIENCE, u64::MAX).interrupted, 0);
}
