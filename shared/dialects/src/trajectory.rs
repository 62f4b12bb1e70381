//! Trajectories: the messages of a finished run, as agents save them. What SWE-agent and tau-bench have in common: messages
//! as chat APIs have them, where the agent's calls and their results stand next to each other.
//!
//! What the agent says between two messages of its user is one run. The files have no terminator: one that ends, ends.

use std::collections::VecDeque;

use compact_str::CompactString;
use serde::Deserialize;

use super::field::ForeignField;
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{DecodeOptions, Decoded};
use model::event::{ErrorFact, PartKind, RunStatus, Usage};

/// Writes the messages of one file.
#[derive(Debug)]
pub(super) struct TrajectoryWriter {
    pub(super) writer: EventWriter,
    model: Option<CompactString>,
    /// The user spoke after the agent: what the agent says next is another run.
    is_answered: bool,
    /// Calls of the last message that have no result yet.
    waiting: VecDeque<CompactString>,
    /// The file breaks off.
    is_cut: bool,
}

/// How a trajectory ends, as far as the file says.
#[derive(Debug, Default)]
pub(super) struct TrajectoryEnd {
    /// The agent's own word for how it ended.
    pub(super) word: Option<CompactString>,
    /// That was a failure.
    pub(super) failure: Option<ErrorFact>,
    pub(super) usage: Option<Usage>,
}

/// A message of a trajectory, in the fields of chat APIs and of the agents that extend them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TrajectoryMessage<'a> {
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
    /// A text, or a list of pieces.
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_content: ForeignField<'a>,
    /// What the agent made of the message: its thought and its action.
    #[serde(borrow)]
    thought: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) action: ForeignField<'a>,
    /// It was shown to the agent as an example of how to behave.
    #[serde(borrow)]
    pub(super) is_demo: ForeignField<'a>,
    #[serde(borrow)]
    tool_calls: ForeignField<'a>,
    /// The call as older APIs had it, without an id.
    #[serde(borrow)]
    function_call: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    /// The calls that this is the result of, where there can be several.
    #[serde(borrow)]
    tool_call_ids: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

/// A call, with its name and arguments beside its id or one level deeper.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryCall<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    function: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    arguments: ForeignField<'a>,
}

/// A piece of content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentText<'a> {
    #[serde(borrow)]
    text: ForeignField<'a>,
}

impl TrajectoryWriter {
    pub(super) fn new(dialect: &'static str, options: DecodeOptions) -> Self {
        Self {
            writer: EventWriter::new(dialect, options),
            model: None,
            is_answered: false,
            waiting: VecDeque::new(),
            is_cut: false,
        }
    }

    /// The file breaks off where it is.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// The model of the runs that follow.
    pub(super) fn set_model(&mut self, model: Option<&str>) {
        self.model = model.map(CompactString::new);
    }

    /// The next message. `took` is how long its calls, or the call that it is the result of, were executed.
    pub(super) fn message(&mut self, body: &TrajectoryMessage<'_>, took: Option<u64>, out: &mut Decoded) {
        let role = body.role.text().unwrap_or_default();
        match &*role {
            "assistant" if !body.is_demo.is_true() => self.agent_says(body, out),
            "tool" | "function" if !body.is_demo.is_true() => self.result(body, took, out),
            _ => {
                self.is_answered = self.writer.is_running();
                self.writer.message(&role, &text(body.content), out);
            }
        }
    }

    /// There is a run, for what is told about it rather than said in it.
    pub(super) fn goes_on(&mut self, out: &mut Decoded) {
        self.writer.begin(self.model.as_deref(), out);
    }

    /// The agent speaks: a run goes on or begins.
    fn begin(&mut self, out: &mut Decoded) {
        if std::mem::take(&mut self.is_answered) {
            self.close(RunStatus::Complete, TrajectoryEnd::default(), out);
        }
        self.writer.begin(self.model.as_deref(), out);
    }

    /// The trajectory is over.
    pub(super) fn conclude(&mut self, conclusion: TrajectoryEnd, out: &mut Decoded) {
        if let Some(failure) = conclusion.failure.clone() {
            self.writer.begin(self.model.as_deref(), out);
            self.writer.fail(failure, out);
        }
        let status = if self.writer.has_failed() {
            RunStatus::Error
        } else if self.is_cut || (!self.waiting.is_empty() && !self.is_answered && conclusion.word.is_none())
        {
            RunStatus::Interrupted
        } else {
            RunStatus::Complete
        };
        self.close(status, conclusion, out);
        self.is_answered = false;
    }

    fn close(&mut self, status: RunStatus, conclusion: TrajectoryEnd, out: &mut Decoded) {
        self.waiting.clear();
        let TrajectoryEnd { word, usage, .. } = conclusion;
        let ending = RunEnding {
            is_whole: true,
            status: Some(status),
            finish_reason: word,
            usage,
            ..RunEnding::default()
        };
        self.writer.end(ending, out);
    }

    fn agent_says(&mut self, body: &TrajectoryMessage<'_>, out: &mut Decoded) {
        self.begin(out);
        let content = Some(text(body.content)).filter(|text| !text.is_empty());
        let said = content.unwrap_or_else(|| body.thought.text().unwrap_or_default().into());
        let thought = body.reasoning_content.text().unwrap_or_default();
        for (kind, text) in [(PartKind::Thinking, &*thought), (PartKind::Text, &said)] {
            if !text.is_empty() && self.writer.has_room(out) {
                self.writer.whole_part(kind, text, false, None, out);
            }
        }
        self.waiting.clear();
        let calls = body.tool_calls.list().into_iter().chain([body.function_call]);
        for call in calls.filter(|call| call.is_object()) {
            if self.writer.has_room(out) {
                self.call(&call.object(), out);
            }
        }
    }

    fn call(&mut self, call: &TrajectoryCall<'_>, out: &mut Decoded) {
        let inner =
            if call.function.is_object() { call.function.object() } else { TrajectoryCall::default() };
        let name = inner.name.text().or_else(|| call.name.text()).unwrap_or_default();
        let arguments = if inner.arguments.is_some() { inner.arguments } else { call.arguments };
        let arguments = arguments.words();
        let id = call.id.words().unwrap_or_default();
        let call = self.writer.whole_call(&id, &name, arguments.as_deref(), None, out);
        self.waiting.push_back(CompactString::new(call.id()));
    }

    fn result(&mut self, body: &TrajectoryMessage<'_>, took: Option<u64>, out: &mut Decoded) {
        self.begin(out);
        let mut ids: Vec<_> = body.tool_call_ids.list().into_iter().filter_map(ForeignField::words).collect();
        if ids.is_empty() {
            ids.push(body.tool_call_id.words().or_else(|| body.id.words()).unwrap_or_default());
        }
        for id in ids {
            // Without an id it is the oldest call that waits.
            let place =
                if id.is_empty() { Some(0) } else { self.waiting.iter().position(|known| *known == *id) };
            let known = place.and_then(|place| self.waiting.remove(place));
            let id = known.unwrap_or_else(|| CompactString::new(&id));
            let outcome = if body.error.is_truthy() { CallOutcome::error } else { CallOutcome::of };
            self.writer.result(&id, outcome(body.content.json()).took(took), None, out);
        }
    }
}

/// The text of a message.
fn text(content: ForeignField<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    content
        .list()
        .into_iter()
        .filter_map(|piece| piece.text().or_else(|| piece.object::<ContentText<'_>>().text.text()))
        .collect()
}
