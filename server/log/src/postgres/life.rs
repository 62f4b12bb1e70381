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
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join3;
use tokio::time::MissedTickBehavior;
use tokio_postgres::types::ToSql;

use super::claims;
use super::database::Session;
use super::guarantee::{CommitGuarantee, SETTINGS};
use super::writer::WriterShared;
use super::{PostgresError, schema};
use crate::WriteFault;
use crate::clock;
use crate::numbers::natural;
use crate::ownership::{LeaseRenewal, renewal};
use crate::queue::{LogLifecycle, Queue};

/// Lets conversations with a hole get a new epoch at their next load, unless another hub may own them already.
pub(super) const FORGET_LIFE: &str = "UPDATE conversation SET life = 0 WHERE id = ANY($1) \
                           AND EXISTS (SELECT 1 FROM life WHERE number = $2 AND NOT over)";

/// The life that has what its owners have given up: it ended well before all others began, so whoever asks may claim it, and all of it is stored. On
/// which timeline it was given up stands in the row of the owner.
pub(super) const WHOLE_LIFE: i64 = 0;

/// A life that has begun.
#[derive(Debug)]
pub(super) struct PostgresLife {
    pub(super) number: i64,
    /// The last one before it that did not end well, or after which a standby was promoted; 0 for none.
    pub(super) last_unsound: i64,
    /// The number of conversations in the log.
    pub(super) conversations: u64,
    pub(super) guarantee: CommitGuarantee,
    /// When its beginning was sent to the database.
    pub(super) sent: Instant,
}

/// How often a hub that starts looks for what others say, in the time of a lease.
const LOOKS: u32 = 10;

/// Lives with which this one cannot be at the same time: all of them for a hub that is alone on the database, else those that are.
const ALIVE: &str = "SELECT 1 FROM life WHERE NOT over AND expires_at > clock_timestamp() AND ($1 OR address IS NULL) LIMIT 1";

/// What the dead leave behind: imports under way, and names to which nobody wrote.
const FORGET: &str = "UPDATE gone SET import = NULL WHERE import IS NOT NULL AND life IN (SELECT number FROM life WHERE over); \
                      DELETE FROM owner o USING life l WHERE l.number = o.life AND l.over AND NOT EXISTS (SELECT 1 FROM conversation WHERE id = o.conversation)";

/// Notes whether a life has renewed its lease in time, which it is given again now. $LEASE: in milliseconds. Who was late by a third of it
/// begins anew: the database may have been away, for other lives too.
macro_rules! keep_steady {
    ($lease:literal) => {
        concat!(
            "steady_since = CASE WHEN expires_at <= clock_timestamp() + ",
            $lease,
            "::bigint * interval '1 millisecond' / 3 THEN clock_timestamp() ELSE steady_since END, \
             expires_at = clock_timestamp() + ",
            $lease,
            "::bigint * interval '1 millisecond'"
        )
    };
}
pub(super) use keep_steady;

/// Says that a life goes on.
const RENEW: &str =
    concat!("UPDATE life SET ", keep_steady!("$2"), " WHERE number = $1 AND NOT over RETURNING commits");

/// Begins a life, after whatever lives on the database has ended or is found dead. With an `address` it
/// shares the database with other lives that have one. Fails with [`PostgresError::InUse`] where another
/// lives that this one cannot share the database with, and with [`PostgresError::Newer`] where a later
/// version wrote it. Takes up to a lease longer after another hub that died.
pub(super) async fn begin(
    session: &mut Session,
    lease: Duration,
    address: Option<&str>,
) -> Result<PostgresLife, PostgresError> {
    schema::migrate(session).await?;
    await_the_dead(session, lease, address).await?;
    let dead = find_dead(session, lease, address).await?;
    let guarantee = CommitGuarantee::ask(session).await?;
    let transaction = session.client.transaction().await?;
    // Whoever begins at the same moment waits here.
    transaction.batch_execute("SELECT version FROM fanlight_schema FOR UPDATE").await?;
    if transaction.query_opt(ALIVE, &[&address.is_none()]).await?.is_some() {
        return Err(PostgresError::InUse);
    }
    // One of the same address is one of this hub, whose process is gone; were it not, it would write nothing from here on.
    let end = "UPDATE life SET over = true WHERE NOT over AND (address = $1 OR number = ANY($2) AND expires_at <= clock_timestamp())";
    transaction.execute(end, &[&address, &dead]).await?;
    transaction.batch_execute(FORGET).await?;
    let sent = Instant::now();
    let insert = "INSERT INTO life (version, expires_at, address) \
                  VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond', $3) RETURNING number";
    let version = env!("CARGO_PKG_VERSION");
    let number: i64 =
        transaction.query_one(insert, &[&version, &millis(lease), &address]).await?.try_get(0)?;
    let unsound = "SELECT coalesce(max(number), 0)::bigint FROM life WHERE number < $1 \
                   AND (NOT ended_well OR timeline IS DISTINCT FROM (SELECT fanlight_timeline()))";
    let last_unsound = transaction.query_one(unsound, &[&number]).await?.try_get(0)?;
    let count: i64 = transaction.query_one("SELECT count(*) FROM conversation", &[]).await?.try_get(0)?;
    transaction.commit().await?;
    Ok(PostgresLife { number, last_unsound, conversations: natural(count), guarantee, sent })
}

/// Waits until no life is alive with which this one cannot share the log: any, if either of the two has no address. One that says something meanwhile is not dead: then this fails. It looks ten
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
        tokio::time::sleep(lease / LOOKS).await;
    }
}

/// The lives that are not over and say nothing, apart from those of the same address: the database may have been away, so those of other hubs
/// have a lease of time to say something. It looks ten times.
async fn find_dead(
    session: &Session,
    lease: Duration,
    address: Option<&str>,
) -> Result<Vec<i64>, PostgresError> {
    let select = "SELECT number, address IS NOT NULL FROM life \
                  WHERE NOT over AND expires_at <= clock_timestamp() AND (address IS NULL OR address IS DISTINCT FROM $1)";
    let mut dead: Option<Vec<i64>> = None;
    for look in 0..=LOOKS {
        let rows = session.client.query(select, &[&address]).await?;
        let silent = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        let shares = rows.iter().map(|row| row.try_get(1)).collect::<Result<Vec<bool>, _>>()?;
        let mut still = dead.take().unwrap_or_else(|| silent.clone());
        still.retain(|life| silent.contains(life));
        // For those that were alone on the database it was waited already.
        let was_alone = address.is_none() && !shares.contains(&true);
        if still.is_empty() || was_alone || look == LOOKS {
            return Ok(still);
        }
        dead = Some(still);
        tokio::time::sleep(lease / LOOKS).await;
    }
    Ok(Vec::new())
}

/// Milliseconds, as the database's numbers have them.
pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// How often a life that has connected to the database again looks whether it still has what it claimed: the answer to a claim that the
/// server before gave may come after the first look.
const CLAIMS_LOOKED_FOR: u32 = 3;

/// Says again and again that life `number` goes on, and learns what the settings of the database make true by
/// now. Ends when the queue does, or when the life is over. A try that fails is made again after a third of
/// the lease; the writer's transactions renew it too. It also ends, without a word, once the writer notes that the life has ended well. After each new connection it looks whether the life still has what it claimed: another server may
/// have become the primary without all of them. Where one is missing, the life counts as over.
pub(super) async fn keep_alive(shared: WriterShared, number: i64, lease: Duration) {
    let (mut session, mut looks) = (None, 0);
    let every = lease / 3;
    let mut due = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    // A commit that takes long must not make the next one late too.
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        due.tick().await;
        if shared.queue.lifecycle() == LogLifecycle::Dropped {
            return;
        }
        if session.is_none() {
            looks = CLAIMS_LOOKED_FOR;
        }
        let renewed = async {
            let renewed = renew(&shared, &mut session, number, lease).await?;
            let (Some(session), Some(claims)) = (&mut session, &shared.claims) else { return Ok(renewed) };
            if renewed == LeaseRenewal::StepsDown || looks == 0 {
                return Ok(renewed);
            }
            let lost = claims::lost(session, claims).await?;
            looks -= 1;
            let Some(lost) = lost else { return Ok(renewed) };
            tracing::error!(conversation = lost, "the database has lost that this hub has the conversation");
            Ok::<_, tokio_postgres::Error>(LeaseRenewal::StepsDown)
        };
        match renewed.await {
            Ok(LeaseRenewal::Lives) => {}
            Ok(LeaseRenewal::StepsDown) if shared.is_ending.load(Ordering::Acquire) => return,
            Ok(LeaseRenewal::StepsDown) => return over(&shared.queue),
            Err(error) => {
                session = None;
                tracing::debug!(%error, "the database of the log was not told that the hub lives");
            }
        }
    }
}

/// Says that life `number` goes on. That is a commit too: what was committed before is at least as safe.
async fn renew(
    shared: &WriterShared,
    session: &mut Option<Session>,
    number: i64,
    lease: Duration,
) -> Result<LeaseRenewal, tokio_postgres::Error> {
    let session = match session {
        Some(session) => session,
        None => session.insert(shared.database.connect().await?),
    };
    // In this order: the writer counts a transaction before it says what is stored with it.
    let written = shared.queue.progress().borrow().stored;
    let commits = shared.commits();
    let (update, settings) = (session.prepared(RENEW).await?, session.prepared(SETTINGS).await?);
    let warnings = session.warnings();
    let (client, lease, sent) = (&session.client, millis(lease), Instant::now());
    let values: [&(dyn ToSql + Sync); 2] = [&number, &lease];
    // Sent in this order, without waiting between them.
    let (before, renewed, after) = join3(
        client.query_one(&settings, &[]),
        client.query_opt(&update, &values),
        client.query_one(&settings, &[]),
    )
    .await;
    let (before, renewed) = (CommitGuarantee::of(&before?)?, renewed?);
    let level = shared.learn(CommitGuarantee::of(&after?)?).min(before.durability);
    let Some(row) = renewed else { return Ok(renewal(0)) };
    shared.own_lease.renewed(sent);
    // A database that has lost transactions says nothing of what was stored with them.
    if row.try_get::<_, i64>(0)? >= commits && session.warnings() == warnings {
        shared.queue.confirm(written, level);
    }
    Ok(renewal(1))
}

/// Why nothing is written any more by a life that is over.
pub(super) const OVER: &str = "another hub has taken over the database of the log; this one stores nothing more, hands its callers over and ends";

/// Notes that the life is over: nothing more is written.
pub(super) fn over(queue: &Queue) {
    tracing::error!("another hub has taken over the database of the log; nothing more is stored here");
    queue.failed(WriteFault { code: "disk_failing", what: Arc::from(OVER), since: clock::now_ms() });
    queue.overtaken();
}
