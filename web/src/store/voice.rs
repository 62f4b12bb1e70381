//! Saying something to readers who listen: politely, in turn, or at once where it cannot wait.

use leptos::prelude::*;

use crate::browser;
use crate::speech::{About, GAP_MS, Next, Speech};

/// What is being said. Words are taken away after a while, so that the same can be said again.
#[derive(Clone, Copy)]
pub(crate) struct Voice {
    speech: StoredValue<Speech, LocalStorage>,
    waits: StoredValue<bool>,
    /// The polite words.
    pub(crate) polite: RwSignal<String>,
    /// The words that interrupt: only that something needs approval, or that the connection is lost.
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

    /// Says what came of something that the reader did, when it is its turn.
    pub(crate) fn set(self, words: String) {
        self.add(words, About::Deed);
    }

    /// Says what happened in the conversation that is looked at, when it is its turn and if it still is looked at then.
    pub(crate) fn tell(self, words: String) {
        self.add(words, About::Here);
    }

    /// The reader looks at another conversation.
    pub(super) fn leave(self) {
        self.speech.update_value(Speech::leave);
    }

    fn add(self, words: String, about: About) {
        self.speech.update_value(|speech| speech.add(words, about));
        self.speak();
    }

    /// Says it at once.
    pub(crate) fn interrupt(self, words: String) {
        utter(self.alarm, words);
    }

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

fn utter(region: RwSignal<String>, mut words: String) {
    // The same again is heard only where the text is another one.
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
