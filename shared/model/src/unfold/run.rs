//! One run: its start, its items in their order, its end, and what came after that.

use std::collections::HashMap;

use super::text::deltas;
use super::{UnfoldedEvents, tool};
use crate::event::{
    AgentEnd, AgentStart, Kind, PUBLISHER_LOST, PartEnd, RunEnd, RunStart, RunStatus, RunUpdate, ToolState,
};
use crate::ids::{AgentId, PartId, RunId, ToolCallId};
use crate::view::{AgentView, Item, NoteBody, PartView, RunView, ToolView};

/// Tells a run bit by bit. The caller says how far ([`Self::go_on_to`]), since messages stand between the
/// items of a run.
#[derive(Debug)]
pub(super) struct RunUnfolder<'a> {
    /// The run that is told.
    pub(super) id: &'a RunId,
    /// How it stands; before its loss, if it was lost.
    run: &'a RunView,
    /// The index of the next item to write.
    next: usize,
    /// The item before which the run has ended; all of them when it goes on, or nothing came after its end.
    end: usize,
    /// Whether its end is told and not taken back.
    has_ended: bool,
    /// Whether everything is told.
    is_finished: bool,
    /// Agents by the last item that is theirs.
    last: HashMap<usize, Vec<&'a AgentId>>,
    /// Calls that the end of the run closes.
    closed: Vec<&'a ToolCallId>,
    /// The last failure of a run that has gone on since.
    forgiven: Option<usize>,
    /// When its publisher was given up, when nobody has come back since. The run is told as it was before.
    lost_at: Option<u64>,
    /// The note of that.
    lost: Option<usize>,
}

impl<'a> RunUnfolder<'a> {
    /// Nothing is told yet. `lost_at` is when the run was ended because nobody published to it any more.
    pub(super) fn new(id: &'a RunId, run: &'a RunView, lost_at: Option<u64>) -> Self {
        let items = run.items.len();
        let came_late = |item: &Item| run.open.contains(item) && is_late(run, item);
        let end = run.items.iter().position(came_late).filter(|_| !run.is_running()).unwrap_or(items);
        let failure = |of_loss: bool| {
            run.items.iter().rposition(|item| {
                let note = if let Item::Note(number) = item { run.notes.get(*number) } else { None };
                note.is_some_and(|note| match &note.body {
                    NoteBody::Error(error) => (error.code == PUBLISHER_LOST) == of_loss,
                    _ => false,
                })
            })
        };
        let forgiven = if run.error.is_none() { failure(false) } else { None };
        let lost = lost_at.and_then(|_| failure(true));
        let last = last_items(run);
        Self {
            id,
            run,
            next: 0,
            end,
            has_ended: false,
            is_finished: false,
            last,
            closed: Vec::new(),
            forgiven,
            lost_at,
            lost,
        }
    }

    /// Tells the start of the run.
    pub(super) fn start(&self, out: &mut UnfoldedEvents) {
        let RunView { model, dialect, title, name, host, .. } = self.run;
        let (model, dialect, host) = (model.clone(), dialect.clone(), host.clone());
        let start = RunStart { model, dialect, title: title.clone(), name: name.clone(), host };
        out.push(self.id, None, self.run.started_at, Kind::RunStart(start));
        if let Some(begun) = out.envelopes.last_mut() {
            begun.by_hub = self.run.own;
        }
    }

    /// Tells the items before `items`.
    pub(super) fn go_on_to(&mut self, items: usize, out: &mut UnfoldedEvents) {
        while self.next < items.min(self.run.items.len()) {
            if self.next == self.end {
                self.end(out);
            }
            let place = self.next;
            self.next = place.saturating_add(1);
            if let Some(item) = self.run.items.get(place) {
                self.item(place, item, out);
            }
        }
    }

    /// Tells what stands above a message between runs: all of a run that is over, the items of one that goes on.
    pub(super) fn finish_before_message(&mut self, out: &mut UnfoldedEvents) {
        if self.run.is_running() {
            self.go_on_to(usize::MAX, out);
        } else {
            self.finish(out);
        }
    }

    /// Tells all the rest of a run that is over, and nothing of one that goes on.
    pub(super) fn finish_if_over(&mut self, out: &mut UnfoldedEvents) {
        if !self.run.is_running() {
            self.finish(out);
        }
    }

    /// Tells all the rest.
    pub(super) fn finish(&mut self, out: &mut UnfoldedEvents) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.go_on_to(usize::MAX, out);
        let run = self.run;
        if run.is_running() {
            let (finish_reason, usage) = (run.finish_reason.clone(), run.usage);
            if finish_reason.is_some() || usage.is_some() {
                let update = RunUpdate { finish_reason, usage, ..RunUpdate::default() };
                out.push(self.id, None, run.started_at, Kind::RunUpdate(update));
            }
        } else {
            self.end(out);
        }
        for id in std::mem::take(&mut self.closed) {
            if let Some(tool) = run.tools.get(id) {
                tool::tell_late(self.id, id, tool, out);
            }
        }
        for (id, agent) in run.agents.iter().filter(|(id, _)| run.open.contains(&Item::Agent((*id).clone())))
        {
            if self.has_ended {
                self.start_agent(id, agent, out);
            }
        }
        for (id, tool) in &run.tools {
            if run.open.contains(&Item::Tool(id.clone())) {
                tool::go_on(self.id, id, tool, out);
            }
        }
        if let Some(text) = &run.activity {
            let at = run.activity_at.or(run.ended_at).unwrap_or(run.started_at);
            out.push(self.id, None, at, Kind::Status { text: text.clone() });
        }
        if run.late && run.activity.is_none() {
            // Says nothing, but too late.
            let nothing = Kind::AgentEnd(AgentEnd::of(RunStatus::Running));
            out.push(self.id, None, run.started_at, nothing);
        }
    }

    /// Tells that nobody speaks for the run any more.
    pub(super) fn lose(&self, out: &mut UnfoldedEvents) {
        if let Some(since) = self.run.stalled_at {
            out.push(self.id, None, since, Kind::RunStalled { since });
        }
        if let Some(at) = self.lost_at {
            self.end_by_loss(at, out);
        }
    }

    /// Tells that the run was ended because its publisher was lost.
    fn end_by_loss(&self, at: u64, out: &mut UnfoldedEvents) {
        let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
        out.push(self.id, None, at, Kind::RunEnd(end));
    }

    /// Tells the end of the run, once; nothing of one that goes on.
    fn end(&mut self, out: &mut UnfoldedEvents) {
        let run = self.run;
        if run.is_running() || std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let (finish_reason, usage) = (run.finish_reason.clone(), run.usage);
        let end = RunEnd { status: run.status, finish_reason, usage, lost: false };
        out.push(self.id, None, run.ended_at.unwrap_or(run.started_at), Kind::RunEnd(end));
    }

    /// The run had ended here with `status`, before its last end if it has one. It `goes_on` when more came then.
    fn end_once(&mut self, status: RunStatus, at: u64, goes_on: bool, out: &mut UnfoldedEvents) {
        let end = RunEnd { status, ..RunEnd::default() };
        out.push(self.id, None, at, Kind::RunEnd(end));
        if goes_on {
            out.push(self.id, None, at, Kind::RunStart(RunStart::default()));
        }
        self.has_ended = self.run.is_running();
    }

    /// Tells the item at `place`, and the ends of the agents whose last item it is.
    fn item(&mut self, place: usize, item: &'a Item, out: &mut UnfoldedEvents) {
        let run = self.run;
        match item {
            Item::Part(id) => {
                if let Some(part) = run.parts.get(id) {
                    self.part(id, part, out);
                }
            }
            Item::Tool(id) => {
                if let Some(call) = run.tools.get(id) {
                    let with_run = self.ends_with_run(call);
                    tool::tell(self.id, id, call, with_run, out);
                    if with_run {
                        self.closed.push(id);
                    }
                    if !with_run && call.pending_at.is_none() && call.state.is_final() {
                        let is_cancelled = call.state == ToolState::Cancelled;
                        let status = if is_cancelled { RunStatus::Cancelled } else { RunStatus::Complete };
                        let goes_on = run.is_running() || !run.late || self.next < run.items.len();
                        self.end_once(status, call.ended_at.unwrap_or(call.started_at), goes_on, out);
                        tool::tell_late(self.id, id, call, out);
                    }
                }
            }
            Item::Agent(id) => {
                if let Some(agent) = run.agents.get(id) {
                    self.start_agent(id, agent, out);
                }
            }
            Item::Note(number) => {
                let Some(note) = run.notes.get(*number) else { return };
                let is_loss = matches!(&note.body, NoteBody::Error(error) if error.code == PUBLISHER_LOST);
                let kind = match &note.body {
                    NoteBody::Error(error) => Kind::Error(error.clone()),
                    NoteBody::Custom { name, value } => {
                        Kind::Custom { name: name.clone(), value: value.clone() }
                    }
                    NoteBody::Raw { name, value } => Kind::Raw { name: name.clone(), value: value.clone() },
                };
                out.push(self.id, note.agent.as_ref(), note.at, kind);
                if is_loss && self.lost != Some(place) {
                    // Somebody has come back since: what was open then is open again.
                    self.end_by_loss(note.at, out);
                    out.push(self.id, None, note.at, Kind::RunStart(RunStart::default()));
                }
                if self.forgiven == Some(place) {
                    self.end_once(RunStatus::Complete, note.at, true, out);
                }
            }
        }
        for id in self.last.remove(&place).unwrap_or_default() {
            self.end_agent(id, out);
        }
    }

    /// Tells a part: its start, its text, and its end if it has one.
    fn part(&self, id: &PartId, part: &PartView, out: &mut UnfoldedEvents) {
        let agent = part.agent.as_ref();
        out.push(self.id, agent, part.started_at, Kind::PartStart { part: id.clone(), kind: part.kind });
        for (off, text) in deltas(&part.body) {
            let delta = Kind::PartDelta { part: id.clone(), off: Some(off), text };
            out.push(self.id, agent, part.started_at, delta);
        }
        let Some(at) = part.ended_at else { return };
        let signature = part.signature.clone();
        let (part, duration_ms, hidden, late) = (id.clone(), part.duration_ms, part.hidden, part.body.late);
        let end = PartEnd { part: part.clone(), len: None, hash: None, duration_ms, hidden, signature };
        out.push(self.id, agent, at, Kind::PartEnd(end));
        if late {
            let text = compact_str::CompactString::default();
            out.push(self.id, agent, at, Kind::PartDelta { part, off: None, text });
        }
    }

    /// Tells the start of a sub-agent.
    fn start_agent(&self, id: &AgentId, agent: &AgentView, out: &mut UnfoldedEvents) {
        let start = AgentStart {
            name: agent.name.clone(),
            parent: agent.parent.clone(),
            depth: Some(agent.depth),
            tool: agent.tool.clone(),
            text: agent.task.clone(),
            model: agent.model.clone(),
            usage: agent.usage,
        };
        out.push(self.id, Some(id), agent.started_at, Kind::AgentStart(start));
    }

    /// Tells the end of a sub-agent, unless it goes on.
    fn end_agent(&self, id: &AgentId, out: &mut UnfoldedEvents) {
        let Some(agent) = self.run.agents.get(id) else { return };
        let Some(at) = agent.ended_at.filter(|_| !self.run.open.contains(&Item::Agent(id.clone()))) else {
            return;
        };
        out.push(self.id, Some(id), at, Kind::AgentEnd(AgentEnd::of(agent.status)));
    }

    /// Whether the end of the run is what closed `tool`, and will do so again.
    fn ends_with_run(&self, tool: &ToolView) -> bool {
        let closes = match self.run.status {
            RunStatus::Running => false,
            RunStatus::Complete => {
                tool.state == ToolState::Interrupted
                    && (tool.pending_at.is_none() || tool.executing_at.is_some())
            }
            RunStatus::Cancelled => tool.state == ToolState::Cancelled && !tool.rejected,
            RunStatus::Error | RunStatus::Interrupted => tool.state == ToolState::Interrupted,
        };
        closes && self.run.ended_at == tool.ended_at && !self.has_ended
    }
}

/// Whether an open item can only have come after the end of its run, which would have closed it.
fn is_late(run: &RunView, item: &Item) -> bool {
    match item {
        Item::Part(_) => true,
        Item::Tool(id) => {
            let state = run.tools.get(id).map(|tool| tool.state);
            run.status != RunStatus::Complete || state == Some(ToolState::Writing)
        }
        // Begun again after the end.
        Item::Agent(_) | Item::Note(_) => false,
    }
}

/// For each agent the last item that it has a part in, by the place of the item.
fn last_items(run: &RunView) -> HashMap<usize, Vec<&AgentId>> {
    let mut last: HashMap<&AgentId, usize> = HashMap::new();
    for (place, item) in run.items.iter().enumerate() {
        let agent = match item {
            Item::Part(id) => run.parts.get(id).and_then(|part| part.agent.as_ref()),
            Item::Tool(id) => run.tools.get(id).and_then(|tool| tool.agent.as_ref()),
            Item::Note(number) => run.notes.get(*number).and_then(|note| note.agent.as_ref()),
            Item::Agent(id) => Some(id),
        };
        // An agent is at work as long as those that it has called are.
        let mut above = agent;
        for _ in 0..=run.agents.len().min(64) {
            let Some((id, agent)) = above.and_then(|id| run.agents.get_key_value(id)) else { break };
            last.insert(id, place);
            above = agent.parent.as_ref();
        }
    }
    let mut by_place: HashMap<usize, Vec<&AgentId>> = HashMap::new();
    // Children stand behind their parents and end before them.
    for id in run.agents.keys().rev() {
        if let Some(place) = last.get(id) {
            by_place.entry(*place).or_default().push(id);
        }
    }
    by_place
}
