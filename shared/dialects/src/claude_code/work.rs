//! What an agent does, as both dialects of Claude Code tell it: assistant lines with content blocks, user lines with the
//! results of calls, agents that belong to calls.

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

/// The state of one stream.
#[derive(Debug)]
pub(crate) struct ClaudeStream {
    pub(crate) writer: EventWriter,
    /// Calls of the run that goes on which have no result yet.
    pub(crate) calls: IndexMap<CompactString, ClaudeCall>,
    /// The agents, by the calls that started them.
    pub(super) agents: IndexMap<CompactString, ClaudeAgent>,
    /// Tasks that have an id of their own, and the calls that started them.
    pub(super) tasks: IndexMap<CompactString, CompactString>,
    /// Messages that come in deltas, by the calls of their agents.
    pub(super) lives: IndexMap<CompactString, LiveMessage>,
    pub(super) seen: SeenLines,
    /// Runs that have begun.
    pub(super) runs: u64,
    /// A message about a failure that nothing came after.
    pub(crate) trouble: Option<ErrorFact>,
    /// Why the main agent stopped last.
    pub(crate) stop_reason: Option<CompactString>,
    /// The main agent has said something in this run.
    pub(crate) has_text: bool,
    /// When the line happened, in milliseconds since 1970.
    pub(crate) now: Option<u64>,
}

/// A call without a result.
#[derive(Debug)]
pub(crate) struct ClaudeCall {
    pub(crate) name: CompactString,
    agent: Option<AgentId>,
    /// When it was made.
    at: Option<u64>,
    /// How long it took, where that came before the result.
    pub(super) exec_ms: Option<u64>,
    /// It has been told to run.
    pub(super) is_running: bool,
    /// What an agent that it starts is to do.
    pub(crate) prompt: Option<String>,
}

#[derive(Debug)]
pub(super) struct ClaudeAgent {
    pub(super) id: AgentId,
    name: Option<CompactString>,
    /// The run that knows it.
    pub(super) run: u64,
    is_open: bool,
    pub(super) tally: AgentTokens,
}

/// One line, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaudeLine<'l, 'a> {
    pub(crate) fields: &'l ForeignFields<'a>,
    /// The call that started the agent; empty for the main one.
    pub(crate) by: &'l str,
}

impl ClaudeStream {
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

    /// Begins a run unless one goes on.
    pub(crate) fn begin(&mut self, model: Option<&str>, out: &mut Decoded) {
        if !self.writer.is_running() {
            self.runs = self.runs.saturating_add(1);
            (self.trouble, self.stop_reason, self.has_text) = (None, None, false);
        }
        self.writer.begin(model, out);
    }

    /// Whether the line came before, word for word.
    pub(crate) fn is_repeated(&mut self, fields: &ForeignFields<'_>) -> bool {
        let uuid = fields.get("uuid").words().unwrap_or_default();
        !uuid.is_empty() && self.seen.again(&[&uuid, fields.get("message").as_json_text()])
    }

    /// An assistant line: one content block of a message, or all of them.
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

    /// A call is written; an agent that it starts begins with it.
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

    /// The agent that the call `id` started; begins it where nothing was said of it in this run.
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

    /// Begins an agent unless the run knows it.
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

    /// The agent of the call `id` is done.
    pub(crate) fn end_agent(&mut self, id: &str, status: RunStatus, out: &mut Decoded) {
        let runs = self.runs;
        let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.run == runs) else { return };
        if std::mem::take(&mut agent.is_open) && self.writer.is_running() {
            self.writer.close_agent(&agent.id, status, out);
        }
    }

    /// A user line: results of calls, and texts, which are given back.
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

    /// The call `id` runs, as far as its agent says.
    pub(crate) fn runs(&mut self, id: &str, out: &mut Decoded) {
        if let Some(call) = self.calls.get_mut(id)
            && !std::mem::replace(&mut call.is_running, true)
        {
            self.writer.state(id, ToolState::Executing, call.agent.as_ref(), out);
        }
    }

    /// The task `task` was started by the call `call`.
    pub(super) fn name_task(&mut self, task: &str, call: &str) {
        if self.tasks.len() >= ITEMS_PER_RUN_MAX {
            self.tasks.clear();
        }
        self.tasks.insert(CompactString::new(task), CompactString::new(call));
    }

    /// A line about what goes on.
    pub(crate) fn status(&mut self, text: &str, out: &mut Decoded) {
        if !text.is_empty() {
            self.writer.push(Kind::Status { text: text.to_owned() }, out);
        }
    }

    /// The run is over. Calls without a result are given up, unless they are left to the caller.
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

    /// No more comes, though the stream did not say so.
    pub(crate) fn break_off(&mut self, out: &mut Decoded) {
        if let Some(fact) = self.trouble.take()
            && self.writer.is_running()
        {
            self.writer.fail(fact, out);
        }
        self.close(RunEnding::default(), false, out);
    }
}

/// The failure that an assistant line tells instead of an answer.
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

/// How long a call was executed, in milliseconds, as its result says.
fn told_ms(details: &ForeignFields<'_>) -> Option<u64> {
    let ms = details.any(&["totalDurationMs", "durationMs"]).count();
    ms.or_else(|| details.get("durationSeconds").thousandths())
}
