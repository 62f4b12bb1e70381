//! The events and helpers of the cases.

use std::fmt::Write as _;
use std::sync::Arc;

use model::event::Kind;
use model::frame::{ConversationRow, Durability};
use model::view::Item;
use model::{ConversationId, Envelope, Epoch, Event, Position, RunId, Seq, testkit};

use crate::{
    Append, Checkpoint, EventLog, ListQuery, LogError, PublisherMark, QueryCancel, SearchDocument,
    SearchDocumentKind, SearchDocumentPlace, SearchHit, SearchQuery, Ticket, reached,
};

/// The time of the event with seq 0, in milliseconds since 1970.
pub(super) const BEGIN: u64 = 1_795_300_000_000;

/// The id of the conversation `name`.
pub(super) fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).expect("a name")
}

/// The position after `seq`, in the one epoch of most cases.
pub(super) fn at(seq: Seq) -> Position {
    Position { epoch: Epoch::new("e1"), seq }
}

/// An event that says `text`, with its number and a time that follows from it.
pub(super) fn status(seq: Seq, text: String) -> Arc<Envelope> {
    let event = Event::new(&RunId::new("r1"), Kind::Status { text });
    Arc::new(Envelope { event, seq, at: BEGIN + seq, producer_at: None, publisher: None, by_hub: false })
}

/// The events `from` to `to`, each with a unique text of `bytes` bytes.
pub(super) fn sized(from: Seq, to: Seq, bytes: usize) -> Vec<Arc<Envelope>> {
    let envelope = |seq: u64| {
        let mut text = String::new();
        let mut number = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        while text.len() < bytes {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{number:016x}").expect("memory");
        }
        text.truncate(bytes);
        status(seq, text)
    };
    (from..=to).map(envelope).collect()
}

/// The events `from` to `to`, with short texts.
pub(super) fn events(from: Seq, to: Seq) -> Vec<Arc<Envelope>> {
    sized(from, to, 20)
}

/// Appends events; panics if they are refused.
pub(super) fn append(log: &dyn EventLog, name: &str, after: Seq, envelopes: &[Arc<Envelope>]) -> Ticket {
    append_with(log, name, after, envelopes, |_| {})
}

/// Appends events together with what `add` adds.
pub(super) fn append_with(
    log: &dyn EventLog,
    name: &str,
    after: Seq,
    envelopes: &[Arc<Envelope>],
    add: impl FnOnce(&mut Append<'_>),
) -> Ticket {
    let (id, after) = (id(name), at(after));
    let mut append = Append::of(&id, &after, envelopes);
    add(&mut append);
    log.append(append).expect("it continues")
}

/// Appends events that may be refused.
pub(super) fn try_append(
    log: &dyn EventLog,
    after: Seq,
    envelopes: &[Arc<Envelope>],
) -> Result<Ticket, LogError> {
    log.append(Append::of(&id("c"), &at(after), envelopes))
}

/// Waits until `ticket` is kept at `level`.
pub(super) fn wait(log: &dyn EventLog, ticket: Ticket, level: Durability) -> Result<(), LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(reached(log, ticket, level))
}

/// Waits until everything so far is kept at the log's highest level and indexed.
pub(super) fn settle(log: &dyn EventLog) {
    let level = log.durability();
    if level == Durability::Memory {
        return;
    }
    wait(log, log.sync(), level).expect("the log writes");
}

/// Waits until `ticket` is stored; panics if it cannot be.
pub(super) fn stored(log: &dyn EventLog, ticket: Ticket) {
    wait(log, ticket, Durability::Stored.min(log.durability())).expect("the log writes");
}

/// All events of a conversation after the seq `after`.
pub(super) fn read(log: &dyn EventLog, name: &str, after: Seq) -> Vec<Arc<Envelope>> {
    log.read(&id(name), after, 100_000).expect("it can be read").envelopes
}

/// A mark of the publisher `name`.
pub(super) fn mark(name: &str, epoch: u64, seq: u64) -> PublisherMark {
    PublisherMark { publisher: name.into(), epoch, seq }
}

/// A row of the list for the conversation `name` in the state `view`.
pub(super) fn row(name: &str, view: &model::View, at: u64) -> ConversationRow {
    let mut row = crate::rows::nameless(&id(name));
    row.title.clone_from(&view.title);
    row.state = view.runs.last().map(|(_, run)| run.status);
    row.epoch = Epoch::new("e1");
    row.head = view.seq;
    row.at = at;
    row.runs = view.runs.len() as u64;
    row
}

/// The state after `history`, with its `newest` events.
pub(super) fn checkpoint(name: &str, history: &[Arc<Envelope>], newest: usize) -> Checkpoint {
    let view = testkit::folded(history);
    let at = history.last().map_or(0, |envelope| envelope.at);
    let newest = history.iter().skip(history.len().saturating_sub(newest)).cloned().collect();
    Checkpoint { row: row(name, &view, at), epoch: Epoch::new("e1"), view, at, marks: Vec::new(), newest }
}

/// A document of one item of the run, with the item's id, to be found by the words of `text`.
pub(crate) fn document(kind: SearchDocumentKind, item: &str, seq: Seq, text: &str) -> SearchDocument {
    let place = match kind {
        SearchDocumentKind::Message => SearchDocumentPlace::Message(item.into()),
        SearchDocumentKind::Arguments | SearchDocumentKind::Result => {
            SearchDocumentPlace::Item(Item::Tool(item.into()))
        }
        SearchDocumentKind::Text | SearchDocumentKind::Thinking => {
            SearchDocumentPlace::Item(Item::Part(item.into()))
        }
    };
    SearchDocument {
        run: RunId::new("r1"),
        place,
        kind,
        name: "n".into(),
        seq,
        at: BEGIN + seq,
        text: text.into(),
    }
}

/// A search for `text` in all conversations and kinds.
pub(super) fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), limit: 50, ..SearchQuery::default() }
}

/// All hits of a query. Panics if the search stops early.
pub(super) fn found(log: &dyn EventLog, query: &SearchQuery) -> Vec<SearchHit> {
    let found = log.search(query, &QueryCancel::default()).expect("the query is one");
    assert_eq!(found.stopped_at, None);
    found.hits
}

/// The items of all hits of a query.
pub(super) fn items(log: &dyn EventLog, query: &SearchQuery) -> Vec<String> {
    found(log, query).into_iter().map(|hit| hit.item.to_string()).collect()
}

/// The names on a page of the list.
pub(super) fn names(log: &dyn EventLog, query: &ListQuery) -> Vec<String> {
    let rows = log.list(query).expect("it lists");
    rows.into_iter().map(|row| row.conversation.to_string()).collect()
}

/// A query for the whole list.
pub(super) fn everything() -> ListQuery {
    ListQuery { limit: 1_000, ..ListQuery::default() }
}
