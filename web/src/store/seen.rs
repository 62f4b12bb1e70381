//! What the reader has seen: noted while it is on the screen, and kept in the browser.

use leptos::prelude::*;

use model::ConversationId;

use super::Store;
use crate::browser;
use crate::seen::Seen;
use crate::since::{self, AWAY_MS};

/// The name of the setting.
const SETTING: &str = "seen";

/// How often it is stored, in milliseconds: it is long and changes often.
const KEEP_MS: i32 = 10_000;

/// The stored value. Empty if the browser stored nothing or does not store.
pub(super) fn kept() -> Seen {
    Seen::parse(browser::setting(SETTING).as_deref(), browser::now_ms())
}

impl Store {
    /// Notes once a second what is seen, for as long as the page is open.
    pub(crate) fn note_seen(self) {
        // The conversation that was on the screen last, and when, by this browser's clock.
        let noted = StoredValue::new(None::<(ConversationId, u64)>);
        Effect::new(move |_| {
            self.reading.now.track();
            let is_looked_at =
                self.reading.live.get() && !self.panel.wall.get() && !browser::document().hidden();
            if !is_looked_at || self.replay.is_on() || self.reading.recording.with(Option::is_some) {
                return;
            }
            let looked = self
                .reading
                .model(|model| Some((model.conversation()?.clone(), model.position()?, model.event_at()?)));
            let Some((conversation, position, at)) = looked else { return };
            let mut seen = self.reading.seen.get_untracked();
            let now = browser::now_ms();
            let is_open =
                noted.with_value(|noted| noted.as_ref().is_some_and(|(open, _)| *open == conversation));
            let is_back = noted.with_value(|noted| {
                !is_open || noted.as_ref().is_some_and(|(_, last)| now.saturating_sub(*last) >= AWAY_MS)
            });
            if is_back {
                let before = seen.place(&conversation).filter(|(before, _)| before.epoch == position.epoch);
                let is_known =
                    before.as_ref().is_some_and(|(before, at)| self.is_before_part(before.seq, *at));
                let tell = move || {
                    let since = before.and_then(|(before, at)| {
                        self.reading.view(|view| since::since(view, before.seq, at))
                    });
                    if since.is_some() || !is_open {
                        self.reading.since.set(since);
                    }
                };
                // What is new may lie before the part that is here.
                if is_known { self.with_whole(tell) } else { tell() }
            }
            noted.set_value(Some((conversation.clone(), now)));
            if seen.see(&conversation, &position, at) {
                self.reading.seen.set(seen);
            }
        });
        browser::every(KEEP_MS, move || self.keep_seen());
        browser::listen(&browser::window(), "pagehide", move |_: web_sys::Event| self.keep_seen());
    }

    /// Takes a page of older conversations. The error is a sentence for the reader.
    pub(crate) fn take_older(self, answer: &str) -> Result<(), String> {
        let is_taken = self.reading.model.try_update_value(|model| model.take_older(answer)).unwrap_or(false);
        self.ask_painting();
        if is_taken { Ok(()) } else { Err("The hub's answer could not be read.".to_owned()) }
    }

    /// Stores what was seen, together with what other pages of the reader stored. Two pages of a reader may
    /// store at the same time; joining loses nothing that either has seen.
    fn keep_seen(self) {
        let other = kept();
        let mut seen = self.reading.seen.get_untracked();
        seen.join(other.clone());
        if seen != other {
            browser::keep_setting(SETTING, &seen.text());
        }
        if self.reading.seen.with_untracked(|own| *own != seen) {
            self.reading.seen.set(seen);
        }
    }
}
