//! What tokens with a budget spend by calls with the hub's keys: counted in memory, and kept in
//! `spending.json` in the data folder, for its owner alone. Each hub counts what goes through it.
//!
//! ```text
//! begin(token) ─▶ OpenCall ─▶ charge(cost)      within a second: spending.json
//!     │ over the budget, or too many calls at once
//! ```
//!
//! A call is charged when its answer is over, since only then its cost is known. So a budget is passed by at
//! most what the calls cost that are open when it is used up, which are at most [`BUDGETED_CALLS_MAX`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::{Budget, Hash, InUse, Spending, Spent, TokenRecord, Tokens};
use model::event::Cost;
use model::limits::BUDGETED_CALLS_MAX;
use parking_lot::Mutex;

use super::bounds::{Seat, seat};
use super::store::{StoreError, read, replace, shown};
use event_log::clock;

/// The file in the data folder.
const FILE: &str = "spending.json";

/// Counts what tokens spend. One for each hub, owned by the gate. Its locks are held for moments, and none
/// while the file is written.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    spending: Mutex<Spending>,
    /// Whether anything was spent since the file was written.
    is_changed: AtomicBool,
    /// Calls that go on, by token.
    open: Arc<Mutex<InUse<Hash>>>,
}

/// Why a call is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotLent {
    /// The budget is used up, until this moment (milliseconds since 1970) or for ever.
    Spent { spent: Spent, until: Option<u64> },
    /// As many calls of the token go on as may.
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
    let path = folder.join(FILE);
    let Some(text) = read(&path)? else { return Ok(Spending::default()) };
    Spending::read(&text).map_err(|error| StoreError::Spending { path: shown(&path), error })
}

impl Ledger {
    /// Reads what was spent before. Fails if the file cannot be read: a hub that forgets what was spent would
    /// let it be spent again.
    pub(super) fn open(folder: &Path, tokens: &Tokens) -> Result<Self, StoreError> {
        let mut spending = spending(folder)?;
        spending.keep(tokens);
        Ok(Self {
            path: folder.join(FILE),
            spending: Mutex::new(spending),
            is_changed: AtomicBool::new(false),
            open: Arc::new(Mutex::new(InUse::new(BUDGETED_CALLS_MAX))),
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
        self.spending.lock().add(&call.token, &call.budget, charged, clock::now_ms());
        self.is_changed.store(true, Ordering::Release);
    }

    /// What a token has spent of `budget` in the present period.
    pub(crate) fn of(&self, record: &TokenRecord, budget: &Budget) -> Spent {
        self.spending.lock().of(&record.hash, budget, clock::now_ms())
    }

    /// Writes the file if anything was spent since. Waits for the disk. A failure is logged, and tried again the next
    /// time.
    pub(super) fn save(&self, tokens: &Tokens) {
        if !self.is_changed.swap(false, Ordering::Acquire) {
            return;
        }
        let text = {
            let mut spending = self.spending.lock();
            spending.keep(tokens);
            spending.written()
        };
        if let Err(error) = replace(&self.path, &text) {
            self.is_changed.store(true, Ordering::Release);
            tracing::error!(%error, "what was spent is in memory alone");
        }
    }
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
