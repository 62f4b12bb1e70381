//! Import of whole conversations from elsewhere. The log is given a history piece by piece and makes a
//! conversation of it in one step; only then is it visible. So an import that breaks off leaves nothing
//! behind, and what is answered as imported is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use event_log::{Attachment, ImportId, LogError, Ticket, blocking, reached, room};
use model::code::ErrorCode;
use model::frame::Durability;
use model::limits::CONVERSATION_BYTES_MAX;
use model::{ConversationId, Envelope, Position, View};

use super::conversation::FoldedHistory;
use super::{AppendError, Conversation, EventOrigin, Hub, OpenError, beginning, outsize};

/// Numbers the imports of this process.
static IMPORTS: AtomicU64 = AtomicU64::new(0);

/// The history of a conversation, to be imported. Its events keep their seqs, times and publishers.
#[derive(Debug, Default)]
pub struct History {
    /// The state before the first event, and when the newest event in it was taken, in milliseconds since
    /// 1970; `None` if the events begin at seq 1.
    pub state: Option<(View, u64)>,
    /// The events. Their seqs rise by 1, from 1 or from the one after the state.
    pub envelopes: Vec<Envelope>,
    /// Whether this hub or somebody else says what is in it.
    by: EventOrigin,
    /// Whether it is a copy that nobody writes to: it is not found by the search and counts in no figures, since the original is and does.
    is_frozen: bool,
    /// The whole of results that are too large for their events. The hub fills this in.
    pub(super) attachments: Vec<Attachment>,
}

impl History {
    /// The history as this hub's own log has it: runs of the hub's own agents stay its own.
    pub fn of_hub(envelopes: Vec<Envelope>) -> Self {
        Self { envelopes, by: EventOrigin::Hub, ..Self::default() }
    }

    /// Marks the history as a copy that nobody writes to; it can be imported under a name of such copies alone.
    #[must_use]
    pub fn frozen(self) -> Self {
        Self { is_frozen: true, ..self }
    }

    /// Removes what only this hub can say of itself, if the history is somebody else's.
    fn disown(&mut self) {
        if let Some((view, _)) = &mut self.state {
            outsize::disown_all(view);
            view.label = view.label.bounded();
        }
        if self.by == EventOrigin::Hub {
            return;
        }
        self.envelopes.iter_mut().for_each(|envelope| envelope.by_hub = false);
        let runs = self.state.iter_mut().flat_map(|(view, _)| view.runs.values_mut());
        runs.for_each(|run| run.own = false);
    }
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The position of the conversation after it.
    pub position: Position,
    /// The number of events that were taken.
    pub events: u64,
    /// The number of anomalies in the history.
    pub anomalies: u64,
}

/// Why nothing was imported. Nothing of the history is left behind then.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The conversation exists and has events.
    #[error("the conversation has events already")]
    Exists,
    /// The name is one of copies that only the hub makes, and this is none, or the other way round.
    #[error(
        "names that begin with `fanlight.frozen.` are reserved for copies that the hub makes; choose another name"
    )]
    Frozen,
    /// Another import is making the conversation at this moment.
    #[error("the conversation is being imported")]
    Busy,
    /// The log could not store the history.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation refused the history.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl ImportError {
    /// The code that is sent to whoever asked for the import.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Exists | Self::Busy => ErrorCode::ConversationExists,
            Self::Frozen => ErrorCode::Forbidden,
            Self::Open(error) => error.code(),
            Self::Log(error) => error.code(),
            Self::Append(AppendError::Full { .. }) => ErrorCode::TooLarge,
            Self::Append(_) => ErrorCode::LogFailed,
        }
    }
}

impl Hub {
    /// Makes the conversation `id` from `history`, in an epoch of its own, and waits until the log has all of
    /// it at the highest durability that it offers. Cancelling it, as an error does, leaves neither a
    /// conversation nor staged pieces.
    pub async fn import(&self, id: &ConversationId, mut history: History) -> Result<Imported, ImportError> {
        if id.is_frozen() != history.is_frozen {
            return Err(ImportError::Frozen);
        }
        let events = history.envelopes.len() as u64;
        self.redact_history(&mut history);
        let large = history.envelopes.iter_mut().flat_map(|it| {
            outsize::disown(&mut it.event);
            outsize::take_apart(&mut it.event)
        });
        history.attachments = large.collect();
        history.disown();
        let seat = loop {
            let conversation = self.open(id)?;
            match conversation.reserve() {
                Ok(true) => break ReservedConversation { hub: self, conversation },
                Ok(false) if conversation.head() > 0 => return Err(ImportError::Exists),
                Ok(false) => return Err(ImportError::Busy),
                // It left memory after it was found: the next round finds or makes another.
                Err(AppendError::Retired) => {}
                Err(error) => return Err(error.into()),
            }
        };
        beginning::begins(id)?;
        let import = StagedEvents {
            hub: self,
            number: ImportId(IMPORTS.fetch_add(1, Ordering::Relaxed)),
            is_open: true,
        };
        let indexes = self.log().indexes() && !history.is_frozen;
        let mut arrival = blocking(|| FoldedHistory::begin(&mut history, indexes));
        while let Some(piece) = blocking(|| arrival.next()) {
            room(self.log()).await;
            let staged = self.log().stage(import.number, piece.append(&seat.conversation));
            if staged == Ticket::NEVER {
                reached(self.log(), staged, Durability::Stored.min(self.log().durability())).await?;
            }
        }
        let held = blocking(|| arrival.held());
        if history.by == EventOrigin::Outside && held >= CONVERSATION_BYTES_MAX {
            return Err(AppendError::Full { held }.into());
        }
        let adopted = blocking(|| seat.conversation.hand_over(&mut arrival, import.number, self.log()));
        reached(self.log(), adopted, self.log().durability()).await?;
        import.keep();
        seat.conversation.arrive(arrival, adopted);
        if history.by == EventOrigin::Outside {
            self.orphans.adopt_known(&seat.conversation);
        }
        self.touch(&seat.conversation);
        Ok(imported(&seat.conversation, events))
    }
}

/// An empty conversation to which nobody else may write while its history is imported. Dropping it lets
/// others write again and, if the import failed, forgets the conversation.
struct ReservedConversation<'a> {
    hub: &'a Hub,
    conversation: Arc<Conversation>,
}

impl Drop for ReservedConversation<'_> {
    fn drop(&mut self) {
        self.conversation.unreserve();
        self.hub.forget_if_empty(&self.conversation);
    }
}

/// What the log has staged. Dropping it makes the log forget that, unless [`StagedEvents::keep`] was called.
struct StagedEvents<'a> {
    hub: &'a Hub,
    number: ImportId,
    is_open: bool,
}

impl StagedEvents<'_> {
    /// The log has made a conversation of it: there is nothing to forget any more.
    fn keep(mut self) {
        self.is_open = false;
    }
}

impl Drop for StagedEvents<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.hub.log().abandon(self.number);
        }
    }
}

/// The answer to a finished import.
fn imported(conversation: &Arc<Conversation>, events: u64) -> Imported {
    let (seq, anomalies) = conversation.read_view(|view| (view.seq, view.anomalies.total));
    let position = Position { epoch: conversation.epoch().clone(), seq };
    Imported { position, events, anomalies }
}
