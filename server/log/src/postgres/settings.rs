//! Settings that users change while several hubs share the database.

use super::{PostgresLog, unreadable};
use crate::numbers::{integer, natural};
use crate::{LogError, SharedSettings, StoredSetting};

const READ: &str = "SELECT version, text FROM setting WHERE name = $1";
const FIRST: &str =
    "INSERT INTO setting (name, version, text) VALUES ($1, 1, $2) ON CONFLICT (name) DO NOTHING";
const NEXT: &str = "UPDATE setting SET version = version + 1, text = $2 WHERE name = $1 AND version = $3";

impl SharedSettings for PostgresLog {
    fn setting(&self, name: &str) -> Result<StoredSetting, LogError> {
        let name = name.to_owned();
        self.shared.database.read(move |session| {
            let name = name.clone();
            Box::pin(async move {
                let read = session.prepared(READ).await.map_err(unreadable)?;
                let row = session.client.query_opt(&read, &[&name]).await.map_err(unreadable)?;
                let Some(row) = row else { return Ok(StoredSetting::default()) };
                let version = natural(row.try_get(0).map_err(unreadable)?);
                Ok(StoredSetting { version, text: row.try_get(1).map_err(unreadable)? })
            })
        })
    }

    fn set(&self, name: &str, text: &str, after: u64) -> Result<bool, LogError> {
        let (name, text, after) = (name.to_owned(), text.to_owned(), integer(after));
        self.shared.database.change(move |session| {
            let (name, text) = (name.clone(), text.clone());
            Box::pin(async move {
                let statement = if after == 0 { FIRST } else { NEXT };
                let statement = session.prepared(statement).await.map_err(unreadable)?;
                let changed = if after == 0 {
                    session.client.execute(&statement, &[&name, &text]).await
                } else {
                    session.client.execute(&statement, &[&name, &text, &after]).await
                };
                Ok(changed.map_err(unreadable)? == 1)
            })
        })
    }
}
