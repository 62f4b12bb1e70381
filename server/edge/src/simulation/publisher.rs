//! A publisher that numbers what it says and says it again until it is stored.

use std::sync::Arc;

use event_log::{Progress, Ticket, settled};
use model::event::{Kind, PartEnd, PartKind};
use model::frame::Durability;
use model::{ConversationId, Envelope, Event, PartId, PublisherId, RunId};

use hub::{AppendError, FrameNumbering, Numbers, Publication, PublishError};

/// Events of which each text consists, with its start and its end.
const TEXT: u64 = 10;

/// A simulated publisher. It survives every death of the hub, since the simulation owns it.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) id: PublisherId,
    pub(super) conversation: ConversationId,
    pub(super) level: Durability,
    run: RunId,
    /// The number of the last event that it has made up.
    pub(super) made: u64,
    /// The number of the last event that left since the connection stands.
    pub(super) sent: u64,
    /// The number of the last event of which it was told that it is kept.
    pub(super) acked: u64,
    /// What it was not told yet.
    owed: Vec<(Ticket, u64)>,
}

impl Publisher {
    pub(super) fn new(number: usize, conversation: ConversationId, level: Durability) -> Self {
        let name = format!("p{number}");
        Self {
            id: PublisherId::new(&name),
            conversation,
            level,
            run: RunId::new(&name),
            made: 0,
            sent: 0,
            acked: 0,
            owed: Vec::new(),
        }
    }

    /// The event with this number, as it is made up whenever it is asked for.
    fn event(&self, number: u64) -> Event {
        let part = PartId::new(&format!("{}-{}", self.id, number / TEXT));
        let kind = match number % TEXT {
            1 => Kind::PartStart { part, kind: PartKind::Text },
            9 => Kind::PartEnd(PartEnd {
                part,
                len: None,
                hash: None,
                duration_ms: None,
                hidden: false,
                signature: None,
            }),
            0 => Kind::Status { text: number.to_string() },
            _ => Kind::PartDelta { part, off: None, text: format!("{number} ").into() },
        };
        Event::new(&self.run, kind)
    }

    /// Whether `event` is the one with this number.
    fn said(&self, number: u64, event: &Event) -> bool {
        let said = self.event(number);
        let same = match (&said.kind, &event.kind) {
            (Kind::Status { text }, Kind::Status { text: found }) => text == found,
            (Kind::PartDelta { part, text, .. }, Kind::PartDelta { part: of, text: found, .. }) => {
                part == of && text == found
            }
            (Kind::PartStart { part, .. }, Kind::PartStart { part: of, .. }) => part == of,
            (Kind::PartEnd(end), Kind::PartEnd(of)) => end.part == of.part,
            _ => false,
        };
        same && said.run == event.run
    }

    /// Fails unless `envelopes`, all that the log has of the conversation, have everything of this publisher, once and in order.
    pub(super) fn is_there_once_and_in_order(&self, envelopes: &[Arc<Envelope>]) {
        let said = envelopes.iter().filter(|said| said.publisher.as_ref() == Some(&self.id));
        let mut count = 0;
        for (said, number) in said.zip(1..) {
            assert!(self.said(number, &said.event), "{}: {number} is {said:?}", self.id);
            count = number;
        }
        assert_eq!(count, self.made, "{} in {}", self.id, self.conversation);
    }

    /// The next frame: what was not sent yet, and now and then something again.
    pub(super) fn frame(&mut self, back: u64, count: u64) -> Option<(u64, Publication)> {
        let first = (self.sent + 1).saturating_sub(back).max(self.acked + 1);
        let last = (self.sent + count).min(self.made);
        if last < first {
            return None;
        }
        let events = (first..=last).map(|number| Envelope {
            event: self.event(number),
            seq: 0,
            at: 0,
            producer_at: None,
            publisher: None,
            by_hub: false,
        });
        let numbering =
            FrameNumbering { publisher: self.id.clone(), epoch: 1, numbers: Numbers::of(first, last) };
        let said = Publication::of(events.collect());
        Some((last, Publication { numbering: Some(numbering), level: self.level, ..said }))
    }

    /// The frame up to `last` went out, and came to this.
    pub(super) fn went(&mut self, last: u64, outcome: Result<Ticket, PublishError>) {
        match outcome {
            Ok(ticket) => {
                self.sent = self.sent.max(last);
                self.owed.push((ticket, last));
            }
            Err(PublishError::Append(AppendError::Gap { expected })) => {
                assert!(
                    expected > self.acked,
                    "{}: {} was acked, {expected} is expected",
                    self.id,
                    self.acked
                );
                self.sent = expected - 1;
            }
            Err(error) => panic!("{}: {error}", self.id),
        }
    }

    /// Hears what is settled.
    pub(super) fn hear(&mut self, progress: &Progress) {
        let (level, acked) = (self.level, &mut self.acked);
        let mut failed = false;
        self.owed.retain(|(ticket, last)| match settled(progress, *ticket, level) {
            None => true,
            Some(Ok(())) => {
                *acked = (*acked).max(*last);
                false
            }
            Some(Err(_)) => {
                failed = true;
                false
            }
        });
        self.sent = if failed { self.acked } else { self.sent.max(self.acked) };
    }

    /// The connection broke: what was not acked is said again.
    pub(super) fn cut(&mut self) {
        self.owed.clear();
        self.sent = self.acked;
    }

    /// Makes up so many events more.
    pub(super) fn make(&mut self, count: u64) {
        self.made += count;
    }
}
