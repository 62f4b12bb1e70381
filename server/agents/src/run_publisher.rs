//! Publishes the events of one run and knows when the log has them.

use std::sync::Arc;

use dialects::Decoded;
use event_log::Ticket;
use hub::{Attendant, Publication, PublishError, WithheldTicket};
use model::event::{Event, Kind};
use model::price::{self, Price};
use model::view::RunView;

use crate::host::Host;
use crate::run::RunAddress;

/// Publishes the events of one run, as the hub itself. While it exists, it attends the run, so that the hub
/// does not take the run for lost. Owned by whoever does the run; dropping it publishes nothing.
#[derive(Debug)]
pub(crate) struct RunPublisher {
    /// The parts of the hub that it uses.
    host: Arc<Host>,
    /// The run, and the conversation that it is in.
    place: RunAddress,
    /// Attends the run until it is dropped.
    attendant: Attendant,
    /// The ticket of the newest that was published.
    ticket: Ticket,
    /// The ticket of the newest of it, where that is withheld since it may end within a secret.
    withheld: Option<WithheldTicket>,
    /// The price of the run's tokens; `None` for that of the model.
    price: Option<Price>,
}

impl RunPublisher {
    /// Publishes for the run at `place`.
    pub(crate) fn new(host: &Arc<Host>, place: RunAddress) -> Self {
        let attendant = Attendant::new(&host.hub);
        Self {
            host: Arc::clone(host),
            place,
            attendant,
            ticket: Ticket::default(),
            withheld: None,
            price: None,
        }
    }

    /// Sets a price for the tokens of the run.
    pub(crate) fn at(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// Reached when the log has everything that was published. Lets go on what is withheld because it may end
    /// within a secret: whoever asks waits for all of it.
    pub(crate) fn ticket(&self) -> Ticket {
        match self.withheld.as_ref().map(WithheldTicket::get) {
            None => self.ticket,
            Some(Some(came)) => came,
            // Whoever asks waits for all of it: there is nothing more to be said before.
            Some(None) => self.host.fanout.release_withheld(&self.place.conversation),
        }
    }

    /// A copy of the run's view; `None` if it is not in the conversation.
    pub(crate) fn look(&self) -> Option<RunView> {
        self.host.look(&self.place, RunView::clone)
    }

    /// Publishes these events in this order. Does not wait for the log, see [`RunPublisher::ticket`]. Fails
    /// as a publication does, and then none of them is in the conversation.
    pub(crate) fn say(&mut self, events: Vec<Event>) -> Result<(), PublishError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut said = Decoded::default();
        for mut event in events {
            self.price(&mut event);
            said.event(event);
        }
        let publication = Publication {
            level: self.host.level(),
            speaker: self.attendant.speaks_in(&self.place.conversation),
            ..Publication::of_hub(said.envelopes)
        };
        let appended = self.host.fanout.publish(&self.place.conversation, publication)?;
        (self.ticket, self.withheld) = (appended.ticket, appended.withheld);
        Ok(())
    }

    /// Adds the cost to an event with unpriced tokens.
    fn price(&self, event: &mut Event) {
        let Some(price) = self.price.filter(|_| price::is_unpriced(event)) else { return };
        let found = self.host.hub.find(&self.place.conversation).ok().flatten();
        let known = found.and_then(|found| {
            found.read_view(|view| {
                let run = view.runs.get(&event.run)?;
                match event.kind {
                    Kind::AgentEnd(_) => run.agents.get(event.agent.as_ref()?)?.usage,
                    _ => run.usage,
                }
            })
        });
        price.put(event, known.as_ref());
    }
}
