//! A link between two hubs without a socket: at one end what is followed is real, at the other the subscriptions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hub::{Delivery, Outbox, Subscription, SubscriptionTarget, SubscriptionTerms, Transport, wire};
use model::code::ErrorCode;
use model::frame::{ClientFrame, ServerFrame, SubscriptionId, SubscriptionOptions};
use model::{ConversationId, Position};
use tokio::sync::oneshot;

use super::machine::HubRig;
use super::speaker::FrameBetweenHubs;
use crate::peers::{FollowChange, Follows};
use crate::simulation::network::{Fate, MadeUp};
use crate::ws::Feed;

/// Bytes that it holds which were not read yet.
const ROOM: usize = 16 << 10;

/// The link from one hub to another. It ends with either of them.
#[derive(Debug)]
pub(super) struct Link {
    /// The lives of the two hubs.
    pub(super) lives: (i64, i64),
    /// The number of the link among all links of the world.
    pub(super) number: u64,
    /// The conversations that are followed over the link.
    pub(super) follows: Follows,
    /// Frames on their way to the other hub.
    frames: VecDeque<ClientFrame>,
    /// Publications on their way to the other hub.
    pub(super) passed: VecDeque<FrameBetweenHubs>,
    line: Arc<MadeUp>,
    outbox: Arc<Outbox>,
    subscriptions: BTreeMap<SubscriptionId, Arc<Subscription>>,
    feed: Feed,
}

impl Link {
    /// A link between these lives, of the hub `from`.
    pub(super) fn new(number: u64, lives: (i64, i64), from: &HubRig) -> Self {
        let line = Arc::new(MadeUp::new(ROOM));
        let end: Arc<dyn Transport> = Arc::<MadeUp>::clone(&line);
        Self {
            lives,
            number,
            follows: Follows::new(&from.hub),
            frames: VecDeque::new(),
            passed: VecDeque::new(),
            outbox: from.run(|_| Arc::new(Outbox::new(end))),
            line,
            subscriptions: BTreeMap::new(),
            feed: Feed::default(),
        }
    }

    /// Begins to follow a conversation, for a viewer at `have`. True if it is in memory already, with the events after that if the other hub
    /// gives them.
    pub(super) fn follow(&mut self, id: &ConversationId, have: Option<Position>) -> bool {
        let (done, mut answer) = oneshot::channel();
        self.frames.extend(self.follows.begin(id.clone(), have, done));
        answer.try_recv().is_ok_and(|answer| answer.is_ok())
    }

    /// The end at the other hub, as its socket serves it.
    pub(super) fn serve(&mut self, to: &HubRig) {
        to.run(|to| {
            while let Some(frame) = self.frames.pop_front() {
                match frame {
                    ClientFrame::Sub { sub, conv, have, .. } => {
                        self.enter(to, sub, &conv, |feed, subscription| {
                            feed.start(subscription, have.as_ref());
                        });
                    }
                    ClientFrame::Unsub { sub } => {
                        if let Some(old) = self.subscriptions.remove(&sub) {
                            to.fanout.leave(&old);
                        }
                    }
                    ClientFrame::Resync { sub } => {
                        if let Some(old) = self.subscriptions.remove(&sub) {
                            let id = conversation(&old).clone();
                            self.enter(to, sub, &id, Feed::resync);
                            to.fanout.leave(&old);
                        }
                    }
                    _ => {}
                }
            }
            // What was replaced begins again, if this hub still has it; what it has given up ends.
            let is_over = |old: &Arc<Subscription>| match &old.place {
                SubscriptionTarget::Conversation(viewed, _) => {
                    viewed.conversation.is_over() || viewed.conversation.is_followed()
                }
                SubscriptionTarget::Fleet { .. } => false,
            };
            let over: Vec<_> =
                self.subscriptions.iter().filter(|(_, old)| is_over(old)).map(|(sub, _)| *sub).collect();
            for sub in over {
                if let Some(old) = self.subscriptions.remove(&sub) {
                    to.fanout.leave(&old);
                    let id = conversation(&old).clone();
                    self.enter(to, sub, &id, Feed::replaced);
                }
            }
            self.feed.go_on(&self.outbox, &to.fanout);
        });
    }

    /// Enters a conversation that the other hub has; else says that it does not.
    fn enter(
        &mut self,
        to: &HubRig,
        sub: SubscriptionId,
        id: &ConversationId,
        begin: impl FnOnce(&mut Feed, Arc<Subscription>),
    ) {
        let refuse = |message: String| {
            let code = ErrorCode::Elsewhere;
            let error = ServerFrame::Error { sub: Some(sub), id: None, code, message, expected: None };
            self.outbox.queue([wire::text(&error)]);
        };
        if to.hub.in_memory(id).is_some_and(|found| found.is_followed()) {
            return refuse(String::from("this hub does not have the conversation"));
        }
        let wish = SubscriptionOptions::default();
        let terms =
            SubscriptionTerms { wish: &wish, have: None, mask: None, who: None, delivery: Delivery::Single };
        match to.fanout.enter(id, &self.outbox, sub, terms) {
            Ok(subscription) => {
                begin(&mut self.feed, Arc::clone(&subscription));
                self.subscriptions.insert(sub, subscription);
            }
            Err(error) => refuse(error.to_string()),
        }
    }

    /// The end at the hub that follows: takes up to so many frames, and lets go of what nobody watches.
    pub(super) fn hear(&mut self, from: &mut HubRig, frames: usize) {
        let mut refused = Vec::new();
        from.run(|from| {
            for _ in 0..frames {
                let Some(frame) = self.line.read() else { break };
                match self.follows.take(frame) {
                    FollowChange::Nothing => {}
                    FollowChange::Changed(id) | FollowChange::Replaced(id) => from.fanout.deliver(&id),
                    FollowChange::Asks(frame) => self.frames.push_back(frame),
                    FollowChange::EarlierEnded(sub, next) => {
                        self.frames.push_back(ClientFrame::Unsub { sub });
                        self.frames.extend(next);
                    }
                    FollowChange::Torn(sub) => self.frames.push_back(ClientFrame::Resync { sub }),
                    FollowChange::Refused(conversation) => refused.push(conversation),
                }
            }
            for sub in self.follows.let_go() {
                self.frames.push_back(ClientFrame::Unsub { sub });
            }
        });
        from.recovering.extend(refused);
    }

    /// The hub that follows has lost it.
    pub(super) fn lose(mut self, from: Option<&mut HubRig>, to: Option<&HubRig>) {
        self.line.meet(Fate::Break);
        if let Some(from) = from {
            let left = from.run(|_| self.follows.lose("the link is lost"));
            from.recovering.extend(left);
        }
        if let Some(to) = to {
            to.run(|to| {
                for old in self.subscriptions.values() {
                    to.fanout.leave(old);
                }
            });
        }
    }
}

/// What a subscription is to.
fn conversation(of: &Subscription) -> &ConversationId {
    match &of.place {
        SubscriptionTarget::Conversation(viewed, _) => viewed.conversation.id(),
        SubscriptionTarget::Fleet { .. } => unreachable!("hubs do not watch lists of one another"),
    }
}
