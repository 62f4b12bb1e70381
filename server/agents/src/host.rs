//! The parts of the hub that agents use.

use std::sync::Arc;

use event_log::{LogError, Ticket, reached};
use hub::{Fanout, Hub};
use model::View;
use model::frame::Durability;
use model::limits::MODEL_FILES_BYTES_MAX;
use model::{ConversationId, view::RunView};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::Egress;

use crate::run::RunAddress;
use crate::tools::Toolbox;

/// The parts of the hub that runs use. Shared by all runs; owned by [`crate::Agents`].
#[derive(Debug)]
pub struct Host {
    /// The hub that has the conversations.
    pub hub: Arc<Hub>,
    /// Delivers events to viewers. Everything is published through it.
    pub fanout: Arc<Fanout>,
    /// The way to other servers.
    pub egress: Arc<Egress>,
    /// The tools of the hub's own agents.
    pub tools: Arc<Toolbox>,
    /// The tasks that a drain of the hub waits for.
    pub tasks: TaskTracker,
    /// Cancelled when the hub begins to drain.
    pub drain: CancellationToken,
}

impl Host {
    /// Whether the hub is draining.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// A copy of the conversation's view, with the contents of the files of its messages, the newest first, as many as a
    /// request to a model may have; `None` if there is no such conversation or it cannot be read. Waits for the disk.
    pub(crate) fn view(&self, conversation: &ConversationId) -> Option<View> {
        let found = self.hub.find(conversation).ok().flatten()?;
        let mut view = found.view();
        let mut left = MODEL_FILES_BYTES_MAX;
        self.hub.make_files_whole(&found, &mut view, &mut left);
        Some(view)
    }

    /// Reads from the view of a run; `None` if there is no such run.
    pub(crate) fn look<T>(&self, place: &RunAddress, look: impl FnOnce(&RunView) -> T) -> Option<T> {
        let found = self.hub.find(&place.conversation).ok().flatten()?;
        found.read_view(|view| view.runs.get(&place.run).map(look))
    }

    /// The durability that events need before they are acted on: `stored`, or less if the log offers less.
    pub(crate) fn level(&self) -> Durability {
        Durability::Stored.min(self.hub.log().durability())
    }

    /// Waits until the log has everything up to `ticket`, because nothing is asked or executed of which the
    /// log does not know.
    pub(crate) async fn kept(&self, ticket: Ticket) -> Result<(), LogError> {
        reached(self.hub.log(), ticket, self.level()).await
    }
}
