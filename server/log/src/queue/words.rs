//! Documents that are rows, and whose words are not in the index of searches yet: when the writer adds them, and who
//! waits for it.
//!
//! ```text
//! more than WORDS_BYTES_MAX wait   at once, before commits
//! a search waits                   at once, in turns with commits
//! STEP_BYTES wait                  when nothing waits to be written, or 250 ms later
//! less waits                       5 s later, and 250 ms more while something waits to be written
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::settling::LOOK;
use super::{LogLifecycle, Queue, QueueState, SWEEP_PATIENCE};
use crate::{Health, QueryCancel, Ticket};

/// How long documents may wait for their words to be added, unless [`STEP_BYTES`] wait. The longer, the fewer pieces
/// the index has to merge.
const WORDS_AFTER: Duration = Duration::from_secs(5);

/// From so many bytes of text on, words are added soon: about as many as a step adds. The index writes what it has
/// collected at the end of each step, and at 1 MiB of its own, so smaller steps would make more pieces, which have to be
/// merged.
pub(crate) const STEP_BYTES: usize = 1 << 20;

/// From so many bytes of text on, words are added before anything else is written, so that the queue fills and publishers
/// wait. It takes some seconds to add so many.
const WORDS_BYTES_MAX: usize = 64 << 20;

/// What a document weighs beside its text, so that many small ones are steps too.
pub(crate) const DOCUMENT_BYTES: usize = 128;

/// Most commits that are told apart. Beyond them a search may wait for the words of a later one.
const COMMITS_MAX: usize = 1_024;

/// Documents of one commit, or of an earlier life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnindexedDocuments {
    /// The number of the newest of them.
    pub(crate) newest: i64,
    /// The bytes of their texts, and [`DOCUMENT_BYTES`] for each.
    pub(crate) bytes: usize,
}

/// What waits. Part of the queue, under its lock.
#[derive(Debug, Default)]
pub(super) struct WordBacklog {
    /// The documents of each commit, the oldest first: the number of the newest, and the newest ticket that was rows before
    /// them; `None` for those of an earlier life.
    commits: VecDeque<(i64, Option<u64>)>,
    /// The bytes of their texts.
    bytes: usize,
    /// When the next step is due, if nobody waits; `None` if nothing is to be added.
    step_at: Option<Instant>,
    /// A search waits for the words of everything up to this ticket.
    wanted: Option<u64>,
    /// Whether the newest thing that the writer did was a step, so that a commit comes next if one is due.
    has_stepped: bool,
    /// Whether the newest step failed, and no commit came since. Searches do without the words then.
    is_failing: bool,
    /// Whether no step succeeded since one failed.
    has_failed: bool,
}

impl WordBacklog {
    /// Whether the words of everything up to `ticket` are in the index, of what is rows.
    fn has(&self, ticket: u64) -> bool {
        self.commits.front().is_none_or(|(_, after)| after.is_some_and(|after| ticket <= after))
    }

    /// Adds the documents of a commit, which were written after everything up to the ticket `after`; `None` for those of an
    /// earlier life.
    fn add(&mut self, documents: UnindexedDocuments, after: Option<u64>) {
        if self.commits.len() < COMMITS_MAX {
            self.commits.push_back((documents.newest, after));
        } else if let Some((newest, _)) = self.commits.back_mut() {
            *newest = documents.newest;
        }
        self.bytes = self.bytes.saturating_add(documents.bytes);
        let now = Instant::now();
        let due = if self.bytes < STEP_BYTES { now + WORDS_AFTER } else { now };
        self.step_at = Some(self.step_at.map_or(due, |at| at.min(due)));
    }

    /// Whether a step comes before everything else that can wait.
    fn is_pressing(&self) -> bool {
        self.is_awaited() || (!self.is_failing && self.bytes > WORDS_BYTES_MAX)
    }

    /// Whether a search waits for words.
    pub(super) fn is_awaited(&self) -> bool {
        !self.is_failing && self.wanted.is_some_and(|ticket| !self.has(ticket))
    }

    /// Notes that the writer writes a commit: words that could not be added are tried again after it.
    pub(super) fn commits(&mut self) {
        self.has_stepped = false;
        if std::mem::take(&mut self.is_failing) {
            self.step_at = Some(Instant::now());
        }
    }
}

impl QueueState {
    /// Whether words are to be added now.
    pub(super) fn words_are_due(&self, now: Instant) -> bool {
        self.goes_on() && (self.words.is_pressing() || self.words_at().is_some_and(|due| now >= due))
    }

    /// Whether a commit that is due comes before words that are due too, so that the two take turns.
    pub(super) fn words_give_way(&self) -> bool {
        self.words.has_stepped && self.words.bytes <= WORDS_BYTES_MAX
    }

    /// When words are due, unless somebody waits for them; `None` while the writer adds none.
    pub(super) fn words_at(&self) -> Option<Instant> {
        if !self.goes_on() {
            return None;
        }
        // A test sees what is left after each of its own steps.
        #[cfg(any(test, feature = "testkit"))]
        if self.write_hold.is_controlled() {
            return None;
        }
        let patience = if self.ops.is_empty() { Duration::ZERO } else { SWEEP_PATIENCE };
        self.words.step_at.map(|due| due + patience)
    }

    /// The bytes of the texts that searches do not find yet, of what is rows.
    pub(super) fn unindexed_bytes(&self) -> usize {
        self.words.bytes
    }
}

impl Queue {
    /// For the writer: `documents` are rows now. Call it before the tickets of their commit are reported.
    pub(crate) fn has_documents(&self, documents: UnindexedDocuments) {
        let mut state = self.state.lock();
        let written = self.progress.borrow().indexed.0;
        state.words.add(documents, Some(written));
    }

    /// As [`Queue::has_documents`], for those of an earlier life.
    pub(crate) fn has_documents_of_an_earlier_life(&self, documents: UnindexedDocuments) {
        self.state.lock().words.add(documents, None);
    }

    /// For the writer: the words of every document up to `through` are in the index. The step took `took` for `bytes` of
    /// text.
    pub(crate) fn has_words(&self, through: i64, bytes: usize, took: Duration) {
        let mut state = self.state.lock();
        let words = &mut state.words;
        (words.has_stepped, words.is_failing, words.has_failed) = (true, false, false);
        while words.commits.pop_front_if(|(newest, _)| *newest <= through).is_some() {}
        words.bytes = if words.commits.is_empty() { 0 } else { words.bytes.saturating_sub(bytes) };
        let pause = if words.bytes < STEP_BYTES { WORDS_AFTER } else { took };
        words.step_at = (!words.commits.is_empty()).then(|| Instant::now() + pause);
        drop(state);
        self.done.notify_all();
    }

    /// For the writer: words could not be added, which is tried again after the next commit, or after
    /// [`WORDS_AFTER`]. Returns whether the step before had not failed.
    pub(crate) fn failed_words(&self) -> bool {
        let mut state = self.state.lock();
        state.words.is_failing = true;
        let is_news = !std::mem::replace(&mut state.words.has_failed, true);
        state.words.step_at = Some(Instant::now() + WORDS_AFTER);
        drop(state);
        self.done.notify_all();
        is_news
    }

    /// Waits until searches find everything that was queued before. Returns false if they do not: it cannot be written, or
    /// `stop` says that the search is to hurry.
    pub(crate) fn settle_words(&self, stop: &QueryCancel) -> bool {
        let ticket = self.state.lock().found_at;
        // What cannot be written does not keep what was written from being searched.
        drop(self.settle_unless(ticket, Some(&|| stop.is_hurried())));
        #[cfg(any(test, feature = "testkit"))]
        let _goes_on = self.release_writer();
        let mut state = self.state.lock();
        while !state.words.has(ticket)
            && !state.words.is_failing
            && self.progress.borrow().health == Health::Well
            && state.lifecycle == LogLifecycle::Open
            && !stop.is_hurried()
        {
            state.words.wanted = state.words.wanted.max(Some(ticket));
            self.work.notify_one();
            self.done.wait_for(&mut state, LOOK);
        }
        state.words.has(ticket) && self.progress.borrow().indexed >= Ticket(ticket)
    }
}

#[cfg(test)]
mod tests {
    use model::ConversationId;
    use model::frame::Durability;

    use super::*;
    use crate::ops::Op;
    use crate::queue::WriterStep;

    /// A queue of which everything is stored as rows.
    fn queue() -> Queue {
        let queue = Queue::new(1 << 20, None);
        queue.go_without_journal();
        queue
    }

    /// Queues something that is to be rows at once.
    fn put(queue: &Queue) {
        queue.put(Op::Remove(ConversationId::parse("c").unwrap()));
    }

    /// Lets the writer write what is due, which must be a commit.
    fn commit(queue: &Queue) {
        let WriterStep::Write(group) = queue.next() else { panic!("no commit is due") };
        let bytes = group.iter().map(|queued| queued.bytes).sum();
        queue.wrote(group.last().unwrap().ticket, bytes, Durability::Stored);
    }

    #[test]
    fn few_words_wait_for_commits_and_many_come_first_in_turns_with_them() {
        let queue = queue();
        queue.has_documents(UnindexedDocuments { newest: 1, bytes: STEP_BYTES - 1 });
        put(&queue);
        commit(&queue);
        queue.has_documents(UnindexedDocuments { newest: 2, bytes: WORDS_BYTES_MAX });
        put(&queue);
        assert!(matches!(queue.next(), WriterStep::IndexWords));
        queue.has_words(1, 1, Duration::ZERO);
        assert!(matches!(queue.next(), WriterStep::IndexWords), "until they are few enough");
        queue.has_words(1, STEP_BYTES, Duration::ZERO);
        commit(&queue);
        queue.has_words(2, WORDS_BYTES_MAX, Duration::ZERO);
        assert_eq!(queue.figures().unindexed_bytes, 0);
    }

    #[test]
    fn a_search_waits_for_what_was_there_when_it_began() {
        let queue = queue();
        // Left by an earlier life.
        queue.has_documents_of_an_earlier_life(UnindexedDocuments { newest: 7, bytes: 1 });
        std::thread::scope(|scope| {
            let search = scope.spawn(|| queue.settle_words(&QueryCancel::default()));
            assert!(matches!(queue.next(), WriterStep::IndexWords), "at once, since a search waits");
            assert!(!search.is_finished());
            queue.has_words(7, 1, Duration::ZERO);
            search.join().unwrap();
        });
        // What comes later is not waited for.
        put(&queue);
        commit(&queue);
        queue.has_documents(UnindexedDocuments { newest: 8, bytes: 1 });
        queue.settle_words(&QueryCancel::default());
        assert_eq!(queue.figures().unindexed_bytes, 1);
    }

    #[test]
    fn a_step_that_fails_is_tried_again_after_the_next_commit() {
        let queue = queue();
        queue.has_documents(UnindexedDocuments { newest: 1, bytes: WORDS_BYTES_MAX + 1 });
        assert!(matches!(queue.next(), WriterStep::IndexWords));
        assert!(queue.failed_words(), "it is news");
        queue.settle_words(&QueryCancel::default());
        put(&queue);
        commit(&queue);
        assert!(matches!(queue.next(), WriterStep::IndexWords));
        assert!(!queue.failed_words(), "it is no news");
    }

    #[test]
    fn as_many_commits_are_told_apart_as_there_is_room_for() {
        let queue = queue();
        let newest = i64::try_from(COMMITS_MAX).unwrap() + 9;
        for newest in 1..=newest {
            queue.has_documents(UnindexedDocuments { newest, bytes: 1 });
        }
        assert_eq!(queue.state.lock().words.commits.len(), COMMITS_MAX);
        queue.has_words(newest - 1, 0, Duration::ZERO);
        assert_eq!(queue.state.lock().words.commits.len(), 1);
        queue.has_words(newest, 0, Duration::ZERO);
        assert_eq!(queue.figures().unindexed_bytes, 0);
    }
}
