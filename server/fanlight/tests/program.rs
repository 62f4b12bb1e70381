//! The program itself, as cargo builds it beside its tests. That these tests are here is also why `cargo test --workspace` builds it, with
//! the features of that command, for the tests that start hubs.

use std::process::Command;

/// The program that cargo has built for these tests.
fn fanlight() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fanlight"))
}

#[test]
fn version_is_that_of_the_package() {
    let output = fanlight().arg("--version").output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.split_whitespace().any(|word| word == env!("CARGO_PKG_VERSION")), "{said}");
}

#[test]
fn a_word_that_is_no_command_is_named_in_the_error() {
    let output = fanlight().arg("sreve").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("'sreve'") && said.contains("serve"), "{said}");
}
