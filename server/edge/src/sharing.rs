//! What a hub knows of the others that share its log: how they are reached and proven, the links and ways to them, who has what. Tasks and
//! requests that use it are in `peers` and `http/hubs`.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use access::Secret;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use model::ConversationId;
use model::frame::Pub;
use model::limits::CONVERSATIONS_MAX;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use upstream::Sender;

mod config;
mod replies;

pub use config::{PeersConfig, PeersError};
pub(crate) use replies::{PublisherLine, Reply};

/// What a hub says in `welcome` to one that it knows as another hub.
pub(crate) const FEATURE: &str = "hub";

/// Most requests that wait for one link.
pub(crate) const LINK_REQUESTS_MAX: usize = 4_096;

/// For how long it is taken for granted who has a conversation. A frame that goes to the wrong hub comes back as refused.
const OWNER_KNOWN: Duration = Duration::from_secs(1);

/// The body of a request that is passed on.
pub(crate) type PassedBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// What a link is asked for.
pub(crate) enum LinkRequest {
    /// To follow a conversation. The answer comes when it is in memory.
    Follow(ConversationId, oneshot::Sender<Result<(), String>>),
    /// To publish; the answer goes to whoever the reply names.
    Publish(Box<Pub>, Reply),
}

/// The other hubs of the log. One for each hub, if it shares its log; owned by `Shared`. It holds senders
/// alone: links are tasks of the hub.
#[derive(Debug)]
pub(crate) struct Peers {
    /// What hubs show one another.
    pub(crate) token: Secret,
    /// The links that are open, by address.
    pub(crate) links: Mutex<HashMap<Arc<str>, mpsc::Sender<LinkRequest>>>,
    /// The ways on which requests are passed on, by address.
    pub(crate) senders: Mutex<HashMap<Arc<str>, Sender<PassedBody>>>,
    /// Who had which conversation when it was last looked up.
    owners: Mutex<HashMap<ConversationId, (Arc<str>, Instant)>>,
}

impl std::fmt::Debug for LinkRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, of) = match self {
            Self::Follow(conversation, _) => ("Follow", conversation),
            Self::Publish(publication, _) => ("Publish", &publication.conv),
        };
        f.debug_tuple(what).field(of).finish_non_exhaustive()
    }
}

impl Peers {
    /// The other hubs, as `config` says how to speak with them. Connects to nobody yet.
    pub(crate) fn new(config: &PeersConfig) -> Self {
        Self {
            token: config.token().clone(),
            links: Mutex::default(),
            senders: Mutex::default(),
            owners: Mutex::default(),
        }
    }

    /// The owner of `conversation` as it was found a moment ago, if it was.
    pub(crate) fn known_owner(&self, conversation: &ConversationId) -> Option<Arc<str>> {
        let owners = self.owners.lock();
        let (address, at) = owners.get(conversation)?;
        (at.elapsed() < OWNER_KNOWN).then(|| Arc::clone(address))
    }

    /// Notes the owner of `conversation`.
    pub(crate) fn note_owner(&self, conversation: &ConversationId, address: &Arc<str>) {
        let mut owners = self.owners.lock();
        if owners.len() >= CONVERSATIONS_MAX {
            owners.clear();
        }
        owners.insert(conversation.clone(), (Arc::clone(address), Instant::now()));
    }

    /// Forgets what the hub at `address` had.
    pub(crate) fn forget_owner(&self, address: &str) {
        self.owners.lock().retain(|_, (known, _)| &**known != address);
    }

    /// Forgets who has `conversation`.
    pub(crate) fn forget(&self, conversation: &ConversationId) {
        self.owners.lock().remove(conversation);
    }
}
