//! The subscriptions of one socket: how they begin, begin again and end.
//!
//! A subscription is entered at its conversation's pump and at the same moment added to the socket's feed,
//! which sends what the client lacks; so no event is missed in between (I2). An error of one subscription
//! never closes the socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hub::{Delivery, Subscription, SubscriptionTarget, SubscriptionTerms};
use model::code::{CloseCode, ErrorCode};
use model::frame::{SubscriptionId, SubscriptionOptions};
use model::limits::{CONVERSATIONS_MAX, RESYNC_EVERY_MS, RESYNCS_MAX, SUBSCRIPTIONS_PER_SOCKET_MAX};
use model::{ConversationId, Position, Seq};
use tokio::time::Instant;

use super::SocketKind;
use super::connection::Connection;
use super::feed::Feed;
use super::waiting::{Begin, WaitingSubscription};
use crate::peers;

impl Connection {
    /// Whether the number `sub` is free and there is room for a subscription, which is then counted: `SUBSCRIPTIONS_PER_SOCKET_MAX`
    /// for clients and as many as their principal and their address may have, one for each conversation in memory for other hubs. If not, the client is told
    /// `subscription_in_use` or `too_many`.
    fn is_free(&mut self, sub: SubscriptionId) -> bool {
        if self.subscription(sub).is_some() || self.waiting.iter().any(|waiting| waiting.sub == sub) {
            self.refuse(Some(sub), ErrorCode::SubscriptionInUse, format!("subscription {sub} is in use"));
            return false;
        }
        let most = match self.kind {
            SocketKind::Client => SUBSCRIPTIONS_PER_SOCKET_MAX,
            SocketKind::Hub => CONVERSATIONS_MAX,
        };
        if self.subscriptions.len() + self.waiting.len() >= most {
            let message = format!("a socket has at most {most} subscriptions");
            self.refuse(Some(sub), ErrorCode::TooMany, message);
            return false;
        }
        let counted = self.counts_subscription();
        if let Err(message) = &counted {
            self.refuse(Some(sub), ErrorCode::TooMany, message.clone());
        }
        counted.is_ok()
    }

    /// Begins a subscription to a conversation, which need not exist yet. Where that may be another hub's, it
    /// waits until it is in memory. `have` is the position that the client has.
    pub(super) fn subscribe(
        &mut self,
        sub: SubscriptionId,
        conv: &ConversationId,
        have: Option<&Position>,
        wish: &SubscriptionOptions,
    ) {
        if !self.is_free(sub) {
            return;
        }
        self.note_view(conv);
        let waits = self.shared.peers.is_some() && !peers::is_prepared(&self.shared.hub, conv, have);
        if waits && self.kind == SocketKind::Client {
            return self.wait((sub, conv.clone()), Begin::New(have.cloned()), wish.clone());
        }
        self.enter(sub, conv, (wish, have), |feed, subscription| feed.start(subscription, have));
    }

    /// Lets a subscription wait until its conversation is in memory.
    fn wait(&mut self, of: (SubscriptionId, ConversationId), begin: Begin, wish: SubscriptionOptions) {
        self.waiting.push(WaitingSubscription::new(&self.shared.ownership, &self.outbox, of, begin, wish));
    }

    /// Enters a conversation that is in memory, or is this hub's; `begin` begins the subscription. Other hubs
    /// get their events one by one and only from the owner; they are told `elsewhere` by any other hub.
    fn enter(
        &mut self,
        sub: SubscriptionId,
        conv: &ConversationId,
        (wish, have): (&SubscriptionOptions, Option<&Position>),
        begin: impl FnOnce(&mut Feed, Arc<Subscription>),
    ) {
        let is_hub = self.kind == SocketKind::Hub;
        if is_hub && self.shared.hub.in_memory(conv).is_some_and(|found| found.is_followed()) {
            let message = String::from("this hub does not have the conversation");
            return self.refuse(Some(sub), ErrorCode::Elsewhere, message);
        }
        let mask = self.mask();
        let delivery = if is_hub { Delivery::Single } else { Delivery::Joined };
        let who = self.known_as();
        let terms = SubscriptionTerms { wish, have, mask: mask.as_ref(), who: who.as_deref(), delivery };
        match self.shared.fanout.enter(conv, &self.outbox, sub, terms) {
            Ok(subscription) => {
                begin(&mut self.behind, Arc::clone(&subscription));
                self.subscriptions.push(subscription);
            }
            Err(error) => self.refuse(Some(sub), error.code(), error.to_string()),
        }
    }

    /// Begins the subscriptions whose conversations have come into memory.
    pub(super) fn enter_waiting(&mut self) {
        let ready = self.waiting.extract_if(.., |waiting| waiting.is_ready().is_some());
        for waiting in ready.collect::<Vec<_>>() {
            let WaitingSubscription { sub, conversation, begin, wish, .. } = &waiting;
            if let Some(Err(why)) = waiting.is_ready() {
                self.refuse(Some(*sub), ErrorCode::Elsewhere, why.clone());
                continue;
            }
            let have = match begin {
                Begin::New(have) => have.as_ref(),
                Begin::Again => None,
            };
            self.enter(*sub, conversation, (wish, have), |feed, subscription| match begin {
                Begin::New(have) => feed.start(subscription, have.as_ref()),
                Begin::Again => feed.replaced(subscription),
            });
        }
    }

    /// Begins anew the subscriptions whose conversations were replaced, as when this hub has taken one over, or when one was deleted.
    /// Their clients keep the number and get a snapshot. Other hubs are told `elsewhere` of what this one has given up.
    pub(super) fn begin_again(&mut self) {
        let is_hub = self.kind == SocketKind::Hub;
        let is_over = |subscription: &Arc<Subscription>| match &subscription.place {
            SubscriptionTarget::Conversation(viewed, _) => {
                viewed.conversation.is_over() || is_hub && viewed.conversation.is_followed()
            }
            SubscriptionTarget::Fleet { .. } => false,
        };
        while let Some(place) = self.subscriptions.iter().position(is_over) {
            let old = self.subscriptions.swap_remove(place);
            self.shared.fanout.leave(&old);
            if let SubscriptionTarget::Conversation(viewed, pump) = &old.place {
                let of = (old.sub, viewed.conversation.id().clone());
                self.wait(of, Begin::Again, pump.wish.clone());
            }
        }
    }

    /// Begins a subscription to the list, of at most `limit` rows to begin with.
    pub(super) fn watch(&mut self, sub: SubscriptionId, limit: Option<u64>) {
        if !self.is_free(sub) {
            return;
        }
        let rows = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let seen = self.seen_rows();
        let subscription = self.shared.fanout.fleet.enter(&self.outbox, sub, rows, seen);
        self.behind.start(Arc::clone(&subscription), None);
        self.subscriptions.push(subscription);
    }

    /// Ends a subscription, also one that waits. If there is none of this number, the client is told.
    pub(super) fn unsubscribe(&mut self, sub: SubscriptionId) {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.sub != sub);
        if self.waiting.len() < before {
            return;
        }
        if let Some(subscription) = self.remove(sub) {
            self.shared.fanout.leave(&subscription);
        }
    }

    /// Takes a subscription out of the list. If there is none of this number, the client is told.
    fn remove(&mut self, sub: SubscriptionId) -> Option<Arc<Subscription>> {
        let place = self.subscriptions.iter().position(|subscription| subscription.sub == sub);
        let Some(place) = place else {
            self.refuse(Some(sub), ErrorCode::UnknownSubscription, format!("there is no subscription {sub}"));
            return None;
        };
        Some(self.subscriptions.swap_remove(place))
    }

    /// Begins the subscription anew with the snapshot, since the client has found that its view is wrong. A
    /// client that asks too often is closed with 4410.
    pub(super) fn resync(&mut self, sub: SubscriptionId) {
        if !self.resyncs.take(Instant::now(), RESYNCS_MAX, Duration::from_millis(RESYNC_EVERY_MS)) {
            return self.close(CloseCode::InsufficientState, "too many resyncs in a short time");
        }
        self.renew(sub, None, Feed::resync);
    }

    /// Begins the subscriptions anew whose window hides a run that goes on.
    pub(super) fn choose_again(&mut self) {
        for sub in self.behind.take_anew() {
            self.renew(sub, None, Feed::other_window);
        }
    }

    /// Sends again what did not arrive, from the position that the client has said in its answer to a
    /// heartbeat.
    pub(super) fn revive(&mut self, at: &BTreeMap<SubscriptionId, Seq>) {
        let busy = self.outbox.waiting() > 0;
        let behind = &self.behind;
        let is_fed = |sub| !busy && !behind.has(sub);
        for (sub, seq) in self.undelivered.answered(at, is_fed) {
            tracing::debug!(sub, seq, "a subscription stays behind what it was sent");
            self.renew(sub, Some(seq), |feed, subscription| {
                let have = subscription.epoch().map(|epoch| Position { epoch: epoch.clone(), seq });
                feed.start(subscription, have.as_ref());
            });
        }
    }

    /// Replaces the subscription `sub` by a new one, which `begin` begins. `at` is the seq that its client goes on from.
    fn renew(
        &mut self,
        sub: SubscriptionId,
        at: Option<Seq>,
        begin: impl FnOnce(&mut Feed, Arc<Subscription>),
    ) {
        let Some(old) = self.remove(sub) else { return };
        // The new one enters before the old one leaves, so that the conversation is not dropped in between.
        let new = match &old.place {
            SubscriptionTarget::Conversation(viewed, pump) => {
                let (id, mask) = (viewed.conversation.id(), pump.frame_cache.mask());
                let (who, delivery) = (old.who(), pump.frame_cache.delivery());
                let have = at.map(|seq| Position { epoch: viewed.conversation.epoch().clone(), seq });
                let window = have.as_ref().and(pump.frame_cache.window()).map(|window| window.name().into());
                let (wish, have) = (SubscriptionOptions { window, ..pump.wish.clone() }, have.as_ref());
                let terms = SubscriptionTerms { wish: &wish, have, mask, who, delivery };
                self.shared.fanout.enter(id, &self.outbox, sub, terms)
            }
            SubscriptionTarget::Fleet { rows, seen } => {
                Ok(self.shared.fanout.fleet.enter(&self.outbox, sub, *rows, seen.clone()))
            }
        };
        self.shared.fanout.leave(&old);
        match new {
            Ok(new) => {
                begin(&mut self.behind, Arc::clone(&new));
                self.subscriptions.push(new);
            }
            Err(error) => self.refuse(Some(sub), error.code(), error.to_string()),
        }
    }
}
