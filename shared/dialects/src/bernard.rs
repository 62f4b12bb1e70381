//! Bernard: an agent that answers as a chat completion and executes its calls itself.
//!
//! ```text
//! data: {"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"web_search","arguments":"{}"}}]}}]}
//! data: {"type":"tool_progress","request_id":"q","data":{"_type":"tool_progress","tool":"web_search","phase":"progress","message":"2/3: Found 10 results"}}
//! data: {"choices":[{"delta":{"role":"tool","tool_call_id":"c1","content":"…"}}]}
//! data: {"choices":[{"delta":{"content":"Here."},"finish_reason":"stop"}]}
//! data: [DONE]
//! ```
//!
//! | object | becomes |
//! |---|---|
//! | a chunk | as in `openai_chat`; a delta of the role `tool` is the result of a call |
//! | `tool_progress` | progress of a call. It names the tool, not the call: the newest call of that tool without a result is meant. Without such a call it is a status |
//! | `messages/partial`, `tool_result`, `custom` | messages of its graph, as its own page reads them: see `messages` |
//! | `error`, `done` | a failure, the end of the run |
//!
//! What the graph itself streams, in process or from its server, is read as `langgraph` is; the first object
//! decides. A call whose tool has last reported a failure has failed, whatever its result says.

use std::collections::BTreeSet;

use compact_str::CompactString;
use serde::Deserialize;

use super::agents::{UnansweredCalls, unwrapped};
use super::field::ForeignField;
use super::langgraph::LangGraphMeaning;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::openai_chat::OpenAiChatMeaning;
use super::report::{ProgressReport, TOOL_PROGRESS};
use super::writer::EventWriter;
use super::{Decode, DecodeOptions, Decoded};
use model::event::{Kind, ToolState};

mod messages;

use messages::BernardMessages;

/// The name of the dialect.
pub const NAME: &str = "bernard";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::with_arrays(BernardMeaning {
        graph: None,
        chat: OpenAiChatMeaning::new(NAME, options.clone()),
        options,
        messages: BernardMessages::default(),
        open: UnansweredCalls::default(),
        running: BTreeSet::new(),
        failed: BTreeSet::new(),
    }))
}

/// The meaning of one stream: that of chunks, that of messages, or that of the graph.
#[derive(Debug)]
struct BernardMeaning {
    /// For the meaning of the graph, which is made when its first object is received.
    options: DecodeOptions,
    /// Reads the stream if it is that of the graph itself.
    graph: Option<Box<LangGraphMeaning>>,
    /// Reads the chunks; its writer is used for everything else.
    chat: OpenAiChatMeaning,
    /// Reads the stream if it consists of messages.
    messages: BernardMessages,
    /// The calls without a result.
    open: UnansweredCalls,
    /// The calls for which progress was received.
    running: BTreeSet<CompactString>,
    /// The calls whose tools have last reported a failure, and that have no result yet.
    failed: BTreeSet<CompactString>,
}

/// The fields of an object that is no chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BernardLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    payload: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

impl ObjectMeaning for BernardMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let begin = out.envelopes.len();
        let whole = ForeignField::parse(text).unwrap_or_default();
        let (kind, payload) = unwrapped(name, whole);
        if self.graph.is_none() && !self.chat.writer().has_begun() && is_of_graph(name, whole, payload) {
            self.graph = Some(Box::new(LangGraphMeaning::new(NAME, self.options.clone())));
        }
        if let Some(graph) = &mut self.graph {
            return graph.object(line, name, text, out);
        }
        if name.is_empty() && whole.is_list() {
            for item in whole.list() {
                self.object(line, name, item.as_json_text(), out);
            }
            return;
        }
        let shape: BernardLine<'_> = whole.object();
        match &*kind {
            _ if shape.kind.text().is_some_and(|kind| kind == TOOL_PROGRESS) => {
                self.progress(&shape.payload.object(), out);
            }
            "messages/partial" | "messages/complete" | "messages" => {
                self.chat.writer().begin(None, out);
                self.messages.partial(payload, self.chat.writer(), out);
            }
            "tool_result" => {
                self.chat.writer().begin(None, out);
                self.messages.results(payload, self.chat.writer(), out);
            }
            "custom" if ProgressReport::read(payload).is_some() => self.progress(&payload.object(), out),
            "error" => self.fail(if shape.error.is_some() { whole } else { payload }, out),
            "done" => self.done(out),
            _ => self.chat.object(line, name, text, out),
        }
        self.follow(begin, out);
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        match &mut self.graph {
            Some(graph) => graph.fail(whole, out),
            None => self.chat.fail(whole, out),
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        if let Some(graph) = &mut self.graph {
            return graph.done(out);
        }
        self.end_failed(out);
        self.messages.close(true, self.chat.writer(), out);
        self.chat.done(out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        if let Some(graph) = &mut self.graph {
            return graph.finish(out);
        }
        self.end_failed(out);
        self.messages.close(false, self.chat.writer(), out);
        self.chat.finish(out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        match &mut self.graph {
            Some(graph) => graph.writer(),
            None => self.chat.writer(),
        }
    }
}

impl BernardMeaning {
    /// Notes which calls were made and answered by the events from `begin` on. A result of a call that
    /// reported a failure becomes an error.
    fn follow(&mut self, begin: usize, out: &mut Decoded) {
        for envelope in out.envelopes.iter_mut().skip(begin) {
            match &mut envelope.event.kind {
                Kind::ToolStart(start) => self.open.add(start.tool.as_str(), &start.name),
                Kind::ToolCall { tool, name: Some(name), .. } => self.open.add(tool.as_str(), name),
                Kind::ToolResult(result) => {
                    self.open.remove(result.tool.as_str());
                    self.running.remove(result.tool.as_str());
                    result.is_error |= self.failed.remove(result.tool.as_str());
                }
                Kind::RunEnd(_) => {
                    self.open = UnansweredCalls::default();
                    self.running.clear();
                    self.failed.clear();
                }
                _ => {}
            }
        }
    }

    /// Takes how far a tool is. The call is complete by then, so open calls are written first.
    fn progress(&mut self, report: &ProgressReport<'_>, out: &mut Decoded) {
        let name = report.tool();
        self.chat.writer().begin(None, out);
        // Who says how far a tool is has the whole call already.
        self.chat.settle(out);
        self.messages.settle(self.chat.writer(), out);
        let writer = self.chat.writer();
        let id = self.open.known(&report.call()).or_else(|| self.open.newest(&name)).cloned();
        let Some(id) = id else {
            return writer.push(Kind::Status { text: format!("{name}: {}", report.line()) }, out);
        };
        if self.running.insert(id.clone()) {
            writer.state(&id, ToolState::Executing, None, out);
        }
        let progress = report.progress(writer.tool_id(&id));
        writer.report(&id, progress, report.time(), None, out);
        if report.is_failure() {
            self.failed.insert(id);
        } else {
            self.failed.remove(&id);
        }
    }

    /// Ends the calls that reported a failure and have no result.
    fn end_failed(&mut self, out: &mut Decoded) {
        for id in std::mem::take(&mut self.failed) {
            self.chat.writer().state(&id, ToolState::Error, None, out);
        }
    }
}

/// Whether `whole`, in an event called `name`, is one of those that a graph streams by itself. Bernard's own
/// events are wrapped in an object with their name; `payload` is what is in it.
fn is_of_graph(name: &str, whole: ForeignField<'_>, payload: ForeignField<'_>) -> bool {
    let is_bare = whole.as_json_text().len() == payload.as_json_text().len();
    let mode = name.split('|').next().unwrap_or_default();
    is_bare
        && match mode {
            "metadata" | "updates" | "values" | "messages/metadata" | "custom" => true,
            "messages" => is_message_with_metadata(&whole.list()),
            "" | "message" if whole.is_list() => is_tuple(&whole.list()),
            _ => false,
        }
}

/// Whether an array is what `stream()` of a graph gives: a mode and its value, a namespace before them, or a
/// message with what the graph says beside it.
fn is_tuple(items: &[ForeignField<'_>]) -> bool {
    match items {
        [mode, _] if mode.word().is_some() => true,
        [path, mode, _] if path.is_list() && mode.word().is_some() => true,
        items => is_message_with_metadata(items),
    }
}

/// Whether an array is a message with what the graph says beside it.
fn is_message_with_metadata(items: &[ForeignField<'_>]) -> bool {
    let [message, about] = items else { return false };
    let (message, about) = (message.fields(), about.fields());
    let speaks = ["content", "kwargs", "tool_calls"].iter().any(|name| message.get(name).is_some());
    speaks
        && about.any(&["langgraph_node", "langgraph_step", "tool_calls", "usage", "tags"]).is_some()
        && !about.get("content").is_some()
}

#[cfg(test)]
mod tests;
