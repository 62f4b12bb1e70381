//! Exchanges with model APIs: what a request says, and which conversation and run a call belongs to.
//!
//! An agent loop is many calls of a model. Each request repeats the history and brings the results of the tools that
//! the answer before it asked for. The [`CallJoiner`] puts the calls of one loop into one conversation, with one run for
//! each turn of the user, and takes from the requests what no answer contains: messages, offered tools, results.
//!
//! ```text
//! request ── ModelRequest::read ──▶ CallJoiner::place ──▶ Placement { conversation, run, events, answer }
//! answer  ── AnswerReader::feed … settle or end ──▶ events, AnswerSummary
//!                                      AnswerSummary ── CallJoiner::heard ──▶ PlacedEvents
//! clock   ── CallJoiner::tick ──▶ the ends of runs that are given up
//! ```
//!
//! Nothing here waits, reads a clock or makes up names: times (milliseconds since 1970) and a fresh name for each call
//! are arguments. The crate knows neither who carries the call nor how a server is reached: bytes come in, events go
//! out. The rules are in docs/integrations/proxy.md.
//!
//! Reading order: `api` (which API a path is) → `request` and `read` → `answer`, which the decoder of the API's dialect
//! reads → `joiner` and `turns`. [`continuation`] finds the conversation that a client of a served API continues, if the
//! client keeps the history itself. [`spans`] does the same for agents that are observed by OpenTelemetry.

mod answer;
mod api;
mod joiner;
mod read;
mod request;
mod spoken;
mod turns;

pub mod continuation;
pub mod spans;

pub use answer::{AnswerEnd, AnswerReader, AnswerSummary};
pub use api::ModelApi;
pub use joiner::{
    CallContext, CallJoiner, ForkPoint, PlacedEvents, Placement, PlacementReason, RequestDigest,
    SESSION_HEADERS,
};
pub use read::file_print;
pub use request::{MessagePiece, ModelRequest, OfferedTool, OmittedFile, RequestMessage, RequestRole};
pub use spoken::Spoken;
