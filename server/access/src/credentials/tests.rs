//! Tests of who is let in, and for how long.

use super::*;
use crate::right::Right;
use crate::tokens::NewToken;

fn secret(kind: SecretKind, number: u8) -> Secret {
    Secret::mint(kind, &[number; 32])
}

fn with(tokens: &[(u8, &str, Option<u64>)]) -> Tokens {
    let mut all = Tokens::default();
    for (number, grant, lives_ms) in tokens {
        let name = format!("t{number}");
        let new = NewToken {
            name: &name,
            grants: vec![grant.parse().unwrap()],
            role: None,
            upstreams: Vec::new(),
            budget: None,
            lives_ms: *lives_ms,
        };
        all.create(new, secret(SecretKind::Token, *number).hash(), 0).unwrap();
    }
    all
}

fn credentials() -> Credentials {
    let mut credentials = Credentials::new(with(&[(9, "publish:*", None)]), Roles::default());
    credentials.set_tokens(with(&[(1, "view:a*", None), (2, "admin", Some(100))]));
    credentials
}

#[test]
fn a_token_is_known_until_it_expires_or_is_revoked() {
    let mut credentials = credentials();
    let token = secret(SecretKind::Token, 2);
    let admission = credentials.by_token(token.reveal(), 99).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("t2", Some(100)));
    assert_eq!(credentials.still_holds(&admission, 99), Ok(()));
    assert_eq!(credentials.still_holds(&admission, 100), Err(Denial::Expired));
    credentials.set_tokens(with(&[(1, "view:a*", None)]));
    assert_eq!(credentials.still_holds(&admission, 99), Err(Denial::Unknown));
    assert_eq!(credentials.by_token(token.reveal(), 99).map(|_| ()), Err(Denial::Unknown));
    assert!(
        credentials.by_token(secret(SecretKind::Token, 9).reveal(), 99).is_ok(),
        "its own are in no file"
    );
}

#[test]
fn grants_that_become_others_end_what_was_let_in_with_those_before() {
    let mut credentials = credentials();
    let admission = credentials.by_token(secret(SecretKind::Token, 1).reveal(), 0).unwrap();
    credentials.set_tokens(with(&[(1, "view:b*", None)]));
    assert_eq!(credentials.still_holds(&admission, 0), Err(Denial::Unknown));
}

#[test]
fn what_is_no_token_lets_nobody_in() {
    let mut credentials = credentials();
    let session = secret(SecretKind::Session, 1);
    credentials.log_in(secret(SecretKind::Token, 1).reveal(), &session, 0).unwrap();
    // Neither the secret of a session nor a hash is a token.
    let hash = String::from(secret(SecretKind::Token, 1).hash());
    for text in ["", "fanlight_", session.reveal(), &hash] {
        assert_eq!(credentials.by_token(text, 0).map(|_| ()), Err(Denial::Malformed), "{text}");
    }
    assert_eq!(
        credentials.by_token(secret(SecretKind::Token, 3).reveal(), 0).map(|_| ()),
        Err(Denial::Unknown)
    );
    assert_eq!(credentials.admit(&Proof::None, 0).map(|_| ()), Err(Denial::Missing));
}

#[test]
fn a_session_ends_with_its_token_and_with_a_log_out() {
    let mut credentials = credentials();
    let (one, two) = (secret(SecretKind::Session, 1), secret(SecretKind::Session, 2));
    let admission = credentials.log_in(secret(SecretKind::Token, 2).reveal(), &one, 50).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("t2", Some(100)));
    assert!(credentials.log_in("fanlight_wrong", &two, 50).is_err());
    assert!(credentials.admit(&Proof::Session(two.hash()), 50).is_err());
    let again = credentials.log_in(secret(SecretKind::Token, 2).reveal(), &two, 50).unwrap();
    assert!(credentials.log_out(&one));
    assert_eq!(credentials.still_holds(&admission, 50), Err(Denial::Unknown));
    assert_eq!(credentials.still_holds(&again, 50), Ok(()));
    assert_eq!(credentials.still_holds(&again, 100), Err(Denial::Expired));
    credentials.set_tokens(Tokens::default());
    assert_eq!(credentials.still_holds(&again, 50), Err(Denial::Unknown));
}

#[test]
fn whoever_follows_a_link_is_let_in_until_it_is_taken_back() {
    let mut credentials = credentials();
    let link = secret(SecretKind::Share, 1);
    let share = Share {
        hash: link.hash(),
        conversation: "c".parse().unwrap(),
        audience: None,
        frozen: None,
        role: None,
        by: "t1".into(),
        created: 0,
        expires: 100,
        views_left: Some(1),
    };
    credentials.shares_mut().add(share, 0).unwrap();
    let (session, second) = (secret(SecretKind::Session, 1), secret(SecretKind::Session, 2));
    let (share, admission) = credentials.follow(link.reveal(), &session, 0).unwrap();
    assert!(admission.principal.may(Right::View, "c") && !admission.principal.may(Right::View, "a"));
    assert!(credentials.follow(link.reveal(), &second, 0).is_err(), "it may be followed once");
    assert_eq!(credentials.still_holds(&admission, 99), Ok(()), "who follows it already goes on");
    assert_eq!(credentials.still_holds(&admission, 100), Err(Denial::Expired));
    assert!(credentials.shares_mut().revoke(&share.id(), |_| true).is_some());
    assert_eq!(credentials.still_holds(&admission, 50), Err(Denial::Unknown));
    let token = secret(SecretKind::Token, 1);
    assert!(credentials.follow(token.reveal(), &second, 0).is_err(), "a token is no link");
}

#[test]
fn who_is_vouched_for_is_let_in_until_the_time_and_as_long_as_the_key_is_there() {
    let mut credentials = credentials();
    let principal = || Principal::new("ann", vec!["view:*".parse().unwrap()], None);
    let admission = credentials.vouch(Vouched::new(principal(), 100), 99).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("ann", Some(100)));
    assert_eq!(credentials.still_holds(&admission, 99), Ok(()));
    assert_eq!(credentials.still_holds(&admission, 100), Err(Denial::Expired));
    let by_key = Vouched::signed(principal(), 100, secret(SecretKind::Token, 7).hash());
    assert_eq!(credentials.vouch(by_key, 99).map(|_| ()), Err(Denial::Unknown), "no issuer has that key");
    let session = secret(SecretKind::Session, 1);
    let browser = credentials.log_in_vouched(Vouched::new(principal(), 100), &session, 0).unwrap();
    assert_eq!((browser.principal.name(), browser.expires), ("ann", Some(100)));
    assert_eq!(credentials.still_holds(&browser, 99), Ok(()));
    assert!(credentials.log_out(&session));
    assert_eq!(credentials.still_holds(&browser, 99), Err(Denial::Unknown));
}
