//! Tests of headers in the settings.

use super::*;

#[test]
fn variables_are_filled_in_when_it_is_sent() {
    let plain = FilledHeader::new("X-Team", "research").unwrap();
    assert_eq!((plain.name.as_str(), plain.filled().unwrap().to_str().unwrap()), ("x-team", "research"));
    // It is there wherever tests are run.
    let path = std::env::var("PATH").unwrap();
    let filled = FilledHeader::new("Authorization", "Bearer ${PATH}, twice ${PATH}!").unwrap();
    let value = filled.filled().unwrap();
    assert_eq!(value.to_str().unwrap(), format!("Bearer {path}, twice {path}!"));
    assert!(value.is_sensitive() && filled.is_authorization());
    let unset = FilledHeader::new("a", "${FANLIGHT_IS_NEVER_SET}").unwrap().filled().unwrap_err();
    assert_eq!(unset, "of its header a: the environment variable FANLIGHT_IS_NEVER_SET is not set");
}

#[test]
fn what_cannot_be_sent_is_said_when_it_is_read() {
    for (name, value, why) in [
        ("a b", "x", "the header \"a b\" has an invalid name"),
        ("Mcp-Session-Id", "x", "the header \"Mcp-Session-Id\" is set by the protocol"),
        ("a", "x ${KEY", "the header \"a\" has ${ without }"),
        ("a", "${}", "the header \"a\" has ${}, which is not the name of a variable"),
        ("a", "x\ny", "the header \"a\" has a value that cannot be sent"),
    ] {
        assert_eq!(FilledHeader::new(name, value).unwrap_err(), why);
    }
}
