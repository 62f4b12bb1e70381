//! What a request needs that is being served: a handler learns from the body for which conversation it is, and
//! the middleware around it then passes the whole request on.
//!
//! ```text
//! pass_on ── scope ─▶ handler ─▶ at_home(conversation)? ── this hub's ─▶ goes on
//!    ▲                                │ another hub's: noted, the handler fails with `elsewhere`
//!    └── to the owner ◀── Elsewhere ──┘
//! ```
//!
//! The note is beside the handler's error since each door has errors of its own form.

use std::future::Future;
use std::sync::Arc;

use agents::Refusal;
use event_log::{Owner, Purpose};
use model::code::ErrorCode;
use model::{ConversationId, RunId};
use parking_lot::Mutex;

use crate::inbound::problem::Problem;
use crate::peers::{self, Ownership};

/// What this hub does once it knows in which conversation another one has begun a run for its caller.
pub(crate) type Learn = Box<dyn FnOnce(&ConversationId, &RunId) + Send>;

/// The answer that another hub must serve the request.
pub(super) struct Elsewhere {
    /// The conversation whose owner serves it.
    pub(super) conversation: ConversationId,
    /// Present if it is decided that the caller goes on in that conversation: the other hub decides nothing.
    pub(super) decided: Option<Learn>,
}

/// One request that is being served. Owned by the middleware; dropped with the handler.
#[derive(Clone, Default)]
struct Asked {
    /// Set by the handler.
    elsewhere: Arc<Mutex<Option<Elsewhere>>>,
    /// Another hub has found out that it is for this hub.
    is_passed_on: bool,
    /// The conversation in which another hub has decided that the caller goes on.
    decided: Option<ConversationId>,
}

tokio::task_local! {
    /// The request that this task serves, if other hubs share the log.
    static ASKED: Asked;
}

/// The sender of a request to this hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// A client of the hub.
    Client,
    /// Another hub, which has passed the request on.
    Hub,
}

/// Serves a request with `handler`; also where it belongs, if another hub must serve it.
pub(super) async fn undecided<T>(asker: Asker, handler: impl Future<Output = T>) -> (T, Option<Elsewhere>) {
    let asked = Asked { is_passed_on: asker == Asker::Hub, ..Asked::default() };
    let answer = ASKED.scope(asked.clone(), handler).await;
    let elsewhere = asked.elsewhere.lock().take();
    (answer, elsewhere)
}

/// Serves a request with `handler` that another hub has passed on, with the conversation in which it has decided that the caller
/// goes on.
pub(super) async fn of_hub<T>(decided: Option<ConversationId>, handler: impl Future<Output = T>) -> T {
    let asked = Asked { is_passed_on: true, decided, ..Asked::default() };
    ASKED.scope(asked, handler).await
}

/// The conversation in which the caller of the request at hand goes on, if another hub has decided that.
pub(crate) fn decided() -> Option<ConversationId> {
    ASKED.try_with(|asked| asked.decided.clone()).ok().flatten()
}

/// Goes on if this hub has `conversation`; makes it this one's if no hub has it, a name that nobody has written to only to `Make` it. Fails with `elsewhere`
/// if another one has it, to which the request is then passed on, and with what the log says.
pub(crate) async fn at_home(
    ownership: &Arc<Ownership>,
    conversation: &ConversationId,
    purpose: Purpose,
) -> Result<(), Refusal> {
    if ownership.peers.is_none() || ASKED.try_with(|asked| asked.is_passed_on).unwrap_or(true) {
        return Ok(());
    }
    let owner = peers::owner(ownership, conversation, purpose).await.map_err(Problem::from)?;
    if owner == Owner::Here { Ok(()) } else { Err(go_to(conversation, None)) }
}

/// Notes that the owner of `conversation` must serve the request at hand, and do it in that conversation if
/// there is something to `learn` from its answer. The error is what the handler fails with.
pub(crate) fn go_to(conversation: &ConversationId, learn: Option<Learn>) -> Refusal {
    // Outside of a request, and for one that was passed on to where it belongs, the error is the answer.
    let _outside = ASKED.try_with(|asked| {
        if asked.decided.is_none() && (learn.is_some() || !asked.is_passed_on) {
            *asked.elsewhere.lock() = Some(Elsewhere { conversation: conversation.clone(), decided: learn });
        }
    });
    Refusal::new(ErrorCode::Elsewhere, format!("another hub has the conversation {conversation}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_handler_that_fails_elsewhere_says_where_and_each_hub_passes_it_on_once() {
        let conversation = ConversationId::parse("c").unwrap();
        let go = async |learn: Option<Learn>| go_to(&conversation, learn);
        let learn = || Some(Box::new(|_: &ConversationId, _: &RunId| ()) as Learn);
        let (refusal, noted) = undecided(Asker::Client, go(None)).await;
        assert_eq!(refusal.code, ErrorCode::Elsewhere);
        assert_eq!(noted.map(|noted| noted.conversation), Some(conversation.clone()));
        assert!(undecided(Asker::Hub, go(None)).await.1.is_none(), "it was for this hub");
        assert!(undecided(Asker::Hub, go(learn())).await.1.is_some(), "what is decided here goes on");
        let decided_there = of_hub(Some(conversation.clone()), async {
            drop(go(learn()).await);
            decided()
        });
        assert_eq!(decided_there.await, Some(conversation.clone()));
        assert_eq!(decided(), None);
    }
}
