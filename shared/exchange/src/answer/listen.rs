//! What the model said and which calls it left to its caller, collected from the events of its answer.

use std::collections::BTreeSet;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::turns::ComparedWords;
use model::event::{Kind, PartKind, ToolState};
use model::ids::{PartId, ToolCallId};
use model::limits::{ITEMS_PER_RUN_MAX, TEXT_CALL_BYTES_MAX};

/// Collects the words and calls of one answer from its events, and gives new ids to calls whose ids the run
/// has used before.
#[derive(Debug)]
pub(super) struct AnswerCalls {
    /// The beginning of the ids that the decoder made up.
    prefix: CompactString,
    /// What the model said, in the form in which the next request is compared with it.
    words: ComparedWords,
    /// The parts that are text of the answer. Their number is bounded by [`ITEMS_PER_RUN_MAX`].
    texts: BTreeSet<PartId>,
    /// The calls of the answer, by the decoder's ids.
    calls: IndexMap<ToolCallId, AnswerCall>,
    /// The ids that calls of the run have had.
    used: BTreeSet<ToolCallId>,
}

/// A tool call of the answer.
#[derive(Debug)]
struct AnswerCall {
    /// The id of the call in the events.
    tool: ToolCallId,
    /// The vendor's id; empty where the vendor gave none.
    given: CompactString,
    /// The name of the tool.
    name: CompactString,
    /// The arguments so far.
    arguments: String,
    /// Whether the answer's own model made it, and no agent inside of the answer.
    is_main: bool,
    /// The stage of the call, which says who has to act.
    stage: AnswerCallStage,
}

/// What the caller has to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerCallStage {
    /// The model is still writing it.
    Writing,
    /// The caller has to carry it out.
    HandedOver,
    /// A person has to decide about it.
    Asks,
    /// The provider carries it out, or it is over. A call stays in this stage.
    NotOurs,
}

/// A call that the caller has to carry out, or that waits for a person's consent.
#[derive(Debug, Clone)]
pub(crate) struct HandedOverCall {
    /// The id of the call in the events.
    pub(crate) tool: ToolCallId,
    /// The vendor's id; empty where the vendor gave none.
    pub(crate) given: CompactString,
    pub(crate) name: CompactString,
    /// A person has to consent before the call is carried out.
    pub(crate) asks: bool,
}

impl AnswerCalls {
    pub(super) fn new(prefix: CompactString, used: BTreeSet<ToolCallId>, words: ComparedWords) -> Self {
        Self { prefix, words, texts: BTreeSet::new(), calls: IndexMap::new(), used }
    }

    /// Takes one event and returns it with ids that the run has not had before. `is_main` is false for events
    /// of an agent inside the answer.
    pub(super) fn hear(&mut self, kind: Kind, is_main: bool) -> Kind {
        match kind {
            Kind::PartStart { part, kind } => {
                if is_main && matches!(kind, PartKind::Text | PartKind::Refusal) && self.has_room() {
                    self.texts.insert(part.clone());
                }
                Kind::PartStart { part, kind }
            }
            Kind::PartDelta { part, off, text } => {
                if self.texts.contains(&part) {
                    self.words.text(&text);
                }
                Kind::PartDelta { part, off, text }
            }
            Kind::ToolStart(mut start) => {
                let given = start.given_id.take().unwrap_or_else(|| CompactString::new(start.tool.as_str()));
                let given =
                    if given.starts_with(self.prefix.as_str()) { CompactString::default() } else { given };
                let stage = if start.server { AnswerCallStage::NotOurs } else { AnswerCallStage::Writing };
                let tool = self.open(start.tool, given.clone(), start.name.clone(), is_main, stage);
                start.given_id = (!given.is_empty() && given != tool.as_str()).then_some(given);
                Kind::ToolStart(model::event::ToolStart { tool, ..start })
            }
            other => self.hear_of_call(other),
        }
    }

    /// Takes an event about a call: replaces the id and advances the stage of the call.
    fn hear_of_call(&mut self, mut kind: Kind) -> Kind {
        let id = match &mut kind {
            Kind::ToolArgs { tool, .. }
            | Kind::ToolCall { tool, .. }
            | Kind::ToolOutput { tool, .. }
            | Kind::ApprovalRequest { tool, .. }
            | Kind::ApprovalAnswer { tool, .. } => tool,
            Kind::ToolState(change) => &mut change.tool,
            Kind::ToolResult(result) => &mut result.tool,
            Kind::ToolProgress(progress) => &mut progress.tool,
            Kind::AgentStart(start) => match &mut start.tool {
                Some(tool) => tool,
                None => return kind,
            },
            _ => return kind,
        };
        let Some(call) = self.calls.get_mut(id) else { return kind };
        *id = call.tool.clone();
        match &kind {
            Kind::ToolArgs { text, .. } => call.add(text),
            Kind::ToolCall { name, arguments, .. } => {
                if let Some(name) = name {
                    call.name.clone_from(name);
                }
                if let Some(arguments) = arguments {
                    call.arguments.clear();
                    call.add(arguments);
                }
                call.advance(AnswerCallStage::HandedOver);
            }
            Kind::ApprovalRequest { .. } => call.advance(AnswerCallStage::Asks),
            Kind::ToolState(change) if change.state >= ToolState::Executing => {
                call.advance(AnswerCallStage::NotOurs);
            }
            Kind::ToolResult(_) => call.advance(AnswerCallStage::NotOurs),
            _ => {}
        }
        kind
    }

    /// Whether another part of text may be remembered.
    fn has_room(&self) -> bool {
        self.texts.len() < ITEMS_PER_RUN_MAX
    }

    /// Remembers a new call and returns its id in the run, which differs from `id` if the run has used that
    /// before.
    fn open(
        &mut self,
        id: ToolCallId,
        given: CompactString,
        name: CompactString,
        is_main: bool,
        stage: AnswerCallStage,
    ) -> ToolCallId {
        let mut tool = id.clone();
        let mut times = 1_u64;
        while self.used.contains(&tool) {
            times = times.saturating_add(1);
            tool = ToolCallId::new(&format!("{id}.{times}"));
        }
        if self.calls.len() < ITEMS_PER_RUN_MAX {
            self.used.insert(tool.clone());
            let call =
                AnswerCall { tool: tool.clone(), given, name, arguments: String::new(), is_main, stage };
            self.calls.insert(id, call);
        }
        tool
    }

    /// What the model said, the calls that it left to its caller, and the ids of all its calls.
    pub(super) fn heard(&self) -> (ComparedWords, Vec<HandedOverCall>, Vec<ToolCallId>) {
        let mut words = self.words.clone();
        let mut handed_over = Vec::new();
        let mut used = Vec::with_capacity(self.calls.len());
        for call in self.calls.values() {
            used.push(call.tool.clone());
            if call.stage == AnswerCallStage::NotOurs {
                continue;
            }
            if call.is_main {
                words.call(&call.given, &call.name, &call.arguments);
            }
            if call.stage != AnswerCallStage::Writing {
                let asks = call.stage == AnswerCallStage::Asks;
                let (tool, given, name) = (call.tool.clone(), call.given.clone(), call.name.clone());
                handed_over.push(HandedOverCall { tool, given, name, asks });
            }
        }
        (words, handed_over, used)
    }
}

impl AnswerCall {
    /// Appends arguments, as long as they fit into [`TEXT_CALL_BYTES_MAX`].
    fn add(&mut self, text: &str) {
        if self.arguments.len().saturating_add(text.len()) <= TEXT_CALL_BYTES_MAX {
            self.arguments.push_str(text);
        }
    }

    /// Moves the call to `stage`, unless it is [`AnswerCallStage::NotOurs`] already.
    fn advance(&mut self, stage: AnswerCallStage) {
        if self.stage != AnswerCallStage::NotOurs {
            self.stage = stage;
        }
    }
}
