//! What a commit means, by the settings of the database (invariant I9). They can change while the hub runs, by `ALTER SYSTEM` and a
//! reload or with another primary, so they are read around each commit and each renewal of the lease.
//!
//! ```text
//! settings before ─▶ COMMIT ─▶ settings after      the commit means the lower of the two, and never more than is promised
//!                              settings after ─▶ the promise: at once where it falls, after SETTLES where it rises
//! ```
//!
//! A server tells its sessions of new settings before the process that decides whether a commit waits for a standby. So a
//! commit that was let go without the standby is followed by settings that say so; and settings that have just begun to name a
//! standby may be ahead of it, so that what rises counts later.

use std::time::{Duration, Instant};

use model::frame::Durability;
use tokio_postgres::{Row, SimpleQueryMessage};

use super::database::Session;

/// How long settings that promise more must have been the same before they count. The server takes up to 0.2 s
/// to act on them, while a checkpoint is written.
const SETTLES: Duration = Duration::from_secs(2);

macro_rules! settings {
    () => {
        "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'), \
         current_setting('synchronous_standby_names')"
    };
}

/// The settings, as [`CommitGuarantee::of`] reads them.
pub(super) const SETTINGS: &str = settings!();

/// Prepares [`SETTINGS`] under the name `settings`, for [`COMMIT`].
pub(super) const NAMED_SETTINGS: &str = concat!("PREPARE settings AS ", settings!());

/// Commits. The settings before come with it in one message; those after must be asked for in another, since
/// a session takes over new settings between two messages.
pub(super) const COMMIT: &str = "EXECUTE settings; COMMIT";

/// What the settings of the database make true of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitGuarantee {
    /// The most that a commit means.
    pub(super) durability: Durability,
    /// The settings that say so, and what follows from them.
    pub(super) why: String,
}

impl CommitGuarantee {
    /// Asks the database that `session` is connected to.
    pub(super) async fn ask(session: &mut Session) -> Result<Self, tokio_postgres::Error> {
        let statement = session.prepared(SETTINGS).await?;
        Self::of(&session.client.query_one(&statement, &[]).await?)
    }

    /// What a row of [`SETTINGS`] makes true.
    pub(super) fn of(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let setting = |place: usize| row.try_get::<_, &str>(place);
        Ok(Self::of_settings(setting(0)?, setting(1)?, setting(2)?, setting(3)?))
    }

    /// What the answers to [`COMMIT`] make true; `None` if no settings are among them.
    pub(super) fn of_answers(answers: &[SimpleQueryMessage]) -> Option<Self> {
        let row = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        })?;
        Some(Self::of_settings(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    }

    /// What these settings make true.
    pub(super) fn of_settings(commit: &str, fsync: &str, pages: &str, standbys: &str) -> Self {
        let settings = format!(
            "synchronous_commit={commit}, fsync={fsync}, full_page_writes={pages}, synchronous_standby_names={standbys:?}"
        );
        let is_flushed = commit != "off" && fsync == "on" && pages == "on";
        let (durability, meaning) = match (is_flushed, commit, standbys.is_empty()) {
            (false, ..) => (
                Durability::Stored,
                "a commit survives the death of the hub, not a crash of the database or its machine",
            ),
            (true, "on" | "remote_apply", false) => (
                Durability::Replicated,
                "a commit is on the disks of the primary and of its synchronous standbys",
            ),
            (true, "remote_write", false) => (
                Durability::Synced,
                "a commit is on the disk of the primary and in the memory of its synchronous standbys",
            ),
            (true, ..) => (
                Durability::Synced,
                "a commit is on the disk of the primary; what a standby has of it is not said",
            ),
        };
        Self { durability, why: format!("{meaning} ({settings})") }
    }
}

/// What the log promises of a commit, as the settings were last read.
#[derive(Debug)]
pub(super) struct CommitPromise {
    /// The guarantee that counts now.
    now: CommitGuarantee,
    /// What promises more and was read first at that time.
    rising: Option<(CommitGuarantee, Instant)>,
}

impl CommitPromise {
    /// The promise of settings that have been so for long.
    pub(super) fn new(now: CommitGuarantee) -> Self {
        Self { now, rising: None }
    }

    /// What the log promises now.
    pub(super) fn now(&self) -> &CommitGuarantee {
        &self.now
    }

    /// Takes over what was read `at` that time. Whether that changed the promise.
    pub(super) fn learn(&mut self, found: CommitGuarantee, at: Instant) -> bool {
        if found == self.now {
            self.rising = None;
            return false;
        }
        if found.durability > self.now.durability {
            match &self.rising {
                Some((same, since)) if *same == found => {
                    if at.duration_since(*since) < SETTLES {
                        return false;
                    }
                }
                _ => {
                    self.rising = Some((found, at));
                    return false;
                }
            }
        }
        (self.now, self.rising) = (found, None);
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what settings promise, and from when on.

    use super::*;

    fn of(commit: &str, standbys: &str) -> CommitGuarantee {
        CommitGuarantee::of_settings(commit, "on", "on", standbys)
    }

    #[test]
    fn i9_a_commit_promises_no_more_than_the_settings_make_true() {
        let level = |commit, fsync, pages, standbys| {
            CommitGuarantee::of_settings(commit, fsync, pages, standbys).durability
        };
        assert_eq!(level("on", "on", "on", ""), Durability::Synced);
        assert_eq!(level("local", "on", "on", ""), Durability::Synced);
        for standbys in ["", "ANY 1 (*)"] {
            assert_eq!(level("off", "on", "on", standbys), Durability::Stored);
            assert_eq!(level("on", "off", "on", standbys), Durability::Stored);
            assert_eq!(level("on", "on", "off", standbys), Durability::Stored);
        }
        assert_eq!(level("on", "on", "on", "ANY 1 (*)"), Durability::Replicated);
        assert_eq!(level("remote_apply", "on", "on", "s1"), Durability::Replicated);
        // What is in the memory of the standby is gone with both machines.
        assert_eq!(level("remote_write", "on", "on", "s1"), Durability::Synced);
        assert_eq!(level("local", "on", "on", "s1"), Durability::Synced);
        assert!(of("on", "ANY 1 (*)").why.contains("synchronous standbys"));
        assert!(of("remote_write", "s1").why.contains("memory of its synchronous standbys"));
        assert!(of("local", "s1").why.contains("is not said"));
        assert!(of("on", "").why.contains("is not said"));
    }

    #[test]
    fn i9_a_promise_falls_at_once_and_rises_when_it_has_held() {
        let (weak, strong) = (of("on", ""), of("on", "s1"));
        let start = Instant::now();
        let mut promise = CommitPromise::new(weak.clone());
        assert!(!promise.learn(strong.clone(), start));
        assert!(!promise.learn(strong.clone(), start + SETTLES / 2));
        assert_eq!(promise.now(), &weak);
        // Once it was otherwise, it begins anew.
        assert!(!promise.learn(weak.clone(), start + SETTLES));
        assert!(!promise.learn(strong.clone(), start + SETTLES * 2));
        assert!(!promise.learn(of("on", "s2"), start + SETTLES * 3));
        assert!(!promise.learn(strong.clone(), start + SETTLES * 4));
        assert!(promise.learn(strong.clone(), start + SETTLES * 5));
        assert_eq!(promise.now(), &strong);
        assert!(promise.learn(weak.clone(), start + SETTLES * 5));
        assert_eq!(promise.now(), &weak);
    }
}
