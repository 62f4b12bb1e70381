//! A recorded stream, read without a hub: decoded, and folded into a view. The same bytes always give the
//! same view, since times are those of the recording, where it has any.

use model::fold::ViewChange;
use model::recording::DecodedRecording;
use model::view::View;

use crate::{Decode, Decoded};

/// A stream that is being decoded and folded. The caller owns it, feeds it and takes the view out; nothing is
/// stored anywhere else.
#[derive(Debug)]
pub struct RecordingReader {
    decoder: Box<dyn Decode>,
    /// Events between decoder and fold; empty between calls.
    decoded: Decoded,
    /// The view so far, and the next seq and time.
    told: DecodedRecording,
}

impl RecordingReader {
    /// A reader around a new decoder.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self { decoder, decoded: Decoded::default(), told: DecodedRecording::default() }
    }

    /// The view of what has been read so far.
    pub fn view(&self) -> &View {
        self.told.view()
    }

    /// Takes the next bytes; `changed` is called for each change of the view.
    pub fn feed(&mut self, bytes: &[u8], changed: &mut dyn FnMut(ViewChange)) {
        self.decoder.feed(bytes, &mut self.decoded);
        self.told.absorb(self.decoded.envelopes.drain(..), changed);
    }

    /// Takes the end of the recording: call it once. A run that the decoder left open ends as it says. If the
    /// recording has no times of its own, the durations of its calls are unknown, not 0.
    pub fn end(&mut self, changed: &mut dyn FnMut(ViewChange)) {
        self.decoder.end(&mut self.decoded);
        self.told.absorb(self.decoded.envelopes.drain(..), changed);
        self.told.end(changed);
    }

    /// Gives the view to the caller.
    pub fn into_view(self) -> View {
        self.told.into_view()
    }
}

#[cfg(test)]
mod tests;
