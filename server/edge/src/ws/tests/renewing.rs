//! Another token on an open socket.

use std::path::Path;

use access::{NewToken, Secret, SecretKind, Tokens};
use event_log::clock;
use model::code::ErrorCode;
use model::frame::ServerFrame;

use super::{Socket, TestHub};
use crate::access::{AccessConfig, TokenStore, random};
use crate::config::Config;

fn token<'a>(name: &'a str, grant: &str, lives_ms: Option<u64>) -> NewToken<'a> {
    NewToken {
        name,
        grants: vec![grant.parse().unwrap()],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms,
    }
}

/// A hub that knows the tokens of the file in `folder`, and this one.
async fn guarded(folder: &Path, own: NewToken<'_>) -> (TestHub, Secret) {
    let secret = Secret::mint(SecretKind::Token, &random());
    let mut tokens = Tokens::default();
    tokens.create(own, secret.hash(), clock::now_ms()).unwrap();
    let access = AccessConfig { folder: folder.to_owned(), own: tokens, ..AccessConfig::default() };
    (TestHub::start(Config { access: Some(access), ..Config::default() }).await, secret)
}

impl Socket {
    async fn greets(&mut self, token: &Secret) {
        self.say(&format!(r#"{{"t":"hello","versions":["1"],"token":"{}"}}"#, token.reveal())).await;
    }

    /// Greets, and is welcome.
    async fn is_welcomed(&mut self, token: &Secret) {
        self.greets(token).await;
        assert!(matches!(self.hear().await, ServerFrame::Welcome(_)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_outlives_its_token_when_another_one_of_its_principal_comes_in_time() {
    let place = tempfile::tempdir().unwrap();
    let file = TokenStore::in_folder(place.path());
    let first = file.create(token("ann", "view,publish:*", None), clock::now_ms()).unwrap();
    let (hub, second) = guarded(place.path(), token("ann", "view,publish:*", None)).await;
    let mut socket = hub.socket().await;
    socket.is_welcomed(&first).await;
    socket.view(1, "c").await;
    socket.is_welcomed(&second).await;
    let mut other = hub.socket().await;
    other.is_welcomed(&first).await;
    file.change(|tokens| tokens.revoke("ann")).unwrap();
    other.farewell(4401).await;
    // What was begun goes on, and what is begun is the principal's.
    socket.publish("c", "after all").await;
    assert!(matches!(socket.hear().await, ServerFrame::Ack(_)));
    assert!(matches!(socket.hear().await, ServerFrame::Batch { sub: 1, from: 1, to: 1, .. }));
    socket.view(2, "d").await;
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_with_the_token_that_it_has_now() {
    let place = tempfile::tempdir().unwrap();
    let file = TokenStore::in_folder(place.path());
    let first = file.create(token("ann", "view:*", None), clock::now_ms()).unwrap();
    // It is there for as long as a slow machine needs to say it.
    let (hub, second) = guarded(place.path(), token("ann", "view:*", Some(4_000))).await;
    let mut socket = hub.socket().await;
    socket.is_welcomed(&first).await;
    socket.is_welcomed(&second).await;
    socket.farewell(4401).await;
    let mut again = hub.socket().await;
    again.is_welcomed(&first).await;
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_somebody_else_or_with_other_grants_or_of_nobody_ends_the_socket() {
    let place = tempfile::tempdir().unwrap();
    let file = TokenStore::in_folder(place.path());
    let ann = file.create(token("ann", "view:team-*", None), clock::now_ms()).unwrap();
    let bob = file.create(token("bob", "view:team-*", None), clock::now_ms()).unwrap();
    let (hub, wider) = guarded(place.path(), token("ann", "view:*", None)).await;
    let nobody = Secret::mint(SecretKind::Token, &random());
    for other in [&bob, &wider, &nobody] {
        let mut socket = hub.socket().await;
        socket.is_welcomed(&ann).await;
        socket.greets(other).await;
        socket.farewell(4401).await;
    }
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_hello_that_renews_nothing_is_refused_and_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (guarded, ann) = guarded(place.path(), token("ann", "view,publish:*", None)).await;
    let mut known = guarded.socket().await;
    known.is_welcomed(&ann).await;
    known.say(r#"{"t":"hello","versions":["1"]}"#).await;
    let open = TestHub::start(Config::default()).await;
    let mut anybody = open.greeted().await;
    anybody.greets(&ann).await;
    for socket in [&mut known, &mut anybody] {
        assert_eq!(socket.error().await, (None, ErrorCode::BadRequest));
        socket.view(1, "c").await;
    }
    guarded.stop().await;
    open.stop().await;
}
