//! What an event changes in the sums of runs, calls, tokens and money. What a run and a call count for is computed from the view
//! before and after the event; the difference is what is measured. So the sums of all measurements are always those of the view, whatever
//! came in which order, and what is known better later is corrected where it was counted.
//!
//! ```text
//! before the event    Runs 1 · FirstMs 1                                 facts(run, calls)
//! after a run.end     Runs 1 · FirstMs 1 · Ended 1 · RunMs 1             facts(run, calls)
//! measured            Ended +1 · RunMs +1                                what is new, minus what is gone
//! ```
//!
//! Tokens and money are measured as the difference of what the run says that it used.

use compact_str::CompactString;
use event_log::measure::bucket;
use event_log::{Measurement, Metric};
use model::event::{Class, Event, Kind, RunStatus, ToolState, Usage};
use model::view::{Item, RunView, ToolView, View};
use model::{AgentId, Envelope, ToolCallId};

/// How many items of a run are looked at for the first that its model gave out.
const FIRST_ITEMS: usize = 8;

/// What the run and the calls of an event counted for before it.
#[derive(Debug, Default)]
pub(super) struct CountedBefore {
    /// The calls that the event may change.
    calls: Vec<ToolCallId>,
    /// What the run and these calls counted for; empty for an event that changes nothing.
    facts: Vec<Measurement>,
    /// What the run had used.
    usage: Option<Usage>,
    /// Whether the difference is to be measured at all.
    is_told: bool,
}

impl CountedBefore {
    /// Looks before `event` is folded onto `view`.
    pub(super) fn of(view: &View, event: &Event) -> Self {
        let Some(run) = view.runs.get(&event.run) else {
            let calls = call_of(&event.kind).cloned().into_iter().collect();
            return Self { calls, is_told: true, ..Self::default() };
        };
        if is_quiet(run, &event.kind) {
            return Self::default();
        }
        let calls = calls_of(run, &event.kind);
        Self { facts: facts(run, &calls), calls, usage: run.usage, is_told: true }
    }

    /// Adds to `into` what the event of `envelope` has changed, now that it is folded onto `view`.
    pub(super) fn measure(mut self, view: &View, envelope: &Envelope, into: &mut Vec<Measurement>) {
        let run = view.runs.get(&envelope.event.run).filter(|_| self.is_told);
        let Some(run) = run else { return };
        for fact in facts(run, &self.calls) {
            if let Some(same) = self.facts.iter().position(|it| *it == fact) {
                self.facts.swap_remove(same);
            } else {
                into.push(fact);
            }
        }
        into.extend(self.facts.into_iter().map(|fact| Measurement { amount: -fact.amount, ..fact }));
        if self.usage != run.usage {
            let who = Attribution::of(run, envelope.event.agent.as_ref());
            used(&who, envelope.at, self.usage, run.usage, into);
        }
    }
}

/// Whether an event changes nothing that is measured: most do not, and they come often.
fn is_quiet(run: &RunView, kind: &Kind) -> bool {
    // What comes of a run that was ended lets it go on.
    let is_delta = kind.class() != Class::Critical
        || matches!(kind, Kind::PartEnd(_) | Kind::Message(_) | Kind::Custom { .. } | Kind::Raw { .. });
    // The first output of a call says that it runs.
    let begins = matches!(kind, Kind::ToolOutput { tool, .. }
        if run.tools.get(tool).is_none_or(|call| call.executing_at.is_none()));
    is_delta && !begins && run.is_running() && first(run).is_some()
}

/// The calls that an event may change: its own; all that are open, where it ends the run; and those that the loss of
/// a publisher closed, since whatever comes after it opens them again.
fn calls_of(run: &RunView, kind: &Kind) -> Vec<ToolCallId> {
    let call = |item: &Item| if let Item::Tool(id) = item { Some(id.clone()) } else { None };
    let mut calls: Vec<ToolCallId> = call_of(kind).cloned().into_iter().collect();
    if matches!(kind, Kind::RunEnd(_)) {
        calls.extend(run.open.iter().filter_map(call));
    }
    if let Some(loss) = run.loss.as_ref().filter(|_| !run.is_running()) {
        calls.extend(loss.open.iter().filter_map(|closed| call(&closed.item)));
    }
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// The call that an event names and may change.
fn call_of(kind: &Kind) -> Option<&ToolCallId> {
    match kind {
        Kind::ToolStart(start) => Some(&start.tool),
        Kind::ToolState(change) => Some(&change.tool),
        Kind::ToolResult(result) => Some(&result.tool),
        Kind::ToolCall { tool, .. }
        | Kind::ToolOutput { tool, .. }
        | Kind::ApprovalRequest { tool, .. }
        | Kind::ApprovalAnswer { tool, .. } => Some(tool),
        _ => None,
    }
}

/// The agent and the model under whose names something counts.
struct Attribution {
    /// The name of the sub-agent or of the run's agent; empty where it has none.
    agent: CompactString,
    /// The model; empty where nobody said.
    model: CompactString,
}

impl Attribution {
    /// The sub-agent `agent` of a run, or its main agent. What a sub-agent does not say is the run's.
    fn of(run: &RunView, agent: Option<&AgentId>) -> Self {
        let sub = agent.and_then(|agent| run.agents.get(agent));
        let name = sub.and_then(|sub| sub.name.clone()).or_else(|| run.name.clone());
        let model = sub.and_then(|sub| sub.model.clone()).or_else(|| run.model.clone());
        Self { agent: name.unwrap_or_default(), model: model.unwrap_or_default() }
    }

    /// One measurement under these names, without a tool.
    fn fact(&self, metric: Metric, at: u64, detail: &str, amount: i64) -> Measurement {
        let (agent, model) = (self.agent.clone(), self.model.clone());
        Measurement {
            metric,
            at,
            agent,
            model,
            tool: CompactString::default(),
            detail: detail.into(),
            amount,
        }
    }
}

/// What a run counts for, and some of its calls.
fn facts(run: &RunView, calls: &[ToolCallId]) -> Vec<Measurement> {
    let who = Attribution::of(run, None);
    let mut facts = vec![who.fact(Metric::Runs, run.started_at, "", 1)];
    if let Some(first) = first(run) {
        let waited = first.saturating_sub(run.started_at);
        facts.push(who.fact(Metric::FirstMs, first, &bucket(waited).to_string(), 1));
    }
    if !run.is_running() {
        let at = run.ended_at.unwrap_or(run.started_at);
        facts.push(who.fact(Metric::Ended, at, reason(run), 1));
        let took = at.saturating_sub(run.started_at);
        facts.push(who.fact(Metric::RunMs, at, &bucket(took).to_string(), 1));
    }
    facts.extend(calls.iter().filter_map(|id| run.tools.get(id)).flat_map(|call| facts_of_call(run, call)));
    facts
}

/// When the model gave out the first of anything.
fn first(run: &RunView) -> Option<u64> {
    run.items.iter().take(FIRST_ITEMS).find_map(|item| match item {
        Item::Part(id) => run.parts.get(id).map(|part| part.started_at),
        Item::Tool(id) => run.tools.get(id).map(|tool| tool.started_at),
        Item::Agent(_) | Item::Note(_) => None,
    })
}

/// How a run ended, in one word. A failed run is named by the code of its error, if it has one.
pub(super) fn reason(run: &RunView) -> &str {
    match run.status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Error | RunStatus::Interrupted => {
            let word = if run.status == RunStatus::Error { "error" } else { "interrupted" };
            run.error
                .as_ref()
                .map(|error| error.code.as_str())
                .filter(|code| !code.is_empty())
                .unwrap_or(word)
        }
    }
}

/// What a call counts for: its wait for a person once it was answered, and itself once it has ended with a
/// result.
fn facts_of_call(run: &RunView, call: &ToolView) -> Vec<Measurement> {
    let who = Attribution::of(run, call.agent.as_ref());
    let fact = |metric, at, detail: &str, amount| Measurement {
        tool: call.name.clone(),
        ..who.fact(metric, at, detail, amount)
    };
    let mut facts = Vec::new();
    let began = call.executing_at.or(call.ended_at);
    if let Some(at) = began.filter(|_| call.approved || call.rejected) {
        let asked = call.asked_at.or(call.pending_at).unwrap_or(call.started_at);
        let waited = at.saturating_sub(asked);
        facts.push(fact(Metric::Waits, at, "", 1));
        facts.push(fact(Metric::WaitMs, at, "", i64::try_from(waited).unwrap_or(i64::MAX)));
    }
    if matches!(call.state, ToolState::Complete | ToolState::Error) {
        let at = call.ended_at.unwrap_or(call.started_at);
        facts.push(fact(Metric::Calls, at, "", 1));
        if call.is_error || call.state == ToolState::Error {
            facts.push(fact(Metric::CallsFailed, at, "", 1));
        }
        if let Some(took) = call.latency_ms() {
            facts.push(fact(Metric::CallMs, at, &bucket(took).to_string(), 1));
        }
    }
    facts
}

/// What was used between two readings of the same meter. A change of currency takes back all of the old and
/// counts all of the new.
fn used(
    who: &Attribution,
    at: u64,
    before: Option<Usage>,
    after: Option<Usage>,
    into: &mut Vec<Measurement>,
) {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let unpriced = |usage: &Usage| if usage.cost.is_none() { usage.tokens() } else { 0 };
    let mut differ = |metric: Metric, before: u64, after: u64, detail: &str| {
        let amount = number(after).saturating_sub(number(before));
        into.extend((amount != 0).then(|| who.fact(metric, at, detail, amount)));
    };
    differ(Metric::InputTokens, before.input_tokens, after.input_tokens, "");
    differ(Metric::CachedTokens, before.cached_tokens, after.cached_tokens, "");
    differ(Metric::OutputTokens, before.output_tokens, after.output_tokens, "");
    differ(Metric::ReasoningTokens, before.reasoning_tokens, after.reasoning_tokens, "");
    differ(Metric::UnpricedTokens, unpriced(&before), unpriced(&after), "");
    let (was, is) = (before.cost, after.cost);
    match (was, is) {
        (Some(was), Some(is)) if was.currency() == is.currency() => {
            differ(Metric::Money, was.picos(), is.picos(), is.currency().as_str());
        }
        _ => {
            if let Some(was) = was {
                differ(Metric::Money, was.picos(), 0, was.currency().as_str());
            }
            if let Some(is) = is {
                differ(Metric::Money, 0, is.picos(), is.currency().as_str());
            }
        }
    }
}

#[cfg(test)]
mod tests;
