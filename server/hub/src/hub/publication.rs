//! What is published, and the results: a receipt or an error.

use std::sync::{Arc, OnceLock};

use event_log::{Attachment, EventLog, LogError, PublisherMark, Ticket, reached};
use model::anomaly::{Anomaly, AnomalyCode};
use model::code::ErrorCode;
use model::frame::Durability;
use model::limits::{CONVERSATION_BYTES_MAX, CONVERSATIONS_MAX};
use model::{Envelope, Event, Kind, Position, RunId};

use super::orphans::attendance::PublisherConnection;
use super::publishers::FrameNumbering;

/// Events to be appended. They are taken as a whole or refused as a whole.
#[derive(Debug)]
pub struct Publication {
    /// Who publishes and the number of the frame, so that it is taken once; `None` takes it whenever it
    /// comes.
    pub numbering: Option<FrameNumbering>,
    /// The events. The conversation gives them their seq and time.
    pub events: Vec<Envelope>,
    /// The durability that the publisher waits for.
    pub level: Durability,
    /// How the publisher is connected, see [`PublisherConnection`].
    pub speaker: PublisherConnection,
    /// Whether the hub itself says what is in the events.
    pub by: EventOrigin,
    /// The whole of results that are too large for their events. The hub fills this in.
    pub attachments: Vec<Attachment>,
    /// How much memory, in bytes, the state of the conversation may hold and still take more from outside.
    /// The hub fills this in.
    pub room: u64,
    /// How far its publisher came with it, where it was withheld after that was noted. The hub says it.
    pub mark: Option<PublisherMark>,
}

/// Whether events come from outside or from the hub. What the hub acts on later (its own runs, what was asked
/// and answered in them) counts only if the hub itself has said it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EventOrigin {
    /// From outside, over whatever door. Such events cannot name runs of the hub's own agents.
    #[default]
    Outside,
    /// From the hub itself: its agents, its forks, and what it says of runs that nobody attends.
    Hub,
    /// From the original of a copy that goes on with one turn of it: the events of that turn up to this position of the original, as they are logged there.
    Original(Position),
}

impl Publication {
    /// Events of a publisher that does not number its frames and waits for no durability.
    pub fn of(events: Vec<Envelope>) -> Self {
        let (level, speaker) = (Durability::Memory, PublisherConnection::Passing);
        let room = CONVERSATION_BYTES_MAX;
        Self {
            numbering: None,
            events,
            level,
            speaker,
            by: EventOrigin::Outside,
            attachments: Vec::new(),
            room,
            mark: None,
        }
    }

    /// Puts an oddity in the place of each event from outside that only the hub may write. It is survived, so that a recording of another
    /// hub can be published here. It names no run: nothing was heard of one.
    pub(super) fn disbelieve(&mut self) {
        if self.by != EventOrigin::Outside {
            return;
        }
        for envelope in self.events.iter_mut().filter(|envelope| envelope.event.kind.is_of_hub()) {
            let detail = format!(
                "an event `{}`, which only the hub writes{}",
                envelope.event.kind.word(),
                instead(&envelope.event.kind)
            );
            envelope.event =
                Event::new(&RunId::none(), Kind::Anomaly(Anomaly { code: AnomalyCode::Malformed, detail }));
        }
    }

    /// Events of the hub itself, which attends their runs for the moment.
    pub fn of_hub(events: Vec<Envelope>) -> Self {
        Self { by: EventOrigin::Hub, ..Self::of(events) }
    }

    /// Events of the hub itself about a run that somebody else does. They do not change who attends the run.
    pub fn beside(events: Vec<Envelope>) -> Self {
        Self { speaker: PublisherConnection::Hub, ..Self::of_hub(events) }
    }
}

/// What to do instead of publishing an event of this kind, behind the words that only the hub writes it.
fn instead(kind: &Kind) -> &'static str {
    match kind {
        Kind::Label(_) => ": give it the command `label` or `rate`",
        Kind::Fork { .. } => ": give it the command `fork`",
        _ => "",
    }
}

/// The receipt of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The position of the conversation after it.
    pub position: Position,
    /// How many events were taken, ephemeral ones included.
    pub events: u64,
    /// The weight of those that are kept, in bytes.
    pub(crate) bytes: u64,
    /// The number of anomalies that came with them.
    pub anomalies: u64,
    /// Whether the frame had been taken before, so that nothing was appended.
    pub duplicate: bool,
    /// What to wait for in the log, for a durability above `memory`.
    pub ticket: Ticket,
    /// What to wait for in the log, for events that are withheld for a moment, since they may end within a secret; `ticket` does not stand for them
    /// then.
    pub withheld: Option<WithheldTicket>,
}

impl Appended {
    /// Ready when what was appended is kept at `level`; fails as soon as the log cannot write. Safe to cancel.
    pub async fn kept(&self, log: &dyn EventLog, level: Durability) -> Result<(), LogError> {
        let Some(withheld) = self.withheld.as_ref().filter(|_| level > Durability::Memory) else {
            return reached(log, self.ticket, level).await;
        };
        let mut progress = log.progress();
        loop {
            // Before the look: what is appended meanwhile moves it.
            drop(progress.borrow_and_update());
            if let Some(ticket) = withheld.get() {
                return reached(log, ticket, level).await;
            }
            if progress.changed().await.is_err() {
                return Err(LogError::Failing(Arc::from("it has ended")));
            }
        }
    }
}

/// The ticket of events that are withheld: there once the log has been given them.
#[derive(Debug, Clone, Default)]
pub struct WithheldTicket(Arc<OnceLock<Ticket>>);

impl WithheldTicket {
    /// The ticket; nothing as long as the events are withheld.
    pub fn get(&self) -> Option<Ticket> {
        self.0.get().copied()
    }

    /// The log was given the events.
    pub(crate) fn came(&self, ticket: Ticket) {
        // Nobody else sets it.
        let _set = self.0.set(ticket).is_ok();
    }
}

impl PartialEq for WithheldTicket {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for WithheldTicket {}

/// Why nothing was appended. Nothing of the publication is left behind then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Frames of this publisher are missing: send them first.
    #[error("frames of this publisher are missing: number {expected} is expected")]
    Gap {
        /// The number that the next frame must begin with.
        expected: u64,
    },
    /// A newer epoch of the publisher is known, so this one is refused.
    #[error("a newer life of this publisher is known")]
    Fenced,
    /// The conversation left memory after it was found: find it again.
    #[error("the conversation left memory")]
    Retired,
    /// Another hub has the conversation.
    #[error("another hub has the conversation")]
    Elsewhere,
    /// Another hub may have taken over the conversation, so that what this one knows of the publisher may be old.
    #[error("the log was not heard of for too long to tell whether another hub has the conversation")]
    Unsure,
    /// A history is being imported into the conversation.
    #[error("the conversation is being imported; try again in a moment")]
    Reserved,
    /// The conversation is a copy that nobody writes to, but for the hub while the copy goes on with a turn that runs.
    #[error("this conversation is the copy behind a link and cannot be written to")]
    Frozen,
    /// An event from outside names a run that only the hub writes to.
    #[error("the run {run} belongs to an agent of this hub: others cannot write into it")]
    RunOfHub {
        /// The first such run.
        run: RunId,
    },
    /// The state of the conversation is as large as one may get.
    #[error(
        "the conversation holds {held} bytes, and {CONVERSATION_BYTES_MAX} is the limit: go on in another conversation"
    )]
    Full {
        /// About the memory that its state holds, in bytes.
        held: u64,
    },
    /// All conversations in memory together hold more than they may, and this one is large.
    #[error(
        "the hub is short of memory: this conversation holds {held} bytes, and conversations over {room} bytes cannot grow until memory is free; try again in a moment"
    )]
    Crowded {
        /// About the memory that its state holds, in bytes.
        held: u64,
        /// How much it may hold at the moment and still grow, in bytes.
        room: u64,
    },
    /// The log and the hub disagree about the head of the conversation, or the log cannot take more.
    #[error("the log did not take the events: {0}")]
    Log(#[from] LogError),
}

/// Why a conversation cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The hub holds as many conversations in memory as may be. Upkeep makes room as soon as some are unused.
    #[error("the hub holds {CONVERSATIONS_MAX} conversations in memory already")]
    TooMany,
    /// Another hub has the conversation.
    #[error("the hub at {address} has the conversation")]
    Elsewhere {
        /// The address under which other hubs reach it.
        address: Arc<str>,
    },
    /// Whoever is served begins more conversations than they may.
    #[error("{why}")]
    TooFast {
        /// The message: which number was reached.
        why: Arc<str>,
        /// The time until they may, in seconds.
        wait_s: u64,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl OpenError {
    /// In how many seconds the same may succeed, where that is known.
    pub fn passes_s(&self) -> Option<u64> {
        match self {
            Self::TooFast { wait_s, .. } => Some(*wait_s),
            _ => None,
        }
    }

    /// The code that is sent to whoever asked.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooMany | Self::TooFast { .. } => ErrorCode::TooMany,
            Self::Elsewhere { .. } => ErrorCode::Elsewhere,
            Self::Log(_) => ErrorCode::LogFailed,
        }
    }
}

/// Why a publication was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation refused it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl PublishError {
    /// The code that is sent to the publisher.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Open(error) => error.code(),
            Self::Append(AppendError::Frozen) => ErrorCode::Forbidden,
            Self::Append(AppendError::Gap { .. }) => ErrorCode::PublisherGap,
            Self::Append(AppendError::Fenced) => ErrorCode::PublisherFenced,
            Self::Append(AppendError::Log(_) | AppendError::Reserved) => ErrorCode::LogFailed,
            Self::Append(AppendError::Elsewhere | AppendError::Unsure) => ErrorCode::Elsewhere,
            Self::Append(AppendError::RunOfHub { .. }) => ErrorCode::RunOfHub,
            Self::Append(AppendError::Full { .. }) => ErrorCode::TooLarge,
            Self::Append(AppendError::Crowded { .. }) => ErrorCode::TooMany,
            // The hub finds the conversation again by itself, so no publisher sees this.
            Self::Append(AppendError::Retired) => ErrorCode::Internal,
        }
    }

    /// For a gap, the number that the next frame must begin with.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Self::Append(AppendError::Gap { expected }) => Some(*expected),
            _ => None,
        }
    }
}
