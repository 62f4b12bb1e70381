//! What hubs are told of the databases, and where these listen.

use super::{free_ports, url};

#[test]
fn hubs_are_given_both_databases() {
    let log = url([5001, 5002]);
    assert_eq!(log, "postgres://fanlight@127.0.0.1:5001,127.0.0.1:5002/postgres");
}

#[test]
fn two_databases_get_two_ports() {
    let [one, two] = free_ports().unwrap();
    assert_ne!(one, two);
    assert!(one > 0 && two > 0);
}
