//! How a database of an older version becomes one of today, and hubs of an older version that still run on it.

use super::shared::{A, B, give_up, taken};
use super::*;

/// What version 10 of the schema brought.
const TENTH: &str =
    "ALTER TABLE life DROP timeline; ALTER TABLE owner DROP timeline; DROP FUNCTION fanlight_timeline()";

/// Runs statements in the schema of a place. Whether they went well.
fn run(place: &PostgresPlace, statements: &str) -> bool {
    TestPostgresServer::shared().sql(&format!("SET search_path = {}; {statements}", schema(place)))
}

#[test]
fn a_database_of_version_9_keeps_the_epochs_of_all_that_was_left_well_before() {
    let place = TestPostgresServer::shared().place();
    let (a, dead) = (place.open_shared(A), place.open_shared(B));
    for (log, name) in [(&a, "given"), (&a, "left"), (&dead, "torn")] {
        taken(log, name);
        wait(log, append(log, name, 0, &events(1, 3))).unwrap();
    }
    give_up(&a, "given", B);
    a.close().unwrap();
    drop(dead);
    assert!(run(&place, &format!("{TENTH}; UPDATE fanlight_schema SET version = 9")));
    let next = place.open_shared(B);
    let stands = |name: &str| {
        taken(&next, name);
        next.load(&id(name)).unwrap().unwrap().position
    };
    assert_eq!((stands("given"), stands("left")), (at(3), at(3)));
    assert_ne!(stands("torn").epoch, Epoch::new("e1"));
    // It notes where it ends itself, as in a database that never was of another version.
    next.close().unwrap();
    let noted = "SELECT 1 / (timeline = 1)::int FROM life WHERE number = (SELECT max(number) FROM life)";
    assert!(run(&place, noted));
}

#[test]
fn a_hub_of_version_9_that_still_runs_claims_gives_up_and_ends_in_a_database_of_today() {
    let place = TestPostgresServer::shared().place();
    let today = place.open_shared(A);
    taken(&today, "c");
    // Its statements, of a life with that number.
    let older = "INSERT INTO life (number, version, expires_at, address) OVERRIDING SYSTEM VALUE VALUES (1009, '9', 'infinity', 'http://nine'); \
                 INSERT INTO owner (conversation, life) VALUES ('of nine', 1009); \
                 UPDATE owner SET life = 0, epoch = epoch + 1, claimed_at = clock_timestamp() WHERE conversation = ANY('{of nine}') AND life = 1009; \
                 UPDATE life SET ended_well = commits >= 0, over = true WHERE number = 1009 AND NOT over";
    assert!(run(&place, older));
    let noted = "SELECT 1 / count(*) FROM life WHERE ended_well AND timeline IS NULL AND number = 1009";
    assert!(run(&place, noted));
    assert_eq!(today.claim(&id("of nine"), Purpose::Make), Ok(Owner::Here));
}
