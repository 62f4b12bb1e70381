//! The search: turns what a person types into a query of the index, and what the index finds into hits.
//!
//! The index returns one row at a time, and its work between two rows cannot be interrupted. So it is asked
//! about one window of documents after another, newest first. Between two windows the search checks whether
//! it was stopped, and a stopped search knows how far it came.

use std::time::{Duration, Instant};

use model::RunId;
use model::limits::{HITS_MAX, NUMBER_MAX};
use rusqlite::{Connection, Row, ToSql};

use super::blocks::unreadable;
use super::documents;
use super::load;
use super::schema::{integer, natural, size};
use crate::{LogError, QueryCancel, SearchHit, SearchQuery, SearchResults};

use crate::search::narrow::{NarrowValue, Narrowing, Writing};
use crate::search::words::Term;
use crate::search::{query, snippet};

/// Documents in the first window. Each has at most [`model::limits::DOCUMENT_BYTES_MAX`] bytes.
const WINDOW: i64 = 64;

/// Fewest documents of a window.
const WINDOW_MIN: i64 = 8;

/// After a window that took less time than this, the next one has twice the size; after one that took four
/// times as long, half the size.
const WINDOW_QUICK: Duration = Duration::from_millis(25);

/// Documents of a window that match, before what else the search is narrowed to.
const SELECT: &str = "SELECT d.id, c.id, d.run, d.kind, d.item, d.name, d.seq, d.at, d.text \
                      FROM word JOIN document d ON d.id = word.rowid JOIN conversation c ON c.key = d.conversation \
                      WHERE word MATCH ?1 AND word.rowid < ?2 AND word.rowid >= ?3";

/// The order and the end of [`SELECT`].
const NEWEST: &str = "ORDER BY word.rowid DESC LIMIT ?4";

/// The number of the first value that [`Narrowing`] adds.
const FIRST_NARROWING: usize = 5;

/// How this database writes what a search is narrowed to.
const WRITING: Writing = Writing {
    sign: '?',
    find: "instr",
    name: "lower(d.name)",
    agent: "lower(CASE WHEN json_valid(c.row) THEN json_extract(c.row, '$.agent') END)",
    stored: str::to_owned,
};

/// Returns the documents that match, newest first, as far as the search came before `stop` was called. Fails
/// with [`LogError::BadQuery`] for a query that [`query::parse`] refuses. A conversation that does not exist
/// has no hits.
pub(super) fn search(
    connection: &Connection,
    query: &SearchQuery,
    stop: &QueryCancel,
) -> Result<SearchResults, LogError> {
    let query::ParsedQuery { index: mut wanted, terms } = query::parse(&query.text)?;
    if let Some(conversation) = &query.conversation {
        let Some(found) = load::find(connection, conversation)? else { return Ok(SearchResults::default()) };
        wanted = format!("{wanted} AND place : c{}", found.key);
    }
    if let Some(kind) = query.kind {
        wanted = format!("{wanted} AND place : k{}", documents::kind_name(kind));
    }
    if stop.is_cancelled() {
        // It may have been stopped while it waited for documents, whose numbers are above all that are there.
        let stopped_at = Some(query.before.unwrap_or(NUMBER_MAX));
        return Ok(SearchResults { stopped_at, ..SearchResults::default() });
    }
    let handle = connection.get_interrupt_handle();
    let _running = stop.attach(Box::new(move || handle.interrupt()));
    let bounds = "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM document";
    let bounds = connection.query_row(bounds, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let (oldest, newest) = bounds.map_err(unreadable)?;
    let before = query.before.map_or(i64::MAX, integer).min(newest.saturating_add(1));
    // The caller asks for one hit more than it shows, to know whether there are more.
    let limit = query.limit.min(HITS_MAX + 1);
    let narrowing = Narrowing::of(query, WRITING, FIRST_NARROWING);
    let select = format!("{SELECT}{} {NEWEST}", narrowing.conditions);
    let values = narrowing.values;
    let mut search =
        Search { connection, select, wanted, values, terms, stop, hits: Vec::new(), before, limit };
    let mut window = WINDOW;
    while search.before > oldest && search.hits.len() < limit {
        let began = Instant::now();
        let from = search.before.saturating_sub(window).max(oldest);
        if stop.is_cancelled() || !search.look_back_to(from)? {
            let stopped_at = Some(natural(search.before));
            return Ok(SearchResults { hits: search.hits, stopped_at, lacks_newest: false });
        }
        match began.elapsed() {
            took if took < WINDOW_QUICK => window = window.saturating_mul(2),
            took if took > 4 * WINDOW_QUICK => window = (window / 2).max(WINDOW_MIN),
            _ => {}
        }
    }
    Ok(SearchResults { hits: search.hits, ..SearchResults::default() })
}

/// A search on its way from the newest document to the oldest.
struct Search<'a> {
    connection: &'a Connection,
    /// The statement for one window.
    select: String,
    /// The query in the language of the index.
    wanted: String,
    /// The values of what else it is narrowed to.
    values: Vec<NarrowValue>,
    /// What is marked in the snippets.
    terms: Vec<Term>,
    stop: &'a QueryCancel,
    /// What was found so far.
    hits: Vec<SearchHit>,
    /// All documents from this number on were searched.
    before: i64,
    /// Most hits that are returned.
    limit: usize,
}

impl Search<'_> {
    /// Searches the documents down to `from`. False if it was stopped on the way; what was found until then
    /// counts.
    fn look_back_to(&mut self, from: i64) -> Result<bool, LogError> {
        let mut select = self.connection.prepare_cached(&self.select).map_err(unreadable)?;
        let limit = size(self.limit - self.hits.len());
        let before = self.before;
        let mut values: Vec<&dyn ToSql> = vec![&self.wanted, &before, &from, &limit];
        values.extend(self.values.iter().map(|value| match value {
            NarrowValue::Number(number) => number as &dyn ToSql,
            NarrowValue::Text(text) => text as &dyn ToSql,
        }));
        let mut rows = select.query(&*values).map_err(unreadable)?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    let hit = hit(row, &self.terms).map_err(unreadable)?;
                    self.before = integer(hit.id);
                    self.hits.push(hit);
                    if self.stop.is_cancelled() {
                        return Ok(false);
                    }
                }
                Ok(None) => break,
                Err(error)
                    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(unreadable(error)),
            }
        }
        if self.hits.len() < self.limit {
            self.before = from;
        }
        Ok(true)
    }
}

/// Makes a hit of a row that the index has found.
fn hit(found: &Row<'_>, terms: &[Term]) -> rusqlite::Result<SearchHit> {
    let run = RunId::new(found.get_ref(2)?.as_str()?);
    let (snippet, marks) = snippet::around_first(found.get_ref(8)?.as_str()?, terms);
    Ok(SearchHit {
        id: natural(found.get(0)?),
        conversation: super::rows::conversation(found, 1)?,
        run: Some(run).filter(|run| !run.is_none()),
        kind: documents::kind(found.get_ref(3)?.as_str()?).unwrap_or(crate::SearchDocumentKind::Text),
        item: found.get_ref(4)?.as_str()?.into(),
        name: found.get_ref(5)?.as_str()?.into(),
        seq: natural(found.get(6)?),
        at: natural(found.get(7)?),
        snippet,
        marks,
    })
}
