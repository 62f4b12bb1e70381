//! A recording in the place of a conversation.

use leptos::prelude::*;

use super::Store;
use super::paint::Painter;
use crate::model::Model;

/// The recording that is looked at, as far as the page tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The name of its file.
    pub(crate) name: String,
    /// Its dialect; nothing when its beginning does not tell.
    pub(crate) dialect: Option<&'static str>,
    /// How much of it is read, from 0 to 1, in thousandths.
    pub(crate) read: u32,
    /// Why it cannot be read further.
    pub(crate) failure: Option<String>,
}

impl Store {
    /// Looks at a recording of which nothing is read yet. Where nobody can decode it, it stays empty.
    pub(crate) fn open_recording(self, opened: Opened) {
        self.forget_looks();
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

    /// Takes the next events of the recording that is looked at, of which so much is `read`.
    pub(crate) fn read(self, lines: &str, read: u32) {
        self.reading.model.update_value(|model| model.read(lines));
        self.reading.recording.update(|opened| {
            if let Some(opened) = opened {
                opened.read = read;
            }
        });
        self.ask_painting();
    }

    /// The recording is read to its end, or to where it failed.
    pub(crate) fn read_all(self, failure: Option<String>) {
        self.reading.model.update_value(Model::read_all);
        self.reading.recording.update(|opened| {
            if let Some(opened) = opened {
                (opened.read, opened.failure) = (1000, failure);
            }
        });
        self.ask_painting();
    }

    /// Whether the recording with the number `number` is still looked at.
    pub(crate) fn reads(self, number: u32) -> bool {
        self.reading.recordings.get_untracked() == number
            && self.reading.recording.with_untracked(Option::is_some)
    }

    /// Looks at no recording any more.
    pub(crate) fn close_recording(self) {
        if self.reading.recording.with_untracked(Option::is_some) {
            self.reading.recording.set(None);
            self.reading.recordings.update(|number| *number = number.wrapping_add(1));
            self.open(None);
        }
    }
}
