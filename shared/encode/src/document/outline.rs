//! The outline of a document: messages and runs in order, each run as steps and answer, sub-agents nested. It
//! borrows from the view; nothing is escaped yet.
//!
//! ```text
//! view ─▶ sections: message | run (or its part between two messages)
//!             run ─▶ steps:  thinking, texts, calls, sub-agents, failures, events
//!                    answer: texts and failures behind the last step; without a text there, the last text
//! ```
//!
//! How important a row is, and in which lane it stands, is decided by [`Flow`], as in the web interface.

use std::collections::VecDeque;

use model::event::{ErrorFact, PartKind};
use model::flow::{CallCounts, ConversationSection, Flow, FlowRow, OverlapGroup, RowRank, RunSection, turns};
use model::ids::{AgentId, ToolCallId};
use model::json::Json;
use model::view::{AgentView, Item, MessageView, NoteBody, PartView, RunView, ToolView, View};

/// The deepest nesting of agents. Deeper ones are put beside those of this depth: readers cannot open a
/// document with thousands of levels.
const DEPTH_MAX: usize = 12;

/// A section of the outline.
pub(super) enum OutlineSection<'a> {
    /// A message of the history.
    Message(&'a MessageView),
    /// A run, or a section of it between two messages.
    Run(OutlineRun<'a>),
}

/// A run, or a section of it.
pub(super) struct OutlineRun<'a> {
    /// The view of the run.
    pub(super) run: &'a RunView,
    /// The steps that led to the answer.
    pub(super) steps: Vec<OutlineBlock<'a>>,
    /// The answer, and what came after the last step.
    pub(super) answer: Vec<OutlineBlock<'a>>,
    /// The numbers of calls, failures and agents.
    pub(super) flow: Flow,
    /// Whether this is the last section of the run.
    pub(super) is_last: bool,
}

/// A block of the outline.
pub(super) enum OutlineBlock<'a> {
    /// A text, a refusal or a file.
    Part(&'a PartView),
    /// A piece of thinking.
    Thinking(&'a PartView),
    /// A tool call, and the group of calls that ran at the same time.
    Call(&'a ToolCallId, &'a ToolView, Option<OverlapGroup>),
    /// A sub-agent with all that it did.
    Agent(AgentBlock<'a>),
    /// A failure of the run.
    Error(&'a ErrorFact),
    /// An event with a name of the agent's own, or a foreign one.
    Event(&'a str, &'a Json),
}

/// A sub-agent with all that it did.
pub(super) struct AgentBlock<'a> {
    /// The id of the agent.
    pub(super) id: &'a AgentId,
    /// The agent in the view.
    pub(super) known: &'a AgentView,
    /// The numbers of its calls.
    pub(super) counts: CallCounts,
    /// The blocks of what it did.
    pub(super) blocks: Vec<OutlineBlock<'a>>,
}

/// The sections of `view`.
///
/// Sections are in the order of the conversation. A run during which a message came is divided there.
pub(super) fn outline(view: &View) -> Vec<OutlineSection<'_>> {
    let section = |turn| match turn {
        ConversationSection::Message(_, message) => OutlineSection::Message(message),
        ConversationSection::Run(stretch) => OutlineSection::Run(run_section(&stretch)),
    };
    turns(view).into_iter().map(section).collect()
}

/// Divides a section of a run into its steps and its answer.
fn run_section<'a>(stretch: &RunSection<'a>) -> OutlineRun<'a> {
    let run = stretch.run;
    let flow = Flow::of_stretch(run, stretch.items.clone());
    let rows = flow.lane(None);
    let is_step = |row: &FlowRow| match row.item {
        Item::Tool(_) | Item::Agent(_) => true,
        Item::Note(_) => false,
        Item::Part(_) => row.rank == RowRank::Step,
    };
    let last_step = rows.iter().rposition(is_step);
    let (mut steps, mut answer) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        let is_behind = last_step.is_none_or(|last| at > last);
        // Events with a name of the agent's own belong to the steps wherever they came: they must not divide
        // the answer.
        let is_answer = row.rank == RowRank::Kept && (is_behind || matches!(row.item, Item::Part(_)));
        let place = if is_answer { &mut answer } else { &mut steps };
        put(run, &flow, row, 1, &mut VecDeque::new(), place);
    }
    OutlineRun { run, steps, answer, flow, is_last: stretch.is_last }
}

/// Adds the block of `row`. Agents that are too deep to be nested here go to `deeper`.
///
/// `depth` is that of the lane of the row, from 1. A row whose item is not in the run is left out.
fn put<'a>(
    run: &'a RunView,
    flow: &Flow,
    row: &FlowRow,
    depth: usize,
    deeper: &mut VecDeque<&'a AgentId>,
    into: &mut Vec<OutlineBlock<'a>>,
) {
    match &row.item {
        Item::Part(id) => {
            let Some(part) = run.parts.get(id) else { return };
            let is_thinking = part.kind == PartKind::Thinking;
            into.push(if is_thinking { OutlineBlock::Thinking(part) } else { OutlineBlock::Part(part) });
        }
        Item::Tool(id) => {
            let Some((_, id, tool)) = run.tools.get_full(id) else { return };
            into.push(OutlineBlock::Call(id, tool, row.bracket));
        }
        Item::Agent(id) => {
            let Some((_, id, _)) = run.agents.get_full(id) else { return };
            if depth > DEPTH_MAX {
                deeper.push_back(id);
                return;
            }
            let mut beside = VecDeque::new();
            put_agent(run, flow, id, depth, &mut beside, into);
            while let Some(id) = beside.pop_front() {
                put_agent(run, flow, id, depth, &mut beside, into);
            }
        }
        Item::Note(number) => {
            let Some(note) = run.notes.get(*number) else { return };
            into.push(match &note.body {
                NoteBody::Error(error) => OutlineBlock::Error(error),
                NoteBody::Custom { name, value } | NoteBody::Raw { name, value } => {
                    OutlineBlock::Event(name, value)
                }
            });
        }
    }
}

/// Adds a sub-agent with the blocks of its lane. Agents that would be nested too deep are added to `deeper`
/// instead, for the caller to put beside this one.
fn put_agent<'a>(
    run: &'a RunView,
    flow: &Flow,
    id: &'a AgentId,
    depth: usize,
    deeper: &mut VecDeque<&'a AgentId>,
    into: &mut Vec<OutlineBlock<'a>>,
) {
    let Some(known) = run.agents.get(id) else { return };
    let mut blocks = Vec::new();
    for row in flow.lane(Some(id)) {
        put(run, flow, row, depth.saturating_add(1), deeper, &mut blocks);
    }
    into.push(OutlineBlock::Agent(AgentBlock { id, known, counts: flow.counts(id), blocks }));
}
