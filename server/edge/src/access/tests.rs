//! Tests of the gate with its files.

use std::sync::Arc;

use access::{NewToken, Right, Share};

use super::*;

fn config(folder: &std::path::Path) -> AccessConfig {
    AccessConfig { folder: folder.to_owned(), ..AccessConfig::default() }
}

fn view(name: &str) -> NewToken<'_> {
    NewToken {
        name,
        grants: vec!["view:*".parse().unwrap()],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms: None,
    }
}

#[cfg(unix)]
#[test]
fn the_files_are_for_their_owner_alone_and_hold_no_secret() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = tempfile::tempdir().unwrap();
    let store = TokenStore::in_folder(place.path());
    let secret = store.create(view("ann"), 0).unwrap();
    let gate = Gate::new(Some(&config(place.path()))).unwrap();
    let link = gate.share(|hash| share(hash, u64::MAX / 2)).map(|_| ()).unwrap_err();
    assert!(matches!(link, ShareFault::Share(_)), "longer than may be");
    let link = gate.share(|hash| share(hash, clock::now_ms() + 1_000_000)).unwrap();
    for file in std::fs::read_dir(place.path()).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(secret.reveal()) && !text.contains(link.reveal()), "{text}");
    }
}

fn share(hash: Hash, expires: u64) -> Share {
    let conversation = "c".parse().unwrap();
    let (audience, frozen, by) = (None, None, "ann".into());
    Share { hash, conversation, audience, frozen, role: None, by, created: 0, expires, views_left: None }
}

#[tokio::test]
async fn links_outlive_the_hub_and_their_sessions_do_not() {
    let place = tempfile::tempdir().unwrap();
    let gate = Gate::new(Some(&config(place.path()))).unwrap();
    let link = gate.share(|hash| share(hash, clock::now_ms() + 1_000_000)).unwrap();
    let (session, _) = gate.follow(link.reveal()).await.unwrap();
    assert!(gate.by_session(&session).unwrap().principal.may(Right::View, "c"));
    let again = Gate::new(Some(&config(place.path()))).unwrap();
    assert_eq!(again.by_session(&session).map(|_| ()), Err(Denial::Unknown));
    assert!(again.follow(link.reveal()).await.is_ok());
    assert!(again.unshare(&link.hash().short(), |_| true).unwrap().is_some());
    let third = Gate::new(Some(&config(place.path()))).unwrap();
    assert!(third.follow(link.reveal()).await.is_err());
}

#[test]
fn a_link_that_cannot_be_stored_is_none() {
    let place = tempfile::tempdir().unwrap();
    let gate = Gate::new(Some(&config(place.path()))).unwrap();
    // A folder that is not empty stands where the file belongs.
    std::fs::create_dir_all(place.path().join("shares.json/x")).unwrap();
    let refused = gate.share(|hash| share(hash, clock::now_ms() + 1_000_000));
    assert!(matches!(refused, Err(ShareFault::Store(_))), "{refused:?}");
    assert_eq!(gate.shares(|_| true).len(), 0);
    let off = Gate::default().share(|hash| share(hash, 0));
    assert!(matches!(off, Err(ShareFault::Off)), "{off:?}");
}

#[tokio::test]
async fn a_revoked_token_ends_what_it_let_in_and_damage_to_the_file_ends_nothing() {
    let place = tempfile::tempdir().unwrap();
    let store = TokenStore::in_folder(place.path());
    let secret = store.create(view("ann"), 0).unwrap();
    let gate = Arc::new(Gate::new(Some(&config(place.path()))).unwrap());
    let admission = gate.by_token(secret.reveal()).unwrap();
    let watching = Arc::clone(&gate);
    let watching = tokio::spawn(async move { watching.watch(&Egress::direct(), || {}).await });
    // Damage is no revocation, and what comes after it is seen.
    std::fs::write(store.path(), "{").unwrap();
    assert!(gate.still_holds(&admission).is_ok());
    std::fs::write(store.path(), Tokens::default().written()).unwrap();
    let over = tokio::time::timeout(Duration::from_secs(20), gate.over(&admission)).await;
    assert_eq!(over, Ok(Denial::Unknown));
    watching.abort();
}

#[tokio::test]
async fn a_token_whose_time_is_over_ends_what_it_let_in() {
    let place = tempfile::tempdir().unwrap();
    let new = NewToken { lives_ms: Some(50), ..view("ann") };
    let secret = TokenStore::in_folder(place.path()).create(new, clock::now_ms()).unwrap();
    let gate = Gate::new(Some(&config(place.path()))).unwrap();
    // Where the machine is slow it is over before it is looked at, and that is the same answer.
    if let Ok(admission) = gate.by_token(secret.reveal()) {
        let over = tokio::time::timeout(Duration::from_secs(20), gate.over(&admission)).await;
        assert_eq!(over, Ok(Denial::Expired));
    }
    assert_eq!(gate.by_token(secret.reveal()).map(|_| ()), Err(Denial::Expired));
}

#[test]
fn a_file_that_is_none_keeps_the_hub_from_starting() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("tokens.json"), "{}").unwrap();
    let error = Gate::new(Some(&config(place.path()))).unwrap_err().to_string();
    assert!(error.contains("tokens.json") && error.contains("version"), "{error}");
}

#[test]
fn only_named_addresses_are_proxies_however_they_are_written() {
    let place = tempfile::tempdir().unwrap();
    let named = AccessConfig { proxies: vec!["10.0.0.2".parse().unwrap()], ..config(place.path()) };
    let gate = Gate::new(Some(&named)).unwrap();
    assert!(gate.is_proxy("10.0.0.2".parse().unwrap()) && gate.is_proxy("::ffff:10.0.0.2".parse().unwrap()));
    assert!(!gate.is_proxy("10.0.0.3".parse().unwrap()) && !gate.is_proxy("127.0.0.1".parse().unwrap()));
    assert!(!Gate::default().is_proxy("10.0.0.2".parse().unwrap()));
}
