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

fn registry() -> Registry {
    let mut registry = Registry::new(with(&[(9, "publish:*", None)]), Roles::default());
    registry.set_tokens(with(&[(1, "view:a*", None), (2, "admin", Some(100))]));
    registry
}

#[test]
fn a_token_is_known_until_it_expires_or_is_revoked() {
    let mut registry = registry();
    let token = secret(SecretKind::Token, 2);
    let admission = registry.by_token(token.reveal(), 99).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("t2", Some(100)));
    assert_eq!(registry.still_holds(&admission, 99), Ok(()));
    assert_eq!(registry.still_holds(&admission, 100), Err(Denial::Expired));
    registry.set_tokens(with(&[(1, "view:a*", None)]));
    assert_eq!(registry.still_holds(&admission, 99), Err(Denial::Unknown));
    assert_eq!(registry.by_token(token.reveal(), 99).map(|_| ()), Err(Denial::Unknown));
    assert!(registry.by_token(secret(SecretKind::Token, 9).reveal(), 99).is_ok(), "its own are in no file");
}

#[test]
fn grants_that_become_others_end_what_was_let_in_with_those_before() {
    let mut registry = registry();
    let admission = registry.by_token(secret(SecretKind::Token, 1).reveal(), 0).unwrap();
    registry.set_tokens(with(&[(1, "view:b*", None)]));
    assert_eq!(registry.still_holds(&admission, 0), Err(Denial::Unknown));
}

#[test]
fn what_is_no_token_lets_nobody_in() {
    let mut registry = registry();
    let session = secret(SecretKind::Session, 1);
    registry.log_in(secret(SecretKind::Token, 1).reveal(), &session, 0).unwrap();
    // Neither the secret of a session nor a hash is a token.
    let hash = String::from(secret(SecretKind::Token, 1).hash());
    for text in ["", "fanlight_", session.reveal(), &hash] {
        assert_eq!(registry.by_token(text, 0).map(|_| ()), Err(Denial::Malformed), "{text}");
    }
    assert_eq!(registry.by_token(secret(SecretKind::Token, 3).reveal(), 0).map(|_| ()), Err(Denial::Unknown));
    assert_eq!(registry.admit(&Proof::None, 0).map(|_| ()), Err(Denial::Missing));
}

#[test]
fn a_session_ends_with_its_token_and_with_a_log_out() {
    let mut registry = registry();
    let (one, two) = (secret(SecretKind::Session, 1), secret(SecretKind::Session, 2));
    let admission = registry.log_in(secret(SecretKind::Token, 2).reveal(), &one, 50).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("t2", Some(100)));
    assert!(registry.log_in("fanlight_wrong", &two, 50).is_err());
    assert!(registry.admit(&Proof::Session(two.hash()), 50).is_err());
    let again = registry.log_in(secret(SecretKind::Token, 2).reveal(), &two, 50).unwrap();
    assert!(registry.log_out(&one));
    assert_eq!(registry.still_holds(&admission, 50), Err(Denial::Unknown));
    assert_eq!(registry.still_holds(&again, 50), Ok(()));
    assert_eq!(registry.still_holds(&again, 100), Err(Denial::Expired));
    registry.set_tokens(Tokens::default());
    assert_eq!(registry.still_holds(&again, 50), Err(Denial::Unknown));
}

#[test]
fn whoever_follows_a_link_is_let_in_until_it_is_taken_back() {
    let mut registry = registry();
    let link = secret(SecretKind::Share, 1);
    let share = Share {
        hash: link.hash(),
        conversation: "c".parse().unwrap(),
        role: None,
        by: "t1".into(),
        created: 0,
        expires: 100,
        views_left: Some(1),
    };
    registry.shares_mut().add(share, 0).unwrap();
    let (session, second) = (secret(SecretKind::Session, 1), secret(SecretKind::Session, 2));
    let (share, admission) = registry.follow(link.reveal(), &session, 0).unwrap();
    assert!(admission.principal.may(Right::View, "c") && !admission.principal.may(Right::View, "a"));
    assert!(registry.follow(link.reveal(), &second, 0).is_err(), "it may be followed once");
    assert_eq!(registry.still_holds(&admission, 99), Ok(()), "who follows it already goes on");
    assert_eq!(registry.still_holds(&admission, 100), Err(Denial::Expired));
    assert!(registry.shares_mut().revoke(&share.id(), |_| true).is_some());
    assert_eq!(registry.still_holds(&admission, 50), Err(Denial::Unknown));
    let token = secret(SecretKind::Token, 1);
    assert!(registry.follow(token.reveal(), &second, 0).is_err(), "a token is no link");
}

#[test]
fn who_is_vouched_for_is_let_in_until_the_time_and_as_long_as_the_key_is_there() {
    let mut registry = registry();
    let principal = || Principal::new("ann", vec!["view:*".parse().unwrap()], None);
    let admission = registry.vouch(Vouched::new(principal(), 100), 99).unwrap();
    assert_eq!((admission.principal.name(), admission.expires), ("ann", Some(100)));
    assert_eq!(registry.still_holds(&admission, 99), Ok(()));
    assert_eq!(registry.still_holds(&admission, 100), Err(Denial::Expired));
    let by_key = Vouched::signed(principal(), 100, secret(SecretKind::Token, 7).hash());
    assert_eq!(registry.vouch(by_key, 99).map(|_| ()), Err(Denial::Unknown), "no issuer has that key");
    let session = secret(SecretKind::Session, 1);
    let browser = registry.log_in_vouched(Vouched::new(principal(), 100), &session, 0).unwrap();
    assert_eq!((browser.principal.name(), browser.expires), ("ann", Some(100)));
    assert_eq!(registry.still_holds(&browser, 99), Ok(()));
    assert!(registry.log_out(&session));
    assert_eq!(registry.still_holds(&browser, 99), Err(Denial::Unknown));
}
