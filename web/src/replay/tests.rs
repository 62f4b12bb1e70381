//! Tests of the past: any moment is the fold of what had happened, whatever way one came there.

use model::fold::fold;
use model::snapshot::hash;
use model::{Envelope, View};
use proptest::prelude::*;

use super::*;

/// A run with `calls` calls, an event every `pause` milliseconds.
fn log(calls: usize, pause: u64) -> String {
    let mut events = vec![r#""k":"run.start","run":"r""#.to_owned()];
    for call in 0..calls {
        events.push(format!(r#""k":"tool.start","run":"r","tool":"t{call}","name":"look""#));
        events.push(format!(r#""k":"tool.call","run":"r","tool":"t{call}","arguments":"{{}}""#));
        events.push(format!(r#""k":"tool.state","run":"r","tool":"t{call}","state":"executing""#));
        events.push(format!(r#""k":"tool.result","run":"r","tool":"t{call}","output":"{call}""#));
    }
    events.push(r#""k":"run.end","run":"r","status":"complete""#.to_owned());
    let lines = events.iter().enumerate().map(|(number, event)| {
        let (seq, at) = (number as u64 + 1, 1_000 + number as u64 * pause);
        format!("{{{event},\"seq\":{seq},\"at\":{at}}}\n")
    });
    lines.collect()
}

fn replay(lines: &str) -> Replay {
    let mut replay = Replay::default();
    replay.history.take_logged(lines);
    replay
}

fn after(lines: &str, events: usize) -> View {
    let mut view = View::default();
    for line in lines.lines().take(events) {
        fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
    }
    view
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_moment_is_the_fold_of_what_had_happened(way in proptest::collection::vec(0..2_600_usize, 1..8)) {
        let lines = log(600, 10);
        let mut replay = replay(&lines);
        for to in way {
            replay.go(to, &mut |_| {});
            let events = to.clamp(1, 2_402);
            prop_assert_eq!(replay.at(), events);
            prop_assert_eq!(hash(replay.view()), hash(&after(&lines, events)));
        }
    }
}

#[test]
fn going_on_tells_what_changed_and_going_back_is_another_view() {
    let lines = log(4, 10);
    let mut replay = replay(&lines);
    assert!(!replay.go(3, &mut |_| {}));
    let mut changes = 0;
    assert!(!replay.go(5, &mut |_| changes += 1));
    assert!(changes > 0);
    assert!(replay.go(2, &mut |_| {}));
    assert_eq!(replay.view().seq, 2);
}

#[test]
fn pages_may_overlap_and_come_in_any_cut() {
    let lines = log(3, 10);
    let mut replay = replay(&lines);
    replay.history.take_logged(&lines);
    assert_eq!(replay.history.len(), 14);
    assert_eq!(replay.history.seq(), 14);
}

#[test]
fn time_and_events_are_the_same_places() {
    let mut replay = replay(&log(2, 10));
    replay.seek_time(1_035, &mut |_| {});
    assert_eq!((replay.at(), replay.clock()), (4, 1_035));
    replay.seek_event(5, &mut |_| {});
    assert_eq!((replay.at(), replay.clock()), (5, 1_040));
    replay.seek_time(0, &mut |_| {});
    assert_eq!((replay.at(), replay.clock()), (1, 1_000));
    replay.seek_time(9_999, &mut |_| {});
    assert_eq!((replay.at(), replay.clock(), replay.is_at_end()), (10, 1_090, true));
}

#[test]
fn steps_are_found_in_both_directions() {
    let replay = replay(&log(2, 10));
    // 1 run.start · 2 tool.start · 3 tool.call · 4 tool.state · 5 tool.result · …
    let steps: Vec<usize> =
        std::iter::successors(Some(0), |at| Some(replay.history.step_after(*at))).skip(1).take(6).collect();
    assert_eq!(steps, [1, 3, 5, 7, 9, 10]);
    assert_eq!(replay.history.step_before(10), 9);
    assert_eq!(replay.history.step_before(5), 3);
    assert_eq!(replay.history.step_before(1), 1);
    assert_eq!(replay.history.step_after(10), 10);
}

#[test]
fn the_past_goes_by_as_fast_as_was_asked() {
    let mut replay = replay(&log(2, 100));
    replay.seek_event(1, &mut |_| {});
    replay.play(1_000, &mut |_| {});
    assert_eq!(replay.at(), 1, "it stands until it is told to go");
    replay.player.is_playing = true;
    replay.play(250, &mut |_| {});
    assert_eq!((replay.at(), replay.clock()), (3, 1_250));
    for _ in 0..9 {
        replay.player.change_speed(-1);
    }
    assert_eq!(replay.player.speed(), "0.25×");
    for _ in 0..10 {
        replay.play(33, &mut |_| {});
    }
    assert_eq!(replay.clock(), 1_250 + 330 / 4);
    for _ in 0..9 {
        replay.player.change_speed(1);
    }
    assert_eq!(replay.player.speed(), "64×");
    replay.play(100, &mut |_| {});
    assert!(replay.is_at_end());
    assert_eq!(replay.clock(), 1_900);
}

#[test]
fn time_in_which_nothing_happens_is_skipped_after_two_seconds() {
    let mut replay = replay(&log(2, 60_000));
    replay.seek_event(1, &mut |_| {});
    replay.player.is_playing = true;
    replay.play(1_900, &mut |_| {});
    assert_eq!(replay.at(), 1);
    replay.play(200, &mut |_| {});
    assert_eq!((replay.at(), replay.clock()), (2, 61_000));
    replay.player.skips_idle = false;
    replay.play(59_000, &mut |_| {});
    assert_eq!(replay.at(), 2);
    replay.play(1_000, &mut |_| {});
    assert_eq!(replay.at(), 3);
}

#[test]
fn a_recording_without_times_has_a_pace_and_no_latencies() {
    let lines = r#"{"k":"run.start","run":"r"}
{"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}"}
{"k":"tool.state","run":"r","tool":"t","state":"executing"}
{"k":"rate","run":"r","tokens":3}
{"k":"tool.result","run":"r","tool":"t","output":"x"}
{"k":"run.end","run":"r","status":"complete"}"#;
    let mut replay = Replay::default();
    replay.history.take_told(lines);
    assert_eq!((replay.history.len(), replay.history.is_timed()), (5, false));
    replay.seek_event(4, &mut |_| {});
    let tool = replay.view().runs.values().next().unwrap().tools.values().next().unwrap();
    assert_eq!((tool.latency_ms(), tool.result.is_some()), (None, true));
    replay.seek_event(1, &mut |_| {});
    replay.player.is_playing = true;
    replay.play(110, &mut |_| {});
    assert_eq!(replay.at(), 3);
}
