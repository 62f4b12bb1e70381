//! The search: what a person types, as a query of the index, and what was found, as places to look at.

use rusqlite::{Connection, Row, ToSql};
use shared::RunId;
use shared::limits::HITS_MAX;

use super::blocks::unreadable;
use super::documents::{self, MATCH};
use super::load;
use super::schema::{integer, natural, size};
use crate::log::{Hit, LogError, SearchQuery};

mod query;
mod snippet;

/// What matches, the newest first.
pub(super) fn search(connection: &Connection, query: &SearchQuery) -> Result<Vec<Hit>, LogError> {
    let mut wanted = query::parse(&query.text)?;
    if let Some(conversation) = &query.conversation {
        let Some(found) = load::find(connection, conversation)? else { return Ok(Vec::new()) };
        wanted = format!("{wanted} AND place : c{}", found.key);
    }
    if let Some(kind) = query.kind {
        wanted = format!("{wanted} AND place : k{}", documents::word(kind));
    }
    let select = "SELECT document.id, conversation.id, document.run, document.kind, document.item, document.name, \
                  document.seq, document.at, highlight(word, 0, ?4, ?5) \
                  FROM word JOIN document ON document.id = word.rowid \
                  JOIN conversation ON conversation.key = document.conversation \
                  WHERE word MATCH ?1 AND word.rowid < ?2 ORDER BY word.rowid DESC LIMIT ?3";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let before = query.before.map_or(i64::MAX, integer);
    // One more than an answer holds says whether there are more.
    let limit = size(query.limit.min(HITS_MAX + 1));
    let [open, close] = MATCH.map(String::from);
    let values: [&dyn ToSql; 5] = [&wanted, &before, &limit, &open, &close];
    let hits = select.query_map(values, hit).map_err(unreadable)?;
    hits.collect::<rusqlite::Result<Vec<_>>>().map_err(unreadable)
}

fn hit(found: &Row<'_>) -> rusqlite::Result<Hit> {
    let run = RunId::new(found.get_ref(2)?.as_str()?);
    let (snippet, marks) = snippet::around_first(found.get_ref(8)?.as_str()?);
    Ok(Hit {
        id: natural(found.get(0)?),
        conversation: super::rows::conversation(found, 1)?,
        run: Some(run).filter(|run| !run.is_none()),
        kind: documents::kind(found.get_ref(3)?.as_str()?).unwrap_or(crate::log::DocumentKind::Text),
        item: found.get_ref(4)?.as_str()?.into(),
        name: found.get_ref(5)?.as_str()?.into(),
        seq: natural(found.get(6)?),
        at: natural(found.get(7)?),
        snippet,
        marks,
    })
}
