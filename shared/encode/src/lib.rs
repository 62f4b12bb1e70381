//! Encoders: a conversation in the stream formats of other clients. An encoder turns events into the bytes of
//! one stream, one event after the other, without a clock and without randomness: the same events give the
//! same bytes.
//!
//! ```text
//! events ──serial──▶ one run at a time ──teller──▶ facts ──a dialect──▶ bytes
//!          (most dialects)                fold, in order,
//!                                         each once
//! ```
//!
//! Events may come in any order. A `FactEncoder` folds them and passes on only what is new and in order
//! (`Fact`): a run before what is in it, a call before its result, and everything is closed before its run
//! is. What a dialect cannot express is left out on purpose, see `docs/dialects/encoders.md`.
//!
//! What every encoder guarantees:
//!
//! * It never fails. What cannot be written is left out.
//! * A stream has the end of its dialect only if its runs came to theirs: a client can tell a whole answer
//!   from one that broke off.
//! * Memory is bounded by that of one view without the texts of runs that are over, and by what waits for
//!   another run (I7).
//!
//! An encoder does not know how its dialect is read: decoders are only for its tests. Nor does it know who
//! reads: what depends on the reader is in [`EncodeOptions`].
//!
//! Reading order: `fact` → `teller` → `object` → `serial` → one module for each dialect. Two modules make
//! something of a whole view: [`document`] (Markdown, HTML, Open WebUI) and [`reconstruct`] (the next request
//! to a model).

use std::borrow::Cow;

use compact_str::CompactString;

use model::envelope::Envelope;
use model::limits::{FORGE_PING_MS, SSE_PING_MS};

mod fact;
mod names;
mod object;
mod serial;
mod teller;

mod ag_ui;
mod ai_sdk;
mod anthropic;
mod deep_agent;
mod fanlight;
mod forge;
pub mod langgraph;
pub mod openai_chat;
pub mod openai_responses;
mod ralph;
mod rye;

pub mod document;
pub mod reconstruct;

use fact::{Fact, FactContext, PartStep, ToolStep};
use object::{ObjectWriter, data_event};
use serial::RunSequencer;
use teller::{FactEncoder, FactSink};

/// The text for a run that failed without a reason, in dialects that need a text.
pub const FAILED: &str = "the run failed";

/// The text for a run that a person stopped, in dialects that report it as a failure.
pub const STOPPED_BY_PERSON: &str = "the run was cancelled";

/// Turns events into the bytes of one stream. Pass it the events in the order of the log, then call
/// [`Encode::end`] once.
///
/// The caller owns the encoder, one for each reader, and sends the bytes. Dropping it without `end` leaves
/// the stream without the end of its dialect, as if it had broken off.
pub trait Encode: std::fmt::Debug + Send {
    /// Takes the next event and appends what it becomes in the dialect, which may be nothing. What is
    /// appended consists of whole pieces of the framing: events, lines.
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>);

    /// Appends what ends the stream, after the last event. A run that is open or broke off gets no end, as in
    /// a stream of the dialect that breaks off.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// The options of an encoder.
#[derive(Debug, Clone, Default)]
pub struct EncodeOptions {
    /// The conversation, for dialects that name one (a thread).
    pub conversation: CompactString,
    /// The modes that are wanted, for dialects that have [`EncoderSpec::modes`]; empty for the usual ones.
    pub modes: Vec<CompactString>,
    /// The caller that the stream answers; nothing for a viewer.
    pub caller: Option<Caller>,
    /// The earlier messages, for dialects that send all messages, in the dialect's own form.
    pub earlier: Vec<serde_json::Value>,
}

/// The caller that requested the run and reads it as the answer.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The tools that the caller executes. Dialects in which every call is for the reader contain only these.
    pub tools: Vec<CompactString>,
    /// The id that the caller uses for the run, if it is not the run's own.
    pub run: Option<CompactString>,
    /// The id of the message that the answer continues, in dialects whose callers name one; nothing for a new
    /// message.
    pub message: Option<CompactString>,
    /// Whether the usage is sent, in dialects whose callers choose that.
    pub wants_usage: bool,
}

/// How a stream is divided into pieces, which decides what may be written between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFraming {
    /// Server-sent events, divided by blank lines.
    Sse,
    /// One JSON object in each line.
    Ndjson,
    /// A document that is complete only at its end, or text without pieces.
    Text,
}

impl StreamFraming {
    /// The bytes that only show that the stream is alive; nothing if every byte would be content.
    pub fn heartbeat(self) -> Option<&'static str> {
        match self {
            Self::Sse => Some(": \n\n"),
            Self::Ndjson | Self::Text => None,
        }
    }
}

/// A dialect that can be encoded.
#[derive(Debug)]
pub struct EncoderSpec {
    /// The name of the dialect.
    pub name: &'static str,
    /// The media type of its streams.
    pub content_type: &'static str,
    /// The framing of its streams: how they are divided into pieces.
    pub framing: StreamFraming,
    /// The additional headers of an HTTP answer.
    pub headers: &'static [(&'static str, &'static str)],
    /// The modes that a reader can choose from; mostly empty.
    pub modes: &'static [&'static str],
    /// The dialect has no event for a failure: its servers break the answer off, and so must the hub.
    pub breaks_off: bool,
    /// After how many milliseconds without an event a stream shows that it is alive, unless the configuration
    /// says otherwise.
    pub ping_ms: u64,
    /// Makes the encoder for one stream.
    make: fn(&EncodeOptions) -> Box<dyn Encode>,
    /// Makes the dialect's event that shows that the stream is alive, from the time in milliseconds since
    /// 1970; nothing if the framing's bytes are used.
    beat: Option<fn(u64) -> String>,
}

impl EncoderSpec {
    /// A dialect whose streams are server-sent events.
    const fn sse(name: &'static str, make: fn(&EncodeOptions) -> Box<dyn Encode>) -> Self {
        Self {
            name,
            content_type: "text/event-stream",
            framing: StreamFraming::Sse,
            headers: &[],
            modes: &[],
            breaks_off: false,
            ping_ms: SSE_PING_MS,
            make,
            beat: None,
        }
    }

    /// A dialect whose streams have one object in each line.
    const fn ndjson(name: &'static str, make: fn(&EncodeOptions) -> Box<dyn Encode>) -> Self {
        Self {
            name,
            content_type: "application/x-ndjson",
            framing: StreamFraming::Ndjson,
            headers: &[],
            modes: &[],
            breaks_off: false,
            ping_ms: SSE_PING_MS,
            make,
            beat: None,
        }
    }

    /// An encoder for one stream.
    pub fn encoder(&self, options: &EncodeOptions) -> Box<dyn Encode> {
        (self.make)(options)
    }

    /// What shows that a stream is alive, at `now` in milliseconds since 1970; nothing if every byte would be
    /// content.
    pub fn heartbeat(&self, now: u64) -> Option<Cow<'static, str>> {
        match self.beat {
            Some(beat) => Some(Cow::Owned(beat(now))),
            None => self.framing.heartbeat().map(Cow::Borrowed),
        }
    }
}

/// The dialects that can be encoded, in the order in which they are offered. A dialect has the same name as
/// its decoder, if there is one.
pub const ENCODINGS: &[EncoderSpec] = &[
    EncoderSpec::ndjson("fanlight", fanlight::encoder),
    EncoderSpec::sse("openai-chat", openai_chat::encoder),
    EncoderSpec::sse("openai-responses", openai_responses::encoder),
    EncoderSpec::sse("anthropic", anthropic::encoder),
    EncoderSpec::sse("ag-ui", ag_ui::encoder),
    EncoderSpec {
        headers: &[("x-vercel-ai-ui-message-stream", "v1")],
        ..EncoderSpec::sse("ai-sdk", ai_sdk::encoder)
    },
    EncoderSpec::sse("ralph", ralph::encoder),
    EncoderSpec { breaks_off: true, ..EncoderSpec::sse("deep-agent", deep_agent::encoder) },
    EncoderSpec {
        beat: Some(forge::ping),
        ping_ms: FORGE_PING_MS,
        ..EncoderSpec::sse("forge", forge::encoder)
    },
    EncoderSpec::sse("bernard", openai_chat::bernard),
    EncoderSpec { modes: langgraph::MODES, ..EncoderSpec::sse("langgraph", langgraph::encoder) },
    EncoderSpec::ndjson("rye", rye::encoder),
    EncoderSpec::sse("open-webui", document::open_webui::encoder),
];

/// The dialect `name`; nothing if it cannot be encoded. Names are compared exactly.
pub fn encoding(name: &str) -> Option<&'static EncoderSpec> {
    ENCODINGS.iter().find(|encoding| encoding.name == name)
}

/// The names of the dialects that can be encoded, joined with commas, for a person to choose from.
pub fn names() -> String {
    ENCODINGS.iter().map(|encoding| encoding.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
