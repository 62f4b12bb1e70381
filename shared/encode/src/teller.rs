//! Makes facts from events: folds each event and passes on what is new, so that encoders never get a second
//! start, text that they have had, or an end while something is open.
//!
//! The state of what the event is about is noted before the fold and compared with that after it; the
//! difference is the facts. An error is held back for one event of its run: if the run ends with it, it is
//! part of the end, otherwise it is a fact of its own. After the end of a run only results of its calls are
//! passed on.

use super::{Encode, Fact, FactContext, PartStep, ToolStep};
use model::envelope::Envelope;
use model::event::{ErrorFact, Event, Kind, RunStatus, ToolState};
use model::flow::is_bookkeeping;
use model::fold::fold;
use model::ids::{AgentId, RunId};
use model::json::Json;
use model::text::SharedText;
use model::view::{Item, RunView, Streamed, ToolView, View};

/// A dialect, which writes facts. It owns the state of one stream; facts come in the order that [`Fact`]
/// guarantees.
pub(crate) trait FactSink: std::fmt::Debug + Send {
    /// Writes `fact`, if the dialect can express it.
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>);

    /// Writes the end of the stream, after the last fact.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// An encoder that passes facts to a [`FactSink`]. It keeps a view of the conversation, in which the texts of
/// runs that are over are removed.
#[derive(Debug)]
pub(crate) struct FactEncoder<T> {
    /// What the events so far fold to.
    view: View,
    /// The sink of the facts: the encoder of the dialect.
    tell: T,
    /// The last failure. The next event decides whether it ended its run.
    held: Option<HeldError>,
}

/// A failure of which it is not known yet whether it ends its run.
#[derive(Debug)]
struct HeldError {
    run: RunId,
    agent: Option<AgentId>,
    error: ErrorFact,
    at: u64,
}

impl<T: FactSink> FactEncoder<T> {
    /// An encoder around `tell`.
    pub(crate) fn new(tell: T) -> Self {
        Self { view: View::default(), tell, held: None }
    }

    /// The dialect, with its state.
    pub(super) fn into_inner(self) -> T {
        self.tell
    }
}

impl<T: FactSink> Encode for FactEncoder<T> {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let event = &envelope.event;
        let before = StateBefore::of(&self.view, event);
        fold(&mut self.view, envelope, &mut |_change| {});
        let at = envelope.producer_at.unwrap_or(envelope.at);
        let nowhere = RunView::default();
        if let Kind::Message(message) = &event.kind {
            let scene = FactContext { run_id: &event.run, run: &nowhere, agent: None, at };
            return self.tell.fact(&scene, Fact::Message(message), out);
        }
        if event.kind.is_of_conversation() || matches!(event.kind, Kind::Rate { .. }) {
            return;
        }
        let Some(run) = self.view.runs.get(&event.run) else { return };
        let scene = FactContext { run_id: &event.run, run, agent: event.agent.as_ref(), at };
        let is_end_by_failure = matches!(event.kind, Kind::RunEnd(_)) && run.status == RunStatus::Error;
        if let Some(held) = self.held.take_if(|held| held.run == event.run)
            && !is_end_by_failure
        {
            held.tell(run, &mut self.tell, out);
        }
        if let Kind::Error(error) = &event.kind {
            let (run, agent, error) = (event.run.clone(), event.agent.clone(), error.clone());
            let other = self.held.replace(HeldError { run, agent, error, at });
            if let Some(other) = other
                && let Some(run) = self.view.runs.get(&other.run)
            {
                other.tell(run, &mut self.tell, out);
            }
        }
        let is_live = run.is_running() || before.is_running || !before.has_run;
        before.tell(&scene, event, &mut |scene, fact| {
            // Clients accept nothing else after the end of its run.
            if is_live || matches!(fact, Fact::Tool(_, _, ToolStep::Result { .. })) {
                self.tell.fact(scene, fact, out);
            }
        });
        let is_over = !run.is_running() && matches!(event.kind, Kind::RunEnd(_) | Kind::ToolResult(_));
        if let Some(run) = self.view.runs.get_mut(&event.run).filter(|_| is_over) {
            forget_texts(run);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(held) = self.held.take()
            && let Some(run) = self.view.runs.get(&held.run)
        {
            held.tell(run, &mut self.tell, out);
        }
        self.tell.end(out);
    }
}

impl HeldError {
    /// Passes the failure on, unless the run has ended with it.
    fn tell<T: FactSink>(&self, run: &RunView, tell: &mut T, out: &mut Vec<u8>) {
        if !run.is_running() && run.status == RunStatus::Error {
            return;
        }
        let scene = FactContext { run_id: &self.run, run, agent: self.agent.as_ref(), at: self.at };
        tell.fact(&scene, Fact::Error(&self.error), out);
    }
}

/// Removes the texts of a run that is over: only its ids are needed any more, and a conversation of many runs
/// must not be in memory for each reader.
fn forget_texts(run: &mut RunView) {
    for part in run.parts.values_mut() {
        part.body.text = SharedText::default();
    }
    for tool in run.tools.values_mut() {
        // A call that the caller executes gets its result later, and some dialects repeat the arguments with
        // it.
        if tool.state.is_final() {
            tool.arguments.text = SharedText::default();
        }
        tool.output.text = SharedText::default();
        tool.result = None;
    }
}

/// The state before an event.
struct StateBefore<'a> {
    /// The run was known.
    has_run: bool,
    /// The run was open.
    is_running: bool,
    /// Whether the agent of the event had ended; nothing if it was unknown.
    agent: Option<bool>,
    /// Whether the part of the event had ended; nothing if it was unknown.
    part: Option<bool>,
    /// The call of the event; nothing if it was unknown.
    tool: Option<ToolStateBefore>,
    /// The part of the event's text that is new; for a text that replaces another, what it adds to that.
    fresh: Option<&'a str>,
    /// What was open, in order; only filled for the end of a run.
    open: Vec<Item>,
}

/// A call before an event.
struct ToolStateBefore {
    /// The start of the call was passed on.
    is_told: bool,
    state: ToolState,
    /// The arguments of the call were final.
    is_called: bool,
}

impl<'a> StateBefore<'a> {
    /// The state in `view` of what `event` is about.
    fn of(view: &View, event: &'a Event) -> Self {
        let run = view.runs.get(&event.run);
        let agent = run.and_then(|run| event.agent.as_ref().and_then(|agent| run.agents.get(agent)));
        let part = run.and_then(|run| part_of(&event.kind).and_then(|part| run.parts.get(part)));
        let tool = run.and_then(|run| tool_of(&event.kind).and_then(|tool| run.tools.get(tool)));
        let is_running = run.is_some_and(RunView::is_running);
        let nothing = Streamed::default();
        let fresh = match &event.kind {
            Kind::PartDelta { off, text, .. } => {
                Some(part.map_or(&nothing, |part| &part.body).fresh(*off, text))
            }
            Kind::ToolArgs { off, text, .. } => {
                Some(tool.map_or(&nothing, |tool| &tool.arguments).fresh(*off, text))
            }
            Kind::ToolOutput { off, text, .. } => {
                Some(tool.map_or(&nothing, |tool| &tool.output).fresh(*off, text))
            }
            Kind::PartReplace { text, .. } if is_running || part.is_none() => {
                text.strip_prefix(part.map_or("", |part| &part.body.text))
            }
            Kind::ToolCall { arguments: Some(text), .. } => {
                text.strip_prefix(tool.map_or("", |tool| &tool.arguments.text))
            }
            _ => None,
        };
        let open = match (&event.kind, run) {
            (Kind::RunEnd(_), Some(run)) => {
                run.items.iter().filter(|item| run.open.contains(*item)).cloned().collect()
            }
            _ => Vec::new(),
        };
        Self {
            has_run: run.is_some(),
            is_running,
            agent: agent.map(|agent| agent.ended_at.is_some()),
            part: part.map(|part| part.ended_at.is_some()),
            tool: tool.map(ToolStateBefore::of),
            fresh,
            open,
        }
    }

    /// Passes on what `event` changed.
    fn tell(&self, scene: &FactContext<'_>, event: &Event, tell: &mut dyn FnMut(&FactContext<'_>, Fact<'_>)) {
        let run = scene.run;
        if matches!(event.kind, Kind::RunEnd(_)) && self.has_run {
            if self.is_running {
                self.tell_end(scene, tell);
            }
            return;
        }
        let say = &mut |fact: Fact<'_>| tell(scene, fact);
        if !self.has_run || (!self.is_running && matches!(event.kind, Kind::RunStart(_))) {
            say(Fact::RunStart);
        }
        if let Some(id) = scene.agent.filter(|_| self.agent.is_none())
            && let Some(agent) = run.agents.get(id)
        {
            say(Fact::AgentStart(id, agent));
        }
        match &event.kind {
            Kind::RunUpdate(_) => say(Fact::RunUpdate),
            Kind::RunEnd(_) => say(Fact::RunEnd),
            // A second end, which brings the usage, is left out.
            Kind::AgentEnd(_) if self.agent == Some(true) => {}
            Kind::AgentEnd(_) => {
                if let Some((id, agent)) = scene.agent.and_then(|id| run.agents.get_key_value(id)) {
                    say(Fact::AgentEnd(id, agent));
                }
            }
            Kind::Status { text } => say(Fact::Status(text)),
            // An error is passed on when it is known that the run goes on.
            Kind::Error(_) => {}
            // The hub's own bookkeeping is not for readers.
            Kind::Custom { name, .. } if is_bookkeeping(name) => {}
            Kind::Custom { name, value } => say(Fact::Custom(name, value)),
            Kind::Raw { name, value } => say(Fact::Raw(name, value)),
            Kind::Unknown(unknown) => say(Fact::Raw(&unknown.k, &Json::of(&unknown.fields))),
            kind => {
                self.tell_part(scene, kind, say);
                self.tell_tool(scene, kind, say);
            }
        }
    }

    /// Passes on what an event changed in a part.
    fn tell_part(&self, scene: &FactContext<'_>, kind: &Kind, say: &mut dyn FnMut(Fact<'_>)) {
        let Some((id, part)) = part_of(kind).and_then(|id| scene.run.parts.get_key_value(id)) else { return };
        if self.part.is_none() {
            say(Fact::Part(id, part, PartStep::Start));
        }
        match (kind, self.fresh) {
            (Kind::PartReplace { .. }, None) => say(Fact::Part(id, part, PartStep::Replaced)),
            (_, Some(text)) if !text.is_empty() => say(Fact::Part(id, part, PartStep::Delta(text))),
            (Kind::PartEnd(_), _) if self.part != Some(true) => say(Fact::Part(id, part, PartStep::End)),
            _ => {}
        }
    }

    /// Passes on what an event changed in a call, in the order of [`ToolStep`].
    fn tell_tool(&self, scene: &FactContext<'_>, kind: &Kind, say: &mut dyn FnMut(Fact<'_>)) {
        let Some((id, tool)) = tool_of(kind).and_then(|id| scene.run.tools.get_key_value(id)) else { return };
        let mut say = |step| say(Fact::Tool(id, tool, step));
        let before = self.tool.as_ref();
        let was_told = before.is_some_and(|tool| tool.is_told);
        let was_called = before.is_some_and(|tool| tool.is_called);
        let state = before.map_or(ToolState::Writing, |tool| tool.state);
        if is_told(tool) && !was_told {
            say(ToolStep::Start);
            if !tool.arguments.text.is_empty() {
                say(ToolStep::Args(&tool.arguments.text));
            }
        }
        let writes = matches!(kind, Kind::ToolArgs { .. } | Kind::ToolCall { .. });
        if let Some(text) = self.fresh.filter(|text| writes && was_told && !was_called && !text.is_empty()) {
            say(ToolStep::Args(text));
        }
        if tool.pending_at.is_some() && !was_called {
            say(ToolStep::Called);
        }
        let became = |wanted| tool.state == wanted && state != wanted;
        if became(ToolState::Approval) {
            say(ToolStep::Asked);
        }
        if let Kind::ApprovalAnswer { approved, text, .. } = kind {
            say(ToolStep::Answered(*approved, text.as_deref()));
        }
        if became(ToolState::Executing) {
            say(ToolStep::Executing);
        }
        match (kind, self.fresh) {
            (Kind::ToolProgress(progress), _) => say(ToolStep::Progress(progress)),
            (Kind::ToolOutput { .. }, Some(text)) if !text.is_empty() => say(ToolStep::Output(text)),
            (Kind::ToolResult(_), _) => {
                let again = state.is_final() && !matches!(state, ToolState::Interrupted);
                say(ToolStep::Result { again });
            }
            _ if tool.state.is_final() && !state.is_final() => say(ToolStep::Closed),
            _ => {}
        }
    }

    /// Passes on the end of the run, and before it the end of all that the run has left open, each as a fact
    /// of its own agent.
    fn tell_end(&self, scene: &FactContext<'_>, say: &mut dyn FnMut(&FactContext<'_>, Fact<'_>)) {
        let run = scene.run;
        let closed = || self.open.iter().filter(|item| !run.open.contains(*item));
        for item in closed() {
            match item {
                Item::Part(id) => {
                    if let Some(part) = run.parts.get(id) {
                        let scene = FactContext { agent: part.agent.as_ref(), ..*scene };
                        say(&scene, Fact::Part(id, part, PartStep::End));
                    }
                }
                // A call without a name was not passed on.
                Item::Tool(id) => {
                    if let Some(tool) = run.tools.get(id).filter(|tool| !tool.name.is_empty()) {
                        let scene = FactContext { agent: tool.agent.as_ref(), ..*scene };
                        say(&scene, Fact::Tool(id, tool, ToolStep::Closed));
                    }
                }
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
        for item in closed().collect::<Vec<_>>().into_iter().rev() {
            if let Item::Agent(id) = item
                && let Some(agent) = run.agents.get(id)
            {
                say(&FactContext { agent: Some(id), ..*scene }, Fact::AgentEnd(id, agent));
            }
        }
        say(scene, Fact::RunEnd);
    }
}

impl ToolStateBefore {
    /// The state of a call.
    fn of(tool: &ToolView) -> Self {
        Self { is_told: is_told(tool), state: tool.state, is_called: tool.pending_at.is_some() }
    }
}

/// Whether a call is passed on: as soon as its name is known, at the latest when it is written.
fn is_told(tool: &ToolView) -> bool {
    !tool.name.is_empty() || tool.state > ToolState::Writing
}

/// The part that an event is about; nothing for other events.
fn part_of(kind: &Kind) -> Option<&model::PartId> {
    match kind {
        Kind::PartStart { part, .. } | Kind::PartDelta { part, .. } | Kind::PartReplace { part, .. } => {
            Some(part)
        }
        Kind::PartEnd(end) => Some(&end.part),
        _ => None,
    }
}

/// The call that an event is about; nothing for other events.
fn tool_of(kind: &Kind) -> Option<&model::ToolCallId> {
    match kind {
        Kind::ToolStart(start) => Some(&start.tool),
        Kind::ToolArgs { tool, .. } | Kind::ToolCall { tool, .. } | Kind::ToolOutput { tool, .. } => {
            Some(tool)
        }
        Kind::ToolState(change) => Some(&change.tool),
        Kind::ToolResult(result) => Some(&result.tool),
        Kind::ToolProgress(progress) => Some(&progress.tool),
        Kind::ApprovalRequest { tool, .. } | Kind::ApprovalAnswer { tool, .. } => Some(tool),
        _ => None,
    }
}
