//! What agents take of the hub that runs them.

use std::sync::Arc;

use event_log::{LogError, Ticket, reached};
use hub::{Fanout, Hub};
use model::View;
use model::frame::Durability;
use model::{ConversationId, view::RunView};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::Egress;

use crate::run::RunAddress;
use crate::tools::Toolbox;

/// What runs use of the hub. Shared by all of them; owned by [`crate::Agents`].
#[derive(Debug)]
pub struct Host {
    /// The conversations.
    pub hub: Arc<Hub>,
    /// What brings their events to viewers: everything is published through it.
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
    /// Whether the hub is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// The conversation as it stands; empty where there is none, or where it cannot be read.
    pub(crate) fn view(&self, conversation: &ConversationId) -> Option<View> {
        let found = self.hub.find(conversation).ok().flatten();
        found.map(|found| found.view())
    }

    /// What `look` sees of a run; nothing where the conversation does not have it.
    pub(crate) fn look<T>(&self, place: &RunAddress, look: impl FnOnce(&RunView) -> T) -> Option<T> {
        let found = self.hub.find(&place.conversation).ok().flatten()?;
        found.look(|view| view.runs.get(&place.run).map(look))
    }

    /// How safe the log can keep what is said before something is done about it.
    pub(crate) fn level(&self) -> Durability {
        Durability::Stored.min(self.hub.log().durability())
    }

    /// Waits until the log has everything up to `ticket`: nothing is asked or executed of which it does not know.
    pub(crate) async fn kept(&self, ticket: Ticket) -> Result<(), LogError> {
        reached(self.hub.log(), ticket, self.level()).await
    }
}
