//! Announcements to screen readers: polite ones in turn, urgent ones at once.

use leptos::prelude::*;

use crate::browser;
use crate::speech::{About, GAP_MS, Next, Speech};

/// The texts in the two live regions. A text is removed after a while, so that the same one can be announced
/// again.
#[derive(Clone, Copy)]
pub(crate) struct Voice {
    speech: StoredValue<Speech, LocalStorage>,
    waits: StoredValue<bool>,
    /// The text that is announced politely.
    pub(crate) polite: RwSignal<String>,
    /// The urgent text: only for calls that need approval and a lost connection.
    pub(crate) alarm: RwSignal<String>,
}

impl Voice {
    pub(super) fn new() -> Self {
        Self {
            speech: StoredValue::new_local(Speech::default()),
            waits: StoredValue::new(false),
            polite: RwSignal::new(String::new()),
            alarm: RwSignal::new(String::new()),
        }
    }

    /// Announces the result of a reader's action, in turn.
    pub(crate) fn set(self, words: String) {
        self.add(words, About::ReaderAction);
    }

    /// Announces an event of the open conversation, in turn, unless the reader leaves it before.
    pub(crate) fn tell(self, words: String) {
        self.add(words, About::Here);
    }

    /// Drops announcements about the conversation that the reader leaves.
    pub(super) fn leave(self) {
        self.speech.update_value(Speech::leave);
    }

    /// Adds a polite announcement.
    fn add(self, words: String, about: About) {
        self.speech.update_value(|speech| speech.add(words, about));
        self.speak();
    }

    /// Announces a text at once.
    pub(crate) fn interrupt(self, words: String) {
        utter(self.alarm, words);
    }

    /// Makes the next polite announcement, now or when its time comes.
    fn speak(self) {
        match self.speech.try_update_value(|speech| speech.next(browser::now_ms())) {
            Some(Next::Say(words)) => {
                utter(self.polite, words);
                self.speak();
            }
            Some(Next::Wait(ms)) if !self.waits.get_value() => {
                self.waits.set_value(true);
                browser::after(i32::try_from(ms).unwrap_or(i32::MAX), move || {
                    self.waits.set_value(false);
                    self.speak();
                });
            }
            _ => {}
        }
    }
}

/// Puts `words` into a live region, and removes them later.
fn utter(region: RwSignal<String>, mut words: String) {
    // A repetition is read aloud only if the text differs.
    if region.with_untracked(|said| *said == words) {
        words.push('\u{a0}');
    }
    region.set(words.clone());
    browser::after(i32::try_from(GAP_MS).unwrap_or(i32::MAX).saturating_sub(100), move || {
        if region.with_untracked(|said| *said == words) {
            region.set(String::new());
        }
    });
}
