//! The part of a conversation that is the copy of one turn of another one, its original, and goes on with it while that runs.
//!
//! ```text
//! imported: the turn up to a seq of the original ─▶ goes on: the rest, each event once ─▶ no run of it runs: nobody writes any more
//! ```
//!
//! How far the original was copied is kept as the progress of a publisher of the copy, so the log stores it together with the events.

use std::sync::Arc;

use model::event::Kind;
use model::{ConversationId, Envelope, PublisherId, Seq, View};

use super::{Conversation, ConversationState};
use crate::hub::publication::{AppendError, EventOrigin, Publication, PublishError};
use crate::hub::publishers::{FrameNumbering, Numbers};
use crate::hub::{Hub, outsize};

/// The publisher of a copy whose progress is the seq of the original. Only events of the hub have it.
const ORIGINAL: &str = "fanlight.original";

/// What notes that events of `by` were copied; `None` if they are no copy.
pub(super) fn numbering(by: EventOrigin) -> Option<FrameNumbering> {
    let EventOrigin::Original(seq) = by else { return None };
    Some(FrameNumbering { publisher: PublisherId::new(ORIGINAL), epoch: 0, numbers: Numbers::Frame(seq) })
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
            if ends && !is_on(&self.view) {
                break;
            }
        }
        self.at = self.clock;
        logged
    }

    /// Whether a copy takes events of `by`: those of its original, as long as a run of it goes on.
    pub(super) fn goes_on_with(&self, by: EventOrigin) -> bool {
        matches!(by, EventOrigin::Original(_)) && is_on(&self.view)
    }
}

impl Conversation {
    /// The seq up to which its original was copied into it since it was made; `None` if nothing was.
    pub fn copied_up_to(&self) -> Option<Seq> {
        self.state.lock().publishers.progress_of(&PublisherId::new(ORIGINAL))
    }

    /// Whether a run of it goes on.
    pub fn is_on(&self) -> bool {
        is_on(&self.state.lock().view)
    }
}

impl Hub {
    /// Appends to the copy `id` what its original has of the turn up to `seq`, with whole results, and says whether a run of the copy still goes on. Its
    /// viewers see the events once [`crate::fanout::Fanout::deliver`] is called. Fails with `Frozen` for a copy of which no run goes on, and with `Retired`
    /// for one that is not there.
    pub fn copy_on(
        &self,
        id: &ConversationId,
        mut events: Vec<Envelope>,
        seq: Seq,
    ) -> Result<bool, PublishError> {
        let attachments = events.iter_mut().flat_map(|it| outsize::take_apart(&mut it.event)).collect();
        let by = EventOrigin::Original(seq);
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

/// Whether a run of `view` goes on.
fn is_on(view: &View) -> bool {
    view.runs.values().any(model::view::RunView::is_running)
}
