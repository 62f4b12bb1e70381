//! What the writing thread does besides: it deletes rows of conversations that went, and notes how its life ends.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::super::failure::said;
use super::super::{life, sweep};
use super::{PAUSE_MAX, PostgresWriter};

/// Ends life $1, and notes whether it ended well: the database has as many of its transactions as it knows, $2. On which timeline that was noted says
/// later whether a standby was promoted since.
const END_WELL: &str = "UPDATE life SET ended_well = commits >= $2, over = true, timeline = fanlight_timeline() \
                        WHERE number = $1 AND NOT over";

impl PostgresWriter {
    /// Deletes some rows of conversations that went. Does nothing without a connection: the next commit makes
    /// one.
    pub(super) fn sweep(&mut self) {
        let began = Instant::now();
        let Some(session) = &mut self.session else { return self.shared.queue.sweep_after(PAUSE_MAX) };
        match self.runtime.block_on(sweep::step(session)) {
            Ok(true) => self.shared.queue.sweep_after(began.elapsed()),
            Ok(false) => self.shared.queue.swept(),
            Err(error) => {
                tracing::warn!(error = said(&error), "conversations that went still take room");
                self.session = None;
                self.shared.queue.sweep_after(PAUSE_MAX);
            }
        }
    }

    /// Notes that the life ended well, so that its conversations keep their epochs; those with a hole get a
    /// new one at the next load. Without a connection nothing is noted, and all of them get new epochs; so they do where the database has lost transactions of
    /// this life, for example by the promotion of a standby: what was shown and then lost is not missed before its conversation is written to.
    pub(super) fn close(&mut self) {
        let life = self.life;
        let holed: Vec<String> = self.shared.queue.holed().iter().map(ToString::to_string).collect();
        let certain = if self.count.has_lost() { i64::MAX } else { self.count.certain() };
        let Some(session) = &mut self.session else { return };
        let client = &session.client;
        // Before the database knows it: the task that renews the lease would find the life over, and say that another hub has taken over.
        self.shared.is_ending.store(true, Ordering::Release);
        let closed = self.runtime.block_on(async {
            client.execute(life::FORGET_LIFE, &[&holed, &life]).await?;
            client.execute(END_WELL, &[&life, &certain]).await
        });
        if let Err(error) = closed {
            tracing::warn!(error = said(&error), "the log could not note that it ended well");
        }
    }
}
