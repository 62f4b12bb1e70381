//! Tests of the chain.

use super::*;

fn lines(count: usize) -> Vec<String> {
    let mut head = AuditHead::default();
    let mut lines = Vec::new();
    for number in 0..count {
        let what = Audited::new(AuditedAction::Command, "ann").about("c").with(format!("stop {number}"));
        let (line, next) = head.next(what, 1_000 + number as u64);
        (head, lines) = (next, [lines, vec![line]].concat());
    }
    lines
}

/// The number of the first line with a fault, from 1, and the fault.
fn first_fault(lines: &[String]) -> Option<(usize, AuditFault)> {
    let mut check = AuditCheck::default();
    let faults =
        lines.iter().enumerate().filter_map(|(at, line)| check.take(line).err().map(|it| (at + 1, it)));
    faults.min_by_key(|(at, _)| *at)
}

#[test]
fn lines_as_they_were_written_follow_one_another() {
    let all = lines(9);
    assert_eq!(first_fault(&all), None);
    assert_eq!(first_fault(&all[4..]), None, "older lines are not kept for ever");
    let mut check = AuditCheck::default();
    for line in &all {
        check.take(line).unwrap();
    }
    assert_eq!((check.head().n, check.entries()), (9, 9));
    let (_, next) = check.head().next(Audited::new(AuditedAction::Start, ""), 0);
    assert_eq!(next.n, 10);
}

#[test]
fn a_line_that_was_changed_put_in_taken_out_or_moved_is_found() {
    let all = lines(6);
    let changed = |line: usize, change: &dyn Fn(&str) -> String| {
        let mut all = all.clone();
        all[line] = change(&all[line]);
        first_fault(&all)
    };
    // What a line says is vouched for by the next one.
    assert_eq!(changed(2, &|line| line.replace("ann", "bob")), Some((4, AuditFault::Chain)));
    assert_eq!(changed(2, &|line| format!("{line} ")), Some((4, AuditFault::Chain)));
    assert!(matches!(changed(2, &|_| "{".to_owned()), Some((3, AuditFault::NoEntry(_)))));
    assert!(matches!(changed(2, &|_| String::new()), Some((3, AuditFault::NoEntry(_)))));
    let without = [&all[..2], &all[3..]].concat();
    assert_eq!(first_fault(&without), Some((3, AuditFault::Number { expected: 3, found: 4 })));
    let twice = [&all[..3], &all[2..]].concat();
    assert_eq!(first_fault(&twice), Some((4, AuditFault::Number { expected: 4, found: 3 })));
    let mut moved = all.clone();
    moved.swap(1, 2);
    assert_eq!(first_fault(&moved).map(|(at, _)| at), Some(2));
    let other =
        [vec![AuditHead::default().next(Audited::new(AuditedAction::Start, "x"), 0).0], all[1..].to_vec()];
    assert_eq!(first_fault(&other.concat()), Some((2, AuditFault::Chain)), "another beginning");
}

#[test]
fn i7_an_entry_is_bounded_whatever_strangers_send() {
    let long = "x".repeat(100_000);
    let what =
        Audited::new(AuditedAction::Refused, &long).about(&long).at(&long).with(long.clone()).failed(&long);
    let (line, _) = AuditHead::default().next(what, u64::MAX);
    assert!(line.len() < 6 * TEXT_CHARS_MAX + 400, "{}", line.len());
    let (line, _) =
        AuditHead::default().next(Audited::new(AuditedAction::Refused, "a\nb\u{0}\"").with("{\"n\":1}"), 0);
    assert_eq!(line.lines().count(), 1);
    assert_eq!(AuditCheck::default().take(&line).unwrap().what.who, "a\nb\u{0}\"");
}
