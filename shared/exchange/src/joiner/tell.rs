//! What a request adds to a conversation, as events.
//!
//! ```text
//! request ─▶ message (system prompt, history, what the user said)
//!         ─▶ tool.result, approval.answer, tool.state interrupted   for the calls of the last answer
//!         ─▶ run.end, run.start, run.update
//!         ─▶ custom tools, retry, fork, parent; anomalies
//! ```

use std::ops::Range;

use compact_str::CompactString;
use serde::Serialize;

use super::ForkPoint;
use super::asked::{RequestDigest, piece};
use super::memory::{AgentLoop, AwaitedCall, LoopState};
use super::retold::{ToolFailure, last_of_user};
use crate::request::{MessagePiece, ModelRequest, OfferedTool, RequestRole};
use crate::turns::{ComparedTurn, TurnSide};
use dialects::Decoded;
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{
    ErrorFact, Event, Kind, Message, RunEnd, RunStart, RunStatus, RunUpdate, ToolResult, ToolState,
    ToolStateChange,
};
use model::ids::{MessageId, RunId, ToolCallId};
use model::json::Json;
use model::limits::{HISTORY_MESSAGES_MAX, NOTE_BYTES_MAX};

/// Collects in `out` the events of what a request adds.
#[derive(Debug)]
pub(super) struct RequestRecorder<'a> {
    /// The request whose events are collected.
    pub(super) request: &'a ModelRequest,
    /// The turns of the request and their hashes.
    pub(super) asked: &'a RequestDigest,
    /// The events so far.
    pub(super) out: Decoded,
}

/// The pieces of one message that belong to some turns.
struct SpokenTurns<'a> {
    role: &'a RequestRole,
    pieces: Vec<&'a MessagePiece>,
}

/// The number of an attempt, from 1.
#[derive(Serialize)]
struct AttemptNote {
    attempt: u32,
}

/// What a branch has of the conversation that it leaves.
#[derive(Serialize)]
struct ForkNote<'a> {
    conversation: &'a str,
    run: &'a str,
    messages: u64,
}

/// An offered tool in the custom event `tools`.
#[derive(Serialize)]
struct ToolNote<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Json>,
}

impl<'a> RequestRecorder<'a> {
    /// A recorder without events.
    pub(super) fn new(request: &'a ModelRequest, asked: &'a RequestDigest) -> Self {
        Self { request, asked, out: Decoded::default() }
    }

    /// Appends the system prompt if it is new, inside of `run` if that is one. A changed prompt has the same id and
    /// replaces the old one where that stands.
    pub(super) fn system(&mut self, known: &mut AgentLoop, run: &RunId) {
        if known.system.replace(self.asked.system).is_none_or(|told| told == self.asked.system) {
            return;
        }
        if let Some(text) = &self.request.system {
            let id = MessageId::new(&format!("{}-system", known.name));
            self.message_as(id, "system", text.clone(), run);
        }
    }

    /// Appends the turns in `range` of all roles, as messages inside of `run` if that is one.
    pub(super) fn history(&mut self, known: &mut AgentLoop, range: Range<usize>, run: &RunId) {
        let turns = self.asked.turns.get(range).unwrap_or_default();
        self.messages(known, self.spoken(turns.iter()), run);
    }

    /// Appends what is said in the turns from `from` on, without results and without what was published with
    /// a request that failed.
    pub(super) fn news(&mut self, known: &mut AgentLoop, from: usize, run: &RunId) {
        let turns = self.asked.turns.iter().zip(&self.asked.prints).skip(from);
        let is_news = |(turn, print): &(&ComparedTurn, &u64)| {
            turn.side != TurnSide::Results && !known.ask.told.contains(print)
        };
        let spoken = self.spoken(turns.filter(is_news).map(|(turn, _)| turn));
        self.messages(known, spoken, run);
    }

    /// Appends messages. The oldest are left out where there are more than [`HISTORY_MESSAGES_MAX`], with an
    /// anomaly.
    fn messages(&mut self, known: &mut AgentLoop, spoken: Vec<SpokenTurns<'a>>, run: &RunId) {
        let left_out = spoken.len().saturating_sub(HISTORY_MESSAGES_MAX);
        if left_out > 0 {
            let detail = format!("{left_out} messages of the history, the oldest, are left out");
            let odd = Kind::Anomaly(Anomaly { code: AnomalyCode::TooMany, detail });
            self.out.push(run, odd);
        }
        for said in spoken.into_iter().skip(left_out) {
            let text = said.text();
            known.messages = known.messages.saturating_add(1);
            if !text.is_empty() {
                let id = MessageId::new(&format!("{}-m{}", known.name, known.messages));
                self.message_as(id, said.role.as_str(), text, run);
            }
        }
    }

    /// The messages of the request that the turns belong to, each with its pieces in these turns. Results are messages
    /// of their own.
    fn spoken<'t>(&self, turns: impl Iterator<Item = &'t ComparedTurn>) -> Vec<SpokenTurns<'a>> {
        let mut spoken: Vec<(usize, SpokenTurns<'a>)> = Vec::new();
        for place in turns.flat_map(|turn| &turn.pieces) {
            let (Some(message), Some(piece)) =
                (self.request.messages.get(place.0), piece(self.request, *place))
            else {
                continue;
            };
            // Anthropic's API has results in messages of the user, who did not say them.
            let role = match piece {
                MessagePiece::Result { .. } => &RequestRole::Tool,
                _ => &message.role,
            };
            match spoken.last_mut() {
                Some((at, said)) if *at == place.0 && said.role == role => said.pieces.push(piece),
                _ => spoken.push((place.0, SpokenTurns { role, pieces: vec![piece] })),
            }
        }
        spoken.into_iter().map(|(_, said)| said).collect()
    }

    /// Appends a message with the id `message`.
    fn message_as(&mut self, message: MessageId, role: &str, text: String, run: &RunId) {
        let role = CompactString::new(role);
        self.out.push(run, Kind::Message(Message { message, role, text, files: Vec::new() }));
    }

    /// Appends the results of the tool calls that the loop waits for, and returns how many calls got one.
    /// Calls without a result become interrupted.
    pub(super) fn results(&mut self, known: &mut AgentLoop, from: usize, at: u64) -> usize {
        let mut open = std::mem::take(&mut known.awaited);
        let before = open.len();
        let renamed = self.renamed(&open, from);
        let results: Vec<&MessagePiece> = self.asked.results(self.request, from).collect();
        for piece in results {
            match piece {
                MessagePiece::Result { id, name, output, is_error } => {
                    let Some(AwaitedCall { call, since }) = take(&mut open, id, name, &renamed) else {
                        continue;
                    };
                    let exec_ms = (!call.asks).then(|| at.saturating_sub(since));
                    let (output, is_error) = (output.clone(), *is_error);
                    let result = ToolResult { exec_ms, ..ToolResult::new(call.tool, output, is_error) };
                    self.out.push(&known.run, Kind::ToolResult(result));
                }
                MessagePiece::Consent { id, approved, text } => {
                    let Some(AwaitedCall { call, .. }) = take(&mut open, id, "", &renamed) else { continue };
                    let (approved, text) = (*approved, text.clone());
                    self.out.push(&known.run, Kind::ApprovalAnswer { tool: call.tool, approved, text });
                }
                _ => {}
            }
        }
        let answered = before.saturating_sub(open.len());
        for AwaitedCall { call, .. } in open {
            state(&known.run, call.tool, ToolState::Interrupted, &mut self.out);
        }
        answered
    }

    /// Appends that all calls that the loop waits for are over, where their results come as words of the client that
    /// belong to none of them alone. Returns how many calls that are.
    pub(super) fn results_in_words(&mut self, known: &mut AgentLoop, at: u64) -> usize {
        let open = std::mem::take(&mut known.awaited);
        let answered = open.len();
        for AwaitedCall { call, since } in open {
            if known.ask.outputs.is_named(&call.name) || known.state == LoopState::GivenUp {
                // It was over at once, or its run ended while it was waited for.
                continue;
            }
            let exec_ms = (!call.asks).then(|| at.saturating_sub(since));
            let state = ToolState::Complete;
            let change = ToolStateChange { tool: call.tool, state, queued_ms: None, exec_ms };
            self.out.push(&known.run, Kind::ToolState(change));
        }
        answered
    }

    /// Appends that the call failed of which the last words of the request tell so. Others of the same answer become interrupted: the client
    /// says nothing of them any more. Returns how many calls are over.
    pub(super) fn failure_in_words(&mut self, known: &mut AgentLoop, at: u64) -> usize {
        let mut open = std::mem::take(&mut known.awaited);
        let count = open.len();
        let text = last_of_user(self.asked, self.request).unwrap_or_default();
        let failure = ToolFailure::of(&text);
        let failed = failure.and_then(|failure| {
            let place = open.iter().position(|awaited| awaited.call.name == failure.tool)?;
            Some((open.remove(place), failure.told))
        });
        if let Some((AwaitedCall { call, since }, told)) = failed {
            let exec_ms = (!call.asks).then(|| at.saturating_sub(since));
            let result = ToolResult { exec_ms, ..ToolResult::new(call.tool, Json::string(told), true) };
            self.out.push(&known.run, Kind::ToolResult(result));
        }
        for AwaitedCall { call, .. } in open {
            state(&known.run, call.tool, ToolState::Interrupted, &mut self.out);
        }
        count
    }

    /// Appends what the client put behind the answer before, as a message of its tools.
    pub(super) fn appended(&mut self, known: &mut AgentLoop, text: Option<String>, run: &RunId) {
        if let Some(text) = text {
            known.messages = known.messages.saturating_add(1);
            let id = MessageId::new(&format!("{}-m{}", known.name, known.messages));
            self.message_as(id, RequestRole::Tool.as_str(), text, run);
        }
    }

    /// The ids that the client uses for the awaited calls, if it gave them other ids. They are taken from the
    /// model's last turn, whose calls must have the same names in the same order.
    fn renamed(&self, open: &[AwaitedCall], from: usize) -> Vec<(CompactString, ToolCallId)> {
        let mut before = self.asked.turns.iter().take(from.max(self.asked.news));
        let Some(answer) = before.rfind(|turn| turn.side == TurnSide::Assistant) else {
            return Vec::new();
        };
        let calls = &answer.words.calls;
        if !calls.iter().map(|call| &call.name).eq(open.iter().map(|awaited| &awaited.call.name)) {
            return Vec::new();
        }
        calls.iter().zip(open).map(|(call, awaited)| (call.id.clone(), awaited.call.tool.clone())).collect()
    }

    /// Appends the start of a run, which may have ended before.
    pub(super) fn start(&mut self, known: &mut AgentLoop, title: Option<String>) {
        known.is_open = true;
        known.model.clone_from(&self.request.model);
        let start = RunStart {
            model: self.request.model.clone(),
            dialect: Some(CompactString::const_new(self.request.api.dialect())),
            title,
            name: None,
            // A client of a model's API does not say on which machine it runs.
            host: None,
        };
        self.out.push(&known.run, Kind::RunStart(start));
    }

    /// Appends that the run goes on, if it had ended or another model is asked.
    pub(super) fn go_on(&mut self, known: &mut AgentLoop) {
        if !known.is_open {
            self.start(known, None);
        } else if self.request.model.is_some() && known.model != self.request.model {
            known.model.clone_from(&self.request.model);
            let model = self.request.model.clone();
            self.out.push(&known.run, Kind::RunUpdate(RunUpdate { model, ..RunUpdate::default() }));
        }
    }

    /// Appends the tools that are offered, if they have changed; without their schemas if they would be
    /// larger than [`NOTE_BYTES_MAX`].
    pub(super) fn tools(&mut self, known: &mut AgentLoop) {
        let is_new = std::mem::replace(&mut known.tools, self.asked.tools) != self.asked.tools;
        if is_new && !self.request.tools.is_empty() {
            let whole = tools_note(&self.request.tools, true);
            let fits = whole.as_str().len() <= NOTE_BYTES_MAX;
            let value = if fits { whole } else { tools_note(&self.request.tools, false) };
            self.note(&known.run, "tools", value);
        }
    }

    /// Appends that the same request came again.
    pub(super) fn retry(&mut self, run: &RunId, attempt: u32) {
        self.note(run, "retry", Json::of(&AttemptNote { attempt }));
    }

    /// Appends where the conversation branched off.
    pub(super) fn fork(&mut self, run: &RunId, fork: &ForkPoint) {
        let note = ForkNote {
            conversation: fork.conversation.as_str(),
            run: fork.run.as_str(),
            messages: fork.messages,
        };
        self.note(run, "fork", Json::of(&note));
    }

    /// Appends what started the agent, as its call says.
    pub(super) fn parent(&mut self, run: &RunId, parent: &str) {
        self.note(run, "parent", Json::string(parent));
    }

    /// Appends a custom event.
    fn note(&mut self, run: &RunId, name: &'static str, value: Json) {
        let name = CompactString::const_new(name);
        self.out.push(run, Kind::Custom { name, value });
    }

    /// Appends the anomalies of the request.
    pub(super) fn anomalies(&mut self, run: &RunId) {
        for odd in &self.request.anomalies {
            self.out.push(run, Kind::Anomaly(odd.clone()));
        }
    }
}

/// Takes the call that a result belongs to out of `open`. It is found by the vendor's id, by the id that the
/// client gave it, or by the name of the tool; a result with neither belongs to the oldest call.
fn take(
    open: &mut Vec<AwaitedCall>,
    id: &str,
    name: &str,
    renamed: &[(CompactString, ToolCallId)],
) -> Option<AwaitedCall> {
    let by_id = || open.iter().position(|awaited| !id.is_empty() && awaited.call.given == id);
    let by_place = || {
        let (_, tool) = renamed.iter().find(|(given, _)| !id.is_empty() && given == id)?;
        open.iter().position(|awaited| awaited.call.tool == *tool)
    };
    let by_name = || open.iter().position(|awaited| !name.is_empty() && awaited.call.name == name);
    let oldest = || (id.is_empty() && name.is_empty() && !open.is_empty()).then_some(0);
    let at = by_id().or_else(by_place).or_else(by_name).or_else(oldest)?;
    Some(open.remove(at))
}

/// The value of the custom event `tools`.
fn tools_note(tools: &[OfferedTool], with_schemas: bool) -> Json {
    let notes = tools.iter().map(|OfferedTool { name, description, schema }| ToolNote {
        name,
        description: description.as_deref(),
        schema: schema.as_ref().filter(|_| with_schemas),
    });
    Json::of(&notes.collect::<Vec<_>>())
}

impl SpokenTurns<'_> {
    /// The pieces as one text, a line for each.
    fn text(&self) -> String {
        let texts: Vec<String> = self.pieces.iter().map(|piece| in_words(piece)).collect();
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// A piece of a message as text, for a message that is only history.
fn in_words(piece: &MessagePiece) -> String {
    match piece {
        MessagePiece::Text(text) => text.clone(),
        MessagePiece::File(file) => file.placeholder(),
        MessagePiece::Call { name, arguments, .. } => format!("[called {name} {arguments}]"),
        MessagePiece::Result { output, is_error, .. } => {
            let text = output.to_text();
            if *is_error { format!("[failed] {text}") } else { text.into_owned() }
        }
        MessagePiece::Consent { approved, .. } => {
            String::from(if *approved { "[approved]" } else { "[declined]" })
        }
    }
}

/// Appends a change of the state of a call.
pub(super) fn state(run: &RunId, tool: ToolCallId, state: ToolState, out: &mut Decoded) {
    let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
    out.push(run, Kind::ToolState(change));
}

/// Appends the event that ends `run` with `status`.
pub(super) fn end(run: &RunId, status: RunStatus, out: &mut Decoded) {
    out.push(run, Kind::RunEnd(RunEnd { status, ..RunEnd::default() }));
}

/// Appends why `run` is given up (no results within `awaited_ms` milliseconds), and ends it as interrupted.
pub(super) fn give_up(run: &RunId, awaited_ms: u64, out: &mut Decoded) {
    let fact = ErrorFact {
        code: CompactString::const_new("no_result"),
        message: format!("no results of its calls came in {} s", awaited_ms / 1_000),
        retryable: None,
        retry_after_ms: None,
    };
    out.event(Event::new(run, Kind::Error(fact)));
    end(run, RunStatus::Interrupted, out);
}
