//! How many transactions of its life a writer knows to be made, and the one of which the database did not say so. Pure: the writer
//! asks the database, and tells what it found.
//!
//! ```text
//! sent ──▶ made                       the next one has the next number
//!   │ ├──▶ not made                   the same number again
//!   │ └──▶ no answer ──▶ in doubt ──▶ the database is asked how many there are: made, or the same number again
//! ```

use super::failure::GroupFailure;
use super::plan::PlanEffects;

/// The transactions of a life as its writer counts them. Owned by the writer.
#[derive(Debug, Default)]
pub(super) struct CommitCount {
    /// Transactions that are certain.
    certain: i64,
    /// One that may have been made: its number, and what it did.
    in_doubt: Option<(i64, PlanEffects)>,
    /// Whether the database has ever lost some that were certain.
    has_lost: bool,
}

/// What the database says of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// The transactions that it has counted.
    pub(super) commits: i64,
    /// Whether the life is over.
    pub(super) is_over: bool,
}

impl CommitCount {
    /// Transactions of this life that are certain.
    pub(super) fn certain(&self) -> i64 {
        self.certain
    }

    /// Whether the database has ever lost transactions that were certain: not all that was shown need be stored then.
    pub(super) fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// The number of the transaction that is made next.
    pub(super) fn next(&self) -> i64 {
        self.certain + 1
    }

    /// Whether a transaction may have been made without an answer: it must be looked for before the next is made.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// Notes that the next transaction is sent, which does that. It is in doubt until something else is known.
    pub(super) fn sent(&mut self, effects: PlanEffects) {
        self.in_doubt = Some((self.next(), effects));
    }

    /// The database has made what was sent; what that did.
    pub(super) fn made(&mut self) -> PlanEffects {
        let Some((number, effects)) = self.in_doubt.take() else { return PlanEffects::default() };
        self.certain = number;
        effects
    }

    /// The database has not made what was sent.
    pub(super) fn not_made(&mut self) {
        self.in_doubt = None;
    }

    /// Takes what the database has counted while a transaction was in doubt: what that one did, if it was made. Fails if the life is
    /// over.
    pub(super) fn settle(&mut self, counted: Counted) -> Result<Option<PlanEffects>, GroupFailure> {
        self.count(counted)?;
        match self.in_doubt.take() {
            Some((number, effects)) if number == counted.commits => {
                tracing::info!(commit = number, "the transaction was made");
                self.certain = number;
                Ok(Some(effects))
            }
            _ => Ok(None),
        }
    }

    /// Takes what the database has counted after its fence let nothing through. Returns why the group was not written.
    pub(super) fn recount(&mut self, counted: Counted) -> GroupFailure {
        if let Err(failure) = self.count(counted) {
            return failure;
        }
        self.certain = counted.commits;
        GroupFailure::Passing {
            code: "disk_failing",
            what: String::from("the transactions of the log were counted anew"),
        }
    }

    /// Compares a count of the database with this one. Fails if the life is over.
    fn count(&mut self, Counted { commits, is_over }: Counted) -> Result<(), GroupFailure> {
        if is_over {
            return Err(GroupFailure::Over);
        }
        if commits < self.certain {
            let missing = self.certain - commits;
            tracing::error!(
                missing,
                "the database has lost transactions that it had made; what was acked with them is missing"
            );
            self.certain = commits;
            self.has_lost = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Counted = Counted { commits: 1, is_over: false };

    #[test]
    fn a_transaction_without_an_answer_counts_where_the_database_has_it() {
        let mut count = CommitCount::default();
        count.sent(PlanEffects { made: 7, ..PlanEffects::default() });
        assert!(count.is_in_doubt());
        let found = count.settle(ONE).ok().flatten().map(|effects| effects.made);
        assert_eq!((found, count.certain(), count.is_in_doubt()), (Some(7), 1, false));
        count.sent(PlanEffects::default());
        assert!(count.settle(ONE).ok().flatten().is_none());
        assert_eq!((count.next(), count.is_in_doubt()), (2, false));
    }

    #[test]
    fn what_the_database_lost_is_counted_anew_and_a_life_that_is_over_counts_nothing() {
        let mut count = CommitCount::default();
        for _ in 0..3 {
            count.sent(PlanEffects::default());
            count.made();
        }
        assert!(!count.has_lost());
        assert!(matches!(count.recount(ONE), GroupFailure::Passing { .. }));
        assert_eq!(count.next(), 2);
        assert!(count.has_lost());
        assert!(matches!(count.recount(Counted { is_over: true, ..ONE }), GroupFailure::Over));
    }
}
