//! Reads the past: the hub's log in pages, or the kept events of a recording.

use leptos::prelude::*;

use super::Store;
use crate::browser;
use crate::model::Model;
use crate::replay::Running;
use crate::route;

/// How many events are read at a time: few enough that the page stays responsive.
const PAGE_EVENTS: usize = 500;

impl Store {
    /// Reads all events that are not known yet. One reader at a time, in a task of its own; it ends with its
    /// replay. What was requested is shown as soon as it was read. A failure is put into the bar.
    pub(super) fn read_on(self) {
        let Some(serial) = self.replay.run(Running::begin_reading) else { return };
        leptos::task::spawn_local(async move {
            let failure = if self.reading.recording.with_untracked(Option::is_some) {
                self.read_told(serial).await;
                None
            } else {
                self.read_log(serial).await
            };
            if self.replay.is_current(serial) {
                self.replay.run(Running::end_reading);
                let is_empty =
                    self.reading.model(|model| model.read_past().is_some_and(|past| past.history.is_empty()));
                if let Some(why) =
                    failure.or_else(|| is_empty.then(|| "There is nothing to replay.".to_owned()))
                {
                    self.replay.fail(why);
                }
                self.fulfil();
                self.tell_replay();
            }
        });
    }

    /// Reads the hub's log up to the present. Returns why it cannot, for the reader. It asks for pages of
    /// [`PAGE_EVENTS`] after the last known event, and ends early if a page brings nothing new or the replay
    /// holds no more.
    async fn read_log(self, serial: u32) -> Option<String> {
        let conversation = self.reading.conversation.get_untracked()?;
        loop {
            let position = self.reading.model(Model::past_position)?;
            let (known, present) = (position.seq, self.reading.model(Model::present_seq));
            if known >= present {
                return None;
            }
            let path = route::events_path(&conversation, &position, PAGE_EVENTS);
            let lines = match browser::fetch_lines(&path).await {
                Ok(lines) => lines,
                Err(why) => return self.replay.is_current(serial).then_some(why),
            };
            if !self.replay.is_current(serial) {
                return None;
            }
            self.reading.model.update_value(|model| model.take_logged(&lines));
            self.fulfil();
            self.tell_replay();
            let is_stuck = self.reading.model(|model| {
                model.read_past().is_none_or(|past| past.history.is_cut() || past.history.seq() <= known)
            });
            if is_stuck {
                return None;
            }
        }
    }

    /// Reads the kept events of a recording. They are in memory already; reading them in pieces keeps the
    /// page responsive.
    async fn read_told(self, serial: u32) {
        for number in 0.. {
            // The page continues between two pieces.
            browser::rest().await;
            if !self.replay.is_current(serial)
                || !self.reading.model.try_update_value(|model| model.take_told(number)).unwrap_or(false)
            {
                return;
            }
            self.fulfil();
            self.tell_replay();
        }
    }
}
