//! How far everybody is, and how long after a moment everybody has gone on.
//!
//! A publisher goes on when something is acked that it said after that moment, a viewer when it sees something that was said after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tests::wait::load_for;

/// How many publishers share a conversation.
pub(super) const EACH: usize = 2;

/// Between two looks at everybody.
const LOOK: Duration = Duration::from_millis(10);

/// How far everybody is. Each writes its own numbers.
#[derive(Debug)]
pub(super) struct Board {
    /// Words that each publisher has said.
    pub(super) said: Vec<AtomicU64>,
    /// The newest word of each that was acked at any level.
    pub(super) acked: Vec<AtomicU64>,
    /// What each viewer sees of the publishers of its conversation.
    pub(super) seen: Vec<[AtomicU64; EACH]>,
    /// The moments whose end somebody waits for.
    moments: Mutex<Vec<Moment>>,
}

/// A moment, and who has gone on since.
#[derive(Debug)]
struct Moment {
    at: Instant,
    /// What each publisher had said by then.
    said: Vec<u64>,
    /// How long each publisher and then each viewer took; nothing for those who have not gone on yet.
    took: Vec<Option<Duration>>,
}

impl Board {
    pub(super) fn new(publishers: usize, viewers: usize) -> Self {
        let none = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        let seen = (0..viewers).map(|_| [const { AtomicU64::new(0) }; EACH]).collect();
        Self { said: none(publishers), acked: none(publishers), seen, moments: Mutex::default() }
    }

    /// How many conversations there are.
    pub(super) fn conversations(&self) -> usize {
        self.said.len() / EACH
    }

    /// Begins to look who goes on after this moment. Its number for [`Board::took`].
    pub(super) fn mark(&self) -> usize {
        let said = self.said.iter().map(|said| said.load(Ordering::Acquire)).collect();
        let took = vec![None; self.said.len() + self.seen.len()];
        let mut moments = self.moments.lock();
        moments.push(Moment { at: Instant::now(), said, took });
        moments.len() - 1
    }

    /// How long everybody took to go on after the moment with that number; nothing before all have.
    pub(super) fn took(&self, moment: usize) -> Option<Vec<Duration>> {
        self.moments.lock()[moment].took.iter().copied().collect()
    }

    /// Who has not gone on after the moment with that number, for a person.
    pub(super) fn waiting(&self, moment: usize) -> String {
        let moments = self.moments.lock();
        let still = moments[moment].took.iter().enumerate().filter(|(_, took)| took.is_none());
        let names: Vec<String> = still
            .map(|(number, _)| match number.checked_sub(self.said.len()) {
                Some(viewer) => format!("viewer {viewer}"),
                None => format!("publisher {number}"),
            })
            .collect();
        names.join(", ")
    }

    /// Looks at everybody again and again. Ends when nobody else has the board.
    pub(super) async fn watch(self: Arc<Self>) {
        while Arc::strong_count(&self) > 1 {
            load_for(LOOK).await;
            self.look();
        }
    }

    fn look(&self) {
        for moment in self.moments.lock().iter_mut() {
            let since = moment.at.elapsed();
            for (number, took) in moment.took.iter_mut().enumerate() {
                if took.is_none() && self.has_gone_on(number, &moment.said) {
                    *took = Some(since);
                }
            }
        }
    }

    /// Whether a publisher, or the viewer that follows in number, has gone on since so much was said.
    fn has_gone_on(&self, number: usize, said: &[u64]) -> bool {
        if let Some(said) = said.get(number) {
            return self.acked[number].load(Ordering::Acquire) > *said;
        }
        let viewer = number - said.len();
        let first = viewer % self.conversations() * EACH;
        let mut seen = self.seen[viewer].iter().zip(&said[first..]);
        seen.any(|(seen, said)| seen.load(Ordering::Acquire) > *said)
    }
}
