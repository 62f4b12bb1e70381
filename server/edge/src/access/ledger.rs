//! What tokens with a budget spend by calls with the hub's keys: counted in memory, and kept in
//! `spending.json` in the data folder, for its owner alone. Hubs that share a log add it up there.
//!
//! ```text
//! begin(token) ─▶ OpenCall ─▶ charge(cost)      within a second: spending.json, and the sum of all hubs
//!     │ over the budget, or too many calls at once
//!
//! charge ─▶ unsent ─▶ spending.unsent.json ─▶ (also after a restart) sum of all hubs ─▶ no longer unsent
//! ```
//!
//! A call is charged when its answer is over, since only then its cost is known. So a budget is passed by at
//! most what the calls cost that are open when it is used up, which are at most [`BUDGETED_CALLS_MAX`] at each hub, and what ended at other hubs
//! since this one has last met them, a second ago. While the database is away each hub goes on from the sum that it knew, and what it charges is
//! in a file until the database has it. Lost is what was charged within a second before a hub is killed; charged twice is what the database took
//! in the moment in which it is killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use access::{Budget, Hash, Spending, Spent, TokenRecord, Tokens, UseCounts};
use event_log::{LogError, SharedAccess, StoredSpending, blocking};
use model::event::{Cost, Currency};
use model::limits::BUDGETED_CALLS_MAX;
use parking_lot::Mutex;

use super::bounds::{Seat, seat};
use super::store::{StoreError, read, remove, replace, shown};
use event_log::clock;

/// The file in the data folder.
const FILE: &str = "spending.json";

/// The file beside it with what other hubs do not know yet. There is none where that is nothing.
const UNSENT_FILE: &str = "spending.unsent.json";

/// The time between two looks which tokens no hub has any more.
const TRIM_EVERY: Duration = Duration::from_hours(1);

/// Counts what tokens spend. One for each hub, owned by the gate. Its locks are held for moments, and none
/// while the file is written.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    unsent_path: PathBuf,
    spending: Mutex<Spending>,
    /// What of that the other hubs do not know yet, as far as this hub knows; nothing for a hub that has always been alone. Locked after
    /// `spending`.
    unsent: Mutex<Spending>,
    /// What the file of it has. Held while it is written, so that an older one does not replace a newer one.
    unsent_saved: Mutex<Spending>,
    /// Held while other hubs are told, so that nothing is told twice. When it was last looked which tokens there are.
    meeting: Mutex<Option<Instant>>,
    /// Whether other hubs are told.
    is_shared: AtomicBool,
    /// Whether they could not be told the last time.
    is_failing: AtomicBool,
    /// Whether anything was spent since the file was written.
    is_changed: AtomicBool,
    /// What the file has, if this hub has written it.
    saved: Mutex<String>,
    /// Calls that go on, by token.
    open: Arc<Mutex<UseCounts<Hash>>>,
}

/// Why a call is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotLent {
    /// The budget is used up, until this moment (milliseconds since 1970) or for ever.
    Spent { spent: Spent, until: Option<u64> },
    /// As many calls of the token go on as may at a time.
    Busy,
}

/// A call that goes on and is charged to a budget. Dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct OpenCall {
    token: Hash,
    budget: Budget,
    _seat: Seat<Hash>,
}

impl OpenCall {
    /// The budget to which the call is charged.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }
}

/// What the tokens of the data folder `folder` have spent, for `fanlight token list`. Fails if the file cannot be read.
pub fn spending(folder: &Path) -> Result<Spending, StoreError> {
    spending_in(&folder.join(FILE))
}

/// What a file says; nothing where there is none.
fn spending_in(path: &Path) -> Result<Spending, StoreError> {
    let Some(text) = read(path)? else { return Ok(Spending::default()) };
    Spending::read(&text).map_err(|error| StoreError::Spending { path: shown(path), error })
}

impl Ledger {
    /// Reads what was spent before. Fails if a file cannot be read: a hub that forgets what was spent would
    /// let it be spent again.
    pub(super) fn open(folder: &Path, tokens: &Tokens) -> Result<Self, StoreError> {
        let unsent_path = folder.join(UNSENT_FILE);
        let (mut spending, unsent) = (spending(folder)?, spending_in(&unsent_path)?);
        spending.keep(tokens);
        Ok(Self {
            path: folder.join(FILE),
            unsent_path,
            spending: Mutex::new(spending),
            unsent: Mutex::new(unsent.clone()),
            unsent_saved: Mutex::new(unsent),
            meeting: Mutex::default(),
            is_shared: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            is_changed: AtomicBool::new(false),
            saved: Mutex::default(),
            open: Arc::new(Mutex::new(UseCounts::new(BUDGETED_CALLS_MAX))),
        })
    }

    /// Begins a call that is charged to `budget` of `record`. Fails if that is used up, and for too many calls at
    /// once.
    pub(crate) fn begin(&self, record: &TokenRecord, budget: Budget) -> Result<OpenCall, NotLent> {
        let now = clock::now_ms();
        let spent = self.spending.lock().of(&record.hash, &budget, now);
        if spent.cost.picos() >= budget.limit.picos() {
            return Err(NotLent::Spent { spent, until: budget.period.next(now) });
        }
        let seat = seat(&self.open, record.hash).ok_or(NotLent::Busy)?;
        Ok(OpenCall { token: record.hash, budget, _seat: seat })
    }

    /// Charges a call with what it costs, and whether that is an estimate, since the vendor did not say what it used. It
    /// counts in the period in which it ends.
    pub(crate) fn charge(&self, call: &OpenCall, charged: (Cost, bool)) {
        let now = clock::now_ms();
        let mut spending = self.spending.lock();
        let spent = spending.add(&call.token, &call.budget, charged, now);
        if self.is_shared.load(Ordering::Acquire) {
            self.unsent.lock().join(call.token, spent);
        }
        drop(spending);
        self.is_changed.store(true, Ordering::Release);
    }

    /// What a token has spent of `budget` in the present period.
    pub(crate) fn of(&self, record: &TokenRecord, budget: &Budget) -> Spent {
        self.spending.lock().of(&record.hash, budget, clock::now_ms())
    }

    /// From now on other hubs are told. What the file says counts for tokens of which they know nothing. Waits for the log.
    pub(super) fn bring(&self, shared: &dyn SharedAccess, tokens: &Tokens) -> Result<(), LogError> {
        let mut own = self.spending.lock().clone();
        // That is told by itself.
        own.subtract(&self.unsent.lock());
        blocking(|| shared.adopt_spending(&stored(&own), clock::now_ms()))?;
        self.is_shared.store(true, Ordering::Release);
        self.tell(shared, tokens)
    }

    /// Tells other hubs what was spent here, and takes over what was spent in all. Waits for the log; a failure is logged, and tried again the
    /// next time, also after a restart.
    pub(super) fn meet(&self, shared: &dyn SharedAccess, tokens: &Tokens) {
        let told = self.tell(shared, tokens);
        let was_failing = self.is_failing.swap(told.is_err(), Ordering::AcqRel);
        if let Err(error) = told {
            if was_failing {
                tracing::debug!(%error, "other hubs were still not told what was spent");
            } else {
                tracing::warn!(%error, "other hubs were not told what was spent; this is tried again");
            }
            self.save_unsent();
        }
    }

    /// Tells other hubs what they do not know yet. Waits for the log if there is anything.
    pub(super) fn tell_rest(&self, shared: &dyn SharedAccess, tokens: &Tokens) {
        if !self.unsent.lock().is_empty() {
            self.meet(shared, tokens);
        }
    }

    fn tell(&self, shared: &dyn SharedAccess, tokens: &Tokens) -> Result<(), LogError> {
        // Whoever has the turn may wait for the log.
        let mut trimmed = blocking(|| self.meeting.lock());
        let (told, now) = (self.unsent.lock().clone(), clock::now_ms());
        let all = blocking(|| shared.charge(&stored(&told), now))?;
        self.take(all, &told);
        if !self.unsent_saved.lock().is_empty() {
            self.save_unsent();
        }
        if trimmed.is_none_or(|at| at.elapsed() >= TRIM_EVERY) {
            let known: Vec<_> = tokens.all().map(|record| String::from(record.hash)).collect();
            match blocking(|| shared.trim_spending(&known, now)) {
                Ok(()) => *trimmed = Some(Instant::now()),
                Err(error) => tracing::debug!(%error, "what old tokens spent stays for now"),
            }
        }
        Ok(())
    }

    /// Takes over what was spent in all, among it what was `told` just now. To it comes what the others were not told yet.
    fn take(&self, all: Vec<StoredSpending>, told: &Spending) {
        let mut spending = self.spending.lock();
        let before = spending.clone();
        let all: Vec<_> = all.into_iter().filter_map(read_stored).collect();
        let is_known: BTreeSet<Hash> = all.iter().map(|(token, _)| *token).collect();
        for token in &is_known {
            spending.forget(token);
        }
        for (token, spent) in all {
            spending.join(token, spent);
        }
        let mut unsent = self.unsent.lock();
        unsent.subtract(told);
        // A token that was charged for the first time while the log answered is not among all.
        let known: Vec<Hash> =
            unsent.all().map(|(token, _)| *token).filter(|token| !is_known.contains(token)).collect();
        for token in &known {
            spending.forget(token);
        }
        for (token, spent) in unsent.all() {
            spending.join(*token, *spent);
        }
        if *spending != before {
            self.is_changed.store(true, Ordering::Release);
        }
    }

    /// Writes what other hubs do not know yet, so that it outlives this hub. Waits for the disk. A failure is logged, and tried again the next
    /// time.
    fn save_unsent(&self) {
        let mut saved = self.unsent_saved.lock();
        let unsent = self.unsent.lock().clone();
        if *saved == unsent {
            return;
        }
        let written = if unsent.is_empty() {
            remove(&self.unsent_path)
        } else {
            replace(&self.unsent_path, &unsent.written())
        };
        match written {
            Ok(()) => *saved = unsent,
            Err(error) => {
                tracing::error!(%error, "what was spent and other hubs do not know is in memory alone");
            }
        }
    }

    /// Writes the files if anything was spent since. Waits for the disk. A failure is logged, and tried again the next
    /// time.
    pub(super) fn save(&self, tokens: &Tokens) {
        self.save_unsent();
        if !self.is_changed.swap(false, Ordering::Acquire) {
            return;
        }
        let text = {
            let mut spending = self.spending.lock();
            spending.keep(tokens);
            spending.written()
        };
        let mut saved = self.saved.lock();
        if *saved == text {
            return;
        }
        if let Err(error) = replace(&self.path, &text) {
            self.is_changed.store(true, Ordering::Release);
            tracing::error!(%error, "what was spent is in memory alone");
        } else {
            *saved = text;
        }
    }
}

/// What was spent as the log keeps it.
fn stored(spending: &Spending) -> Vec<StoredSpending> {
    let row = |(token, spent): (&Hash, &Spent)| StoredSpending {
        token: String::from(*token),
        since: spent.since,
        currency: spent.cost.currency().as_str().to_owned(),
        picos: spent.cost.picos(),
        calls: spent.calls,
        estimated: spent.estimated,
    };
    spending.all().map(row).collect()
}

/// What a row of the log says; nothing for one that a later version wrote in another way.
fn read_stored(row: StoredSpending) -> Option<(Hash, Spent)> {
    let StoredSpending { token, since, currency, picos, calls, estimated } = row;
    let cost = Cost::new(picos, Currency::parse(&currency)?);
    Some((Hash::try_from(token).ok()?, Spent { since, cost, calls, estimated }))
}

#[cfg(test)]
mod tests {
    //! Tests of what is kept, and of the bounds.

    use access::{NewToken, Secret, SecretKind};

    use super::*;

    fn tokens() -> Tokens {
        let mut tokens = Tokens::default();
        let new = NewToken {
            name: "ci",
            grants: vec!["publish:*".parse().unwrap()],
            role: None,
            upstreams: vec!["*".into()],
            budget: Some("1usd".parse().unwrap()),
            lives_ms: None,
        };
        tokens.create(new, Secret::mint(SecretKind::Token, &[1; 32]).hash(), 0).unwrap();
        tokens
    }

    #[test]
    fn what_was_spent_is_known_after_a_restart_and_bars_the_next_call() {
        let (place, tokens) = (tempfile::tempdir().unwrap(), tokens());
        let record = tokens.all().next().unwrap();
        let budget = record.budget.unwrap();
        let ledger = Ledger::open(place.path(), &tokens).unwrap();
        let call = ledger.begin(record, budget).unwrap();
        ledger.charge(&call, (budget.limit, true));
        assert_eq!(spending(place.path()).unwrap(), Spending::default(), "not written yet");
        ledger.save(&tokens);
        let again = Ledger::open(place.path(), &tokens).unwrap();
        let spent = again.of(record, &budget);
        assert_eq!((spent.cost, spent.calls, spent.estimated), (budget.limit, 1, 1));
        assert_eq!(again.begin(record, budget).unwrap_err(), NotLent::Spent { spent, until: None });
        std::fs::write(place.path().join(FILE), "{").unwrap();
        assert!(Ledger::open(place.path(), &tokens).is_err(), "not begun anew");
    }

    #[test]
    fn i7_a_token_has_so_many_calls_at_once_and_no_more() {
        let (place, tokens) = (tempfile::tempdir().unwrap(), tokens());
        let record = tokens.all().next().unwrap();
        let ledger = Ledger::open(place.path(), &tokens).unwrap();
        let begin = || ledger.begin(record, record.budget.unwrap());
        let mut open: Vec<_> = (0..BUDGETED_CALLS_MAX).map(|_| begin().unwrap()).collect();
        assert_eq!(begin().unwrap_err(), NotLent::Busy);
        open.pop();
        assert!(begin().is_ok());
    }
}
