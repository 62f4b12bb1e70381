//! The closing lines of test binaries, as libtest prints them.

use super::TestCounts;

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
        counts.see(line);
    }
    assert_eq!(counts, TestCounts { passed: 15, failed: 2 });
}
