//! The sink into another hub: each conversation goes on there under the same name, each event once.
//!
//! The events of a conversation are numbered in their order, so the other hub itself keeps the position:
//! asked for a number that is far too high, it answers with the number that it expects. It is asked after
//! each new connection, because the other hub may be a different one by then.
//!
//! Events that came in from a hub sink do not go out through another, so two hubs may follow each other. They
//! have no number; the number of an event is one more than the number of events before it that go out.
//!
//! ```text
//! here:   seq      1   2   3(from a sink)   4   5
//! there:  number   1   2                    3   4        pub { pid: "hub-sink:…", pfirst: 3, pseq: 4 }
//! ```
//!
//! The other hub takes each number once (I10), so a frame that is sent twice does no harm.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use event_log::LogError;
use indexmap::{IndexMap, IndexSet};
use model::code::ErrorCode;
use model::frame::Pub;
use model::limits::INBOUND_FRAME_BYTES_MAX;
use model::weigh::weigh;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq};

use super::Source;
use client::{HttpPublisher, HubAddress, PublishError, SessionError, SessionUpdate, ViewerSession};
use hub::Conversation;

/// The beginning of the names of publishers that are sinks of other hubs.
const PUBLISHER_PREFIX: &str = "hub-sink:";

/// A number that no conversation reaches, because it is above the largest that is taken from outside.
const BEYOND: u64 = 1 << 53;

/// The pause before the next attempt if the other hub did not take something but is still connected.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause before the next attempt for a conversation that could not go on.
const LATER: Duration = Duration::from_secs(30);

/// Most conversations whose position is remembered; for others the other hub is asked again.
const PLACES_MAX: usize = 100_000;

/// The weight of events in one frame, in bytes. More than twice as much is sent as the body of an HTTP
/// request.
const FRAME_BYTES_TARGET: usize = INBOUND_FRAME_BYTES_MAX / 4;

/// The position of the other hub in a conversation.
#[derive(Debug, Clone)]
struct HubPosition {
    /// The epoch of the conversation here when the position was found. In another epoch it may have another
    /// history.
    epoch: Epoch,
    /// The publisher under which it is sent; another history of the same conversation has another publisher.
    publisher: PublisherId,
    /// The last event that the other hub has, or that does not go out.
    seq: Seq,
    /// The number of events that the other hub has.
    count: u64,
    /// Whether it was confirmed on the present connection.
    is_sure: bool,
}

/// Why a conversation does not go on for now.
#[derive(Debug)]
enum Stop {
    /// The connection is lost or the other hub is draining. It goes on later, from the position that the
    /// other hub then has.
    Lost,
    /// The conversation cannot go on, for this reason.
    Skip(String),
    /// The other hub does not want this one to come back.
    Ended(SessionError),
}

impl From<SessionError> for Stop {
    fn from(error: SessionError) -> Self {
        Self::Ended(error)
    }
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self::Skip(error.to_string())
    }
}

/// The answer of the other hub to a frame.
enum Answer {
    /// The hub took the events, or had taken them before.
    Taken,
    /// The hub expects this number instead.
    Expected(u64),
}

/// The state of the sink. Owned by its task.
struct HubSink {
    /// What is passed on.
    source: Source,
    /// The connection to the other hub, which connects again by itself.
    session: ViewerSession,
    /// For frames that are too large for a socket.
    http: HttpPublisher,
    /// The address of the other hub.
    address: HubAddress,
    /// Positions, the least recently added first.
    places: IndexMap<ConversationId, HubPosition>,
    /// Conversations that may have something to send.
    due: IndexSet<ConversationId>,
    /// Conversations that could not go on and are tried later.
    later: IndexSet<ConversationId>,
    /// Whether the other hub is connected.
    connected: bool,
    /// The id of the next frame.
    next_id: u64,
}

/// Publishes events as they come, until the hub drains or the other hub does not want this one back, such as
/// for a token that it does not know. Begins with all conversations that fit the pattern.
pub(super) async fn run(source: Source, address: HubAddress) {
    let drain = source.drain.clone();
    let due = source.all();
    let mut sink = HubSink {
        session: ViewerSession::new(address.clone()),
        http: HttpPublisher::new(address.clone()),
        source,
        address,
        places: IndexMap::new(),
        due,
        later: IndexSet::new(),
        connected: false,
        next_id: 1,
    };
    // A frame in flight was not acknowledged; after a restart this hub sends it again.
    tokio::select! {
        ended = sink.follow() => {
            if let Err(error) = ended {
                tracing::error!(url = %sink.address, %error, "a sink has ended");
            }
        }
        () = drain.cancelled() => {}
    }
}

impl HubSink {
    /// Sends one step of one conversation after another, and waits when there is nothing to send. Fails when
    /// the other hub does not want this one back.
    async fn follow(&mut self) -> Result<(), SessionError> {
        loop {
            if self.connected
                && let Some(id) = self.due.first().cloned()
            {
                match self.one(&id).await {
                    Ok(is_done) => {
                        // The other conversations get their turn first.
                        self.due.shift_remove(&id);
                        if !is_done {
                            self.due.insert(id);
                        }
                    }
                    Err(Stop::Lost) if self.connected => tokio::time::sleep(PAUSE).await,
                    Err(Stop::Lost) => {}
                    Err(Stop::Ended(error)) => return Err(error),
                    Err(Stop::Skip(why)) => {
                        tracing::warn!(conversation = %id, url = %self.address, why, "a sink leaves a conversation out");
                        self.due.shift_remove(&id);
                        self.later.insert(id);
                    }
                }
                self.due.extend(self.source.moved());
                continue;
            }
            // All three may be cancelled: they only wait.
            tokio::select! {
                update = self.session.next() => self.hear(&update?),
                () = self.source.follower.changed() => self.due.extend(self.source.moved()),
                () = tokio::time::sleep(LATER), if !self.later.is_empty() => self.due.append(&mut self.later),
            }
        }
    }

    /// Takes an update of the connection.
    fn hear(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::Connected(_) => {
                self.connected = true;
                for (id, place) in &mut self.places {
                    place.is_sure = false;
                    self.due.insert(id.clone());
                }
                self.due.append(&mut self.later);
            }
            SessionUpdate::Lost { why, .. } => {
                tracing::info!(url = %self.address, why, "the hub of a sink is not there");
                self.connected = false;
            }
            _ => {}
        }
    }

    /// Sends the next events of a conversation. True when nothing is left.
    async fn one(&mut self, id: &ConversationId) -> Result<bool, Stop> {
        let Some(conversation) = self.source.find(id) else { return Ok(true) };
        let place = match self.places.get(id) {
            Some(place) if place.is_sure && place.epoch == *conversation.epoch() => place.clone(),
            known => {
                let known = known.cloned();
                self.locate(&conversation, known).await?
            }
        };
        let envelopes = match self.source.read(&conversation, place.seq).await {
            Err(LogError::Gone { begins_after }) => {
                let url = &self.address;
                tracing::warn!(conversation = %id, %url, "a sink was too slow for the log, events are missing");
                self.remember(id, HubPosition { seq: begins_after, ..place });
                return Ok(false);
            }
            read => read?,
        };
        let (seq, events) = frame(&envelopes, place.seq, |it| self.source.whole(&conversation, it));
        let count = place.count.saturating_add(events.len() as u64);
        if !events.is_empty()
            && let Answer::Expected(_) = self.send(id, &place, events).await?
        {
            // It has forgotten its position, or somebody else publishes under this name: it is asked again.
            self.places.shift_remove(id);
            return Ok(false);
        }
        self.remember(id, HubPosition { seq, count, ..place });
        Ok(seq >= conversation.head())
    }

    /// Remembers a position, in the place of the oldest one beyond the limit.
    fn remember(&mut self, id: &ConversationId, place: HubPosition) {
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(id) {
            self.places.shift_remove_index(0);
        }
        self.places.insert(id.clone(), place);
    }

    /// Asks the other hub for its position and finds that position here, by counting the events that go out.
    /// It is not searched for if it is the `known` one. A conversation of which the other hub has more than
    /// this one is left out.
    async fn locate(
        &mut self,
        conversation: &Conversation,
        known: Option<HubPosition>,
    ) -> Result<HubPosition, Stop> {
        let publisher = self.name(conversation).await?;
        let epoch = conversation.epoch().clone();
        let mut place = HubPosition { epoch, publisher, seq: 0, count: 0, is_sure: true };
        let beyond = HubPosition { count: BEYOND, ..place.clone() };
        let has = match self.send(conversation.id(), &beyond, Vec::new()).await? {
            Answer::Expected(expected) => expected.saturating_sub(1),
            Answer::Taken => BEYOND,
        };
        if let Some(known) = known.filter(|known| known.count == has && known.publisher == place.publisher) {
            return Ok(HubPosition { is_sure: true, epoch: place.epoch, ..known });
        }
        while place.count < has {
            let envelopes = match self.source.read(conversation, place.seq).await {
                // Events that this hub no longer has count as sent, as far as can be known.
                Err(LogError::Gone { begins_after }) => {
                    (place.seq, place.count) = (begins_after, begins_after.min(has));
                    continue;
                }
                read => read?,
            };
            if envelopes.is_empty() {
                return Err(Stop::Skip(String::from("the other hub has more of it than this one")));
            }
            for envelope in envelopes {
                if place.count < has {
                    place.seq = envelope.seq;
                    place.count = place.count.saturating_add(u64::from(goes_out(&envelope)));
                }
            }
        }
        Ok(place)
    }

    /// The name of the publisher for this history of the conversation, made from its first event if that is
    /// still there. A hub that has forgotten a conversation begins another history under the same name.
    async fn name(&self, conversation: &Conversation) -> Result<PublisherId, LogError> {
        let first = match self.source.read(conversation, 0).await {
            Ok(envelopes) => envelopes.first().map(Arc::clone),
            Err(LogError::Gone { .. }) => None,
            Err(error) => return Err(error),
        };
        let history = match first {
            Some(first) => format!("{}-{}", first.at, first.event.run),
            None => conversation.epoch().as_str().to_owned(),
        };
        Ok(PublisherId::new(&format!("{PUBLISHER_PREFIX}{history}")))
    }

    /// Publishes the events after `place` and waits for the answer. Large frames go over HTTP, where a
    /// conflict gives no number, so [`Answer::Expected`] has 0 then.
    async fn send(
        &mut self,
        id: &ConversationId,
        place: &HubPosition,
        events: Vec<Envelope>,
    ) -> Result<Answer, Stop> {
        let (first, last) = (place.count.saturating_add(1), place.count.saturating_add(events.len() as u64));
        if events.iter().map(weigh).sum::<usize>() > 2 * FRAME_BYTES_TARGET {
            let claim = format!("{}/1/{first}-{last}", place.publisher);
            return match self.http.numbered(id, &events, &claim).await {
                Ok(_taken) => Ok(Answer::Taken),
                Err(PublishError::Refused { status: 409, .. }) => Ok(Answer::Expected(0)),
                Err(PublishError::Refused { message, .. }) => Err(Stop::Skip(message)),
                Err(_) => Err(Stop::Lost),
            };
        }
        let number = self.next_id;
        self.next_id = number.saturating_add(1);
        let frame = Pub {
            id: number,
            conv: id.clone(),
            pid: Some(place.publisher.clone()),
            pepoch: 1,
            pfirst: first,
            pseq: last,
            durability: None,
            events,
        };
        self.session.publish(frame).await;
        self.answer(number).await
    }

    /// Waits for the other hub's answer to the frame `number`. Fails with `Lost` if the connection is lost
    /// meanwhile or the other hub stops, with `Skip` if it refuses the events.
    async fn answer(&mut self, number: u64) -> Result<Answer, Stop> {
        loop {
            match self.session.next().await? {
                SessionUpdate::Ack(ack) if ack.id == number => return Ok(Answer::Taken),
                SessionUpdate::Refused { id: Some(id), code, message, expected, .. } if id == number => {
                    return match (code, expected) {
                        (ErrorCode::PublisherGap, Some(expected)) => Ok(Answer::Expected(expected)),
                        (ErrorCode::ShuttingDown | ErrorCode::Internal, _) => Err(Stop::Lost),
                        _ => Err(Stop::Skip(format!("{code}: {message}"))),
                    };
                }
                update => {
                    self.hear(&update);
                    if matches!(update, SessionUpdate::Connected(_) | SessionUpdate::Lost { .. }) {
                        return Err(Stop::Lost);
                    }
                }
            }
        }
    }
}

/// The events of `envelopes` that go out in one frame, and the last seq that the frame covers.
fn frame<'a>(
    envelopes: &'a [Arc<Envelope>],
    after: Seq,
    whole: impl Fn(&'a Envelope) -> Cow<'a, Envelope>,
) -> (Seq, Vec<Envelope>) {
    let (mut seq, mut weight, mut events) = (after, 0, Vec::new());
    for envelope in envelopes {
        if goes_out(envelope) {
            let envelope = whole(envelope);
            weight += weigh(&envelope);
            if weight > FRAME_BYTES_TARGET && !events.is_empty() {
                break;
            }
            events.push(Envelope { seq: 0, ..envelope.into_owned() });
        }
        seq = envelope.seq;
    }
    (seq, events)
}

/// Whether an event goes out: it did not come in from a hub sink, and the other hub believes it. What people made of a conversation
/// here is not theirs there, its forks are other conversations, and of runs that nobody attends it judges itself.
fn goes_out(envelope: &Envelope) -> bool {
    let publisher = envelope.publisher.as_ref();
    !envelope.event.kind.is_of_hub()
        && publisher.is_none_or(|publisher| !publisher.as_str().starts_with(PUBLISHER_PREFIX))
}
