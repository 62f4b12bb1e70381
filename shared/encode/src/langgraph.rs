//! Encodes the streams of `LangGraph`'s platform: events named after the modes that the client asked for,
//! with the messages of a graph of two nodes, `model` and `tools`.
//!
//! ```text
//! event: metadata            {"run_id":"r1","attempt":1}
//! event: messages            [{"type":"AIMessageChunk","content":"Hi",…}, {"langgraph_node":"model",…}]       messages-tuple
//! event: messages/partial    [{"type":"AIMessageChunk","content":"Hi",…}]                                     messages
//! event: updates             {"model": {"messages": […]}}
//! event: values              {"messages": […]}
//! event: custom              {"_type":"tool_progress","tool":"add",…}
//! event: error               {"error":"Timeout","message":"…"}
//! ```
//!
//! An answer of the model is one message: its text, its reasoning and its calls, until a call of it is
//! executed. The results that follow are a step of the node `tools`. Statuses, failures that did not end the
//! run, progress and custom events are in the mode `custom`; a call that waits for consent is an
//! `__interrupt__`. What sub-agents do, files and raw events are left out.
//!
//! The end of a run is the end of the stream. A run that failed or was cancelled ends with `error`; one that
//! broke off ends in the middle of a message.

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::fact::progress_line;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, PartStep, RunSequencer, ToolStep,
};
use model::event::{Message, PartKind, ToolState};
use model::flow::GRAPH_STEP;
use model::ids::{RunId, ToolCallId};
use model::json::Json;
use model::limits::MESSAGES_MAX;
use model::unfold::unfold;
use model::view::{MessageView, PartView, RunView, ToolView, TopItem, View};

mod answer;
mod modes;
mod stop;

use answer::{OpenAnswer, piece, tool_message};
use modes::{StreamMode, StreamModes};
use stop::interrupt_of;

/// The node in which the model answers.
const MODEL: &str = "model";

/// The node in which calls are executed.
const TOOLS: &str = "tools";

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let modes = StreamModes::new(&options.modes);
    let mut graph =
        LangGraphEncoder { thread: options.conversation.to_string(), ..LangGraphEncoder::of(modes) };
    for message in &options.earlier {
        graph.keep(message.clone());
    }
    graph.asks = options.caller.is_some().then(IndexMap::new);
    Box::new(RunSequencer::new(FactEncoder::new(graph)))
}

/// The messages of a conversation as the state of a graph, a list for each of its items: what the mode
/// `values` would have at the end. An open run is included as far as it has come.
pub fn messages(view: &View) -> Vec<Vec<Value>> {
    view.items.iter().map(|item| messages_of(view, item)).collect()
}

/// The messages of one item: it is unfolded and encoded in a mode that keeps the messages and writes nothing.
fn messages_of(view: &View, item: &TopItem) -> Vec<Value> {
    let mut one = View { items: vec![item.clone()], ..View::default() };
    let run = match item {
        TopItem::Message(id) => {
            one.messages.extend(
                view.messages.get(id).cloned().map(|it| (id.clone(), MessageView { within: None, ..it })),
            );
            RunId::none()
        }
        TopItem::Run(id) => {
            one.runs.extend(view.runs.get(id).cloned().map(|run| (id.clone(), run)));
            id.clone()
        }
    };
    let (mut teller, mut nowhere) = (FactEncoder::new(LangGraphEncoder::of(StreamModes::kept())), Vec::new());
    for envelope in unfold(&one) {
        teller.event(&envelope, &mut nowhere);
    }
    let mut graph = teller.into_inner();
    if let Some(known) = one.runs.get(&run) {
        let scene = FactContext { run_id: &run, run: known, agent: None, at: known.started_at };
        graph.close(&scene, None, &mut nowhere);
    }
    graph.settle(&mut nowhere);
    graph.state
}

/// The calls of a run's main agent that wait for a person.
pub fn waiting(run: &RunView) -> Vec<&ToolCallId> {
    let waits =
        |(_, tool): &(&ToolCallId, &ToolView)| tool.state == ToolState::Approval && tool.agent.is_none();
    run.tools.iter().filter(waits).map(|(id, _)| id).collect()
}

/// The interrupt of a run that waits for a person; nothing if none of its calls does.
pub fn interrupt(run: &RunView) -> Option<Value> {
    let all = waiting(run).into_iter().filter_map(|id| Some((id, run.tools.get(id)?)));
    interrupt_of(&all.map(|(id, tool)| (id.clone(), stop::request(tool))).collect())
}

/// The names of the modes that a client can request.
pub(super) const MODES: &[&str] = StreamModes::NAMES;

/// The state of one stream.
#[derive(Debug, Default)]
struct LangGraphEncoder {
    /// The id of the thread: the name of the conversation.
    thread: String,
    /// The modes that the client asked for.
    modes: StreamModes,
    /// The number of steps of the run so far.
    step: u64,
    /// The number of the model's answers so far.
    answers: u64,
    /// The answer that is open.
    open: Option<OpenAnswer>,
    /// Results that are not written as a step yet, since the answer with their calls is open.
    late: Vec<Value>,
    /// The messages so far, at most [`MESSAGES_MAX`], if a mode needs the whole state.
    state: Vec<Value>,
    /// The present step, as the graph itself named it.
    told_step: Option<Value>,
    /// Calls that wait for a person, if the caller of the run gets them together at its end; nothing for a
    /// viewer, who gets each at once.
    asks: Option<IndexMap<ToolCallId, Value>>,
}

impl FactSink for LangGraphEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Message(message) => self.message(message),
            Fact::RunStart => self.start(scene, out),
            Fact::Part(_, part, step) => self.part(scene, part, step, out),
            Fact::Tool(id, tool, step) => self.tool(scene, id, tool, step, out),
            Fact::Status(text) => self.custom(&json!({"_type": "status", "message": text}), out),
            Fact::Error(error) => {
                self.custom(&json!({"_type": "error", "code": error.code, "message": error.message}), out);
            }
            Fact::Custom(GRAPH_STEP, step) => self.told_step = Some(step.to_value()),
            Fact::Custom(name, value) => {
                self.custom(&json!({"_type": name, "value": value.to_value()}), out);
            }
            Fact::RunEnd => self.end_run(scene, out),
            _ => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

impl LangGraphEncoder {
    /// The state of a new stream.
    fn of(modes: StreamModes) -> Self {
        Self { modes, ..Self::default() }
    }

    /// Keeps a message of the history for the state.
    fn message(&mut self, message: &Message) {
        let kind = match message.role.as_str() {
            "assistant" => "ai",
            "system" | "developer" => "system",
            _ => "human",
        };
        self.keep(
            json!({"content": message.text, "additional_kwargs": {}, "response_metadata": {}, "type": kind,
            "name": null, "id": message.message}),
        );
    }

    /// Adds a message to the state, if a mode needs that.
    fn keep(&mut self, message: Value) {
        let keeps = self.modes.wants(StreamMode::Values) || self.modes.wants(StreamMode::Kept);
        if keeps && self.state.len() < MESSAGES_MAX {
            self.state.push(message);
        }
    }

    /// Begins a run: resets the state of the run before, and writes its metadata.
    fn start(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        (self.step, self.open, self.told_step) = (0, None, None);
        self.late.clear();
        event(out, "metadata", &json!({"run_id": scene.run_id, "attempt": 1}));
        self.values(out);
    }

    /// Writes one step of a part as a piece of the open answer.
    fn part(&mut self, scene: &FactContext<'_>, part: &PartView, step: PartStep<'_>, out: &mut Vec<u8>) {
        let text = match step {
            PartStep::Delta(text) => text.to_owned(),
            PartStep::Replaced if !part.body.text.is_empty() => format!("\n\n{}", part.body.text),
            _ => return,
        };
        let fields = match part.kind {
            PartKind::Text | PartKind::Refusal => json!({"content": text}),
            PartKind::Thinking => json!({"additional_kwargs": {"reasoning_content": text}}),
            PartKind::File => return,
        };
        let answer = self.answer(scene, out);
        match part.kind {
            PartKind::Thinking => answer.thinking.push_str(&text),
            _ => answer.text.push_str(&text),
        }
        self.tell_piece(scene, &fields, out);
    }

    /// Writes one step of a call.
    fn tool(
        &mut self,
        scene: &FactContext<'_>,
        id: &ToolCallId,
        tool: &ToolView,
        step: ToolStep<'_>,
        out: &mut Vec<u8>,
    ) {
        match step {
            ToolStep::Start => {
                let index = self.answer(scene, out).begin_call(id, &tool.name);
                self.tell_call(scene, (index, id), Some(tool.name.as_str()), "", out);
            }
            ToolStep::Args(text) => {
                let Some(index) = self.open.as_mut().and_then(|open| open.add(id, text)) else { return };
                self.tell_call(scene, (index, id), None, text, out);
            }
            ToolStep::Called => {
                if let Some(open) = &mut self.open {
                    open.written(id, &tool.arguments.text);
                    self.close_if_due(scene, out);
                }
            }
            ToolStep::Asked => self.ask(scene, id, tool, out),
            ToolStep::Answered(..) => {
                self.asks.as_mut().and_then(|asks| asks.shift_remove(id));
            }
            ToolStep::Executing => {
                self.executes(scene, out);
                self.step = self.step.saturating_add(1);
                let input =
                    json!({"name": tool.name, "args": arguments(tool), "id": id, "type": "tool_call"});
                self.task(scene, id.as_str(), TOOLS, &input, out);
            }
            ToolStep::Progress(progress) => {
                let phase = progress.phase.as_deref().unwrap_or("progress");
                let message = progress_line(progress);
                let mut value = json!({"_type": "tool_progress", "tool": tool.name, "tool_call_id": id,
                    "phase": phase, "message": message, "timestamp": scene.at});
                if let (Some(detail), Some(fields)) = (&progress.data, value.as_object_mut()) {
                    fields.insert("data".into(), detail.to_value());
                }
                self.custom(&value, out);
            }
            ToolStep::Result { again: false } => self.result(scene, id, tool, out),
            _ => {}
        }
    }

    /// Writes the result of a call: as a message, and as part of the next step of `tools`.
    fn result(&mut self, scene: &FactContext<'_>, id: &ToolCallId, tool: &ToolView, out: &mut Vec<u8>) {
        self.executes(scene, out);
        let text = tool.result.as_ref().map(Json::to_text).unwrap_or_default();
        let message = tool_message(scene, id, tool, &text);
        if self.modes.wants(StreamMode::Tuples) {
            event(out, "messages", &json!([message, self.about(scene, TOOLS)]));
        }
        if self.modes.wants(StreamMode::Messages) {
            event(out, "messages/complete", &json!([message]));
        }
        let result = json!({"messages": [message]});
        self.task_result(scene, (id.as_str(), TOOLS), &result, tool.is_error.then_some(&*text), out);
        self.late.push(message);
        if self.open.is_none() {
            self.settle(out);
        }
    }

    /// The open answer; begins one if there is none.
    fn answer(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) -> &mut OpenAnswer {
        if self.open.is_none() {
            self.settle(out);
            (self.step, self.answers) = (self.step.saturating_add(1), self.answers.saturating_add(1));
            let id = format!("{}-a{}", scene.run_id, self.answers);
            if self.modes.wants(StreamMode::Messages) {
                let about = self.about(scene, MODEL);
                event(out, "messages/metadata", &json!({id.clone(): {"metadata": about}}));
            }
            self.task(scene, &id, MODEL, &json!({"messages": self.state}), out);
            self.open = Some(OpenAnswer::new(id));
        }
        self.open.get_or_insert_default()
    }

    /// Notes that calls are being executed: the answer that made them is over once all of its calls are
    /// written.
    fn executes(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        if let Some(open) = &mut self.open {
            open.is_due = true;
            self.close_if_due(scene, out);
        }
    }

    /// Ends the open answer if one of its calls is executed and all of them are written.
    fn close_if_due(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        if self.open.as_ref().is_some_and(|open| open.is_due && open.is_written()) {
            self.close(scene, None, out);
        }
    }

    /// Ends the open answer. The last one of a run has the usage of the run.
    fn close(&mut self, scene: &FactContext<'_>, usage: Option<&Value>, out: &mut Vec<u8>) {
        let Some(open) = self.open.take() else { return };
        let about = open.about_end(scene);
        let whole = open.whole(&about, usage);
        if self.modes.wants(StreamMode::Tuples) {
            let last = json!({"content": "", "response_metadata": about, "usage_metadata": usage,
                "chunk_position": "last"});
            event(out, "messages", &json!([piece(&open.id, &last), self.about(scene, MODEL)]));
        }
        if self.modes.wants(StreamMode::Messages) {
            event(out, "messages/complete", &json!([whole]));
        }
        let update = json!({"messages": [whole]});
        self.task_result(scene, (&open.id, MODEL), &update, None, out);
        if self.modes.wants(StreamMode::Updates) {
            event(out, "updates", &json!({MODEL: update}));
        }
        self.keep(whole);
        self.values(out);
        self.settle(out);
    }

    /// Writes the results of tools as a step of the graph.
    fn settle(&mut self, out: &mut Vec<u8>) {
        if self.late.is_empty() {
            return;
        }
        let late = std::mem::take(&mut self.late);
        if self.modes.wants(StreamMode::Updates) {
            event(out, "updates", &json!({TOOLS: {"messages": late}}));
        }
        for message in late {
            self.keep(message);
        }
        self.values(out);
    }
}

/// The arguments of a call as JSON; an empty object if they are none.
fn arguments(tool: &ToolView) -> Value {
    serde_json::from_str(&tool.arguments.text).unwrap_or_else(|_| json!({}))
}

/// Writes one server-sent event with its name and value.
fn event(out: &mut Vec<u8>, name: &str, value: &Value) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    out.extend_from_slice(value.to_string().as_bytes());
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests;
