//! A viewer against a small hub that answers by the rules, with random cuts and resumes; and what it refuses.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::conflate::conflate;
use crate::snapshot;
use crate::testkit::{folded, history};

/// The answer of a hub that keeps the last `kept` of `log` to a viewer at `have`.
fn answer(log: &[Arc<Envelope>], have: Option<&Position>, kept: usize) -> Vec<ServerFrame> {
    let head = log.len() as Seq;
    let epoch = Epoch::new("e1");
    let tail = head.saturating_sub(kept as Seq);
    match have {
        Some(position) if position.epoch == epoch && (tail..=head).contains(&position.seq) => {
            let subbed = ServerFrame::Subbed { sub: 1, epoch, mode: SubMode::Tail, why: None, head };
            [Some(subbed), batch(log, position.seq, head)].into_iter().flatten().collect()
        }
        _ => vec![
            ServerFrame::Subbed { sub: 1, epoch: epoch.clone(), mode: SubMode::Snapshot, why: None, head },
            ServerFrame::Snap { sub: 1, epoch, seq: head, more: false, state: Box::new(folded(log)) },
        ],
    }
}

/// What a viewer after `after` is sent up to `to`.
fn batch(log: &[Arc<Envelope>], after: Seq, to: Seq) -> Option<ServerFrame> {
    let events = log
        .get(usize::try_from(after).unwrap()..usize::try_from(to).unwrap())
        .filter(|events| !events.is_empty())?;
    let ev = conflate(events).iter().map(|envelope| Envelope::clone(envelope)).collect();
    Some(ServerFrame::Batch { sub: 1, from: after + 1, to, ts: 0, ev })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// I2, I5: whatever the schedule of lag, cut, resume and lost ring, a viewer ends with the view of all events.
    #[test]
    fn i2_i5_cut_and_resumed_viewer_has_the_view_of_all(
        history in history(1..120),
        steps in proptest::collection::vec((1_usize..30, any::<bool>(), 0_usize..60), 1..40),
    ) {
        let mut tracker = Tracker::default();
        let (mut head, mut steps) = (0, steps.iter().cycle());
        let mut connected = false;
        while head < history.len() || tracker.view().seq < history.len() as Seq {
            let (more, cut, kept) = *steps.next().unwrap();
            head = (head + more).min(history.len());
            let log = &history[..head];
            let frames = if cut || !connected {
                tracker.disconnected();
                connected = true;
                answer(log, tracker.position().as_ref(), kept)
            } else {
                batch(log, tracker.view().seq, head as Seq).into_iter().collect()
            };
            for mut frame in frames {
                let outcome = tracker.take(&mut frame, &mut |_| {});
                let bad = matches!(outcome, FrameOutcome::Gap { .. } | FrameOutcome::Drift { .. } | FrameOutcome::NotForUs);
                prop_assert!(!bad, "{:?}", outcome);
            }
        }
        prop_assert_eq!(snapshot::hash(tracker.view()), snapshot::hash(&folded(&history)));
    }
}

fn delta(seq: Seq) -> Envelope {
    Envelope::parse(&format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"x","seq":{seq}}}"#)).unwrap()
}

fn joined() -> Tracker {
    let mut tracker = Tracker::default();
    let epoch = Epoch::new("e1");
    tracker.take(
        &mut ServerFrame::Subbed { sub: 1, epoch, mode: SubMode::Tail, why: None, head: 0 },
        &mut |_| {},
    );
    tracker
}

#[test]
fn i2_a_hole_is_refused_and_named() {
    let mut tracker = joined();
    let mut frame = ServerFrame::Batch { sub: 1, from: 3, to: 3, ts: 0, ev: vec![delta(3)] };
    assert_eq!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Gap { expected: 1, from: 3 });
    assert_eq!(tracker.view().seq, 0);
}

#[test]
fn a_frame_that_comes_twice_changes_nothing() {
    let mut tracker = joined();
    let mut frame = ServerFrame::Batch { sub: 1, from: 1, to: 2, ts: 0, ev: vec![delta(1)] };
    assert!(matches!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Applied(_)));
    assert_eq!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Duplicate);
    assert_eq!(tracker.view().seq, 2);
}

#[test]
fn a_frame_with_ephemeral_events_only_moves_nothing() {
    let mut tracker = joined();
    let progress = Envelope::parse(r#"{"k":"tool.progress","run":"r","tool":"t","current":1}"#).unwrap();
    let mut frame = ServerFrame::Batch { sub: 1, from: 1, to: 0, ts: 0, ev: vec![progress.clone()] };
    assert_eq!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Applied(&[progress]));
    assert_eq!(tracker.view(), &View::default());
}

#[test]
fn events_before_the_answer_or_of_another_life_are_refused() {
    let mut tracker = joined();
    tracker.disconnected();
    let mut frame = ServerFrame::Batch { sub: 1, from: 1, to: 1, ts: 0, ev: vec![delta(1)] };
    assert!(matches!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Gap { .. }));
    let epoch = Epoch::new("e2");
    tracker.take(
        &mut ServerFrame::Subbed { sub: 1, epoch, mode: SubMode::Tail, why: None, head: 0 },
        &mut |_| {},
    );
    assert!(matches!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Gap { .. }));
}

fn snap(seq: Seq, more: bool, piece: &[u8]) -> ServerFrame {
    let state = Box::new(snapshot::decode(piece).unwrap());
    ServerFrame::Snap { sub: 1, epoch: Epoch::new("e1"), seq, more, state }
}

#[test]
fn a_snapshot_in_pieces_is_applied_with_its_last() {
    let line = |number| format!(r#"{{"k":"message","message":"m{number}","text":"some words"}}"#);
    let lines = (0..9).map(line).collect::<Vec<_>>().join("\n");
    let view = folded(&crate::testkit::logged(crate::testkit::events(&lines)));
    let pieces = snapshot::pieces(&view, 300);
    assert!(pieces.len() > 2);
    let mut tracker = joined();
    let (last, first) = pieces.split_last().unwrap();
    for piece in first {
        assert_eq!(tracker.take(&mut snap(9, true, piece), &mut |_| {}), FrameOutcome::Piece);
        assert_eq!(tracker.view(), &View::default());
    }
    assert_eq!(tracker.take(&mut snap(9, false, last), &mut |_| {}), FrameOutcome::Replaced);
    assert_eq!(tracker.view(), &view);
}

#[test]
fn a_text_that_is_not_the_hub_s_is_noticed_at_its_end_once() {
    let history = crate::testkit::logged(crate::testkit::events(
        r#"{"k":"run.start","run":"r"}
        {"k":"part.delta","run":"r","part":"p","text":"right"}
        {"k":"part.end","run":"r","part":"p"}
        {"k":"part.end","run":"r","part":"p"}"#,
    ));
    let mut events: Vec<Envelope> = history.iter().map(|envelope| Envelope::clone(envelope)).collect();
    let mut tracker = joined();
    let mut take = |from, to, ev: &[Envelope]| {
        let mut frame = ServerFrame::Batch { sub: 1, from, to, ts: 0, ev: ev.to_vec() };
        matches!(tracker.take(&mut frame, &mut |_| {}), FrameOutcome::Drift { part, .. } if part.as_str() == "p")
    };
    if let Kind::PartDelta { text, .. } = &mut events[1].event.kind {
        *text = "wrong".into();
    }
    assert!(!take(1, 2, &events[..2]));
    assert!(take(3, 3, &events[2..3]));
    assert!(!take(4, 4, &events[3..]));
}

#[test]
fn a_subscription_to_which_nothing_comes_is_dead_at_the_second_heartbeat() {
    let mut tracker = joined();
    let head = |seq| Some((Epoch::new("e1"), seq));
    assert!(!tracker.heartbeat(head(0).as_ref()));
    assert!(!tracker.heartbeat(head(3).as_ref()));
    // Something came: it lives.
    tracker.take(&mut ServerFrame::Batch { sub: 1, from: 1, to: 1, ts: 0, ev: vec![delta(1)] }, &mut |_| {});
    assert!(!tracker.heartbeat(head(3).as_ref()));
    assert!(tracker.heartbeat(head(4).as_ref()));
    assert!(!tracker.heartbeat(head(4).as_ref()));
}
