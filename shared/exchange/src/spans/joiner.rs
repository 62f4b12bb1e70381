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

use std::collections::BTreeSet;

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

/// Events for one conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct ConversationEvents {
    /// The conversation.
    pub conversation: ConversationId,
    /// The events, in order; seq and time are still 0.
    pub envelopes: Vec<Envelope>,
}

/// What came of spans.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JoinedSpans {
    /// What is told.
    pub told: Vec<ConversationEvents>,
    /// Spans that were not taken, because their trace has too many.
    pub rejected: u64,
}

/// The traces that are remembered.
#[derive(Debug, Default)]
pub struct SpanJoiner {
    /// The one that was heard of longest ago is not always first; there are few enough to look.
    traces: IndexMap<TraceId, SpanTrace>,
    /// Messages that each conversation was told: requests repeat the whole history.
    messages: IndexMap<ConversationId, BTreeSet<u64>>,
    /// Spans of all traces.
    spans: usize,
}

/// A span that waits for its place.
#[derive(Debug)]
struct HeldSpan {
    id: SpanId,
    start_ms: u64,
    end_ms: u64,
    meaning: SpanMeaning,
    /// When it came, by the clock of the caller.
    since: u64,
    weight: usize,
}

/// Where a span stands in its trace.
#[derive(Debug)]
struct SpanNode {
    parent: Option<SpanId>,
    /// Its parent is in another process.
    is_remote: bool,
    role: SpanRole,
    name: String,
    /// The id of its call, for a tool that was told.
    call: Option<String>,
    /// What it was asked, for an agent.
    task: Option<String>,
    failed: bool,
    /// It told already what it has: of nested calls of a model only one is told.
    is_covered: bool,
}

impl SpanJoiner {
    /// Takes spans that came at `now`.
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

    /// Time has passed: what was held long enough is told, runs that are over end.
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

    /// Tells all that is held: the hub stops.
    pub fn flush(&mut self, now: u64) -> Vec<ConversationEvents> {
        let mut told = Vec::new();
        let all: Vec<_> = self.traces.keys().copied().collect();
        for id in all {
            self.advance(id, now, true, &mut told);
        }
        told
    }

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

    /// Keeps to the limits: what is held is told before its time, the trace that was silent longest is forgotten.
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

/// Conversations whose messages are remembered; of another one they are told again, and replace themselves.
const CONVERSATIONS_REMEMBERED_MAX: usize = 1_000;

const _: () = assert!(SPAN_HELD_MS < TRACE_REMEMBERED_MS);

#[cfg(test)]
mod tests;
