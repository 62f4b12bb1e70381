//! The rules that every log must keep, as one suite of tests. The author of a log gives it a [`LogPlace`] and
//! calls [`run`] and [`run_histories`].
//!
//! Each case gets a new place with an empty log. Cases for logs that keep everything (they list, search,
//! load, and have after a restart what they had before) are left out for a log that does not. The contract
//! ([`crate::EventLog`]) names everything in which logs may differ; all other behaviour is the same for all.
//!
//! | file | rules |
//! |---|---|
//! | `appending` | events come back as they were given, in order and without a hole; conflicts change nothing |
//! | `promises` | tickets, progress and durability (I9) |
//! | `lasting` | what a log has when it is opened again: states, marks (I10), epochs (I9) |
//! | `holes` | what happens to events for which the queue has no room (I7) |
//! | `listing`, `finding`, `narrowing`, `measuring` | the list and figures of tools; searches, and what they are narrowed to; sums of measurements |
//! | `removing`, `importing` | removal, attached results and retention; imports that are whole or absent |
//! | `histories` | random sequences of all operations, with crashes, against a model |
//! | `material` | the events and helpers of all cases |

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::EventLog;

mod appending;
mod finding;
mod histories;
mod holes;
mod importing;
mod lasting;
mod listing;
mod material;
mod measuring;
mod narrowing;
mod promises;
mod removing;

pub use histories::run_histories;
#[cfg(test)]
pub(crate) use material::document;

/// How many cases run at the same time, each with a log of its own.
const AT_ONCE: usize = 4;

/// The place of one log, such as a file or a schema of a database.
pub trait LogPlace: Send {
    /// Opens the log: an empty one the first time, later the same one. The previous handle was closed or
    /// dropped.
    fn open(&self) -> Box<dyn EventLog>;
}

/// The kinds of logs, by how much they keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// The newest events, while the process lives.
    Passing,
    /// Everything, also over restarts; it lists and searches.
    Lasting,
}

/// A rule, with its test.
pub(crate) struct Case {
    /// The name of its function, by which a failure is reported.
    name: &'static str,
    /// The kind of log that it is for; a lasting log runs the cases of both kinds.
    needs: LogKind,
    /// Panics where the log breaks the rule.
    run: fn(&mut LogUnderTest<'_>),
}

/// Declares the cases of a file: `kind: name, name;`.
macro_rules! cases {
    ($($needs:ident: $($name:ident),+;)+) => {
        /// The cases of this file.
        pub(super) const CASES: &[super::Case] = &[
            $($(super::Case { name: stringify!($name), needs: super::LogKind::$needs, run: $name },)+)+
        ];
    };
}
use cases;

/// A log under test, and the place where it can be opened again.
pub(crate) struct LogUnderTest<'a> {
    place: &'a dyn LogPlace,
    /// `None` only while it is being opened again.
    log: Option<Box<dyn EventLog>>,
}

impl<'a> LogUnderTest<'a> {
    /// Opens the log of a new place.
    fn of(place: &'a dyn LogPlace) -> Self {
        Self { place, log: Some(place.open()) }
    }

    /// The log that is open.
    fn log(&self) -> &dyn EventLog {
        self.log.as_deref().expect("it is open between two restarts")
    }

    /// Closes the log and opens it again.
    fn restart(&mut self) {
        self.log().close().expect("everything is written");
        self.crash();
    }

    /// Drops the log, as a process does that dies, and opens it again.
    fn crash(&mut self) {
        // The old handle must release the place first.
        self.log = None;
        self.log = Some(self.place.open());
    }
}

/// The cases of all files.
fn all() -> impl Iterator<Item = &'static Case> {
    [
        appending::CASES,
        promises::CASES,
        lasting::CASES,
        holes::CASES,
        listing::CASES,
        finding::CASES,
        narrowing::CASES,
        removing::CASES,
        importing::CASES,
        measuring::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Runs all cases for a log of this kind, each in a new place, and returns their number.
///
/// # Panics
/// If a case fails: after all have run, with the names of those that failed.
pub fn run(kind: LogKind, place: &(dyn Fn() -> Box<dyn LogPlace> + Sync)) -> usize {
    let cases: Vec<_> =
        all().filter(|case| case.needs == LogKind::Passing || kind == LogKind::Lasting).collect();
    let next = AtomicUsize::new(0);
    let failed = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tried = catch_unwind(AssertUnwindSafe(|| {
                    let place = place();
                    (case.run)(&mut LogUnderTest::of(place.as_ref()));
                }));
                failed.extend(tried.is_err().then_some(case.name));
            }
            failed
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("panics are caught")).collect::<Vec<_>>()
    });
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:?}", failed.len(), cases.len());
    cases.len()
}
