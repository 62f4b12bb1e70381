//! One transaction: a plan as a handful of statements, sent together and answered together. The first of them is the fence.
//! The database answers each message by itself, which wakes the writer; so what needs no array shares one.
//!
//! ```text
//! message by message:  BEGIN, the fence · rows, each conversation from the head that it had · …
//! once all went well:  the settings, COMMIT · the settings
//! ```
//!
//! A statement that changes fewer rows than it names found something else than what is known: then nothing is committed.
//!
//! ```text
//! statement    rows it must change
//! FENCE        1: the life is not over, and has one commit less than this one's number
//! OWNED        one for each conversation that changes, where several hubs share the database
//! REMOVE       one for each conversation that goes
//! MAKE, CHANGE one for each conversation; CHANGE finds it only at the head that it had
//! UNBLOCK      one for each block that is replaced
//! all others   any number
//! ```

use std::collections::BTreeMap;

use compact_str::CompactString;
use futures_util::future::{join, join_all};
use model::limits::{PUBLISHERS_PER_CONVERSATION_MAX, TOOLS_MAX};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::ToSql;

use super::database::Session;
use super::guarantee::{COMMIT, CommitGuarantee, NAMED_SETTINGS, SETTINGS};
use super::known::WriterCache;
use super::life::WHOLE_LIFE;
use super::measures;
use super::plan::Plan;
use super::text::escape;
use super::writer::CommitFence;
use crate::documents;
use crate::measure::OTHERS;
use crate::numbers::{integer, size};
use crate::ops::Block;
use crate::search::words::lexemes;
use crate::tools::ToolCounts;

mod statements;

use statements::{
    ABANDON, ADOPT, ATTACH, BLOCKS, CHANGE, DOCUMENTS, FORGET, LATENCIES, MAKE, MARKS, NAMED_FENCE, OWNED,
    RELEASE, REMOVE, ROWS, STAGE, TOOLS, TRIM, UNBLOCK, UNMARK, VIEW_BYTES, VIEWS,
};

/// How a transaction is named: whose it is, which one, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitStamp {
    /// The life that writes.
    pub(super) life: i64,
    /// The number of the transaction in that life, from 1.
    pub(super) number: i64,
    /// The time of the transaction, in milliseconds since 1970.
    pub(super) now: u64,
    /// For how long the life is alive with it, in milliseconds.
    pub(super) lease_ms: i64,
}

/// Why a transaction was not made.
#[derive(Debug)]
pub(super) enum CommitError {
    /// The fence does not let it through: the life is over, or it has more commits than are known. The writer
    /// then asks which.
    Fenced,
    /// The life does not have a conversation that is changed; nothing was changed. Nobody can take one from a life that goes on, so a promotion
    /// has lost that it was claimed.
    NotOwned,
    /// The database has something else than what is known; nothing was changed. Holds the statement that
    /// noticed. The next try asks for everything anew.
    Stale(&'static str),
    /// The transaction was not made: a statement failed, and COMMIT was not sent.
    Failed(tokio_postgres::Error),
    /// COMMIT was sent, and no good answer came: it may have been made or not. The next try looks for its
    /// number first.
    InDoubt(tokio_postgres::Error),
}

/// The values of a statement.
pub(super) type Values = Vec<Box<dyn ToSql + Sync + Send>>;

/// A statement of a transaction.
struct CommitStep {
    /// The text, prepared once for each connection.
    sql: &'static str,
    /// One array for each column, whose elements belong together; so one statement writes any number of rows.
    values: Values,
    /// So many rows it must change.
    changes: Option<u64>,
}

/// The statements of one transaction, in order. Made of a plan without I/O; dropping it without
/// [`Batch::commit`] changes nothing.
pub(super) struct Batch {
    /// Begins the transaction, and has the fence.
    begin: String,
    steps: Vec<CommitStep>,
}

impl Batch {
    /// The statements of `plan`, the fence first. Admits new names of tools to `known` while fewer than
    /// `TOOLS_MAX` are counted.
    pub(super) fn of(plan: &Plan, stamp: CommitStamp, fences: CommitFence, known: &mut WriterCache) -> Self {
        let CommitStamp { life, number, now, lease_ms } = stamp;
        let begin = format!("BEGIN; EXECUTE fence ({life}, {number}, {}, {lease_ms})", integer(now));
        let mut batch = Self { begin, steps: Vec::new() };
        if fences == CommitFence::Owners {
            batch.owned(plan, stamp.life);
        }
        batch.imports(plan, stamp.life);
        batch.conversations(plan);
        batch.blocks(plan.blocks.iter().map(|(key, block)| (*key, block)));
        batch.beside(plan);
        batch.marks(plan);
        batch.states(plan);
        for (key, instead_of, block) in &plan.compacted {
            let changes = Some(instead_of.len() as u64);
            batch.steps.push(CommitStep {
                sql: UNBLOCK,
                values: vec![Box::new(*key), Box::new(instead_of.clone())],
                changes,
            });
            batch.blocks(std::iter::once((*key, block)));
        }
        if !plan.released.is_empty() {
            let names: Vec<String> = plan.released.iter().map(ToString::to_string).collect();
            batch.step(RELEASE, vec![Box::new(names), Box::new(life), Box::new(WHOLE_LIFE)]);
        }
        batch.tools(&plan.calls.tools, known);
        for (sql, values) in measures::steps(&plan.measures, known) {
            batch.step(sql, values);
        }
        batch
    }

    /// Adds a statement that may change any number of rows.
    fn step(&mut self, sql: &'static str, values: Values) {
        self.steps.push(CommitStep { sql, values, changes: None });
    }

    /// Adds a statement whose only value is keys, unless there are none.
    fn keys(&mut self, sql: &'static str, keys: Vec<i64>) {
        if !keys.is_empty() {
            self.step(sql, vec![Box::new(keys)]);
        }
    }

    /// The life must have each conversation that is changed. Nobody can take one as long as the life is not over, and the fence before has
    /// locked that.
    fn owned(&mut self, plan: &Plan, life: i64) {
        let changed = plan.changes.values().map(|change| &change.id);
        let mut names: Vec<String> = changed.chain(&plan.released).map(ToString::to_string).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let changes = Some(names.len() as u64);
            let values: Values = vec![Box::new(names), Box::new(life)];
            self.steps.push(CommitStep { sql: OWNED, values, changes });
        }
    }

    /// Imports that go on, that became conversations, and that were given up.
    fn imports(&mut self, plan: &Plan, life: i64) {
        if !plan.staged.is_empty() {
            let keys: Vec<i64> = plan.staged.keys().copied().collect();
            let numbers: Vec<i64> = plan.staged.values().map(|(import, ..)| import.cast_signed()).collect();
            let bytes: Vec<i64> = plan.staged.values().map(|(_, bytes, _)| *bytes).collect();
            let heads: Vec<i64> = plan.staged.values().map(|(.., head)| integer(*head)).collect();
            self.step(
                STAGE,
                vec![Box::new(keys), Box::new(life), Box::new(numbers), Box::new(bytes), Box::new(heads)],
            );
        }
        self.keys(ADOPT, plan.adopted.clone());
        self.keys(ABANDON, plan.abandoned.clone());
    }

    /// The rows of conversations: those that go, those that are new, and those that change. Removals come
    /// first, so that a name can be removed and made again in one transaction.
    fn conversations(&mut self, plan: &Plan) {
        if !plan.removed.is_empty() {
            let changes = Some(plan.removed.len() as u64);
            self.steps.push(CommitStep {
                sql: REMOVE,
                values: vec![Box::new(plan.removed.clone())],
                changes,
            });
        }
        for is_new in [true, false] {
            let changes: Vec<_> =
                plan.changes.iter().filter(|(_, change)| change.before.is_none() == is_new).collect();
            if changes.is_empty() {
                continue;
            }
            let keys: Vec<i64> = changes.iter().map(|(key, _)| **key).collect();
            let names: Vec<String> = changes.iter().map(|(_, change)| change.id.to_string()).collect();
            let before: Vec<i64> =
                changes.iter().map(|(_, change)| integer(change.before.unwrap_or(0))).collect();
            let epochs: Vec<String> =
                changes.iter().map(|(_, change)| escape(change.epoch.as_str()).into_owned()).collect();
            let heads: Vec<i64> = changes.iter().map(|(_, change)| integer(change.head)).collect();
            let times: Vec<i64> = changes.iter().map(|(_, change)| integer(change.at)).collect();
            let lives: Vec<i64> = changes.iter().map(|(_, change)| change.life.unwrap_or(0)).collect();
            let loose: Vec<i32> =
                changes.iter().map(|(_, change)| i32::try_from(change.loose).unwrap_or(i32::MAX)).collect();
            let bytes: Vec<i64> = changes.iter().map(|(_, change)| change.bytes).collect();
            let changes = Some(keys.len() as u64);
            let mut values: Values = vec![Box::new(keys)];
            values.push(if is_new { Box::new(names) } else { Box::new(before) });
            values.extend([
                Box::new(epochs) as Box<dyn ToSql + Sync + Send>,
                Box::new(heads),
                Box::new(times),
                Box::new(lives),
            ]);
            values.extend([Box::new(loose) as Box<dyn ToSql + Sync + Send>, Box::new(bytes)]);
            self.steps.push(CommitStep { sql: if is_new { MAKE } else { CHANGE }, values, changes });
        }
    }

    /// Blocks of events, in one statement.
    fn blocks<'a>(&mut self, blocks: impl Iterator<Item = (i64, &'a Block)>) {
        let (mut keys, mut firsts, mut lasts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut encodings, mut raws, mut bodies) = (Vec::<i16>::new(), Vec::new(), Vec::new());
        for (key, block) in blocks {
            keys.push(key);
            firsts.push(integer(block.first));
            lasts.push(integer(block.last));
            encodings.push(i16::try_from(block.encoding.number()).unwrap_or(i16::MAX));
            raws.push(size(block.raw));
            bodies.push(block.body.clone());
        }
        if !keys.is_empty() {
            let values: Values = vec![
                Box::new(keys),
                Box::new(firsts),
                Box::new(lasts),
                Box::new(encodings),
                Box::new(raws),
                Box::new(bodies),
            ];
            self.step(BLOCKS, values);
        }
    }

    /// Large results and documents. A document deletes the older one of the same item.
    fn beside(&mut self, plan: &Plan) {
        if !plan.attachments.is_empty() {
            let keys: Vec<i64> = plan.attachments.keys().map(|(key, _)| *key).collect();
            let hashes: Vec<String> =
                plan.attachments.keys().map(|(_, hash)| escape(hash).into_owned()).collect();
            let jsons: Vec<Vec<u8>> =
                plan.attachments.values().map(|json| json.as_bytes().to_vec()).collect();
            self.step(ATTACH, vec![Box::new(keys), Box::new(hashes), Box::new(jsons)]);
        }
        if plan.documents.is_empty() {
            return;
        }
        let keys: Vec<i64> = plan.documents.keys().map(|(key, ..)| *key).collect();
        let runs: Vec<String> = plan.documents.keys().map(|(_, run, ..)| escape(run).into_owned()).collect();
        let kinds: Vec<&'static str> = plan.documents.keys().map(|(_, _, kind, _)| *kind).collect();
        let items: Vec<String> = plan.documents.keys().map(|(.., item)| escape(item).into_owned()).collect();
        let place: Values = vec![
            Box::new(keys.clone()),
            Box::new(runs.clone()),
            Box::new(kinds.clone()),
            Box::new(items.clone()),
        ];
        self.step(FORGET, place);
        let texts = plan.documents.iter();
        let names: Vec<String> = texts.clone().map(|(_, text)| escape(&text.name).into_owned()).collect();
        let seqs: Vec<i64> = texts.clone().map(|(_, text)| integer(text.seq)).collect();
        let times: Vec<i64> = texts.clone().map(|(_, text)| integer(text.at)).collect();
        let bodies: Vec<String> = texts.clone().map(|(_, text)| text.body.clone()).collect();
        let words: Vec<String> =
            texts.map(|((key, _, kind, _), text)| words(*key, kind, &text.body)).collect();
        let values: Values = vec![
            Box::new(keys),
            Box::new(runs),
            Box::new(kinds),
            Box::new(items),
            Box::new(names),
            Box::new(seqs),
            Box::new(times),
            Box::new(bodies),
            Box::new(words),
        ];
        self.step(DOCUMENTS, values);
    }

    /// Marks of publishers: those of states that fill a hole replace all others of the conversation.
    fn marks(&mut self, plan: &Plan) {
        let mut cleared: Vec<i64> = plan.cleared.iter().copied().collect();
        cleared.sort_unstable();
        self.keys(UNMARK, cleared);
        if !plan.marks.is_empty() {
            let keys: Vec<i64> = plan.marks.keys().map(|(key, _)| *key).collect();
            let names: Vec<String> =
                plan.marks.keys().map(|(_, name)| escape(name.as_str()).into_owned()).collect();
            // Both numbers are the publisher's own, up to the largest that there is.
            let epochs: Vec<i64> = plan.marks.values().map(|(epoch, ..)| epoch.cast_signed()).collect();
            let seqs: Vec<i64> = plan.marks.values().map(|(_, seq, _)| seq.cast_signed()).collect();
            let turns: Vec<i64> = plan.marks.values().map(|(.., turn)| *turn).collect();
            self.step(
                MARKS,
                vec![Box::new(keys), Box::new(names), Box::new(epochs), Box::new(seqs), Box::new(turns)],
            );
        }
        let mut trimmed: Vec<i64> = plan.trimmed.iter().copied().collect();
        trimmed.sort_unstable();
        if !trimmed.is_empty() {
            self.step(TRIM, vec![Box::new(trimmed), Box::new(size(PUBLISHERS_PER_CONVERSATION_MAX))]);
        }
    }

    /// Packed states with their sizes, and rows of the list.
    fn states(&mut self, plan: &Plan) {
        if !plan.views.is_empty() {
            let keys: Vec<i64> = plan.views.keys().copied().collect();
            let seqs: Vec<i64> = plan.views.values().map(|(seq, _)| integer(*seq)).collect();
            let bodies: Vec<Vec<u8>> = plan.views.values().map(|(_, body)| body.clone()).collect();
            let bytes: Vec<i64> = bodies.iter().map(|body| size(body.len())).collect();
            self.step(VIEWS, vec![Box::new(keys.clone()), Box::new(seqs), Box::new(bodies)]);
            self.step(VIEW_BYTES, vec![Box::new(keys), Box::new(bytes)]);
        }
        if !plan.rows.is_empty() {
            let keys: Vec<i64> = plan.rows.keys().copied().collect();
            let heads: Vec<i64> = plan.rows.values().map(|row| integer(row.head)).collect();
            let rows: Vec<String> = plan.rows.values().map(|row| row.json.clone()).collect();
            let states: Vec<&'static str> = plan.rows.values().map(|row| row.state.unwrap_or("")).collect();
            let pinned: Vec<i16> = plan.rows.values().map(|row| row.pinned).collect();
            let archived: Vec<i16> = plan.rows.values().map(|row| row.archived).collect();
            let tags: Vec<String> = plan.rows.values().map(|row| escape(&row.tags).into_owned()).collect();
            let mut values: Values = vec![Box::new(keys), Box::new(heads), Box::new(rows), Box::new(states)];
            values.extend([
                Box::new(pinned) as Box<dyn ToSql + Sync + Send>,
                Box::new(archived),
                Box::new(tags),
            ]);
            self.step(ROWS, values);
        }
    }

    /// Calls by tool. A tool that is not admitted counts among the others.
    fn tools(&mut self, tools: &BTreeMap<CompactString, ToolCounts>, known: &mut WriterCache) {
        if tools.is_empty() {
            return;
        }
        let admitted = known.tools.get_or_insert_default();
        let (mut calls, mut latencies) =
            (BTreeMap::<String, (i64, i64)>::new(), BTreeMap::<(String, i32), i64>::new());
        for (name, counts) in tools {
            if !admitted.contains(name) && admitted.len() < TOOLS_MAX {
                admitted.insert(name.clone());
            }
            let name = if admitted.contains(name) { escape(name).into_owned() } else { String::from(OTHERS) };
            for (bucket, calls) in &counts.buckets {
                *latencies.entry((name.clone(), i32::try_from(*bucket).unwrap_or(i32::MAX))).or_default() +=
                    calls;
            }
            let sum = calls.entry(name).or_default();
            (sum.0, sum.1) = (sum.0 + counts.calls, sum.1 + counts.failed);
        }
        let names: Vec<String> = calls.keys().cloned().collect();
        let (counts, failed): (Vec<i64>, Vec<i64>) = calls.into_values().unzip();
        self.step(TOOLS, vec![Box::new(names), Box::new(counts), Box::new(failed)]);
        if !latencies.is_empty() {
            let counts: Vec<i64> = latencies.values().copied().collect();
            let (names, buckets): (Vec<String>, Vec<i32>) = latencies.into_keys().unzip();
            self.step(LATENCIES, vec![Box::new(names), Box::new(buckets), Box::new(counts)]);
        }
    }

    /// Makes the transaction: sends BEGIN and all statements without waiting between them, judges the
    /// answers, and sends COMMIT or ROLLBACK. Returns what the settings of the database made true before and
    /// after COMMIT; nothing after it where the database did not say so, or warned. Where this future is dropped, the transaction may have been
    /// made, and the session must not be used again.
    pub(super) async fn commit(
        &self,
        session: &mut Session,
    ) -> Result<(Option<CommitGuarantee>, Option<CommitGuarantee>), CommitError> {
        let failed = CommitError::Failed;
        let settings = session.prepared(SETTINGS).await.map_err(failed)?;
        session.prepare_named(NAMED_SETTINGS).await.map_err(failed)?;
        session.prepare_named(NAMED_FENCE).await.map_err(failed)?;
        let mut statements = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            statements.push(session.prepared(step.sql).await.map_err(failed)?);
        }
        let (client, warnings) = (&session.client, session.warnings());
        let steps = self.steps.iter().zip(&statements).map(|(step, statement)| {
            Box::pin(async move {
                let values: Vec<&(dyn ToSql + Sync)> =
                    step.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
                client.execute(statement, &values).await
            })
        });
        // The first poll of each sends its statement: they go out in this order, without waiting for one another.
        let (begun, answers) = join(client.simple_query(&self.begin), join_all(steps)).await;
        if let Err(why) = self.check_changes(begun, answers) {
            // The session is given up where this does not come through.
            drop(client.batch_execute("ROLLBACK").await);
            return Err(why);
        }
        let (committed, after) = join(client.simple_query(COMMIT), client.query_one(&settings, &[])).await;
        // Also one that answers with an error may have been made: a session can be ended between the two.
        let before = CommitGuarantee::of_answers(&committed.map_err(CommitError::InDoubt)?);
        let after = after.and_then(|row| CommitGuarantee::of(&row)).ok();
        Ok((before, after.filter(|_| session.warnings() == warnings)))
    }

    /// Whether the fence let the transaction through and all statements did what they should. The first that
    /// did not decides the error.
    fn check_changes(
        &self,
        begun: Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>,
        answers: Vec<Result<u64, tokio_postgres::Error>>,
    ) -> Result<(), CommitError> {
        // The answer to the fence is the last.
        let begun = begun.map_err(CommitError::Failed)?;
        if !matches!(begun.last(), Some(SimpleQueryMessage::CommandComplete(1))) {
            return Err(CommitError::Fenced);
        }
        for (step, answer) in self.steps.iter().zip(answers) {
            let changed = answer.map_err(CommitError::Failed)?;
            if step.changes.is_some_and(|wanted| wanted != changed) {
                let is_owned = step.sql != OWNED;
                return Err(if is_owned { CommitError::Stale(step.sql) } else { CommitError::NotOwned });
            }
        }
        Ok(())
    }
}

/// The words of a document for the index, with those of its conversation and its kind, which no text has.
pub(super) fn words(key: i64, kind: &str, text: &str) -> String {
    let mut words = format!("{} {}", of_conversation(key), of_kind(kind));
    lexemes(text, &mut words);
    words
}

/// The word by which the index narrows to a conversation.
pub(super) fn of_conversation(key: i64) -> String {
    format!("-c{key}")
}

/// The word by which the index narrows to a kind, one of [`documents::kind_name`].
pub(super) fn of_kind(kind: &str) -> String {
    debug_assert!(documents::kind(kind).is_some());
    format!("-k{kind}")
}
