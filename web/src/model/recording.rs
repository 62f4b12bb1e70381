//! A recording in the place of a conversation: the reader's own file, decoded elsewhere in the browser, folded here.

use model::Envelope;
use model::frame::ClientFrame;
use model::recording::DecodedRecording;

use super::Model;

impl Model {
    /// Looks at a recording of which nothing is read yet; the frames to send, if the socket is up.
    pub fn open_recording(&mut self) -> Vec<ClientFrame> {
        let frames = self.leave();
        self.recording = Some(DecodedRecording::default());
        self.is_reading = true;
        frames
    }

    /// Takes the next events of the recording, one a line.
    pub fn read(&mut self, lines: &str) {
        self.keep_told(lines);
        let is_shown = self.replay().is_none();
        let (changes, until) = (&mut self.touched.changes, &mut self.told_until);
        if let Some(recording) = &mut self.recording {
            // The decoder writes nothing but events.
            let envelopes = lines.lines().filter_map(|line| Envelope::parse(line).ok());
            let envelopes = envelopes.inspect(|envelope| {
                *until = (*until).max(envelope.at).max(envelope.producer_at.unwrap_or(0));
            });
            recording.absorb(envelopes, &mut |change| {
                if is_shown {
                    changes.insert(change);
                }
            });
        }
    }

    /// The recording is read to its end.
    pub fn read_all(&mut self) {
        self.is_reading = false;
        if let Some(recording) = &mut self.recording {
            recording.end(&mut |_change| {});
            // Times may be gone from anywhere in it.
            self.touched.replaced = true;
        }
    }
}
