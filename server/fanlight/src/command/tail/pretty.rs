//! A conversation for people at a terminal: text as it streams, and one line per step of a call. Written
//! lines stay and the cursor is never moved, so that the output can be piped and scrolled.
//!
//! Each line of a text begins with [`RULE`], and no line of a step does: nothing that a model, a tool or a
//! person writes can look like a step.
//!
//! `words` shortens numbers and texts.
//!
//! ```text
//! │ user › What came of it?          a message
//! ┌─ TITLE · MODEL                   a run begins
//! │ text as it streams               a part; dim if it is thinking
//! ◷ tool arguments                   a call is written
//! ◌ tool executing
//! ✓ tool 1.2 s result                it is over; ✗ if it failed, ⊘ if it was cancelled or interrupted
//! ? tool: may it go on?              a person is asked
//!   ⤷ agent: task                    a sub-agent, its steps further in, its end: ⤴
//! └─ complete · 3.1 s · 1 call       the run ends
//! ```

use std::collections::BTreeSet;

use model::event::{ErrorFact, PartKind, RunEnd, RunStatus, ToolState};
use model::flow::{ConversationSection, RunSection, turns};
use model::view::{Item, NoteBody, RunView, ToolView};
use model::{AgentId, Envelope, Kind, PartId, RunId, ToolCallId, View};

use super::label;
use super::paint::{Palette, TextStyle};
use crate::command::terminal::line;

mod words;

use words::{duration, preview};

/// The prefix of each line of a text.
const RULE: &str = "│ ";

/// The line for a run whose publisher is gone.
const STALLED: &str = "… stalled: no word from its publisher";

/// The text on the line that is still open.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OpenLine {
    /// The text of a part.
    Part(RunId, PartId),
    /// What a call prints while it is executed.
    Output(RunId, ToolCallId),
}

/// Formats events as lines.
#[derive(Debug)]
pub(super) struct PrettyPrinter {
    /// The colours, or none.
    paint: Palette,
    /// The text that was written last and may go on; `None` after a line of a step.
    open: Option<OpenLine>,
    /// Whether the open line is still empty.
    at_start: bool,
    /// The run whose head was written last.
    headed: Option<RunId>,
    /// Sub-agents of active runs whose end was written.
    ended: BTreeSet<(RunId, AgentId)>,
}

impl PrettyPrinter {
    pub(super) fn new(paint: Palette) -> Self {
        Self { paint, open: None, at_start: true, headed: None, ended: BTreeSet::new() }
    }

    /// Ends the open line, if there is one.
    pub(super) fn break_line(&mut self, out: &mut String) {
        if self.open.take().is_some() && !self.at_start {
            out.push('\n');
        }
        self.at_start = true;
    }

    /// Appends an event that `view` contains already.
    pub(super) fn event(&mut self, envelope: &Envelope, view: &View, out: &mut String) {
        let event = &envelope.event;
        let (run_id, agent) = (&event.run, event.agent.as_ref());
        if let Kind::Message(message) = &event.kind {
            return self.message(&message.role, &message.text, out);
        }
        if let Kind::Label(change) = &event.kind {
            return self.line(0, TextStyle::Dim, &format!("✎ {}", label::line(change)), out);
        }
        let Some(run) = view.runs.get(run_id) else { return };
        let depth = depth(run, agent);
        match &event.kind {
            Kind::RunStart(_) => self.head(run_id, run, view, out),
            Kind::PartDelta { part, text, .. } => {
                let kind = run.parts.get(part).map_or(PartKind::Text, |part| part.kind);
                self.stream(OpenLine::Part(run_id.clone(), part.clone()), depth, part_ink(kind), text, out);
            }
            Kind::PartReplace { part, text } => {
                self.break_line(out);
                let kind = run.parts.get(part).map_or(PartKind::Text, |part| part.kind);
                self.stream(OpenLine::Part(run_id.clone(), part.clone()), depth, part_ink(kind), text, out);
            }
            Kind::PartEnd(end) => {
                if self.open == Some(OpenLine::Part(run_id.clone(), end.part.clone())) {
                    self.break_line(out);
                }
                if end.hidden {
                    self.line(depth, TextStyle::Dim, "thinking, hidden by the provider", out);
                }
            }
            Kind::ToolOutput { tool, text, .. } => {
                let open = OpenLine::Output(run_id.clone(), tool.clone());
                self.stream(open, depth.saturating_add(1), TextStyle::Dim, text, out);
            }
            Kind::ToolCall { tool, .. } => self.call(run, tool, ToolState::Pending, out),
            Kind::ToolState(change) => self.call(run, &change.tool, change.state, out),
            Kind::ToolResult(result) => {
                let state = if result.is_error { ToolState::Error } else { ToolState::Complete };
                self.call(run, &result.tool, state, out);
            }
            Kind::RunEnd(end) => {
                self.ended.retain(|(run, _)| run != run_id);
                self.end(run, end, out);
            }
            // A publisher that learns later what a sub-agent used repeats its end.
            Kind::AgentEnd(_) if agent.is_some_and(|id| !self.ended.insert((run_id.clone(), id.clone()))) => {
            }
            kind => self.rare(kind, run, agent, depth, out),
        }
    }

    /// Appends an event of a rare kind.
    fn rare(&mut self, kind: &Kind, run: &RunView, agent: Option<&AgentId>, depth: usize, out: &mut String) {
        match kind {
            Kind::AgentStart(_) => {
                self.ended.retain(|(_, id)| Some(id) != agent);
                self.agent(run, agent, out);
            }
            Kind::AgentEnd(end) => {
                let name = agent_name(run, agent);
                let usage = agent.and_then(|id| run.agents.get(id)?.usage);
                let used = usage.map(|usage| format!(" · {} tokens", usage.tokens())).unwrap_or_default();
                let line = format!("⤴ {name} {}{used}", status_word(end.status));
                self.line(depth, status_ink(end.status), &line, out);
            }
            Kind::Status { text } => self.line(depth, TextStyle::Dim, &format!("· {text}"), out),
            Kind::RunStalled { .. } => self.line(depth, TextStyle::Pending, STALLED, out),
            Kind::Error(error) => self.error(depth, error, out),
            Kind::ApprovalRequest { tool, text } => {
                let name = run.tools.get(tool).map_or(tool.as_str(), |tool| tool.name.as_str());
                let question = text.as_deref().unwrap_or("may it go on?");
                self.line(depth, TextStyle::Question, &format!("? {name}: {question}"), out);
            }
            Kind::ApprovalAnswer { approved, text, .. } => {
                let answer = if *approved { "approved" } else { "declined" };
                let why = text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
                self.line(depth, TextStyle::Question, &format!("? {answer}{why}"), out);
            }
            Kind::Custom { name, value } | Kind::Raw { name, value } => {
                self.line(depth, TextStyle::Dim, &format!("· {name} {}", preview(value.as_str())), out);
            }
            _ => {}
        }
    }

    /// Formats a snapshot: all of it the first time, later only the newest run.
    pub(super) fn snapshot(&mut self, view: &View) -> String {
        let mut out = String::new();
        self.break_line(&mut out);
        let again = self.headed.take().is_some();
        let turns = turns(view);
        let newest = view.runs.keys().next_back();
        let is_newest = |turn: &ConversationSection<'_>| matches!(turn, ConversationSection::Run(stretch) if Some(stretch.id) == newest);
        let skip = if again { turns.iter().position(is_newest).unwrap_or(turns.len()) } else { 0 };
        for turn in turns.into_iter().skip(skip) {
            match turn {
                ConversationSection::Message(_, message) => {
                    self.message(&message.role, &message.text, &mut out);
                }
                ConversationSection::Run(stretch) => self.run(&stretch, view, &mut out),
            }
        }
        out
    }

    /// Appends a section of a run.
    fn run(&mut self, stretch: &RunSection<'_>, view: &View, out: &mut String) {
        let (id, run) = (stretch.id, stretch.run);
        self.head(id, run, view, out);
        for item in run.items.iter().take(stretch.items.end).skip(stretch.items.start) {
            match item {
                Item::Part(part_id) => {
                    let Some(part) = run.parts.get(part_id) else { continue };
                    let open = OpenLine::Part(id.clone(), part_id.clone());
                    let depth = depth(run, part.agent.as_ref());
                    self.stream(open, depth, part_ink(part.kind), &part.body.text, out);
                    if part.ended_at.is_some() {
                        self.break_line(out);
                    }
                }
                Item::Tool(tool) => {
                    if let Some(call) = run.tools.get(tool) {
                        self.call(run, tool, call.state, out);
                    }
                }
                Item::Agent(agent) => self.agent(run, Some(agent), out),
                Item::Note(number) => match run.notes.get(*number).map(|note| &note.body) {
                    Some(NoteBody::Error(error)) => self.error(0, error, out),
                    Some(NoteBody::Custom { name, value } | NoteBody::Raw { name, value }) => {
                        self.line(0, TextStyle::Dim, &format!("· {name} {}", preview(value.as_str())), out);
                    }
                    None => {}
                },
            }
        }
        if !stretch.is_last {
            return;
        }
        if run.stalled_at.is_some() {
            self.line(0, TextStyle::Pending, STALLED, out);
        }
        if !run.is_running() {
            let end = RunEnd { status: run.status, usage: run.usage, ..RunEnd::default() };
            self.end(run, &end, out);
        }
    }

    /// Appends to the text `open`, on the open line if that belongs to it.
    fn stream(&mut self, open: OpenLine, depth: usize, ink: TextStyle, text: &str, out: &mut String) {
        if self.open.as_ref() != Some(&open) {
            self.break_line(out);
            self.open = Some(open);
        }
        for line in text.split_inclusive('\n') {
            let (words, ends) = line.strip_suffix('\n').map_or((line, false), |words| (words, true));
            if !words.is_empty() {
                if self.at_start {
                    indent(depth, out);
                    out.push_str(RULE);
                }
                self.paint.add(out, ink, words);
                self.at_start = false;
            }
            if ends {
                out.push('\n');
                self.at_start = true;
            }
        }
    }

    /// Appends a line of a step.
    fn line(&mut self, depth: usize, ink: TextStyle, text: &str, out: &mut String) {
        self.break_line(out);
        indent(depth, out);
        self.paint.add(out, ink, &line(text));
        out.push('\n');
    }

    /// Appends a message of the history.
    fn message(&mut self, role: &str, text: &str, out: &mut String) {
        self.break_line(out);
        out.push('\n');
        out.push_str(RULE);
        self.paint.add(out, TextStyle::Strong, &line(role));
        self.paint.add(out, TextStyle::Dim, " › ");
        let mut lines = text.trim_end().split('\n');
        self.paint.add(out, TextStyle::Plain, lines.next().unwrap_or_default());
        for line in lines {
            out.push('\n');
            out.push_str(RULE);
            self.paint.add(out, TextStyle::Plain, line);
        }
        out.push('\n');
    }

    /// Appends the head of a run, unless it was the last.
    fn head(&mut self, id: &RunId, run: &RunView, view: &View, out: &mut String) {
        if self.headed.as_ref() == Some(id) {
            return;
        }
        self.headed = Some(id.clone());
        let title = run.title.clone().or_else(|| view.headline()).unwrap_or_else(|| id.to_string());
        let model = run.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
        self.break_line(out);
        out.push('\n');
        self.line(0, TextStyle::Dim, &format!("┌─ {title}{model}"), out);
    }

    /// Appends the end of a run.
    fn end(&mut self, run: &RunView, end: &RunEnd, out: &mut String) {
        let mut words = vec![format!("└─ {}", status_word(end.status))];
        words.extend(run.ended_at.map(|ended_at| duration(ended_at.saturating_sub(run.started_at))));
        let failed = run.tools.values().filter(|tool| tool.state == ToolState::Error).count();
        words.extend(match (run.tools.len(), failed) {
            (0, _) => None,
            (1, 0) => Some(String::from("1 call")),
            (calls, 0) => Some(format!("{calls} calls")),
            (calls, failed) => Some(format!("{calls} calls, {failed} failed")),
        });
        let tokens = run.usage.map(|usage| usage.tokens());
        words.extend(tokens.map(|tokens| format!("{tokens} tokens")));
        self.line(0, status_ink(end.status), &words.join(" · "), out);
    }

    /// Appends a step of a call.
    fn call(&mut self, run: &RunView, id: &ToolCallId, state: ToolState, out: &mut String) {
        let Some(call) = run.tools.get(id) else { return };
        let depth = depth(run, call.agent.as_ref());
        let (ink, mark) = call_mark(state);
        let text = match state {
            // Consent has a line of its own; writing is shown when it is done.
            ToolState::Writing | ToolState::Approval => return,
            ToolState::Pending => format!("{mark} {} {}", call.name, preview(&call.arguments.text)),
            ToolState::Executing => format!("{mark} {} executing", call.name),
            _ => format!("{mark} {}{} {}", call.name, latency(call), outcome(call, state)),
        };
        self.line(depth, ink, text.trim_end(), out);
    }

    /// Appends the beginning of a sub-agent.
    fn agent(&mut self, run: &RunView, agent: Option<&AgentId>, out: &mut String) {
        let name = agent_name(run, agent);
        let task = agent.and_then(|id| run.agents.get(id)).and_then(|agent| agent.task.as_deref());
        let task = task.map(|task| format!(": {}", preview(task))).unwrap_or_default();
        self.line(depth(run, agent), TextStyle::Strong, &format!("⤷ {name}{task}"), out);
    }

    /// Appends a failure at this depth.
    fn error(&mut self, depth: usize, error: &ErrorFact, out: &mut String) {
        let retry = match (error.retryable, error.retry_after_ms) {
            (Some(true), Some(wait)) => format!(" (try again in {})", duration(wait)),
            (Some(true), None) => String::from(" (trying again may help)"),
            (Some(false), _) => String::from(" (permanent)"),
            (None, _) => String::new(),
        };
        self.line(depth, TextStyle::Bad, &format!("✗ {}: {}{retry}", error.code, error.message), out);
    }
}

/// Appends two spaces for each level, at most eight levels.
fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth.min(8)));
}

/// The depth of the agent; 0 for the main agent.
fn depth(run: &RunView, agent: Option<&AgentId>) -> usize {
    let agent = agent.and_then(|id| run.agents.get(id));
    agent.map_or(0, |agent| usize::try_from(agent.depth).unwrap_or(usize::MAX))
}

/// The name of the agent, its id if it has none, and `agent` for the main agent.
fn agent_name<'a>(run: &'a RunView, agent: Option<&'a AgentId>) -> &'a str {
    let Some(id) = agent else { return "agent" };
    run.agents.get(id).and_then(|agent| agent.name.as_deref()).unwrap_or(id.as_str())
}

/// The style of a part's text.
fn part_ink(kind: PartKind) -> TextStyle {
    match kind {
        PartKind::Thinking => TextStyle::Dim,
        PartKind::Refusal => TextStyle::Bad,
        PartKind::Text | PartKind::File => TextStyle::Plain,
    }
}

/// The style and the sign of a call in that state.
fn call_mark(state: ToolState) -> (TextStyle, &'static str) {
    match state {
        ToolState::Writing | ToolState::Pending | ToolState::Approval => (TextStyle::Pending, "◷"),
        ToolState::Executing => (TextStyle::Running, "◌"),
        ToolState::Complete => (TextStyle::Good, "✓"),
        ToolState::Error => (TextStyle::Bad, "✗"),
        ToolState::Cancelled | ToolState::Interrupted => (TextStyle::Dim, "⊘"),
    }
}

/// How long the call took, with a space before it; nothing if that is not known.
fn latency(call: &ToolView) -> String {
    call.latency_ms().map(|ms| format!(" {}", duration(ms))).unwrap_or_default()
}

/// What came of the call: the beginning of its result, or how it ended without one.
fn outcome(call: &ToolView, state: ToolState) -> String {
    match state {
        ToolState::Cancelled if call.rejected => String::from("rejected"),
        ToolState::Cancelled | ToolState::Interrupted => state.as_str().to_owned(),
        _ => call.result.as_ref().map(|result| preview(&result.to_text())).unwrap_or_default(),
    }
}

/// How a run or sub-agent ended, in one word.
fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The style of that word.
fn status_ink(status: RunStatus) -> TextStyle {
    match status {
        RunStatus::Complete | RunStatus::Running => TextStyle::Good,
        RunStatus::Error => TextStyle::Bad,
        RunStatus::Cancelled | RunStatus::Interrupted => TextStyle::Dim,
    }
}

#[cfg(test)]
mod tests;
