//! Several hubs on one log: each conversation has one owner, and any hub takes any request.
//!
//! ```text
//! viewer ──▶ hub B ──one link, one copy of the conversation──▶ hub A, the owner ──▶ log
//! publisher ──▶ hub B ──the frames, over the same link────────▶   │
//! request about a conversation ──▶ hub B ──the request itself──▶  │
//! ```
//!
//! The log says who the owner is, and makes this hub the owner where nobody is any more ([`hub::Hub::claim_or_find_owner`]). A follower has the
//! conversation in memory as the owner has it, with the same seqs, so its viewers are served as those of the owner are.
//!
//! Reading order: `sharing` (what is known of other hubs) → this file → `link` (one connection to another hub) → `follows` (what comes
//! over it) → `earlier` (events of the past, for viewers that come back) → `http/hubs` (requests that are passed on).

use std::sync::Arc;
use std::time::Duration;

use event_log::{LogError, Owner, Purpose};
use hub::{
    AppendError, Appended, Conversation, Fanout, Hub, OpenError, Publication, PublishError, beginning,
};
use model::frame::Pub;
use model::{ConversationId, Position};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sharing::{LINK_REQUESTS_MAX, LinkRequest, Moves, OpenRequest, Peers, Reply};
use crate::sockets::Sockets;

mod earlier;
mod follows;
mod link;

#[cfg(test)]
pub(crate) use follows::{FollowChange, Follows};

/// How long somebody who asks for a conversation waits for its owner. Longer than an owner takes to be found dead.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The pause before the owner is looked for again.
pub(crate) const AGAIN: Duration = Duration::from_millis(100);

/// How often the rows of the list are looked at that other hubs have changed.
const ROWS_EVERY: Duration = Duration::from_secs(2);

/// What finds the hub that has a conversation, and follows it there, takes it over, or publishes to it. One for each hub, made with its
/// state. For a hub that is alone on its log every conversation is here.
#[derive(Debug)]
pub(crate) struct Ownership {
    /// The conversations that this hub has in memory.
    pub(crate) hub: Arc<Hub>,
    /// Their viewers.
    pub(crate) fanout: Arc<Fanout>,
    /// The other hubs of the log; `None` for a hub that is alone there.
    pub(crate) peers: Option<Arc<Peers>>,
    /// The conversations that are being moved.
    pub(crate) moves: Arc<Moves>,
    /// The sockets, which begin anew what was replaced.
    pub(crate) sockets: Arc<Sockets>,
    /// Told when this hub gets a frozen copy, which may go on here.
    pub(crate) copies_due: Arc<Notify>,
    /// The tasks of the hub; those of links are among them.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the hub begins to drain.
    pub(crate) drain: CancellationToken,
}

impl Peers {
    /// The link to the hub at `address`. If there is none, or it has ended, a new one is started as a task of
    /// the hub; it connects by itself.
    fn link(&self, ownership: &Arc<Ownership>, address: &Arc<str>) -> mpsc::Sender<LinkRequest> {
        let mut links = self.links.lock();
        if let Some(link) = links.get(address).filter(|link| !link.is_closed()) {
            return link.clone();
        }
        let (sender, requests) = mpsc::channel(LINK_REQUESTS_MAX);
        links.insert(Arc::clone(address), sender.clone());
        ownership.tasks.spawn(link::run(Arc::clone(ownership), Arc::clone(address), requests));
        sender
    }

    /// Follows `conversation` at `address`; ready when it is in memory, with the events after `have` if the other hub gives them. Fails, with
    /// the reason, if the other hub cannot be reached, does not have the conversation, or the link is lost.
    async fn follow(
        &self,
        ownership: &Arc<Ownership>,
        address: &Arc<str>,
        conversation: &ConversationId,
        have: Option<&Position>,
    ) -> Result<(), String> {
        let (done, answer) = oneshot::channel();
        let link = self.link(ownership, address);
        let lost = || String::from("the connection to the hub that has the conversation was lost");
        let request = LinkRequest::Follow(conversation.clone(), have.cloned(), done);
        link.send(request).await.map_err(|_link_is_gone| lost())?;
        answer.await.unwrap_or_else(|_link_is_gone| Err(lost()))
    }

    /// Sends a publication to the hub at `address`; its answer goes to `reply`. The link keeps the order.
    /// Waits if the link has more to do than it can hold.
    pub(crate) async fn publish(
        &self,
        ownership: &Arc<Ownership>,
        address: &Arc<str>,
        publication: Pub,
        reply: Reply,
    ) {
        // A link that is gone drops the wish, and with it the reply, which tells its publisher.
        drop(self.link(ownership, address).send(LinkRequest::Publish(Box::new(publication), reply)).await);
    }
}

/// The hub that has `conversation`, as of a moment ago. One that no hub has becomes this hub's, as [`owner_now`] says. Fails if the log cannot be
/// asked.
pub(crate) async fn owner(
    ownership: &Arc<Ownership>,
    conversation: &ConversationId,
    purpose: Purpose,
) -> Result<Owner, LogError> {
    if ownership.peers.as_ref().is_some_and(|peers| peers.has_stand_in(conversation)) {
        return Ok(Owner::Here);
    }
    ownership.moves.settled(conversation, PATIENCE).await;
    let known = ownership.peers.as_ref().and_then(|peers| peers.known_owner(conversation));
    match known {
        Some(address) if ownership.hub.in_memory(conversation).is_none_or(|found| found.is_followed()) => {
            Ok(Owner::Elsewhere(address))
        }
        _ => owner_now(ownership, conversation, purpose).await,
    }
}

/// The hub that has `conversation` now; the log is asked in a thread that may wait. If no hub has it, or its owner's lease has run out, it becomes
/// this hub's, and if this hub followed it, it is taken over.
pub(crate) async fn owner_now(
    ownership: &Arc<Ownership>,
    conversation: &ConversationId,
    purpose: Purpose,
) -> Result<Owner, LogError> {
    ownership.moves.settled(conversation, PATIENCE).await;
    if ownership.hub.in_memory(conversation).is_some_and(|found| !found.is_followed()) {
        return Ok(Owner::Here);
    }
    let (hub, of) = (Arc::clone(&ownership.hub), conversation.clone());
    let looked = tokio::task::spawn_blocking(move || look_for_owner(&hub, &of, purpose));
    let looked = looked.await;
    if matches!(looked, Ok(Ok(Owner::Here))) {
        // Sockets begin anew what was replaced.
        ownership.sockets.wake_due(true);
        if conversation.is_frozen() && purpose == Purpose::Make {
            // Somebody watches the copy of a turn, which may go on here.
            ownership.copies_due.notify_one();
        }
    }
    let looked = looked.unwrap_or_else(|error| Err(LogError::Unreadable(Arc::from(error.to_string()))));
    match (&looked, &ownership.peers) {
        (Ok(Owner::Elsewhere(address)), Some(peers)) => peers.note_owner(conversation, address),
        (Ok(Owner::Here), Some(peers)) if purpose == Purpose::Make => peers.note_here(conversation),
        _ => {}
    }
    looked
}

/// The hub that has `conversation`, as the log says. One that was followed and has no owner any more is taken over. Waits for the disk.
pub(crate) fn look_for_owner(
    hub: &Hub,
    conversation: &ConversationId,
    purpose: Purpose,
) -> Result<Owner, LogError> {
    let owner = hub.claim_or_find_owner(conversation, purpose)?;
    if owner == Owner::Here
        && let Some(followed) = hub.in_memory(conversation).filter(|found| found.is_followed())
    {
        match hub.take_over(&followed) {
            Ok(_) => {}
            Err(OpenError::Elsewhere { address }) => return Ok(Owner::Elsewhere(address)),
            Err(OpenError::Log(error)) => return Err(error),
            Err(OpenError::TooMany | OpenError::TooFast { .. }) => {
                return Err(LogError::Unreadable(Arc::from("too many conversations")));
            }
        }
    }
    Ok(owner)
}

/// Publishes what this hub has found out itself (from calls through the proxy, from spans), whichever hub has the
/// conversation. `None` if another one has it, or is about to: it gets the events a moment later, in their order and without an
/// attendant, and what becomes of them is only logged. Nobody is asked whether the conversation may begin. Waits for the disk.
pub(crate) fn publish(
    ownership: &Ownership,
    conversation: &ConversationId,
    publication: Publication,
) -> Result<Option<Appended>, PublishError> {
    // Noted before it is looked whether it moves: a move that begins afterwards sees it, and leaves the conversation here.
    let _open = ownership.peers.as_ref().map(|_| OpenRequest::begin(&ownership.moves, conversation));
    if let Some(peers) = &ownership.peers {
        let is_elsewhere = || {
            let known = peers.known_owner(conversation).is_some()
                && ownership.hub.in_memory(conversation).is_none_or(|found| found.is_followed());
            if known {
                return Ok(true);
            }
            let owner =
                ownership.hub.claim_or_find_owner(conversation, Purpose::Make).map_err(OpenError::Log)?;
            if let Owner::Elsewhere(address) = &owner {
                peers.note_owner(conversation, address);
            }
            // One that was followed is taken over by the task that carries.
            Ok::<_, PublishError>(
                owner != Owner::Here
                    || ownership.hub.in_memory(conversation).is_some_and(|found| found.is_followed()),
            )
        };
        if ownership.moves.is_moving(conversation) || peers.is_under_way(conversation) || is_elsewhere()? {
            return if peers.carry(conversation, publication.events) {
                Ok(None)
            } else {
                Err(PublishError::Append(AppendError::Elsewhere))
            };
        }
    }
    // What was not taken here would be lost.
    beginning::under_now(None, || ownership.fanout.publish(conversation, publication)).map(Some)
}

/// Makes `conversation` one that can be viewed here: this hub has it, or follows it, then with the events after `have`, which a viewer
/// who comes back has, if its owner gives them. Tries for [`PATIENCE`]. The error says why neither could be had.
pub(crate) async fn prepare(
    ownership: &Arc<Ownership>,
    conversation: &ConversationId,
    have: Option<&Position>,
) -> Result<(), String> {
    let Some(peers) = &ownership.peers else { return Ok(()) };
    let deadline = Instant::now() + PATIENCE;
    loop {
        if is_prepared(&ownership.hub, conversation, have) {
            return Ok(());
        }
        let why = match owner(ownership, conversation, Purpose::Make).await {
            Ok(Owner::Here) => return Ok(()),
            Ok(Owner::Elsewhere(address)) => {
                match peers.follow(ownership, &address, conversation, have).await {
                    Ok(()) => return Ok(()),
                    Err(why) => why,
                }
            }
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline || ownership.drain.is_cancelled() {
            return Err(why);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Whether `conversation` is in memory with what a viewer at `have` needs.
pub(crate) fn is_prepared(hub: &Hub, conversation: &ConversationId, have: Option<&Position>) -> bool {
    hub.in_memory(conversation).is_some_and(|found| have.is_none_or(|have| !found.lacks(have)))
}

/// Goes on with a conversation whose link was lost, as long as it is watched: follows its owner again, or
/// takes it over. Viewers keep their sockets; after a change of the epoch they get a snapshot.
pub(crate) async fn recover(ownership: Arc<Ownership>, conversation: Arc<Conversation>) {
    let Some(peers) = &ownership.peers else { return };
    while conversation.is_watched() && !conversation.is_over() && !ownership.drain.is_cancelled() {
        let (hub, of) = (Arc::clone(&ownership.hub), Arc::clone(&conversation));
        let taken = tokio::task::spawn_blocking(move || hub.take_over(&of)).await;
        match taken {
            Ok(Ok(next)) => {
                tracing::info!(conversation = %next.id(), "a conversation was taken over");
                if conversation.is_over() {
                    ownership.sockets.wake_due(true);
                }
                if conversation.id().is_frozen() {
                    // The copy of a turn may go on here.
                    ownership.copies_due.notify_one();
                }
                return ownership.fanout.deliver(next.id());
            }
            Ok(Err(OpenError::Elsewhere { address })) => {
                if peers.follow(&ownership, &address, conversation.id(), None).await.is_ok() {
                    return;
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(conversation = %conversation.id(), %error, "not taken over yet");
            }
            Err(error) => tracing::error!(%error, "taking over broke off"),
        }
        tokio::time::sleep(AGAIN).await;
    }
    ownership.hub.unfollow(&conversation);
}

/// Tells the viewers of the list what other hubs have changed. Never returns.
pub(crate) async fn watch_rows(ownership: &Arc<Ownership>) {
    if ownership.peers.is_none() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(ROWS_EVERY).await;
        let hub = Arc::clone(&ownership.hub);
        match tokio::task::spawn_blocking(move || hub.look_at_other_rows()).await {
            Ok(Ok(true)) => ownership.fanout.fleet.renew(),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the rows of other hubs cannot be read"),
            Err(error) => tracing::error!(%error, "looking at the rows of other hubs broke off"),
        }
    }
}
