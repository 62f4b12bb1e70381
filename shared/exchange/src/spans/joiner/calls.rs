//! The tool calls of a trace. The span of a model announces a call, the span of the tool says how it was
//! executed, and the next request of the model repeats the result. Each of them may be missing, and they come
//! in any order.

use serde_json::Value;

use indexmap::IndexMap;

use super::HeldSpan;
use super::place::StepOwner;
use super::trace::SpanTrace;
use crate::spans::attributes::tree_of;
use crate::spans::hex;
use crate::spans::meaning::SpanMeaning;
use model::event::{Kind, ToolResult, ToolStart};
use model::ids::{AgentId, ToolCallId};
use model::json::Json;
use model::limits::{CALLS_AWAITED_MAX, SPAN_HELD_MS};

/// What is known of one tool call from all spans: of the model, of the tool, of the next request.
#[derive(Debug)]
struct SpanCall {
    /// The id that the spans use.
    given: String,
    name: String,
    arguments: String,
    agent: Option<AgentId>,
    /// When the model had written it, in milliseconds since 1970; nothing as long as no span of a model
    /// announced it.
    announced_ms: Option<u64>,
    has_result: bool,
    /// The result comes from a request, not from the span of the tool.
    is_hearsay: bool,
    /// No span has given it an id so far.
    is_nameless: bool,
}

/// The result of a call as a request repeats it.
#[derive(Debug)]
struct RecordedResult {
    given: String,
    output: Json,
    is_error: bool,
    /// When the request began, in milliseconds since 1970.
    at_ms: u64,
    since: u64,
}

/// All tool calls of one trace, and the results that requests repeat before their call has one.
#[derive(Debug, Default)]
pub(super) struct SpanCalls {
    calls: IndexMap<ToolCallId, SpanCall>,
    /// Results that wait for the span of their tool, which has more details.
    owed: Vec<RecordedResult>,
}

/// A tool call as a model wrote it.
pub(super) struct ModelWrittenCall<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    /// The id of the call if the model gave none.
    pub(super) fresh: &'a str,
}

impl SpanCalls {
    pub(super) fn has_owed(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Whether every call has a result.
    pub(super) fn are_answered(&self) -> bool {
        self.calls.values().all(|call| call.has_result)
    }

    /// Whether the call of a tool's span can be determined. A span without the id of its call waits for the
    /// span of the model.
    pub(super) fn is_findable(&self, tool: &SpanMeaning, is_late: bool) -> bool {
        is_late || tool.call.is_some() || self.find(tool).is_some()
    }

    /// The agent whose model announced the call of a tool's span.
    pub(super) fn caller(&self, tool: &SpanMeaning) -> Option<StepOwner> {
        let call = self.calls.get(&self.find(tool)?)?;
        call.announced_ms.map(|_| StepOwner::of(call.agent.clone()))
    }

    /// The call that a tool's span belongs to: the one with its id, else one with the same name that is not
    /// executed yet, preferably with the same arguments.
    fn find(&self, tool: &SpanMeaning) -> Option<ToolCallId> {
        let wanted = tool.arguments.as_deref().unwrap_or_default();
        let is_meant = |call: &SpanCall| match &tool.call {
            Some(id) => call.given == *id,
            None => call.name == tool.name && !are_different(&call.arguments, wanted),
        };
        // A result from a request may belong to this span, which then comes too late to add anything.
        let is_open = |call: &SpanCall| !call.has_result || (call.is_hearsay && tool.call.is_none());
        let mut open: Vec<_> =
            self.calls.iter().filter(|(_, call)| is_meant(call) && is_open(call)).collect();
        open.sort_by_key(|(_, call)| call.has_result);
        let same = open.iter().find(|(_, call)| are_same(&call.arguments, wanted));
        same.or(open.first()).map(|(id, _)| (*id).clone())
    }

    /// A call with this name and these arguments that a span without an id executed before the span of its
    /// model was received.
    fn orphan(&mut self, name: &str, arguments: &str) -> Option<&mut SpanCall> {
        self.calls
            .values_mut()
            .find(|call| call.is_nameless && call.name == name && are_same(&call.arguments, arguments))
    }
}

/// Whether two texts are JSON objects that differ. Other texts are not compared: some instrumentations print
/// arguments in a form of their own.
fn are_different(one: &str, other: &str) -> bool {
    let trees = (tree_of(&Value::from(one)), tree_of(&Value::from(other)));
    trees.0.is_object() && trees.1.is_object() && trees.0 != trees.1
}

/// Whether two texts are equal, or contain the same JSON.
fn are_same(one: &str, other: &str) -> bool {
    one == other || tree_of(&Value::from(one)) == tree_of(&Value::from(other))
}

impl SpanTrace {
    /// Takes a call that a model wrote.
    pub(super) fn announce(&mut self, call: &ModelWrittenCall<'_>, agent: Option<&AgentId>, at: u64) {
        let given = if call.id.is_empty() { call.fresh } else { call.id };
        let mut tool = ToolCallId::new(given);
        if let Some(known) = self.calls.calls.get_mut(&tool) {
            if known.announced_ms.is_none() {
                // The span of the tool came first. The arguments that the model wrote replace those of the
                // span.
                (known.announced_ms, known.arguments) = (Some(at), call.arguments.to_owned());
                let arguments = Some(call.arguments.to_owned());
                return self.push(Kind::ToolCall { tool, name: None, arguments }, agent, at);
            }
            if are_same(&known.arguments, call.arguments) {
                return;
            }
            tool = ToolCallId::new(&format!("{given}.{}", call.fresh));
        }
        if let Some(orphan) = self.calls.orphan(call.name, call.arguments) {
            given.clone_into(&mut orphan.given);
            (orphan.is_nameless, orphan.announced_ms) = (false, Some(at));
            return;
        }
        self.open_call(tool, given, call, agent, (Some(at), at));
    }

    /// Publishes the start of a call and its arguments. `times`: when it was announced, and the time of the
    /// events.
    fn open_call(
        &mut self,
        tool: ToolCallId,
        given: &str,
        call: &ModelWrittenCall<'_>,
        agent: Option<&AgentId>,
        times: (Option<u64>, u64),
    ) {
        let (announced_ms, at) = times;
        let given_id = (tool.as_str() != given).then(|| given.into());
        let start = ToolStart { tool: tool.clone(), name: call.name.into(), server: false, given_id };
        self.push(Kind::ToolStart(start), agent, at);
        let arguments = Some(call.arguments.to_owned());
        self.push(Kind::ToolCall { tool: tool.clone(), name: None, arguments }, agent, at);
        let call = SpanCall {
            given: given.to_owned(),
            name: call.name.to_owned(),
            arguments: call.arguments.to_owned(),
            agent: agent.cloned(),
            announced_ms,
            has_result: false,
            is_hearsay: false,
            is_nameless: false,
        };
        self.calls.calls.insert(tool, call);
    }

    /// Publishes the result of the call that a tool's span belongs to, unless it has one. A call that is
    /// unknown is published first.
    pub(super) fn tell_tool(&mut self, mut held: HeldSpan, agent: Option<&AgentId>) {
        let known = self.nodes.get(&held.id).and_then(|node| node.call.clone());
        held.meaning.call = held.meaning.call.or(known);
        let meaning = &held.meaning;
        let fresh = hex(&held.id);
        let tool = self.calls.find(meaning).unwrap_or_else(|| {
            let id = meaning.call.clone().unwrap_or(fresh.clone());
            ToolCallId::new(&id)
        });
        if self.calls.calls.get(&tool).is_some_and(|call| call.has_result) {
            return;
        }
        if !self.calls.calls.contains_key(&tool) {
            let arguments = meaning.arguments.as_deref().unwrap_or_default();
            let call = ModelWrittenCall { id: tool.as_str(), name: &meaning.name, arguments, fresh: &fresh };
            self.open_call(tool.clone(), tool.as_str(), &call, agent, (None, held.start_ms));
            if let Some(call) = self.calls.calls.get_mut(&tool) {
                call.is_nameless = meaning.call.is_none();
            }
        }
        if let Some(node) = self.nodes.get_mut(&held.id) {
            node.call = Some(tool.as_str().to_owned());
        }
        let reason = meaning.error.as_ref().map(|error| Json::string(&error.message));
        let output = meaning.result.clone().or(reason).unwrap_or_else(|| Json::of(&()));
        let took = Some(held.end_ms.saturating_sub(held.start_ms));
        self.give_back(tool, output, meaning.error.is_some(), took, held.end_ms);
    }

    /// Publishes the result of a call.
    fn give_back(&mut self, tool: ToolCallId, output: Json, is_error: bool, exec_ms: Option<u64>, at: u64) {
        let Some(call) = self.calls.calls.get_mut(&tool) else { return };
        call.has_result = true;
        let agent = call.agent.clone();
        let result = ToolResult { exec_ms, ..ToolResult::new(tool, output, is_error) };
        self.push(Kind::ToolResult(result), agent.as_ref(), at);
    }

    /// Remembers the result that a request repeats, until the span of the tool is received or late.
    pub(super) fn owe(&mut self, given: &str, output: &Json, is_error: bool, at_ms: u64, since: u64) {
        if self.calls.owed.len() < CALLS_AWAITED_MAX
            && !self.calls.owed.iter().any(|owed| owed.given == given)
        {
            let (given, output) = (given.to_owned(), output.clone());
            self.calls.owed.push(RecordedResult { given, output, is_error, at_ms, since });
        }
    }

    /// Publishes the results for which no span of a tool was received. Their duration is the time between the
    /// two spans of the model.
    pub(super) fn tell_owed(&mut self, now: u64, force: bool) {
        for owed in std::mem::take(&mut self.calls.owed) {
            let found =
                self.calls.calls.iter().find(|(_, call)| call.given == owed.given && !call.has_result);
            let found = found.map(|(tool, call)| (tool.clone(), call.announced_ms));
            if found.is_none() && self.calls.calls.values().any(|call| call.given == owed.given) {
                continue;
            }
            if !force && now.saturating_sub(owed.since) < SPAN_HELD_MS {
                self.calls.owed.push(owed);
            } else if let Some((tool, announced)) = found {
                let took = announced.and_then(|announced| owed.at_ms.checked_sub(announced));
                if let Some(call) = self.calls.calls.get_mut(&tool) {
                    call.is_hearsay = true;
                }
                self.give_back(tool, owed.output, owed.is_error, took, owed.at_ms);
            }
        }
    }
}
