//! The import of a history: its events keep their seqs, times and publishers. It is folded beside the
//! conversation, so nobody waits for it, and then takes the conversation's place as a whole.
//!
//! ```text
//! FoldedHistory::begin ──▶ next, next, … ──▶ hand_over ──the log has it──▶ arrive: viewers see it
//!                           │ each piece is staged in the log
//!                           └ dropped at any point: the conversation stays empty
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::{
    Append, Attachment, Checkpoint, EndedToolCall, EventLog, ImportId, Ring, SearchDocument, Ticket,
};
use model::fold::fold;
use model::weigh::{held, weigh};
use model::{Envelope, Epoch, Position};

use super::{AppendError, Conversation, ConversationState};
use crate::hub::import::History;
use crate::hub::index::{IndexEntries, fold_and_index};
use crate::hub::measure::CountedBefore;
use crate::hub::outsize::lengthen;
use crate::hub::row::row;

/// Most events that are given to the log at once.
const PIECE_EVENTS: usize = 1_000;

/// A piece ends once its events weigh this much, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A history that is being imported, as far as it is folded. Dropping it leaves the conversation as it was.
#[derive(Debug)]
pub(in crate::hub) struct FoldedHistory {
    /// What is folded so far.
    state: ConversationState,
    /// The events that are not folded yet.
    rest: std::iter::Peekable<std::vec::IntoIter<Envelope>>,
    /// Large results whose events are not folded yet.
    attachments: Vec<Attachment>,
    /// The tool calls that have ended so far, for the log's figures.
    calls: Vec<EndedToolCall>,
    /// Whether the log wants documents and calls.
    indexes: bool,
    /// Whether a first piece was given. There is at least one piece, which says where the history begins.
    has_begun: bool,
}

/// A piece of a history, as it is staged in the log.
#[derive(Debug)]
pub(in crate::hub) struct HistoryPiece {
    /// The position before its first event. Its epoch is empty: the log learns it at the end.
    after: Position,
    /// The events, which the log and the folded ring share.
    envelopes: Vec<Arc<Envelope>>,
    /// Texts that these events have completed.
    documents: Vec<SearchDocument>,
    /// Large results of these events.
    attachments: Vec<Attachment>,
}

impl HistoryPiece {
    /// The piece as the log takes it.
    pub(in crate::hub) fn append<'a>(&'a self, conversation: &'a Conversation) -> Append<'a> {
        let (documents, attachments) = (self.documents.clone(), self.attachments.clone());
        Append { documents, attachments, ..Append::of(&conversation.id, &self.after, &self.envelopes) }
    }
}

impl FoldedHistory {
    /// Begins with nothing folded. `indexes` says whether the log wants to know what can be found in the
    /// history.
    pub(in crate::hub) fn begin(history: &mut History, indexes: bool) -> Self {
        let mut state = ConversationState::default();
        if let Some((view, at)) = history.state.take() {
            state.ring = Ring::after_seq(view.seq);
            (state.view, state.at) = (view, at);
        }
        let rest = std::mem::take(&mut history.envelopes).into_iter().peekable();
        let attachments = std::mem::take(&mut history.attachments);
        Self { state, rest, attachments, calls: Vec::new(), indexes, has_begun: false }
    }

    /// Folds the next piece; `None` when everything is folded. The first call always returns a piece, even of
    /// an empty history.
    pub(in crate::hub) fn next(&mut self) -> Option<HistoryPiece> {
        if self.has_begun && self.rest.peek().is_none() {
            return None;
        }
        self.has_begun = true;
        // The log learns the epoch, which is the conversation's, at the end.
        let after = Position { epoch: Epoch::new(""), seq: self.state.view.seq };
        let (mut envelopes, mut bytes) = (Vec::new(), 0);
        let mut entries = IndexEntries::default();
        while envelopes.len() < PIECE_EVENTS && bytes < PIECE_BYTES {
            let Some(envelope) = self.rest.next().map(Arc::new) else { break };
            let state = &mut self.state;
            // What a history begins with counts in any case: it has no other age.
            if envelope.event.kind.is_activity() || state.at == 0 {
                state.at = state.at.max(envelope.at);
            }
            state.effects.note(&state.view, &envelope, state.ring.begins_after());
            let before = CountedBefore::of(&state.view, &envelope.event);
            if self.indexes {
                fold_and_index(&mut state.view, &envelope, &mut entries);
            } else {
                fold(&mut state.view, &envelope, &mut |_| {});
            }
            before.measure(&state.view, &envelope, &mut state.measured);
            let weight = weigh(&envelope);
            bytes += weight;
            state.ring.push(Arc::clone(&envelope), weight);
            envelopes.push(envelope);
        }
        let IndexEntries { mut documents, calls } = entries;
        self.calls.extend(calls);
        let of_these = |it: &Attachment| envelopes.iter().any(|envelope| it.is_of(&envelope.event));
        let (attachments, later) = std::mem::take(&mut self.attachments).into_iter().partition(of_these);
        self.attachments = later;
        lengthen(&mut documents, &envelopes, &attachments);
        Some(HistoryPiece { after, envelopes, documents, attachments })
    }
}

impl FoldedHistory {
    /// About the memory that the folded state holds, in bytes.
    pub(in crate::hub) fn held(&self) -> u64 {
        held(&self.state.view)
    }
}

impl Conversation {
    /// Reserves an empty conversation for an import: nobody else can write until [`Conversation::unreserve`].
    /// False if it has events or another import goes on.
    pub(in crate::hub) fn reserve(&self) -> Result<bool, AppendError> {
        let mut state = self.state.lock();
        if state.retired {
            return Err(AppendError::Retired);
        }
        if self.is_followed() {
            return Err(AppendError::Elsewhere);
        }
        let is_free = state.view.seq == 0 && state.withheld.is_empty() && !state.reserved;
        state.reserved |= is_free;
        Ok(is_free)
    }

    /// Lets others write again.
    pub(in crate::hub) fn unreserve(&self) {
        self.state.lock().reserved = false;
    }

    /// Makes the log turn what was staged as `import` into this conversation. The ticket is reached when it
    /// has.
    pub(in crate::hub) fn hand_over(
        &self,
        arrival: &mut FoldedHistory,
        import: ImportId,
        log: &dyn EventLog,
    ) -> Ticket {
        let ConversationState { view, at, .. } = &arrival.state;
        let checkpoint = Checkpoint {
            row: row(&self.id, &self.epoch, view, *at, 0),
            epoch: self.epoch.clone(),
            view: view.clone(),
            at: *at,
            marks: Vec::new(),
            newest: Vec::new(),
        };
        let mut measured = std::mem::take(&mut arrival.state.measured);
        if self.id.is_frozen() {
            // The original counts.
            measured.clear();
        }
        log.adopt(import, checkpoint, std::mem::take(&mut arrival.calls), measured)
    }

    /// Shows the imported history to viewers; `ticket` is the one that the log gave for it.
    pub(in crate::hub) fn arrive(&self, arrival: FoldedHistory, ticket: Ticket) {
        {
            let mut state = self.state.lock();
            // Ephemeral events, attendance and publishers stay the conversation's own.
            let ConversationState { ring, effects, view, at, .. } = arrival.state;
            state.has_own = view.runs.values().any(|run| run.own);
            (state.ring, state.effects, state.view, state.at) = (ring, effects, view, at);
            state.view_bytes = held(&state.view);
            state.ticket = ticket;
            self.head.store(state.view.seq, Ordering::Release);
        }
        self.appended.notify_waiters();
    }

    /// A copy of the view, and when its newest event was taken, in milliseconds since 1970.
    pub fn state(&self) -> (model::View, u64) {
        let state = self.state.lock();
        (state.view.clone(), state.at)
    }
}
