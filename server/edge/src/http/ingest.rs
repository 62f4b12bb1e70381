//! `POST /v1/ingest/{dialect}/{conversation}`: a stream in a foreign dialect. Events are published while the
//! body arrives. A body that breaks off leaves what came, and its run is interrupted.
//!
//! ```text
//! body ─▶ decoder ─▶ redact, append ─▶ viewers at once
//!                         └─ ticket of the newest ─▶ at the end: wait for the durability ─▶ answer
//! ```
//!
//! The body is read as fast as the log takes events and no faster; nothing is dropped. It may be open for
//! hours: only its first byte must come in time.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use dialects::custom::UserDialect;
use dialects::fanlight::NAME as NATIVE;
use dialects::text_calls::TextForm;
use dialects::{Decode, DecodeOptions, Decoded, decoder};
use event_log::{Ticket, reached, room};
use http_body_util::BodyExt as _;
use model::code::ErrorCode;
use model::dialect::DECODED;
use model::frame::Durability;
use model::{ConversationId, Position, RunId};
use serde::Serialize;

use super::body;
use crate::config::Config;
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path};
use crate::inbound::problem::Problem;
use crate::peers::Ownership;
use event_log::clock;
use hub::{Attendant, Publication, beginning};

/// The answer to a body that was read to its end.
#[derive(Debug, Serialize)]
pub(crate) struct IngestReceipt {
    /// The position after its last event.
    position: Position,
    /// The number of events that were appended.
    events: u64,
    /// The number of anomalies that decoding and folding found.
    anomalies: u64,
    /// The level that was reached for all of them (I9).
    durability: Durability,
}

/// Decodes the body while it arrives and publishes its events. Answers when the body has ended and its events
/// have the durability that was asked for. The run is the one that `Fanlight-Run` names, or a fresh one;
/// `?text_calls` looks for tool calls in texts.
///
/// 404 `unknown_dialect`, 400 `durability_unavailable`, 415 for a compressed body, 408 if no byte comes at
/// all, 400 if the body breaks off (what came is kept), 503 while the hub drains, 403 `publish_not_granted` where the
/// caller's grants ask for a publisher id or are not about a kind that comes (what came before is kept), and what the hub refuses of the events.
pub(crate) async fn ingest(
    State(config): State<Arc<Config>>,
    State(ownership): State<Arc<Ownership>>,
    caller: Caller,
    Path((dialect, conversation)): Path<(String, String)>,
    request: Request,
) -> Result<Json<IngestReceipt>, Problem> {
    let conversation = params::conversation(&conversation)?;
    params::plain(request.headers())?;
    let durability = params::durability(request.headers(), ownership.hub.log().durability())?;
    let mut options = options(request.headers())?;
    // Another body may continue a run that has a name of its own, and each run of native events.
    let may_go_on = options.run_goes_on || dialect == NATIVE;
    options.text_calls = has_flag(request.uri().query(), "text_calls").then(TextForm::default);
    let own = config.dialects.iter().find(|own| own.name() == dialect);
    let decoder = match own {
        Some(own) => Some(own.decoder(options)),
        None => decoder(&dialect, options),
    };
    let decoder = decoder.ok_or_else(|| {
        let own = config.dialects.iter().map(UserDialect::name);
        let known = DECODED.iter().copied().chain(own).collect::<Vec<_>>().join(", ");
        Problem::new(ErrorCode::UnknownDialect, format!("no dialect is named {dialect:?}; there are {known}"))
    })?;
    if ownership.drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    // Before the first byte: a stream in a dialect has no publisher id.
    caller.publishes(&conversation, None, &[])?;
    let tasks = ownership.tasks.clone();
    let attendant = Attendant::new(&ownership.hub);
    let ticket = Ticket::default();
    let stream = Stream {
        ownership,
        caller,
        conversation,
        decoder,
        attendant,
        taken: None,
        durability,
        ticket,
        is_withheld: false,
        may_go_on,
    };
    // A task of its own: if the connection breaks, this request is dropped, and the run must still be ended.
    let run = beginning::under(beginning::current(), stream.run(request.into_body()));
    let done = tasks.spawn(run).await;
    done.map_err(|_panicked| Problem::new(ErrorCode::Internal, "the stream could not be read"))?.map(Json)
}

/// Whether `name` is a parameter of the query, with any value or none.
fn has_flag(query: Option<&str>, name: &str) -> bool {
    let mut pairs = query.unwrap_or_default().split('&');
    pairs.any(|pair| pair.split('=').next() == Some(name))
}

/// What the decoder is told: the run that the headers name, which other bodies may continue too, or a fresh
/// one.
fn options(headers: &HeaderMap) -> Result<DecodeOptions, Problem> {
    let named = params::text(headers, params::RUN)?.filter(|run| !run.is_empty());
    let fresh = clock::fresh_name();
    Ok(match named {
        Some(run) => {
            // Several bodies may continue one run, so each gives its parts other ids.
            DecodeOptions {
                run: RunId::new(run),
                part_prefix: format!("{fresh}.").into(),
                run_goes_on: true,
                ..DecodeOptions::default()
            }
        }
        None => DecodeOptions { run: RunId::new(&fresh), ..DecodeOptions::default() },
    })
}

/// A body that is being read into a conversation. Owned by a task of the hub, so that a connection that
/// breaks does not stop it half-way. The attendant in it attends the run until the body ends.
#[derive(Debug)]
struct Stream {
    ownership: Arc<Ownership>,
    /// The caller whose stream it is.
    caller: Caller,
    conversation: ConversationId,
    decoder: Box<dyn Decode>,
    /// Attends the run: while it lives, the run does not count as stalled.
    attendant: Attendant,
    /// What was taken so far; `None` before the first events.
    taken: Option<IngestReceipt>,
    durability: Durability,
    /// Reached when the log has everything that was published so far.
    ticket: Ticket,
    /// Whether the newest of it is withheld, since it may end within a secret.
    is_withheld: bool,
    /// Whether another body may continue its runs.
    may_go_on: bool,
}

/// The way in which a body ended.
enum End {
    /// The last byte came.
    Whole,
    /// The connection broke, or the body was not well-formed.
    Broken,
    /// The hub stops and reads no more.
    Draining,
}

impl Stream {
    /// Reads the body to its end, ends the run, and waits for the durability. The decoder decides how a run
    /// ends whose stream has no end.
    async fn run(mut self, body: Body) -> Result<IngestReceipt, Problem> {
        let mut ended = self.read(body).await;
        if ended.is_ok() {
            let mut out = Decoded::default();
            self.decoder.end(&mut out);
            ended = self.publish(out).and(ended);
        }
        let end = match ended {
            // What is refused may be the end of the run: then the hub says that its publisher is gone.
            Err(refused) if refused.code() == ErrorCode::PublishNotGranted.as_str() && !self.may_go_on => {
                self.attendant.lose_runs();
                return Err(refused);
            }
            ended => ended?,
        };
        if self.is_withheld {
            self.ticket = self.ownership.fanout.release_withheld(&self.conversation);
        }
        reached(self.ownership.hub.log(), self.ticket, self.durability).await?;
        match end {
            End::Whole => self.taken.ok_or_else(|| Problem::new(ErrorCode::Internal, "nothing was taken")),
            End::Broken => Err(Problem::bad_request("the body stopped half-way; what came is kept")),
            End::Draining => Err(Problem::shutting_down()),
        }
    }

    /// Publishes the events of the body as they come. Waits for room in the log's queue after each piece:
    /// whoever sends too fast is slowed down by its connection.
    async fn read(&mut self, mut body: Body) -> Result<End, Problem> {
        let drain = self.ownership.drain.clone();
        let mut is_silent = true;
        loop {
            // Cancelling the wait for a frame loses nothing: after a drain the body is not read any more.
            let frame = tokio::select! {
                frame = body.frame() => frame,
                // An agent may think for an hour between two events, but a body must begin in time.
                () = tokio::time::sleep(body::IDLE), if is_silent => return Err(body::idle()),
                () = drain.cancelled() => return Ok(End::Draining),
            };
            match frame {
                None => return Ok(End::Whole),
                Some(Err(_broken)) => return Ok(End::Broken),
                Some(Ok(frame)) => {
                    is_silent = false;
                    self.feed(frame.into_data().unwrap_or_default())?;
                }
            }
            room(self.ownership.hub.log()).await;
        }
    }

    /// Decodes some bytes and publishes their events.
    fn feed(&mut self, bytes: Bytes) -> Result<(), Problem> {
        let mut out = Decoded::default();
        self.decoder.feed(&bytes, &mut out);
        drop(bytes);
        if out.envelopes.is_empty() { Ok(()) } else { self.publish(out) }
    }

    /// Publishes decoded events into the conversation.
    fn publish(&mut self, decoded: Decoded) -> Result<(), Problem> {
        self.caller.publishes(&self.conversation, None, &decoded.envelopes)?;
        // Single pieces are not waited for: the whole body is, at the level that was asked for.
        let publication = Publication {
            level: Durability::Memory,
            speaker: self.attendant.speaks_in(&self.conversation),
            ..Publication::of(decoded.envelopes)
        };
        let appended = self.ownership.fanout.publish(&self.conversation, publication)?;
        self.ticket = appended.ticket;
        self.is_withheld = appended.withheld.is_some();
        let (events, anomalies) = self.taken.take().map_or((0, 0), |taken| (taken.events, taken.anomalies));
        self.taken = Some(IngestReceipt {
            position: appended.position,
            events: events + appended.events,
            anomalies: anomalies + appended.anomalies,
            durability: self.durability,
        });
        Ok(())
    }
}
