//! Commands of somebody whose token is revoked while they wait.

use std::path::Path;

use access::{NewToken, Secret};
use tokio::time::timeout;

use super::*;
use crate::access::{AccessConfig, Gate, TokenStore};
use crate::config::Config;
use crate::state::Shared;
use event_log::clock;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// A hub that knows the tokens of the file in `folder`, one of which is ann's.
fn guarded(folder: &Path) -> (Arc<Shared>, TokenStore, Secret) {
    let store = TokenStore::in_folder(folder);
    let new = NewToken {
        name: "ann",
        grants: vec!["view,control:*".parse().unwrap()],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms: None,
    };
    let secret = store.create(new, clock::now_ms()).unwrap();
    let config = AccessConfig { folder: folder.to_owned(), ..AccessConfig::default() };
    let gate = Gate::new(Some(&config)).unwrap();
    (Shared::new(Config::default(), gate, None, None).unwrap(), store, secret)
}

/// A command that pins a conversation.
fn pin(id: &str) -> Command {
    serde_json::from_str(&format!(r#"{{"id":"{id}","command":"label","pinned":true}}"#)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_waited_while_its_token_was_revoked_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (shared, store, secret) = guarded(place.path());
    let admission = shared.gate.by_token(secret.reveal()).unwrap();
    let conversation = ConversationId::parse("c").unwrap();
    let command = async |id: &str| {
        let carried = carry_out(&shared.commands, "ann", &conversation, pin(id));
        asker::by(Some(admission.clone()), carried).await.map_err(|refusal| refusal.code)
    };
    // Whether the conversation is there does not matter: the first answer is not that one is not admitted.
    assert_ne!(command("before").await.err(), Some(ErrorCode::Unauthenticated));
    let others = shared.commands.remembered.turn(&conversation).await;
    let mut waiting = std::pin::pin!(command("waits"));
    assert!(futures_util::poll!(waiting.as_mut()).is_pending(), "it waits for the command before it");
    let (watching, hub) = (Arc::clone(&shared), Arc::clone(&shared));
    let watching = tokio::spawn(async move { watching.gate.watch(&hub.egress, || {}).await });
    store.change(|tokens| tokens.revoke("ann")).unwrap();
    timeout(LIMIT, shared.gate.over(&admission)).await.unwrap();
    drop(others);
    assert_eq!(timeout(LIMIT, waiting).await.unwrap().err(), Some(ErrorCode::Unauthenticated));
    watching.abort();
}
