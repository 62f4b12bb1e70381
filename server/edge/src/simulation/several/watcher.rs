//! A viewer that goes from hub to hub with what it has.

use std::sync::Arc;

use event_log::{Owner, Purpose};
use hub::{Outbox, Subscription, SubscriptionTarget, SubscriptionTerms, Transport};
use model::frame::{ServerFrame, SubscriptionOptions};
use model::tracker::{FrameOutcome, Tracker};
use model::{ConversationId, Epoch, Position, Seq, View, snapshot};

use super::machine::HubRig;
use crate::peers;
use crate::simulation::network::{Fate, MadeUp};
use crate::ws::Feed;

/// The number of its one subscription.
const SUB: u32 = 1;

/// A viewer, and its socket.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) conversation: ConversationId,
    tracker: Tracker,
    /// The machine that it goes to.
    pub(super) machine: usize,
    wire: Option<Wire>,
    /// Times that it came back with a position.
    pub(super) resumes: u64,
}

/// A socket, both ends of it.
#[derive(Debug)]
struct Wire {
    /// The life of the hub.
    life: i64,
    line: Arc<MadeUp>,
    outbox: Arc<Outbox>,
    feed: Feed,
    /// Nothing while it waits for the conversation to be in memory.
    subscription: Option<Arc<Subscription>>,
    /// Whether its conversation was replaced by one in another epoch.
    is_again: bool,
    /// Whether there is no more to wait for.
    is_prepared: bool,
}

/// What a socket waits for before it can begin.
pub(super) enum SocketWait {
    /// The socket waits for nothing.
    Nothing,
    /// The hub must follow its conversation at this address, with the events after this position.
    Follow(Arc<str>, Option<Position>),
}

impl Watcher {
    pub(super) fn new(conversation: ConversationId, machine: usize) -> Self {
        Self { conversation, tracker: Tracker::default(), machine, wire: None, resumes: 0 }
    }

    /// Comes to the hub on its machine, or comes back, unless it is there.
    pub(super) fn connect(&mut self, rig: &HubRig, room: usize) {
        if self.wire.is_some() {
            return;
        }
        let line = Arc::new(MadeUp::new(room));
        let end: Arc<dyn Transport> = Arc::<MadeUp>::clone(&line);
        let outbox = rig.run(|_| Arc::new(Outbox::new(end)));
        self.resumes += u64::from(self.tracker.position().is_some());
        let (life, feed) = (rig.log.life(), Feed::default());
        self.wire =
            Some(Wire { life, line, outbox, feed, subscription: None, is_again: false, is_prepared: false });
    }

    /// The hub's side of its socket goes on; what it waits for.
    pub(super) fn serve(&mut self, rig: &HubRig) -> SocketWait {
        let Some(wire) = self.wire.as_mut().filter(|wire| wire.life == rig.log.life()) else {
            return SocketWait::Nothing;
        };
        rig.run(|rig| {
            if let Some(old) = wire.subscription.take_if(|old| is_over(old)) {
                rig.fanout.leave(&old);
                wire.is_again = true;
            }
            if wire.subscription.is_none() {
                let have = self.tracker.position().filter(|_| !wire.is_again);
                let known = match rig.hub.in_memory(&self.conversation) {
                    Some(_) if wire.is_prepared => true,
                    _ => peers::is_prepared(&rig.hub, &self.conversation, have.as_ref()),
                };
                match peers::look_for_owner(&rig.hub, &self.conversation, Purpose::Make) {
                    _ if known => {}
                    Ok(Owner::Here) => {}
                    Ok(Owner::Elsewhere(address)) => return SocketWait::Follow(address, have),
                    Err(_) => return SocketWait::Nothing,
                }
                let wish = SubscriptionOptions::default();
                let delivery = hub::Delivery::Joined;
                let terms = SubscriptionTerms { wish: &wish, have: None, mask: None, who: None, delivery };
                let entered = rig.fanout.enter(&self.conversation, &wire.outbox, SUB, terms);
                let Ok(subscription) = entered else { return SocketWait::Nothing };
                if wire.is_again {
                    wire.feed.replaced(Arc::clone(&subscription));
                } else {
                    wire.feed.start(Arc::clone(&subscription), self.tracker.position().as_ref());
                }
                wire.subscription = Some(subscription);
            }
            wire.feed.go_on(&wire.outbox, &rig.fanout);
            SocketWait::Nothing
        })
    }

    /// What it waits for is there, as far as it can be had.
    pub(super) fn prepared(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.is_prepared = true;
        }
    }

    /// Reads so many frames, if they are there.
    pub(super) fn read(&mut self, frames: usize) {
        let Some(wire) = &self.wire else { return };
        for _ in 0..frames {
            let Some(mut frame) = wire.line.read() else { return };
            if let ServerFrame::Error { message, .. } = &frame {
                panic!("refused: {message}");
            }
            let outcome = self.tracker.take(&mut frame, &mut |_| {});
            let is_hole = matches!(outcome, FrameOutcome::Gap { .. });
            assert!(!is_hole, "a hole in {}: {outcome:?}", self.conversation);
        }
    }

    /// Ends the socket; the hub notices, if it lives.
    pub(super) fn cut(&mut self, rig: Option<&HubRig>) {
        let Some(wire) = self.wire.take() else { return };
        wire.line.meet(Fate::Break);
        self.tracker.disconnected();
        if let (Some(rig), Some(subscription)) = (rig, wire.subscription)
            && rig.log.life() == wire.life
        {
            rig.run(|rig| rig.fanout.leave(&subscription));
        }
    }

    /// Whether it is connected with a life of a hub that is not this one.
    pub(super) fn is_orphan(&self, life: Option<i64>) -> bool {
        self.wire.as_ref().is_some_and(|wire| Some(wire.life) != life)
    }

    /// Asserts that the viewer sees what the hub has, to the last byte.
    pub(super) fn must_see(&self, hub: &View) {
        assert_eq!(
            snapshot::hash(self.tracker.view()),
            snapshot::hash(hub),
            "a viewer of {}",
            self.conversation
        );
    }

    /// The machine that it goes to, and its position.
    pub(super) fn stands(&self) -> (usize, Option<Position>) {
        (self.machine, self.tracker.position())
    }

    /// Whether it is there.
    pub(super) fn stands_at(&self, epoch: &Epoch, seq: Seq) -> bool {
        self.tracker.position().is_none_or(|it| it.epoch == *epoch) && self.tracker.view().seq == seq
    }
}

/// Whether another object has taken the place of what it is to.
fn is_over(subscription: &Subscription) -> bool {
    match &subscription.place {
        SubscriptionTarget::Conversation(viewed, _) => viewed.conversation.is_over(),
        SubscriptionTarget::Fleet { .. } => false,
    }
}
