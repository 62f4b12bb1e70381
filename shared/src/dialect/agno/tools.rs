//! Calls: they come whole, run at once, and tell twice that they failed.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::Agno;
use super::wire::{Execution, Happening, Metrics};
use crate::dialect::Decoded;
use crate::dialect::field::Field;
use crate::dialect::writer::Outcome;
use crate::event::{Kind, ToolState};
use crate::ids::AgentId;
use crate::json::Json;
use crate::limits::ITEMS_PER_RUN_MAX;

/// Calls that are looked at to find the one that an event without its id means.
const LOOKED_AT_MAX: usize = 256;

/// The calls of the run that goes on.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the id that the writer has for them.
    known: IndexMap<CompactString, Call>,
    /// The call that a child run works for.
    pub(super) children: IndexMap<CompactString, CompactString>,
}

#[derive(Debug)]
struct Call {
    name: CompactString,
    agent: Option<AgentId>,
    /// To whom it hands work over, if it does.
    member: CompactString,
    has_child: bool,
    is_asked: bool,
    stands: Stands,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Waiting,
    Running,
    Over,
}

/// Arguments by which a team hands work to a member.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Errand<'a> {
    #[serde(borrow)]
    member_id: Field<'a>,
    #[serde(borrow)]
    task: Field<'a>,
    #[serde(borrow)]
    task_description: Field<'a>,
}

impl Calls {
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.children.clear();
    }

    /// The call of the agent `parent` that handed work to `member`, where no child run says so.
    pub(super) fn handed_to(&mut self, member: &str, parent: Option<&AgentId>) -> Option<CompactString> {
        let mut latest = self.known.iter_mut().rev().take(LOOKED_AT_MAX);
        let (id, call) = latest.find(|(_, call)| {
            call.stands != Stands::Over
                && !call.has_child
                && call.agent.as_ref() == parent
                && call.member == member
        })?;
        call.has_child = true;
        Some(id.clone())
    }
}

/// What a call was told to do, for the agent that does it.
pub(super) fn errand(args: Field<'_>) -> Option<String> {
    let errand: Errand<'_> = args.object();
    errand.task.word().or_else(|| errand.task_description.word()).map(std::borrow::Cow::into_owned)
}

impl Agno {
    /// The calls that an event speaks of.
    fn executions<'a>(it: &Happening<'a>) -> Vec<Execution<'a>> {
        let one = if it.tool.is_object() { it.tool } else { it.tools };
        one.list().into_iter().map(Field::object).collect()
    }

    /// Makes sure that the call is told of; the id that it has here.
    fn call(
        &mut self,
        call: &Execution<'_>,
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
            if let Some((id, _)) = open.find(|(_, it)| it.stands != Stands::Over && it.name == name) {
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
        let args = call.tool_args.text().unwrap_or_else(|| call.tool_args.as_json_text().into());
        let args = if args.is_empty() || args == "null" { "{}" } else { &args };
        let opened = self.w.whole_call(&given.unwrap_or_default(), &name, Some(args), agent, out);
        let id = CompactString::new(opened.id());
        let member = call.tool_args.object::<Errand<'_>>().member_id.word().unwrap_or_default();
        let known = Call {
            name: CompactString::new(&name),
            agent: agent.cloned(),
            member: CompactString::new(&member),
            has_child: false,
            is_asked: false,
            stands: Stands::Waiting,
        };
        self.calls.known.insert(id.clone(), known);
        Some(id)
    }

    /// A call begins to run.
    pub(super) fn tool_started(&mut self, it: &Happening<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        for execution in Self::executions(it) {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            self.note_child(&execution, &id);
            let Some(call) = self.calls.known.get_mut(&id) else { continue };
            if call.stands != Stands::Waiting {
                continue;
            }
            call.stands = Stands::Running;
            let agent = call.agent.clone();
            if execution.confirmed.is_true() {
                let tool = self.w.tool_id(&id);
                let answer = Kind::ApprovalAnswer { tool, approved: true, text: None };
                self.w.push_by(agent.as_ref(), answer, out);
            }
            self.w.state(&id, ToolState::Executing, agent.as_ref(), out);
        }
    }

    fn note_child(&mut self, execution: &Execution<'_>, id: &CompactString) {
        if let Some(child) = execution.child_run_id.word()
            && self.calls.children.len() < ITEMS_PER_RUN_MAX
        {
            self.calls.children.insert(CompactString::new(&child), id.clone());
            self.tasks.insert(CompactString::new(&child), errand(execution.tool_args).unwrap_or_default());
        }
    }

    /// A call is over; `has_failed` where the event says so by its name.
    pub(super) fn tool_over(
        &mut self,
        it: &Happening<'_>,
        has_failed: bool,
        agent: Option<&AgentId>,
        out: &mut Decoded,
    ) {
        for execution in Self::executions(it) {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            self.note_child(&execution, &id);
            let Some(call) = self.calls.known.get_mut(&id) else { continue };
            // That it failed is told twice: with the result, and once more as an error.
            if std::mem::replace(&mut call.stands, Stands::Over) == Stands::Over {
                continue;
            }
            let agent = call.agent.clone();
            let texts = [execution.result, execution.content, it.error, it.content];
            let output = texts.into_iter().find(|text| text.is_some()).unwrap_or_default();
            let outcome = Outcome {
                is_error: has_failed || execution.tool_call_error.is_true(),
                files: media(it),
                ..Outcome::of(output.json()).took(execution.metrics.object::<Metrics<'_>>().millis())
            };
            self.w.result(&id, outcome, agent.as_ref(), out);
        }
    }

    /// The run waits for a person: for consent, for what a tool must know, or for somebody who executes it.
    pub(super) fn ask(&mut self, it: &Happening<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let requirements = it.requirements.list().into_iter();
        let required = requirements.map(|it| it.object::<Happening<'_>>().tool_execution);
        let all: Vec<Execution<'_>> = it
            .tools
            .list()
            .into_iter()
            .chain(required)
            .filter(|it| it.is_object())
            .map(Field::object)
            .collect();
        for execution in all {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            let Some(call) = self.calls.known.get_mut(&id) else { continue };
            let is_question =
                execution.requires_confirmation.is_true() || execution.requires_user_input.is_true();
            if call.stands == Stands::Over || !is_question || std::mem::replace(&mut call.is_asked, true) {
                continue;
            }
            let agent = call.agent.clone();
            let fields = execution.user_input_schema.list().into_iter();
            let fields: Vec<String> =
                fields.filter_map(|it| it.object::<InputField<'_>>().name.word().map(Into::into)).collect();
            let text = (!fields.is_empty()).then(|| format!("needs {}", fields.join(", ")));
            let tool = self.w.tool_id(&id);
            self.w.push_by(agent.as_ref(), Kind::ApprovalRequest { tool, text }, out);
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputField<'a> {
    #[serde(borrow)]
    name: Field<'a>,
}

/// What came with a result beside its text.
fn media(it: &Happening<'_>) -> Option<Json> {
    let lists = [it.images, it.videos, it.audio, it.files];
    let items: Vec<&str> = lists.into_iter().flat_map(Field::list).map(Field::as_json_text).collect();
    if items.is_empty() { None } else { Json::parse(&format!("[{}]", items.join(","))) }
}
