//! What of a stretch of events passes through a lens.
//!
//! ```text
//! events, their effects, the view after them
//!    ├─ before the window   nothing, or the snapshot where that changes what is in it
//!    ├─ not seen        nothing, or the run and the agent that the event makes (trace)
//!    ├─ of the run      without its agent, which is not seen
//!    └─ seen            as it is; without deltas, texts come once they are whole (reduced)
//! ```
//!
//! Each event that passes keeps its seq. Holes between them are the viewer's to expect: the frame says which
//! seqs it covers (I2).

use std::sync::Arc;

use super::effects::{
    AGENT, EventEffects, HEARD, LATE, MOVES, REOPENS, RUN, THING, WRITTEN, part_of, tool_of,
};
use super::kinds::{KindFamily, family};
use super::window::{Passage, RunCut, RunShare};
use super::{Lens, Level};
use crate::envelope::Envelope;
use crate::event::{AgentStart, Event, Kind, RunUpdate};
use crate::ids::{PartId, ToolCallId};
use crate::mask::Mask;
use crate::position::Seq;
use crate::view::{Item, RunView, View};

/// Whether, and how, a viewer sees an event.
enum Visibility {
    /// The event is left out.
    No,
    /// The event is passed on, as far as the level allows.
    Yes,
    /// The event is passed on as one of the run's main agent, since its own agent is not seen.
    OfTheRun,
}

impl Lens {
    /// What passes of `events`, a stretch without holes; `effects` are theirs, in the same order, and `now` the view after
    /// them or later. Nothing at all when this cannot be told by events: the viewer needs the snapshot.
    pub fn pass(
        &self,
        events: &[Arc<Envelope>],
        effects: &[(Seq, EventEffects)],
        now: &View,
    ) -> Option<Vec<Arc<Envelope>>> {
        self.pass_below(None, events, effects, now)
    }

    /// As [`Self::pass`], below a mask, which takes contents out of what passes. The mask is applied here, since whether a text is told once it is
    /// whole must not depend on what a hidden one holds.
    pub(crate) fn pass_below(
        &self,
        mask: Option<&Mask>,
        events: &[Arc<Envelope>],
        effects: &[(Seq, EventEffects)],
        now: &View,
    ) -> Option<Vec<Arc<Envelope>>> {
        let mut passing = LensFilter { lens: self, mask, cut: None, out: Vec::new() };
        let mut effects = effects.iter().peekable();
        let plain = EventEffects::default();
        for envelope in events {
            while effects.next_if(|(seq, _)| *seq < envelope.seq).is_some() {}
            let of_event = effects.next_if(|(seq, _)| *seq == envelope.seq).map_or(&plain, |(_, one)| one);
            if of_event.has(REOPENS) || (of_event.has(MOVES) && self.agents.is_some()) {
                return None;
            }
            let found = now.runs.get_full(&envelope.event.run);
            let (share, run) = (self.share(found.map(|found| found.0)), found.map(|found| found.2));
            passing.cut = share.cut();
            match self.window.as_ref().map_or(Passage::Open, |it| it.passage(&envelope.event, &share, now)) {
                Passage::Open => passing.event(envelope, of_event, run),
                Passage::Trace => passing.trace(envelope, of_event, run),
                Passage::No => {}
                Passage::Untold => return None,
            }
        }
        Some(passing.out)
    }

    /// How much of the run at this place among the runs is in the window; `None` is a run that the view does not have.
    pub(super) fn share(&self, place: Option<usize>) -> RunShare<'_> {
        match (&self.window, place) {
            (Some(window), Some(place)) => window.share(place),
            (Some(_), None) => RunShare::Nothing,
            (None, _) => RunShare::Whole,
        }
    }

    /// Whether an ephemeral event passes.
    pub fn passes_ephemeral(&self, envelope: &Envelope, now: &View) -> bool {
        let found = now.runs.get_full(&envelope.event.run);
        let (share, run) = (self.share(found.map(|found| found.0)), found.map(|found| found.2));
        self.has_deltas()
            && !matches!(share, RunShare::Nothing)
            && matches!(self.seen(&envelope.event, run, share.cut()), Visibility::Yes)
    }

    /// How an event is seen. `run` is its run in the view after it, or later, of which `cut` leaves out what is older.
    fn seen(&self, event: &Event, run: Option<&RunView>, cut: Option<&RunCut>) -> Visibility {
        let family = family(&event.kind);
        if !self.wants_kind(family) {
            return Visibility::No;
        }
        let is_seen = match family {
            Some(KindFamily::Message | KindFamily::Status | KindFamily::Anomaly | KindFamily::Rate) => true,
            Some(KindFamily::Error) => {
                let is_seen = run.is_some_and(|run| self.sees(run, event.agent.as_ref()));
                return if is_seen { Visibility::Yes } else { Visibility::OfTheRun };
            }
            Some(KindFamily::Custom | KindFamily::Raw) => {
                run.is_some_and(|run| self.sees(run, event.agent.as_ref()))
            }
            // The agent of a text or call is the one that began it.
            Some(KindFamily::Part) => run.is_some_and(|run| {
                let part = part_of(&event.kind).and_then(|id| run.parts.get_full(id));
                part.is_some_and(|(place, id, part)| {
                    self.sees(run, part.agent.as_ref()) && cut.is_none_or(|cut| cut.has_part(place, id))
                })
            }),
            Some(KindFamily::Tool) => run.is_some_and(|run| {
                let tool = tool_of(&event.kind).and_then(|id| run.tools.get_full(id));
                tool.is_some_and(|(place, id, tool)| {
                    self.sees(run, tool.agent.as_ref()) && cut.is_none_or(|cut| cut.has_tool(place, id))
                })
            }),
            // The run's tokens are seen, whoever used them.
            None if matches!(event.kind, Kind::RunUpdate(_)) => {
                let agent = event.agent.as_ref();
                let is_seen = agent.is_none() || run.is_some_and(|run| self.sees(run, agent));
                return if is_seen { Visibility::Yes } else { Visibility::OfTheRun };
            }
            None => {
                event.agent.is_none()
                    || !matches!(event.kind, Kind::AgentStart(_) | Kind::AgentEnd(_))
                    || run.is_some_and(|run| self.sees(run, event.agent.as_ref()))
            }
        };
        if is_seen { Visibility::Yes } else { Visibility::No }
    }
}

/// Passes events on, one after the other, as they are seen.
struct LensFilter<'a> {
    /// The lens of the viewer.
    lens: &'a Lens,
    /// The mask of the viewer's role, if there is one.
    mask: Option<&'a Mask>,
    /// What is left out of the run of the event at hand, if it begins before the window.
    cut: Option<&'a RunCut>,
    /// The events that have passed so far.
    out: Vec<Arc<Envelope>>,
}

impl LensFilter<'_> {
    /// Passes one event on, changes it, or leaves it out.
    fn event(&mut self, envelope: &Arc<Envelope>, effects: &EventEffects, run: Option<&RunView>) {
        match self.lens.seen(&envelope.event, run, self.cut) {
            Visibility::No => self.trace(envelope, effects, run),
            Visibility::OfTheRun => {
                let mut envelope = Envelope::clone(envelope);
                envelope.event.agent = None;
                self.out.push(Arc::new(envelope));
            }
            Visibility::Yes if matches!(envelope.event.kind, Kind::AgentStart(_)) => {
                self.agent(envelope, run);
            }
            Visibility::Yes if self.lens.level == Level::Deltas => self.out.push(Arc::clone(envelope)),
            Visibility::Yes => self.reduced(envelope, effects, run),
        }
    }

    /// A sub-agent begins. How deep it stands is said by those above it, who may not be seen; its task is left out where it began before
    /// the window.
    fn agent(&mut self, envelope: &Arc<Envelope>, run: Option<&RunView>) {
        let known = envelope.event.agent.as_ref().and_then(|id| run?.agents.get_full(id));
        let (Kind::AgentStart(start), Some((place, id, known))) = (&envelope.event.kind, known) else {
            return self.out.push(Arc::clone(envelope));
        };
        let has_task = self.cut.is_none_or(|cut| cut.has_agent(place, id));
        if has_task && self.lens.agents.is_none() {
            return self.out.push(Arc::clone(envelope));
        }
        let depth = if self.lens.agents.is_some() { Some(known.depth) } else { start.depth };
        let text = start.text.clone().filter(|_| has_task);
        self.add(envelope, Kind::AgentStart(AgentStart { depth, text, ..start.clone() }));
    }

    /// What an event that is not seen leaves behind: the run and the agent that it makes.
    fn trace(&mut self, envelope: &Envelope, effects: &EventEffects, run: Option<&RunView>) {
        let sees_agent = || run.is_some_and(|run| self.lens.sees(run, envelope.event.agent.as_ref()));
        if effects.has(AGENT) && sees_agent() {
            self.add(envelope, Kind::AgentStart(AgentStart::default()));
        } else if effects.has(RUN) || effects.has(HEARD) {
            self.add(envelope, Kind::RunUpdate(RunUpdate::default()));
        }
    }

    /// Adds an event in the place of `envelope`.
    fn add(&mut self, envelope: &Envelope, kind: Kind) {
        let event = Event { kind, ..envelope.event.clone() };
        self.out.push(Arc::new(Envelope { event, ..envelope.clone() }));
    }

    /// Passes an event on at a level without deltas.
    fn reduced(&mut self, envelope: &Arc<Envelope>, effects: &EventEffects, run: Option<&RunView>) {
        let whole = self.lens.level == Level::Parts;
        let is_late = whole && effects.has(LATE);
        match &envelope.event.kind {
            Kind::PartDelta { part, .. } if is_late => self.part(envelope, run, part, true),
            Kind::PartReplace { part, .. } if is_late => self.part(envelope, run, part, true),
            Kind::PartDelta { part, .. } if effects.has(THING) => {
                self.add(envelope, Kind::PartDelta { part: part.clone(), off: Some(0), text: "".into() });
            }
            Kind::PartReplace { part, .. } => {
                self.add(envelope, Kind::PartReplace { part: part.clone(), text: String::new() });
            }
            Kind::PartEnd(end) => {
                if whole {
                    self.part(envelope, run, &end.part, false);
                }
                self.out.push(Arc::clone(envelope));
            }
            Kind::ToolArgs { tool, .. } if is_late => self.arguments(envelope, run, tool, None),
            Kind::ToolArgs { tool, .. } if effects.has(THING) => {
                self.add(envelope, Kind::ToolArgs { tool: tool.clone(), off: Some(0), text: "".into() });
            }
            Kind::ToolOutput { tool, .. } if effects.has(THING) => {
                self.written(envelope, effects, run, tool);
                self.add(envelope, Kind::ToolOutput { tool: tool.clone(), off: Some(0), text: "".into() });
            }
            Kind::PartDelta { .. } | Kind::ToolArgs { .. } | Kind::ToolOutput { .. } => {
                self.trace(envelope, effects, run);
            }
            Kind::ToolCall { tool, name, .. } => {
                if whole {
                    self.arguments(envelope, run, tool, name.as_ref());
                } else {
                    let kind = Kind::ToolCall { tool: tool.clone(), name: name.clone(), arguments: None };
                    self.add(envelope, kind);
                }
            }
            Kind::RunEnd(_) => {
                if whole {
                    self.closed(envelope, effects, run);
                }
                self.out.push(Arc::clone(envelope));
            }
            kind => {
                if let Some(tool) = tool_of(kind) {
                    self.written(envelope, effects, run, tool);
                }
                self.out.push(Arc::clone(envelope));
            }
        }
    }

    /// The text of a part as it stands now.
    fn part(&mut self, envelope: &Envelope, run: Option<&RunView>, id: &PartId, even_empty: bool) {
        let part = run.and_then(|run| run.parts.get(id));
        let is_hidden = self.mask.is_some_and(|mask| mask.hides_part(part));
        let text = part.map(|part| if is_hidden { "" } else { part.body.text.as_str() });
        if let Some(text) = text.filter(|text| even_empty || !text.is_empty()) {
            self.add(envelope, Kind::PartReplace { part: id.clone(), text: text.to_owned() });
        }
    }

    /// The arguments of a call as they stand now, and that they are whole.
    fn arguments(
        &mut self,
        envelope: &Envelope,
        run: Option<&RunView>,
        id: &ToolCallId,
        name: Option<&compact_str::CompactString>,
    ) {
        let arguments = run.and_then(|run| run.tools.get(id)).map(|tool| tool.arguments.text.to_string());
        self.add(envelope, Kind::ToolCall { tool: id.clone(), name: name.cloned(), arguments });
    }

    /// The arguments of a call of which `envelope` says by the way that they are whole.
    fn written(
        &mut self,
        envelope: &Envelope,
        effects: &EventEffects,
        run: Option<&RunView>,
        id: &ToolCallId,
    ) {
        if self.lens.level == Level::Parts && effects.has(WRITTEN) {
            self.arguments(envelope, run, id, None);
        }
    }

    /// The texts that the end of a run makes whole.
    fn closed(&mut self, envelope: &Envelope, effects: &EventEffects, run: Option<&RunView>) {
        let Some(run) = run else { return };
        let cut = self.cut;
        for item in effects.closes.iter().filter(|item| self.lens.sees_item(run, cut, item)) {
            match item {
                Item::Part(id) => self.part(envelope, Some(run), id, false),
                Item::Tool(id) => {
                    let text = run.tools.get(id).map(|tool| tool.arguments.text.as_str()).unwrap_or_default();
                    // A call that the run's end cuts off was never written, so this is no `tool.call`.
                    self.add(envelope, Kind::ToolArgs { tool: id.clone(), off: Some(0), text: text.into() });
                }
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
    }
}
