//! Conversations that come from elsewhere as a whole. The log is given a history piece by piece, and makes the conversation
//! of it in one step; only then is it seen. So an import that breaks off leaves nothing, and what is answered is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use event_log::{Attachment, Import, LogError, Ticket, blocking, reached, room};
use model::code::ErrorCode;
use model::frame::Durability;
use model::limits::CONVERSATION_BYTES_MAX;
use model::{ConversationId, Envelope, Position, View};

use super::conversation::Arrival;
use super::{AppendError, By, Conversation, Hub, OpenError, outsize};

/// The number of the last import of this process.
static IMPORTS: AtomicU64 = AtomicU64::new(0);

/// What was said in a conversation.
#[derive(Debug, Default)]
pub struct History {
    /// The state that the events go on from, and when its newest event was taken, in milliseconds since 1970.
    pub state: Option<(View, u64)>,
    /// The events: their seqs follow one another, from 1 or from the state's on.
    pub envelopes: Vec<Envelope>,
    /// Who tells it.
    by: By,
    /// Results that are too large for their events; the hub takes them out.
    pub(super) attachments: Vec<Attachment>,
}

impl History {
    /// All that was said, as this hub's own log has it: its own runs stay its own.
    pub fn of_hub(envelopes: Vec<Envelope>) -> Self {
        Self { envelopes, by: By::Hub, ..Self::default() }
    }

    /// Takes out what only this hub can say of itself, where somebody else tells it.
    fn disown(&mut self) {
        if let Some((view, _)) = &mut self.state {
            outsize::disown_all(view);
        }
        if self.by == By::Hub {
            return;
        }
        self.envelopes.iter_mut().for_each(|envelope| envelope.by_hub = false);
        let runs = self.state.iter_mut().flat_map(|(view, _)| view.runs.values_mut());
        runs.for_each(|run| run.own = false);
    }
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    /// Where the conversation stands.
    pub position: Position,
    /// How many events were taken.
    pub events: u64,
    /// How many oddities are in it.
    pub anomalies: u64,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is a conversation of that name, and something was said in it.
    #[error("the conversation has events already")]
    Exists,
    /// Another import makes it at this moment.
    #[error("the conversation is being imported")]
    Busy,
    /// The log could not keep it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The conversation cannot be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl ImportError {
    /// The code that goes to who asked.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Exists | Self::Busy => ErrorCode::ConversationExists,
            Self::Open(error) => error.code(),
            Self::Log(error) => error.code(),
            Self::Append(AppendError::Full { .. }) => ErrorCode::TooLarge,
            Self::Append(_) => ErrorCode::LogFailed,
        }
    }
}

impl Hub {
    /// Makes the conversation `id` of `history`, in an epoch of its own, and waits until the log has all of it: whatever the
    /// log can promise at most is promised. Takes a while for a long one.
    pub async fn import(&self, id: &ConversationId, mut history: History) -> Result<Imported, ImportError> {
        let events = history.envelopes.len() as u64;
        self.redact_history(&mut history);
        let large = history.envelopes.iter_mut().filter_map(|it| {
            outsize::disown(&mut it.event);
            outsize::shorten(&mut it.event)
        });
        history.attachments = large.collect();
        history.disown();
        let seat = loop {
            let conversation = self.open(id)?;
            match conversation.reserve() {
                Ok(true) => break Seat { hub: self, conversation },
                Ok(false) if conversation.head() > 0 => return Err(ImportError::Exists),
                Ok(false) => return Err(ImportError::Busy),
                // It was dropped after it was found: the next round finds or makes another.
                Err(AppendError::Retired) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let import =
            Staged { hub: self, number: Import(IMPORTS.fetch_add(1, Ordering::Relaxed)), is_open: true };
        let mut arrival = blocking(|| Arrival::begin(&mut history, self.log().indexes()));
        while let Some(piece) = blocking(|| arrival.next()) {
            room(self.log()).await;
            let staged = self.log().stage(import.number, piece.append(&seat.conversation));
            if staged == Ticket::NEVER {
                reached(self.log(), staged, Durability::Stored.min(self.log().durability())).await?;
            }
        }
        let held = blocking(|| arrival.held());
        if history.by == By::Outside && held >= CONVERSATION_BYTES_MAX {
            return Err(AppendError::Full { held }.into());
        }
        let adopted = blocking(|| seat.conversation.hand_over(&mut arrival, import.number, self.log()));
        reached(self.log(), adopted, self.log().durability()).await?;
        import.keep();
        seat.conversation.arrive(arrival, adopted);
        self.touch(&seat.conversation);
        Ok(imported(&seat.conversation, events))
    }
}

/// A conversation that nobody else may write to while its history comes.
struct Seat<'a> {
    hub: &'a Hub,
    conversation: Arc<Conversation>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.conversation.unreserve();
        self.hub.release(&self.conversation);
    }
}

/// What the log was given; forgotten unless it became a conversation.
struct Staged<'a> {
    hub: &'a Hub,
    number: Import,
    is_open: bool,
}

impl Staged<'_> {
    /// There is nothing to be forgotten any more.
    fn keep(mut self) {
        self.is_open = false;
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.hub.log().abandon(self.number);
        }
    }
}

fn imported(conversation: &Arc<Conversation>, events: u64) -> Imported {
    let (seq, anomalies) = conversation.look(|view| (view.seq, view.anomalies.total));
    let position = Position { epoch: conversation.epoch().clone(), seq };
    Imported { position, events, anomalies }
}
