//! Words of the command line, cargo's messages, a suite's output.

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn rounds_come_first_and_suites_are_told_from_filters() {
    let asked = RepeatOptions::parse(&words("20 e2e details:: --busy")).expect("it is right");
    let expected =
        RepeatOptions { rounds: 20, suites: words("e2e"), filters: words("details::"), is_busy: true };
    assert_eq!(asked, expected);
    assert_eq!(RepeatOptions::parse(&words("3")).expect("it is right").suites, SUITES);
    for wrong in ["", "it", "0", "--busy"] {
        assert!(RepeatOptions::parse(&words(wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_program_of_a_suite_is_found_among_messages() {
    let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"tests\"},\"executable\":null}\n\
        {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"it\"},\"executable\":\"/t/debug/deps/it-1\"}\n\
        {\"reason\":\"build-finished\",\"success\":true}";
    assert_eq!(executable(messages, "it"), Some(PathBuf::from("/t/debug/deps/it-1")));
    assert_eq!(executable(messages, "e2e"), None);
}

#[test]
fn failed_tests_are_counted_by_name() {
    let output =
        "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed";
    assert_eq!(failed(output), ["a::c"]);
    let mut known = FailedTest::default();
    known.take(BackgroundLoad::BusyCores, Path::new("two.txt"));
    known.take(BackgroundLoad::Nothing, Path::new("three.txt"));
    assert_eq!(
        line("it a::c", &known, 4),
        "it a::c: failed 2 of 4 times, 1 beside busy cores; first: two.txt"
    );
}
