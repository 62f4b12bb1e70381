//! Random sequences of all operations of a log, compared with a list in memory. Whatever their order and
//! wherever the process dies, what was stored is there once and in order, and nothing else is.

use std::sync::Arc;

use model::{Envelope, Epoch, Position, testkit};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::material::{checkpoint, id, mark, stored};
use super::{LogKind, LogPlace};
use crate::{Append, EventLog, LogError, Ticket, clock};

/// The most steps of a history.
const STEPS_MAX: usize = 50;

/// One of the two conversations.
#[derive(Debug, Clone, Copy)]
enum TestConversation {
    First,
    Second,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Append { which: TestConversation, events: usize },
    Keep(TestConversation),
    Read { which: TestConversation, after: u64, limit: usize },
    Load(TestConversation),
    Wait,
    Remove(TestConversation),
    Close,
    Crash,
}

fn which() -> impl Strategy<Value = TestConversation> {
    prop_oneof![Just(TestConversation::First), Just(TestConversation::Second)]
}

fn step(kind: LogKind) -> impl Strategy<Value = Step> {
    let append = (which(), 0_usize..9).prop_map(|(which, events)| Step::Append { which, events });
    let read = (which(), 0_u64..60, 1_usize..20).prop_map(|(which, after, limit)| Step::Read {
        which,
        after,
        limit,
    });
    // A log that keeps nothing over a restart is not restarted.
    let lasting = u32::from(kind == LogKind::Lasting);
    prop_oneof![
        12 => append,
        4 => read,
        1 => which().prop_map(Step::Remove),
        1 => Just(Step::Wait),
        2 * lasting => which().prop_map(Step::Keep),
        2 * lasting => which().prop_map(Step::Load),
        lasting => Just(Step::Close),
        2 * lasting => Just(Step::Crash),
    ]
}

/// A conversation as its writer knows it.
struct WrittenConversation {
    name: &'static str,
    /// All events that are appended sooner or later.
    history: Vec<Arc<Envelope>>,
    epoch: Epoch,
    head: usize,
    ticket: Ticket,
    /// The number of events that are certainly stored.
    stored: usize,
}

impl WrittenConversation {
    fn of(name: &'static str, history: Vec<Arc<Envelope>>) -> Self {
        Self { name, history, epoch: Epoch::new("e0"), head: 0, ticket: Ticket(0), stored: 0 }
    }

    fn so_far(&self) -> &[Arc<Envelope>] {
        self.history.get(..self.head).expect("never more than there is")
    }

    fn append(&mut self, log: &dyn EventLog, events: usize) {
        let end = (self.head + events).min(self.history.len());
        let after = Position { epoch: self.epoch.clone(), seq: self.head as u64 };
        let id = id(self.name);
        let mark = Some(mark("p", 1, after.seq));
        let more = self.history.get(self.head..end).expect("never more than there is");
        self.ticket = log.append(Append { mark, ..Append::of(&id, &after, more) }).expect("it continues");
        self.head = end;
    }

    fn keep(&mut self, log: &dyn EventLog) {
        if self.head > 0 {
            let mut kept = checkpoint(self.name, self.so_far(), 3);
            kept.epoch = self.epoch.clone();
            self.ticket = log.keep(kept);
        }
    }

    fn read(&self, log: &dyn EventLog, after: u64, limit: usize) {
        let skipped = usize::try_from(after).expect("small");
        let expected: Vec<_> = self.so_far().iter().skip(skipped).take(limit).cloned().collect();
        match log.read(&id(self.name), after, limit) {
            Ok(page) => assert_eq!(page.envelopes, expected),
            Err(error) => assert!(error == LogError::Unknown && expected.is_empty(), "{error}"),
        }
    }

    /// Loads the conversation, which must have at least `at_least` events, and continues from there.
    fn load(&mut self, log: &dyn EventLog, at_least: usize) {
        let Some(found) = log.load(&id(self.name)).expect("readable") else {
            assert_eq!(at_least, 0);
            (self.head, self.ticket) = (0, Ticket(0));
            return;
        };
        let head = usize::try_from(found.position.seq).expect("small");
        assert!(at_least <= head && head <= self.head, "{at_least} <= {head}");
        (self.epoch, self.head, self.ticket) = (found.position.epoch, head, Ticket(0));
        self.stored = head;
        assert_eq!(found.view, testkit::folded(self.so_far()));
    }
}

/// A log, and what must be in it.
struct ExpectedLog<'a> {
    place: &'a dyn LogPlace,
    log: Option<Box<dyn EventLog>>,
    first: WrittenConversation,
    second: WrittenConversation,
    /// Removals that a crash may undo.
    removals: Vec<Ticket>,
}

impl ExpectedLog<'_> {
    fn apply(&mut self, step: Step) {
        match step {
            Step::Append { which, events } => self.on(which, |told, log| told.append(log, events)),
            Step::Keep(which) => self.on(which, WrittenConversation::keep),
            Step::Read { which, after, limit } => self.on(which, |told, log| told.read(log, after, limit)),
            Step::Load(which) => self.on(which, |told, log| told.load(log, told.head)),
            Step::Wait => {
                for which in [TestConversation::First, TestConversation::Second] {
                    self.on(which, |told, log| {
                        stored(log, told.ticket);
                        told.stored = told.head;
                    });
                }
            }
            Step::Remove(which) => {
                let removal = self.on(which, |told, log| {
                    let ticket = log.remove(&id(told.name));
                    let epoch = Epoch::new(&clock::fresh_name());
                    (told.epoch, told.head, told.stored, told.ticket) = (epoch, 0, 0, ticket);
                    ticket
                });
                self.removals.push(removal);
            }
            Step::Close => self.close(),
            Step::Crash => self.crash(),
        }
    }

    fn on<T>(
        &mut self,
        which: TestConversation,
        act: impl FnOnce(&mut WrittenConversation, &dyn EventLog) -> T,
    ) -> T {
        let log = self.log.as_deref().expect("it is open between two restarts");
        act(if matches!(which, TestConversation::First) { &mut self.first } else { &mut self.second }, log)
    }

    fn close(&mut self) {
        self.removals.clear();
        self.on(TestConversation::First, |_, log| log.close().expect("everything is written"));
        for told in [&mut self.first, &mut self.second] {
            told.stored = told.head;
        }
        for (which, epoch, _) in self.reopen() {
            self.on(which, |told, _| {
                assert!(told.epoch == epoch || told.head == 0, "the epoch changed without need");
            });
        }
    }

    fn crash(&mut self) {
        // Only a stored removal survives a crash.
        for removal in std::mem::take(&mut self.removals) {
            self.on(TestConversation::First, |_, log| stored(log, removal));
        }
        for (which, epoch, head) in self.reopen() {
            self.on(which, |told, _| {
                assert!(told.epoch != epoch || head == 0 || told.head == 0, "the epoch stayed");
            });
        }
    }

    /// Opens the log again and loads both conversations. Returns their epochs and heads before.
    fn reopen(&mut self) -> [(TestConversation, Epoch, usize); 2] {
        // The old handle must release the place first.
        self.log = None;
        self.log = Some(self.place.open());
        [TestConversation::First, TestConversation::Second].map(|which| {
            self.on(which, |told, log| {
                let before = (which, told.epoch.clone(), told.head);
                told.load(log, told.stored);
                before
            })
        })
    }
}

/// Tries `histories` random histories on a log of this kind, each in a new place.
///
/// # Panics
/// If one of them fails, with the steps that lead there.
pub fn run_histories(kind: LogKind, place: &dyn Fn() -> Box<dyn LogPlace>, histories: u32) {
    let mut runner =
        TestRunner::new(Config { cases: histories, failure_persistence: None, ..Config::default() });
    let steps = proptest::collection::vec(step(kind), 1..STEPS_MAX);
    let input = (testkit::history(120), testkit::history(120), steps);
    let tried = runner.run(&input, |(first, second, steps)| {
        let place = place();
        let (first, second) = (WrittenConversation::of("c", first), WrittenConversation::of("d", second));
        let log = Some(place.open());
        let mut model = ExpectedLog { place: place.as_ref(), log, first, second, removals: Vec::new() };
        for step in steps {
            model.apply(step);
        }
        Ok::<(), TestCaseError>(())
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
}
