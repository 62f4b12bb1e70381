//! What graphs and chains of agents stream (LangGraph, LangChain), in the forms in which it leaves its
//! process: the platform's SSE (objects with the mode as the name of the event), tuples and parts of
//! `stream()`, the typed protocol (`protocol`), and the events of `astream_events` (`events`). Each object
//! shows which form it has.
//!
//! ```text
//! event: messages|tools:9f  data: [{"type":"AIMessageChunk","id":"m1","content":"Hi"}, {"langgraph_node":"agent"}]     platform SSE
//! ["updates", {"agent": {"messages": [{"type":"ai","content":"Hi"}]}}]                                                 tuples
//! {"type":"values","ns":[],"data":{"messages":[…]}}                                                                    parts
//! {"type":"event","seq":4,"method":"messages","params":{"namespace":[],"data":{"event":"content-block-delta",…}}}      protocol
//! {"event":"on_chat_model_stream","run_id":"u1","parent_ids":[],"data":{"chunk":{…}}}                                  astream_events
//! ```
//!
//! | mode, method or event | becomes |
//! |---|---|
//! | `messages` | text, reasoning and calls of the model; results of tools; history |
//! | `messages/partial`, `/complete` | the same; each has the whole message so far |
//! | `values`, `updates` | messages that were not streamed; the rest of the state as a custom event, when it changes |
//! | `tools`, `on_tool_*` | calls, their execution, output and result |
//! | `tasks`, `debug` | raw; besides, when calls are executed and why nodes failed |
//! | `custom`, `on_custom_event` | the progress of a call if it is a report, else a custom event |
//! | `__interrupt__`, `input.requested` | a custom event `interrupt`, and approval requests of the calls that it names |
//! | `lifecycle`, `on_chain_start`, `on_chain_end` | start and end of the run |
//! | `error`, `on_…_error` | a failure |
//! | `metadata` | nothing but the start of the run |
//! | anything else | raw |
//!
//! A graph inside of a tool call is a sub-agent; the namespace of an event says which (`agents`). The same
//! message is often sent several times: as pieces, in an update and in the state. It is recognised by its id,
//! else by its text, and written once.
//!
//! Most forms have no terminator, and the end of the bytes is the end of the run. It is complete if the
//! newest message and all calls of the model are; a graph that waits for a person is paused. Where the stream
//! says that the outermost runnable began, the run is interrupted without its end.

use compact_str::CompactString;
use indexmap::{IndexMap, IndexSet};
use serde::Deserialize;

use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{RunStatus, Usage};
use model::print::Fingerprint;

mod agents;
mod beside;
mod blocks;
mod calls;
mod events;
mod forms;
mod messages;
mod pieces;
mod protocol;
mod spoken;
mod stage;
mod state;
mod tasks;
mod wire;

use agents::steps;
use spoken::StreamedMessage;
use stage::LangGraphWriter;

/// The name of the dialect.
pub const NAME: &str = "langgraph";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::with_arrays(LangGraphMeaning::new(NAME, options)))
}

/// The meaning of one stream. All that is about the open run is reset when it ends. Deep Agents and Bernard
/// have such streams among their own objects and use this too.
#[derive(Debug)]
pub(super) struct LangGraphMeaning {
    /// Where the events are written, with what is known of calls and sub-agents.
    stage: LangGraphWriter,
    /// The open messages, by id or by where they come from.
    open: IndexMap<CompactString, StreamedMessage>,
    /// The messages that were written, by the hash of their key; and whether their tokens are counted.
    told: IndexMap<u64, bool>,
    /// Hashes of texts that were streamed and were not yet received as a whole: nodes may give a message a
    /// new id.
    streamed: IndexSet<u64>,
    /// Results of tools that are being streamed as messages, by the key of the message; and the calls that
    /// they are of.
    tool_messages: IndexMap<CompactString, CompactString>,
    /// The namespaces of messages by their ids, from `messages/metadata`, which is sent once for each.
    namespaces: IndexMap<CompactString, CompactString>,
    /// The tokens of all messages so far.
    usage: Option<Usage>,
    /// Why the main model stopped last.
    finish_reason: Option<CompactString>,
    /// The outermost runnable of the graph.
    root: RootRunnable,
    /// A state or a message was received: the first state alone is what the run began with.
    has_state: bool,
    /// The newest message lacks its end, as far as was received. Then the end of the bytes is not the end of
    /// the run.
    is_incomplete: bool,
    /// The graph waits for a person.
    is_asked: bool,
    /// Hashes of the questions that were written; states repeat them.
    interrupts: IndexSet<u64>,
    /// The hash of the newest state that was written.
    last_state: u64,
    /// Hashes of the steps that were written, each once.
    steps: IndexSet<u64>,
}

/// What is known of the outermost runnable.
#[derive(Debug, Default)]
struct RootRunnable {
    /// The id by which its events name it; empty if they do not.
    run: CompactString,
    /// The stream says when it begins, so it says when it ends.
    is_followed: bool,
}

/// The fields by which an object shows its form, and those that all forms share.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TaggedObject<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    ns: ForeignField<'a>,
    #[serde(borrow)]
    event: ForeignField<'a>,
    #[serde(borrow)]
    method: ForeignField<'a>,
    #[serde(borrow)]
    params: ForeignField<'a>,
    #[serde(borrow)]
    run_id: ForeignField<'a>,
    #[serde(borrow)]
    data: ForeignField<'a>,
    #[serde(borrow)]
    messages: ForeignField<'a>,
    #[serde(borrow, rename = "__interrupt__")]
    interrupt: ForeignField<'a>,
    #[serde(borrow)]
    interrupts: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
    #[serde(borrow)]
    message: ForeignField<'a>,
    #[serde(borrow)]
    detail: ForeignField<'a>,
}

impl ObjectMeaning for LangGraphMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            if name == "end" {
                return self.close(true, out);
            }
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.stage.w.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let tagged: TaggedObject<'_> = whole.object();
        if tagged.method.is_some() && tagged.params.is_object() {
            return self.protocol(&tagged.method.text().unwrap_or_default(), tagged.params, whole, out);
        }
        if is_runnable_event(&tagged) {
            return self.runnable_event(whole, out);
        }
        let mut parts = name.splitn(2, '|');
        match parts.next().filter(|mode| !mode.is_empty() && *mode != "message") {
            Some(mode) => self.mode(mode, &steps(parts.next().unwrap_or_default()), whole, out),
            None => self.unnamed(whole, &tagged, out),
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let mut fact = fault(whole);
        let tagged: TaggedObject<'_> = whole.object();
        if let (Some(name), true) = (tagged.error.word(), tagged.message.is_some()) {
            fact.code = CompactString::new(&name);
        }
        self.stage.w.fail(fact, out);
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(true, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let has_said = self.has_state || !self.told.is_empty() || !self.open.is_empty();
        let is_whole = self.is_asked || (!self.root.is_followed && !self.is_incomplete && has_said);
        if is_whole && !self.is_asked && !self.stage.w.has_failed() {
            self.fail_at_calls(out);
        }
        self.close(is_whole, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.stage.w
    }
}

/// Whether the object is an event of `astream_events`: their names begin with `on_`.
fn is_runnable_event(tagged: &TaggedObject<'_>) -> bool {
    tagged.event.text().is_some_and(|event| event.starts_with("on_")) && tagged.run_id.is_some()
}

impl LangGraphMeaning {
    /// The meaning of a stream in the dialect `name`, which is this one or has such streams among others.
    pub(super) fn new(name: &str, options: DecodeOptions) -> Self {
        Self {
            stage: LangGraphWriter::new(EventWriter::new(name, options)),
            open: IndexMap::new(),
            told: IndexMap::new(),
            streamed: IndexSet::new(),
            tool_messages: IndexMap::new(),
            namespaces: IndexMap::new(),
            usage: None,
            finish_reason: None,
            root: RootRunnable::default(),
            has_state: false,
            is_incomplete: false,
            is_asked: false,
            interrupts: IndexSet::new(),
            last_state: 0,
            steps: IndexSet::new(),
        }
    }

    /// Ends the run, if one is open. `is_whole` says whether it came to its end; a failure counts before
    /// that.
    fn close(&mut self, is_whole: bool, out: &mut Decoded) {
        if !self.stage.w.is_running() {
            return;
        }
        let is_good = is_whole && !self.stage.w.has_failed();
        for key in self.open.keys().cloned().collect::<Vec<_>>() {
            self.end_message(&key, is_good, out);
        }
        self.stage.end_failed(out);
        let is_paused = std::mem::take(&mut self.is_asked);
        let finish_reason = if is_paused { Some("interrupt".into()) } else { self.finish_reason.take() };
        // A graph executes its calls itself: its end is not that of a model which leaves them to its caller.
        let status = (is_good && !is_paused).then_some(RunStatus::Complete);
        let usage = self.usage.take();
        self.stage.w.end(RunEnding { is_whole, is_paused, status, finish_reason, usage }, out);
        self.stage.forget();
        self.told.clear();
        self.streamed.clear();
        self.interrupts.clear();
        self.steps.clear();
        self.tool_messages.clear();
        self.namespaces.clear();
        (self.root, self.has_state, self.is_incomplete) = (RootRunnable::default(), false, false);
    }
}

/// The hash by which keys and texts are recognised: the one that [`StreamedMessage::text_hash`] has of a text
/// that came in pieces. It is SHA-256, since texts of others are compared.
fn hash_of(text: &str) -> u64 {
    use std::hash::Hasher as _;
    let mut printer = Fingerprint::default();
    printer.write(text.as_bytes());
    printer.finish()
}

#[cfg(test)]
mod tests;
