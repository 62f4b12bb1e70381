//! Promotions of a standby that lacks what was shown of a conversation which nobody had.

use super::shared::{A, B, give_up, taken};
use super::*;

const C: &str = "http://127.0.0.1:3";
const D: &str = "http://127.0.0.1:4";

/// Waits until a server runs a statement well.
fn until_sql(server: &TestPostgresServer, statement: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !server.sql(statement) {
        assert!(Instant::now() < deadline, "{statement}");
        std::thread::yield_now();
    }
}

/// Lets a standby have all that its primary has, and nothing that comes after.
fn cut(primary: &TestPostgresServer, standby: &TestPostgresServer) {
    until_sql(
        primary,
        "SELECT 1 / count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()",
    );
    assert!(standby.sql("ALTER SYSTEM SET primary_conninfo = ''") && standby.sql("SELECT pg_reload_conf()"));
    until_sql(standby, "SELECT 1 / (count(*) = 0)::int FROM pg_stat_wal_receiver");
}

/// The primary is gone, and the standby takes its place.
fn promote(primary: &TestPostgresServer, standby: &TestPostgresServer) {
    primary.kill();
    assert!(standby.sql("SELECT pg_promote()"));
}

/// Claims a conversation until it is here, also while connections to a server that is gone are found broken, and reads where it stands.
fn entered(log: &PostgresLog, name: &str) -> Position {
    let deadline = Instant::now() + Duration::from_mins(1);
    while log.claim(&id(name), Purpose::Make) != Ok(Owner::Here) {
        assert!(Instant::now() < deadline, "{name} was not taken");
        std::thread::yield_now();
    }
    log.load(&id(name)).unwrap().unwrap().position
}

/// Appends event 4 of a conversation in the epoch in which it is.
fn goes_on(log: &PostgresLog, name: &str, from: &Position) {
    let more = log.append(Append::of(&id(name), from, &events(4, 4))).unwrap();
    // The writer may find first that its connection was to a server which is gone.
    until(log, |progress| progress.has(more));
}

#[test]
fn i2_what_was_shown_of_a_free_conversation_and_lost_by_a_promotion_is_told_as_a_new_epoch() {
    let primary = TestPostgresServer::start();
    let standby = primary.standby();
    let place = primary.place().on_either(&standby);
    // Free in each of two ways: a hub gave it up, a hub ended.
    let (a, b, c) = (place.open_shared(A), place.open_shared(B), place.open_shared(C));
    let names = ["given", "left"];
    for name in names {
        taken(&a, name);
        append(&a, name, 0, &events(1, 3));
    }
    give_up(&a, "given", B);
    a.close().unwrap();
    cut(&primary, &standby);
    for name in names {
        assert_eq!(entered(&b, name), at(3), "{name} goes on in its epoch");
        wait(&b, append(&b, name, 3, &events(4, 4))).unwrap();
    }
    promote(&primary, &standby);
    // One that was there before the promotion.
    for name in names {
        let found = entered(&c, name);
        assert_eq!(found.seq, 3, "{name}");
        assert_ne!(found.epoch, Epoch::new("e1"), "{name}: another event 4 was seen in this epoch");
        goes_on(&c, name, &found);
    }
    until(&b, |progress| progress.is_overtaken);
    // On one timeline epochs are kept again.
    let d = place.open_shared(D);
    let newest = names.map(|name| c.load(&id(name)).unwrap().unwrap().position);
    give_up(&c, "given", D);
    c.close().unwrap();
    assert_eq!(names.map(|name| entered(&d, name)), newest);
}

#[test]
fn i2_a_hub_alone_on_its_database_begins_new_epochs_after_a_promotion_that_lost_what_was_shown() {
    let primary = TestPostgresServer::start();
    let standby = primary.standby();
    let place = primary.place().on_either(&standby);
    let first = place.open_log();
    append(&first, "c", 0, &events(1, 3));
    first.close().unwrap();
    cut(&primary, &standby);
    let second = place.open_log();
    assert_eq!(second.load(&id("c")).unwrap().unwrap().position, at(3));
    wait(&second, append(&second, "c", 3, &events(4, 4))).unwrap();
    promote(&primary, &standby);
    drop(second);
    let third = place.open_log();
    let found = third.load(&id("c")).unwrap().unwrap().position;
    assert_eq!(found.seq, 3);
    assert_ne!(found.epoch, Epoch::new("e1"));
    goes_on(&third, "c", &found);
    third.close().unwrap();
    let newest = Position { seq: 4, ..found };
    assert_eq!(place.open_log().load(&id("c")).unwrap().unwrap().position, newest, "on one timeline");
}

#[test]
fn a_database_that_crashed_and_came_back_keeps_epochs() {
    let server = TestPostgresServer::start();
    let place = server.place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    for name in ["given", "left"] {
        taken(&a, name);
        append(&a, name, 0, &events(1, 3));
    }
    give_up(&a, "given", B);
    a.close().unwrap();
    server.kill();
    server.resume();
    assert_eq!(entered(&b, "given"), at(3));
    assert_eq!(entered(&b, "left"), at(3));
}

#[test]
fn an_ordinary_role_is_told_the_timeline_and_where_nobody_is_told_epochs_are_kept() {
    let server = TestPostgresServer::start();
    let place = server.place();
    let name = schema(&place);
    assert!(server.sql(&format!("CREATE ROLE plain LOGIN; GRANT ALL ON SCHEMA {name} TO plain")));
    let url: PostgresUrl = place.url().replacen("//fanlight@", "//plain@", 1).parse().unwrap();
    let open = |address: &str| {
        let lease = Duration::from_millis(500);
        let options =
            PostgresOptions { lease, address: Some(String::from(address)), ..PostgresOptions::default() };
        PostgresLog::open(&url, &options).unwrap()
    };
    let notes = |noted: &str, address: &str| {
        let find = format!(
            "SELECT 1 / (timeline {noted} AND ended_well)::int FROM {name}.life WHERE address = '{address}'"
        );
        assert!(server.sql(&find), "{address}");
    };
    let (a, b, c) = (open(A), open(B), open(C));
    taken(&a, "c");
    append(&a, "c", 0, &events(1, 3));
    a.close().unwrap();
    notes("= 1", A);
    assert_eq!(entered(&b, "c"), at(3));
    assert!(server.sql("REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC"));
    b.close().unwrap();
    notes("IS NULL", B);
    assert_eq!(entered(&c, "c"), at(3));
    give_up(&c, "c", D);
    let d = open(D);
    assert_eq!(entered(&d, "c"), at(3));
    // From when on the role is told, what was left before may have been left anywhere.
    d.close().unwrap();
    assert!(server.sql("GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) TO PUBLIC"));
    assert_ne!(entered(&c, "c").epoch, Epoch::new("e1"));
}

#[test]
fn i2_what_an_older_version_left_without_its_timeline_goes_on_in_a_new_epoch() {
    let (place, server) = (TestPostgresServer::shared().place(), TestPostgresServer::shared());
    let (a, b, name) = (place.open_shared(A), place.open_shared(B), schema(&place));
    for name in ["given", "left"] {
        taken(&a, name);
        append(&a, name, 0, &events(1, 3));
    }
    give_up(&a, "given", B);
    a.close().unwrap();
    // What version 9 leaves behind.
    for table in ["life", "owner"] {
        assert!(server.sql(&format!("UPDATE {name}.{table} SET timeline = NULL")));
    }
    for name in ["given", "left"] {
        let found = entered(&b, name);
        assert_eq!(found.seq, 3);
        assert_ne!(found.epoch, Epoch::new("e1"), "{name}");
    }
}
