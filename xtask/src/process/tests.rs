//! Real children.

use super::run_seeing;
use std::process::Command;
use std::time::Duration;

/// Runs `script`; returns the lines, `None` for a silence, and whether it ended well.
fn seen(script: &str, silence_max: Duration) -> (Vec<Option<String>>, bool) {
    let mut lines = Vec::new();
    let run = run_seeing(Command::new("bash").args(["-c", script]), silence_max, |line| {
        lines.push(line.map(str::to_owned));
    });
    (lines, run.unwrap())
}

#[test]
fn every_line_is_seen() {
    let line = |text: &str| Some(text.to_owned());
    let (lines, well) = seen("printf 'one\\ntwo\\nno end'", Duration::MAX);
    assert_eq!((lines, well), (vec![line("one"), line("two"), line("no end")], true));
    assert_eq!(seen("exit 3", Duration::MAX), (Vec::new(), false));
}

#[test]
fn what_is_silent_for_too_long_is_killed_and_its_parent_goes_on() {
    let (lines, well) = seen("echo begun; sleep 600; echo ended with $?", Duration::from_millis(300));
    assert_eq!(lines.first(), Some(&Some("begun".to_owned())));
    assert!(lines.contains(&None));
    assert_eq!(lines.last(), Some(&Some("ended with 137".to_owned())));
    assert!(well);
}
