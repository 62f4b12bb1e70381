//! Tests of the file of tokens.

use super::*;
use crate::secret::{Secret, SecretKind};

fn hash(number: u8) -> Hash {
    Secret::mint(SecretKind::Token, &[number; 32]).hash()
}

fn new(name: &str) -> NewToken<'_> {
    NewToken {
        name,
        grants: vec!["view:*".parse().unwrap()],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms: None,
    }
}

#[test]
fn a_file_says_what_was_created_and_no_secret() {
    let mut tokens = Tokens::default();
    let secret = Secret::mint(SecretKind::Token, &[1; 32]);
    tokens.create(NewToken { lives_ms: Some(1_000), ..new("ci") }, secret.hash(), 5).unwrap();
    tokens.create(new("ann"), hash(2), 6).unwrap();
    let text = tokens.written();
    assert!(!text.contains(secret.reveal()), "{text}");
    assert_eq!(Tokens::read(&text).unwrap(), tokens);
    assert_eq!(tokens.find(&secret.hash()).unwrap().expires, Some(1_005));
    assert_eq!(tokens.find(&hash(9)), None);
}

#[test]
fn a_token_is_taken_until_its_time_is_over() {
    let mut tokens = Tokens::default();
    tokens.create(NewToken { lives_ms: Some(10), ..new("ci") }, hash(1), 100).unwrap();
    let record = tokens.find(&hash(1)).unwrap();
    assert_eq!(record.principal(109, &Roles::default()).unwrap().name(), "ci");
    assert_eq!(record.principal(110, &Roles::default()), Err(Denial::Expired));
}

#[test]
fn a_revoked_token_is_gone_and_its_name_is_free() {
    let mut tokens = Tokens::default();
    tokens.create(new("ci"), hash(1), 0).unwrap();
    assert_eq!(tokens.create(new("ci"), hash(2), 0), Err(TokenError::NameTaken("ci".to_owned())));
    tokens.revoke("ci").unwrap();
    assert_eq!(tokens.find(&hash(1)), None);
    assert_eq!(tokens.revoke("ci"), Err(TokenError::UnknownName("ci".to_owned())));
    tokens.create(new("ci"), hash(2), 0).unwrap();
}

#[test]
fn what_a_token_may_not_be_is_refused() {
    let mut tokens = Tokens::default();
    for name in ["", "a\nb", &"x".repeat(NAME_BYTES_MAX + 1)] {
        assert!(matches!(tokens.create(new(name), hash(1), 0), Err(TokenError::BadName(_))), "{name:?}");
    }
    let none = NewToken { grants: Vec::new(), ..new("a") };
    assert_eq!(tokens.create(none, hash(1), 0), Err(TokenError::Grants(0)));
    let many = NewToken { grants: vec!["view:*".parse().unwrap(); GRANTS_MAX + 1], ..new("a") };
    assert_eq!(tokens.create(many, hash(1), 0), Err(TokenError::Grants(GRANTS_MAX + 1)));
}

#[test]
fn a_token_with_a_role_is_taken_where_the_role_is_known() {
    let mut tokens = Tokens::default();
    tokens.create(NewToken { role: Some("guest".into()), ..new("ann") }, hash(2), 6).unwrap();
    let again = Tokens::read(&tokens.written()).unwrap();
    let record = again.find(&hash(2)).unwrap();
    assert_eq!(record.principal(7, &Roles::default()), Err(Denial::UnknownRole));
    let mut roles = Roles::default();
    roles.add(model::Mask::new("guest", ["costs"], []).unwrap()).unwrap();
    assert_eq!(record.principal(7, &roles).unwrap().role(), Some("guest"));
    let unnamed = NewToken { role: Some("".into()), ..new("bob") };
    assert_eq!(tokens.create(unnamed, hash(3), 6), Err(TokenError::BadName(String::new())));
}

#[test]
fn i7_a_hub_has_a_bounded_number_of_tokens() {
    let mut tokens = Tokens::default();
    for number in 0..TOKENS_MAX {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let hash = Secret::mint(SecretKind::Token, &random).hash();
        tokens.create(new(&format!("t{number}")), hash, 0).unwrap();
    }
    assert_eq!(tokens.create(new("one more"), hash(255), 0), Err(TokenError::Full));
}

#[test]
fn a_file_that_is_none_is_refused_and_says_why() {
    for (text, why) in [
        ("", "EOF"),
        ("{}", "version"),
        (r#"{"version":2,"tokens":[]}"#, "version is 2"),
        (r#"{"version":1,"tokens":[],"secret":""}"#, "secret"),
        (r#"{"version":1,"tokens":[{"name":"a","hash":"00","grants":["view:*"],"created":0}]}"#, "64 hex"),
    ] {
        let error = Tokens::read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let record = |expires: &str| {
        let hash = String::from(hash(1));
        format!(
            r#"{{"version":1,"tokens":[{{"name":"a","hash":"{hash}","grants":["view:*"],"created":0,"expires":{expires}}}]}}"#
        )
    };
    assert!(Tokens::read(&record("5")).is_ok());
    // What is no number must not mean "for ever".
    for bad in ["\"5\"", "5.5", "-1", "1e400", "true", "{}"] {
        assert!(Tokens::read(&record(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_token_names_the_upstreams_that_it_may_call_and_what_it_may_spend_there() {
    let mut tokens = Tokens::default();
    tokens.create(new("free"), hash(1), 0).unwrap();
    let named = |upstreams: &[&str], budget: Option<&str>| NewToken {
        upstreams: upstreams.iter().map(|name| (*name).into()).collect(),
        budget: budget.map(|budget| budget.parse().unwrap()),
        ..new("ci")
    };
    assert_eq!(tokens.create(named(&[], Some("1usd")), hash(2), 0), Err(TokenError::BudgetAlone));
    for bad in ["", "a/b", "ä", "a b"] {
        assert_eq!(
            tokens.create(named(&[bad], None), hash(2), 0),
            Err(TokenError::Upstreams(bad.to_owned()))
        );
    }
    let many = vec!["a"; UPSTREAMS_MAX + 1];
    assert_eq!(tokens.create(named(&many, None), hash(2), 0), Err(TokenError::Upstreams("a".to_owned())));
    tokens.create(named(&["openai", "local-*"], Some("5usd/day")), hash(2), 0).unwrap();
    assert_eq!(Tokens::read(&tokens.written()).unwrap(), tokens);
    let (free, ci) = (tokens.find(&hash(1)).unwrap(), tokens.find(&hash(2)).unwrap());
    assert!(free.may_call("openai") && !free.names("openai"), "with a key of its own");
    assert!(ci.may_call("openai") && ci.names("local-one") && !ci.may_call("anthropic"));
}
