//! What every log must do, as one suite: whoever writes a log gives it a [`LogPlace`] and calls [`run`] and [`run_histories`].
//!
//! A case gets a new place with an empty log in it. Cases that need a log which lasts (it lists, searches, loads, and has after a
//! restart what it had before) are left out for one that does not. All that a log may do otherwise is said in the contract
//! ([`crate::EventLog`]); what is not said there is the same for all.

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
mod promises;
mod removing;

pub use histories::run_histories;

/// Cases that run at the same time, each with a log of its own.
const AT_ONCE: usize = 4;

/// A place where one log is: a file, a schema of a database.
pub trait LogPlace: Send {
    /// Opens the log: an empty one the first time, the same one again after that. The one before was closed or dropped.
    fn open(&self) -> Box<dyn EventLog>;
}

/// What a log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// The newest events, as long as the process lives.
    Passing,
    /// Everything, over restarts too; it lists and searches.
    Lasting,
}

/// One rule, with the test of it.
pub(crate) struct Case {
    name: &'static str,
    needs: LogKind,
    run: fn(&mut Trial<'_>),
}

/// Cases of one file: `kind: name, name;`.
macro_rules! cases {
    ($($needs:ident: $($name:ident),+;)+) => {
        /// The cases of this file.
        pub(super) const CASES: &[super::Case] = &[
            $($(super::Case { name: stringify!($name), needs: super::LogKind::$needs, run: $name },)+)+
        ];
    };
}
use cases;

/// A log on trial.
pub(crate) struct Trial<'a> {
    place: &'a dyn LogPlace,
    log: Option<Box<dyn EventLog>>,
}

impl<'a> Trial<'a> {
    fn of(place: &'a dyn LogPlace) -> Self {
        Self { place, log: Some(place.open()) }
    }

    /// The log that is open now.
    fn log(&self) -> &dyn EventLog {
        self.log.as_deref().expect("it is open between two restarts")
    }

    /// Closes the log and opens it again.
    fn restart(&mut self) {
        self.log().close().expect("everything is written");
        self.crash();
    }

    /// Drops the log as a process does that dies, and opens it again.
    fn crash(&mut self) {
        // The old one must let go of the place first.
        self.log = None;
        self.log = Some(self.place.open());
    }
}

/// The cases of all files, one after the other.
fn all() -> impl Iterator<Item = &'static Case> {
    [
        appending::CASES,
        promises::CASES,
        lasting::CASES,
        holes::CASES,
        listing::CASES,
        finding::CASES,
        removing::CASES,
        importing::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Runs all cases that fit a log of this kind, each in a new place, and returns how many.
///
/// # Panics
/// When a case fails: after all have run, with the names of those that failed.
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
                    (case.run)(&mut Trial::of(place.as_ref()));
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
