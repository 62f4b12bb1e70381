//! A recording in the place of a conversation.

use leptos::prelude::*;
use shared::dialect::Decode;

use super::{Painter, Store};
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
    /// Looks at a recording of which nothing is read yet. Without a decoder it stays empty.
    pub(crate) fn open_recording(self, opened: Opened, decoder: Option<Box<dyn Decode>>) {
        let frames = self.model.try_update_value(|model| match decoder {
            Some(decoder) => model.open_recording(decoder),
            None => model.open(None),
        });
        self.send(frames.unwrap_or_default());
        self.painter.update_value(Painter::forget);
        self.unseen.set(0);
        self.recording.set(Some(opened));
        self.recordings.update(|number| *number = number.wrapping_add(1));
        self.follow();
        self.ask_painting();
    }

    /// Takes the next bytes of the recording with the number `number`; false when another one is looked at by now.
    pub(crate) fn read(self, number: u32, bytes: &[u8], read: u32) -> bool {
        if !self.reads(number) {
            return false;
        }
        self.model.update_value(|model| model.read(bytes));
        self.recording.update(|opened| {
            if let Some(opened) = opened {
                opened.read = read;
            }
        });
        self.ask_painting();
        true
    }

    /// The recording with the number `number` is read to its end, or to where it failed.
    pub(crate) fn read_all(self, number: u32, failure: Option<String>) {
        if !self.reads(number) {
            return;
        }
        self.model.update_value(Model::read_all);
        self.recording.update(|opened| {
            if let Some(opened) = opened {
                (opened.read, opened.failure) = (1000, failure);
            }
        });
        self.ask_painting();
    }

    fn reads(self, number: u32) -> bool {
        self.recordings.get_untracked() == number && self.recording.with_untracked(Option::is_some)
    }

    /// Looks at no recording any more.
    pub(crate) fn close_recording(self) {
        if self.recording.with_untracked(Option::is_some) {
            self.recording.set(None);
            self.recordings.update(|number| *number = number.wrapping_add(1));
            self.open(None);
        }
    }
}
