//! Which views are written where views are: whoever looks at one conversation again and again is written once in a while, so that looking does
//! not push what others did out of the log.

use std::collections::HashMap;

use compact_str::CompactString;

/// For how long a principal who was written as a viewer of a conversation is not written as that again, in milliseconds.
pub const VIEW_AGAIN_MS: u64 = 10 * 60_000;

/// Most views that are remembered. Beyond, those that are over are forgotten, and then all of them, which writes some of them again.
const REMEMBERED_MAX: usize = 10_000;

/// The views that were written lately. Owned by whoever writes the log.
#[derive(Debug, Default)]
pub struct NotedViews {
    /// When each was written, in milliseconds since 1970, by the name of the principal and that of the conversation.
    at: HashMap<(CompactString, CompactString), u64>,
}

impl NotedViews {
    /// Whether it is written that `who` views `conversation` at `now`, in milliseconds since 1970.
    pub fn take(&mut self, who: &str, conversation: &str, now: u64) -> bool {
        let key = (CompactString::new(who), CompactString::new(conversation));
        // A clock that was set back writes it again.
        let is_fresh = |at: u64| now.abs_diff(at) < VIEW_AGAIN_MS;
        if self.at.get(&key).is_some_and(|at| is_fresh(*at)) {
            return false;
        }
        if self.at.len() >= REMEMBERED_MAX {
            self.at.retain(|_, at| is_fresh(*at));
        }
        if self.at.len() >= REMEMBERED_MAX {
            self.at.clear();
        }
        self.at.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is written of views.

    use super::*;

    #[test]
    fn a_view_is_written_once_in_ten_minutes_for_each_principal_and_conversation() {
        let mut noted = NotedViews::default();
        let begin = 10 * VIEW_AGAIN_MS;
        assert!(noted.take("ann", "c", begin));
        assert!(!noted.take("ann", "c", begin + VIEW_AGAIN_MS - 1), "she looks again");
        assert!(noted.take("bob", "c", begin) && noted.take("ann", "d", begin));
        assert!(noted.take("ann", "c", begin + VIEW_AGAIN_MS), "later she is written again");
    }

    #[test]
    fn i7_of_more_views_than_are_remembered_some_are_written_again() {
        let mut noted = NotedViews::default();
        for number in 0..3 * REMEMBERED_MAX {
            assert!(noted.take("ann", &number.to_string(), 1));
            assert!(noted.at.len() <= REMEMBERED_MAX);
        }
    }
}
