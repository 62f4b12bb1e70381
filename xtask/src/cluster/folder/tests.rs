//! Owners and secrets in the folder of a cluster.

use super::{ids_of, random};

#[test]
fn ids_are_those_of_the_whole_name() {
    let users =
        "root:x:0:0:root:/root:/bin/sh\npostgres2:x:7:8::/:/bin/sh\npostgres:x:101:103:a,b:/var:/bin/sh\n";
    assert_eq!(ids_of(users, "postgres"), Some((101, 103)));
    assert_eq!(ids_of(users, "nobody"), None);
    assert_eq!(ids_of("postgres:x", "postgres"), None);
}

#[test]
fn secrets_are_long_enough_for_hubs_and_differ() {
    let (one, two) = (random().unwrap(), random().unwrap());
    assert_eq!(one.len(), 48);
    assert_ne!(one, two);
}
