//! The search. The index knows single words; what it finds is looked at again where a query asks for more than words: for phrases,
//! and for words longer than the index keeps. The newest comes first, and between two steps the search looks whether it was stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::RunId;
use model::limits::HITS_MAX;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::batch::{of_conversation, of_kind};
use super::database::{Database, Session};
use super::text::{escape, unescape};
use super::{read, unreadable};
use crate::documents;
use crate::numbers::{integer, natural, size};
use crate::search::narrow::{NarrowValue, Narrowing, Writing};
use crate::search::words::{Term, has_all, lexeme};
use crate::search::{query, snippet};
use crate::{LogError, QueryCancel, SearchDocumentKind, SearchHit, SearchQuery, SearchResults};

/// Documents that are looked at in one step. Each has at most [`model::limits::DOCUMENT_BYTES_MAX`].
const STEP: usize = 64;

/// The documents from $4 to below $2 that the index finds for $1, before what else the search is narrowed to.
const SELECT: &str = "SELECT d.id, c.id, d.run, d.kind, d.item, d.name, d.seq, d.at, d.text FROM document d \
                      JOIN conversation c ON c.key = d.conversation \
                      WHERE d.words @@ $1::text::tsquery AND d.id < $2 AND d.id >= $4";

/// Documents, by their numbers, that one step of a narrowed search looks through at first. What it is narrowed to may be rare among what the
/// index finds: without a bound one step would read all of it, and a search that is stopped would have come nowhere.
const WINDOW: i64 = 4_096;

/// A step that takes less than this is followed by one of twice the size.
const WINDOW_QUICK: Duration = Duration::from_millis(100);

/// The order and the end of [`SELECT`].
const NEWEST: &str = "ORDER BY d.id DESC LIMIT $3";

/// The number of the first value that [`Narrowing`] adds.
const FIRST_NARROWING: usize = 5;

/// How this database writes what a search is narrowed to. A row with the character NUL in some text cannot be read as JSON here: no
/// agent is found in it.
const WRITING: Writing = Writing {
    sign: '$',
    find: "strpos",
    name: "lower(d.name COLLATE \"C\")",
    agent: "lower((CASE WHEN strpos(c.row, '\\u0000') = 0 THEN c.row::json ->> 'agent' END) COLLATE \"C\")",
    stored: |text| escape(text).into_owned(),
};

/// A search as it goes over to the runtime of the log.
#[derive(Debug, Clone)]
struct SearchJob {
    /// The query in the language of `tsquery`: words joined by `&`, with those for a conversation and a kind.
    index: String,
    /// What is looked for in the texts, and marked in snippets.
    terms: Arc<[Term]>,
    /// What else it is narrowed to; values as the database takes them.
    narrowing: Arc<Narrowing>,
    /// Only documents below this number.
    before: i64,
    /// Only documents from this number on.
    from: i64,
}

/// What matches, the newest first, as far as the search came until `stop` was called. Fails with
/// [`LogError::BadQuery`] for a query that [`query::parse`] refuses. A conversation that does not exist has
/// no hits.
pub(super) fn search(
    database: &Arc<Database>,
    query: &SearchQuery,
    stop: &QueryCancel,
) -> Result<SearchResults, LogError> {
    let query::ParsedQuery { terms, .. } = query::parse(&query.text)?;
    let mut index: Vec<String> = terms.iter().flat_map(Term::parts).map(quoted).collect();
    let of = query.conversation.clone();
    let (key, newest) = database.read(move |session| {
        let of = of.clone();
        Box::pin(async move {
            let newest = session
                .client
                .query_one("SELECT coalesce(max(id), 0) FROM document", &[])
                .await
                .map_err(unreadable)?;
            let newest: i64 = newest.try_get(0).map_err(unreadable)?;
            let Some(of) = of else { return Ok((None, newest)) };
            Ok((Some(read::find(session, &of).await?.map_or(-1, |found| found.key)), newest))
        })
    })?;
    if let Some(key) = key {
        if key < 0 {
            return Ok(SearchResults::default());
        }
        index.push(format!("'{}'", of_conversation(key)));
    }
    index.extend(query.kind.map(|kind| format!("'{}'", of_kind(documents::kind_name(kind)))));
    let before = query.before.map_or(i64::MAX, integer).min(newest.saturating_add(1));
    // One more than an answer holds says whether there are more.
    let limit = query.limit.min(HITS_MAX + 1);
    let narrowing = Narrowing::of(query, WRITING, FIRST_NARROWING);
    let index = index.join(" & ");
    let mut window = if narrowing.conditions.is_empty() { i64::MAX } else { WINDOW };
    let mut wanted = SearchJob { index, terms: terms.into(), narrowing: narrowing.into(), before, from: 0 };
    let mut hits = Vec::new();
    while hits.len() < limit {
        if stop.is_cancelled() {
            let stopped_at = Some(natural(wanted.before));
            return Ok(SearchResults { hits, stopped_at, lacks_newest: false });
        }
        let began = Instant::now();
        wanted.from = wanted.before.saturating_sub(window).max(0);
        let Some(step) = look_back(database, &wanted, stop)? else {
            let stopped_at = Some(natural(wanted.before));
            return Ok(SearchResults { hits, stopped_at, lacks_newest: false });
        };
        wanted.before = step.before;
        if began.elapsed() < WINDOW_QUICK {
            window = window.saturating_mul(2);
        }
        let room = limit - hits.len();
        hits.extend(step.hits.into_iter().take(room));
        if step.is_last {
            break;
        }
    }
    Ok(SearchResults { hits, ..SearchResults::default() })
}

/// A part of a term as the index is asked for it. It holds letters and digits alone.
fn quoted(part: (&str, bool)) -> String {
    let (word, is_beginning) = part;
    format!("'{}'{}", lexeme(word), if is_beginning { ":*" } else { "" })
}

/// What one step has found.
#[derive(Debug)]
struct SearchStep {
    /// The documents that match, newest first.
    hits: Vec<SearchHit>,
    /// All documents from this number on were looked at.
    before: i64,
    /// Whether there are no more documents to look at.
    is_last: bool,
}

/// Looks at the next documents; nothing when the search was stopped meanwhile.
fn look_back(
    database: &Arc<Database>,
    wanted: &SearchJob,
    stop: &QueryCancel,
) -> Result<Option<SearchStep>, LogError> {
    let asked = wanted.clone();
    let rows = database.read_unless_stopped(stop, move |session| {
        let asked = asked.clone();
        Box::pin(async move { step(session, &asked).await })
    })?;
    rows.map(|rows| found(&rows, wanted)).transpose()
}

/// The rows of the next [`STEP`] documents that the index finds.
async fn step(session: &mut Session, wanted: &SearchJob) -> Result<Vec<Row>, tokio_postgres::Error> {
    let select = format!("{SELECT}{} {NEWEST}", wanted.narrowing.conditions);
    let select = session.prepared(select).await?;
    let step = size(STEP);
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&wanted.index, &wanted.before, &step, &wanted.from];
    values.extend(wanted.narrowing.values.iter().map(|value| match value {
        NarrowValue::Number(number) => number as &(dyn ToSql + Sync),
        NarrowValue::Text(text) => text as &(dyn ToSql + Sync),
    }));
    session.client.query(&select, &values).await
}

/// The rows of one step as hits.
fn found(rows: &[Row], wanted: &SearchJob) -> Result<SearchStep, LogError> {
    let looks_again = wanted.terms.iter().any(Term::is_more_than_a_word);
    let is_through = rows.len() < STEP;
    let mut found =
        SearchStep { hits: Vec::new(), before: wanted.before, is_last: is_through && wanted.from <= 0 };
    for row in rows {
        found.before = row.try_get(0).map_err(unreadable)?;
        let text: &str = row.try_get(8).map_err(unreadable)?;
        if !looks_again || has_all(text, &wanted.terms) {
            found.hits.push(hit(row, text, &wanted.terms)?);
        }
    }
    if is_through {
        found.before = wanted.from;
    }
    Ok(found)
}

/// Makes a hit of a row of [`SELECT`].
fn hit(row: &Row, text: &str, terms: &[Term]) -> Result<SearchHit, LogError> {
    let word = |place: usize| row.try_get::<_, &str>(place).map(unescape).map_err(unreadable);
    let run = RunId::new(&word(2)?);
    let (snippet, marks) = snippet::around_first(text, terms);
    Ok(SearchHit {
        id: natural(row.try_get(0).map_err(unreadable)?),
        conversation: read::conversation(row, 1)?,
        run: Some(run).filter(|run| !run.is_none()),
        kind: documents::kind(&word(3)?).unwrap_or(SearchDocumentKind::Text),
        item: word(4)?.as_ref().into(),
        name: word(5)?.as_ref().into(),
        seq: natural(row.try_get(6).map_err(unreadable)?),
        at: natural(row.try_get(7).map_err(unreadable)?),
        snippet,
        marks,
    })
}
