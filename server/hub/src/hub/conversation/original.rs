//! The part of a conversation that is the copy of one turn of another one, its original, and goes on with it while that runs.
//!
//! ```text
//! imported: the turn up to a seq of the original ─▶ goes on: the rest, each event once ─▶ no run of it runs: nobody writes any more
//! ```
//!
//! How far the original was copied is kept as the progress of a publisher of the copy, so the log stores it together with the events. The name of that
//! publisher has the epoch of the original: in another epoch the same seq may be another event.

use std::sync::Arc;

use model::event::Kind;
use model::{ConversationId, Envelope, Epoch, Position, PublisherId, Seq};

use super::{Conversation, ConversationState};
use crate::hub::publication::{AppendError, EventOrigin, Publication, PublishError};
use crate::hub::publishers::{FrameNumbering, Numbers};
use crate::hub::{Hub, outsize};

/// How the name of the publisher of a copy begins whose progress is the seq of the original; the epoch of the original follows after a dot. Older versions
/// stored no epoch. Only events of the hub have it.
const ORIGINAL: &str = "fanlight.original";

/// Up to where the original of a copy was copied into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyMark {
    /// The seq of the last event that was copied.
    pub seq: Seq,
    /// The publisher of the copy that stands for the epoch.
    publisher: PublisherId,
}

impl CopyMark {
    /// Whether `seq` is one of another epoch of the original than this one. False where an older version stored no epoch.
    pub fn is_of_another(&self, epoch: &Epoch) -> bool {
        self.publisher.as_str() != ORIGINAL && self.publisher != publisher(epoch)
    }
}

/// The publisher of a copy that stands for this epoch of its original.
fn publisher(epoch: &Epoch) -> PublisherId {
    PublisherId::new(&format!("{ORIGINAL}.{epoch}"))
}

/// Whether a publisher of a copy stands for an epoch of its original.
fn is_original(publisher: &PublisherId) -> bool {
    publisher.as_str().strip_prefix(ORIGINAL).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What notes that events of `by` were copied; `None` if they are no copy.
pub(super) fn numbering(by: &EventOrigin) -> Option<FrameNumbering> {
    let EventOrigin::Original(Position { epoch, seq }) = by else { return None };
    Some(FrameNumbering { publisher: publisher(epoch), epoch: 0, numbers: Numbers::Frame(*seq) })
}

impl ConversationState {
    /// Takes the events out of a publication of an original, which has judged and completed them and gave them their times, adds them up to the end of the last run, and
    /// returns them for the log. Does nothing for other publications.
    pub(super) fn copy_on(&mut self, publication: &mut Publication) -> Vec<Arc<Envelope>> {
        let EventOrigin::Original(_) = publication.by else { return Vec::new() };
        let mut logged = Vec::with_capacity(publication.events.len());
        for mut envelope in std::mem::take(&mut publication.events) {
            self.clock = self.clock.max(std::mem::take(&mut envelope.at));
            let ends = matches!(envelope.event.kind, Kind::RunEnd(_));
            logged.extend(self.add(envelope, None));
            if ends && !self.view.is_running() {
                break;
            }
        }
        self.at = self.clock;
        logged
    }

    /// Whether a copy takes events of `by`: those of its original, as long as a run of it goes on.
    pub(super) fn goes_on_with(&self, by: &EventOrigin) -> bool {
        matches!(by, EventOrigin::Original(_)) && self.view.is_running()
    }
}

impl Conversation {
    /// Up to where its original was copied into it since it was made; `None` if nothing was.
    pub fn copied_up_to(&self) -> Option<CopyMark> {
        let newest = self.state.lock().publishers.newest(is_original);
        newest.map(|(publisher, seq)| CopyMark { seq, publisher })
    }

    /// Whether a run of it goes on.
    pub fn is_on(&self) -> bool {
        self.state.lock().view.is_running()
    }
}

impl Hub {
    /// Appends to the copy `id` what its original has of the turn up to the position `up_to`, with whole results, and says whether a run of the copy still goes on. Its
    /// viewers see the events once [`crate::fanout::Fanout::deliver`] is called. Fails with `Frozen` for a copy of which no run goes on, and with `Retired`
    /// for one that is not there.
    pub fn copy_on(
        &self,
        id: &ConversationId,
        mut events: Vec<Envelope>,
        up_to: Position,
    ) -> Result<bool, PublishError> {
        let attachments = events.iter_mut().flat_map(|it| outsize::take_apart(&mut it.event)).collect();
        let by = EventOrigin::Original(up_to);
        let mut publication = Publication { by, attachments, ..Publication::beside(events) };
        loop {
            let copy = self.find(id)?.ok_or(AppendError::Retired)?;
            // What the original has was redacted before it was logged.
            // Each event has the time that the original gave it.
            let appended = copy.append(&mut publication, 0, self.log(), None);
            if appended == Err(AppendError::Retired) {
                continue;
            }
            self.grew(appended.as_ref().map_or(0, |appended| appended.bytes));
            self.touch(&copy);
            appended?;
            return Ok(copy.is_on());
        }
    }
}

#[cfg(test)]
mod tests;
