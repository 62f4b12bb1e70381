//! Prices of models, and the cost of tokens.

use crate::event::{Cost, Currency, Event, Kind, Usage};

/// What a model costs, for each million tokens, in millionths of the currency: for each token in 10⁻¹² of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens that it reads.
    pub input: u64,
    /// Tokens that it writes.
    pub output: u64,
    /// Of those that it reads, those from a cache.
    pub cached: u64,
    /// Of those that it writes, those for reasoning.
    pub reasoning: u64,
    /// The currency of the price.
    pub currency: Currency,
}

impl Price {
    /// What `usage` costs. Counts that do not fit one another are taken as far as they do.
    pub fn of(&self, usage: &Usage) -> Cost {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let reasoning = usage.reasoning_tokens.min(usage.output_tokens);
        let parts = [
            (usage.input_tokens - cached, self.input),
            (cached, self.cached),
            (usage.output_tokens - reasoning, self.output),
            (reasoning, self.reasoning),
        ];
        let picos = parts
            .into_iter()
            .fold(0_u64, |sum, (tokens, price)| sum.saturating_add(tokens.saturating_mul(price)));
        Cost::new(picos, self.currency)
    }

    /// Whether somebody else said what `known` costs: it is not what it comes to here.
    fn is_told(&self, known: &Usage) -> bool {
        known.cost.is_some_and(|cost| cost != self.of(known))
    }

    /// Puts the cost into an event that tells tokens and not what they cost. `known` is what is known of its run, or of the
    /// sub-agent that ends: at the end of one that has a cost of its own nothing is put in, since whoever said that knows
    /// better.
    pub fn put(&self, event: &mut Event, known: Option<&Usage>) {
        let usage = match &mut event.kind {
            Kind::RunUpdate(update) => update.usage.as_mut(),
            Kind::RunEnd(_) | Kind::AgentEnd(_) if known.is_some_and(|known| self.is_told(known)) => None,
            Kind::RunEnd(end) => end.usage.as_mut(),
            Kind::AgentEnd(end) => end.usage.as_mut(),
            _ => None,
        };
        if let Some(usage) = usage.filter(|usage| usage.cost.is_none()) {
            usage.cost = Some(self.of(usage));
        }
    }
}

/// What is known of the tokens of a run after `event` of it, as the fold has it.
pub fn known_after(known: Option<Usage>, event: &Event) -> Option<Usage> {
    match &event.kind {
        Kind::RunUpdate(update) => match update.usage {
            Some(usage) => Some(known.unwrap_or_default().plus(usage)),
            None => known,
        },
        Kind::RunEnd(end) => end.usage.or(known),
        _ => known,
    }
}

/// What is known of the tokens of a sub-agent after `event` of it, as the fold has it.
pub fn known_of_agent_after(known: Option<Usage>, event: &Event) -> Option<Usage> {
    let total = match &event.kind {
        Kind::AgentStart(start) => start.usage,
        Kind::AgentEnd(end) => end.usage,
        _ => return known_after(known, event),
    };
    total.map(|total| total.total_after(known)).or(known)
}

/// Whether an event tells tokens and not what they cost.
pub fn is_unpriced(event: &Event) -> bool {
    let usage = match &event.kind {
        Kind::RunUpdate(update) => update.usage.as_ref(),
        Kind::RunEnd(end) => end.usage.as_ref(),
        Kind::AgentEnd(end) => end.usage.as_ref(),
        _ => None,
    };
    usage.is_some_and(|usage| usage.cost.is_none())
}

#[cfg(test)]
mod tests;
