//! Writes the events of one run into its conversation, and knows when the log has them.

use std::sync::Arc;

use dialects::Decoded;
use event_log::Ticket;
use hub::{Attendant, Publication, PublishError, TicketToCome};
use model::event::{Event, Kind};
use model::price::{self, Price};
use model::view::RunView;

use crate::host::Host;
use crate::run::RunAddress;

/// Publishes the events of one run. As long as it exists, the hub does not take the run for lost.
#[derive(Debug)]
pub(crate) struct Scribe {
    host: Arc<Host>,
    place: RunAddress,
    attendant: Attendant,
    ticket: Ticket,
    /// The ticket of the newest of it, where that is withheld since it may end within a secret.
    withheld: Option<TicketToCome>,
    /// What tokens of the run cost.
    price: Option<Price>,
}

impl Scribe {
    /// For the run at `place`.
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

    /// The same for a run whose tokens have a price of their own.
    pub(crate) fn at(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// Reached when the log has all that was said.
    pub(crate) fn ticket(&self) -> Ticket {
        match self.withheld.as_ref().map(TicketToCome::get) {
            None => self.ticket,
            Some(Some(came)) => came,
            // Whoever asks waits for all of it: there is nothing more to be said before.
            Some(None) => self.host.fanout.release(&self.place.conversation),
        }
    }

    /// The run as it stands.
    pub(crate) fn look(&self) -> Option<RunView> {
        self.host.look(&self.place, RunView::clone)
    }

    /// Says this in the conversation, in this order.
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

    /// Puts in what tokens cost that the event tells.
    fn price(&self, event: &mut Event) {
        let Some(price) = self.price.filter(|_| price::is_unpriced(event)) else { return };
        let found = self.host.hub.find(&self.place.conversation).ok().flatten();
        let known = found.and_then(|found| {
            found.look(|view| {
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
