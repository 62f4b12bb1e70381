//! A recording in place of a conversation.
//!
//! ```text
//! open_recording ─▶ read, read, … ─▶ read_all          one recording; its number is `recordings`
//!        └ another file, or close_recording: the number changes, and who still reads stops
//! ```

use leptos::prelude::*;

use super::Store;
use super::paint::Painter;
use crate::model::Model;

/// What the page shows of the open recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordingInfo {
    /// The name of the file.
    pub(crate) name: String,
    /// The dialect; `None` if it was not recognized.
    pub(crate) dialect: Option<&'static str>,
    /// How much of the file is read, in thousandths.
    pub(crate) read: u32,
    /// Why it cannot be read further, if so.
    pub(crate) failure: Option<String>,
}

impl Store {
    /// Opens a recording without events. It stays empty if it cannot be decoded.
    pub(crate) fn open_recording(self, opened: RecordingInfo) {
        self.forget_looks();
        self.forget_whole();
        let is_readable = opened.dialect.is_some() && opened.failure.is_none();
        let frames = self
            .reading
            .model
            .try_update_value(|model| if is_readable { model.open_recording() } else { model.open(None) });
        self.link.send(frames.unwrap_or_default());
        self.reading.painter.update_value(Painter::forget);
        self.reading.unseen.set(0);
        self.spoken.leave();
        self.reading.recording.set(Some(opened));
        self.reading.recordings.update(|number| *number = number.wrapping_add(1));
        self.reading.follow();
        self.ask_painting();
    }

    /// Takes the next events of the open recording, as JSON lines. `read` is how much of it is read, in
    /// thousandths.
    pub(crate) fn read(self, lines: &str, read: u32) {
        self.reading.model.update_value(|model| model.read(lines));
        self.reading.recording.update(|opened| {
            if let Some(opened) = opened {
                opened.read = read;
            }
        });
        self.ask_painting();
    }

    /// Ends the recording, at its end or with a failure.
    pub(crate) fn read_all(self, failure: Option<String>) {
        self.reading.model.update_value(Model::read_all);
        self.reading.recording.update(|opened| {
            if let Some(opened) = opened {
                (opened.read, opened.failure) = (1000, failure);
            }
        });
        self.ask_painting();
    }

    /// Whether the recording with this number is still open.
    pub(crate) fn reads(self, number: u32) -> bool {
        self.reading.recordings.get_untracked() == number
            && self.reading.recording.with_untracked(Option::is_some)
    }

    /// Closes the recording, if one is open.
    pub(crate) fn close_recording(self) {
        if self.reading.recording.with_untracked(Option::is_some) {
            self.reading.recording.set(None);
            self.reading.recordings.update(|number| *number = number.wrapping_add(1));
            self.open(None);
        }
    }
}
