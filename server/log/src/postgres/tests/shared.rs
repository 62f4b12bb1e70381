//! Several hubs on one database.

use super::*;
use crate::{STORED_SESSIONS_EACH_MAX, STORED_SESSIONS_MAX, StoredSession};

const A: &str = "http://127.0.0.1:1";
const B: &str = "http://127.0.0.1:2";

fn elsewhere(address: &str) -> Owner {
    Owner::Elsewhere(Arc::from(address))
}

/// Claims until the conversation is here: the other hub must be found dead first.
fn taken(log: &PostgresLog, name: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while log.claim(&id(name), Purpose::Make).unwrap() != Owner::Here {
        assert!(Instant::now() < deadline, "{name} was not taken over");
        std::thread::yield_now();
    }
}

#[test]
fn a_conversation_has_one_owner_and_others_are_told_where() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    assert_eq!(a.claim(&id("c"), Purpose::Find).unwrap(), Owner::Here, "there is nothing to find");
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    assert_eq!(a.claim(&id("c"), Purpose::Make).unwrap(), elsewhere(B));
    assert_eq!(a.claim(&id("c"), Purpose::Find).unwrap(), elsewhere(B));
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    wait(&b, append(&b, "c", 0, &events(1, 3))).unwrap();
    assert_eq!(
        a.read(&id("c"), 0, 10).unwrap().envelopes,
        events(1, 3),
        "what is stored can be read anywhere"
    );
    let alone = PostgresLog::open(&place.url().parse().unwrap(), &PostgresOptions::default());
    assert!(matches!(alone, Err(PostgresError::InUse)), "{alone:?}");
    a.close().unwrap();
    b.close().unwrap();
}

#[test]
fn asking_again_for_a_conversation_of_another_hub_locks_nothing() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&b, "c");
    for purpose in [Purpose::Find, Purpose::Make] {
        assert_eq!(a.claim(&id("c"), purpose).unwrap(), elsewhere(B));
    }
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    // A row that was ever locked or changed names the transaction; the division fails for one.
    let owner = format!("{}.owner", schema(&place));
    let is_untouched = format!("SELECT 1 / (xmax::text = '0')::int FROM {owner} WHERE conversation = 'c'");
    assert!(PostgresServer::shared().sql(&is_untouched));
    drop((a, b));
}

#[test]
fn a_hub_that_ends_well_leaves_its_conversations_whole() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    append(&a, "c", 0, &events(1, 3));
    a.close().unwrap();
    assert_eq!(b.claim(&id("c"), Purpose::Find).unwrap(), Owner::Here, "at once");
    assert_eq!(b.load(&id("c")).unwrap().unwrap().position, at(3), "in the same epoch");
    wait(&b, append(&b, "c", 3, &events(4, 4))).unwrap();
}

#[test]
fn i9_an_owner_that_is_found_dead_and_wakes_writes_nothing() {
    let place = PostgresServer::shared().place();
    let server = PostgresServer::shared();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    taken(&a, "other");
    wait(&a, append(&a, "c", 0, &events(1, 3))).unwrap();
    // What another hub does that has not heard of it for longer than its lease.
    assert!(server.sql(&format!("UPDATE {}.life SET over = true WHERE address = '{A}'", schema(&place))));
    taken(&b, "c");
    let late = append(&a, "c", 3, &events(4, 5));
    let other = append(&a, "other", 0, &events(1, 1));
    assert!(wait(&a, late).unwrap_err().to_string().contains("another hub"));
    assert!(wait(&a, other).is_err(), "the whole life is over");
    let found = b.load(&id("c")).unwrap().unwrap();
    assert_eq!(found.position.seq, 3);
    assert_ne!(
        found.position.epoch,
        Epoch::new("e1"),
        "what was shown and not stored is told as a new epoch"
    );
    let more = b.append(Append::of(&id("c"), &found.position, &events(4, 4))).unwrap();
    wait(&b, more).unwrap();
    assert_eq!(b.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 4));
}

#[test]
fn a_transaction_without_the_conversation_is_refused() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&b, "c");
    let stolen = append(&a, "c", 0, &events(1, 1));
    assert!(wait(&a, stolen).is_err(), "a hub that forgets to claim writes nothing");
    drop((a, b));
}

#[test]
fn a_name_to_which_nobody_wrote_is_free_when_its_hub_has_ended() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    a.close().unwrap();
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    assert!(b.load(&id("c")).unwrap().is_none());
    wait(&b, append(&b, "c", 0, &events(1, 1))).unwrap();
}

#[test]
fn a_hub_that_starts_again_under_its_address_does_not_wait_for_itself() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    wait(&a, append(&a, "c", 0, &events(1, 2))).unwrap();
    drop(a);
    let again = place.open_shared(A);
    assert_eq!(again.claim(&id("c"), Purpose::Find).unwrap(), Owner::Here);
    assert_eq!(again.load(&id("c")).unwrap().unwrap().position.seq, 2);
    assert_eq!(b.claim(&id("c"), Purpose::Find).unwrap(), elsewhere(A));
}

#[test]
fn i7_sessions_are_known_to_all_hubs_and_the_oldest_go_first() {
    let place = PostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.sessions().unwrap(), b.sessions().unwrap());
    let of = |caller: &str, hash: &str, expires| StoredSession {
        hash: String::from(hash),
        caller: String::from(caller),
        behind: String::from("{}"),
        expires,
    };
    let session = |hash: &str, expires| of(hash, hash, expires);
    here.put(&session("first", 10), 1).unwrap();
    here.put(&session("short", 5), 1).unwrap();
    assert_eq!(there.find("first").unwrap(), Some(session("first", 10)));
    there.put(&session("second", 10), 5).unwrap();
    assert_eq!(here.find("short").unwrap(), None, "it was over");
    here.remove("second").unwrap();
    assert_eq!(there.hashes().unwrap(), ["first"]);
    let many = format!(
        "INSERT INTO {}.session (hash, caller, behind, expires_at) SELECT n::text, n::text, '', 10 FROM generate_series(1, {STORED_SESSIONS_MAX}) n",
        schema(&place)
    );
    assert!(PostgresServer::shared().sql(&many));
    there.put(&session("newest", 10), 5).unwrap();
    let left = here.hashes().unwrap();
    assert_eq!(left.len(), STORED_SESSIONS_MAX);
    assert!(left.contains(&String::from("newest")) && !left.contains(&String::from("first")));
    // One caller makes room for itself alone.
    for number in 0..=STORED_SESSIONS_EACH_MAX {
        here.put(&of("one", &format!("one {number}"), 10), 5).unwrap();
    }
    let left = there.hashes().unwrap();
    let of_one = left.iter().filter(|hash| hash.starts_with("one ")).count();
    assert_eq!((of_one, left.contains(&String::from("one 0"))), (STORED_SESSIONS_EACH_MAX, false));
    // Who logs in and out again and again leaves the others where they are.
    let before = left.len();
    for _ in 0..50 {
        there.put(&session("passing", 10), 5).unwrap();
        there.remove("passing").unwrap();
    }
    assert!(here.hashes().unwrap().len() >= before - 1);
    drop((a, b));
    let alone = PostgresServer::shared().place().open_log();
    assert!(alone.sessions().is_none(), "a hub that is alone keeps them in its memory");
}
