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
    /// How long its tool took and when it ended, in milliseconds, if the span of the tool has no result. It
    /// may be in the next request.
    executed: Option<(u64, u64)>,
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

    /// Whether every call is over.
    pub(super) fn are_answered(&self) -> bool {
        self.calls.values().all(|call| call.has_result || call.executed.is_some())
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
        let is_open = |call: &SpanCall| {
            !call.has_result && call.executed.is_none() || (call.is_hearsay && tool.call.is_none())
        };
        let mut open: Vec<_> =
            self.calls.iter().filter(|(_, call)| is_meant(call) && is_open(call)).collect();
        open.sort_by_key(|(_, call)| call.has_result);
        let same = open.iter().find(|(_, call)| fits(&call.arguments, wanted));
        same.or(open.first()).map(|(id, _)| (*id).clone())
    }

    /// A call with this name and these arguments that a span without an id executed before the span of its
    /// model was received.
    fn orphan(&mut self, name: &str, arguments: &str) -> Option<(&ToolCallId, &mut SpanCall)> {
        self.calls
            .iter_mut()
            .find(|(_, call)| call.is_nameless && call.name == name && fits(arguments, &call.arguments))
    }
}

/// Whether the arguments that a model wrote and those of a tool's span are JSON objects that differ. Other
/// texts are not compared: some instrumentations print arguments in a form of their own. Positional arguments
/// have no names to compare.
fn are_different(written: &str, given: &str) -> bool {
    let trees = (tree_of(&Value::from(written)), tree_of(&Value::from(given)));
    trees.0.is_object() && trees.1.is_object() && trees.0 != trees.1 && positional(&trees.1).is_none()
}

/// Most arguments of a call that are compared by their values.
const COMPARED_ARGUMENTS_MAX: usize = 64;

/// Whether the arguments that a model wrote are those of a tool's span: the same, or each named one is among their fields and each positional one
/// is the value of another one of the rest. With more than [`COMPARED_ARGUMENTS_MAX`] they are not.
fn fits(written: &str, given: &str) -> bool {
    if are_same(written, given) {
        return true;
    }
    let trees = (tree_of(&Value::from(written)), tree_of(&Value::from(given)));
    let (Some(fields), Some((listed, named))) = (trees.0.as_object(), positional(&trees.1)) else {
        return false;
    };
    let count = listed.len().saturating_add(named.map_or(0, serde_json::Map::len));
    if fields.len() != count || count > COMPARED_ARGUMENTS_MAX {
        return false;
    }
    let is_named = |name: &String| named.is_some_and(|named| named.contains_key(name));
    let mut rest: Vec<&Value> =
        fields.iter().filter(|(name, _)| !is_named(name)).map(|(_, value)| value).collect();
    let mut take = |value: &Value| {
        let at = rest.iter().position(|field| *field == value);
        at.map(|at| rest.swap_remove(at)).is_some()
    };
    named.is_none_or(|named| named.iter().all(|(name, value)| fields.get(name) == Some(value)))
        && listed.iter().all(&mut take)
}

/// The positional arguments of a tool's span, and the named ones beside them.
type PositionalArguments<'a> = (&'a [Value], Option<&'a serde_json::Map<String, Value>>);

/// The arguments of a tool's span that has positional ones.
fn positional(given: &Value) -> Option<PositionalArguments<'_>> {
    match given {
        Value::Array(listed) => Some((listed.as_slice(), None)),
        Value::Object(fields) if fields.len() == 2 => {
            Some((fields.get("args")?.as_array()?.as_slice(), Some(fields.get("kwargs")?.as_object()?)))
        }
        _ => None,
    }
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
        if let Some((tool, orphan)) = self.calls.orphan(call.name, call.arguments) {
            given.clone_into(&mut orphan.given);
            (orphan.is_nameless, orphan.announced_ms) = (false, Some(at));
            if !are_same(&orphan.arguments, call.arguments) {
                call.arguments.clone_into(&mut orphan.arguments);
                let (tool, arguments) = (tool.clone(), Some(call.arguments.to_owned()));
                self.push(Kind::ToolCall { tool, name: None, arguments }, agent, at);
            }
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
            executed: None,
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
        let took = held.end_ms.saturating_sub(held.start_ms);
        match meaning.result.clone().or(reason) {
            Some(output) => {
                self.give_back(tool, output, meaning.error.is_some(), Some(took), held.end_ms);
            }
            None => {
                if let Some(call) = self.calls.calls.get_mut(&tool) {
                    call.executed.get_or_insert((took, held.end_ms));
                }
            }
        }
    }

    /// Publishes the ends of calls whose result is nowhere, with an empty one.
    pub(super) fn end_calls(&mut self) {
        let open = self.calls.calls.iter().filter(|(_, call)| !call.has_result);
        let open: Vec<_> = open.filter_map(|(tool, call)| Some((tool.clone(), call.executed?))).collect();
        for (tool, (took, at)) in open {
            self.give_back(tool, Json::of(&()), false, Some(took), at);
        }
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
            let found = found.map(|(tool, call)| (tool.clone(), call.announced_ms, call.executed));
            if found.is_none() && self.calls.calls.values().any(|call| call.given == owed.given) {
                continue;
            }
            if let Some((tool, _, Some((took, at)))) = found {
                self.give_back(tool, owed.output, owed.is_error, Some(took), at);
            } else if !force && now.saturating_sub(owed.since) < SPAN_HELD_MS {
                self.calls.owed.push(owed);
            } else if let Some((tool, announced, _)) = found {
                let took = announced.and_then(|announced| owed.at_ms.checked_sub(announced));
                if let Some(call) = self.calls.calls.get_mut(&tool) {
                    call.is_hearsay = true;
                }
                self.give_back(tool, owed.output, owed.is_error, took, owed.at_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_positional_argument_is_another_value_and_so_many_are_compared() {
        let python = |args: &str| format!(r#"{{"args": {args}, "kwargs": {{}}}}"#);
        for (written, args, is_its) in [
            (r#"{"a": 1, "b": 2}"#, "[2, 1]", true),
            (r#"{"a": 1, "b": 2}"#, "[1, 1]", false),
            (r#"{"a": 1, "b": 1}"#, "[1, 1]", true),
            (r#"{"a": 1, "b": 2}"#, "[1]", false),
        ] {
            assert_eq!(fits(written, &python(args)), is_its, "{written} {args}");
        }
        let fields: Vec<String> = (0..=COMPARED_ARGUMENTS_MAX).map(|at| format!("\"k{at}\": {at}")).collect();
        let values: Vec<String> = (0..=COMPARED_ARGUMENTS_MAX).map(|at| at.to_string()).collect();
        let (written, args) = (format!("{{{}}}", fields.join(",")), format!("[{}]", values.join(",")));
        assert!(!fits(&written, &python(&args)));
    }
}
