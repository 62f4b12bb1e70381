//! The one connection from this hub to another: everything that is followed there, and everything that is published there.
//!
//! The task of a link ends when the connection does, or when nothing is followed and published for a while. What was followed goes on
//! elsewhere ([`super::recover`]); publishers that have no answer come back and publish again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::{HubAddress, HubLink};
use event_log::{LogError, Owner, Purpose};
use model::ConversationId;
use model::code::ErrorCode;
use model::frame::{ClientFrame, Pub, ServerFrame};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use super::Ownership;
use super::follows::{FollowChange, Follows};
use crate::sharing::{FEATURE, LinkRequest, Reply};

/// How long another hub may take to answer the handshake.
const OPEN: Duration = Duration::from_secs(2);

/// The time between two looks for what nobody watches any more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a link without follows and publications stays open.
const IDLE: Duration = Duration::from_mins(1);

/// How long another hub may be silent before the database is asked whether it still lives. It is silent while nothing happens.
const DOUBT: Duration = Duration::from_secs(2);

/// How long another hub may be silent beyond two heartbeats.
const SILENCE: Duration = Duration::from_secs(5);

/// A link that is open. Owned by its task; dropping it closes the connection, and each reply without an
/// answer tells its publisher to publish again.
struct Link {
    ownership: Arc<Ownership>,
    /// The connection, on which this hub is a client of the other.
    hub: HubLink,
    /// What is followed over it.
    follows: Follows,
    /// Publications that have no answer yet, by their number on this connection.
    replies: BTreeMap<u64, (ConversationId, Reply)>,
    /// The number of the next publication.
    next_id: u64,
}

/// Opens the link to the hub at `address` and serves `requests` until it is lost.
pub(super) async fn run(ownership: Arc<Ownership>, address: Arc<str>, mut requests: Receiver<LinkRequest>) {
    let opened = open(&ownership, &address).await;
    match opened {
        Ok(hub) => {
            let follows = Follows::new(&ownership.hub);
            let mut link = Link {
                ownership: Arc::clone(&ownership),
                hub,
                follows,
                replies: BTreeMap::new(),
                next_id: 1,
            };
            let why = link.serve(&mut requests).await;
            tracing::info!(hub = %address, why, "the link to another hub has ended");
            // From here on nobody asks this link for anything.
            requests.close();
            forget(&ownership, &address);
            link.replies.clear();
            for conversation in link.follows.lose(&why) {
                ownership.tasks.spawn(super::recover(Arc::clone(&ownership), conversation));
            }
            refuse(&mut requests, &why);
        }
        Err(why) => {
            tracing::debug!(hub = %address, why, "another hub cannot be reached");
            requests.close();
            forget(&ownership, &address);
            refuse(&mut requests, &why);
        }
    }
}

/// Forgets what the hub at `address` had, so that it is looked up anew.
fn forget(ownership: &Ownership, address: &str) {
    if let Some(peers) = &ownership.peers {
        peers.forget_owner(address);
    }
}

/// Answers the requests that still wait. Publications are dropped, which tells their publishers.
fn refuse(requests: &mut Receiver<LinkRequest>, why: &str) {
    while let Ok(request) = requests.try_recv() {
        if let LinkRequest::Follow(.., done) = request {
            // Whoever asked may have gone.
            drop(done.send(Err(why.to_owned())));
        }
    }
}

/// Connects, and makes sure that the other takes this one for a hub. Fails, with the reason, if it does not
/// answer within [`OPEN`], refuses, or has another secret.
async fn open(ownership: &Ownership, address: &str) -> Result<HubLink, String> {
    let peers = ownership.peers.as_ref().ok_or("this hub shares its log with nobody")?;
    let hub: HubAddress = address.parse().map_err(|error: client::AddressError| error.to_string())?;
    // Hubs of one log speak plain HTTP in a network of their own (docs/several-hubs.md).
    let hub = hub.with_token(Some(peers.token.reveal().to_owned())).accepting_plain_token();
    let opened = tokio::time::timeout(OPEN, HubLink::open(&hub)).await;
    let opened = opened.map_err(|_elapsed| format!("the hub at {address} does not answer"))?;
    let link = opened.map_err(|error| format!("the hub at {address} refused the link: {error}"))?;
    if link.welcome().features.iter().any(|feature| *feature == *FEATURE) {
        return Ok(link);
    }
    Err(format!("the hub at {address} has another secret for hubs than this one"))
}

/// What a probe has found, once it has; `None` where it failed. Never ready without a probe.
async fn answered(probe: &mut Option<JoinHandle<Result<Owner, LogError>>>) -> Option<Owner> {
    match probe {
        Some(probe) => probe.await.ok()?.ok(),
        None => std::future::pending().await,
    }
}

impl Link {
    /// Serves until the link ends; says why it did: the connection was closed, the other hub is silent or has
    /// lost its lease, nothing was followed for [`IDLE`], or this hub stops.
    async fn serve(&mut self, requests: &mut Receiver<LinkRequest>) -> String {
        let silence = Duration::from_millis(self.hub.welcome().hb_ms.saturating_mul(2)) + SILENCE;
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let drain = self.ownership.drain.clone();
        let (mut heard_at, mut used_at) = (Instant::now(), Instant::now());
        let mut probe: Option<JoinHandle<Result<Owner, LogError>>> = None;
        loop {
            // All arms may be cancelled: they only wait.
            let sent = tokio::select! {
                frame = self.hub.receive() => match frame {
                    Ok(frame) => {
                        heard_at = Instant::now();
                        self.hear(frame).await
                    }
                    Err(closed) => return closed.why,
                },
                request = requests.recv() => match request {
                    Some(request) => self.request(request).await,
                    None => return String::from("nobody needs it"),
                },
                found = answered(&mut probe), if probe.is_some() => {
                    probe = None;
                    if found == Some(Owner::Here) {
                        return String::from("the lease of the other hub has run out");
                    }
                    Ok(())
                }
                () = drain.cancelled() => return String::from("this hub stops"),
                _ = looks.tick() => {
                    if heard_at.elapsed() > silence {
                        return String::from("the other hub has fallen silent");
                    }
                    if heard_at.elapsed() > DOUBT && probe.is_none() {
                        probe = self.claim_from_silent();
                    }
                    if !self.follows.is_empty() || !self.replies.is_empty() {
                        used_at = Instant::now();
                    }
                    if used_at.elapsed() > IDLE {
                        return String::from("nothing is followed");
                    }
                    self.let_go().await
                }
            };
            if let Err(why) = sent {
                return why;
            }
        }
    }

    /// Claims one of the conversations that are asked of the other hub, in a task of its own; `None` if there is none. If the other hub's lease
    /// has run out, the claim ends its life and makes this hub the owner.
    fn claim_from_silent(&self) -> Option<JoinHandle<Result<Owner, LogError>>> {
        let asked = self.replies.values().next().map(|(conversation, _)| conversation);
        let conversation = asked.or_else(|| self.follows.any())?.clone();
        let ownership = Arc::clone(&self.ownership);
        Some(tokio::spawn(async move { super::owner_now(&ownership, &conversation, Purpose::Make).await }))
    }

    /// Sends a frame. Fails, with the reason, if the connection is closed.
    async fn send(&mut self, frame: &ClientFrame) -> Result<(), String> {
        self.hub.send(frame).await.map_err(|closed| closed.why)
    }

    /// Carries out what somebody of this hub asks for. Publications get numbers of the link's own.
    async fn request(&mut self, request: LinkRequest) -> Result<(), String> {
        match request {
            LinkRequest::Follow(conversation, have, done) => {
                match self.follows.begin(conversation, have, done) {
                    Some(frame) => self.send(&frame).await,
                    None => Ok(()),
                }
            }
            LinkRequest::Publish(publication, reply) => {
                let id = self.next_id;
                self.next_id += 1;
                self.replies.insert(id, (publication.conv.clone(), reply));
                self.send(&ClientFrame::Pub(Pub { id, ..*publication })).await
            }
        }
    }

    /// Stops to follow what nobody watches any more.
    async fn let_go(&mut self) -> Result<(), String> {
        for sub in self.follows.let_go() {
            self.send(&ClientFrame::Unsub { sub }).await?;
        }
        Ok(())
    }

    /// Takes a frame of the other hub.
    async fn hear(&mut self, frame: ServerFrame) -> Result<(), String> {
        match frame {
            ServerFrame::Ack(ack) => {
                if let Some((_, reply)) = self.replies.remove(&ack.id) {
                    reply.ack(ack);
                }
            }
            ServerFrame::Error { id: Some(id), code, message, expected, .. } => {
                if let Some((conversation, reply)) = self.replies.remove(&id) {
                    if code == ErrorCode::Elsewhere
                        && let Some(peers) = &self.ownership.peers
                    {
                        peers.forget(&conversation);
                    }
                    reply.refuse(code, message, expected);
                }
            }
            ServerFrame::Hb { .. } => {
                let at = self.follows.positions();
                return self.send(&ClientFrame::HbAck { at }).await;
            }
            ServerFrame::Bye { reason, .. } => return Err(reason.to_string()),
            frame => match self.follows.take(frame) {
                FollowChange::Nothing => {}
                FollowChange::Changed(conversation) => self.deliver(&conversation),
                FollowChange::Replaced(conversation) => {
                    // Sockets begin anew what was replaced.
                    self.ownership.sockets.wake_due(true);
                    self.deliver(&conversation);
                }
                FollowChange::Asks(frame) => return self.send(&frame).await,
                FollowChange::EarlierEnded(sub, next) => {
                    self.send(&ClientFrame::Unsub { sub }).await?;
                    if let Some(frame) = next {
                        return self.send(&frame).await;
                    }
                }
                FollowChange::Torn(sub) => return self.send(&ClientFrame::Resync { sub }).await,
                FollowChange::Refused(conversation) => {
                    self.ownership.tasks.spawn(super::recover(Arc::clone(&self.ownership), conversation));
                }
            },
        }
        Ok(())
    }

    /// Wakes the viewers of a conversation.
    fn deliver(&self, conversation: &ConversationId) {
        self.ownership.fanout.deliver(conversation);
    }
}
