//! What is told of a recorded stream, without a hub: its events are numbered and timed as a hub would, and folded. Times are
//! those of the recording, where it has any, and so the same events always give the same view.

use crate::envelope::Envelope;
use crate::event::Class;
use crate::fold::{ViewChange, complete, fold};
use crate::position::Seq;
use crate::view::View;

/// A recorded stream folded without a hub: the view so far, and the next seq and time.
#[derive(Debug, Default)]
pub struct DecodedRecording {
    view: View,
    clock: RecordingClock,
}

/// The numbers and times of a recording's events, as a hub would give them.
#[derive(Debug, Default)]
pub struct RecordingClock {
    seq: Seq,
    /// The recording's own time, in milliseconds since 1970; 0 as long as it has told none.
    now: u64,
}

impl RecordingClock {
    /// Stamps the next event. A hub's own time counts before the publisher's; what has neither happened when the event
    /// before it did.
    pub fn stamp(&mut self, envelope: &mut Envelope) {
        let told = Some(envelope.at).filter(|at| *at > 0).or(envelope.producer_at);
        self.now = told.unwrap_or(self.now);
        envelope.at = self.now;
        if envelope.event.kind.class() != Class::Ephemeral {
            self.seq = self.seq.saturating_add(1);
            envelope.seq = self.seq;
        }
    }
}

impl DecodedRecording {
    /// What has been told so far.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Gives the view away.
    pub fn into_view(self) -> View {
        self.view
    }

    /// Takes the next events, as a decoder made them; `changed` hears what in the view changed.
    pub fn absorb(
        &mut self,
        envelopes: impl IntoIterator<Item = Envelope>,
        changed: &mut dyn FnMut(ViewChange),
    ) {
        for mut envelope in envelopes {
            self.clock.stamp(&mut envelope);
            complete(&self.view, &mut envelope.event);
            fold(&mut self.view, &envelope, changed);
        }
    }

    /// The recording is over: call it once. Without times what the calls took is not 0 ms, but known only where the
    /// publisher says it.
    pub fn end(&mut self, changed: &mut dyn FnMut(ViewChange)) {
        if self.clock.now > 0 {
            return;
        }
        for (id, run) in &mut self.view.runs {
            for tool in run.tools.values_mut() {
                (tool.pending_at, tool.asked_at) = (None, None);
                tool.executing_at = None;
            }
            changed(ViewChange::Run(id.clone()));
        }
    }
}
