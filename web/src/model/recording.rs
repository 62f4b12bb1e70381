//! A recording in the place of a conversation: the reader's own file, folded here.

use shared::dialect::Decode;
use shared::frame::ClientFrame;
use shared::recording::Recording;

use super::Model;

impl Model {
    /// Looks at a recording of which nothing is read yet; the frames to send, if the socket is up.
    pub fn open_recording(&mut self, decoder: Box<dyn Decode>) -> Vec<ClientFrame> {
        let frames = self.leave();
        self.recording = Some(Recording::new(decoder));
        self.is_reading = true;
        frames
    }

    /// Takes the next bytes of the recording.
    pub fn read(&mut self, bytes: &[u8]) {
        let changes = &mut self.touched.changes;
        if let Some(recording) = &mut self.recording {
            recording.feed(bytes, &mut |change| {
                changes.insert(change);
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
