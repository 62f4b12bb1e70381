//! The sink into another hub: each conversation goes on there under the same name, each event once.
//!
//! The events of a conversation are numbered in their order, so the other hub itself keeps the place: asked for a number
//! that is far too high, it answers with the one that it expects. That is asked whenever the connection is new, since the
//! other hub may be another one by then.
//!
//! What came in from a hub sink does not go out by one: two hubs may follow each other. It has no number here; so the number
//! of an event is how many of those before it go out.

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

/// How the names of publishers begin that are sinks of other hubs.
const PUBLISHER_PREFIX: &str = "hub-sink:";

/// A number that no conversation reaches.
const BEYOND: u64 = 1 << 53;

/// Before another try when the other hub is there and did not take something.
const PAUSE: Duration = Duration::from_secs(1);

/// The same for a conversation that could not go on.
const LATER: Duration = Duration::from_secs(30);

/// Most conversations whose place is remembered; of others the other hub is asked again.
const PLACES_MAX: usize = 100_000;

/// Most bytes of events in one frame, by weight; what is heavier goes as the body of a request.
const FRAME_BYTES_TARGET: usize = INBOUND_FRAME_BYTES_MAX / 4;

/// Where the other hub stands in a conversation.
#[derive(Debug, Clone)]
struct HubPosition {
    /// The epoch of the conversation here when that was found out. In another one it may have another history.
    epoch: Epoch,
    /// The name under which it is published; another history of the same conversation has another.
    publisher: PublisherId,
    /// The last event that it has, or that does not go out.
    seq: Seq,
    /// How many events it has.
    count: u64,
    /// Whether it was asked on this connection.
    is_sure: bool,
}

/// Why nothing goes on for now.
#[derive(Debug)]
enum Stop {
    /// The connection is gone, or the hub drains: later, from where the other hub stands then.
    Lost,
    /// This conversation cannot go on.
    Skip(String),
    /// The other hub does not want this one back.
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

/// What the other hub said to a frame.
enum Answer {
    Taken,
    Expected(u64),
}

/// Sends conversations to another hub. Owned by the task of the sink.
struct HubSink {
    source: Source,
    session: ViewerSession,
    http: HttpPublisher,
    address: HubAddress,
    places: IndexMap<ConversationId, HubPosition>,
    due: IndexSet<ConversationId>,
    /// Those that could not go on.
    later: IndexSet<ConversationId>,
    connected: bool,
    next_id: u64,
}

/// Publishes what moves, until the hub drains or the other one does not want it back.
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
    // What is in flight then was not acked, and is sent again by the next life of this hub.
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
    async fn follow(&mut self) -> Result<(), SessionError> {
        loop {
            if self.connected
                && let Some(id) = self.due.first().cloned()
            {
                match self.one(&id).await {
                    Ok(is_done) => {
                        // The others get their turn.
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
            // All may be given up: they wait.
            tokio::select! {
                update = self.session.next() => self.hear(&update?),
                () = self.source.follower.moved() => self.due.extend(self.source.moved()),
                () = tokio::time::sleep(LATER), if !self.later.is_empty() => self.due.append(&mut self.later),
            }
        }
    }

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

    /// One step of a conversation. True when nothing is left of it.
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
            // It has forgotten, or somebody else speaks under this name: ask again.
            self.places.shift_remove(id);
            return Ok(false);
        }
        self.remember(id, HubPosition { seq, count, ..place });
        Ok(seq >= conversation.head())
    }

    fn remember(&mut self, id: &ConversationId, place: HubPosition) {
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(id) {
            self.places.shift_remove_index(0);
        }
        self.places.insert(id.clone(), place);
    }

    /// Asks the other hub where it stands, and finds that place here, unless it is the `known` one.
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
                // What is gone went out, as far as can be known.
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

    /// The publisher's name for this history of the conversation: of its first event, when that is still there. A hub that
    /// forgot begins another history under the same name of the conversation.
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

    /// Publishes the events behind `place`, and waits for what the other hub says.
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

    /// What the other hub says to the frame `number`.
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

/// What of `envelopes` goes out in one frame, and the last seq that is covered by it.
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

/// Whether it did not come in from a hub sink.
fn goes_out(envelope: &Envelope) -> bool {
    let publisher = envelope.publisher.as_ref();
    publisher.is_none_or(|publisher| !publisher.as_str().starts_with(PUBLISHER_PREFIX))
}
