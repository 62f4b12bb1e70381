//! Joins the spans of a trace into a run, whatever order they come in.
//!
//! ```text
//! span ──▶ node of the tree ──▶ held ──placed──▶ told
//!                                │ its ancestors are known up to the root, or to the span whose children
//!                                │ the main agent's steps are, or it has waited long enough
//! ```
//!
//! Whose step a span is (the main agent's or a sub-agent's) stands in its ancestors, which end later than it does. So a
//! span is held for [`SPAN_HELD_MS`] at most; then its place is guessed: the first open ancestor that is met is the main
//! agent, any other one a sub-agent, whose name is told when its own span comes. Where all spans of a trace come within
//! that time, nothing is guessed, and every order and every split gives the same view (but for the order of items).

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::meaning::{SpanMeaning, SpanRole};
use super::{FinishedSpan, SpanId, TraceId};
use model::envelope::Envelope;
use model::ids::ConversationId;
use model::limits::{
    MESSAGES_MAX, SPAN_HELD_MS, SPANS_HELD_BYTES_MAX, SPANS_PER_TRACE_MAX, SPANS_REMEMBERED_MAX,
    TRACE_REMEMBERED_MS,
};

mod agents;
mod calls;
mod place;
mod tell;
mod trace;

use trace::SpanTrace;

/// The events that spans add to one conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct ConversationEvents {
    /// The id of the conversation.
    pub conversation: ConversationId,
    /// The events, in order. Their seq and time are 0 until they are appended.
    pub envelopes: Vec<Envelope>,
}

/// The result of taking spans.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JoinedSpans {
    /// The events to append.
    pub told: Vec<ConversationEvents>,
    /// Spans that were not taken, because their trace has too many.
    pub rejected: u64,
}

/// Joins spans into runs. It remembers traces up to the limits of `model::limits`, and holds spans whose
/// place in their trace is not known yet.
///
/// It does no input or output: its owner appends the events that it returns.
#[derive(Debug, Default)]
pub struct SpanJoiner {
    /// The traces by their ids. The one that was silent longest is searched for: there are few enough.
    traces: IndexMap<TraceId, SpanTrace>,
    /// The hashes of the messages that each conversation has: requests repeat the whole history.
    messages: IndexMap<ConversationId, KnownMessages>,
    /// The number of spans of all traces.
    spans: usize,
}

/// The hashes of the messages that a conversation has, each with the start of the model call that it was read
/// from, in milliseconds since 1970.
type KnownMessages = BTreeMap<u64, u64>;

/// A span that is held until its place in its trace is known.
#[derive(Debug)]
struct HeldSpan {
    id: SpanId,
    start_ms: u64,
    end_ms: u64,
    meaning: SpanMeaning,
    /// When it was taken, in milliseconds since 1970 by the hub's clock.
    since: u64,
    weight: usize,
}

/// A span as a node of the tree of its trace.
#[derive(Debug)]
struct SpanNode {
    parent: Option<SpanId>,
    /// The parent is in another process.
    is_remote: bool,
    role: SpanRole,
    name: String,
    /// The id of the tool call, for the span of a tool that was published.
    call: Option<String>,
    /// What the agent was asked, for the span of an agent.
    task: Option<String>,
    failed: bool,
    /// What it says is published already: of nested spans of one model call only one is published.
    is_covered: bool,
}

impl SpanJoiner {
    /// Takes spans that were received at `now` (milliseconds since 1970). Spans that are known already are
    /// ignored.
    pub fn take(&mut self, spans: Vec<FinishedSpan>, now: u64) -> JoinedSpans {
        let mut taken = JoinedSpans::default();
        let mut touched = BTreeSet::new();
        for span in spans {
            let trace = self.traces.entry(span.trace).or_insert_with(|| SpanTrace::new(span.trace, now));
            if trace.knows(span.id) {
                continue;
            }
            if trace.len() >= SPANS_PER_TRACE_MAX {
                taken.rejected = taken.rejected.saturating_add(1);
                continue;
            }
            touched.insert(span.trace);
            trace.add(&span, now);
            self.spans = self.spans.saturating_add(1);
        }
        for id in touched {
            self.advance(id, now, false, &mut taken.told);
        }
        self.bound(now, &mut taken.told);
        taken
    }

    /// Returns the events of spans that were held long enough and the ends of runs that are over, and forgets
    /// old traces. Call it about once a second.
    pub fn tick(&mut self, now: u64) -> Vec<ConversationEvents> {
        let mut told = Vec::new();
        let due: Vec<_> = self.traces.iter().filter(|(_, it)| it.is_due(now)).map(|(id, _)| *id).collect();
        for id in due {
            self.advance(id, now, false, &mut told);
        }
        let mut forgotten = 0_usize;
        self.traces.retain(|_, trace| {
            let goes = now.saturating_sub(trace.heard_at) >= TRACE_REMEMBERED_MS || trace.is_foreign(now);
            forgotten = forgotten.saturating_add(if goes { trace.len() } else { 0 });
            !goes
        });
        self.spans = self.spans.saturating_sub(forgotten);
        told
    }

    /// Returns the events of all spans that are held, for a hub that stops.
    pub fn flush(&mut self, now: u64) -> Vec<ConversationEvents> {
        let mut told = Vec::new();
        let all: Vec<_> = self.traces.keys().copied().collect();
        for id in all {
            self.advance(id, now, true, &mut told);
        }
        told
    }

    /// Adds to `told` the events of a trace that can be published at `now`; with `force` those of all its
    /// spans.
    fn advance(&mut self, id: TraceId, now: u64, force: bool, told: &mut Vec<ConversationEvents>) {
        let Some(trace) = self.traces.get_mut(&id) else { return };
        let Some(conversation) = trace.conversation(now, force) else { return };
        let messages = self.messages.entry(conversation.clone()).or_default();
        if messages.len() > MESSAGES_MAX {
            messages.clear();
        }
        let envelopes = trace.advance(now, force, messages);
        if !envelopes.is_empty() {
            told.push(ConversationEvents { conversation, envelopes });
        }
    }

    /// Enforces the limits: if the held spans are too large, they are published early; the traces that were
    /// silent longest are forgotten.
    fn bound(&mut self, now: u64, told: &mut Vec<ConversationEvents>) {
        let held: usize = self.traces.values().map(SpanTrace::held_bytes).sum();
        if held > SPANS_HELD_BYTES_MAX {
            told.extend(self.flush(now));
        }
        while self.spans > SPANS_REMEMBERED_MAX {
            let oldest = self.traces.iter().min_by_key(|(_, trace)| trace.heard_at).map(|(id, _)| *id);
            let Some(oldest) = oldest else { break };
            self.advance(oldest, now, true, told);
            let gone = self.traces.swap_remove(&oldest).map_or(0, |trace| trace.len());
            self.spans = self.spans.saturating_sub(gone);
        }
        while self.messages.len() > CONVERSATIONS_REMEMBERED_MAX {
            self.messages.shift_remove_index(0);
        }
    }
}

/// The most conversations whose messages are remembered. In others, messages are published again; they have
/// the same ids and replace themselves.
const CONVERSATIONS_REMEMBERED_MAX: usize = 1_000;

const _: () = assert!(SPAN_HELD_MS < TRACE_REMEMBERED_MS);

#[cfg(test)]
mod tests;
