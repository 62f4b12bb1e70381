//! Sessions of browsers, where several hubs share the database.

use super::{PostgresLog, unreadable};
use crate::numbers::{integer, natural, size};
use crate::sessions::{STORED_SESSIONS_EACH_MAX, STORED_SESSIONS_MAX};
use crate::{LogError, SharedSessions, StoredSession};

/// Makes room: what is over, the oldest of a caller that has too many, and the oldest of all beyond the bound.
const TRIM: &str = "DELETE FROM session WHERE expires_at <= $1 OR number IN (SELECT number FROM \
                    (SELECT number, row_number() OVER (ORDER BY number DESC) AS of_all, \
                     row_number() OVER (PARTITION BY caller ORDER BY number DESC) AS of_caller FROM session) ranked \
                    WHERE of_all > $2 OR of_caller > $3)";
const PUT: &str = "INSERT INTO session (hash, caller, behind, expires_at) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (hash) DO NOTHING";
const REMOVE: &str = "DELETE FROM session WHERE hash = $1";
const FIND: &str = "SELECT behind, expires_at, caller FROM session WHERE hash = $1";
const HASHES: &str = "SELECT hash FROM session";

impl SharedSessions for PostgresLog {
    fn put(&self, session: &StoredSession, now: u64) -> Result<(), LogError> {
        let (stored, now) = (session.clone(), integer(now));
        self.shared.database.change(move |session| {
            let StoredSession { hash, caller, behind, expires } = stored.clone();
            Box::pin(async move {
                let (trim, put) = (session.prepared(TRIM).await, session.prepared(PUT).await);
                let (trim, put) = (trim.map_err(unreadable)?, put.map_err(unreadable)?);
                let (most, each) = (size(STORED_SESSIONS_MAX), size(STORED_SESSIONS_EACH_MAX));
                session
                    .client
                    .execute(&put, &[&hash, &caller, &behind, &integer(expires)])
                    .await
                    .map_err(unreadable)?;
                session.client.execute(&trim, &[&now, &most, &each]).await.map_err(unreadable)?;
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
                let caller = row.try_get(2).map_err(unreadable)?;
                Ok(Some(StoredSession { hash, caller, behind, expires }))
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
