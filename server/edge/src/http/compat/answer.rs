//! Answers: one run as a stream in the caller's dialect, from its beginning to its end.
//!
//! The stream is made by the `Reader` of `http/stream`, which encodes only what the connection asks for. It
//! ends with the run, or where the run waits for a person if the dialect has words for that. A run that fails
//! is told in the dialect's own words; a dialect without words for it has its connection cut, so that nobody
//! takes half an answer for a whole one.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::{Caller, EncodeOptions, EncoderSpec, encoding};
use futures_util::{StreamExt as _, stream};
use model::Json;
use model::event::Kind;
use model::view::TopItem;

use super::{Attended, Begun, TurnRequest, begin};
use crate::http::stream::reader::{Answering, Reader};
use crate::http::stream::with_headers;
use crate::inbound::problem::Problem;
use crate::state::Shared;
use agents::Agents;
use agents::Refusal;
use agents::ag_ui_messages;

/// A request of a caller and how it is answered. A door makes one for each request; [`answer`] consumes it.
#[derive(Debug)]
pub(super) struct DoorRequest {
    pub(super) asked: TurnRequest,
    /// The dialect of the answer, a name of `encode::ENCODINGS`.
    pub(super) dialect: &'static str,
    /// What the encoder is told of the caller.
    pub(super) style: AnswerStyle,
    /// What of the request the hub ignores, by name. The answer tells it in the header `Fanlight-Left-Out`.
    pub(super) left_out: Vec<String>,
}

impl DoorRequest {
    /// Answers what was asked in `dialect`, with nothing left out and nothing said of the caller.
    pub(super) fn new(asked: TurnRequest, dialect: &'static str) -> Self {
        Self { asked, dialect, style: AnswerStyle::default(), left_out: Vec::new() }
    }
}

/// The style in which a door writes its answer.
#[derive(Debug, Default)]
pub(super) struct AnswerStyle {
    /// What the encoder needs to know of the caller.
    pub(super) caller: Caller,
    /// The caller's own name for the conversation, if its dialect has one.
    pub(super) thread: Option<CompactString>,
}

/// Begins the run and answers with it as a stream. What happens when the caller hangs up is set for each
/// door. Fails, before anything is streamed, with whatever `begin` refuses: `unknown_agent`, `not_running`,
/// `shutting_down`, `gone`, and what the registry of agents has no room for.
pub(super) async fn answer(shared: &Arc<Shared>, wish: DoorRequest) -> Result<Response, Refusal> {
    let DoorRequest { asked, dialect, mut style, mut left_out } = wish;
    style.caller.tools = asked.tools.iter().map(|tool| tool.name.clone()).collect();
    let run = asked.run.clone();
    let door = asked.door;
    let begun = begin(shared, asked).await?;
    if begun.has_waited {
        style.caller.run = run.map(|run| run.as_str().into());
    }
    left_out.extend(begun.left_out.iter().map(|name| (*name).to_owned()));
    Ok(with_left_out(stream_of(&shared.agents, begun, (door, dialect), style).await, &left_out))
}

/// Makes the response that streams the run in `dialect`. It has the headers of [`told`]. A caller whose run
/// had waited first gets what its encoder needs to continue; an AG-UI client that lacks messages of the
/// conversation gets them after the beginning of the run.
async fn stream_of(
    agents: &Agents,
    begun: Begun,
    (door, dialect): (&str, &str),
    style: AnswerStyle,
) -> Response {
    let Some(encoding) = encoding(dialect) else {
        return Problem::new(model::code::ErrorCode::Internal, "a door without a dialect").into_response();
    };
    let headers = told(&begun);
    let conversation = style.thread.unwrap_or_else(|| begun.conversation().as_str().into());
    let options = EncodeOptions { conversation, caller: Some(style.caller), ..EncodeOptions::default() };
    let encoder = encoding.encoder(&options);
    let snapshot = if encoding.name == "ag-ui" && begun.has_gap { Some(snapshot(&begun)) } else { None };
    let Begun { viewer, started, has_waited, attended, .. } = begun;
    let ping = viewer.reading.config.ping(encoding, Some(door));
    let is_waiting = agents.is_waiting(&started.place).filter(|_| says_waits(encoding));
    let answering = Answering { says_cancelled: says_cancelled(encoding), is_waiting };
    let reader = Reader::answering(viewer, encoder, encoding, &started, answering);
    let mut reader = reader.with_prologue(snapshot).with_ping(ping);
    let first = if has_waited { Some(reader.go_on().await) } else { None };
    let first = stream::iter(first.map(Ok));
    let line = AnswerStream { reader, attended, breaks_off: encoding.breaks_off };
    let pieces = first.chain(stream::unfold(Some(line), |line| async move { line?.next().await }));
    let mut response = with_headers(encoding, Body::from_stream(pieces).into_response());
    response.headers_mut().extend(headers);
    response
}

/// The stream of an answer, the body of the response. The connection owns it; dropping it before the end
/// means that the caller hung up.
struct AnswerStream {
    /// Encodes the run, piece by piece.
    reader: Reader,
    /// Dropped with the stream, it notices that the caller hung up.
    attended: Attended,
    /// Whether a failed run breaks the answer off, because the dialect has no words for failures.
    breaks_off: bool,
}

impl AnswerStream {
    /// The next piece, and the stream itself if more may come. `None` at the end. An error, which cuts the
    /// connection, is the last item of a failed run in a dialect that has no words for failures.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let piece = self.reader.piece().await;
        if self.reader.is_over() {
            self.attended.over();
        }
        if let Some(piece) = piece {
            return Some((Ok(piece), Some(self)));
        }
        if !self.breaks_off || !self.reader.has_failed() {
            return None;
        }
        // Earlier pieces are sent before the connection is broken off.
        tokio::task::yield_now().await;
        Some((Err(io::Error::other("the run failed")), None))
    }
}

/// Everything that was said before the run, for a client that does not have all of it. It is an event of the
/// encoder alone, which makes AG-UI's `MESSAGES_SNAPSHOT` of it; it is in no log.
fn snapshot(begun: &Begun) -> Kind {
    let mut view = begun.viewer.conversation.view();
    view.items.retain(|item| !matches!(item, TopItem::Run(run) if run == begun.run()));
    view.runs.shift_remove(begun.run());
    Kind::Custom { name: "messages_snapshot".into(), value: Json::of(&ag_ui_messages(&view, "fanlight-")) }
}

/// Whether the dialect can say that a person stopped the run. In other dialects that is a failure: a stream
/// that just ends would be taken for a whole answer.
fn says_cancelled(encoding: &EncoderSpec) -> bool {
    matches!(encoding.name, "ag-ui" | "ai-sdk" | "forge")
}

/// Whether callers of the dialect answer a run that waits for a person with a new request.
fn says_waits(encoding: &EncoderSpec) -> bool {
    matches!(encoding.name, "ag-ui" | "ai-sdk")
}

/// Headers that say where the run can be found: `Fanlight-Conversation`, `Fanlight-Run`, and the run again in
/// `X-Request-Id`, where clients of OpenAI's API look for the id of a request. A name that no header can hold
/// is left out.
pub(super) fn told(begun: &Begun) -> Vec<(header::HeaderName, HeaderValue)> {
    let told = [
        (super::CONVERSATION, begun.conversation().as_str()),
        ("fanlight-run", begun.run().as_str()),
        ("x-request-id", begun.run().as_str()),
    ];
    // Names that are not plain ASCII cannot be header values.
    let told = told.into_iter().filter_map(|(name, value)| {
        Some((header::HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
    });
    told.collect()
}

/// Adds the header `Fanlight-Left-Out` with what of the request the hub ignores, between commas. Characters
/// outside of ASCII are dropped; without anything to say there is no header.
pub(super) fn with_left_out(mut response: Response, left_out: &[String]) -> Response {
    let text: String =
        left_out.join(", ").chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).collect();
    if let Some(value) = HeaderValue::from_str(&text).ok().filter(|value| !value.is_empty()) {
        response.headers_mut().insert("fanlight-left-out", value);
    }
    response
}
