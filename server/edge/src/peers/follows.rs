//! What one link follows: which conversations, how far they are, and what the frames of their owner do to them.
//!
//! ```text
//! begin ─▶ sub ─▶ subbed, snap …, batch … ─▶ live: whoever waits is told
//!                   │ a new epoch: Replaced    │ a batch that does not follow: Torn, the state is asked for
//!                   └─▶ error: Refused
//! ```
//!
//! The conversation in memory has the owner's seqs and state, so viewers of this hub see what those of the
//! owner see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hub::{Conversation, Hub};
use model::frame::{ClientFrame, ServerFrame, SubMode, SubscriptionId, SubscriptionOptions};
use model::{ConversationId, Envelope, Epoch, Position, Seq, View, snapshot};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::earlier::{EarlierEvents, EarlierStatus};

/// How long a conversation is followed that nobody watches any more: who reloads a page comes back within it.
const UNWATCHED: Duration = Duration::from_secs(30);

/// The answer for whoever waits until a conversation is in memory.
type Answer = oneshot::Sender<Result<(), String>>;

/// A conversation that is followed. Its subscription ends when it is removed.
#[derive(Debug)]
struct Follow {
    /// The name of the conversation.
    id: ConversationId,
    /// The conversation; nothing before the first state has come.
    conversation: Option<Arc<Conversation>>,
    /// The pieces of a state that came so far.
    pieces: Option<View>,
    /// Whether the other hub has sent everything up to the present.
    is_live: bool,
    /// Whoever waits until the conversation is in memory, with the events after the position if there is one.
    waiting: Vec<(Option<Position>, Answer)>,
    /// Events from before those that are here, while they come.
    earlier: Option<EarlierEvents>,
    /// The other hub does not give the events after this seq; nor, therefore, those after an earlier one.
    refused_after: Option<Seq>,
    /// Since when nobody has watched it; `None` while somebody does.
    unwatched_since: Option<Instant>,
}

/// What a frame of the other hub changed of what is followed.
#[derive(Debug)]
pub(crate) enum FollowChange {
    /// Nothing changed that is to be told.
    Nothing,
    /// There is more of a conversation.
    Changed(ConversationId),
    /// A conversation was replaced by another one, in another epoch.
    Replaced(ConversationId),
    /// Somebody waits for what this frame asks for: earlier events, or the state of a conversation that has left memory meanwhile.
    Asks(ClientFrame),
    /// No more earlier events are needed of this subscription, which ends; the frame is as in `Asks`.
    EarlierEnded(SubscriptionId, Option<ClientFrame>),
    /// Events do not follow what is known: the state must be asked for.
    Torn(SubscriptionId),
    /// The other hub does not have it any more.
    Refused(Arc<Conversation>),
}

/// The conversations of one link, by the number of their subscription. Owned by the link's task.
#[derive(Debug)]
pub(crate) struct Follows {
    hub: Arc<Hub>,
    by_sub: BTreeMap<SubscriptionId, Follow>,
    /// The number of the next subscription.
    next: SubscriptionId,
}

impl Follows {
    /// Follows nothing yet, for the conversations of `hub`.
    pub(crate) fn new(hub: &Arc<Hub>) -> Self {
        Self { hub: Arc::clone(hub), by_sub: BTreeMap::new(), next: 1 }
    }

    /// Whether nothing is followed.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_sub.is_empty()
    }

    /// A conversation that is followed, if any is.
    pub(crate) fn any(&self) -> Option<&ConversationId> {
        self.by_sub.values().next().map(|follow| &follow.id)
    }

    /// Begins to follow a conversation for `done`, which needs the events after `viewer_has` if the other hub gives them; what is to be sent for
    /// it.
    pub(crate) fn begin(
        &mut self,
        id: ConversationId,
        viewer_has: Option<Position>,
        done: Answer,
    ) -> Option<ClientFrame> {
        if let Some((sub, known)) = self.by_sub.iter_mut().find(|(_, follow)| follow.id == id) {
            known.unwatched_since = None;
            known.waiting.push((viewer_has, done));
            return known.answer(*sub, &self.hub, &mut self.next);
        }
        let conversation = self.hub.in_memory(&id).filter(|found| found.is_followed());
        let have =
            conversation.as_ref().map(|found| Position { epoch: found.epoch().clone(), seq: found.head() });
        let sub = taken(&mut self.next);
        let follow = Follow {
            id: id.clone(),
            conversation,
            pieces: None,
            is_live: false,
            waiting: vec![(viewer_has, done)],
            earlier: None,
            refused_after: None,
            unwatched_since: None,
        };
        self.by_sub.insert(sub, follow);
        Some(ClientFrame::Sub { sub, conv: id, have, wish: SubscriptionOptions::default() })
    }

    /// How far each is, for the answer to a heartbeat.
    pub(crate) fn positions(&self) -> BTreeMap<SubscriptionId, Seq> {
        let head = |follow: &Follow| follow.conversation.as_ref().map_or(0, |found| found.head());
        self.by_sub.iter().map(|(sub, follow)| (*sub, head(follow))).collect()
    }

    /// Takes a frame of the other hub.
    pub(crate) fn take(&mut self, frame: ServerFrame) -> FollowChange {
        if let Some(sub) = sub_of(&frame).filter(|sub| !self.by_sub.contains_key(sub)) {
            let brings = |follow: &Follow| follow.earlier.as_ref().is_some_and(|it| it.sub == sub);
            return match self.by_sub.iter_mut().find(|(_, follow)| brings(follow)) {
                Some((of, follow)) => follow.take_earlier((*of, frame), &self.hub, &mut self.next),
                None => FollowChange::Nothing,
            };
        }
        match frame {
            ServerFrame::Subbed { sub, mode: SubMode::Snapshot, .. } => {
                if let Some(follow) = self.by_sub.get_mut(&sub) {
                    follow.pieces = None;
                }
                FollowChange::Nothing
            }
            ServerFrame::Snap { sub, more: true, state, .. } => {
                if let Some(follow) = self.by_sub.get_mut(&sub) {
                    follow.pieces = Some(follow.joined(*state));
                }
                FollowChange::Nothing
            }
            ServerFrame::Snap { sub, epoch, seq, state, .. } => self.snapshot(sub, (epoch, seq), *state),
            ServerFrame::Batch { sub, from, to, ev, .. } => self.batch(sub, (from, to), ev),
            ServerFrame::Live { sub, .. } => {
                let Some(follow) = self.by_sub.get_mut(&sub) else { return FollowChange::Nothing };
                follow.is_live = true;
                follow
                    .answer(sub, &self.hub, &mut self.next)
                    .map_or(FollowChange::Nothing, FollowChange::Asks)
            }
            ServerFrame::Error { sub: Some(sub), message, .. } => {
                let Some(mut follow) = self.by_sub.remove(&sub) else { return FollowChange::Nothing };
                follow.tell(&Err(message));
                follow.conversation.map_or(FollowChange::Nothing, FollowChange::Refused)
            }
            _ => FollowChange::Nothing,
        }
    }

    /// Takes the last piece of a state: it replaces what is known of the conversation, or makes it.
    fn snapshot(&mut self, sub: SubscriptionId, (epoch, seq): (Epoch, Seq), last: View) -> FollowChange {
        let Some(follow) = self.by_sub.get_mut(&sub) else { return FollowChange::Nothing };
        let mut view = follow.joined(last);
        view.seq = seq;
        let known = follow.conversation.as_ref().filter(|found| *found.epoch() == epoch && !found.is_over());
        if let Some(known) = known {
            self.hub.skip_followed(known, view);
            return FollowChange::Changed(follow.id.clone());
        }
        let had = follow.conversation.is_some();
        match self.hub.follow_conversation(Conversation::followed(follow.id.clone(), epoch, view)) {
            Ok(made) => {
                follow.conversation = Some(made);
                let id = follow.id.clone();
                if had { FollowChange::Replaced(id) } else { FollowChange::Changed(id) }
            }
            Err(error) => {
                follow.tell(&Err(error.to_string()));
                FollowChange::Nothing
            }
        }
    }

    /// Takes the events with these seqs, which must follow what is known.
    fn batch(&mut self, sub: SubscriptionId, seqs: (Seq, Seq), events: Vec<Envelope>) -> FollowChange {
        let Some(follow) = self.by_sub.get_mut(&sub) else { return FollowChange::Nothing };
        // What has become this hub's own the other hub follows, and sends back until it knows that it is asked for it no more.
        let followed = follow.conversation.as_ref().filter(|found| found.is_followed() || found.is_over());
        let Some(conversation) = followed else { return FollowChange::Nothing };
        match self.hub.take_followed(conversation, seqs, events) {
            Ok(()) => FollowChange::Changed(follow.id.clone()),
            Err(error) => {
                tracing::warn!(conversation = %follow.id, %error, "what another hub sends does not follow");
                FollowChange::Torn(sub)
            }
        }
    }

    /// Lets go of what nobody watches any more, and of what is this hub's by now; the subscriptions that end.
    pub(crate) fn let_go(&mut self) -> Vec<SubscriptionId> {
        let (hub, now) = (&self.hub, Instant::now());
        let ends = self.by_sub.iter_mut().filter_map(|(sub, follow)| {
            let conversation = follow.conversation.as_ref()?;
            if conversation.is_watched() || !follow.waiting.is_empty() {
                follow.unwatched_since = None;
                return None;
            }
            let since = *follow.unwatched_since.get_or_insert(now);
            let ends = now.duration_since(since) >= UNWATCHED && hub.unfollow(conversation);
            (ends || !conversation.is_followed() || conversation.is_over()).then_some(*sub)
        });
        let ends: Vec<_> = ends.collect();
        self.by_sub.retain(|sub, _| !ends.contains(sub));
        ends
    }

    /// The link is lost: what of it is in memory, for whoever goes on with it.
    pub(crate) fn lose(&mut self, why: &str) -> Vec<Arc<Conversation>> {
        let mut left = Vec::new();
        for (_, mut follow) in std::mem::take(&mut self.by_sub) {
            follow.tell(&Err(why.to_owned()));
            left.extend(follow.conversation);
        }
        left
    }
}

/// The number of the next subscription, which is taken.
fn taken(next: &mut SubscriptionId) -> SubscriptionId {
    let sub = *next;
    *next = sub.saturating_add(1);
    sub
}

/// The subscription that a frame is of.
fn sub_of(frame: &ServerFrame) -> Option<SubscriptionId> {
    match frame {
        ServerFrame::Subbed { sub, .. }
        | ServerFrame::Snap { sub, .. }
        | ServerFrame::Batch { sub, .. }
        | ServerFrame::Live { sub, .. } => Some(*sub),
        ServerFrame::Error { sub, .. } => *sub,
        _ => None,
    }
}

impl Follow {
    /// The pieces of a state so far, with one more.
    fn joined(&mut self, piece: View) -> View {
        match self.pieces.take() {
            Some(mut before) => {
                snapshot::join(&mut before, piece);
                before
            }
            None => piece,
        }
    }

    /// Sends the answer to all that wait for it.
    fn tell(&mut self, answer: &Result<(), String>) {
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            // Whoever asked may have gone.
            drop(waiting.send(answer.clone()));
        }
    }

    /// Once the conversation is in memory, tells whoever waits and needs no earlier events. For the others those are asked for, by the frame,
    /// unless they are coming already. If the conversation has left memory, its state is asked for again. `sub` is the subscription, `next` the
    /// number of the next one.
    fn answer(&mut self, sub: SubscriptionId, hub: &Hub, next: &mut SubscriptionId) -> Option<ClientFrame> {
        let conversation = self.conversation.as_ref().filter(|_| self.is_live)?;
        if hub.in_memory(&self.id).is_none() && !self.waiting.is_empty() {
            // Whoever went on with it after the loss of another link let go of it, since nobody watched it at that moment.
            (self.conversation, self.is_live) = (None, false);
            return Some(ClientFrame::Resync { sub });
        }
        let refused_after = self.refused_after;
        let lacks = |(have, _): &mut (Option<Position>, Answer)| {
            let after = have.as_ref().filter(|have| conversation.lacks(have)).map(|have| have.seq);
            after.is_some_and(|after| refused_after.is_none_or(|refused| after > refused))
        };
        let lacking: Vec<_> = self.waiting.extract_if(.., lacks).collect();
        let after = lacking.iter().filter_map(|(have, _)| have.clone()).min_by_key(|have| have.seq);
        self.tell(&Ok(()));
        self.waiting = lacking;
        let after = after.filter(|_| self.earlier.is_none())?;
        let sub = taken(next);
        self.earlier = Some(EarlierEvents::new(sub, after.clone()));
        Some(ClientFrame::Sub {
            sub,
            conv: self.id.clone(),
            have: Some(after),
            wish: SubscriptionOptions::default(),
        })
    }

    /// Takes a frame with earlier events.
    fn take_earlier(
        &mut self,
        (sub, frame): (SubscriptionId, ServerFrame),
        hub: &Hub,
        next: &mut SubscriptionId,
    ) -> FollowChange {
        let (Some(earlier), Some(conversation)) = (&mut self.earlier, &self.conversation) else {
            return FollowChange::Nothing;
        };
        if earlier.take(hub, conversation, frame) == EarlierStatus::Coming {
            return FollowChange::Nothing;
        }
        let ended = self.earlier.take();
        let Some(ended) = ended else { return FollowChange::Nothing };
        if conversation.begins_after() > ended.after() {
            self.refused_after = self.refused_after.max(Some(ended.after()));
        }
        FollowChange::EarlierEnded(ended.sub, self.answer(sub, hub, next))
    }
}
