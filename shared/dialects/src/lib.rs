//! Dialects: foreign stream formats. A decoder turns the bytes of one stream into events, however the bytes
//! are cut (invariant I11); bad input becomes anomalies, never an error, and loses nothing else.
//!
//! ```text
//! bytes ──framing──▶ pieces ──objects──▶ a dialect's meaning ──writer──▶ events
//!         SSE, lines,         [DONE],      what each object of            ids, offsets,
//!         JSON values         errors       one vendor stands for          one end per run
//! ```
//!
//! A decoder must never know what becomes of its events: no hub, no log, no encoder, and neither clock nor
//! file. All that it needs from outside is in [`DecodeOptions`].
//!
//! What every decoder guarantees, for any bytes:
//!
//! * It never panics and never fails. Input that is not of the dialect becomes [`Kind::Anomaly`] with a line
//!   number and an excerpt.
//! * The events do not depend on how the bytes were cut (I11), nor on time: the same bytes give the same
//!   events and the same ids.
//! * A run that begins also ends, at the latest in [`Decode::end`]. A stream that breaks off ends it as
//!   interrupted, never as complete. There are two exceptions: with [`DecodeOptions::run_goes_on`] a run may
//!   be left to its caller, and native events ([`fanlight`]) pass as they are.
//! * Memory is bounded (I7): a piece has at most [`model::limits::LINE_BYTES_MAX`] bytes, a run at most
//!   [`model::limits::ITEMS_PER_RUN_MAX`] parts and calls. What is beyond is left out and named by an
//!   anomaly.
//!
//! Reading order: [`framing`] (server-sent events, lines, objects) is separate from meaning and has one
//! module for each kind of frame; [`field`] reads the values inside a frame; one module for each dialect says
//! what they mean, where [`ollama`] is the one to begin with; [`detect()`] tells a
//! dialect by its first bytes, [`recording`] folds a whole stream.

use compact_str::CompactString;

use model::envelope::Envelope;
use model::event::{Event, Kind};
use model::ids::{PartId, RunId};

pub mod field;
pub mod framing;
pub mod recording;

mod agents;
mod detect;
mod fault;
mod markup;
mod objects;
mod plausible;
mod report;
mod scan;
mod time;
mod tokens;
mod trajectory;
mod writer;

pub mod ag_ui;
pub mod agno;
pub mod ai_sdk;
pub mod anthropic;
pub mod bernard;
pub mod claude_code;
pub mod claude_session;
pub mod codex;
pub mod cohere;
#[cfg(feature = "user-dialects")]
pub mod custom;
pub mod deep_agent;
pub mod fanlight;
pub mod forge;
pub mod gemini;
pub mod gemini_interactions;
pub mod langgraph;
pub mod ollama;
pub mod open_webui;
pub mod openai_chat;
pub mod openai_responses;
pub mod opencode;
pub mod ralph;
pub mod rye;
pub mod swe_agent;
pub mod tau_bench;
pub mod text_calls;

pub use detect::detect;
pub use fault::{by_status, failure_in};
use text_calls::stream::WithTextCalls;

/// Turns one stream into events. Pass it the bytes as they are received, then call [`Decode::end`] once.
///
/// The caller owns the decoder, one for each stream. Dropping it without `end` loses nothing that was
/// decoded, but leaves the open run without an end, and pieces whose end was not received are lost.
pub trait Decode: std::fmt::Debug + Send {
    /// Takes the next bytes and appends the events to `out`. The stream may be cut at any byte, also inside
    /// of a character (I11). An event is written once its bytes are there; what may still turn out to be
    /// something else, such as half a tag, waits for the bytes that follow.
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded);

    /// Takes the end of the stream, whether it was closed or broke off. Open parts end, and a run that the
    /// stream did not end is interrupted. Nothing may be fed afterwards.
    fn end(&mut self, out: &mut Decoded);
}

/// The options of a decoder: all that it knows besides the bytes.
#[derive(Debug, Clone)]
pub struct DecodeOptions {
    /// The run that the stream belongs to, for dialects whose streams do not name runs. A second run in the same
    /// stream is `{run}.2`, and so on.
    pub run: RunId,
    /// Put before the ids of parts, so that several streams can continue one run without sharing ids. May be empty.
    pub part_prefix: CompactString,
    /// The caller continues this run: a model call that hands tool calls over to the caller does not end it
    /// (then [`Kind::RunUpdate`] carries finish reason and usage).
    pub run_goes_on: bool,
    /// The form of tool calls in the text of the answer. They are taken out of the text and become calls;
    /// nothing to leave the text unchanged.
    pub text_calls: Option<text_calls::TextForm>,
    /// The rules for tool calls in the text.
    pub text_rules: text_calls::TextRules,
}

/// The decoder that `make` makes, with the search for calls in texts if that is set.
///
/// Every decoder of this crate and every dialect of a user is made through here, so that the option has the
/// same effect on all of them.
fn with_text_search(
    options: DecodeOptions,
    make: impl FnOnce(DecodeOptions) -> Box<dyn Decode>,
) -> Box<dyn Decode> {
    let (form, rules) = (options.text_calls, options.text_rules.clone());
    let prefix = options.part_prefix.clone();
    let decoder = make(options);
    match form {
        Some(form) => Box::new(WithTextCalls::new(decoder, (form, rules), prefix)),
        None => decoder,
    }
}

/// Run `r1`, no prefix, the run ends with its stream, texts are left unchanged.
impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            run: RunId::new("r1"),
            part_prefix: CompactString::default(),
            run_goes_on: false,
            text_calls: None,
            text_rules: text_calls::TextRules::default(),
        }
    }
}

impl DecodeOptions {
    /// The id of the `number`th part (from 1) of a stream: the prefix, `p`, and the number. Ids are counted
    /// and never random, so that decoding twice gives the same events.
    pub fn part(&self, number: u64) -> PartId {
        PartId::new(&compact_str::format_compact!("{}p{number}", self.part_prefix))
    }
}

/// The events that a decoder made, in order. Their seq and time are 0 until they are appended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The events in the order in which the stream has them. The decoder only appends; the caller drains.
    pub envelopes: Vec<Envelope>,
}

impl Decoded {
    /// Adds an event of the main agent of `run`, without a time of its own.
    pub fn push(&mut self, run: &RunId, kind: Kind) {
        self.event(Event::new(run, kind));
    }

    /// Adds an event, without a time of its own.
    pub fn event(&mut self, event: Event) {
        self.event_at(event, None);
    }

    /// Adds an event that happened at `producer_at` by the stream's own clock, in milliseconds since 1970.
    pub fn event_at(&mut self, event: Event, producer_at: Option<u64>) {
        self.envelopes.push(Envelope { event, seq: 0, at: 0, producer_at, publisher: None, by_hub: false });
    }
}

/// A function that makes a decoder for one stream.
type DecoderConstructor = fn(DecodeOptions) -> Box<dyn Decode>;

/// The dialects that can be decoded, each with its decoder, in the order of `model::dialect::DECODED`. A test
/// compares the two.
const DECODERS: &[(&str, DecoderConstructor)] = &[
    (fanlight::NAME, fanlight::decoder),
    (openai_chat::NAME, openai_chat::decoder),
    // The legacy completions API has the same frame, with `text` for a delta.
    ("openai-completions", openai_chat::decoder),
    (anthropic::NAME, anthropic::decoder),
    (bernard::NAME, bernard::decoder),
    (deep_agent::NAME, deep_agent::decoder),
    (forge::NAME, forge::decoder),
    (open_webui::NAME, open_webui::decoder),
    (ralph::NAME, ralph::decoder),
    (rye::NAME, rye::decoder),
    (openai_responses::NAME, openai_responses::decoder),
    (gemini::NAME, gemini::decoder),
    (gemini_interactions::NAME, gemini_interactions::decoder),
    (swe_agent::NAME, swe_agent::decoder),
    (tau_bench::NAME, tau_bench::decoder),
    (ag_ui::NAME, ag_ui::decoder),
    (claude_code::NAME, claude_code::decoder),
    (claude_session::NAME, claude_session::decoder),
    (codex::NAME, codex::decoder),
    (cohere::NAME, cohere::decoder),
    (ollama::NAME, ollama::decoder),
    (ai_sdk::NAME, ai_sdk::decoder),
    (langgraph::NAME, langgraph::decoder),
    (opencode::NAME, opencode::decoder),
    (agno::NAME, agno::decoder),
];

/// A decoder for the dialect `name`; nothing if the dialect is unknown. Names are compared exactly.
///
/// It also notes at its end if nothing in the stream was of this dialect
/// ([`AnomalyCode::WrongDialect`](model::anomaly::AnomalyCode::WrongDialect)), and searches texts for calls
/// if the options say so.
pub fn decoder(name: &str, options: DecodeOptions) -> Option<Box<dyn Decode>> {
    let (name, make) = DECODERS.iter().find(|(known, _)| *known == name)?;
    Some(with_text_search(options, |options| Box::new(plausible::PlausibleDecoder::new(name, make(options)))))
}

#[cfg(test)]
mod tests;
