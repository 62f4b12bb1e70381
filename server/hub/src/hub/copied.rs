//! Copies conversations from one log to another, each as a whole: its events with their seqs and times, its state, its epoch, how far its
//! publishers have come, its large results, and what is searched and counted, which is collected from the events again.
//!
//! ```text
//! load ──▶ read a page ──▶ fold, index, measure ──▶ stage ──▶ … ──▶ adopt ──▶ marks ──▶ load again and compare
//! ```

use std::sync::Arc;

use compact_str::CompactString;
use event_log::{Append, Attachment, Checkpoint, EventLog, ImportId, LogError, Ticket, reached};
use model::event::Kind;
use model::frame::ConversationRow;
use model::{Envelope, Position, Seq, View, snapshot};

use super::index::{IndexEntries, fold_and_index};
use super::measure::CountedBefore;
use super::outsize;

/// Events that are copied in one piece.
const PIECE: usize = 2_000;

/// What a copied conversation comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopySummary {
    /// Events that were copied one by one.
    pub events: u64,
    /// Events before them that the log did not have any more; the state has what they came to.
    pub left_out: u64,
    /// The hash of the state, the same in both logs.
    pub hash: String,
}

/// Why a conversation was not copied. Nothing of it is left in the other log then.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The conversation cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[source] LogError),
    /// The copy cannot be written, or a conversation of its name is there.
    #[error("it cannot be written, or a conversation of that name is there already: {0}")]
    Write(#[source] LogError),
    /// What was written reads back as something else.
    #[error("what was written reads back as something else")]
    Differs,
}

/// Copies the conversation of `row` from one log to the other, as the import `number`, and compares the
/// states. Nobody else may use the logs meanwhile. `None` if there is no such conversation. Fails if the name
/// is taken in the other log; then nothing of it was changed there.
pub async fn copy(
    from: &dyn EventLog,
    to: &dyn EventLog,
    row: ConversationRow,
    number: u64,
) -> Result<Option<CopySummary>, CopyError> {
    let (id, import) = (row.conversation.clone(), ImportId(number));
    let Some(stored) = from.load(&id).map_err(CopyError::Read)? else { return Ok(None) };
    let Position { epoch, seq: head } = stored.position.clone();
    let begin = beginning(from, &row, head)?;
    let (mut after, mut view, mut calls) = (begin, View::default(), Vec::new());
    let mut measured = Vec::new();
    // Where the history begins later, what came before is not known one by one.
    view.seq = begin;
    while after < head {
        let page = from.read(&id, after, PIECE).map_err(CopyError::Read)?;
        let Some(last) = page.envelopes.last().map(|envelope| envelope.seq) else { break };
        let mut entries = IndexEntries::default();
        for envelope in &page.envelopes {
            let before = CountedBefore::of(&view, &envelope.event);
            fold_and_index(&mut view, envelope, &mut entries);
            before.measure(&view, envelope, &mut measured);
        }
        let attachments = results(from, &row, &page.envelopes)?;
        outsize::lengthen(&mut entries.documents, &page.envelopes, &attachments);
        calls.append(&mut entries.calls);
        let place = Position { epoch: epoch.clone(), seq: after };
        let piece = || Append {
            documents: entries.documents.clone(),
            attachments: attachments.clone(),
            ..Append::of(&id, &place, &page.envelopes)
        };
        let mut ticket = to.stage(import, piece());
        while ticket == Ticket::NEVER {
            all_written(to).await?;
            ticket = to.stage(import, piece());
        }
        after = last;
    }
    let hash = snapshot::hash(&stored.view);
    let state =
        Checkpoint { row, epoch, view: stored.view, at: stored.at, marks: Vec::new(), newest: Vec::new() };
    let adopted = to.adopt(import, state, calls, measured);
    if let Err(error) = reached(to, adopted, to.durability()).await {
        to.abandon(import);
        return Err(CopyError::Write(error));
    }
    for mark in stored.marks {
        let mark = Append { mark: Some(mark), ..Append::of(&id, &stored.position, &[]) };
        to.append(mark).map_err(CopyError::Write)?;
    }
    let copied = to.load(&id).map_err(CopyError::Write)?.ok_or(CopyError::Differs)?;
    if snapshot::hash(&copied.view) != hash || copied.position != stored.position {
        return Err(CopyError::Differs);
    }
    Ok(Some(CopySummary { events: head - begin, left_out: begin, hash }))
}

/// The seq after which all events are there one by one.
fn beginning(from: &dyn EventLog, row: &ConversationRow, head: Seq) -> Result<Seq, CopyError> {
    if let Some((_, last)) = from.gap(&row.conversation).map_err(CopyError::Read)? {
        return Ok(last);
    }
    match from.read(&row.conversation, 0, 1) {
        Ok(_) => Ok(0),
        Err(LogError::Gone { begins_after }) => Ok(begins_after.min(head)),
        Err(error) => Err(CopyError::Read(error)),
    }
}

/// The large results, and the contents of files, that these events refer to.
fn results(
    from: &dyn EventLog,
    row: &ConversationRow,
    envelopes: &[Arc<Envelope>],
) -> Result<Vec<Attachment>, CopyError> {
    let mut results = Vec::new();
    for envelope in envelopes {
        let hashes: Vec<&CompactString> = match &envelope.event.kind {
            Kind::ToolResult(result) => result.reference.iter().map(|reference| &reference.hash).collect(),
            Kind::Message(message) => message.files.iter().filter_map(|file| file.hash.as_ref()).collect(),
            _ => continue,
        };
        for hash in hashes {
            if let Some(json) = from.attachment(&row.conversation, hash).map_err(CopyError::Read)? {
                results.push(Attachment { hash: hash.clone(), json });
            }
        }
    }
    Ok(results)
}

/// Waits until everything so far is written.
async fn all_written(to: &dyn EventLog) -> Result<(), CopyError> {
    reached(to, to.sync(), to.durability()).await.map_err(CopyError::Write)
}
