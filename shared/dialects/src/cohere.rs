//! Cohere chat (version 2 of the API): SSE with typed events, or a JSON body where the answer was not
//! streamed or failed. One message is one run.
//!
//! ```text
//! event: message-start    data: {"type":"message-start","id":"m1","delta":{"message":{"role":"assistant"}}}
//! event: tool-plan-delta  data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will look."}}}
//! event: tool-call-start  data: {"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","function":{"name":"find","arguments":""}}}}}
//! event: tool-call-delta  data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}
//! event: tool-call-end    data: {"type":"tool-call-end","index":0}
//! event: message-end      data: {"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":9,"output_tokens":4}}}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `message-start` | the start of a run; one that is open is interrupted |
//! | `content-start`, `content-delta` | text, or reasoning from the field `thinking` |
//! | `content-end` | the end of that part |
//! | `tool-plan-delta` | reasoning: the plan that the model writes before it calls tools |
//! | `tool-call-start`, `-delta`, `-end` | a call and its arguments, handed over to the caller |
//! | `citation-start` | a custom event `citation` |
//! | `message-end` | the end of the run with finish reason and tokens; `ERROR` and `TIMEOUT` are failures |
//! | anything else | an error if it is one, a whole answer, else raw |
//!
//! Indices restart with each kind of content, so they only tell calls apart. A stream that ends without
//! `message-end` is interrupted.

use compact_str::CompactString;

use super::agents::AgentParts;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, OpenCall, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, PartKind};

mod wire;

use wire::{
    CohereContent, CohereDelta, CohereFunction, CohereMessage, CohereStreamEvent, CohereToolCall, usage,
};

/// The name of the dialect.
pub const NAME: &str = "cohere";

/// A decoder for one answer.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    let writer = EventWriter::new(NAME, options);
    Box::new(ObjectDecoder::new(CohereMeaning { writer, parts: AgentParts::default(), call: None }))
}

/// The meaning of one stream of events.
#[derive(Debug)]
struct CohereMeaning {
    writer: EventWriter,
    /// The open text or reasoning.
    parts: AgentParts,
    /// The call that is being written, with its index where it has one. There is one at a time.
    call: Option<(Option<u64>, OpenCall)>,
}

impl ObjectMeaning for CohereMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let event: CohereStreamEvent<'_> = match crate::field::read(text) {
            Ok(event) => event,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let kind = event.kind.word().unwrap_or_else(|| name.into());
        let delta: CohereDelta<'_> = event.delta.object();
        let message: CohereMessage<'_> = delta.message.object();
        match &*kind {
            "message-start" => self.message_start(&message, out),
            "content-start" | "content-delta" => self.content(message.content, out),
            "content-end" => self.parts.close(None, &self.writer, out),
            "tool-plan-delta" => self.write(PartKind::Thinking, message.tool_plan, out),
            "tool-call-start" => self.call_start(event.index.count(), message.tool_calls, out),
            "tool-call-delta" => self.call_delta(event.index.count(), message.tool_calls, out),
            "tool-call-end" => self.call_end(true, out),
            "citation-start" => self.citations(message.citations, out),
            "citation-end" => {}
            "message-end" => self.message_end(&delta, out),
            _ => self.other(&event, ForeignField::parse_read(text), out),
        }
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(RunEnding::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl CohereMeaning {
    /// Begins a run. `message` is empty when the answer is streamed, and whole otherwise.
    fn message_start(&mut self, message: &CohereMessage<'_>, out: &mut Decoded) {
        self.close(RunEnding::default(), out);
        self.writer.begin(None, out);
        self.message(message, out);
    }

    /// Writes a message that comes whole: its plan, contents, citations and calls.
    fn message(&mut self, message: &CohereMessage<'_>, out: &mut Decoded) {
        self.write(PartKind::Thinking, message.tool_plan, out);
        self.parts.close(None, &self.writer, out);
        for content in message.content.list() {
            self.content(content, out);
            self.parts.close(None, &self.writer, out);
        }
        self.citations(message.citations, out);
        for call in message.tool_calls.list() {
            self.call_start(None, call, out);
            self.call_end(true, out);
        }
    }

    /// Writes a piece of content: an object with `text` or `thinking`, or a plain string.
    fn content(&mut self, content: ForeignField<'_>, out: &mut Decoded) {
        let piece: CohereContent<'_> = content.object();
        self.write(PartKind::Thinking, piece.thinking, out);
        self.write(PartKind::Text, if content.is_object() { piece.text } else { content }, out);
    }

    /// Continues the open text or reasoning, or begins another. A run begins if none is open.
    fn write(&mut self, kind: PartKind, text: ForeignField<'_>, out: &mut Decoded) {
        if let Some(text) = text.word() {
            self.writer.begin(None, out);
            self.parts.write(kind, &text, None, &mut self.writer, out);
        }
    }

    /// Writes each citation as a custom event; they come one by one or in a list.
    fn citations(&mut self, citations: ForeignField<'_>, out: &mut Decoded) {
        for citation in citations.list() {
            self.writer.begin(None, out);
            self.writer.custom("citation", citation, None, out);
        }
    }

    /// Begins a call. One that is still open is written, since the dialect has one at a time.
    fn call_start(&mut self, index: Option<u64>, call: ForeignField<'_>, out: &mut Decoded) {
        self.writer.begin(None, out);
        self.parts.close(None, &self.writer, out);
        self.call_end(true, out);
        if !self.writer.has_room(out) {
            return;
        }
        let call: CohereToolCall<'_> = first(call).object();
        let function: CohereFunction<'_> = call.function.object();
        let (id, name) = (call.id.words().unwrap_or_default(), function.name.text().unwrap_or_default());
        let mut open = self.writer.open_call(&id, &name, false, None, out);
        open.args(&function.arguments.words().unwrap_or_default(), &self.writer, out);
        self.call = Some((index, open));
    }

    /// Writes more of the arguments. Without a start, or with another index, a call begins and an anomaly
    /// says so.
    fn call_delta(&mut self, index: Option<u64>, call: ForeignField<'_>, out: &mut Decoded) {
        let is_other = match &self.call {
            Some((known, _)) => index.is_some() && known.is_some() && index != *known,
            None => true,
        };
        if is_other {
            self.writer.begin(None, out);
            let detail = format!("call {}", index.unwrap_or(0));
            self.writer.anomaly(AnomalyCode::ToolWithoutStart, detail, out);
            return self.call_start(index, call, out);
        }
        let function: CohereFunction<'_> = first(call).object::<CohereToolCall<'_>>().function.object();
        if let Some((_, open)) = &mut self.call {
            open.args(&function.arguments.text().unwrap_or_default(), &self.writer, out);
        }
    }

    /// Ends the call that is being written, if there is one. It is written if the stream says that it is
    /// whole (`is_whole`) or if its arguments are; otherwise it stays open and ends with the run.
    fn call_end(&mut self, is_whole: bool, out: &mut Decoded) {
        if let Some((_, mut open)) = self.call.take()
            && (is_whole || open.is_whole())
        {
            open.written(None, &mut self.writer, out);
        }
    }

    /// Ends the run with its finish reason. A second `message-end` is ignored.
    fn message_end(&mut self, delta: &CohereDelta<'_>, out: &mut Decoded) {
        if self.writer.has_begun() && !self.writer.is_running() {
            return;
        }
        self.writer.begin(None, out);
        let finish_reason = delta.finish_reason.word().map(|reason| CompactString::new(&reason));
        if delta.error.is_truthy() {
            self.fail(delta.error, out);
        } else if let Some(reason @ ("ERROR" | "TIMEOUT")) = finish_reason.as_deref() {
            let message = format!("the model call ended with the finish reason \"{reason}\"");
            let (code, retryable) = (CompactString::new(reason), (reason == "TIMEOUT").then_some(true));
            self.writer.fail(ErrorFact { code, message, retryable, retry_after_ms: None }, out);
        }
        let usage = usage(delta.usage);
        self.close(RunEnding { is_whole: true, finish_reason, usage, ..RunEnding::default() }, out);
    }

    /// Takes an object without a known type: an answer that was not streamed, an error body, or something
    /// that has no name here.
    fn other(&mut self, event: &CohereStreamEvent<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let answer: CohereDelta<'_> = whole.object();
        if answer.message.is_object() && answer.finish_reason.is_some() {
            self.message_start(&answer.message.object(), out);
            return self.message_end(&answer, out);
        }
        let is_message = event.message.text().is_some() && !self.writer.is_running();
        if event.error.is_truthy() || is_message || event.kind.text().is_some_and(|kind| kind == "error") {
            return self.fail(whole, out);
        }
        if whole.is_truthy() && (self.writer.is_running() || !self.writer.has_begun()) {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    /// Ends what is open and the run, if one is open.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        self.parts.close(None, &self.writer, out);
        self.call_end(ending.is_whole && !self.writer.has_failed(), out);
        self.writer.end(ending, out);
    }
}

/// The one call of an event, be it alone or in a list; absent if there is none.
fn first(call: ForeignField<'_>) -> ForeignField<'_> {
    call.list().into_iter().next().unwrap_or_default()
}
