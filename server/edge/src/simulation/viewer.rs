//! A viewer: the tracker of the page and of the command line, behind a made-up socket.

use std::sync::Arc;

use model::frame::{ServerFrame, SubscriptionOptions};
use model::tracker::{FrameOutcome, Tracker};
use model::{ConversationId, Epoch, Seq, View, snapshot};

use super::network::{Fate, MadeUp};
use super::world::Rig;
use crate::ws::Feed;
use hub::{Outbox, Subscription, Transport};

/// The number of its one subscription.
const SUB: u32 = 1;

/// A simulated viewer. It survives every death of the hub, since the simulation owns it.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) conversation: ConversationId,
    tracker: Tracker,
    pub(super) wire: Option<Wire>,
    /// Sockets that are no more, and of which the hub does not know that yet.
    lost: Vec<Wire>,
    pub(super) resumes: u64,
}

/// A socket, both ends of it.
#[derive(Debug)]
pub(super) struct Wire {
    line: Arc<MadeUp>,
    outbox: Arc<Outbox>,
    subscription: Arc<Subscription>,
    feed: Feed,
}

impl Viewer {
    pub(super) fn new(conversation: ConversationId) -> Self {
        Self { conversation, tracker: Tracker::default(), wire: None, lost: Vec::new(), resumes: 0 }
    }

    /// Comes, or comes back with what it has.
    pub(super) fn connect(&mut self, rig: &Rig, room: usize) {
        let line = Arc::new(MadeUp::new(room));
        let end: Arc<dyn Transport> = Arc::<MadeUp>::clone(&line);
        let outbox = Arc::new(Outbox::new(end));
        let subscription = rig
            .fanout
            .enter(
                &self.conversation,
                &outbox,
                SUB,
                hub::SubscriptionTerms {
                    wish: &SubscriptionOptions::default(),
                    have: None,
                    mask: None,
                    who: None,
                    delivery: hub::Delivery::Joined,
                },
            )
            .unwrap();
        let have = self.tracker.position();
        self.resumes += u64::from(have.is_some());
        let mut feed = Feed::default();
        feed.start(Arc::clone(&subscription), have.as_ref());
        self.wire = Some(Wire { line, outbox, subscription, feed });
    }

    /// The hub's side of its sockets goes on.
    pub(super) fn serve(&mut self, rig: &Rig) {
        if let Some(wire) = &mut self.wire {
            wire.feed.go_on(&wire.outbox, &rig.fanout);
        }
        for wire in &mut self.lost {
            wire.feed.go_on(&wire.outbox, &rig.fanout);
        }
        self.lost.retain(|wire| {
            let over = wire.outbox.is_over();
            if over {
                rig.fanout.leave(&wire.subscription);
            }
            !over
        });
    }

    /// Reads so many frames, if they are there.
    pub(super) fn read(&mut self, frames: usize) -> bool {
        let Some(wire) = &self.wire else { return false };
        for _ in 0..frames {
            let Some(mut frame) = wire.line.read() else { return false };
            if let ServerFrame::Error { message, .. } = &frame {
                panic!("refused: {message}");
            }
            let outcome = self.tracker.take(&mut frame, &mut |_| {});
            assert!(
                !matches!(outcome, FrameOutcome::Gap { .. }),
                "a hole in {}: {outcome:?}",
                self.conversation
            );
        }
        true
    }

    /// Ends the connection: known to both sides, or to the viewer alone.
    pub(super) fn cut(&mut self, fate: Fate, rig: &Rig) {
        let Some(wire) = self.wire.take() else { return };
        wire.line.meet(fate);
        self.tracker.disconnected();
        if fate == Fate::Break {
            rig.fanout.leave(&wire.subscription);
        } else {
            self.lost.push(wire);
        }
    }

    /// The hub notices what was lost.
    pub(super) fn notice(&mut self, rig: &Rig) {
        for wire in self.lost.drain(..) {
            rig.fanout.leave(&wire.subscription);
        }
    }

    /// The hub is no more, and with it all sockets.
    pub(super) fn orphan(&mut self) {
        self.wire = None;
        self.lost.clear();
        self.tracker.disconnected();
    }

    /// Asserts that the viewer sees what the hub has, to the last byte.
    pub(super) fn must_see(&self, hub: &View, id: &ConversationId) {
        let told = |view: &View| serde_json::to_string_pretty(view).unwrap();
        compare(&told(self.tracker.view()), &told(hub), id);
        assert_eq!(snapshot::hash(self.tracker.view()), snapshot::hash(hub), "a viewer of {id}");
    }

    /// Whether it is there.
    pub(super) fn stands_at(&self, epoch: &Epoch, seq: Seq) -> bool {
        self.tracker.position().is_none_or(|it| it.epoch == *epoch) && self.tracker.view().seq == seq
    }
}

/// Names the first line that differs.
fn compare(left: &str, right: &str, id: &ConversationId) {
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "a viewer of {id}, line {number} of the state");
    }
}
