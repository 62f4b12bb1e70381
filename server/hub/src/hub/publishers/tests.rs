//! Tests of exactly-once (I10).

use proptest::prelude::*;

use super::*;

fn numbering(name: &str, epoch: u64, number: u64) -> FrameNumbering {
    FrameNumbering { publisher: PublisherId::new(name), epoch, numbers: Numbers::of(0, number) }
}

fn events(first: u64, last: u64) -> FrameNumbering {
    FrameNumbering { publisher: PublisherId::new("a"), epoch: 1, numbers: Numbers::Events { first, last } }
}

const NEW: FrameVerdict = FrameVerdict::Take { skip: 0 };

#[test]
fn i10_a_frame_is_taken_once_in_order_and_in_the_newest_life() {
    let mut publishers = Publishers::default();
    assert_eq!(publishers.judge(&numbering("a", 1, 2)), FrameVerdict::Gap { expected: 1 });
    assert_eq!(publishers.judge(&numbering("a", 1, 1)), NEW);
    publishers.take(&numbering("a", 1, 1));
    assert_eq!(publishers.judge(&numbering("a", 1, 1)), FrameVerdict::Duplicate);
    assert_eq!(publishers.judge(&numbering("a", 1, 3)), FrameVerdict::Gap { expected: 2 });
    assert_eq!(publishers.judge(&numbering("a", 2, 2)), FrameVerdict::Gap { expected: 1 });
    publishers.take(&numbering("a", 2, 1));
    assert_eq!(publishers.judge(&numbering("a", 1, 2)), FrameVerdict::Fenced);
    assert_eq!(publishers.judge(&numbering("b", 0, 1)), NEW);
}

#[test]
fn i10_of_numbered_events_only_those_are_taken_that_were_not_before() {
    let mut publishers = Publishers::default();
    assert_eq!(publishers.judge(&events(2, 3)), FrameVerdict::Gap { expected: 1 });
    assert_eq!(publishers.judge(&events(1, 5)), NEW);
    publishers.take(&events(1, 5));
    assert_eq!(publishers.judge(&events(2, 5)), FrameVerdict::Duplicate);
    assert_eq!(publishers.judge(&events(4, 9)), FrameVerdict::Take { skip: 2 });
    assert_eq!(publishers.judge(&events(6, 9)), NEW);
    assert_eq!(publishers.judge(&events(7, 9)), FrameVerdict::Gap { expected: 6 });
}

#[test]
fn i10_a_frame_without_events_asks_where_the_hub_stands() {
    let mut publishers = Publishers::default();
    assert_eq!(publishers.judge(&events(1, 0)), FrameVerdict::Duplicate);
    assert_eq!(publishers.judge(&events(6, 5)), FrameVerdict::Gap { expected: 1 });
    publishers.take(&events(1, 5));
    assert_eq!(publishers.judge(&events(6, 5)), FrameVerdict::Duplicate);
    assert_eq!(publishers.judge(&events(3, 2)), FrameVerdict::Duplicate);
    assert_eq!(publishers.judge(&events(9, 8)), FrameVerdict::Gap { expected: 6 });
    // No number is too large.
    assert_eq!(publishers.judge(&events(u64::MAX, u64::MAX)), FrameVerdict::Gap { expected: 6 });
}

proptest! {
    /// I10: whatever is sent again, cut differently or left out, what is taken is 1, 2, 3, … once each; and whoever goes on
    /// from the number that is expected gets everything through.
    #[test]
    fn i10_events_are_taken_once_and_in_order_however_they_are_sent(
        frames in proptest::collection::vec((0..40_u64, 0..9_u64), 0..120)
    ) {
        let mut publishers = Publishers::default();
        let mut taken: Vec<u64> = Vec::new();
        let mut send = |first: u64, count: u64| {
            let numbering = events(first, first + count - 1);
            let verdict = publishers.judge(&numbering);
            if let FrameVerdict::Take { skip } = verdict {
                taken.extend((first..first + count).skip(skip));
                publishers.take(&numbering);
            }
            (verdict, taken.clone())
        };
        for (start, count) in frames {
            let (verdict, taken) = send(start + 1, count);
            prop_assert_eq!(&taken, &(1..=taken.len() as u64).collect::<Vec<_>>());
            let last = taken.len() as u64;
            match verdict {
                FrameVerdict::Gap { expected } => {
                    prop_assert_eq!(expected, last + 1);
                    prop_assert!(start + 1 > expected);
                }
                FrameVerdict::Duplicate => prop_assert!(start + count <= last),
                FrameVerdict::Take { .. } => prop_assert_eq!(start + count, last),
                FrameVerdict::Fenced => prop_assert!(false, "there is one life"),
            }
        }
        let from = send(1, 0).1.len() as u64 + 1;
        let (verdict, taken) = send(from, 60);
        prop_assert_eq!(verdict, NEW);
        prop_assert_eq!(taken, (1..from + 60).collect::<Vec<_>>());
    }
}

#[test]
fn a_publisher_that_does_not_count_is_fenced_only() {
    let mut publishers = Publishers::default();
    publishers.take(&numbering("a", 2, 0));
    assert_eq!(publishers.judge(&numbering("a", 2, 0)), NEW);
    assert_eq!(publishers.judge(&numbering("a", 1, 0)), FrameVerdict::Fenced);
}

#[test]
fn i7_the_one_silent_for_longest_is_forgotten() {
    let mut publishers = Publishers::default();
    for number in 0..PUBLISHERS_PER_CONVERSATION_MAX {
        publishers.take(&numbering(&number.to_string(), 0, 1));
    }
    publishers.take(&numbering("0", 0, 2));
    publishers.take(&numbering("new", 0, 1));
    assert_eq!(publishers.last.len(), PUBLISHERS_PER_CONVERSATION_MAX);
    assert_eq!(publishers.judge(&numbering("0", 0, 3)), NEW);
    assert_eq!(publishers.judge(&numbering("1", 0, 2)), FrameVerdict::Gap { expected: 1 });
}
