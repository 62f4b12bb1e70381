//! What is published, and what came of it.

use std::sync::{Arc, OnceLock};

use event_log::{Attachment, EventLog, LogError, Mark, Ticket, reached};
use model::code::ErrorCode;
use model::frame::Durability;
use model::limits::{CONVERSATION_BYTES_MAX, CONVERSATIONS_MAX};
use model::{Envelope, Position, RunId};

use super::orphans::Speaker;
use super::publishers::Claim;

/// What is to be appended: taken as a whole or refused as a whole.
#[derive(Debug)]
pub struct Publication {
    /// For exactly-once.
    pub claim: Option<Claim>,
    /// The events; seq and time are given by the conversation.
    pub events: Vec<Envelope>,
    /// What the publisher wants to be promised.
    pub level: Durability,
    /// Who speaks.
    pub speaker: Speaker,
    /// Who says so.
    pub by: By,
    /// Results that are too large for their events; the hub takes them out.
    pub attachments: Vec<Attachment>,
    /// The memory, in bytes, that the state of the conversation may hold and still take more from outside. The hub says it.
    pub room: u64,
    /// How far its publisher came with it, where it was withheld after that was noted. The hub says it.
    pub mark: Option<Mark>,
}

/// Where events come from. What the hub acts on later (its own runs, what was asked and answered in them) counts only where
/// the hub itself has said it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// From outside, by whatever way. Runs of the hub's own agents are closed to them.
    #[default]
    Outside,
    /// The hub itself: its agents, its forks, its judgement of runs that nobody attends.
    Hub,
}

impl Publication {
    /// Events of somebody who does not count them and waits for nothing.
    pub fn of(events: Vec<Envelope>) -> Self {
        let (level, speaker) = (Durability::Memory, Speaker::Passing);
        let room = CONVERSATION_BYTES_MAX;
        Self {
            claim: None,
            events,
            level,
            speaker,
            by: By::Outside,
            attachments: Vec::new(),
            room,
            mark: None,
        }
    }

    /// Events of the hub itself.
    pub fn of_hub(events: Vec<Envelope>) -> Self {
        Self { by: By::Hub, ..Self::of(events) }
    }

    /// Events of the hub itself about a run that somebody else does, who attends it as before.
    pub fn beside(events: Vec<Envelope>) -> Self {
        Self { speaker: Speaker::Hub, ..Self::of_hub(events) }
    }
}

/// What an append did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Where the conversation stands then.
    pub position: Position,
    /// How many events were taken; ephemeral ones count.
    pub events: u64,
    /// What those weigh that are kept.
    pub(crate) bytes: u64,
    /// How many oddities came with them.
    pub anomalies: u64,
    /// Whether the frame was taken before.
    pub duplicate: bool,
    /// What to wait for, for more than memory.
    pub ticket: Ticket,
    /// The same for events that are withheld for a moment, since they may end within a secret; `ticket` does not stand for them then.
    pub withheld: Option<TicketToCome>,
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
pub struct TicketToCome(Arc<OnceLock<Ticket>>);

impl TicketToCome {
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

impl PartialEq for TicketToCome {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for TicketToCome {}

/// Why nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The publisher left out frames.
    #[error("frames of this publisher are missing: number {expected} is expected")]
    Gap {
        /// The number that is expected.
        expected: u64,
    },
    /// A newer life of the publisher is known.
    #[error("a newer life of this publisher is known")]
    Fenced,
    /// The conversation left memory between finding and using it: find it again.
    #[error("the conversation left memory")]
    Retired,
    /// A history is on its way into it.
    #[error("the conversation is being imported; try again in a moment")]
    Reserved,
    /// The events name a run that only the hub writes into.
    #[error("the run {run} is one of an agent of this hub: nobody else writes into it")]
    RunOfHub {
        /// The first such run.
        run: RunId,
    },
    /// The state of the conversation is as large as it may get.
    #[error(
        "the conversation holds {held} bytes, and {CONVERSATION_BYTES_MAX} is the limit: go on in another conversation"
    )]
    Full {
        /// About the bytes that its state holds.
        held: u64,
    },
    /// The conversations in memory hold more together than they may, and this one is large.
    #[error(
        "the hub is short of memory: this conversation holds {held} bytes, and one over {room} takes more when others have left memory; try again in a moment"
    )]
    Crowded {
        /// About the bytes that its state holds.
        held: u64,
        /// The bytes that it may hold for now.
        room: u64,
    },
    /// The log and the hub disagree about where the conversation stands: a fault of the hub.
    #[error("the log did not take the events: {0}")]
    Log(#[from] LogError),
}

/// Why a conversation cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The hub holds as many in memory as it may, and all of them are in use.
    #[error("the hub holds {CONVERSATIONS_MAX} conversations in memory already")]
    TooMany,
    /// The log has it and cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl OpenError {
    /// The code that goes to who asked.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooMany => ErrorCode::TooMany,
            Self::Log(_) => ErrorCode::LogFailed,
        }
    }
}

/// Why a publication was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The conversation cannot be had.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation refused.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl PublishError {
    /// The code that goes to the publisher.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Open(error) => error.code(),
            Self::Append(AppendError::Gap { .. }) => ErrorCode::PublisherGap,
            Self::Append(AppendError::Fenced) => ErrorCode::PublisherFenced,
            Self::Append(AppendError::Log(_) | AppendError::Reserved) => ErrorCode::LogFailed,
            Self::Append(AppendError::RunOfHub { .. }) => ErrorCode::RunOfHub,
            Self::Append(AppendError::Full { .. }) => ErrorCode::TooLarge,
            Self::Append(AppendError::Crowded { .. }) => ErrorCode::TooMany,
            // The hub finds the conversation again by itself.
            Self::Append(AppendError::Retired) => ErrorCode::Internal,
        }
    }

    /// For a gap, the number that is expected.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Self::Append(AppendError::Gap { expected }) => Some(*expected),
            _ => None,
        }
    }
}
