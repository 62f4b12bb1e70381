//! Real children.

use super::{Patience, run_seeing, start};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A silence that is too long.
const SHORT: Duration = Duration::from_millis(300);

/// Runs `script`; returns the lines, `None` for a silence, and whether it ended well.
fn seen(script: &str, patience: Patience) -> (Vec<Option<String>>, bool) {
    let mut lines = Vec::new();
    let run = run_seeing(Command::new("bash").args(["-c", script]), patience, |line| {
        lines.push(line.map(str::to_owned));
    });
    (lines, run.unwrap())
}

#[test]
fn every_line_is_seen() {
    let line = |text: &str| Some(text.to_owned());
    let (lines, well) = seen("printf 'one\\ntwo\\nno end'", Patience::WithItself(Duration::MAX));
    assert_eq!((lines, well), (vec![line("one"), line("two"), line("no end")], true));
    assert_eq!(seen("exit 3", Patience::WithItself(Duration::MAX)), (Vec::new(), false));
}

#[test]
fn what_is_silent_for_too_long_is_killed_and_its_parent_goes_on() {
    let (lines, well) = seen("echo begun; sleep 600; echo ended with $?", Patience::WithChildrenOf(SHORT));
    assert_eq!(lines.first(), Some(&Some("begun".to_owned())));
    assert!(lines.contains(&None));
    assert_eq!(lines.last(), Some(&Some("ended with 137".to_owned())));
    assert!(well);
}

#[test]
fn a_program_that_is_silent_for_too_long_is_killed_itself() {
    let (lines, well) = seen("echo begun; exec sleep 600", Patience::WithItself(SHORT));
    assert_eq!(lines.first(), Some(&Some("begun".to_owned())));
    assert_eq!((lines.last(), well), (Some(&None), false));
}

#[test]
fn a_child_that_nobody_waits_for_any_more_is_killed() {
    let sleeps = start(Command::new("sleep").arg("600")).unwrap();
    let entry = format!("/proc/{}", sleeps.child.id());
    assert!(Path::new(&entry).exists());
    drop(sleeps);
    assert!(!Path::new(&entry).exists());
}

#[test]
fn a_child_that_fails_is_named() {
    assert!(start(&mut Command::new("true")).unwrap().finish().is_ok());
    let failure = start(Command::new("bash").args(["-c", "exit 3"])).unwrap().finish().unwrap_err();
    assert!(failure.to_string().contains("`bash -c exit 3` ended with exit status: 3"), "{failure}");
}
