//! Calls: their arguments, their execution, and their results.
//!
//! ```text
//! ToolCallStarted                     the call is written and executed
//! ToolCallCompleted                   its result; the time is that of metrics.duration
//! ToolCallCompleted, ToolCallError    a call that failed is reported twice: the result counts once, as a failure
//! ```
//!
//! Calls that run in parallel all complete after the slowest one, so the time between events says nothing.
//! The `content` of `ToolCallCompleted` is a sentence about the call, used only if the call has no `result`.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::AgnoMeaning;
use super::asked::is_rejected;
use super::wire::{AgnoEvent, AgnoMetrics, ToolExecution};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, OpenCall};
use model::event::{Kind, ToolState};
use model::ids::AgentId;
use model::json::Json;
use model::limits::ITEMS_PER_RUN_MAX;

/// Most calls that are searched for the one that an event without an id is about.
const LOOKED_AT_MAX: usize = 256;

/// How the names of tools begin by which a team gives work to its members. The framework measures only how
/// long it took to hand over, not what the member did, so that time is not used.
const HAND_OVER: [&str; 4] =
    ["delegate_task_to_member", "transfer_task_to_member", "forward_task_to_member", "run_member_agent"];

/// The calls of the open run, of all its agents.
#[derive(Debug, Default)]
pub(super) struct AgnoCalls {
    /// The calls by the id that the writer has for them, oldest first.
    pub(super) known: IndexMap<CompactString, AgnoCallState>,
    /// Calls whose arguments are streamed, by what their pieces say of them: the id, else `#` with a place or
    /// name and the agent.
    writing: IndexMap<CompactString, OpenCall>,
    /// The calls that child runs work for, by the ids of those runs.
    pub(super) children: IndexMap<CompactString, CompactString>,
}

/// A call that was written.
#[derive(Debug)]
pub(super) struct AgnoCallState {
    name: CompactString,
    /// The agent that calls; nothing for the main one.
    pub(super) agent: Option<AgentId>,
    /// The member that gets work by it; empty if it is another tool.
    member: CompactString,
    /// The sub-agent that does the work has begun.
    has_child: bool,
    /// What it waited for when its run paused.
    pub(super) wants: Option<AwaitedInput>,
    /// The stage of the call.
    pub(super) stands: AgnoCallStage,
}

/// What a call of a paused run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AwaitedInput {
    /// A person must consent to the call.
    Consent,
    /// Values for its arguments.
    Input,
    /// Somebody who executes the call.
    Execution,
}

/// The stage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgnoCallStage {
    /// Written, and not executed yet.
    Waiting,
    /// The call is being executed.
    Running,
    /// The call has a result, or was rejected.
    Over,
    /// The call has failed, and no later event changes that.
    Failed,
}

impl AgnoCallStage {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Over | Self::Failed)
    }
}

/// The arguments by which a team gives work to a member.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DelegationArguments<'a> {
    #[serde(borrow)]
    member_id: ForeignField<'a>,
    #[serde(borrow)]
    task: ForeignField<'a>,
    #[serde(borrow)]
    task_description: ForeignField<'a>,
}

impl AgnoCalls {
    /// Forgets all calls, since their run is over.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.writing.clear();
        self.children.clear();
    }

    /// The newest open call of the agent `parent` that gave work to `member` and has no sub-agent yet, for
    /// versions in which no child run says so. It has one from now on.
    pub(super) fn handed_to(&mut self, member: &str, parent: Option<&AgentId>) -> Option<CompactString> {
        let mut latest = self.known.iter_mut().rev().take(LOOKED_AT_MAX);
        let (id, call) = latest.find(|(_, call)| {
            !call.stands.is_over()
                && !call.has_child
                && call.agent.as_ref() == parent
                && call.member == member
        })?;
        call.has_child = true;
        Some(id.clone())
    }
}

/// The task in the arguments of a call that gives work to a member.
pub(super) fn delegated_task(args: ForeignField<'_>) -> Option<String> {
    let arguments: DelegationArguments<'_> = args.object();
    arguments.task.word().or_else(|| arguments.task_description.word()).map(std::borrow::Cow::into_owned)
}

impl AgnoMeaning {
    /// The calls that an event is about.
    fn executions<'a>(it: &AgnoEvent<'a>) -> Vec<ToolExecution<'a>> {
        let one = if it.tool.is_object() { it.tool } else { it.tools };
        one.list().into_iter().map(ForeignField::object).collect()
    }

    /// Makes sure that the call is written, and returns the id by which the writer knows it. Without an id it
    /// is the newest open call of that tool. Nothing if there is no room for it.
    pub(super) fn call(
        &mut self,
        call: &ToolExecution<'_>,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) -> Option<CompactString> {
        let (given, name) = (call.tool_call_id.words(), call.tool_name.word().unwrap_or_default());
        if let Some(id) = &given
            && self.calls.known.contains_key(id.as_ref())
        {
            return Some(CompactString::new(id));
        }
        if given.is_none() {
            let mut open = self.calls.known.iter().rev().take(LOOKED_AT_MAX);
            if let Some((id, _)) = open.find(|(_, it)| !it.stands.is_over() && it.name == name) {
                return Some(id.clone());
            }
        }
        if !self.w.has_room(out) || self.calls.known.len() >= ITEMS_PER_RUN_MAX {
            return None;
        }
        let enclosing =
            call.parent_tool_call_id.word().filter(|id| self.calls.known.contains_key(id.as_ref()));
        let inner = enclosing.map(|id| self.harness_agent(&id, agent, out));
        let agent = inner.as_ref().or(agent);
        let given = given.unwrap_or_default();
        let id = if let Some(id) = self.written(&given, &name, agent, call, out) {
            id
        } else {
            let opened = self.w.whole_call(&given, &name, Some(&arguments(call)), agent, out);
            CompactString::new(opened.id())
        };
        let member = call.tool_args.object::<DelegationArguments<'_>>().member_id.word().unwrap_or_default();
        let known = AgnoCallState {
            name: CompactString::new(&name),
            agent: agent.cloned(),
            member: CompactString::new(&member),
            has_child: false,
            wants: None,
            stands: AgnoCallStage::Waiting,
        };
        self.calls.known.insert(id.clone(), known);
        Some(id)
    }

    /// Takes more of a call's arguments.
    pub(super) fn tool_grows(&mut self, it: &AgnoEvent<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let (given, name) = (it.tool_call_id.words(), it.tool_call_name.word().unwrap_or_default());
        let place = match (&given, it.tool_call_index.count()) {
            (Some(id), _) => CompactString::new(id),
            // Of calls without an id, those of one agent that have the same place are one.
            (None, Some(index)) => {
                compact_str::format_compact!("#{index} {}", agent.map_or("", AgentId::as_str))
            }
            (None, None) => compact_str::format_compact!("#{name} {}", agent.map_or("", AgentId::as_str)),
        };
        let is_known = given.as_ref().is_some_and(|id| self.calls.known.contains_key(id.as_ref()));
        if is_known || (!self.calls.writing.contains_key(&place) && !self.w.has_room(out)) {
            return;
        }
        if !self.calls.writing.contains_key(&place) {
            let given = given.unwrap_or_default();
            let opened = self.w.open_call(&given, &name, false, agent, out);
            self.calls.writing.insert(place.clone(), opened);
        }
        if let Some(open) = self.calls.writing.get_mut(&place) {
            if open.name().is_empty() {
                open.set_name(&name);
            }
            open.args(&it.arguments_delta.words().unwrap_or_default(), &self.w, out);
        }
    }

    /// Ends the arguments of the call that was streamed until now, and returns its id; nothing if none was.
    fn written(
        &mut self,
        given: &str,
        name: &str,
        agent: Option<&AgentId>,
        call: &ToolExecution<'_>,
        out: &mut Decoded,
    ) -> Option<CompactString> {
        let writing = &mut self.calls.writing;
        let is_it =
            |key: &str, it: &OpenCall| key.starts_with('#') && it.name() == name && it.agent() == agent;
        let at = writing
            .get_index_of(given)
            .or_else(|| writing.iter().take(LOOKED_AT_MAX).position(|(key, it)| is_it(key, it)))?;
        let (_, mut open) = writing.shift_remove_index(at)?;
        open.set_name(name);
        let instead = (!open.is_whole()).then(|| arguments(call).into_owned());
        open.written(instead, &mut self.w, out);
        if given.is_empty() {
            return Some(CompactString::new(open.id()));
        }
        self.w.name_call(open.id(), given);
        Some(CompactString::new(given))
    }

    /// Takes that calls begin to be executed. One that waited for a person has been answered.
    pub(super) fn tool_started(&mut self, it: &AgnoEvent<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        for execution in Self::executions(it) {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            self.note_child(&execution, &id);
            let Some(call) = self.calls.known.get_mut(&id) else { continue };
            if call.stands != AgnoCallStage::Waiting {
                continue;
            }
            if is_rejected(&execution) {
                self.reject(&id, &execution, out);
                continue;
            }
            call.stands = AgnoCallStage::Running;
            let (agent, wants) = (call.agent.clone(), call.wants);
            let tool = self.w.tool_id(&id);
            if wants == Some(AwaitedInput::Input) {
                // What the person gave stands in the arguments now.
                let arguments = Some(arguments(&execution).into_owned());
                let kind = Kind::ToolCall { tool: tool.clone(), name: None, arguments };
                self.w.push_by(agent.as_ref(), kind, out);
            }
            if execution.confirmed.is_true() || wants == Some(AwaitedInput::Input) {
                let answer = Kind::ApprovalAnswer { tool, approved: true, text: None };
                self.w.push_by(agent.as_ref(), answer, out);
            }
            self.w.state(&id, ToolState::Executing, agent.as_ref(), out);
        }
    }

    /// Notes the child run that works for the call `id`, and its task.
    fn note_child(&mut self, execution: &ToolExecution<'_>, id: &CompactString) {
        if let Some(child) = execution.child_run_id.word()
            && self.calls.children.len() < ITEMS_PER_RUN_MAX
        {
            self.calls.children.insert(CompactString::new(&child), id.clone());
            self.tasks
                .insert(CompactString::new(&child), delegated_task(execution.tool_args).unwrap_or_default());
        }
    }

    /// Takes that calls are over; `has_failed` is true if the name of the event says so.
    pub(super) fn tool_over(
        &mut self,
        it: &AgnoEvent<'_>,
        has_failed: bool,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        for execution in Self::executions(it) {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            self.note_child(&execution, &id);
            if is_rejected(&execution) {
                self.reject(&id, &execution, out);
                continue;
            }
            let texts = [execution.result, execution.content, it.error, it.content];
            let output = texts.into_iter().find(|text| text.is_some()).unwrap_or_default();
            let is_error = has_failed || execution.tool_call_error.is_true();
            let outcome = CallOutcome { is_error, files: media(it), ..CallOutcome::of(output.json()) };
            self.over(&id, &execution, outcome, out);
        }
    }

    /// Writes the result of the call `id`. A failure is reported twice, with the result and as an error, and
    /// is written once. A call that was reported as complete and then as an error has failed.
    pub(super) fn over(
        &mut self,
        id: &str,
        execution: &ToolExecution<'_>,
        outcome: CallOutcome,
        out: &mut Decoded,
    ) {
        let Some(call) = self.calls.known.get_mut(id) else { return };
        if call.stands == AgnoCallStage::Failed || (call.stands == AgnoCallStage::Over && !outcome.is_error) {
            return;
        }
        call.stands = if outcome.is_error { AgnoCallStage::Failed } else { AgnoCallStage::Over };
        let hands_over = call.has_child
            || execution.child_run_id.word().is_some()
            || HAND_OVER.iter().any(|name| call.name.starts_with(name));
        let agent = call.agent.clone();
        let measured = execution.metrics.object::<AgnoMetrics<'_>>().millis().filter(|_| !hands_over);
        self.w.result(id, outcome.took(measured), agent.as_ref(), out);
    }
}

/// The arguments as text; `{}` if there are none.
fn arguments<'a>(call: &ToolExecution<'a>) -> std::borrow::Cow<'a, str> {
    let args = call.tool_args.text().unwrap_or_else(|| call.tool_args.as_json_text().into());
    if args.is_empty() || args == "null" { "{}".into() } else { args }
}

/// The files that came with a result, as a list.
fn media(it: &AgnoEvent<'_>) -> Option<Json> {
    let lists = [it.images, it.videos, it.audio, it.files];
    let items: Vec<&str> =
        lists.into_iter().flat_map(ForeignField::list).map(ForeignField::as_json_text).collect();
    if items.is_empty() { None } else { Json::parse(&format!("[{}]", items.join(","))) }
}
