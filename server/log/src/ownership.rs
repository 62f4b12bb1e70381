//! Decides which hub has a conversation, where several share a log: from the rows, without I/O.
//!
//! ```text
//!             nobody ──claim──▶ had by life A ──A's lease runs out, or A ends──▶ claimed by life B, A is over
//!                                  │  ▲
//!                                  └──┘ renewed by A, by the database's clock
//! ```
//!
//! The lease belongs to the life of a hub and not to each conversation. A life ends in one of two ways: it says so itself, when everything
//! is written, or another life that wants one of its conversations says so, once its lease has run out. From then on its fence lets no
//! transaction through, however late it wakes. So it may go on to believe that it has a conversation, and write nothing.

use std::sync::Arc;

/// The owner of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// This hub; or no hub, if the conversation does not exist and was only looked for: then this hub may answer.
    Here,
    /// The hub that other hubs reach under this URL. It holds until its life ends or its lease runs out, so
    /// it must be asked for again when that hub does not answer.
    Elsewhere(Arc<str>),
}

/// Why a conversation is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To read or delete what there is of it: it is taken if it exists and nobody has it; a name that nobody has written to stays free.
    Find,
    /// To write to it, or to wait for what comes.
    Make,
}

/// The outcome for a conversation that a hub was about to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeavingEnd {
    /// The conversation was given up.
    Gone,
    /// The conversation stays.
    Stays,
}

/// A life as the database has it, at one moment of its clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LifeRow {
    /// The number of the life; each start of a hub has a higher one.
    pub(crate) number: i64,
    /// The life has ended, or another life has ended it.
    pub(crate) is_over: bool,
    /// The lease has run out, as the life that claims from it may judge: that one has renewed its own in time for as long as a lease (`who!` in
    /// `postgres/claims.rs`).
    pub(crate) is_expired: bool,
    /// The life has written everything before it ended.
    pub(crate) ended_well: bool,
    /// The address under which other hubs reach it; `None` for one that is alone.
    pub(crate) address: Option<Arc<str>>,
    /// The timeline of the database on which it ended well or gave the conversation up; nothing where that is not known.
    pub(crate) left_on: Option<i64>,
    /// The timeline of the database now; nothing where the database does not say. Each promotion of a standby begins a new one.
    pub(crate) timeline: Option<i64>,
}

/// The decision about a claim to own a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnershipDecision {
    /// The claimant has it already.
    Held,
    /// The conversation goes to the claimant.
    Take {
        /// The life that must be ended in the same transaction.
        ends: Option<i64>,
        /// Whether all that was shown of it is stored.
        past: Handover,
    },
    /// Another hub has the conversation; the value is its address.
    Follow(Arc<str>),
    /// Another hub has it that cannot be reached: it is alone on the database.
    Closed,
}

/// What is known of a conversation's past when it gets a new owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    /// The last owner has written all that it had shown, and nobody has had the conversation since.
    Whole,
    /// Somebody may have shown what is not stored: it goes on in a new epoch.
    Torn,
}

/// What becomes of the claim of life `me`, where `owner` has the conversation.
pub(crate) fn decide_ownership(me: i64, owner: &LifeRow) -> OwnershipDecision {
    if owner.number == me {
        return OwnershipDecision::Held;
    }
    if owner.is_over {
        // After a promotion nobody knows whether somebody had it in between: a standby that lacked the claim lacked what was shown, too. A database
        // that never says its timeline is taken to have had none, or nothing could ever be handed over in the same epoch there.
        let is_whole = owner.ended_well && owner.left_on == owner.timeline;
        let past = if is_whole { Handover::Whole } else { Handover::Torn };
        return OwnershipDecision::Take { ends: None, past };
    }
    if owner.is_expired {
        return OwnershipDecision::Take { ends: Some(owner.number), past: Handover::Torn };
    }
    owner
        .address
        .as_ref()
        .map_or(OwnershipDecision::Closed, |address| OwnershipDecision::Follow(Arc::clone(address)))
}

/// The answer to a life that tries to renew its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseRenewal {
    /// The life goes on.
    Lives,
    /// Another life has ended it: nothing is written here any more.
    StepsDown,
}

/// What the number of lives that the renewal changed says: one if this life is still open, none if another
/// ended it.
pub(crate) fn renewal(renewed: u64) -> LeaseRenewal {
    if renewed == 1 { LeaseRenewal::Lives } else { LeaseRenewal::StepsDown }
}

#[cfg(test)]
mod tests;
