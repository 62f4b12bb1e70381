//! Acks that are owed: a publisher that asked for more than memory gets its ack when the log has stored the
//! events (invariant I9).

use event_log::{EventLog, Progress, Ticket, settled};
use hub::{Appended, WithheldTicket};
use model::frame::{Ack, Durability, ServerFrame};
use model::limits::ACKS_OWED_MAX;
use tokio::sync::watch;

/// An ack and what it waits for.
#[derive(Debug)]
struct Owed {
    ticket: Ticket,
    /// The ticket of events that are withheld, instead of `ticket`.
    withheld: Option<WithheldTicket>,
    /// The durability that was asked for.
    level: Durability,
    ack: Ack,
}

impl Owed {
    /// What it waits for; nothing as long as that is not known.
    fn ticket(&self) -> Option<Ticket> {
        self.withheld.as_ref().map_or(Some(self.ticket), WithheldTicket::get)
    }
}

/// The acks that one socket owes, at most `ACKS_OWED_MAX`: beyond, nothing is read from the socket. It takes
/// no memory for a socket that does not publish. Dropping it drops the acks, not the events; the publisher
/// sends them again.
#[derive(Debug, Default)]
pub(super) struct Acks {
    owed: Vec<Owed>,
    /// What the log has reached; `None` before the first ack is owed.
    progress: Option<watch::Receiver<Progress>>,
}

impl Acks {
    /// Owes `ack` until the log has what was `appended` at the level that the ack names.
    pub(super) fn owe(&mut self, log: &dyn EventLog, appended: Appended, ack: Ack) {
        let Appended { ticket, withheld, .. } = appended;
        self.progress.get_or_insert_with(|| log.progress());
        log.hasten(ticket, ack.durability);
        self.owed.push(Owed { ticket, withheld, level: ack.durability, ack });
    }

    /// Whether anything waits for the log: an ack, or reading from the socket.
    pub(super) fn is_waiting(&self) -> bool {
        !self.owed.is_empty() || !self.has_room()
    }

    /// Whether more may be read from the socket: few enough acks are owed, and the log's queue has room.
    pub(super) fn has_room(&self) -> bool {
        let full = self.progress.as_ref().is_some_and(|progress| progress.borrow().full);
        self.owed.len() < ACKS_OWED_MAX && !full
    }

    /// Ready when the log has come further; never for a socket that has not published. May be cancelled.
    pub(super) async fn moved(&mut self) {
        let moved = match &mut self.progress {
            Some(progress) => progress.changed().await.is_ok(),
            None => false,
        };
        if !moved {
            std::future::pending::<()>().await;
        }
    }

    /// The acks and errors that can be sent now, in order.
    pub(super) fn settle(&mut self) -> Vec<ServerFrame> {
        let Some(progress) = &mut self.progress else { return Vec::new() };
        if self.owed.is_empty() {
            return Vec::new();
        }
        let progress = progress.borrow_and_update();
        let mut answers = Vec::new();
        self.owed.retain(|owed| {
            match owed.ticket().and_then(|ticket| settled(&progress, ticket, owed.level)) {
                None => true,
                Some(Ok(())) => {
                    answers.push(ServerFrame::Ack(owed.ack.clone()));
                    false
                }
                Some(Err(error)) => {
                    let (id, code, message) = (Some(owed.ack.id), error.code(), error.to_string());
                    answers.push(ServerFrame::Error { sub: None, id, code, message, expected: None });
                    false
                }
            }
        });
        answers
    }
}
