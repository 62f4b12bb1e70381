//! What models cost. If a publisher tells tokens and not their cost, the hub adds the cost.

use compact_str::CompactString;
use model::event::{Currency, Kind, Usage};
use model::price::{self, Price};
use model::wildcard::matches;
use model::{Event, View};

use super::{Conversation, Publication};

/// Prices of models, by patterns of their names, longest pattern first. Made from the settings, fixed
/// afterwards.
#[derive(Debug, Clone, Default)]
pub struct Prices(Vec<(CompactString, Price)>);

impl Prices {
    /// Makes prices from patterns, in which `*` stands for any characters. If several patterns fit a model,
    /// the longest counts.
    pub fn new(prices: impl IntoIterator<Item = (CompactString, Price)>) -> Self {
        let mut prices: Vec<_> = prices.into_iter().collect();
        prices.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        Self(prices)
    }

    /// The highest of all prices in `currency`, each kind of token for itself: what a call costs at most if nobody
    /// knows its model. `None` if there is no price in that currency.
    pub fn dearest(&self, currency: Currency) -> Option<Price> {
        let all = self.0.iter().map(|(_, price)| *price).filter(|price| price.currency == currency);
        all.reduce(|one, other| Price {
            input: one.input.max(other.input),
            output: one.output.max(other.output),
            cached: one.cached.max(other.cached),
            reasoning: one.reasoning.max(other.reasoning),
            currency,
        })
    }

    /// The price of `model`, if a pattern fits it.
    pub fn of(&self, model: &str) -> Option<Price> {
        self.0.iter().find(|(pattern, _)| matches(pattern, model)).map(|(_, price)| *price)
    }

    /// Adds to each event of `publication` with unpriced tokens what they cost. The model and what was spent
    /// before come from the earlier events of the publication, otherwise from the view of `conversation`.
    pub(super) fn put(&self, publication: &mut Publication, conversation: &Conversation) {
        if self.0.is_empty() {
            return;
        }
        for place in 0..publication.events.len() {
            let (before, rest) = publication.events.split_at_mut(place);
            let Some(event) = rest.first_mut().map(|envelope| &mut envelope.event) else { return };
            if !price::is_unpriced(event) {
                continue;
            }
            let own = before.iter().map(|envelope| &envelope.event).filter(|it| it.run == event.run);
            let of_agent = own.clone().filter(|it| event.agent.is_some() && it.agent == event.agent);
            let known = conversation.read_view(|view| UsageSoFar::of(view, event));
            let spent = match event.kind {
                Kind::AgentEnd(_) => of_agent.clone().fold(known.of_agent, price::known_of_agent_after),
                _ => own.clone().fold(known.of_run, price::known_after),
            };
            let model = model_of(event)
                .or_else(|| model_of_agent(event))
                .or_else(|| of_agent.rev().find_map(model_of_agent))
                .or(known.model_of_agent)
                .or_else(|| own.rev().find_map(model_of))
                .or(known.model_of_run);
            if let Some(price) = model.and_then(|model| self.of(&model)) {
                price.put(event, spent.as_ref());
            }
        }
    }
}

/// What the view has of the run and the sub-agent of an event, before the publication that it came in.
#[derive(Default)]
struct UsageSoFar {
    /// What the run has used.
    of_run: Option<Usage>,
    /// The model of the run.
    model_of_run: Option<CompactString>,
    /// What the sub-agent has used.
    of_agent: Option<Usage>,
    /// The model of the sub-agent.
    model_of_agent: Option<CompactString>,
}

impl UsageSoFar {
    /// Reads it from the view; nothing of a run that the view does not have.
    fn of(view: &View, event: &Event) -> Self {
        let Some(run) = view.runs.get(&event.run) else { return Self::default() };
        let agent = event.agent.as_ref().and_then(|agent| run.agents.get(agent));
        Self {
            of_run: run.usage,
            model_of_run: run.model.clone(),
            of_agent: agent.and_then(|agent| agent.usage),
            model_of_agent: agent.and_then(|agent| agent.model.clone()),
        }
    }
}

/// The model that an event names for its sub-agent.
fn model_of_agent(event: &Event) -> Option<CompactString> {
    match &event.kind {
        Kind::AgentStart(start) => start.model.clone(),
        Kind::AgentEnd(end) => end.model.clone(),
        _ => None,
    }
}

/// The model that an event names for its run.
fn model_of(event: &Event) -> Option<CompactString> {
    match &event.kind {
        Kind::RunStart(start) => start.model.clone(),
        Kind::RunUpdate(update) => update.model.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
