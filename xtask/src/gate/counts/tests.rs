//! The closing lines of test binaries, as libtest prints them.

use super::{Failure, LINES_MAX, TestCounts};

#[test]
fn closing_lines_add_up_and_other_lines_do_not_count() {
    let mut counts = TestCounts::default();
    for line in [
        "running 3 tests",
        "test a_test ... ok",
        "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        "they said test result: ok. 99 passed; 99 failed",
    ] {
        counts.see(Some(line));
    }
    assert_eq!(counts, TestCounts { passed: 15, failed: 2, ..TestCounts::default() });
}

#[test]
fn what_a_failed_test_has_said_is_kept_from_its_panic_on() {
    let mut counts = TestCounts::default();
    let lines = [
        "failures:",
        "",
        "---- one::is_red stdout ----",
        "a hub writes this",
        "thread 'one::is_red' (7) panicked at tests/it/one.rs:4:5:",
        "no answer",
        "---- two stdout ----",
        "Error: it only returned an error",
        "",
        "failures:",
        "    one::is_red",
        "test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        "thread 'later' panicked at elsewhere",
    ];
    for line in lines {
        counts.see(Some(line));
    }
    let first = Failure {
        name: "one::is_red".to_owned(),
        lines: lines[4..6].iter().map(|&line| line.to_owned()).collect(),
    };
    let second = Failure { name: "two".to_owned(), lines: Vec::new() };
    assert_eq!(counts.failures, [first, second]);
}

#[test]
fn of_a_long_panic_the_beginning_is_kept() {
    let mut counts = TestCounts::default();
    counts.see(Some("---- long stdout ----"));
    for _ in 0..100 {
        counts.see(Some("thread 'long' panicked at x.rs:1:1:"));
    }
    assert_eq!(counts.failures[0].lines.len(), LINES_MAX);
}

#[test]
fn a_test_that_never_ends_is_named_and_counts_as_failed() {
    let mut counts = TestCounts::default();
    for line in [
        "test slow has been running for over 60 seconds",
        "test hangs has been running for over 60 seconds",
        "test slow ... ok",
    ] {
        counts.see(Some(line));
    }
    counts.see(None);
    assert_eq!(counts.failed, 1);
    assert_eq!(counts.failures[0].name, "hangs");
    // The next binary goes silent before it names a test.
    counts.see(None);
    assert_eq!(counts.failed, 2);
}
