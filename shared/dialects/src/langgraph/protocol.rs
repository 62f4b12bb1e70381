//! The typed protocol of LangGraph's platform: each event has a method, a namespace and a time. Messages come
//! as blocks (`blocks`).
//!
//! ```text
//! {"type":"event","seq":1,"method":"lifecycle","params":{"namespace":[],"data":{"event":"running"}}}
//! {"type":"event","seq":2,"method":"messages","params":{"data":{"event":"message-start","id":"m1","role":"ai"}}}
//! {"type":"event","seq":3,"method":"messages","params":{"data":{"event":"content-block-delta","index":0,"delta":{"type":"text-delta","text":"Hi"}}}}
//! {"type":"event","seq":4,"method":"tools","params":{"data":{"event":"tool-started","tool_call_id":"c1","tool_name":"add","input":"{}"}}}
//! {"type":"event","seq":5,"method":"lifecycle","params":{"namespace":[],"data":{"event":"completed"}}}
//! ```
//!
//! The lifecycle of the outermost graph begins and ends the run: `completed`, `failed` or `interrupted` (a
//! person is asked). `seq` has gaps when a client filters channels, so it is not checked. `message-finish`
//! has the reason `stop` even if the message has calls.

use compact_str::CompactString;
use serde::Deserialize;

use super::forms::path_of;
use super::messages::MessageSource;
use super::stage::CallResult;
use super::wire::{LangChainBlock, LangChainMessage, usage};
use super::{LangGraphMeaning, TaggedObject};
use crate::Decoded;
use crate::fault::fault;
use crate::field::ForeignField;
use model::limits::ITEMS_PER_RUN_MAX;

/// The parameters of an event.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct ProtocolParams<'a> {
    /// The graph that it comes from, as a list of steps.
    #[serde(borrow)]
    namespace: ForeignField<'a>,
    /// The time of the event, in milliseconds since 1970.
    #[serde(borrow)]
    timestamp: ForeignField<'a>,
    #[serde(borrow)]
    node: ForeignField<'a>,
    #[serde(borrow)]
    data: ForeignField<'a>,
}

/// The field `data` of an event; each method uses some of the fields.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct ProtocolEventData<'a> {
    #[serde(borrow)]
    event: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    run_id: ForeignField<'a>,
    #[serde(borrow)]
    role: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    /// The id of the call, from servers in JavaScript.
    #[serde(borrow, rename = "toolCallId")]
    tool_call_id_js: ForeignField<'a>,
    #[serde(borrow)]
    tool_name: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    index: ForeignField<'a>,
    /// The block, at its start or its end.
    #[serde(borrow, rename = "content")]
    block: ForeignField<'a>,
    #[serde(borrow)]
    delta: ForeignField<'a>,
    #[serde(borrow)]
    usage: ForeignField<'a>,
    #[serde(borrow)]
    reason: ForeignField<'a>,
    /// The arguments of a tool, as text.
    #[serde(borrow)]
    input: ForeignField<'a>,
    #[serde(borrow)]
    output: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
    #[serde(borrow)]
    message: ForeignField<'a>,
    #[serde(borrow)]
    data: ForeignField<'a>,
    #[serde(borrow)]
    metadata: ForeignField<'a>,
    #[serde(borrow)]
    model: ForeignField<'a>,
    #[serde(borrow)]
    node: ForeignField<'a>,
    #[serde(borrow)]
    values: ForeignField<'a>,
    #[serde(borrow)]
    payload: ForeignField<'a>,
    /// The name of the graph, for the name of a sub-agent.
    #[serde(borrow)]
    graph_name: ForeignField<'a>,
    #[serde(borrow)]
    namespace: ForeignField<'a>,
    #[serde(borrow)]
    model_name: ForeignField<'a>,
    #[serde(borrow)]
    finish_reason: ForeignField<'a>,
    /// The tool call that a graph runs for.
    #[serde(borrow)]
    cause: ForeignField<'a>,
}

impl LangGraphMeaning {
    /// Takes an event of the protocol; `whole` is all of it.
    pub(super) fn protocol(
        &mut self,
        method: &str,
        params: ForeignField<'_>,
        whole: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let params: ProtocolParams<'_> = params.object();
        let path = path_of(params.namespace);
        let time = params.timestamp.count();
        self.stage.w.set_time(time);
        let content: ProtocolEventData<'_> = params.data.object();
        let begins = method == "lifecycle" || method == "messages" || method == "tools";
        if !begins && self.stage.w.has_begun() && !self.stage.w.is_running() {
            return; // What is left to say of a run that was told as over.
        }
        match method {
            "lifecycle" => {
                // In the process of the graph the event itself says where.
                let inner = path_of(content.namespace);
                self.lifecycle(if path.is_empty() { &inner } else { &path }, &content, params.data, out);
            }
            "messages" if params.data.is_list() => self.mode("messages", &path, params.data, out),
            "messages" => {
                let key = content.run_id.word().map_or_else(|| path.join("|").into(), CompactString::from);
                self.stage.w.begin(None, out);
                // What a tool gave back is said where the tool ran, by nobody.
                let is_result = content.role.text().as_deref() == Some("tool");
                let is_agents = !is_result && !self.tool_messages.contains_key(&key);
                let agent = if is_agents { self.agent_at(&path, out) } else { None };
                let place = MessageSource { agent, key };
                self.block_event(&place, &content, params.data, out);
            }
            "tools" => self.tool_event(&path, params.data, time, out),
            "updates" if content.values.is_object() => {
                let node = content.node.word().or_else(|| params.node.word()).unwrap_or_default();
                let text =
                    format!("{{{}:{}}}", model::Json::string(&node).as_str(), content.values.as_json_text());
                self.mode("updates", &path, ForeignField::parse(&text).unwrap_or_default(), out);
            }
            "custom" if content.payload.is_some() => {
                let agent = self.agent_at(&path, out);
                self.stage.w.begin(None, out);
                let name = content.name.word().unwrap_or_else(|| "custom".into());
                self.stage.w.custom(&name, content.payload, agent.as_ref(), out);
            }
            "input.requested" | "input" => self.ask_all(params.data, out),
            "values" | "updates" | "custom" | "error" => self.mode(method, &path, params.data, out),
            _ => {
                self.stage.w.begin(None, out);
                let agent = self.agent_at(&path, out);
                match method.strip_prefix("custom:") {
                    Some(name) => self.stage.w.custom(name, params.data, agent.as_ref(), out),
                    None => self.stage.w.raw(whole, agent.as_ref(), out),
                }
            }
        }
    }

    /// Takes a step in the life of a graph: of the outermost one, or of one inside of it, which may be a
    /// sub-agent.
    fn lifecycle(
        &mut self,
        path: &[CompactString],
        it: &ProtocolEventData<'_>,
        whole: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let event = it.event.text().unwrap_or_default();
        if !path.is_empty() {
            if self.stage.w.has_begun() && !self.stage.w.is_running() {
                return;
            }
            self.stage.w.begin(None, out);
            let cause: ProtocolEventData<'_> = it.cause.object();
            if let Some(id) = cause.tool_call_id.word() {
                self.ensure_written(&id, out);
                self.stage.note_cause(path, &id);
                let name = it.graph_name.word();
                self.stage.agent(path, name.as_deref(), None, out);
            }
            return;
        }
        match &*event {
            "running" | "started" => {
                self.stage.w.begin(None, out);
                (self.root.is_followed, self.is_asked) = (true, false);
            }
            "completed" => self.close(true, out),
            "failed" if self.stage.w.is_running() || !self.stage.w.has_begun() => {
                self.stage.w.fail(fault(whole), out);
                self.close(false, out);
            }
            "interrupted" if self.stage.w.is_running() => {
                self.is_asked = true;
                self.close(true, out);
            }
            _ => {}
        }
    }

    /// Takes an event about a block of a message that comes from `place`.
    pub(super) fn block_event(
        &mut self,
        place: &MessageSource,
        it: &ProtocolEventData<'_>,
        whole: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let key = place.key.clone();
        let event = it.event.text().unwrap_or_default();
        let about: ProtocolEventData<'_> = it.metadata.object();
        let model = about.model.word().or_else(|| about.model_name.word());
        self.stage.w.begin(model.as_deref(), out);
        self.has_state = true;
        if event == "error" {
            return self.stage.w.fail(fault(whole), out);
        }
        if event == "message-start" {
            if it.role.text().as_deref() == Some("tool") {
                let id = it.tool_call_id.words().unwrap_or_default();
                if self.tool_messages.len() < ITEMS_PER_RUN_MAX {
                    self.tool_messages.insert(key, CompactString::from(id));
                }
                return;
            }
            self.end_message(&key, true, out);
        }
        if self.tool_messages.contains_key(&key) {
            return self.tool_message_event(&key, &event, it, out);
        }
        self.open_message(&key, place, out);
        let Some(spoken) = self.open.get_mut(&key) else { return };
        let index = it.index.count().unwrap_or_default();
        self.is_incomplete = event != "message-finish";
        match &*event {
            "message-start" => {
                spoken.id = it.id.word().map(CompactString::from).unwrap_or_default();
                spoken.usage = usage(it.usage);
            }
            "content-block-start" => spoken.block_start(index, it.block, &mut self.stage, out),
            "content-block-delta" => spoken.block_delta(index, it.delta, &mut self.stage, out),
            "content-block-finish" => spoken.block_finish(index, it.block, &mut self.stage, out),
            "usage" => spoken.usage = usage(it.usage).or(spoken.usage),
            "message-finish" => {
                spoken.usage = usage(it.usage).or(spoken.usage);
                let reason = about.finish_reason.word().or_else(|| it.reason.word());
                if let Some(reason) = reason.filter(|_| place.agent.is_none()) {
                    self.finish_reason = Some(CompactString::new(&reason));
                }
                self.end_message(&key, true, out);
            }
            _ => self.stage.w.raw(whole, place.agent.as_ref(), out),
        }
    }

    /// Takes a piece of a tool's result that is streamed as a message. It counts if nothing else has the
    /// result.
    fn tool_message_event(
        &mut self,
        key: &CompactString,
        event: &str,
        it: &ProtocolEventData<'_>,
        out: &mut Decoded,
    ) {
        let Some(id) = self.tool_messages.get(key).cloned() else { return };
        if event == "content-block-finish" && self.stage.call(&id).is_some() {
            let output = it.block.object::<LangChainBlock<'_>>().text;
            let given = CallResult { id: &id, name: "", output, is_error: false, agent: None };
            self.stage.result(&given, None, out);
        }
        if event == "message-finish" {
            self.tool_messages.swap_remove(key);
        }
    }

    /// Takes that a tool begins, prints, or is over. `time` is the stream's own clock.
    pub(super) fn tool_event(
        &mut self,
        path: &[CompactString],
        data: ForeignField<'_>,
        time: Option<u64>,
        out: &mut Decoded,
    ) {
        self.stage.w.begin(None, out);
        let it: ProtocolEventData<'_> = data.object();
        let id = it.tool_call_id.words().or_else(|| it.tool_call_id_js.words()).unwrap_or_default();
        let name = it.tool_name.word().or_else(|| it.name.word()).unwrap_or_default();
        let agent = path.split_last().and_then(|(_, inside)| self.agent_at(inside, out));
        self.is_incomplete = false;
        if !self.ensure_written(&id, out) && self.stage.w.has_room(out) {
            let args = it.input.text().unwrap_or_else(|| it.input.as_json_text().into());
            self.stage.whole_call(&id, &name, &args, agent.as_ref(), out);
        }
        let event = it.event.text().unwrap_or_default();
        match &*event {
            "tool-started" | "on_tool_start" => self.stage.run(&id, time, out),
            "tool-output-delta" | "on_tool_event" | "on_tool_partial" => {
                let piece = if it.delta.is_some() { it.delta } else { it.data };
                let agent = self.stage.call(&id).and_then(|call| call.agent.clone());
                self.stage.w.output(&id, &piece.words().unwrap_or_default(), agent.as_ref(), out);
            }
            "tool-finished" | "on_tool_end" => self.outcome(&id, it.output, time, out),
            "tool-error" | "on_tool_error" => {
                let output = if it.message.is_some() { it.message } else { it.error };
                let given = CallResult { id: &id, name: &name, output, is_error: true, agent: None };
                self.stage.result(&given, time, out);
            }
            _ => self.stage.w.raw(data, agent.as_ref(), out),
        }
    }

    /// Writes the result of the call `id`: a message, messages inside of a command, or any value.
    pub(super) fn outcome(
        &mut self,
        id: &str,
        output: ForeignField<'_>,
        time: Option<u64>,
        out: &mut Decoded,
    ) {
        let update = output.object::<GraphCommand<'_>>().update;
        let inside = LangChainMessage::list(update.object::<TaggedObject<'_>>().messages);
        let message = LangChainMessage::read(output).or_else(|| {
            inside.into_iter().find(|it| it.body.tool_call_id.words().is_some_and(|known| known == id))
        });
        let (output, is_error) = match &message {
            Some(message) => (message.body.content, message.has_failed()),
            None => (output, false),
        };
        self.stage.result(&CallResult { id, name: "", output, is_error, agent: None }, time, out);
    }
}

/// A command to the graph that a tool returns, with messages in its update.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GraphCommand<'a> {
    #[serde(borrow)]
    update: ForeignField<'a>,
}
