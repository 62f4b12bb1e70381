//! What the database holds, and how an older one becomes a newer one.

use tokio_postgres::error::SqlState;

use super::{PostgresError, Session};

/// How the schema came to be: the version of a database is how many of these it has seen. Never change one that was released.
const MIGRATIONS: [&str; 10] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
    include_str!("schema/9.sql"),
    include_str!("schema/10.sql"),
];

/// Where the version stands. The row is the lock of those who start at the same moment.
const VERSION: &str = "CREATE TABLE IF NOT EXISTS fanlight_schema (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL); \
                       INSERT INTO fanlight_schema (version) VALUES (0) ON CONFLICT DO NOTHING";

/// How often the table of the version is made again when somebody else makes it at the same moment.
const TRIES: usize = 5;

/// Brings the schema to the version of today. All missing migrations are one transaction, so the database has
/// either the old version or the new one. Fails with [`PostgresError::Newer`] for a database of a later
/// version, which stays as it is.
pub(super) async fn migrate(session: &mut Session) -> Result<(), PostgresError> {
    for _ in 1..TRIES {
        match try_to_migrate(session).await {
            Err(PostgresError::Database(error)) if is_race(&error) => {}
            done => return done,
        }
    }
    try_to_migrate(session).await
}

/// Whether another start has made the same table at the same moment.
fn is_race(error: &tokio_postgres::Error) -> bool {
    let races = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    error.code().is_some_and(|code| races.contains(code))
}

/// One try. The row of the version is locked first, so a hub that starts at the same moment waits and then
/// finds nothing to do.
async fn try_to_migrate(session: &mut Session) -> Result<(), PostgresError> {
    let transaction = session.client.transaction().await?;
    transaction.batch_execute(VERSION).await?;
    let row = transaction.query_one("SELECT version FROM fanlight_schema FOR UPDATE", &[]).await?;
    let version: i32 = row.try_get(0)?;
    let found = usize::try_from(version).unwrap_or(usize::MAX);
    if found > MIGRATIONS.len() {
        return Err(PostgresError::Newer { found, known: MIGRATIONS.len() });
    }
    for (before, migration) in MIGRATIONS.iter().enumerate().skip(found) {
        transaction.batch_execute(migration).await?;
        tracing::info!(schema = before + 1, "the log has a new schema");
    }
    let now = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    transaction.execute("UPDATE fanlight_schema SET version = $1", &[&now]).await?;
    Ok(transaction.commit().await?)
}
