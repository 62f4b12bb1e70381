//! The pace of the writer. Once a second it makes rows of thousands of events. On a machine with few cores those who deliver events
//! would wait for a core meanwhile, for a whole slice of the scheduler at a time, whatever the writer's priority: so it rests often, unless
//! somebody waits for the rows.

use std::borrow::Borrow;
use std::time::{Duration, Instant};

use crate::queue::Queue;

/// How long the writer works at a time.
const WORK: Duration = Duration::from_micros(250);

/// How long it rests then.
const REST: Duration = Duration::from_micros(750);

/// Rests once in a while during a commit. Made for one commit. `Q` is a reference to the queue, or shares it.
pub(super) struct WriterPace<Q> {
    /// The queue, which says whether anybody waits; `None` for a writer that never rests.
    queue: Option<Q>,
    /// Since when it works.
    since: Instant,
}

impl<Q: Borrow<Queue>> WriterPace<Q> {
    /// The pace of a writer of what was in `queue`.
    pub(super) fn of(queue: Q) -> Self {
        Self { queue: Some(queue), since: Instant::now() }
    }

    /// The pace of a writer that never rests.
    pub(super) fn restless() -> Self {
        Self { queue: None, since: Instant::now() }
    }

    /// Rests if it has worked for long enough and nobody waits. Call it between small pieces of work.
    pub(super) fn step(&mut self) {
        let Some(queue) = &self.queue else { return };
        if self.since.elapsed() < WORK {
            return;
        }
        if !queue.borrow().pause_commit(REST) {
            // Whoever waits now waits for all of the commit.
            self.queue = None;
        }
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use model::ConversationId;

    use super::*;
    use crate::ops::Op;
    use crate::queue::LogLifecycle;

    /// Whether the writer of `queue` still rests after it has worked for long enough.
    fn rests(queue: &Queue) -> bool {
        let mut pace =
            WriterPace { queue: Some(queue), since: Instant::now().checked_sub(2 * WORK).unwrap() };
        pace.step();
        pace.queue.is_some()
    }

    #[test]
    fn the_writer_rests_unless_somebody_waits_or_the_log_ends() {
        let queue = Queue::new(1 << 20, None);
        assert!(rests(&queue));
        // A removal is waited for.
        queue.put(Op::Remove(ConversationId::parse("c").unwrap()));
        assert!(!rests(&queue));
        let queue = Queue::new(1 << 20, None);
        queue.end(LogLifecycle::Draining);
        assert!(!rests(&queue));
    }

    #[test]
    fn a_writer_that_has_just_begun_goes_on() {
        let queue = Queue::new(1 << 20, None);
        let mut pace = WriterPace { queue: Some(&queue), since: Instant::now() + 3600 * WORK };
        let since = pace.since;
        pace.step();
        assert_eq!(pace.since, since);
        WriterPace::<&Queue>::restless().step();
    }
}
