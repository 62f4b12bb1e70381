//! Divides a view into steps, before the rules of any API: what was said, and what each answer of the model
//! called.
//!
//! ```text
//! run:     text a · call 1 · call 2 · result 1 · result 2 · text b · (broke off)
//! pieces:  Step {text a, calls 1 2 with results} · Step {text b} · BrokeOff
//! ```
//!
//! A new step begins where the hub's own agents recorded it (the event `next_answer`). In any other run it
//! begins with a text or a thinking behind calls, and with a call that was begun after another call of the
//! step was over. What sub-agents said and called is left out. Times decide only that; the order is that of
//! the run.

use std::collections::BTreeSet;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use super::{PARTIAL_ANSWER, PartialResponse};
use model::event::{MessageFile, PartKind, RunStatus, ToolState};
use model::flow::NEXT_ANSWER;
use model::flow::{ConversationSection, RunSection, turns};
use model::ids::ToolCallId;
use model::json::Json;
use model::view::{Item, NoteBody, PartView, RunView, ToolView, View};

/// The dialect of runs of the hub's own agents.
const RUNNER: &str = "runner";

/// What becomes of a tool call without a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnfinishedCalls {
    /// The call is left out.
    #[default]
    LeaveOut,
    /// The call is answered with what is known of it: interrupted, cancelled, or not executed.
    Answer,
}

/// A piece of the history.
///
/// Pieces are in the order of the conversation. A `BrokeOff` never follows another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryPiece {
    /// A message of the history, with its role as it came, its text, and its files. The text is not blank unless there are
    /// files.
    Message(CompactString, String, Vec<MessageFile>),
    /// One answer of the model.
    Step(HistoryStep),
    /// The response before this broke off.
    BrokeOff(PartialResponse),
}

/// One answer of a model: a text, tool calls, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryStep {
    /// The thinking with a signature: APIs accept no other.
    pub thinking: Vec<SignedThinking>,
    /// The text; blank if there is none.
    pub text: String,
    /// The calls, each with its result.
    pub calls: Vec<HistoryCall>,
}

impl HistoryStep {
    /// Puts a paragraph between the text so far and a text that came after a call.
    fn part_texts(&mut self) {
        if !self.calls.is_empty() && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str("\n\n");
        }
    }

    /// Whether the step has any content.
    fn is_there(&self) -> bool {
        !self.calls.is_empty() || !self.text.trim().is_empty()
    }
}

/// Thinking with the provider's signature, which the next request has to repeat unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedThinking {
    /// The text; empty if the provider hides it.
    pub text: String,
    /// The signature of the provider.
    pub signature: String,
}

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCall {
    /// The id of the call, unique in the conversation.
    pub id: ToolCallId,
    /// The name of the tool.
    pub name: CompactString,
    /// The arguments, always a JSON object.
    pub arguments: Json,
    /// The result; never blank.
    pub result: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// The history of `view`, in order, and whether the newest response broke off.
///
/// The second value is `None` if the newest run is complete, or if it is running and no text of its main
/// agent is open; also if there is no run.
pub fn history(view: &View, unfinished: UnfinishedCalls) -> (Vec<HistoryPiece>, Option<PartialResponse>) {
    let mut writer = HistoryWriter { unfinished, said: Vec::new(), ids: BTreeSet::new() };
    let mut partial = None;
    for turn in turns(view) {
        match turn {
            ConversationSection::Message(_, message) => {
                // A message of a tool belongs to no call: results are in the runs.
                let is_result = matches!(message.role.as_str(), "tool" | "function");
                let is_asked =
                    !matches!(message.role.as_str(), "system" | "developer" | "assistant" | "ai" | "model");
                let has_files = is_asked && !message.files.is_empty();
                if !is_result && (!message.text.trim().is_empty() || has_files) {
                    let (role, text) = (message.role.clone(), message.text.to_string());
                    writer.said.push(HistoryPiece::Message(role, text, message.files.clone()));
                }
            }
            ConversationSection::Run(stretch) => partial = writer.stretch(&stretch),
        }
    }
    (writer.said, partial)
}

/// Collects the pieces of one view.
struct HistoryWriter {
    /// What is done about calls without a result.
    unfinished: UnfinishedCalls,
    /// The pieces so far, in order.
    said: Vec<HistoryPiece>,
    /// The ids of the calls so far.
    ids: BTreeSet<ToolCallId>,
}

impl HistoryWriter {
    /// Adds what the main agent did in a section of a run. The result says whether the run's last response
    /// broke off.
    ///
    /// A failure in the middle of a run of the hub's own is marked only if the run goes on after it; one at
    /// its end is part of how the run ended.
    fn stretch(&mut self, stretch: &RunSection<'_>) -> Option<PartialResponse> {
        let run = stretch.run;
        // The hub's own agents record where their answers end.
        let is_told = run.own && run.dialect.as_deref() == Some(RUNNER);
        let mut step = HistoryStep::default();
        // When the first call of the step was over; nothing as long as none is.
        let mut first_end: Option<u64> = None;
        // Set after a failure, until the run goes on.
        let mut failed = false;
        let before = self.said.len();
        for item in run.items.iter().skip(stretch.items.start).take(stretch.items.len()) {
            match item {
                Item::Part(id) => {
                    let Some(part) = run.parts.get(id).filter(|part| part.agent.is_none()) else { continue };
                    self.go_on(&mut failed, &mut step);
                    if !step.calls.is_empty() && !is_told {
                        // The model went on after its calls: for an API this is the next answer.
                        self.put(std::mem::take(&mut step));
                        first_end = None;
                    }
                    if part.kind == PartKind::Thinking {
                        step.thinking.extend(thinking(part));
                    } else {
                        step.part_texts();
                        add_text(&mut step.text, part);
                    }
                }
                Item::Tool(id) => {
                    let Some(tool) = run.tools.get(id).filter(|tool| tool.agent.is_none()) else { continue };
                    let Some((result, is_error)) = answer(run, tool, self.unfinished) else { continue };
                    self.go_on(&mut failed, &mut step);
                    if !is_told && first_end.is_some_and(|end| tool.started_at > end) {
                        // The call was written when a result was known: it belongs to the next answer.
                        self.put(std::mem::take(&mut step));
                        first_end = None;
                    }
                    let end = tool.ended_at.unwrap_or(u64::MAX);
                    first_end = Some(first_end.map_or(end, |first| first.min(end)));
                    step.calls.push(HistoryCall {
                        id: self.unique(stretch.id.as_str(), id),
                        name: tool.name.clone(),
                        arguments: arguments(&tool.arguments.text),
                        result,
                        is_error,
                    });
                }
                Item::Note(number) => match run.notes.get(*number).map(|note| &note.body) {
                    Some(NoteBody::Custom { name, .. }) if is_told && name == NEXT_ANSWER => {
                        self.put(std::mem::take(&mut step));
                    }
                    Some(NoteBody::Custom { name, value }) if is_told && name == PARTIAL_ANSWER => {
                        self.put(std::mem::take(&mut step));
                        self.broke_off(told(value));
                    }
                    Some(NoteBody::Error(_)) if run.own => {
                        failed = self.said.len() > before || step.is_there();
                    }
                    _ => {}
                },
                Item::Agent(_) => {}
            }
        }
        self.put(step);
        if !stretch.is_last {
            return None;
        }
        let partial = partial(run)?;
        if !run.is_running() && self.said.len() > before {
            self.broke_off(partial);
        }
        Some(partial)
    }

    /// Adds a step, unless it has neither text nor calls: thinking alone is no answer.
    fn put(&mut self, step: HistoryStep) {
        if step.is_there() {
            self.said.push(HistoryPiece::Step(step));
        }
    }

    /// Notes that the run goes on. If it had failed, what came before is marked as broken off.
    fn go_on(&mut self, failed: &mut bool, step: &mut HistoryStep) {
        if std::mem::take(failed) {
            self.put(std::mem::take(step));
            self.broke_off(PartialResponse { is_partial: true, completion_percentage: None });
        }
    }

    /// Marks the last answer as broken off, unless it is marked already.
    fn broke_off(&mut self, partial: PartialResponse) {
        if !matches!(self.said.last(), Some(HistoryPiece::BrokeOff(_))) {
            self.said.push(HistoryPiece::BrokeOff(partial));
        }
    }

    /// `id`, or another one if a call of an earlier run has it.
    ///
    /// Ids are unique in one run only, and both APIs match calls with results by id over all messages. An
    /// empty id is replaced too.
    fn unique(&mut self, run: &str, id: &ToolCallId) -> ToolCallId {
        let mut unique = id.clone();
        let mut more = 1_u64;
        while unique.as_str().is_empty() || !self.ids.insert(unique.clone()) {
            unique = super::names::other_id(&format!("{run}/{id}"), more);
            more = more.saturating_add(1);
        }
        unique
    }
}

/// Reads the note of an answer that broke off.
///
/// A value without a percentage, or with one that is no number from 0 to 255, has none.
fn told(value: &Json) -> PartialResponse {
    let percent = value.to_value().get("completion_percentage").and_then(serde_json::Value::as_u64);
    let completion_percentage = percent.and_then(|percent| u8::try_from(percent).ok());
    PartialResponse { is_partial: true, completion_percentage }
}

/// Whether the last response of `run` broke off.
///
/// A running one has broken off if a text of its main agent is open: whoever asks now gets half of an answer.
fn partial(run: &RunView) -> Option<PartialResponse> {
    let is_open = |item: &Item| {
        let Item::Part(id) = item else { return false };
        run.parts.get(id).is_some_and(|part| part.agent.is_none() && part.kind == PartKind::Text)
    };
    let is_partial = match run.status {
        RunStatus::Complete => false,
        RunStatus::Running => run.open.iter().any(is_open),
        RunStatus::Error | RunStatus::Cancelled | RunStatus::Interrupted => true,
    };
    is_partial.then(|| PartialResponse { is_partial: true, completion_percentage: percentage(run) })
}

/// How much of the response there is, in percent, as the agent itself said last.
///
/// Notes are looked at from the newest to the oldest. Both a custom event and a raw one (with its `payload`)
/// may have it; numbers outside of 0 to 100 are ignored.
fn percentage(run: &RunView) -> Option<u8> {
    run.notes.iter().rev().filter(|note| note.agent.is_none()).find_map(|note| {
        let (NoteBody::Custom { value, .. } | NoteBody::Raw { value, .. }) = &note.body else { return None };
        if !value.as_str().contains("completion_percentage") {
            return None;
        }
        let value = value.to_value();
        let said =
            value.get("completion_percentage").or_else(|| value.pointer("/payload/completion_percentage"));
        let percent = said?.as_f64().filter(|percent| (0.0..=100.0).contains(percent))?;
        format!("{percent:.0}").parse().ok()
    })
}

/// The part as the API accepts it: with a signature, and complete.
fn thinking(part: &PartView) -> Option<SignedThinking> {
    let is_whole = part.ended_at.is_some() && part.body.cut == 0 && part.body.missing == 0;
    let signature = part.signature.clone().filter(|_| is_whole)?;
    Some(SignedThinking { text: part.body.text.to_string(), signature })
}

/// Adds the content of a part that is not thinking. A file becomes a line with its address if that is a web
/// address, else nothing.
fn add_text(text: &mut String, part: &PartView) {
    if part.kind == PartKind::File {
        // Neither API accepts files of an assistant; the model gets its address instead.
        let place = part.body.text.trim();
        if place.starts_with("http://") || place.starts_with("https://") {
            text.push_str("\n[file: ");
            text.push_str(place);
            text.push_str("]\n");
        }
        return;
    }
    text.push_str(&part.body.text);
}

/// The result of a call and whether it failed; nothing for a call that is left out.
///
/// A call without a name is always left out. One that gave a result, is complete or failed, or was rejected
/// by a person is always kept. Any other is kept only with [`UnfinishedCalls::Answer`], and only if the model
/// had finished writing it.
fn answer(run: &RunView, tool: &ToolView, unfinished: UnfinishedCalls) -> Option<(String, bool)> {
    if tool.name.trim().is_empty() {
        return None;
    }
    let is_finished = tool.result.is_some() || matches!(tool.state, ToolState::Complete | ToolState::Error);
    if is_finished {
        return Some((result(tool), tool.is_error));
    }
    if tool.rejected {
        // A rejected call belongs to the conversation: a later model must know why it was not executed.
        return Some(("The call was rejected and not executed.".to_owned(), true));
    }
    // Arguments that broke off are not a definition.
    let is_whole = tool.pending_at.is_some() && tool.state != ToolState::Writing;
    if unfinished == UnfinishedCalls::LeaveOut || !is_whole {
        return None;
    }
    let known = match tool.state {
        ToolState::Cancelled => "The call was cancelled and gave no result.",
        ToolState::Executing if run.is_running() => "The call has not given a result yet.",
        _ if tool.executing_at.is_some() => {
            "The call was interrupted before it gave a result. It may have had effects."
        }
        _ => "The call was not executed.",
    };
    Some((known.to_owned(), true))
}

/// The result of a finished call as text.
///
/// It is never blank: an empty one becomes a word. If bytes of it were left out, the last line says how many.
fn result(tool: &ToolView) -> String {
    let mut text = match &tool.result {
        Some(json) => texts(json).unwrap_or_else(|| json.to_text().into_owned()),
        None => tool.output.text.to_string(),
    };
    if text.trim().is_empty() || text == "null" {
        return if tool.is_error { "failed" } else { "completed" }.to_owned();
    }
    let left_out = tool.left_out();
    if left_out > 0 {
        text = format!("{text}\n[{left_out} bytes left out]");
    }
    text
}

/// The text of a result that is a list of text blocks, the form of tools of the Model Context Protocol.
/// Nothing if any block is not a text, or if `json` has another form.
fn texts(json: &Json) -> Option<String> {
    if !json.as_str().contains("\"text\"") {
        return None;
    }
    let value = json.to_value();
    let blocks = value.as_array().or_else(|| value.get("content")?.as_array())?;
    let text = |block: &serde_json::Value| {
        (block.get("type")?.as_str()? == "text").then(|| block.get("text")?.as_str().map(str::to_owned))?
    };
    let texts: Option<Vec<String>> = blocks.iter().map(text).collect();
    texts.map(|texts| texts.join("\n"))
}

/// `text` as a JSON object: itself, the object inside a string, or an object around any other value.
/// Nothing (`null`, an empty text) is an empty object. Whatever else is not an object becomes the field
/// `arguments` of one, since both APIs refuse anything else.
fn arguments(text: &str) -> Json {
    let empty = || Json::of(&serde_json::Map::new());
    let is_object = |json: &Json| json.as_str().trim_start().starts_with('{');
    match text.trim() {
        "" | "null" | "\"\"" => empty(),
        text => match Json::parse(text) {
            Some(json) if is_object(&json) => json,
            Some(json) => {
                let inner = Json::parse(&json.to_text()).filter(is_object);
                inner
                    .or_else(|| Json::parse(&format!("{{\"arguments\":{}}}", json.as_str())))
                    .unwrap_or_else(empty)
            }
            None => Json::parse(&format!("{{\"arguments\":{}}}", Json::string(text).as_str()))
                .unwrap_or_else(empty),
        },
    }
}
