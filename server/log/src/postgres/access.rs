//! Logins that are under way, links and what tokens have spent, where several hubs share the database.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::database::Session;
use super::{PostgresLog, unreadable};
use crate::numbers::{integer, natural, size};
use crate::shared_access::{STORED_LOGINS_MAX, STORED_PERIODS_MAX, STORED_SHARES_MAX, STORED_SPENDING_MS};
use crate::{
    LogError, SharedAccess, SharedLogins, SharedShares, SharedSpending, StoredLogin, StoredShare,
    StoredSpending,
};

const PUT_LOGIN: &str =
    "INSERT INTO login (state, login, expires_at) VALUES ($1, $2, $3) ON CONFLICT (state) DO NOTHING";
const TRIM_LOGINS: &str = "DELETE FROM login WHERE expires_at <= $1 OR number <= \
                           (SELECT number FROM login ORDER BY number DESC OFFSET $2 LIMIT 1)";
const TAKE_LOGIN: &str = "DELETE FROM login WHERE state = $1 RETURNING login, expires_at";

/// Links are put one after the other, so that two hubs do not both put the last one.
const ONE_AFTER_THE_OTHER: &str = "LOCK TABLE share IN SHARE ROW EXCLUSIVE MODE";
const TRIM_SHARES: &str = "DELETE FROM share WHERE expires_at <= $1";
const PUT_SHARE: &str = "INSERT INTO share (hash, share, views_left, expires_at) SELECT $1, $2, $3, $4 \
                         WHERE (SELECT count(*) FROM share WHERE NOT revoked) < $5 ON CONFLICT (hash) DO NOTHING";
const FIND_SHARE: &str =
    "SELECT hash, share, views_left, expires_at FROM share WHERE hash = $1 AND NOT revoked";
const VIEW_SHARE: &str = "UPDATE share SET views_left = views_left - 1 WHERE hash = $1 AND NOT revoked AND (views_left IS NULL OR views_left > 0)";
const REMOVE_SHARE: &str = "UPDATE share SET revoked = true WHERE hash = $1";
const SHARES: &str =
    "SELECT hash, share, views_left, expires_at FROM share WHERE NOT revoked ORDER BY number";
const SHARE_HASHES: &str = "SELECT hash FROM share WHERE NOT revoked";

const CHARGE: &str = "INSERT INTO spending AS s (token, since, currency, picos, calls, estimated, used_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                      ON CONFLICT (token, currency, since) DO UPDATE SET \
                      picos = least(s.picos::numeric + excluded.picos, 9223372036854775807)::bigint, \
                      calls = s.calls + excluded.calls, estimated = s.estimated + excluded.estimated, \
                      used_at = greatest(s.used_at, excluded.used_at)";
/// Leaves the newest periods of a token.
const TRIM_PERIODS: &str = "DELETE FROM spending s WHERE s.token = $1 AND s.since > 0 AND (SELECT count(*) FROM spending newer \
                            WHERE newer.token = s.token AND newer.currency = s.currency AND newer.since > s.since) >= $2";
const ADOPT: &str = "INSERT INTO spending (token, since, currency, picos, calls, estimated, used_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                     ON CONFLICT DO NOTHING";
const SPENDERS: &str = "SELECT DISTINCT token FROM spending";
/// What has no period is kept as long as a hub has the token. It is noted once a day.
const NAME_SPENDING: &str = "UPDATE spending SET used_at = $2 WHERE since = 0 AND token = ANY ($1) AND used_at < $2::bigint - 86400000";
const TRIM_SPENDING: &str = "DELETE FROM spending WHERE used_at <= $1";
const SPENDING: &str = "SELECT token, since, currency, picos, calls, estimated FROM spending";

/// Runs one statement; how many rows it changed.
async fn run(
    session: &mut Session,
    sql: &'static str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, LogError> {
    let statement = session.prepared(sql).await.map_err(unreadable)?;
    session.client.execute(&statement, values).await.map_err(unreadable)
}

/// Runs a statement with the fields of what was spent, and the time.
async fn put_spending(
    session: &mut Session,
    sql: &'static str,
    spent: &StoredSpending,
    now: i64,
) -> Result<u64, LogError> {
    let StoredSpending { token, since, currency, picos, calls, estimated } = spent;
    let [since, picos, calls, estimated] = [*since, *picos, *calls, *estimated].map(integer);
    run(session, sql, &[token, &since, currency, &picos, &calls, &estimated, &now]).await
}

fn share_of(row: &Row) -> Result<StoredShare, tokio_postgres::Error> {
    let views_left: Option<i64> = row.try_get(2)?;
    let views_left = views_left.map(|left| u32::try_from(left).unwrap_or_default());
    let (hash, share) = (row.try_get(0)?, row.try_get(1)?);
    Ok(StoredShare { hash, share, views_left, expires: natural(row.try_get(3)?) })
}

fn spending_of(row: &Row) -> Result<StoredSpending, tokio_postgres::Error> {
    let number = |at: usize| row.try_get(at).map(natural);
    let (token, currency) = (row.try_get(0)?, row.try_get(2)?);
    let (since, picos, calls, estimated) = (number(1)?, number(3)?, number(4)?, number(5)?);
    Ok(StoredSpending { token, since, currency, picos, calls, estimated })
}

impl SharedAccess for PostgresLog {}

impl SharedLogins for PostgresLog {
    fn put_login(&self, login: &StoredLogin, now: u64) -> Result<(), LogError> {
        let (stored, now) = (login.clone(), integer(now));
        self.shared.database.change(move |session| {
            let StoredLogin { state, login, expires } = stored.clone();
            Box::pin(async move {
                run(session, PUT_LOGIN, &[&state, &login, &integer(expires)]).await?;
                run(session, TRIM_LOGINS, &[&now, &size(STORED_LOGINS_MAX)]).await?;
                Ok(())
            })
        })
    }

    fn take_login(&self, state: &str, now: u64) -> Result<Option<String>, LogError> {
        let state = state.to_owned();
        self.shared.database.change(move |session| {
            let state = state.clone();
            Box::pin(async move {
                let take = session.prepared(TAKE_LOGIN).await.map_err(unreadable)?;
                let row = session.client.query_opt(&take, &[&state]).await.map_err(unreadable)?;
                let Some(row) = row else { return Ok(None) };
                let expires = natural(row.try_get(1).map_err(unreadable)?);
                let login = row.try_get(0).map_err(unreadable)?;
                Ok((expires > now).then_some(login))
            })
        })
    }
}

impl SharedShares for PostgresLog {
    fn put_share(&self, share: &StoredShare, now: u64) -> Result<bool, LogError> {
        let (stored, now) = (share.clone(), integer(now));
        self.shared.database.change(move |session| {
            let StoredShare { hash, share, views_left, expires } = stored.clone();
            Box::pin(async move {
                session.client.batch_execute(ONE_AFTER_THE_OTHER).await.map_err(unreadable)?;
                run(session, TRIM_SHARES, &[&now]).await?;
                let (views_left, most) = (views_left.map(i64::from), size(STORED_SHARES_MAX));
                run(session, PUT_SHARE, &[&hash, &share, &views_left, &integer(expires), &most]).await?;
                let has = session.prepared(FIND_SHARE).await.map_err(unreadable)?;
                let found = session.client.query_opt(&has, &[&hash]).await.map_err(unreadable)?;
                Ok(found.is_some())
            })
        })
    }

    fn view_share(&self, hash: &str) -> Result<bool, LogError> {
        let hash = hash.to_owned();
        self.shared.database.change(move |session| {
            let hash = hash.clone();
            Box::pin(async move { Ok(run(session, VIEW_SHARE, &[&hash]).await? > 0) })
        })
    }

    fn remove_share(&self, hash: &str) -> Result<(), LogError> {
        let hash = hash.to_owned();
        self.shared.database.change(move |session| {
            let hash = hash.clone();
            Box::pin(async move { run(session, REMOVE_SHARE, &[&hash]).await.map(drop) })
        })
    }

    fn shares(&self) -> Result<Vec<StoredShare>, LogError> {
        self.read_with(|session| {
            Box::pin(async move {
                let all = session.prepared(SHARES).await.map_err(unreadable)?;
                let rows = session.client.query(&all, &[]).await.map_err(unreadable)?;
                rows.iter().map(|row| share_of(row).map_err(unreadable)).collect()
            })
        })
    }

    fn find_share(&self, hash: &str) -> Result<Option<StoredShare>, LogError> {
        let hash = hash.to_owned();
        self.read_with(move |session| {
            let hash = hash.clone();
            Box::pin(async move {
                let find = session.prepared(FIND_SHARE).await.map_err(unreadable)?;
                let row = session.client.query_opt(&find, &[&hash]).await.map_err(unreadable)?;
                row.map(|row| share_of(&row).map_err(unreadable)).transpose()
            })
        })
    }

    fn share_hashes(&self) -> Result<Vec<String>, LogError> {
        self.read_with(|session| {
            Box::pin(async move {
                let all = session.prepared(SHARE_HASHES).await.map_err(unreadable)?;
                let rows = session.client.query(&all, &[]).await.map_err(unreadable)?;
                rows.iter().map(|row| row.try_get(0).map_err(unreadable)).collect()
            })
        })
    }
}

impl SharedSpending for PostgresLog {
    fn charge(&self, spent: &[StoredSpending], now: u64) -> Result<Vec<StoredSpending>, LogError> {
        let (spent, now) = (spent.to_vec(), integer(now));
        self.shared.database.change(move |session| {
            let spent = spent.clone();
            Box::pin(async move {
                for spent in &spent {
                    put_spending(session, CHARGE, spent, now).await?;
                    run(session, TRIM_PERIODS, &[&spent.token, &size(STORED_PERIODS_MAX)]).await?;
                }
                let all = session.prepared(SPENDING).await.map_err(unreadable)?;
                let rows = session.client.query(&all, &[]).await.map_err(unreadable)?;
                rows.iter().map(|row| spending_of(row).map_err(unreadable)).collect()
            })
        })
    }

    fn adopt_spending(&self, spent: &[StoredSpending], now: u64) -> Result<(), LogError> {
        let (spent, now) = (spent.to_vec(), integer(now));
        self.shared.database.change(move |session| {
            let spent = spent.clone();
            Box::pin(async move {
                let spenders = session.prepared(SPENDERS).await.map_err(unreadable)?;
                let rows = session.client.query(&spenders, &[]).await.map_err(unreadable)?;
                let known: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
                let known = known.map_err(unreadable)?;
                for spent in spent.iter().filter(|spent| !known.contains(&spent.token)) {
                    put_spending(session, ADOPT, spent, now).await?;
                }
                Ok(())
            })
        })
    }

    fn trim_spending(&self, known: &[String], now: u64) -> Result<(), LogError> {
        let (known, until) = (known.to_vec(), integer(now.saturating_sub(STORED_SPENDING_MS)));
        let now = integer(now);
        self.shared.database.change(move |session| {
            let known = known.clone();
            Box::pin(async move {
                run(session, NAME_SPENDING, &[&known, &now]).await?;
                run(session, TRIM_SPENDING, &[&until]).await.map(drop)
            })
        })
    }
}
