//! Several hubs on one database.

use super::*;
use crate::{
    STORED_LOGINS_MAX, STORED_PERIODS_MAX, STORED_SESSIONS_EACH_MAX, STORED_SESSIONS_MAX, STORED_SHARES_MAX,
    STORED_SPENDING_MS, StoredLogin, StoredSession, StoredSetting, StoredShare, StoredSpending,
};

pub(super) const A: &str = "http://127.0.0.1:1";
pub(super) const B: &str = "http://127.0.0.1:2";

fn elsewhere(address: &str) -> Owner {
    Owner::Elsewhere(Arc::from(address))
}

/// Claims until the conversation is here: the other hub must be found dead first.
pub(super) fn taken(log: &PostgresLog, name: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while log.claim(&id(name), Purpose::Make).unwrap() != Owner::Here {
        assert!(Instant::now() < deadline, "{name} was not taken over");
        std::thread::yield_now();
    }
}

#[test]
fn a_conversation_has_one_owner_and_others_are_told_where() {
    let place = TestPostgresServer::shared().place();
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
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&b, "c");
    for purpose in [Purpose::Find, Purpose::Make] {
        assert_eq!(a.claim(&id("c"), purpose).unwrap(), elsewhere(B));
    }
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    // A row that was ever locked or changed names the transaction; the division fails for one.
    let owner = format!("{}.owner", schema(&place));
    let is_untouched = format!("SELECT 1 / (xmax::text = '0')::int FROM {owner} WHERE conversation = 'c'");
    assert!(TestPostgresServer::shared().sql(&is_untouched));
    drop((a, b));
}

#[test]
fn a_hub_that_ends_well_leaves_its_conversations_whole() {
    let place = TestPostgresServer::shared().place();
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
    let place = TestPostgresServer::shared().place();
    let server = TestPostgresServer::shared();
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
fn owners_stay_when_all_leases_have_run_out_since_the_database_was_away() {
    let (place, server) = (TestPostgresServer::shared().place(), TestPostgresServer::shared());
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    taken(&b, "d");
    // What a database finds that was away for an hour.
    let away =
        format!("UPDATE {}.life SET expires_at = clock_timestamp() - interval '1 hour'", schema(&place));
    for round in 0..20 {
        assert!(server.sql(&away));
        assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), elsewhere(A), "round {round}");
        assert_eq!(a.claim(&id("d"), Purpose::Make).unwrap(), elsewhere(B), "round {round}");
    }
    // One that starts then waits for a word of the others.
    assert!(server.sql(&away));
    let c = place.open_shared("http://127.0.0.1:3");
    assert_eq!(c.claim(&id("c"), Purpose::Make).unwrap(), elsewhere(A));
    wait(&a, append(&a, "c", 0, &events(1, 3))).unwrap();
    wait(&b, append(&b, "d", 0, &events(1, 3))).unwrap();
    // One that is dead is found dead all the same.
    drop(a);
    taken(&c, "c");
    drop((b, c));
}

#[test]
fn a_claim_that_waited_for_another_one_sees_who_has_the_conversation_now() {
    let (place, server) = (TestPostgresServer::shared().place(), TestPostgresServer::shared());
    let (third, name) = ("http://127.0.0.1:3", schema(&place));
    let (a, b, c) = (place.open_shared(A), place.open_shared(B), place.open_shared(third));
    taken(&a, "c");
    assert!(server.sql(&format!("UPDATE {name}.life SET over = true WHERE address = '{A}'")));
    // Takes it over for the third hub, as a claim does: locks the row first, and changes it once somebody waits for the lock.
    let take = format!(
        "DO $$ BEGIN PERFORM FROM {name}.owner WHERE conversation = 'c' FOR UPDATE; \
         FOR look IN 1..6000 LOOP EXIT WHEN EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))); \
         PERFORM pg_sleep(0.005); END LOOP; \
         UPDATE {name}.owner SET life = (SELECT number FROM {name}.life WHERE address = '{third}') WHERE conversation = 'c'; END $$"
    );
    // The division fails until the row is locked.
    let is_locked = format!(
        "SELECT 1 / count(*) FROM pg_locks WHERE relation = '{name}.owner'::regclass AND mode = 'RowShareLock' AND granted"
    );
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| server.sql(&take));
        let deadline = Instant::now() + Duration::from_mins(1);
        while !server.sql(&is_locked) {
            assert!(Instant::now() < deadline, "the row was not locked");
        }
        assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), elsewhere(third));
        assert!(taking.join().unwrap());
    });
    drop((a, b, c));
}

#[test]
fn a_transaction_without_the_conversation_is_refused() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&b, "c");
    let stolen = append(&a, "c", 0, &events(1, 1));
    assert!(wait(&a, stolen).is_err(), "a hub that forgets to claim writes nothing");
    drop((a, b));
}

#[test]
fn i9_a_hub_whose_claim_a_promotion_has_lost_steps_down() {
    let (place, server) = (TestPostgresServer::shared().place(), TestPostgresServer::shared());
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    wait(&a, append(&a, "c", 0, &events(1, 3))).unwrap();
    // What is left where the standby did not have the claim when it was promoted.
    let name = schema(&place);
    let before =
        format!("UPDATE {name}.owner SET life = (SELECT number FROM {name}.life WHERE address = '{B}')");
    assert!(server.sql(&before));
    let late = append(&a, "c", 3, &events(4, 5));
    assert!(wait(&a, late).unwrap_err().to_string().contains("another hub"));
    // It tried again and again, and stayed.
    assert!(a.progress().borrow().is_overtaken);
    assert_eq!(b.load(&id("c")).unwrap().unwrap().position.seq, 3);
}

#[test]
fn i9_a_hub_whose_claim_a_promotion_has_lost_steps_down_though_it_writes_nothing() {
    // Of its own, since all its connections are cut.
    let server = TestPostgresServer::start();
    let place = server.place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    taken(&b, "d");
    wait(&a, append(&a, "c", 0, &events(1, 3))).unwrap();
    let name = schema(&place);
    let before =
        format!("UPDATE {name}.owner SET life = (SELECT number FROM {name}.life WHERE address = '{B}')");
    assert!(server.sql(&before));
    // Both connect again, as after a promotion.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fanlight'";
    assert!(server.sql(cut));
    let deadline = Instant::now() + Duration::from_mins(1);
    while !a.progress().borrow().is_overtaken {
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::yield_now();
    }
    assert!(!b.progress().borrow().is_overtaken, "who has all that it claimed goes on");
    let ticket = append(&b, "d", 0, &events(1, 1));
    // Its writer finds its connection cut first.
    while wait(&b, ticket).is_err() {
        assert!(Instant::now() < deadline, "it writes nothing");
    }
}

/// Gives a conversation up for the hub under `to`.
pub(super) fn give_up(log: &PostgresLog, name: &str, to: &str) {
    let ticket = log.release(&id(name), &Arc::from(to)).unwrap();
    assert_eq!(
        log.claim(&id(name), Purpose::Make).unwrap(),
        elsewhere(to),
        "nothing is claimed back meanwhile"
    );
    wait(log, ticket).unwrap();
    log.released(&id(name), LeavingEnd::Gone);
}

#[test]
fn a_conversation_that_is_given_up_goes_on_at_another_hub_in_its_epoch_and_comes_back() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    append(&a, "c", 0, &events(1, 3));
    give_up(&a, "c", B);
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    assert_eq!(b.load(&id("c")).unwrap().unwrap().position, at(3), "in the same epoch");
    assert_eq!(a.claim(&id("c"), Purpose::Make).unwrap(), elsewhere(B));
    append(&b, "c", 3, &events(4, 5));
    give_up(&b, "c", A);
    assert_eq!(a.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    assert_eq!(a.load(&id("c")).unwrap().unwrap().position, at(5));
    wait(&a, append(&a, "c", 5, &events(6, 6))).unwrap();
    assert_eq!(b.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 6));
    assert!(!a.progress().borrow().is_overtaken && !b.progress().borrow().is_overtaken);
}

#[test]
fn what_a_hub_has_given_up_and_nobody_claimed_it_may_claim_again() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    append(&a, "c", 0, &events(1, 3));
    give_up(&a, "c", B);
    drop(b);
    assert_eq!(a.claim(&id("c"), Purpose::Find).unwrap(), Owner::Here);
    assert_eq!(a.load(&id("c")).unwrap().unwrap().position, at(3));
    wait(&a, append(&a, "c", 3, &events(4, 4))).unwrap();
}

#[test]
fn a_row_that_comes_after_a_conversation_was_given_up_neither_ends_the_hub_nor_stays_known() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    append(&a, "c", 0, &events(1, 3));
    give_up(&a, "c", B);
    taken(&b, "c");
    b.load(&id("c")).unwrap();
    // What the list of the old owner had still to tell.
    let mut row = crate::rows::nameless(&id("c"));
    (row.epoch, row.head) = (Epoch::new("e1"), 3);
    a.put_rows(vec![row]);
    wait(&a, a.sync()).unwrap();
    append(&b, "c", 3, &events(4, 5));
    give_up(&b, "c", A);
    taken(&a, "c");
    a.load(&id("c")).unwrap();
    wait(&a, append(&a, "c", 5, &events(6, 6))).unwrap();
    assert_eq!(a.read(&id("c"), 0, 10).unwrap().envelopes, events(1, 6), "none is left out");
}

#[test]
fn a_name_to_which_nobody_wrote_is_free_when_its_hub_has_ended() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    taken(&a, "c");
    a.close().unwrap();
    assert_eq!(b.claim(&id("c"), Purpose::Make).unwrap(), Owner::Here);
    assert!(b.load(&id("c")).unwrap().is_none());
    wait(&b, append(&b, "c", 0, &events(1, 1))).unwrap();
}

#[test]
fn a_hub_that_starts_again_under_its_address_does_not_wait_for_itself() {
    let place = TestPostgresServer::shared().place();
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
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.access().unwrap(), b.access().unwrap());
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
    assert!(TestPostgresServer::shared().sql(&many));
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
    let alone = TestPostgresServer::shared().place().open_log();
    assert!(alone.access().is_none(), "a hub that is alone keeps them in its memory");
}

#[test]
fn i7_a_login_that_is_under_way_is_taken_once_by_any_hub_and_the_oldest_go_first() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.access().unwrap(), b.access().unwrap());
    let login =
        |state: &str, expires| StoredLogin { state: state.into(), login: format!("of {state}"), expires };
    here.put_login(&login("first", 10), 1).unwrap();
    here.put_login(&login("short", 5), 1).unwrap();
    assert_eq!(there.take_login("first", 2).unwrap().as_deref(), Some("of first"));
    assert_eq!(here.take_login("first", 2).unwrap(), None, "it was taken");
    assert_eq!(there.take_login("short", 5).unwrap(), None, "it is over");
    here.put_login(&login("oldest", 10), 1).unwrap();
    let many = format!(
        "INSERT INTO {}.login (state, login, expires_at) SELECT n::text, '', 10 FROM generate_series(1, {}) n",
        schema(&place),
        STORED_LOGINS_MAX - 1
    );
    assert!(TestPostgresServer::shared().sql(&many));
    there.put_login(&login("newest", 10), 1).unwrap();
    assert_eq!(here.take_login("oldest", 2).unwrap(), None, "it made room");
    assert!(here.take_login("1", 2).unwrap().is_some() && here.take_login("newest", 2).unwrap().is_some());
}

#[test]
fn i7_views_of_a_link_are_counted_once_for_all_hubs_and_links_are_bounded() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.access().unwrap(), b.access().unwrap());
    let share = |hash: &str, views_left, expires| StoredShare {
        hash: hash.into(),
        share: "{}".into(),
        views_left,
        expires,
    };
    assert!(here.put_share(&share("two", Some(2), 10), 1).unwrap());
    assert!(here.put_share(&share("any", None, 5), 1).unwrap());
    assert_eq!(
        [there, here, there, here].map(|hub| hub.view_share("two").unwrap()),
        [true, true, false, false]
    );
    assert!(there.view_share("any").unwrap() && !there.view_share("none").unwrap());
    assert_eq!(there.shares().unwrap(), [share("two", Some(0), 10), share("any", None, 5)]);
    there.remove_share("two").unwrap();
    assert_eq!(here.share_hashes().unwrap(), ["any"]);
    assert!(!here.put_share(&share("two", Some(2), 10), 2).unwrap(), "what was revoked is not brought back");
    assert!(!here.view_share("two").unwrap());
    assert!(there.put_share(&share("later", None, 20), 5).unwrap());
    assert_eq!(here.share_hashes().unwrap(), ["later"], "what is over makes room");
    let many = format!(
        "INSERT INTO {}.share (hash, share, expires_at) SELECT n::text, '', 10 FROM generate_series(1, {}) n",
        schema(&place),
        STORED_SHARES_MAX - 1
    );
    assert!(TestPostgresServer::shared().sql(&many));
    assert!(!there.put_share(&share("one more", None, 20), 5).unwrap());
    assert!(there.put_share(&share("later", None, 20), 5).unwrap(), "it is there already");
}

fn spent(since: u64, currency: &str, picos: u64, calls: u64) -> StoredSpending {
    StoredSpending { token: "t".into(), since, currency: currency.into(), picos, calls, estimated: 1 }
}

#[test]
fn what_tokens_spend_at_all_hubs_is_one_sum_for_each_period_and_currency() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.access().unwrap(), b.access().unwrap());
    let sorted = |mut all: Vec<StoredSpending>| {
        all.sort_by(|a, b| (a.since, &a.currency).cmp(&(b.since, &b.currency)));
        all
    };
    assert_eq!(here.charge(&[spent(5, "USD", 7, 2)], 1).unwrap(), [spent(5, "USD", 7, 2)]);
    there.adopt_spending(&[spent(5, "USD", 100, 1), spent(6, "USD", 100, 1)], 1).unwrap();
    let five = StoredSpending { estimated: 2, ..spent(5, "USD", 10, 3) };
    assert_eq!(there.charge(&[spent(5, "USD", 3, 1)], 1).unwrap(), std::slice::from_ref(&five));
    // The next period, the one before by a clock that is behind, and another currency: each stands by itself.
    let four = spent(4, "USD", 1, 1);
    let all = sorted(here.charge(&[four.clone(), spent(5, "EUR", 2, 1)], 1).unwrap());
    assert_eq!(all, [four, spent(5, "EUR", 2, 1), five.clone()]);
    let all = sorted(there.charge(&[spent(6, "USD", 1, 1)], 1).unwrap());
    assert_eq!(all, [spent(5, "EUR", 2, 1), five, spent(6, "USD", 1, 1)]);
    let most = spent(5, "EUR", u64::MAX, 1);
    assert_eq!(sorted(there.charge(&[most], 1).unwrap())[0].picos, i64::MAX.unsigned_abs());
}

#[test]
fn i7_what_tokens_have_spent_goes_with_its_period_and_with_the_token() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    let (here, there) = (a.access().unwrap(), b.access().unwrap());
    let of = |token: &str, since| StoredSpending { token: token.into(), ..spent(since, "USD", 1, 1) };
    let left = || {
        let all = there.charge(&[], 1).unwrap().into_iter().map(|spent| (spent.token, spent.since));
        all.collect::<std::collections::BTreeSet<_>>()
    };
    let rows = |rows: &[(&str, u64)]| {
        rows.iter()
            .map(|(token, since)| (String::from(*token), *since))
            .collect::<std::collections::BTreeSet<_>>()
    };
    for since in [0, 10, 30, 20, 40] {
        here.charge(&[of("t", since)], 100).unwrap();
    }
    here.charge(&[of("other", 10)], 100).unwrap();
    assert_eq!(STORED_PERIODS_MAX, 2);
    assert_eq!(left(), rows(&[("other", 10), ("t", 0), ("t", 30), ("t", 40)]));
    // Whoever has the token keeps what has no period, and nothing else.
    there.charge(&[of("gone", 0)], 100).unwrap();
    here.trim_spending(&["t".into()], 99 + STORED_SPENDING_MS).unwrap();
    assert_eq!(left().len(), 5);
    here.trim_spending(&[], 100 + STORED_SPENDING_MS).unwrap();
    assert_eq!(left(), rows(&[("t", 0)]));
    here.trim_spending(&[], 99 + 2 * STORED_SPENDING_MS).unwrap();
    assert_eq!(left(), rows(&[]));
}

#[test]
fn a_setting_is_changed_by_whoever_knows_its_version_and_by_nobody_else() {
    let place = TestPostgresServer::shared().place();
    let (a, b) = (place.open_shared(A), place.open_shared(B));
    assert_eq!(a.setting("x").unwrap(), StoredSetting::default());
    assert!(a.set("x", "of a", 0).unwrap());
    assert!(!b.set("x", "of b", 0).unwrap(), "it is there already");
    let known = b.setting("x").unwrap();
    assert_eq!(known, StoredSetting { version: 1, text: "of a".to_owned() });
    assert!(b.set("x", "of b", known.version).unwrap());
    assert!(!a.set("x", "of a again", known.version).unwrap(), "it was changed meanwhile");
    assert_eq!(a.setting("x").unwrap(), StoredSetting { version: 2, text: "of b".to_owned() });
    assert_eq!(a.setting("y").unwrap(), StoredSetting::default(), "another one is another one");
    let place = TestPostgresServer::shared().place();
    assert!(place.open_log().settings().is_none(), "a hub that is alone has a file");
}
