//! A life: from a start of a hub on the database to its end. It is alive as long as it says so, by the clock of the database, and over
//! once another life has taken over; from then on nothing of it is committed.
//!
//! ```text
//! begin ──▶ await the dead ──▶ INSERT life ──▶ every lease / 3: expires_at = now + lease ──▶ close: ended_well, over
//!               │ one says something meanwhile                │ no row changed: another has ended this life
//!               ▼                                             ▼
//!             InUse                                         over: nothing more is written
//! ```

use std::sync::Arc;
use std::time::Duration;

use model::frame::Durability;

use super::database::{Database, Session};
use super::{PostgresError, schema};
use crate::WriteFault;
use crate::clock;
use crate::numbers::natural;
use crate::ownership::{LeaseRenewal, renewal};
use crate::queue::{LogLifecycle, Queue};

/// What the settings of the database make true of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitGuarantee {
    /// The most that a commit means.
    pub(super) durability: Durability,
    /// The settings that say so, and what follows from them.
    pub(super) why: String,
}

/// A life that has begun.
#[derive(Debug)]
pub(super) struct PostgresLife {
    pub(super) number: i64,
    /// The last one before it that did not end well; 0 for none.
    pub(super) last_unsound: i64,
    /// How many conversations there are.
    pub(super) conversations: u64,
    pub(super) guarantee: CommitGuarantee,
}

/// What the settings of the database that `session` is connected to make true.
pub(super) async fn guarantee(session: &Session) -> Result<CommitGuarantee, tokio_postgres::Error> {
    let select = "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'), \
                  current_setting('synchronous_standby_names')";
    let row = session.client.query_one(select, &[]).await?;
    let setting = |place: usize| row.try_get::<_, String>(place);
    Ok(guarantee_of(&setting(0)?, &setting(1)?, &setting(2)?, &setting(3)?))
}

/// What these settings make true of a commit.
fn guarantee_of(commit: &str, fsync: &str, pages: &str, standbys: &str) -> CommitGuarantee {
    let settings = format!(
        "synchronous_commit={commit}, fsync={fsync}, full_page_writes={pages}, synchronous_standby_names={standbys:?}"
    );
    let is_flushed = commit != "off" && fsync == "on" && pages == "on";
    let durability = if is_flushed { Durability::Synced } else { Durability::Stored };
    let meaning = match (is_flushed, commit, standbys.is_empty()) {
        (false, ..) => "a commit survives the death of the hub, not a crash of the database or its machine",
        (true, "on" | "remote_apply", false) => {
            "a commit is on the disks of the primary and of its synchronous standbys"
        }
        (true, "remote_write", false) => {
            "a commit is on the disk of the primary and in the memory of its synchronous standbys"
        }
        (true, ..) => "a commit is on the disk of the primary; what a standby has of it is not said",
    };
    CommitGuarantee { durability, why: format!("{meaning} ({settings})") }
}

/// Lives with which this one cannot be at the same time: all of them for a hub that is alone on the database, else those that are.
const ALIVE: &str = "SELECT 1 FROM life WHERE NOT over AND expires_at > clock_timestamp() AND ($1 OR address IS NULL) LIMIT 1";

/// What the dead leave behind: imports under way, and names to which nobody wrote.
const FORGET: &str = "UPDATE gone SET import = NULL WHERE import IS NOT NULL AND life IN (SELECT number FROM life WHERE over); \
                      DELETE FROM owner o USING life l WHERE l.number = o.life AND l.over AND NOT EXISTS (SELECT 1 FROM conversation WHERE id = o.conversation)";

/// Begins a life, after whatever lives on the database has ended or is found dead. With an `address` it
/// shares the database with other lives that have one. Fails with [`PostgresError::InUse`] where another
/// lives that this one cannot share the database with, and with [`PostgresError::Newer`] where a later
/// version wrote it. Takes up to a lease longer after a hub that died.
pub(super) async fn begin(
    session: &mut Session,
    lease: Duration,
    address: Option<&str>,
) -> Result<PostgresLife, PostgresError> {
    schema::migrate(session).await?;
    await_the_dead(session, lease, address).await?;
    let guarantee = guarantee(session).await?;
    let transaction = session.client.transaction().await?;
    // Whoever begins at the same moment waits here.
    transaction.batch_execute("SELECT version FROM fanlight_schema FOR UPDATE").await?;
    if transaction.query_opt(ALIVE, &[&address.is_none()]).await?.is_some() {
        return Err(PostgresError::InUse);
    }
    // One of the same address is one of this hub, whose process is gone; were it not, it would write nothing from here on.
    let end =
        "UPDATE life SET over = true WHERE NOT over AND (expires_at <= clock_timestamp() OR address = $1)";
    transaction.execute(end, &[&address]).await?;
    transaction.batch_execute(FORGET).await?;
    let insert = "INSERT INTO life (version, expires_at, address) \
                  VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond', $3) RETURNING number";
    let version = env!("CARGO_PKG_VERSION");
    let number: i64 =
        transaction.query_one(insert, &[&version, &millis(lease), &address]).await?.try_get(0)?;
    let unsound = "SELECT coalesce(max(number), 0)::bigint FROM life WHERE NOT ended_well AND number < $1";
    let last_unsound = transaction.query_one(unsound, &[&number]).await?.try_get(0)?;
    let count: i64 = transaction.query_one("SELECT count(*) FROM conversation", &[]).await?.try_get(0)?;
    transaction.commit().await?;
    Ok(PostgresLife { number, last_unsound, conversations: natural(count), guarantee })
}

/// Waits until no life is alive. One that says something meanwhile is not dead: then this fails. It looks ten
/// times in a lease.
async fn await_the_dead(
    session: &Session,
    lease: Duration,
    address: Option<&str>,
) -> Result<(), PostgresError> {
    let select = "SELECT number, commits, expires_at::text, expires_at > clock_timestamp() FROM life \
                  WHERE NOT over AND ($1 OR address IS NULL) ORDER BY number";
    let mut seen: Option<Vec<(i64, String)>> = None;
    loop {
        let rows = session.client.query(select, &[&address.is_none()]).await?;
        let mut alive = Vec::new();
        for row in rows {
            if row.try_get::<_, bool>(3)? {
                alive.push((row.try_get::<_, i64>(0)?, row.try_get::<_, String>(2)?));
            }
        }
        if alive.is_empty() {
            return Ok(());
        }
        if seen.as_ref().is_some_and(|seen| *seen != alive) {
            return Err(PostgresError::InUse);
        }
        seen = Some(alive);
        tokio::time::sleep(lease / 10).await;
    }
}

/// Milliseconds, as the database's numbers have them.
fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Says again and again that life `number` goes on. Ends when the queue does, or when the life is over. A try
/// that fails is made again after a third of the lease; the writer's transactions renew it too.
pub(super) async fn keep_alive(database: Arc<Database>, queue: Arc<Queue>, number: i64, lease: Duration) {
    let mut session = None;
    loop {
        tokio::time::sleep(lease / 3).await;
        if queue.lifecycle() == LogLifecycle::Dropped {
            return;
        }
        match renew(&database, &mut session, number, lease).await {
            Ok(LeaseRenewal::Lives) => {}
            Ok(LeaseRenewal::StepsDown) => return over(&queue),
            Err(error) => {
                session = None;
                tracing::debug!(%error, "the database of the log was not told that the hub lives");
            }
        }
    }
}

/// Says that life `number` goes on.
async fn renew(
    database: &Database,
    session: &mut Option<Session>,
    number: i64,
    lease: Duration,
) -> Result<LeaseRenewal, tokio_postgres::Error> {
    let session = match session {
        Some(session) => session,
        None => session.insert(database.connect().await?),
    };
    let update = "UPDATE life SET expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond' WHERE number = $1 AND NOT over";
    let statement = session.prepared(update).await?;
    Ok(renewal(session.client.execute(&statement, &[&number, &millis(lease)]).await?))
}

/// Why nothing is written any more by a life that is over.
pub(super) const OVER: &str =
    "another hub has taken over the database of the log; this one must be started again";

/// Notes that the life is over: nothing more is written.
pub(super) fn over(queue: &Queue) {
    tracing::error!("another hub has taken over the database of the log; nothing more is stored here");
    queue.failed(WriteFault { code: "disk_failing", what: Arc::from(OVER), since: clock::now_ms() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i9_a_commit_promises_no_more_than_the_settings_make_true() {
        let level = |commit, fsync, pages| guarantee_of(commit, fsync, pages, "").durability;
        assert_eq!(level("on", "on", "on"), Durability::Synced);
        assert_eq!(level("local", "on", "on"), Durability::Synced);
        assert_eq!(level("off", "on", "on"), Durability::Stored);
        assert_eq!(level("on", "off", "on"), Durability::Stored);
        assert_eq!(level("on", "on", "off"), Durability::Stored);
        let why = |commit, standbys| guarantee_of(commit, "on", "on", standbys).why;
        assert!(why("on", "ANY 1 (*)").contains("synchronous standbys"));
        assert!(why("remote_write", "s1").contains("memory of its synchronous standbys"));
        assert!(why("local", "s1").contains("is not said"));
        assert!(why("on", "").contains("is not said"));
    }
}
