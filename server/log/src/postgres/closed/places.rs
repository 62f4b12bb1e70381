//! Where a text stands in the database as it is: in rows, and in what the planner knows of them.

use std::collections::BTreeSet;

use super::quoted;
use crate::postgres::database::Session;

/// The columns of the log that may hold a text.
const COLUMNS: &str = "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns \
                       WHERE table_schema = current_schema() AND data_type IN ('text', 'bytea', 'tsvector') ORDER BY 1, 2";

/// Columns of which the planner's statistics have one of the texts $1.
const STATISTICS: &str = "SELECT tablename || '.' || attname FROM pg_stats WHERE schemaname = current_schema() AND EXISTS \
                          (SELECT 1 FROM unnest($1::text[]) AS t WHERE position(t IN concat(most_common_vals, histogram_bounds, most_common_elems)) > 0)";

/// The columns and statistics that have one of `texts`.
pub(super) async fn places(
    session: &Session,
    texts: &Vec<String>,
) -> Result<BTreeSet<String>, tokio_postgres::Error> {
    let mut found = BTreeSet::new();
    for row in session.client.query(COLUMNS, &[]).await? {
        let (table, column): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let (at, with) = (quoted(&column), quoted(&table));
        let is_there = match row.try_get(2)? {
            "bytea" => format!("position(convert_to(t, 'UTF8') IN {at}) > 0"),
            // Words are kept in small letters.
            "tsvector" => format!("position(lower(t) IN {at}::text) > 0"),
            _ => format!("position(t IN {at}) > 0"),
        };
        let select = format!(
            "SELECT EXISTS (SELECT 1 FROM {with} WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) AS t WHERE {is_there}))"
        );
        if session.client.query_one(&select, &[texts]).await?.try_get(0)? {
            found.insert(format!("rows of the table {table} (column {column})"));
        }
    }
    for row in session.client.query(STATISTICS, &[texts]).await? {
        found.insert(format!("the planner's statistics of {}", row.try_get::<_, String>(0)?));
    }
    Ok(found)
}
