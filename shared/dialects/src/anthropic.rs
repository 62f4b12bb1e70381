//! Anthropic messages: SSE with typed events and content blocks, or a JSON body where the answer was not
//! streamed or failed. One message is one run; a second message in the same stream is a second run.
//!
//! ```text
//! event: message_start         {"type":"message_start","message":{"id":"msg_1","model":"claude","usage":{"input_tokens":9,"output_tokens":1}}}
//! event: content_block_start   {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
//! event: content_block_delta   {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
//! event: content_block_stop    {"type":"content_block_stop","index":0}
//! event: message_delta         {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}
//! event: message_stop          {"type":"message_stop"}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `message_start` | the start of a run with its model; repeated with the same id it changes nothing |
//! | `content_block_*` | a part, a call or a result: see `OpenBlock` |
//! | `message_delta` | finish reason and tokens of the end; `stop_details` and applied edits of the context as custom events |
//! | `message_stop` | the end of the run |
//! | `message` | a whole run: the answer was not streamed |
//! | `error`, or an object with `error` | a failure; the run ends with the stream |
//! | `ping` | nothing |
//! | events of the SDKs' helpers | nothing; they are counted in an anomaly (`repeated`) |
//! | anything else | raw |
//!
//! The stream has no `[DONE]`. A run with a `stop_reason` is whole even without `message_stop`; without both
//! it is interrupted. `pause_turn` means that the provider goes on when it is called again, so a run that its
//! caller continues does not end.

use compact_str::CompactString;

use super::field::{ForeignField, Shapes};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;

mod block;
mod blocks;
mod plain;
mod wire;

pub(super) use block::{OpenBlock, StoppedBlock};
pub(super) use blocks::OpenBlocks;
use plain::PlainDelta;
pub(super) use wire::{
    AnthropicBlock, AnthropicDelta, AnthropicMessageBody, AnthropicStreamEvent, AnthropicTokens,
};

/// The events that the SDKs' helpers put beside the events of the API (`messages.stream()`). Each repeats a
/// delta, most of them with all that came before it (`snapshot`), so that kept they would grow with the
/// square of the answer.
const HELPER_EVENTS: [&str; 5] = ["text", "thinking", "signature", "input_json", "citation"];

/// The name of the dialect.
pub const NAME: &str = "anthropic";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(AnthropicMeaning::new(options)))
}

/// The meaning of one stream of messages.
#[derive(Debug)]
struct AnthropicMeaning {
    writer: EventWriter,
    /// The id of the open message, to recognise a start that is repeated.
    id: CompactString,
    /// The open content blocks of the message.
    blocks: OpenBlocks,
    /// The tokens of the message as far as they were reported.
    counts: AnthropicTokens,
    /// Why the model stopped, once the stream has said it.
    stop_reason: Option<CompactString>,
    /// Events of the SDK's helpers that were left out, in the message that goes on.
    repeated: u64,
    /// The shapes of deltas that only go on with a block.
    shapes: Shapes<PlainDelta>,
}

impl ObjectMeaning for AnthropicMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        if self.plain(text, out) {
            return;
        }
        let event: AnthropicStreamEvent<'_> = match crate::field::read(text) {
            Ok(event) => event,
            // Keep-alives need no content.
            Err(_) if name == "ping" => return,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = ForeignField::parse_read(text);
        let kind = event.kind.word().unwrap_or_else(|| name.into());
        match &*kind {
            "ping" => {}
            "message_start" => self.message_start(event.message, out),
            "content_block_start" => {
                self.writer.begin(None, out);
                self.blocks.start(&event, &mut self.writer, out);
            }
            "content_block_delta" => {
                self.writer.begin(None, out);
                self.blocks.delta(&event, &mut self.writer, out);
                if self.shapes.is_learning()
                    && let Some((plain, gaps)) = PlainDelta::of(&event)
                {
                    self.shapes.learn(text, &gaps, plain);
                }
            }
            "content_block_stop" => {
                self.blocks.stop(&event, &mut self.writer, out);
            }
            "message_delta" => self.message_delta(&event, out),
            "message_stop" => self.close(true, out),
            "message" => self.whole_message(whole, out),
            _ if kind == "error" || event.error.is_truthy() => self.fail(whole, out),
            _ if self.writer.is_running() && HELPER_EVENTS.contains(&&*kind) => {
                self.repeated = self.repeated.saturating_add(1);
            }
            // A gateway's error body, from before any event.
            "" if !self.writer.is_running() && (event.message.is_some() || event.detail.is_some()) => {
                self.fail(whole, out);
            }
            _ => {
                self.writer.begin(None, out);
                self.writer.raw(whole, None, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(false, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl AnthropicMeaning {
    fn new(options: DecodeOptions) -> Self {
        Self {
            writer: EventWriter::new(NAME, options),
            id: CompactString::default(),
            blocks: OpenBlocks::default(),
            counts: AnthropicTokens::default(),
            stop_reason: None,
            repeated: 0,
            shapes: Shapes::default(),
        }
    }

    /// Takes a delta whose shape is known and whose block is open, and returns whether it is one.
    fn plain(&mut self, text: &str, out: &mut Decoded) -> bool {
        let Some((plain, [said, ..])) = self.shapes.find(text) else { return false };
        let Some(block) = self.blocks.get_mut(plain.index) else { return false };
        self.writer.begin(None, out);
        block.go_on(plain.kind, said, &self.writer, out);
        true
    }

    /// Begins a message and its run. A message that is open is ended first, unless this is its start once
    /// more.
    fn message_start(&mut self, message: ForeignField<'_>, out: &mut Decoded) {
        let body: AnthropicMessageBody<'_> = message.object();
        let id = body.id.text().unwrap_or_default();
        // Proxies have been seen to repeat the start, and to send two messages in one body.
        let is_repeated = self.writer.is_running() && !id.is_empty() && id == self.id.as_str();
        if !is_repeated {
            self.close(false, out);
            self.id = CompactString::new(&id);
        }
        self.writer.begin(body.model.text().as_deref(), out);
        self.counts.update(body.usage);
        if !is_repeated {
            self.whole_blocks(body.content, out);
        }
    }

    /// Takes what the end of the message says: why it stopped, and its tokens.
    fn message_delta(&mut self, event: &AnthropicStreamEvent<'_>, out: &mut Decoded) {
        self.writer.begin(None, out);
        let delta: AnthropicDelta<'_> = event.delta.object();
        self.stopped(delta.stop_reason, delta.stop_details, out);
        self.counts.update(event.usage);
        let edits = event.context_management.object::<ContextManagement<'_>>().applied_edits;
        if edits.is_truthy() {
            self.writer.custom("context_management", event.context_management, None, out);
        }
    }

    /// Notes why the model stopped. Details (of a refusal) become a custom event.
    fn stopped(&mut self, reason: ForeignField<'_>, details: ForeignField<'_>, out: &mut Decoded) {
        if let Some(reason) = reason.word() {
            self.stop_reason = Some(CompactString::new(&reason));
        }
        if details.is_truthy() {
            self.writer.custom("stop_details", details, None, out);
        }
    }

    /// Writes a message that was not streamed as a whole run.
    fn whole_message(&mut self, message: ForeignField<'_>, out: &mut Decoded) {
        self.message_start(message, out);
        let body: AnthropicMessageBody<'_> = message.object();
        self.stopped(body.stop_reason, body.stop_details, out);
        self.close(true, out);
    }

    /// Writes content blocks that come whole, in a body or in the start of a message.
    fn whole_blocks(&mut self, blocks: ForeignField<'_>, out: &mut Decoded) {
        for block in blocks.list() {
            OpenBlock::start(block, None, &mut self.writer, out).stop(true, &mut self.writer, out);
        }
    }

    /// Ends the message and its run: the stream said so (`is_stopped`), another message begins, or no more
    /// bytes come. Does nothing without an open run. Calls are written if the message is whole without a
    /// failure, otherwise only those with whole arguments.
    fn close(&mut self, is_stopped: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let repeated = std::mem::take(&mut self.repeated);
        if repeated > 0 {
            let detail = format!("{repeated} events of an SDK's helper, which repeat what the stream says");
            self.writer.anomaly(AnomalyCode::Repeated, detail, out);
        }
        let finish_reason = self.stop_reason.take();
        let is_whole = is_stopped || finish_reason.is_some();
        self.blocks.close(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        let usage = std::mem::take(&mut self.counts).usage();
        let is_paused = finish_reason.as_deref() == Some("pause_turn");
        self.writer.end(RunEnding { is_whole, is_paused, finish_reason, usage, ..RunEnding::default() }, out);
    }
}

/// The field `context_management` of `message_delta`; without applied edits it says nothing.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct ContextManagement<'a> {
    #[serde(borrow)]
    applied_edits: ForeignField<'a>,
}

#[cfg(test)]
mod tests;
