//! Pauses: agents elsewhere that wait for a person. What they ask, which calls stand for the questions here,
//! and what was answered. All of it is in the log, so that a pause survives the hub. Pure.
//!
//! ```text
//! remote_pause ──▶ remote_answer, one for each call ──▶ remote_goes_on
//!   asked             what a person said                  the agent took it
//! ```

use compact_str::{CompactString, format_compact};
use model::event::{Event, Kind, ToolResult, ToolStart};
use model::limits::{BOOKKEEPING_BYTES_MAX, BOOKKEEPING_PREFIX};
use model::view::{NoteBody, RunView};
use model::{Json, RunId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::contract::{Asking, requests};
use crate::run::Answer;
use crate::settings::RemoteKind;

/// The name of the hub's own event that says what the agent waits for.
const PAUSE: &str = "remote_pause";

/// The name of the hub's own event that says what a person has answered.
const ANSWER: &str = "remote_answer";

/// The name of the hub's own event that says that the agent has taken the answers.
const GOES_ON: &str = "remote_goes_on";

/// The name under which decoders report what an agent asks, unchanged; the calls that it concerns follow.
pub(super) const INTERRUPT: &str = "interrupt";

/// The name of a call that stands for a question without a call.
const QUESTION: &str = "question";

/// A question that an agent has put in its answer, not yet part of a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentQuestion {
    /// The question as the agent put it.
    pub(super) interrupt: Value,
    /// The calls that it concerns, in order.
    pub(super) calls: Vec<Called>,
}

/// A call of a pause that a person decides about, or one made up for a question without a call. It is stored in the log, so its fields keep
/// their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Called {
    /// The id of the call in the run.
    pub(super) tool: ToolCallId,
    /// The id of the call at the agent.
    pub(super) given: CompactString,
    /// The name of the tool, or [`QUESTION`].
    pub(super) name: CompactString,
    /// Whether it is no call of a tool, but stands for the question itself and ends with the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_question: bool,
}

/// One question, with a call for each thing that is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ask {
    /// The question as the agent put it, which the answer must refer to.
    pub(super) interrupt: Value,
    /// The calls that a person decides about, in order.
    pub(super) calls: Vec<Called>,
}

/// Everything that an agent waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pause {
    /// The agent's name for the run, if it has said one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) theirs: Option<String>,
    /// All questions; the agent gets their answers in one request.
    pub(super) asks: Vec<Ask>,
}

/// A person's answer about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answered {
    /// The call that it is about.
    pub(super) tool: ToolCallId,
    /// Whether the person agreed.
    pub(super) approved: bool,
    /// Changed arguments; for a question, the answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Value>,
    /// The person's reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

/// A pause and its answers so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PauseState {
    /// The pause: what was asked.
    pub(super) pause: Pause,
    /// The answers in the order in which they came, at most one for each call.
    pub(super) answers: Vec<Answered>,
}

impl Pause {
    /// Makes a pause of what an agent of that kind has asked, with calls of their own for questions without a
    /// call; the events that say so are added to `out`. `None` if a person has nothing to answer. `known` has
    /// the arguments of the calls.
    pub(super) fn of(
        speaks: RemoteKind,
        told: Vec<AgentQuestion>,
        theirs: Option<String>,
        (run, known): (&RunId, &RunView),
        (fresh, out): (&str, &mut Vec<Event>),
    ) -> Option<Self> {
        let mut asks = Vec::new();
        let mut made = 0_u32;
        for AgentQuestion { interrupt, mut calls } in told {
            let mut all = Vec::new();
            for request in requests(speaks, &interrupt) {
                if let Some(place) = meant(&request, &calls, known) {
                    all.push(calls.remove(place));
                } else if request.is_question {
                    made += 1;
                    let tool = ToolCallId::new(&format_compact!("{QUESTION}-{fresh}-{made}"));
                    // No tool of that name exists; the answer to the agent refers to it.
                    let name = request.name.unwrap_or_else(|| QUESTION.into());
                    let text = request.text.or_else(|| (name != QUESTION).then(|| name.to_string()));
                    out.extend(opened(run, &tool, request.arguments, text));
                    all.push(Called { given: tool.as_str().into(), tool, name, is_question: true });
                }
            }
            if !all.is_empty() {
                asks.push(Ask { interrupt, calls: all });
            }
        }
        if asks.is_empty() {
            return None;
        }
        let pause = Self { theirs, asks };
        out.push(custom(run, PAUSE, Json::of(&pause)));
        Some(pause)
    }

    /// All calls that wait for a person.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Called> {
        self.asks.iter().flat_map(|ask| &ask.calls)
    }
}

impl PauseState {
    /// Reads the pause of a run from the conversation. `None` if the agent waits for nobody or has taken the
    /// answers, and for runs that others may write to.
    pub(super) fn of(run: &RunView) -> Option<Self> {
        if !run.own {
            return None;
        }
        let mut standing = None;
        for note in &run.notes {
            let NoteBody::Custom { name, value } = &note.body else { continue };
            match name.as_str() {
                PAUSE => {
                    let pause = serde_json::from_str(value.as_str()).ok();
                    standing = pause.map(|pause| Self { pause, answers: Vec::new() });
                }
                ANSWER => {
                    if let (Some(standing), Ok(answer)) =
                        (&mut standing, serde_json::from_str(value.as_str()))
                    {
                        standing.answers.push(answer);
                    }
                }
                GOES_ON => standing = None,
                _ => {}
            }
        }
        standing
    }

    /// Whether every call has an answer.
    pub(super) fn is_answered(&self) -> bool {
        self.pause.calls().all(|call| self.answer(call).is_some())
    }

    /// The answer about a call, if there is one.
    pub(super) fn answer(&self, call: &Called) -> Option<&Answered> {
        self.answers.iter().find(|answer| answer.tool == call.tool)
    }

    /// Takes a person's answer. Returns the events that say so; none if the call was not asked about or has
    /// an answer.
    pub(super) fn take(&mut self, run: &RunId, tool: &ToolCallId, answer: Answer) -> Vec<Event> {
        let Some(call) = self.pause.calls().find(|call| call.tool == *tool).cloned() else {
            return Vec::new();
        };
        if self.answer(&call).is_some() {
            return Vec::new();
        }
        let answered = match answer {
            Answer::Yes { arguments } => {
                // An answer that is not JSON is taken as text.
                let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
                Answered { tool: tool.clone(), approved: true, arguments: arguments.map(value), why: None }
            }
            Answer::No { why } => Answered { tool: tool.clone(), approved: false, arguments: None, why },
        };
        let mut kinds = vec![
            Kind::Custom { name: ANSWER.into(), value: Json::of(&answered) },
            Kind::ApprovalAnswer {
                tool: tool.clone(),
                approved: answered.approved,
                text: answered.why.clone(),
            },
        ];
        match &answered.arguments {
            arguments if call.is_question && answered.approved => {
                let output = arguments.as_ref().map_or_else(|| Json::of(&true), Json::of);
                kinds.push(Kind::ToolResult(ToolResult::new(tool.clone(), output, false)));
            }
            Some(arguments) => {
                let (tool, arguments) = (tool.clone(), Some(arguments.to_string()));
                kinds.push(Kind::ToolCall { tool, name: None, arguments });
            }
            None => {}
        }
        self.answers.push(answered);
        kinds.into_iter().map(|kind| Event::new(run, kind)).collect()
    }
}

/// The index among `calls` of the one that a request concerns. Of several with the same name, it is the one
/// with the same arguments, otherwise the first.
fn meant(request: &Asking, calls: &[Called], known: &RunView) -> Option<usize> {
    let is_it = |call: &Called| request.is_about(call.given.as_str(), call.name.as_str());
    let is_same = |call: &Called| {
        let text = known.tools.get(&call.tool).map(|tool| tool.arguments.text.as_str());
        let arguments = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        arguments.as_ref() == Some(&request.arguments)
    };
    let same = calls.iter().position(|call| is_it(call) && is_same(call));
    same.or_else(|| calls.iter().position(is_it))
}

/// Whether a view keeps all of these events, so that the pause can be read back.
pub(super) fn are_kept(told: &[Event]) -> bool {
    told.iter().all(|event| match &event.kind {
        Kind::Custom { name, value } if name.starts_with(BOOKKEEPING_PREFIX) => {
            value.as_str().len() <= BOOKKEEPING_BYTES_MAX
        }
        _ => true,
    })
}

/// The event that says that the agent has taken the answers.
pub(super) fn goes_on(run: &RunId) -> Event {
    custom(run, GOES_ON, Json::of(&json!({})))
}

/// Makes one of the hub's own events.
fn custom(run: &RunId, name: &str, value: Json) -> Event {
    Event::new(run, Kind::Custom { name: name.into(), value })
}

/// The events of a call that stands for a question.
fn opened(run: &RunId, tool: &ToolCallId, arguments: Value, text: Option<String>) -> [Event; 3] {
    let start = ToolStart { tool: tool.clone(), name: QUESTION.into(), server: false, given_id: None };
    let arguments = if arguments.is_object() { arguments } else { json!({"value": arguments}) };
    let call = Kind::ToolCall { tool: tool.clone(), name: None, arguments: Some(arguments.to_string()) };
    let asks = Kind::ApprovalRequest { tool: tool.clone(), text };
    [Kind::ToolStart(start), call, asks].map(|kind| Event::new(run, kind))
}

#[cfg(test)]
mod tests;
