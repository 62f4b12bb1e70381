//! A recording in place of a conversation: a file of the reader, decoded in the browser and folded here.

use model::Envelope;
use model::frame::ClientFrame;
use model::recording::DecodedRecording;

use super::Model;

impl Model {
    /// Opens an empty recording. Returns the frames to send if the socket is open.
    pub fn open_recording(&mut self) -> Vec<ClientFrame> {
        let frames = self.leave();
        self.recording = Some(DecodedRecording::default());
        self.is_reading = true;
        frames
    }

    /// Takes the next events of the recording, as JSON lines.
    pub fn read(&mut self, lines: &str) {
        self.keep_told(lines);
        let is_shown = self.replay().is_none();
        let (changes, until) = (&mut self.touched.changes, &mut self.told_until);
        if let Some(recording) = &mut self.recording {
            // The decoder produces events only.
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

    /// Ends the recording: no more of it will be read.
    pub fn read_all(&mut self) {
        self.is_reading = false;
        if let Some(recording) = &mut self.recording {
            recording.end(&mut |_change| {});
            // The end may remove times anywhere in the view.
            self.touched.replaced = true;
        }
    }
}
