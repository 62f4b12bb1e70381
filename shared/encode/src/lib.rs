//! Encoders: a conversation in the stream formats of other clients. An encoder turns events into the bytes of one
//! stream, one event after the other, without a clock and without randomness: the same events give the same bytes.
//!
//! Any events in any order are fine. A `Teller` folds them and says only what is new and in order (`Fact`): a run
//! before what is in it, a call before its result, everything closed before its run is. What a dialect cannot say is
//! left out on purpose, see `docs/dialects/encoders.md`.
//!
//! An encoder must never know how its dialect is read: decoders are for its tests alone. Nor does it know who reads: what
//! depends on the reader comes in as [`EncodeOptions`].
//!
//! Reading order: `fact` → `teller` → `object` → `serial` → one module for each dialect; beside them what is made
//! of a whole view: [`document`] (Markdown, HTML, Open WebUI) and [`reconstruct`] (the next request to a model).

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
mod ralph;
mod rye;

pub mod document;
pub mod reconstruct;

use fact::{Fact, FactContext, PartStep, ToolStep};
use object::{ObjectWriter, data_event};
use serial::RunSequencer;
use teller::{FactEncoder, FactSink};

/// What is told of a run that failed and does not say why, in dialects that need words for that.
pub const FAILED: &str = "the run failed";

/// What is told of a run that a person stopped, in dialects that have such a failure.
pub const STOPPED_BY_PERSON: &str = "the run was cancelled";

/// Turns events into the bytes of one stream. Give it the events as they come, then call [`Encode::end`] once.
pub trait Encode: std::fmt::Debug + Send {
    /// Takes the next event and adds what it is in the dialect, which may be nothing.
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>);

    /// There are no more events: adds what ends the stream. A run that still goes on, or that broke off, is left as
    /// the dialect's readers know broken streams: without its end.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// What an encoder needs to know from outside.
#[derive(Debug, Clone, Default)]
pub struct EncodeOptions {
    /// The conversation, for dialects that name one (a thread).
    pub conversation: CompactString,
    /// What of a dialect is wanted, for those that have [`EncoderSpec::modes`]; empty is what is usual.
    pub modes: Vec<CompactString>,
    /// Whom the stream answers; nothing for one who only watches.
    pub caller: Option<Caller>,
    /// What was said before, in dialects that tell all that was said: messages in the dialect's own form.
    pub earlier: Vec<serde_json::Value>,
}

/// Somebody who asked for the run and reads it as the answer to a request.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The tools that the caller executes. In dialects where a call is a call *for the reader* no others are told.
    pub tools: Vec<CompactString>,
    /// What the caller calls the run, where that is not its name: an answer that goes on has one of its own.
    pub run: Option<CompactString>,
    /// The message that the answer goes on with, in dialects whose callers name one; else it is a new one.
    pub message: Option<CompactString>,
    /// Whether tokens are told, in dialects whose callers say so.
    pub wants_usage: bool,
}

/// How a stream falls into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFraming {
    /// Server-sent events.
    Sse,
    /// One JSON object in each line.
    Ndjson,
    /// A document that is whole only at its end, or text without pieces.
    Text,
}

impl StreamFraming {
    /// What says nothing but that the stream is alive; nothing where every byte would be content.
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
    /// Its name.
    pub name: &'static str,
    /// The media type of its streams.
    pub content_type: &'static str,
    /// How they fall into pieces.
    pub framing: StreamFraming,
    /// What else an HTTP answer must say of them.
    pub headers: &'static [(&'static str, &'static str)],
    /// The modes that a reader can choose from; empty where there are none.
    pub modes: &'static [&'static str],
    /// It has no words for a failure: its servers break the answer off, and so must whoever answers a request in it.
    pub breaks_off: bool,
    /// How long a stream of it is silent before it shows that it is alive, in milliseconds, unless it is set.
    pub ping_ms: u64,
    make: fn(&EncodeOptions) -> Box<dyn Encode>,
    /// What it says to show that the stream is alive, at a time in milliseconds since 1970, where it has words for that.
    beat: Option<fn(u64) -> String>,
}

impl EncoderSpec {
    /// An encoding whose streams are server-sent events.
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

    /// An encoding whose streams have one object in each line.
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

    /// What shows that a stream is alive, at `now` in milliseconds since 1970; nothing where every byte would be content.
    pub fn heartbeat(&self, now: u64) -> Option<Cow<'static, str>> {
        match self.beat {
            Some(beat) => Some(Cow::Owned(beat(now))),
            None => self.framing.heartbeat().map(Cow::Borrowed),
        }
    }
}

/// The dialects that can be encoded.
pub const ENCODINGS: &[EncoderSpec] = &[
    EncoderSpec::ndjson("fanlight", fanlight::encoder),
    EncoderSpec::sse("openai-chat", openai_chat::encoder),
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

/// The encoding `name`, or nothing when there is none of that name.
pub fn encoding(name: &str) -> Option<&'static EncoderSpec> {
    ENCODINGS.iter().find(|encoding| encoding.name == name)
}

/// The names of the dialects that can be encoded, for a person to choose from.
pub fn names() -> String {
    ENCODINGS.iter().map(|encoding| encoding.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
