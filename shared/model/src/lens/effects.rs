//! What an event does beyond what it says, so that a lens can leave the rest of it out. It takes the view as it was
//! before the event, which only the hub has, and only for that moment: it keeps the effects beside the events. Most
//! events have none.

use crate::event::{Class, Event, Kind, RunEnd, RunUpdate, ToolState};
use crate::ids::{PartId, ToolCallId};
use crate::view::{Item, RunView, ToolView, View};

/// Flag: the event makes its run.
pub(super) const RUN: u8 = 1;
/// Flag: the event makes its agent.
pub(crate) const AGENT: u8 = 1 << 1;
/// Flag: the event is a piece of text that makes its part or call, or tells that its call is executed.
pub(super) const THING: u8 = 1 << 2;
/// Flag: the event changes a text that was whole already.
pub(crate) const LATE: u8 = 1 << 3;
/// Flag: the arguments of the event's call are whole with it, and it is not of the kind that usually says so.
pub(super) const WRITTEN: u8 = 1 << 4;
/// Flag: the event moves its agent below another one.
pub(super) const MOVES: u8 = 1 << 5;
/// Flag: the event ends the stall of its run.
pub(crate) const HEARD: u8 = 1 << 6;
/// Flag: the event takes back the loss of its run, and with that what the loss had closed.
pub(super) const REOPENS: u8 = 1 << 7;

/// The effects of one event that its own fields do not show. The hub keeps them beside the event for as long as it is
/// in the ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventEffects {
    flags: u8,
    /// Texts that are whole with the end of their run: parts, and calls whose arguments were being written.
    pub(super) closes: Vec<Item>,
}

impl EventEffects {
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// What `event` does beyond what it says; nothing for most. `before` is the view without it.
pub fn event_effects(before: &View, event: &Event) -> Option<EventEffects> {
    if event.kind.class() == Class::Ephemeral {
        return None;
    }
    let run = before.runs.get(&event.run);
    let mut flags = run.map_or(0, |run| heard(run, &event.kind));
    if event.kind.is_of_conversation() {
        return (flags != 0).then(|| EventEffects { flags, closes: Vec::new() });
    }
    let (part, tool) = (part_of(&event.kind), tool_of(&event.kind));
    let known_part = part.and_then(|id| run?.parts.get(id));
    let known_tool = tool.and_then(|id| run?.tools.get(id));
    let makes = (part.is_some() && known_part.is_none()) || (tool.is_some() && known_tool.is_none());
    if makes && event.kind.class() == Class::Mergeable {
        flags |= THING;
    }
    if makes_agent(run, event, makes) {
        flags |= AGENT;
    }
    match &event.kind {
        Kind::PartDelta { .. } | Kind::PartReplace { .. }
            if known_part.is_some_and(|part| part.ended_at.is_some()) =>
        {
            flags |= LATE;
        }
        Kind::AgentStart(start) => {
            let known = event.agent.as_ref().and_then(|id| run?.agents.get(id));
            if known.is_some_and(|known| known.parent != start.parent) {
                flags |= MOVES;
            }
        }
        kind => flags |= known_tool.map_or(0, |tool| of_tool(tool, kind)),
    }
    if run.is_none() {
        flags |= RUN;
    }
    let closes = match (&event.kind, run) {
        (Kind::RunEnd(RunEnd { .. }), Some(run)) => closes(run),
        _ => Vec::new(),
    };
    (flags != 0 || !closes.is_empty()).then_some(EventEffects { flags, closes })
}

/// What it does that anything at all comes of `run`.
fn heard(run: &RunView, kind: &Kind) -> u8 {
    if matches!(kind, Kind::RunStalled { .. }) {
        return 0;
    }
    let stalled = if run.stalled_at.is_some() { HEARD } else { 0 };
    if !run.is_running() && run.loss.is_some() { stalled | REOPENS } else { stalled }
}

/// Some dialects name an agent without ever starting it: the first thing of it does.
fn makes_agent(run: Option<&RunView>, event: &Event, makes_thing: bool) -> bool {
    let Some(id) = &event.agent else { return false };
    let makes = makes_thing
        || matches!(
            event.kind,
            Kind::Error(_)
                | Kind::Custom { .. }
                | Kind::Raw { .. }
                | Kind::Unknown(_)
                | Kind::AgentEnd(_)
                | Kind::RunUpdate(RunUpdate { usage: Some(_), .. })
        );
    makes && run.is_none_or(|run| !run.agents.contains_key(id))
}

fn of_tool(tool: &ToolView, kind: &Kind) -> u8 {
    let is_writing = tool.state == ToolState::Writing;
    let written = if is_writing { WRITTEN } else { 0 };
    match kind {
        Kind::ToolArgs { .. } if !is_writing => LATE,
        Kind::ToolOutput { .. } if tool.state < ToolState::Executing => THING | written,
        Kind::ToolState(change) if change.state > ToolState::Writing => written,
        Kind::ToolResult(_) | Kind::ApprovalRequest { .. } => written,
        Kind::ApprovalAnswer { approved: false, .. } => written,
        _ => 0,
    }
}

fn closes(run: &RunView) -> Vec<Item> {
    let open = run.open.iter().filter(|item| match item {
        Item::Part(_) => true,
        Item::Tool(id) => run.tools.get(id).is_some_and(|tool| tool.state == ToolState::Writing),
        Item::Agent(_) | Item::Note(_) => false,
    });
    open.cloned().collect()
}

/// The part that `kind` is about.
pub(super) fn part_of(kind: &Kind) -> Option<&PartId> {
    match kind {
        Kind::PartStart { part, .. } | Kind::PartDelta { part, .. } | Kind::PartReplace { part, .. } => {
            Some(part)
        }
        Kind::PartEnd(end) => Some(&end.part),
        _ => None,
    }
}

/// The call that `kind` is about.
pub(super) fn tool_of(kind: &Kind) -> Option<&ToolCallId> {
    match kind {
        Kind::ToolStart(start) => Some(&start.tool),
        Kind::ToolArgs { tool, .. }
        | Kind::ToolCall { tool, .. }
        | Kind::ToolOutput { tool, .. }
        | Kind::ApprovalRequest { tool, .. }
        | Kind::ApprovalAnswer { tool, .. } => Some(tool),
        Kind::ToolState(change) => Some(&change.tool),
        Kind::ToolResult(result) => Some(&result.tool),
        Kind::ToolProgress(progress) => Some(&progress.tool),
        _ => None,
    }
}
