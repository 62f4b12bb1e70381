//! The limit of time for what a request waits for.

use model::code::ErrorCode;

use super::super::database::{ANSWER_MAX, CHANGES_MAX, Database};
use super::*;
use crate::postgres::claims::Claims;

const SLOW: &str = "SELECT pg_sleep(30) /* longer than the limit */";

/// How many sessions of the server do [`SLOW`].
const BUSY: &str = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() \
                    AND query LIKE '%longer than the limit%'";

#[test]
fn i7_what_a_request_waits_for_has_an_end_that_names_no_place_and_upkeep_has_none() {
    assert_eq!(ANSWER_MAX, Duration::from_secs(20));
    let place = TestPostgresServer::shared().place();
    let url: PostgresUrl = place.url().parse().unwrap();
    let database = Database::with_limit(url, Duration::from_millis(300)).unwrap();
    let read = database.read(|session| {
        Box::pin(async move { session.client.batch_execute(SLOW).await.map_err(unreadable) })
    });
    let read = read.unwrap_err();
    assert_eq!(read.code(), ErrorCode::LogFailed);
    let said = read.to_string();
    assert!(said.contains("300 ms"), "{said}");
    let place = database.place();
    let host = place.rsplit_once('@').map_or(&*place, |(_, host)| host);
    for part in host.split(['/', '?', '&']).filter(|part| part.len() > 3) {
        assert!(!said.contains(part), "whoever asks is told where the database is: {said}");
    }
    let changed = database.change(|session| {
        Box::pin(async move { session.client.batch_execute(SLOW).await.map_err(unreadable) })
    });
    assert!(matches!(&changed, Err(LogError::Failing(what)) if what.contains("300 ms")), "{changed:?}");
    // What takes longer and keeps no request waiting is done, and the connections are as they were.
    let slept = database.read_for_upkeep(|session| {
        Box::pin(async move {
            let slept = session.client.query_one("SELECT 7 FROM pg_sleep(0.6)", &[]).await;
            slept.and_then(|row| row.try_get::<_, i32>(0)).map_err(unreadable)
        })
    });
    assert_eq!(slept, Ok(7));
    // The database ends what nobody waits for any more.
    let began = Instant::now();
    loop {
        let busy = database.read_for_upkeep(|session| {
            Box::pin(async move {
                let busy = session.client.query_one(BUSY, &[]).await;
                busy.and_then(|row| row.try_get::<_, i64>(0)).map_err(unreadable)
            })
        });
        if busy == Ok(0) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{busy:?}");
    }
    let quick = database.read(|session| {
        Box::pin(async move { session.client.batch_execute("SELECT 1").await.map_err(unreadable) })
    });
    assert_eq!(quick, Ok(()));
}

/// How long the claim below may take, with all that it asks.
const CLAIM_MAX: Duration = Duration::from_secs(6);

#[test]
fn i7_a_claim_with_all_that_it_asks_has_one_end() {
    let (place, server) = (TestPostgresServer::shared().place(), TestPostgresServer::shared());
    let address = "http://127.0.0.1:1";
    let (log, name) = (place.open_shared(address), schema(&place));
    let url: PostgresUrl = place.url().parse().unwrap();
    let database = Database::with_limit(url, CLAIM_MAX).unwrap();
    let claims = Claims::new(1, Duration::from_secs(3), 0);
    // Nobody can look who has a conversation for two thirds of that time, and then nobody can take one for as long: with an end for each the
    // claim would succeed.
    let lock = format!(
        "DO $$ BEGIN LOCK TABLE {name}.owner; FOR look IN 1..6000 LOOP \
         EXIT WHEN EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))); \
         PERFORM pg_sleep(0.005); END LOOP; PERFORM pg_sleep(4); END $$"
    );
    let is_locked = format!(
        "SELECT 1 / count(*) FROM pg_locks WHERE relation = '{name}.owner'::regclass AND mode = 'AccessExclusiveLock' AND granted"
    );
    let blocks = format!("LOCK TABLE {name}.owner IN EXCLUSIVE MODE; SELECT pg_sleep(4)");
    std::thread::scope(|scope| {
        scope.spawn(|| server.sql(&lock));
        let deadline = Instant::now() + Duration::from_mins(1);
        while !server.sql(&is_locked) {
            assert!(Instant::now() < deadline, "the table was not locked");
        }
        scope.spawn(|| server.sql(&blocks));
        let claimed = claims.claim(&DatabaseTables::new(&database), &id("c"), Purpose::Make);
        assert!(matches!(&claimed, Err(LogError::Failing(what)) if what.contains("6000 ms")), "{claimed:?}");
    });
    drop(log);
}

/// How many sessions wait for a standby to have what they commit.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

#[test]
fn i7_changes_whose_commits_wait_for_a_standby_are_bounded_and_readers_go_on() {
    let server = TestPostgresServer::start();
    // Made before the commits wait.
    let place = server.place();
    assert!(server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"));
    assert!(server.sql("SELECT pg_reload_conf()"));
    let url: PostgresUrl = place.url().parse().unwrap();
    let database = Database::with_limit(url, Duration::from_millis(300)).unwrap();
    let waiting = || {
        let count = database.read_for_upkeep(|session| {
            Box::pin(async move {
                let count = session.client.query_one(WAITING, &[]).await;
                count.and_then(|row| row.try_get::<_, i64>(0)).map_err(unreadable)
            })
        });
        usize::try_from(count.unwrap()).unwrap()
    };
    for number in 0..2 * CHANGES_MAX {
        let changed = database.change(move |session| {
            Box::pin(async move {
                let make = format!("CREATE TABLE made_{number} (it int)");
                session.client.batch_execute(&make).await.map_err(unreadable)
            })
        });
        assert!(matches!(&changed, Err(LogError::Failing(what)) if what.contains("300 ms")), "{changed:?}");
    }
    assert_eq!(waiting(), CHANGES_MAX);
    // What waits goes on once it need not wait any more, and changes are made again.
    assert!(server.sql("ALTER SYSTEM RESET synchronous_standby_names"));
    assert!(server.sql("SELECT pg_reload_conf()"));
    let began = Instant::now();
    while waiting() > 0 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    let changed = database.change(|session| {
        Box::pin(async { session.client.batch_execute("SELECT 1").await.map_err(unreadable) })
    });
    assert_eq!(changed, Ok(()));
}
