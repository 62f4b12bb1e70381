//! What an agent does, as both dialects of Claude Code have it, its output and its transcripts: assistant
//! lines with content blocks, user lines with the results of calls, agents that belong to calls.
//!
//! Sub-agents are started by a call of the tool `Agent` (`Task` in older versions). The call is the name of
//! the agent throughout; its final text is only in the result of the call.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;

use super::live::LiveMessage;
use super::seen::SeenLines;
use super::tally::{AgentTokens, LineUsage};
use crate::anthropic::{AnthropicBlock, OpenBlock};
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter, RunEnding};
use crate::{DecodeOptions, Decoded};
use model::event::{AgentStart, ErrorFact, Kind, PartKind, RunStatus, ToolState};
use model::ids::AgentId;
use model::json::Json;
use model::limits::ITEMS_PER_RUN_MAX;

/// The model of messages that the program wrote itself.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// The state of one stream. `runs` numbers the runs, so that agents of an earlier run are not taken for those
/// of the open one.
#[derive(Debug)]
pub(crate) struct ClaudeStream {
    /// The writer of the events.
    pub(crate) writer: EventWriter,
    /// The calls of the open run that have no result yet.
    pub(crate) calls: IndexMap<CompactString, ClaudeCall>,
    /// The agents, by the calls that started them.
    pub(super) agents: IndexMap<CompactString, ClaudeAgent>,
    /// Tasks that have an id of their own, and the calls that started them.
    pub(super) tasks: IndexMap<CompactString, CompactString>,
    /// Messages that come in deltas, by the calls of their agents; that of the main agent under an empty key.
    pub(super) lives: IndexMap<CompactString, LiveMessage>,
    /// Lines and blocks that were written.
    pub(super) seen: SeenLines,
    /// The number of runs that have begun.
    pub(super) runs: u64,
    /// The failure that the newest assistant line has in place of an answer. It counts if nothing comes after
    /// it.
    pub(crate) trouble: Option<ErrorFact>,
    /// Why the main agent stopped last.
    pub(crate) stop_reason: Option<CompactString>,
    /// The main agent has written text in this run.
    pub(crate) has_text: bool,
    /// The time of the line, in milliseconds since 1970, in transcripts.
    pub(crate) now: Option<u64>,
}

/// A call without a result.
#[derive(Debug)]
pub(crate) struct ClaudeCall {
    /// The name of the tool.
    pub(crate) name: CompactString,
    agent: Option<AgentId>,
    /// When it was made, in milliseconds since 1970.
    at: Option<u64>,
    /// How long it was executed, in milliseconds, if a task line said so before the result.
    pub(super) exec_ms: Option<u64>,
    /// The event that the call is executing was written.
    pub(super) is_running: bool,
    /// The task of the sub-agent that it starts.
    pub(crate) prompt: Option<String>,
}

/// A sub-agent that a tool call has started.
#[derive(Debug)]
pub(super) struct ClaudeAgent {
    /// The id of the sub-agent in the events.
    pub(super) id: AgentId,
    name: Option<CompactString>,
    /// The number of the run in which it began.
    pub(super) run: u64,
    /// The sub-agent has not ended.
    is_open: bool,
    /// The tokens that it used.
    pub(super) tally: AgentTokens,
}

/// One line with its fields, and the agent that it is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaudeLine<'l, 'a> {
    pub(crate) fields: &'l ForeignFields<'a>,
    /// The call that started the agent; empty for the main one.
    pub(crate) by: &'l str,
}

impl ClaudeStream {
    /// The state before the first line.
    pub(crate) fn new(dialect: &'static str, options: DecodeOptions) -> Self {
        Self {
            writer: EventWriter::new(dialect, options),
            calls: IndexMap::new(),
            agents: IndexMap::new(),
            tasks: IndexMap::new(),
            lives: IndexMap::new(),
            seen: SeenLines::default(),
            runs: 0,
            trouble: None,
            stop_reason: None,
            has_text: false,
            now: None,
        }
    }

    /// Begins a run unless one is open.
    pub(crate) fn begin(&mut self, model: Option<&str>, out: &mut Decoded) {
        if !self.writer.is_running() {
            self.runs = self.runs.saturating_add(1);
            (self.trouble, self.stop_reason, self.has_text) = (None, None, false);
        }
        self.writer.begin(model, out);
    }

    /// Whether the line was received before, with the same id and message: resumed sessions repeat their
    /// lines.
    pub(crate) fn is_repeated(&mut self, fields: &ForeignFields<'_>) -> bool {
        let uuid = fields.get("uuid").words().unwrap_or_default();
        !uuid.is_empty() && self.seen.again(&[&uuid, fields.get("message").as_json_text()])
    }

    /// Takes an assistant line: one content block of a message, or all of them. A failure in place of an
    /// answer is noted, and counts if the run ends with it.
    pub(crate) fn assistant(&mut self, line: ClaudeLine<'_, '_>, out: &mut Decoded) {
        let message = ForeignFields::of(line.fields.get("message"));
        let model = message.get("model").word().filter(|model| *model != SYNTHETIC);
        self.begin(if line.by.is_empty() { model.as_deref() } else { None }, out);
        let agent = self.agent(line.by, None, out);
        let id = message.get("id").text().unwrap_or_default();
        let content = message.get("content");
        for block in content.list() {
            self.block(&id, block, line.by, agent.as_ref(), out);
        }
        if let Some(text) = content.word()
            && self.writer.has_room(out)
        {
            self.has_text |= line.by.is_empty();
            self.writer.whole_part(PartKind::Text, &text, false, agent.as_ref(), out);
        }
        if !line.by.is_empty() {
            let used = LineUsage { message: &id, model: model.as_deref(), usage: message.get("usage") };
            return self.used(line.by, used);
        }
        if let Some(reason) = message.get("stop_reason").word() {
            self.stop_reason = Some(CompactString::new(&reason));
        }
        self.trouble = failure(line.fields, content);
    }

    /// Writes a content block, unless it was streamed or received before.
    fn block(
        &mut self,
        id: &str,
        block: ForeignField<'_>,
        by: &str,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        let body: AnthropicBlock<'_> = block.object();
        let kind = body.kind.text().unwrap_or_default();
        let call = body.id.words().unwrap_or_default();
        let is_call = kind == "tool_use";
        if kind == "text" {
            self.has_text |= by.is_empty();
        }
        let live = self.lives.get_mut(by).filter(|live| live.is(id));
        let is_live = live.is_some_and(|live| live.repeat(&body, &mut self.writer, out));
        let is_known = is_live || (is_call && self.writer.knows_call(&call));
        if !is_known {
            // Within a message no block is told twice, whatever line it stands on.
            let told = [id, block.as_json_text()];
            if !id.is_empty() && self.seen.again(&told) {
                return;
            }
            OpenBlock::start(block, agent, &mut self.writer, out).stop(true, &mut self.writer, out);
        }
        if is_call {
            self.called(&call, &body.name.text().unwrap_or_default(), body.input, agent, out);
        }
    }

    /// Notes a call that was written. A sub-agent that it starts begins with it.
    pub(super) fn called(
        &mut self,
        id: &str,
        name: &str,
        input: ForeignField<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        if self.calls.contains_key(id) || self.calls.len() >= ITEMS_PER_RUN_MAX {
            return;
        }
        let mut call = ClaudeCall {
            name: CompactString::new(name),
            agent: agent.cloned(),
            at: self.now,
            exec_ms: None,
            is_running: false,
            prompt: None,
        };
        if matches!(name, "Agent" | "Task") {
            let input = ForeignFields::of(input);
            call.prompt = input.get("prompt").word().map(Cow::into_owned);
            let name = input.any(&["subagent_type", "description"]).word();
            let start = AgentStart {
                name: name.map(|name| CompactString::new(&name)),
                parent: agent.cloned(),
                text: call.prompt.clone(),
                ..AgentStart::default()
            };
            self.start_agent(id, start, out);
        }
        self.calls.insert(CompactString::new(id), call);
    }

    /// The sub-agent that the call `id` started, begun if it is new in this run; nothing for the main agent
    /// (an empty `id`).
    pub(crate) fn agent(&mut self, id: &str, prompt: Option<&str>, out: &mut Decoded) -> Option<AgentId> {
        if id.is_empty() {
            return None;
        }
        let start = AgentStart {
            name: self.agents.get(id).and_then(|agent| agent.name.clone()),
            parent: self.calls.get(id).and_then(|call| call.agent.clone()),
            text: prompt.map(str::to_owned),
            ..AgentStart::default()
        };
        Some(self.start_agent(id, start, out))
    }

    /// Begins a sub-agent unless it began in this run, and returns its id in the events.
    pub(crate) fn start_agent(&mut self, id: &str, start: AgentStart, out: &mut Decoded) -> AgentId {
        if let Some(known) = self.agents.get(id).filter(|agent| agent.run == self.runs) {
            return known.id.clone();
        }
        if self.agents.len() >= ITEMS_PER_RUN_MAX {
            self.agents.clear();
        }
        let tool = self.writer.knows_call(id).then(|| self.writer.tool_id(id));
        let name = start.name.clone();
        let agent = self.writer.open_agent(id, AgentStart { tool, ..start }, out);
        let known = ClaudeAgent {
            id: agent.clone(),
            name,
            run: self.runs,
            is_open: true,
            tally: AgentTokens::default(),
        };
        self.agents.insert(CompactString::new(id), known);
        agent
    }

    /// Ends the sub-agent of the call `id`, once.
    pub(crate) fn end_agent(&mut self, id: &str, status: RunStatus, out: &mut Decoded) {
        let runs = self.runs;
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.run == runs) else { return };
        if std::mem::take(&mut agent.is_open) && self.writer.is_running() {
            self.writer.close_agent(&agent.id, status, out);
        }
    }

    /// Takes a user line: writes the results of calls, and returns the other text. A block that is neither
    /// gives its type in brackets.
    pub(crate) fn user(&mut self, line: ClaudeLine<'_, '_>, out: &mut Decoded) -> String {
        let content = ForeignFields::of(line.fields.get("message")).get("content");
        if let Some(text) = content.word() {
            return text.into_owned();
        }
        let blocks = content.list();
        let is_result =
            |block: &AnthropicBlock<'_>| block.kind.text().is_some_and(|kind| kind == "tool_result");
        let bodies: Vec<AnthropicBlock<'_>> = blocks.iter().map(|block| block.object()).collect();
        let details = if bodies.iter().filter(|body| is_result(body)).count() == 1 {
            ForeignFields::of(line.fields.get("tool_use_result"))
        } else {
            ForeignFields::default()
        };
        let mut texts = Vec::new();
        for body in &bodies {
            if is_result(body) {
                self.result(body, &details, line.by, out);
                continue;
            }
            let kind = body.kind.text().unwrap_or_default();
            texts.push(if kind == "text" {
                body.text.text().unwrap_or_default()
            } else {
                format!("[{kind}]").into()
            });
        }
        texts.join("\n")
    }

    /// Writes the result of a call and ends its sub-agent, unless that goes on in the background. How long it
    /// took is what the result says, else a task line, else the time between the lines.
    fn result(
        &mut self,
        body: &AnthropicBlock<'_>,
        details: &ForeignFields<'_>,
        by: &str,
        out: &mut Decoded,
    ) {
        let id = body.tool_use_id.words().unwrap_or_default();
        if !self.writer.knows_call(&id) {
            self.begin(None, out);
        }
        let agent = if self.writer.is_running() { self.agent(by, None, out) } else { None };
        let call = self.calls.shift_remove(&*id);
        let between = call.as_ref().and_then(|call| Some(self.now?.saturating_sub(call.at?)));
        let exec_ms = told_ms(details).or_else(|| call.as_ref().and_then(|call| call.exec_ms)).or(between);
        let is_error = body.is_error.is_true();
        let output = if body.content.is_some() { body.content.json() } else { Json::string("") };
        let outcome = CallOutcome { is_error, ..CallOutcome::of(output).took(exec_ms) };
        self.writer.result(&id, outcome, agent.as_ref(), out);
        let goes_on = details.get("isAsync").is_true()
            || details.get("status").word().is_some_and(|status| status == "async_launched");
        if !goes_on {
            self.end_agent(&id, if is_error { RunStatus::Error } else { RunStatus::Complete }, out);
        }
    }

    /// Writes that the call `id` is executed, once.
    pub(crate) fn executes(&mut self, id: &str, out: &mut Decoded) {
        if let Some(call) = self.calls.get_mut(id)
            && !std::mem::replace(&mut call.is_running, true)
        {
            self.writer.state(id, ToolState::Executing, call.agent.as_ref(), out);
        }
    }

    /// Notes that the task `task` was started by the call `call`.
    pub(super) fn name_task(&mut self, task: &str, call: &str) {
        if self.tasks.len() >= ITEMS_PER_RUN_MAX {
            self.tasks.clear();
        }
        self.tasks.insert(CompactString::new(task), CompactString::new(call));
    }

    /// Writes a status, unless it is empty.
    pub(crate) fn status(&mut self, text: &str, out: &mut Decoded) {
        if !text.is_empty() {
            self.writer.push(Kind::Status { text: text.to_owned() }, out);
        }
    }

    /// Ends the run. Calls without a result are interrupted, unless they are left to the caller
    /// (`leaves_calls`).
    pub(crate) fn close(&mut self, ending: RunEnding, leaves_calls: bool, out: &mut Decoded) {
        for (_, live) in std::mem::take(&mut self.lives) {
            live.close(ending.status == Some(RunStatus::Complete), &mut self.writer, out);
        }
        let calls = std::mem::take(&mut self.calls);
        if self.writer.is_running() && !leaves_calls {
            for (id, call) in &calls {
                self.writer.state(id, ToolState::Interrupted, call.agent.as_ref(), out);
            }
        }
        self.writer.end(ending, out);
    }

    /// Ends the run since no more bytes come, though the stream did not say so: with the last failure, else
    /// interrupted.
    pub(crate) fn break_off(&mut self, out: &mut Decoded) {
        if let Some(fact) = self.trouble.take()
            && self.writer.is_running()
        {
            self.writer.fail(fact, out);
        }
        self.close(RunEnding::default(), false, out);
    }
}

/// The failure that an assistant line has in place of an answer; nothing if it is an answer.
fn failure(line: &ForeignFields<'_>, content: ForeignField<'_>) -> Option<ErrorFact> {
    let code = line.get("error").word();
    if code.is_none() && !line.get("isApiErrorMessage").is_true() {
        return None;
    }
    let first = content.list().first().map(|block| block.object::<AnthropicBlock<'_>>().text);
    let message = first.and_then(ForeignField::word).unwrap_or_default().into_owned();
    let code = code.unwrap_or(Cow::Borrowed("api_error"));
    let retryable = matches!(&*code, "rate_limit" | "overloaded" | "server_error").then_some(true);
    Some(ErrorFact { code: CompactString::new(&code), message, retryable, retry_after_ms: None })
}

/// How long a call was executed, in milliseconds, as its result says; nothing if it does not.
fn told_ms(details: &ForeignFields<'_>) -> Option<u64> {
    let ms = details.any(&["totalDurationMs", "durationMs"]).count();
    ms.or_else(|| details.get("durationSeconds").thousandths())
}
