//! One conversation against the plainest model there is: a list of events.

use std::sync::Arc;

use event_log::{Append, EventLog, MemoryLog};
use model::event::{Class, Kind, LabelChange, Message, Origin, RunEnd, RunStart, RunStatus, ToolProgress};
use model::fold::{complete, fold, mismatch};
use model::limits::CONVERSATION_BYTES_MAX;
use model::weigh::weigh;
use model::{Envelope, Event, MessageId, PublisherId, RunId, ToolCallId, testkit};
use proptest::prelude::*;

use super::*;
use crate::hub::orphans::OrphanTimeouts;
use crate::hub::{FrameNumbering, Numbers, Publication};

fn conversation() -> Conversation {
    Conversation::new(ConversationId::parse("c").unwrap(), Epoch::new("e"))
}

fn bare(event: Event) -> Envelope {
    Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false }
}

fn publication(events: Vec<Event>) -> Publication {
    Publication::of(events.into_iter().map(bare).collect())
}

fn said(number: u64, bytes: usize) -> Event {
    let text = "x".repeat(bytes);
    let message = Message {
        message: MessageId::new(&format!("m{number}")),
        role: "user".into(),
        text,
        files: Vec::new(),
    };
    Event::new(&RunId::none(), Kind::Message(message))
}

#[test]
fn i7_a_full_conversation_takes_only_what_ends_something() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let append = |events| conversation.append(&mut publication(events), 1, &log, None).map(|it| it.events);
    let run = RunId::new("r");
    let ends = |status| RunEnd { status, finish_reason: None, usage: None, lost: false };
    append(vec![Event::new(&run, Kind::RunStart(RunStart::default()))]).unwrap();
    for number in 0..7 {
        append(vec![said(number, 10 << 20)]).unwrap();
    }
    let refused = append(vec![said(7, 1)]);
    assert!(
        matches!(refused, Err(AppendError::Full { held }) if held > CONVERSATION_BYTES_MAX),
        "{refused:?}"
    );
    let head = conversation.head();
    append(vec![Event::new(&run, Kind::RunEnd(ends(RunStatus::Complete)))]).unwrap();
    assert_eq!(conversation.head(), head + 1);
    let mut own = Publication::of_hub(vec![bare(said(8, 1))]);
    conversation.append(&mut own, 1, &log, None).unwrap();
    // What replaces is not more: the estimate is counted again.
    for _ in 0..2 {
        let mut smaller = Publication::of_hub(vec![bare(said(0, 1)), bare(said(1, 1 << 20))]);
        conversation.append(&mut smaller, 1, &log, None).unwrap();
    }
    append(vec![said(9, 1)]).unwrap();
}

/// A log that stands elsewhere than the conversation refuses what is said: neither the view nor the publisher's numbers may have it.
#[test]
fn i9_what_the_log_refuses_leaves_nothing_behind_and_its_repetition_is_refused_too() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let numbered = |number| Publication {
        numbering: Some(FrameNumbering {
            publisher: PublisherId::new("p"),
            epoch: 1,
            numbers: Numbers::Frame(number),
        }),
        ..publication(vec![said(number, 10)])
    };
    conversation.append(&mut numbered(1), 1, &log, None).unwrap();
    // Somebody else wrote to the log, and the hub does not know.
    let behind = conversation.position(1);
    let other = Arc::new(Envelope { seq: 2, ..bare(said(7, 1)) });
    log.append(Append::of(&conversation.id, &behind, &[other])).unwrap();
    let before = (conversation.head(), conversation.view(), conversation.usage());
    for _ in 0..2 {
        let refused = conversation.append(&mut numbered(2), 2, &log, None);
        assert!(matches!(refused, Err(AppendError::Log(_))), "{refused:?}");
        assert_eq!((conversation.head(), conversation.view(), conversation.usage()), before);
    }
}

/// What somebody does to a conversation.
#[derive(Debug, Clone)]
enum Step {
    Append(Vec<Event>),
    /// A viewer takes what fits into so many bytes.
    Take(usize, usize),
    /// A viewer begins again from its last but so many events.
    Rewind(usize, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let event = testkit::event().prop_filter("only the hub writes it", |event| !event.kind.is_of_hub());
    prop_oneof![
        3 => proptest::collection::vec(event, 0..12).prop_map(Step::Append),
        4 => (0..3_usize, 0..2_000_usize).prop_map(|(viewer, bytes)| Step::Take(viewer, bytes)),
        1 => (0..3_usize, 0..9_u64).prop_map(|(viewer, back)| Step::Rewind(viewer, back)),
    ]
}

proptest! {
    /// I1: seqs are dense. I2: every viewer has exactly the events up to its cursor, in order, whatever it does.
    #[test]
    fn i1_i2_viewers_get_every_event_once_and_in_order(steps in proptest::collection::vec(step(), 0..40)) {
        let conversation = conversation();
        let log = MemoryLog::default();
        let (mut model, mut seen): (Vec<Event>, View) = Default::default();
        let mut viewers = [Cursor::default(); 3];
        for step in steps {
            match step {
                Step::Append(events) => {
                    for event in events.iter().filter(|e| e.kind.class() != Class::Ephemeral) {
                        for event in mismatch(&seen, event).into_iter().chain([event.clone()]) {
                            let mut envelope = bare(event);
                            complete(&seen, &mut envelope.event);
                            fold(&mut seen, &envelope, &mut |_| {});
                            model.push(envelope.event);
                        }
                    }
                    let count = events.len() as u64;
                    let appended = conversation.append(&mut publication(events), 7, &log, None).unwrap();
                    prop_assert_eq!(appended.events, count);
                    prop_assert_eq!(appended.position.seq, model.len() as u64);
                    prop_assert_eq!(conversation.head(), model.len() as u64);
                }
                Step::Take(viewer, bytes) => {
                    let cursor = viewers[viewer];
                    let slice = conversation.next(cursor, bytes).expect("nothing left the ring");
                    prop_assert_eq!(slice.from, cursor.seq + 1);
                    prop_assert_eq!(slice.to, cursor.seq + slice.events.len() as u64);
                    prop_assert!(!slice.events.is_empty() || cursor.seq == slice.head);
                    for (envelope, seq) in slice.events.iter().zip(slice.from..) {
                        prop_assert_eq!(envelope.seq, seq);
                        let expected = &model[usize::try_from(seq).unwrap() - 1];
                        prop_assert_eq!(&envelope.event.run, &expected.run);
                        prop_assert_eq!(
                            std::mem::discriminant(&envelope.event.kind),
                            std::mem::discriminant(&expected.kind)
                        );
                    }
                    viewers[viewer] = slice.cursor;
                }
                Step::Rewind(viewer, back) => viewers[viewer].seq = viewers[viewer].seq.saturating_sub(back),
            }
        }
        let logged = testkit::logged(model);
        let folded = testkit::folded(&logged);
        prop_assert_eq!(conversation.view().seq, folded.seq);
        prop_assert_eq!(conversation.view().runs.len(), folded.runs.len());
    }
}

#[test]
fn a_label_counts_only_when_the_hub_writes_it() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let change = LabelChange { title: Some("mine".into()), pinned: Some(true), ..LabelChange::default() };
    let label = Event::new(&RunId::none(), Kind::Label(Box::new(change)));
    let appended = conversation.append(&mut publication(vec![label.clone()]), 7, &log, None).unwrap();
    let view = conversation.view();
    assert_eq!((appended.events, view.seq, view.anomalies.total), (1, 1, 1));
    assert!(view.label.is_clear() && view.runs.is_empty());
    conversation.append(&mut Publication::beside(vec![bare(label)]), 8, &log, None).unwrap();
    let row = conversation.row();
    assert_eq!((row.title.as_deref(), row.pinned, row.head), (Some("mine"), true, 2));
    assert_eq!(row.at, 7, "a label is no activity");
    assert!(conversation.page(1, 1).unwrap().envelopes[0].by_hub);
}

#[test]
fn a_stall_and_a_fork_count_only_when_the_hub_writes_them() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let run = RunId::new("r");
    let begun = Event::new(&run, Kind::RunStart(RunStart::default()));
    conversation.append(&mut publication(vec![begun]), 7, &log, None).unwrap();
    let stalled = Event::new(&run, Kind::RunStalled { since: 1 });
    let from =
        Origin { conversation: ConversationId::parse("other").unwrap(), epoch: Epoch::new("x"), seq: 3 };
    let fork = Event::new(&RunId::none(), Kind::Fork { from });
    let forged = [stalled.clone(), fork.clone(), Event { run: run.clone(), ..fork.clone() }];
    let appended = conversation.append(&mut publication(forged.to_vec()), 8, &log, None).unwrap();
    assert_eq!((appended.events, appended.anomalies), (3, 3));
    let view = conversation.view();
    assert_eq!((view.runs[&run].stalled_at, &view.forked_from), (None, &None));
    let details = view.anomalies.first.iter().map(|it| it.detail.as_str()).collect::<Vec<_>>();
    assert!(details[0].contains("`run.stalled`") && details[1].contains("`fork`"), "{details:?}");
    assert_eq!((conversation.row().stalled, conversation.row().forked_from), (false, None));
    let own = vec![bare(stalled), bare(fork)];
    conversation.append(&mut Publication::beside(own), 9, &log, None).unwrap();
    let view = conversation.view();
    assert_eq!((view.runs[&run].stalled_at, view.forked_from.is_some()), (Some(1), true));
}

#[test]
fn a_forged_stall_says_nothing_of_a_run_that_its_publisher_attends_or_has_left() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let run = RunId::new("r");
    let begun = bare(Event::new(&run, Kind::RunStart(RunStart::default())));
    conversation.append(&mut Publication::of(vec![begun]), 7, &log, None).unwrap();
    let patience = OrphanTimeouts { stalled_after: Some(100), interrupted_after: None };
    assert_eq!(conversation.judge_orphans(&patience, 200, &log, None).stalled, 1);
    let forged = Event::new(&run, Kind::RunStalled { since: 150 });
    conversation.append(&mut publication(vec![forged]), 201, &log, None).unwrap();
    assert_eq!(conversation.view().runs[&run].stalled_at, Some(7), "it is no word of the run");
    assert_eq!(conversation.judge_orphans(&patience, 500, &log, None).stalled, 0);
}

fn status(text: &str) -> Event {
    Event::new(&RunId::new("r1"), Kind::Status { text: text.to_owned() })
}

#[test]
fn what_fell_out_of_the_ring_is_not_given_in_part() {
    let mut ring = Ring::bounded(usize::MAX, 3);
    for seq in 1..=5 {
        ring.push(Arc::new(Envelope { seq, ..bare(status("")) }), 10);
    }
    assert!(!ring.reaches(1));
    assert!(ring.reaches(2));
    assert_eq!(ring.bytes_after(2), 30);
    assert_eq!(ring.bytes_after(4), 10);
    assert_eq!(ring.bytes_after(5), 0);
    let seqs = |after, bytes| ring.after(after, bytes).iter().map(|e| e.seq).collect::<Vec<_>>();
    assert_eq!(seqs(2, 0), [3]);
    assert_eq!(seqs(2, 10), [3, 4]);
    assert_eq!(seqs(5, 99), [0; 0]);
}

#[test]
fn i7_what_is_put_before_the_ring_keeps_to_its_bounds() {
    let said = |seq| Arc::new(Envelope { seq, ..bare(status("x")) });
    // Holds 5 to 7, of which each weighs 10 bytes.
    let ring = |bytes, events| {
        let mut ring = Ring::bounded_after(4, bytes, events);
        for seq in 5..=7 {
            ring.push(said(seq), 10);
        }
        ring
    };
    let all = || (1..=4).map(said).collect::<Vec<_>>();
    let each = weigh(&said(1)) as u64;
    let mut whole = ring(usize::MAX, 9);
    assert_eq!(whole.prepend(all()), 4 * each);
    assert_eq!((whole.begins_after(), whole.bytes_after(0), whole.bytes_after(4)), (0, 4 * each + 30, 30));
    let seqs = whole.page(0, 100).iter().map(|e| e.seq).collect::<Vec<_>>();
    assert_eq!(seqs, (1..=7).collect::<Vec<_>>());
    let mut few = ring(usize::MAX, 5);
    assert_eq!((few.prepend(all()), few.begins_after()), (2 * each, 2), "no more events than it may hold");
    let mut light = ring(30 + weigh(&said(1)), 9);
    assert_eq!((light.prepend(all()), light.begins_after()), (each, 3), "no more bytes either");
    let mut full = ring(usize::MAX, 3);
    assert_eq!((full.prepend(all()), full.begins_after()), (0, 4));
    for unfit in [vec![], vec![said(1), said(2), said(3)], vec![said(2), said(4)], vec![said(5)]] {
        assert_eq!(ring(usize::MAX, 9).prepend(unfit), 0);
    }
}

#[test]
fn i7_the_ring_is_bounded_in_bytes_and_keeps_at_least_the_last() {
    let mut ring = Ring::bounded(25, 100);
    for seq in 1..=4 {
        ring.push(Arc::new(Envelope { seq, ..bare(status("")) }), 10);
    }
    assert!(!ring.reaches(1));
    assert!(ring.reaches(2));
    ring.push(Arc::new(Envelope { seq: 5, ..bare(status("")) }), 1_000);
    assert!(!ring.reaches(3));
    assert!(ring.reaches(4));
}

#[test]
fn i10_a_refused_frame_changes_nothing() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let numbering =
        |seq| FrameNumbering { publisher: PublisherId::new("p"), epoch: 1, numbers: Numbers::Frame(seq) };
    let frame = |seq| {
        let both = Publication::of(vec![bare(status("a")), bare(status("b"))]);
        Publication { numbering: Some(numbering(seq)), ..both }
    };
    assert!(!conversation.append(&mut frame(1), 1, &log, None).unwrap().duplicate);
    let again = conversation.append(&mut frame(1), 1, &log, None).unwrap();
    assert!(again.duplicate && again.events == 0 && again.position.seq == 2);
    assert_eq!(conversation.append(&mut frame(3), 1, &log, None), Err(AppendError::Gap { expected: 2 }));
    assert_eq!(conversation.head(), 2);
}

#[test]
fn i10_of_a_frame_that_overlaps_only_the_rest_is_taken() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let frame = |first: u64, texts: &[&str]| {
        let last = first + texts.len() as u64 - 1;
        let numbering = FrameNumbering {
            publisher: PublisherId::new("p"),
            epoch: 1,
            numbers: Numbers::Events { first, last },
        };
        let said = texts.iter().map(|text| bare(status(text))).collect();
        Publication { numbering: Some(numbering), ..Publication::of(said) }
    };
    conversation.append(&mut frame(1, &["a", "b"]), 1, &log, None).unwrap();
    let appended = conversation.append(&mut frame(2, &["b", "c", "d"]), 1, &log, None).unwrap();
    assert_eq!((appended.events, appended.position.seq, appended.duplicate), (2, 4, false));
    let slice = conversation.next(Cursor::default(), 10_000).unwrap();
    let texts = slice.events.iter().map(|envelope| envelope.event.clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["a", "b", "c", "d"].map(status));
}

#[test]
fn of_ephemeral_facts_only_the_newest_of_a_key_is_left_and_none_after_the_run() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    let run = RunId::new("r1");
    let progress = |current| {
        let tool = ToolCallId::new("t1");
        Event::new(
            &run,
            Kind::ToolProgress(ToolProgress { current: Some(current), ..ToolProgress::new(tool) }),
        )
    };
    conversation.append(&mut publication(vec![progress(1), progress(2)]), 1, &log, None).unwrap();
    let slice = conversation.next(Cursor::default(), 1_000).unwrap();
    assert_eq!((slice.from, slice.to, slice.ephemera.len()), (1, 0, 1));
    assert_eq!(slice.ephemera[0].event, progress(2));
    assert!(conversation.next(slice.cursor, 1_000).unwrap().is_empty());
    let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
    conversation
        .append(&mut publication(vec![progress(3), Event::new(&run, Kind::RunEnd(end))]), 1, &log, None)
        .unwrap();
    let slice = conversation.next(slice.cursor, 1_000).unwrap();
    assert_eq!((slice.from, slice.to, slice.ephemera.len()), (1, 1, 0));
}

#[test]
fn an_unused_conversation_can_be_dropped_and_nobody_gets_in_afterwards() {
    let (conversation, log) = (conversation(), MemoryLog::default());
    conversation.enter().unwrap();
    assert!(!conversation.retire_if_unused());
    conversation.leave();
    assert!(conversation.retire_if_unused());
    assert_eq!(conversation.enter(), Err(AppendError::Retired));
    assert_eq!(
        conversation.append(&mut publication(vec![status("")]), 1, &log, None),
        Err(AppendError::Retired)
    );
}
