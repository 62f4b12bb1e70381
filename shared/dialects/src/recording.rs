//! A recorded stream, read without a hub: decoded, and told into a view. The same bytes always give the same view, since times
//! are those of the recording, where it has any.

use model::fold::ViewChange;
use model::recording::DecodedRecording;
use model::view::View;

use crate::{Decode, Decoded};

/// A stream on its way into a view.
#[derive(Debug)]
pub struct RecordingReader {
    decoder: Box<dyn Decode>,
    decoded: Decoded,
    told: DecodedRecording,
}

impl RecordingReader {
    /// Nothing is read yet.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self { decoder, decoded: Decoded::default(), told: DecodedRecording::default() }
    }

    /// What has been read so far.
    pub fn view(&self) -> &View {
        self.told.view()
    }

    /// Takes the next bytes; `changed` hears what in the view changed.
    pub fn feed(&mut self, bytes: &[u8], changed: &mut dyn FnMut(ViewChange)) {
        self.decoder.feed(bytes, &mut self.decoded);
        self.told.absorb(self.decoded.envelopes.drain(..), changed);
    }

    /// The recording is over: call it once.
    pub fn end(&mut self, changed: &mut dyn FnMut(ViewChange)) {
        self.decoder.end(&mut self.decoded);
        self.told.absorb(self.decoded.envelopes.drain(..), changed);
        self.told.end(changed);
    }

    /// Gives the view away.
    pub fn into_view(self) -> View {
        self.told.into_view()
    }
}

#[cfg(test)]
mod tests;
