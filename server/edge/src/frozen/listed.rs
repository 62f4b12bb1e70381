//! The copies behind frozen links as the list has them, those of other hubs too.

use std::collections::BTreeMap;

use event_log::{ListQuery, LogError};
use hub::Hub;
use model::ConversationId;
use model::event::RunStatus;

use super::TAG;

/// Most rows of the list that are read at once.
const ROWS_AT_ONCE: usize = 500;

/// The state of a copy, as its row in the list says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyState {
    /// A run of it may go on.
    MayGoOn,
    /// The only run of the copy has ended, so nothing is ever written to it again.
    Ended,
}

impl CopyState {
    /// Of what a row says: the status of the newest run alone, and how many runs there are.
    fn of(newest: Option<RunStatus>, runs: u64) -> Self {
        let has_ended = newest.is_some_and(|state| state != RunStatus::Running);
        if has_ended && runs == 1 { Self::Ended } else { Self::MayGoOn }
    }
}

/// All copies that there are, and whether they may go on. Waits for the disk.
pub(super) fn all(hub: &Hub) -> Result<BTreeMap<ConversationId, CopyState>, LogError> {
    let (mut copies, mut after) = (BTreeMap::new(), None);
    loop {
        let query = ListQuery {
            after,
            state: None,
            pinned: None,
            archived: Some(true),
            tag: Some(TAG.into()),
            limit: ROWS_AT_ONCE,
        };
        let page = hub.list(&query)?;
        after = page.rows.last().map(|row| (row.at, row.conversation.clone()));
        let rows = page.rows.into_iter().filter(|row| row.conversation.is_frozen());
        copies.extend(rows.map(|row| (row.conversation.clone(), CopyState::of(row.state, row.runs))));
        if !page.more || after.is_none() {
            return Ok(copies);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of which copies need no more looks.

    use super::*;

    #[test]
    fn a_copy_has_ended_once_its_only_run_has_and_one_with_several_runs_may_go_on() {
        assert_eq!(CopyState::of(Some(RunStatus::Complete), 1), CopyState::Ended);
        assert_eq!(CopyState::of(Some(RunStatus::Interrupted), 1), CopyState::Ended);
        assert_eq!(CopyState::of(Some(RunStatus::Running), 1), CopyState::MayGoOn);
        assert_eq!(
            CopyState::of(Some(RunStatus::Complete), 2),
            CopyState::MayGoOn,
            "the row says nothing of the other one"
        );
        assert_eq!(CopyState::of(None, 0), CopyState::MayGoOn);
    }
}
