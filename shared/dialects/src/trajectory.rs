//! Trajectories: the messages of a finished run, as agents save them. What SWE-agent and tau-bench have in
//! common: messages as chat APIs have them, where the agent's calls and their results stand next to each
//! other.
//!
//! ```json
//! [{"role": "system", "content": "You fix bugs."},
//!  {"role": "user", "content": "Fix it."},
//!  {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
//!  {"role": "tool", "tool_call_id": "c1", "content": "main.py"}]
//! ```
//!
//! | message | becomes |
//! |---|---|
//! | `assistant` | parts for `reasoning_content` and `content` (else `thought`), and a complete call for each of its calls |
//! | `tool`, `function` | the result of the call that it names, else of the oldest call of the last message that waits |
//! | any other, and demonstrations (`is_demo`) | a message of the history |
//!
//! What the agent says between two messages of its user is one run. The files have no terminator: a run is
//! complete at the end of its file, and interrupted if the file breaks off or calls of the last message have
//! no result and nothing says how the run ended.

use std::collections::VecDeque;

use compact_str::CompactString;
use serde::Deserialize;

use super::field::ForeignField;
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{DecodeOptions, Decoded};
use model::event::{ErrorFact, PartKind, RunStatus, Usage};

/// Writes the messages of one file. The meaning of the dialect owns it and passes the messages in order.
#[derive(Debug)]
pub(super) struct TrajectoryWriter {
    /// Where the events are written; dialects use it for what has no message.
    pub(super) writer: EventWriter,
    /// The model of the next run, if the file names it.
    model: Option<CompactString>,
    /// The user spoke after the agent: what the agent says next is another run.
    is_answered: bool,
    /// Calls of the last message that have no result yet, oldest first.
    waiting: VecDeque<CompactString>,
    /// The bytes ended inside of an object.
    is_cut: bool,
}

/// How a trajectory ends, as far as the file says. The default says nothing.
#[derive(Debug, Default)]
pub(super) struct TrajectoryEnd {
    /// The agent's own word for how it ended; it becomes the finish reason.
    pub(super) word: Option<CompactString>,
    /// The failure with which it ended; it is written and makes the run one with an error.
    pub(super) failure: Option<ErrorFact>,
    /// The tokens of the whole run.
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
    /// The message was shown to the agent as an example of how to behave.
    #[serde(borrow)]
    pub(super) is_demo: ForeignField<'a>,
    #[serde(borrow)]
    tool_calls: ForeignField<'a>,
    /// The call as older APIs had it, without an id.
    #[serde(borrow)]
    function_call: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    /// The calls of which this is the result, where there can be several. Each gets the whole content.
    #[serde(borrow)]
    tool_call_ids: ForeignField<'a>,
    /// The id of the call, as some files have it in results.
    #[serde(borrow)]
    id: ForeignField<'a>,
    /// In a result: the tool failed, unless it is empty or `false`.
    #[serde(borrow)]
    error: ForeignField<'a>,
}

/// A call, with its name and arguments beside its id or one level deeper, in `function`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryCall<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    function: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    /// An object, or its text.
    #[serde(borrow)]
    arguments: ForeignField<'a>,
}

/// A piece of content; only its text is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentText<'a> {
    #[serde(borrow)]
    text: ForeignField<'a>,
}

impl TrajectoryWriter {
    /// A writer for one file of `dialect`.
    pub(super) fn new(dialect: &'static str, options: DecodeOptions) -> Self {
        Self {
            writer: EventWriter::new(dialect, options),
            model: None,
            is_answered: false,
            waiting: VecDeque::new(),
            is_cut: false,
        }
    }

    /// Notes that the bytes ended inside of an object: the run that is open then is interrupted.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// The model of the runs that follow.
    pub(super) fn set_model(&mut self, model: Option<&str>) {
        self.model = model.map(CompactString::new);
    }

    /// Takes the next message. `took` is how long the call of which it is the result was executed, in
    /// milliseconds, if the file says so.
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

    /// Makes sure that a run is open, for events that are about it rather than said in it.
    pub(super) fn ensure_run(&mut self, out: &mut Decoded) {
        self.writer.begin(self.model.as_deref(), out);
    }

    /// Makes sure that a run is open in which the agent can speak. If the user spoke since, the open run is
    /// complete and another one begins.
    fn begin(&mut self, out: &mut Decoded) {
        if std::mem::take(&mut self.is_answered) {
            self.close(RunStatus::Complete, TrajectoryEnd::default(), out);
        }
        self.writer.begin(self.model.as_deref(), out);
    }

    /// Takes the end of the trajectory, and ends the open run: with an error after a failure, else
    /// interrupted if the file breaks off or calls wait and the file does not say how it ended, else
    /// complete. Without an open run only a failure is written, in a run of its own.
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

    /// Ends the open run with this status.
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

    /// Writes a message of the agent: its reasoning, its text, its calls. Calls of the message before that
    /// still wait can only be answered by their id from now on.
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

    /// Writes a call, complete at once. The trajectory does not say when it began to be executed.
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

    /// Writes the result of one call or of several.
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

/// The text of a message: a string, or the texts of a list of pieces, joined. Images and other pieces are
/// left out.
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
