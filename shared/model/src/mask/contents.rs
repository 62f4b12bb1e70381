//! Events through a mask.
//!
//! ```text
//! events ─▶ Lens::pass_below (kinds that the role does not see) ─▶ contents: texts, arguments, results, costs, users taken out
//! ```
//!
//! What is hidden is told as empty, not left out: a view that folds what passes has the same items as the
//! masked view of the hub.

use std::sync::Arc;

use super::{Hideable, Mask};
use crate::envelope::Envelope;
use crate::event::{
    AgentEnd, AgentStart, Kind, LabelChange, Message, PartEnd, Rating, RunEnd, RunStart, RunUpdate,
    ToolProgress, ToolResult,
};
use crate::ids::ToolCallId;
use crate::json::Json;
use crate::lens::{AGENT, EventEffects, HEARD, LATE, Lens};
use crate::position::Seq;
use crate::view::{RunView, View};

/// The outcome for one event below a mask.
enum MaskedEvent {
    /// The event passes unchanged.
    Whole,
    /// Another event is told in its place.
    Instead(Kind),
    /// Nothing is told but that its run goes on, where that is news.
    Trace,
}

impl Mask {
    /// What is told of `events`, a stretch without holes, to who asked for `narrowed`, which is a lens that [`Mask::narrowed`] made; the
    /// rest is as for [`Lens::pass`].
    pub fn pass(
        &self,
        narrowed: &Lens,
        events: &[Arc<Envelope>],
        effects: &[(Seq, EventEffects)],
        now: &View,
    ) -> Option<Vec<Arc<Envelope>>> {
        let passed = narrowed.pass_below(Some(self), events, effects, now)?;
        Some(self.contents(&passed, effects, now))
    }

    /// What is told of `events`, which passed the narrowed lens.
    fn contents(
        &self,
        events: &[Arc<Envelope>],
        effects: &[(Seq, EventEffects)],
        now: &View,
    ) -> Vec<Arc<Envelope>> {
        let mut out = Vec::with_capacity(events.len());
        let plain = EventEffects::default();
        for envelope in events {
            let found = effects.binary_search_by_key(&envelope.seq, |(seq, _)| *seq).ok();
            let of_event = found.and_then(|at| effects.get(at)).map_or(&plain, |(_, one)| one);
            self.told(envelope, of_event, now.runs.get(&envelope.event.run), &mut out);
        }
        out
    }

    /// What is told of `events` to who asked for everything and reads them from the log, where nobody knows their effects any more;
    /// `now` is the view after them or later.
    pub fn read(&self, events: &[Arc<Envelope>], now: &View) -> Vec<Arc<Envelope>> {
        // Without effects there is nothing that only a snapshot could tell.
        self.pass(&self.narrowed(&Lens::default()), events, &[], now).unwrap_or_default()
    }

    /// An ephemeral event, as it is told.
    pub fn ephemeral(&self, envelope: &Arc<Envelope>, now: &View) -> Option<Arc<Envelope>> {
        let mut out = Vec::new();
        self.told(envelope, &EventEffects::default(), now.runs.get(&envelope.event.run), &mut out);
        out.pop()
    }

    /// Adds what is told of one event to `out`: nothing, itself, another in its place, or two.
    fn told(
        &self,
        envelope: &Arc<Envelope>,
        effects: &EventEffects,
        run: Option<&RunView>,
        out: &mut Vec<Arc<Envelope>>,
    ) {
        let kind = match self.kind(&envelope.event.kind, effects, run) {
            MaskedEvent::Whole if envelope.publisher.is_none() || !self.hides(Hideable::Users) => {
                return out.push(Arc::clone(envelope));
            }
            MaskedEvent::Whole => envelope.event.kind.clone(),
            MaskedEvent::Instead(kind) => kind,
            MaskedEvent::Trace if effects.has(HEARD) => Kind::RunUpdate(RunUpdate::default()),
            MaskedEvent::Trace => return,
        };
        let uses_tokens = matches!(&envelope.event.kind, Kind::RunUpdate(RunUpdate { usage: Some(_), .. }));
        // What it used made it: without that it begins here all the same.
        if uses_tokens && effects.has(AGENT) && self.hides(Hideable::Costs) && envelope.event.agent.is_some()
        {
            out.push(Arc::new(self.with(envelope, Kind::AgentStart(AgentStart::default()))));
        }
        out.push(Arc::new(self.with(envelope, kind)));
    }

    /// `kind` in the place of `envelope`.
    fn with(&self, envelope: &Envelope, kind: Kind) -> Envelope {
        let mut told = Envelope { event: envelope.event.clone(), ..envelope.clone() };
        told.event.kind = kind;
        if self.hides(Hideable::Users) {
            told.publisher = None;
        }
        told
    }

    /// What becomes of an event of this kind. Kinds are named one by one, so that one that is added must be
    /// decided about.
    fn kind(&self, kind: &Kind, effects: &EventEffects, run: Option<&RunView>) -> MaskedEvent {
        let is_thinking = |part| self.hides_part(run.and_then(|run| run.parts.get(part)));
        match kind {
            Kind::PartDelta { part, .. } if is_thinking(part) => {
                if effects.has(LATE) {
                    return MaskedEvent::Trace;
                }
                MaskedEvent::Instead(Kind::PartDelta { part: part.clone(), off: Some(0), text: "".into() })
            }
            Kind::PartReplace { part, .. } if is_thinking(part) => {
                MaskedEvent::Instead(Kind::PartReplace { part: part.clone(), text: String::new() })
            }
            Kind::PartEnd(end) if is_thinking(&end.part) => MaskedEvent::Instead(Kind::PartEnd(PartEnd {
                len: None,
                hash: None,
                signature: None,
                ..end.clone()
            })),
            Kind::Message(message) if self.hides_message_of(&message.role) => {
                MaskedEvent::Instead(Kind::Message(Message {
                    text: String::new(),
                    files: Vec::new(),
                    ..message.clone()
                }))
            }
            Kind::RunStart(_)
            | Kind::RunUpdate(_)
            | Kind::RunEnd(_)
            | Kind::AgentStart(_)
            | Kind::AgentEnd(_) => self.frame(kind),
            Kind::ToolArgs { .. }
            | Kind::ToolCall { .. }
            | Kind::ApprovalRequest { .. }
            | Kind::ApprovalAnswer { .. } => self.given(kind, effects, run),
            Kind::ToolOutput { .. } | Kind::ToolResult(_) | Kind::ToolProgress(_) => self.got(kind, run),
            Kind::Label(change) if self.hides(Hideable::Users) => {
                let rating = change.rating.clone().map(|rating| Rating { by: None, ..rating });
                let told = LabelChange { by: None, rating, ..LabelChange::clone(change) };
                MaskedEvent::Instead(Kind::Label(Box::new(told)))
            }
            Kind::Fork { .. }
            | Kind::Label(_)
            | Kind::RunStalled { .. }
            | Kind::Message(_)
            | Kind::PartStart { .. }
            | Kind::PartDelta { .. }
            | Kind::PartReplace { .. }
            | Kind::PartEnd(_)
            | Kind::ToolStart(_)
            | Kind::ToolState(_)
            | Kind::Status { .. }
            | Kind::Error(_) => MaskedEvent::Whole,
            Kind::Rate { .. } if !self.hides(Hideable::Costs) => MaskedEvent::Whole,
            // The narrowed lens lets none of these through; whoever comes without it gets none either.
            Kind::Rate { .. }
            | Kind::Custom { .. }
            | Kind::Raw { .. }
            | Kind::Anomaly(_)
            | Kind::Unknown(_) => MaskedEvent::Trace,
        }
    }

    /// Events about runs and agents.
    fn frame(&self, kind: &Kind) -> MaskedEvent {
        let hides_costs = self.hides(Hideable::Costs);
        MaskedEvent::Instead(match kind {
            Kind::RunStart(start) if start.host.is_some() && self.hides(Hideable::Users) => {
                Kind::RunStart(RunStart { host: None, ..start.clone() })
            }
            Kind::RunUpdate(update) if hides_costs => {
                Kind::RunUpdate(RunUpdate { usage: None, ..update.clone() })
            }
            Kind::RunEnd(end) if hides_costs => Kind::RunEnd(RunEnd { usage: None, ..end.clone() }),
            Kind::AgentEnd(end) if hides_costs => Kind::AgentEnd(AgentEnd { usage: None, ..end.clone() }),
            Kind::AgentStart(start) => {
                let text = start.text.clone().filter(|_| !self.hides_some_arguments());
                let usage = start.usage.filter(|_| !hides_costs);
                Kind::AgentStart(AgentStart { text, usage, ..start.clone() })
            }
            _ => return MaskedEvent::Whole,
        })
    }

    /// Events about what a call was given.
    fn given(&self, kind: &Kind, effects: &EventEffects, run: Option<&RunView>) -> MaskedEvent {
        let is_hidden = |tool: &ToolCallId| self.hides_arguments_of(name(run, tool));
        MaskedEvent::Instead(match kind {
            Kind::ToolArgs { tool, .. } if is_hidden(tool) => {
                if effects.has(LATE) {
                    return MaskedEvent::Trace;
                }
                Kind::ToolArgs { tool: tool.clone(), off: Some(0), text: "".into() }
            }
            // With nothing in them, so that what was told under another name is taken back.
            Kind::ToolCall { tool, name, .. } if is_hidden(tool) => {
                Kind::ToolCall { tool: tool.clone(), name: name.clone(), arguments: Some(String::new()) }
            }
            Kind::ApprovalRequest { tool, .. } if is_hidden(tool) => {
                Kind::ApprovalRequest { tool: tool.clone(), text: None }
            }
            Kind::ApprovalAnswer { tool, approved, .. } if is_hidden(tool) => {
                Kind::ApprovalAnswer { tool: tool.clone(), approved: *approved, text: None }
            }
            _ => return MaskedEvent::Whole,
        })
    }

    /// Events about what a call gave back.
    fn got(&self, kind: &Kind, run: Option<&RunView>) -> MaskedEvent {
        let is_hidden = |tool: &ToolCallId| self.hides_results_of(name(run, tool));
        MaskedEvent::Instead(match kind {
            Kind::ToolOutput { tool, .. } if is_hidden(tool) => {
                Kind::ToolOutput { tool: tool.clone(), off: Some(0), text: "".into() }
            }
            Kind::ToolResult(result) if is_hidden(&result.tool) => {
                let (queued_ms, exec_ms) = (result.queued_ms, result.exec_ms);
                let empty = ToolResult::new(result.tool.clone(), Json::string(""), result.is_error);
                Kind::ToolResult(ToolResult { queued_ms, exec_ms, ..empty })
            }
            Kind::ToolProgress(progress) if is_hidden(&progress.tool) => {
                Kind::ToolProgress(ToolProgress::new(progress.tool.clone()))
            }
            _ => return MaskedEvent::Whole,
        })
    }
}

/// The name of the tool of a call; empty where nobody knows it.
fn name<'a>(run: Option<&'a RunView>, tool: &ToolCallId) -> &'a str {
    run.and_then(|run| run.tools.get(tool)).map_or("", |tool| tool.name.as_str())
}
