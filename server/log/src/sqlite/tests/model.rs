//! Random sequences of everything that a log does, against a list in memory. Whatever the order and wherever it dies: what
//! was stored is there, in order, once, and nothing else.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Append { name: usize, events: usize },
    Keep(usize),
    Read { name: usize, after: u64, limit: usize },
    Load(usize),
    Wait,
    Remove(usize),
    Close,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..NAMES.len(), 0_usize..9).prop_map(|(name, events)| Step::Append { name, events }),
        2 => (0..NAMES.len()).prop_map(Step::Keep),
        4 => (0..NAMES.len(), 0_u64..60, 1_usize..20).prop_map(|(name, after, limit)| Step::Read { name, after, limit }),
        2 => (0..NAMES.len()).prop_map(Step::Load),
        1 => Just(Step::Wait),
        1 => (0..NAMES.len()).prop_map(Step::Remove),
        1 => Just(Step::Close),
        2 => Just(Step::Crash),
    ]
}

const NAMES: [&str; 2] = ["c", "d"];

/// A conversation as whoever writes it knows it.
#[derive(Clone)]
struct Told {
    epoch: Epoch,
    head: usize,
    ticket: Ticket,
}

struct Model {
    disk: Disk,
    log: Option<SqliteLog>,
    histories: [Vec<Arc<Envelope>>; 2],
    told: [Told; 2],
    /// Removals that may be lost in a crash.
    removals: Vec<Ticket>,
    /// How much was certainly stored.
    stored: [usize; 2],
}

impl Model {
    fn new(histories: [Vec<Arc<Envelope>>; 2]) -> Self {
        let disk = Disk::new();
        let log = Some(disk.open());
        let none = Told { epoch: Epoch::new("e0"), head: 0, ticket: Ticket(0) };
        Self { disk, log, histories, told: [none.clone(), none], removals: Vec::new(), stored: [0, 0] }
    }

    fn log(&self) -> &SqliteLog {
        self.log.as_ref().unwrap()
    }

    fn so_far(&self, name: usize) -> &[Arc<Envelope>] {
        &self.histories[name][..self.told[name].head]
    }

    fn settle(&mut self) {
        for (told, certain) in self.told.iter().zip(&mut self.stored) {
            stored(self.log.as_ref().unwrap(), told.ticket);
            *certain = told.head;
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Append { name, events } => self.append(name, events),
            Step::Keep(name) if self.told[name].head > 0 => {
                let mut kept = checkpoint(NAMES[name], self.so_far(name), 3);
                kept.epoch = self.told[name].epoch.clone();
                self.told[name].ticket = self.log().keep(kept);
            }
            Step::Keep(_) => {}
            Step::Read { name, after, limit } => {
                let expected: Vec<_> = self
                    .so_far(name)
                    .iter()
                    .skip(usize::try_from(after).unwrap())
                    .take(limit)
                    .cloned()
                    .collect();
                match self.log().read(&id(NAMES[name]), after, limit) {
                    Ok(page) => assert_eq!(page.envelopes, expected),
                    Err(error) => assert!(error == LogError::Unknown && expected.is_empty(), "{error}"),
                }
            }
            Step::Load(name) => {
                let head = self.told[name].head;
                self.load(name, head);
            }
            Step::Wait => self.settle(),
            Step::Remove(name) => {
                let ticket = self.log().remove(&id(NAMES[name]));
                self.removals.push(ticket);
                self.told[name] = Told { epoch: Epoch::new(&clock::fresh_name()), head: 0, ticket };
                self.stored[name] = 0;
            }
            Step::Close => {
                self.removals.clear();
                self.log().close().unwrap();
                self.stored = [self.told[0].head, self.told[1].head];
                let epochs = [self.told[0].epoch.clone(), self.told[1].epoch.clone()];
                self.reopen();
                for (told, epoch) in self.told.iter().zip(epochs) {
                    assert!(told.epoch == epoch || told.head == 0, "the epoch changed without need");
                }
            }
            Step::Crash => {
                // Only a removal that was stored stays one.
                let before: Vec<_> = self.told.iter().map(|told| (told.epoch.clone(), told.head)).collect();
                self.settle_removals();
                self.reopen();
                for (told, (epoch, head)) in self.told.iter().zip(before) {
                    assert!(told.epoch != epoch || head == 0 || told.head == 0, "the epoch stayed");
                }
            }
        }
    }

    fn settle_removals(&mut self) {
        for removal in std::mem::take(&mut self.removals) {
            stored(self.log(), removal);
        }
    }

    fn append(&mut self, name: usize, events: usize) {
        let told = &mut self.told[name];
        let history = &self.histories[name];
        let end = (told.head + events).min(history.len());
        let after = Position { epoch: told.epoch.clone(), seq: told.head as u64 };
        let id = id(NAMES[name]);
        let mark = Some(Mark { publisher: "p".into(), epoch: 1, seq: after.seq });
        let append = Append { mark, ..Append::of(&id, &after, &history[told.head..end]) };
        told.ticket = self.log.as_ref().unwrap().append(append).unwrap();
        told.head = end;
    }

    fn reopen(&mut self) {
        // The old one must let go of the file first.
        self.log = None;
        self.log = Some(self.disk.open());
        for name in 0..NAMES.len() {
            let at_least = self.stored[name];
            self.load(name, at_least);
        }
    }

    /// Loads a conversation that has at least so many events, and goes on from there.
    fn load(&mut self, name: usize, at_least: usize) {
        let Some(found) = self.log().load(&id(NAMES[name])).unwrap() else {
            assert_eq!(at_least, 0);
            (self.told[name].head, self.told[name].ticket) = (0, Ticket(0));
            return;
        };
        let head = usize::try_from(found.position.seq).unwrap();
        assert!(at_least <= head && head <= self.told[name].head, "{at_least} <= {head}");
        self.told[name] = Told { epoch: found.position.epoch, head, ticket: Ticket(0) };
        self.stored[name] = head;
        assert_eq!(found.view, testkit::folded(self.so_far(name)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn i1_whatever_happens_what_was_stored_is_there_in_order_once(
        histories in [testkit::history(120), testkit::history(120)],
        steps in proptest::collection::vec(step(), 1..50),
    ) {
        let mut model = Model::new(histories);
        for step in steps {
            model.apply(step);
        }
    }
}
