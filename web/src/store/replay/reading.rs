//! Reading the past: the hub's log page by page, or what a recording has told.

use leptos::prelude::*;

use super::Store;
use crate::browser;
use crate::model::Model;
use crate::route;

/// Events that are read at once: few enough that the page stays smooth.
const PAGE_EVENTS: usize = 500;

impl Store {
    /// Reads what is not known yet.
    pub(super) fn read_on(self) {
        let serial = self.runner.try_update_value(|runner| {
            (!std::mem::replace(&mut runner.is_reading, true)).then_some(runner.serial)
        });
        if let Some(serial) = serial.flatten() {
            leptos::task::spawn_local(async move {
                let failure = if self.recording.with_untracked(Option::is_some) {
                    self.read_told(serial).await;
                    None
                } else {
                    self.read_log(serial).await
                };
                if self.runs(serial) {
                    self.runner.update_value(|runner| runner.is_reading = false);
                    let is_empty =
                        self.model(|model| model.read_past().is_some_and(|past| past.history.is_empty()));
                    let failure =
                        failure.or_else(|| is_empty.then(|| "There is nothing to replay.".to_owned()));
                    if failure.is_some() {
                        self.replay.update(|replay| {
                            if let Some(replay) = replay {
                                replay.failure = failure;
                            }
                        });
                    }
                    self.fulfil();
                    self.tell_replay();
                }
            });
        }
    }

    fn runs(self, serial: u32) -> bool {
        self.runner.with_value(|runner| runner.serial == serial)
    }

    /// Reads the hub's log up to where the present stands; why it cannot, for the reader.
    async fn read_log(self, serial: u32) -> Option<String> {
        let conversation = self.conversation.get_untracked()?;
        loop {
            let position = self.model(Model::past_position)?;
            let (known, present) = (position.seq, self.model(Model::present_seq));
            if known >= present {
                return None;
            }
            let path = route::events_path(&conversation, &position, PAGE_EVENTS);
            let lines = match browser::fetch_lines(&path).await {
                Ok(lines) => lines,
                Err(why) => return self.runs(serial).then_some(why),
            };
            if !self.runs(serial) {
                return None;
            }
            self.model.update_value(|model| model.take_logged(&lines));
            self.fulfil();
            self.tell_replay();
            let is_stuck = self.model(|model| {
                model.read_past().is_none_or(|past| past.history.is_cut() || past.history.seq() <= known)
            });
            if is_stuck {
                return None;
            }
        }
    }

    /// Reads what the recording told.
    async fn read_told(self, serial: u32) {
        for number in 0.. {
            // Between two pieces the page goes on.
            browser::rest().await;
            if !self.runs(serial)
                || !self.model.try_update_value(|model| model.take_told(number)).unwrap_or(false)
            {
                return;
            }
            self.fulfil();
            self.tell_replay();
        }
    }
}
