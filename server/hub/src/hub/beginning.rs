//! Who may begin conversations: a rule of whoever is served, which the task that serves them carries. It is asked when the first event is to be
//! written under a name that has none. What the hub writes by itself carries no rule.
//!
//! ```text
//! request ─▶ under(rule, …) ─▶ Hub::publish, Hub::import ─ nothing there yet? ─▶ the rule
//! ```

use std::sync::Arc;

use model::ConversationId;

use super::{Hub, OpenError};

/// Decides whether somebody may begin a conversation now.
pub trait BeginningRule: Send + Sync {
    /// Counts one more, or says why not and in how many seconds it may.
    fn may_begin(&self) -> Result<(), (String, u64)>;
}

/// A rule, as it goes along with whatever is done for somebody.
pub type SharedRule = Arc<dyn BeginningRule>;

tokio::task_local! {
    /// The rule for what this task does now; none for what the hub does by itself.
    static RULE: Option<SharedRule>;
}

/// The rule for what this task does now, to be carried to another one.
pub fn current() -> Option<SharedRule> {
    RULE.try_with(Option::clone).ok().flatten()
}

/// Does something for whoever has `rule`. May be cancelled.
pub async fn under<F: Future>(rule: Option<SharedRule>, work: F) -> F::Output {
    RULE.scope(rule, work).await
}

/// Does something that waits for nothing but the disk, for whoever has `rule`.
pub fn under_now<T>(rule: Option<SharedRule>, work: impl FnOnce() -> T) -> T {
    RULE.sync_scope(rule, work)
}

/// Asks the rule of this task whether a conversation with this name may begin. The copy behind a frozen link is the hub's own.
pub(super) fn begins(id: &ConversationId) -> Result<(), OpenError> {
    let rule = current().filter(|_| !id.is_frozen());
    let may = rule.map_or(Ok(()), |rule| rule.may_begin());
    may.map_err(|(why, wait_s)| OpenError::TooFast { why: why.into(), wait_s })
}

impl Hub {
    /// Asks the rule of this task about a name under which the hub is about to write by itself for whoever is served: nothing is asked where
    /// something was said already. May wait for the disk.
    pub fn may_begin(&self, id: &ConversationId) -> Result<(), OpenError> {
        if current().is_none() || self.look(id)?.is_some_and(|found| found.head() > 0) {
            return Ok(());
        }
        begins(id)
    }
}
