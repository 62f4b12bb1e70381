//! What models cost: where who publishes tells tokens and not what they cost, the hub says it.

use compact_str::CompactString;
use shared::event::Kind;
use shared::price::{self, Price};
use shared::{Event, RunId};

use super::{Conversation, Publication};
use crate::sink::matches;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Prices(Vec<(CompactString, Price)>);

impl Prices {
    /// The prices of the models that are meant by patterns, in which `*` stands for anything. Of several that mean a model the
    /// longest counts.
    pub fn new(prices: impl IntoIterator<Item = (CompactString, Price)>) -> Self {
        let mut prices: Vec<_> = prices.into_iter().collect();
        prices.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        Self(prices)
    }

    fn of(&self, model: &str) -> Option<Price> {
        self.0.iter().find(|(pattern, _)| matches(pattern, model)).map(|(_, price)| *price)
    }

    /// Puts in what tokens cost.
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
            let (model, known) = conversation.look(|view| {
                let run = view.runs.get(&event.run);
                (run.and_then(|run| run.model.clone()), run.and_then(|run| run.usage))
            });
            let own = before.iter().map(|envelope| &envelope.event).filter(|it| it.run == event.run);
            let known = own.fold(known, price::known_after);
            let told = before.iter().rev().find_map(|envelope| told(&envelope.event, &event.run));
            let model = model_of(event).or(told).or(model);
            if let Some(price) = model.and_then(|model| self.of(&model)) {
                price.put(event, known.as_ref());
            }
        }
    }
}

/// The model that an event names for `run`.
fn told(event: &Event, run: &RunId) -> Option<CompactString> {
    if event.run == *run { model_of(event) } else { None }
}

fn model_of(event: &Event) -> Option<CompactString> {
    match &event.kind {
        Kind::RunStart(start) => start.model.clone(),
        Kind::RunUpdate(update) => update.model.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
