//! Sessions of browsers, where several hubs share the database.

use super::{PostgresLog, unreadable};
use crate::numbers::{integer, natural};
use crate::sessions::STORED_SESSIONS_MAX;
use crate::{LogError, SharedSessions, StoredSession};

/// Makes room: what is over, and the oldest beyond the bound.
const TRIM: &str =
    "DELETE FROM session WHERE expires_at <= $1 OR number <= (SELECT max(number) FROM session) - $2";
const PUT: &str =
    "INSERT INTO session (hash, behind, expires_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING";
const REMOVE: &str = "DELETE FROM session WHERE hash = $1";
const FIND: &str = "SELECT behind, expires_at FROM session WHERE hash = $1";
const HASHES: &str = "SELECT hash FROM session";

impl SharedSessions for PostgresLog {
    fn put(&self, session: &StoredSession, now: u64) -> Result<(), LogError> {
        let (stored, now) = (session.clone(), integer(now));
        self.shared.database.change(move |session| {
            let StoredSession { hash, behind, expires } = stored.clone();
            Box::pin(async move {
                let (trim, put) = (session.prepared(TRIM).await, session.prepared(PUT).await);
                let (trim, put) = (trim.map_err(unreadable)?, put.map_err(unreadable)?);
                let most = i64::try_from(STORED_SESSIONS_MAX).unwrap_or(i64::MAX);
                session
                    .client
                    .execute(&put, &[&hash, &behind, &integer(expires)])
                    .await
                    .map_err(unreadable)?;
                session.client.execute(&trim, &[&now, &most]).await.map_err(unreadable)?;
                Ok(())
            })
        })
    }

    fn remove(&self, hash: &str) -> Result<(), LogError> {
        let hash = hash.to_owned();
        self.shared.database.change(move |session| {
            let hash = hash.clone();
            Box::pin(async move {
                let remove = session.prepared(REMOVE).await.map_err(unreadable)?;
                session.client.execute(&remove, &[&hash]).await.map_err(unreadable)?;
                Ok(())
            })
        })
    }

    fn find(&self, hash: &str) -> Result<Option<StoredSession>, LogError> {
        let hash = hash.to_owned();
        self.read_with(move |session| {
            let hash = hash.clone();
            Box::pin(async move {
                let find = session.prepared(FIND).await.map_err(unreadable)?;
                let Some(row) = session.client.query_opt(&find, &[&hash]).await.map_err(unreadable)? else {
                    return Ok(None);
                };
                let behind = row.try_get(0).map_err(unreadable)?;
                let expires = natural(row.try_get(1).map_err(unreadable)?);
                Ok(Some(StoredSession { hash, behind, expires }))
            })
        })
    }

    fn hashes(&self) -> Result<Vec<String>, LogError> {
        self.read_with(|session| {
            Box::pin(async move {
                let all = session.prepared(HASHES).await.map_err(unreadable)?;
                let rows = session.client.query(&all, &[]).await.map_err(unreadable)?;
                rows.iter().map(|row| row.try_get(0).map_err(unreadable)).collect()
            })
        })
    }
}
