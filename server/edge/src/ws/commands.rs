//! Commands of one socket. They are carried out one after another in a task of their own, so that nothing
//! else on the socket waits for them. If the socket closes, commands that were given are still carried out, but those of
//! somebody who is no longer admitted are not.
//!
//! ```text
//! command ─▶ queue ─▶ is the conversation this hub's? ─▶ carried out here, or passed on to its owner ─▶ done or refused
//! ```

use std::sync::Arc;

use access::Admission;
use agents::Refusal;
use model::ConversationId;
use model::code::ErrorCode;
use model::command::{Command, Done};
use model::frame::ServerFrame;
use model::limits::COMMANDS_WAITING_MAX;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::asker;
use crate::commands::carry_out;
use crate::http::OwnerRoute;
use crate::http::hubs::command::{self, CommandRoute};
use crate::state::Shared;
use crate::work::callers;
use hub::beginning::{self, SharedRule};
use hub::{Outbox, wire};

/// The queue of commands of one socket, at most `COMMANDS_WAITING_MAX`. It takes no memory for a socket that
/// sends none.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Where commands go, each with who gave it; `None` before the first. Dropping it ends the task once it
    /// has done all.
    waiting: Option<Sender<Given>>,
}

/// A command, with who gave it.
type Given = (Commander, ConversationId, Command);

/// Who gives a command, and the rule under which conversations begin for them.
pub(super) type Commander = (Admission, Option<SharedRule>);

impl Commands {
    /// Queues `command` of `who`; the answer is written to `outbox`. If too many wait, it is refused.
    pub(super) fn carry_out(
        &mut self,
        shared: &Arc<Shared>,
        outbox: &Arc<Outbox>,
        who: Commander,
        (conversation, command): (ConversationId, Command),
    ) {
        let waiting = self.waiting.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(COMMANDS_WAITING_MAX);
            shared.tasks.spawn(work(Arc::clone(shared), Arc::clone(outbox), receiver));
            sender
        });
        if let Err(error) = waiting.try_send((who, conversation, command)) {
            let (.., Command { id, .. }) = error.into_inner();
            let message = format!("{COMMANDS_WAITING_MAX} commands of this socket wait already");
            outbox.queue([wire::text(&ServerFrame::Refused { id, code: ErrorCode::TooMany, message })]);
        }
    }
}

/// Carries out commands until the socket has closed and all are done.
async fn work(shared: Arc<Shared>, outbox: Arc<Outbox>, mut commands: Receiver<Given>) {
    while let Some(((who, rule), conversation, command)) = commands.recv().await {
        let id = command.id.clone();
        let carried = commanded(&shared, (who.clone(), rule), &conversation, command);
        // Boxed, so that a socket whose commands wait does not hold the room that carrying one out takes.
        let done = Box::pin(asker::by(Some(who), carried)).await;
        let answer = match done {
            Ok(done) => ServerFrame::Done(done),
            Err(refusal) => ServerFrame::Refused { id, code: refusal.code, message: refusal.why },
        };
        outbox.queue([wire::text(&answer)]);
        outbox.wake.notify_one();
    }
}

/// Carries out one command, here or at the owner of its conversation. Fails with `unauthenticated` for who is no longer admitted.
async fn commanded(
    shared: &Arc<Shared>,
    (who, rule): Commander,
    conversation: &ConversationId,
    command: Command,
) -> Result<Done, Refusal> {
    asker::still_admitted(&shared.gate)?;
    match command::command(&OwnerRoute::of(shared), &who.principal, conversation, command).await {
        CommandRoute::There(done) => done,
        CommandRoute::Here(command) => {
            // Without a rule nothing is counted: access control is off.
            let caller = rule.is_some().then(|| who.principal.name().into());
            let done = carry_out(&shared.commands, who.principal.name(), conversation, *command);
            Box::pin(callers::on_behalf(caller, beginning::under(rule, done))).await
        }
    }
}
