//! `GET /v1/conversations/{c}/stream/{dialect}`: a conversation in the stream format of another client, live.
//! A reader first gets a short form of what there is, and then follows.
//!
//! `POST` does the same for clients that can only post, at the same path or with whatever such a client
//! appends to it. Of their request only the modes are read, if the dialect has any. They get the newest run
//! and then the end.
//!
//! | parameter | values | `GET` | `POST` |
//! |---|---|---|---|
//! | `run` | `all`, `latest`, `next`, an id | `all` | `latest` |
//! | `until` | `run.end` | no end | `run.end` |
//! | `stream_mode` | modes of the dialect, several times | those of the dialect | the same, or those in the body |

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::{Caller, EncodeOptions, EncoderSpec, encoding, names};
use futures_util::{StreamExt as _, stream};
use model::code::ErrorCode;
use model::limits::RUN_AWAITED_MS;
use model::{ConversationId, Mask, RunId};
use serde::Deserialize;

use super::body;
use super::conversations::HttpViewer;
use super::spool::{Spool, place as open, spooled, turn, waiting};
use crate::http::Reading;
use crate::inbound::params::{self, Path, Query};
use crate::inbound::problem::Problem;
use crate::work::{Open, OpenKind, Task};

pub(super) mod reader;

use reader::{Reader, StreamedRuns};

/// The longest body that is searched for modes, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The query parameters as pairs, because one may come several times.
type QueryPairs = Query<Vec<(String, String)>>;

/// The parameters in the path. A client of the dialect may append segments of its own.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamPath {
    /// The name of the conversation, which need not exist yet.
    conversation: String,
    /// The name of a dialect that can be written.
    dialect: String,
}

/// `GET`: all runs, without an end, unless the parameters say otherwise. 404 `unknown_dialect`, or
/// `not_found` for a run that does not begin within 10 s; 400 for an unknown mode or end; 429 without a place
/// or a turn; 503 while the hub drains.
pub(crate) async fn get(
    State(reading): State<Reading>,
    reader: crate::inbound::caller::Caller,
    Path(place): Path<StreamPath>,
    Query(said): QueryPairs,
) -> Result<Response, Problem> {
    let asked = StreamParams { mask: reader.mask().cloned(), ..StreamParams::read(&said, "all", None)? };
    let open = open(&reading.work, OpenKind::Stream)?;
    begun(&reading, &place, &asked).await?;
    answer(reading, &place, asked, (None, open)).await
}

/// `POST`: the newest run up to its end, unless the parameters say otherwise. Of the body only the modes
/// count, for clients that name them there.
pub(crate) async fn post(
    State(reading): State<Reading>,
    reader: crate::inbound::caller::Caller,
    Path(place): Path<StreamPath>,
    Query(said): QueryPairs,
    body: Body,
) -> Result<Response, Problem> {
    let asked = StreamParams::read(&said, "latest", Some("run.end"))?;
    let mut asked = StreamParams { mask: reader.mask().cloned(), ..asked };
    if asked.modes.is_empty() && encoding(&place.dialect).is_some_and(|encoding| !encoding.modes.is_empty()) {
        asked.modes = modes_in(body).await;
    }
    let open = open(&reading.work, OpenKind::Stream)?;
    begun(&reading, &place, &asked).await?;
    answer(reading, &place, asked, (None, open)).await
}

/// Waits until a run that is asked for by name has begun, because its reader may come before its first event.
/// Fails with `not_found` if it does not begin within `RUN_AWAITED_MS`, with `shutting_down` when the hub
/// drains.
async fn begun(reading: &Reading, place: &StreamPath, asked: &StreamParams) -> Result<(), Problem> {
    let StreamedRuns::Run(run) = &asked.wanted else { return Ok(()) };
    let conversation = reading.hub.enter(&params::conversation(&place.conversation)?)?;
    let viewer = HttpViewer::new(reading, conversation);
    let begins = async {
        loop {
            let mut appended = std::pin::pin!(viewer.conversation.appended());
            appended.as_mut().enable();
            if viewer.conversation.read_view(|view| view.runs.contains_key(run)) {
                return;
            }
            appended.await;
        }
    };
    tokio::select! {
        () = begins => Ok(()),
        () = reading.drain.cancelled() => Err(Problem::shutting_down()),
        () = tokio::time::sleep(Duration::from_millis(RUN_AWAITED_MS)) => {
            let seconds = Duration::from_millis(RUN_AWAITED_MS).as_secs();
            let detail = format!("the conversation has no run {run:?}, and none began in {seconds} s", run = run.as_str());
            Err(Problem::new(ErrorCode::NotFound, detail))
        }
    }
}

/// The parameters of a stream, parsed.
#[derive(Debug)]
struct StreamParams {
    /// The runs that are encoded.
    wanted: StreamedRuns,
    /// Whether the stream ends with the run.
    ends_with_run: bool,
    /// The modes that are named; none for those that the dialect has by default.
    modes: Vec<CompactString>,
    /// What is hidden from whoever reads.
    mask: Option<Arc<Mask>>,
}

impl StreamParams {
    /// Parses the parameters; `run` and `end` are the defaults.
    fn read(said: &[(String, String)], run: &str, end: Option<&str>) -> Result<Self, Problem> {
        let all = |name: &'static str| {
            said.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        Ok(Self {
            wanted: wanted(all("run").next_back().unwrap_or(run)),
            ends_with_run: until(all("until").next_back().or(end))?,
            modes: all("stream_mode").map(CompactString::new).collect(),
            mask: None,
        })
    }
}

/// The modes in a body; none if it is not understood.
async fn modes_in(body: Body) -> Vec<CompactString> {
    let Ok(bytes) = body::whole(body, BODY_BYTES_MAX).await else { return Vec::new() };
    let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    match body.get("stream_mode") {
        Some(serde_json::Value::String(mode)) => vec![CompactString::new(mode)],
        Some(serde_json::Value::Array(modes)) => {
            modes.iter().filter_map(|mode| mode.as_str().map(CompactString::new)).collect()
        }
        _ => Vec::new(),
    }
}

/// The runs that a parameter names.
fn wanted(run: &str) -> StreamedRuns {
    match run {
        "all" => StreamedRuns::All,
        "latest" => StreamedRuns::Latest,
        "next" => StreamedRuns::Next,
        id => StreamedRuns::Run(RunId::new(id)),
    }
}

/// Whether the stream ends with the run. Fails with `bad_request` for any other end.
fn until(what: Option<&str>) -> Result<bool, Problem> {
    match what {
        None => Ok(false),
        Some("run.end") => Ok(true),
        Some(_) => Err(Problem::bad_request("until: a stream can end at run.end only")),
    }
}

/// Answers with the stream: what there is in a short form, made like any other answer, and then each piece as
/// it comes.
async fn answer(
    reading: Reading,
    place: &StreamPath,
    asked: StreamParams,
    (caller, open): (Option<Caller>, Open),
) -> Result<Response, Problem> {
    let encoding = encoding(&place.dialect).ok_or_else(|| {
        let detail = format!("no dialect {:?} can be written; there are {}", place.dialect, names());
        Problem::new(ErrorCode::UnknownDialect, detail)
    })?;
    if let Some(mode) = asked.modes.iter().find(|mode| !encoding.modes.contains(&mode.as_str())) {
        let modes = encoding.modes.join(", ");
        return Err(Problem::bad_request(format!("stream_mode: there is no {mode:?}; there are {modes}")));
    }
    if reading.drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    let id = params::conversation(&place.conversation)?;
    let conversation = {
        let _turn = turn(&reading.work, Task::Small).await?;
        reading.hub.enter(&id)?
    };
    let options = EncodeOptions {
        conversation: id.as_str().into(),
        caller,
        modes: asked.modes,
        ..EncodeOptions::default()
    };
    let encoder = encoding.encoder(&options);
    let task = conversation.read_view(Task::of);
    let viewer = HttpViewer::new(&reading, conversation);
    let mut reader =
        Reader::new(viewer, encoder, encoding, asked.wanted, asked.ends_with_run).with_mask(asked.mask);
    // What is already there is written when it is this request's turn, like any other answer.
    let begin = move |spool: &mut Spool| Ok(reader.join(spool).map(|()| reader)?);
    let (reader, begin) = spooled(&reading.work, task, begin).await?;
    let rest = stream::unfold((reader, open), move |(mut reader, open)| {
        let work = Arc::clone(&reading.work);
        async move {
            let piece = reader.piece().await?;
            Some((waiting(work, piece).await, (reader, open)))
        }
    });
    let bodies = stream::iter([begin]).chain(rest);
    let body = Body::from_stream(bodies.flat_map(Body::into_data_stream));
    Ok(with_headers(encoding, body.into_response()))
}

/// Streams one run of `id` in `dialect`, from its beginning to its end, to a client that had asked for it and
/// comes back. Doors serve nobody who has a role, so nothing is hidden.
pub(super) async fn run(
    reading: Reading,
    id: &ConversationId,
    dialect: &str,
    run: RunId,
) -> Result<Response, Problem> {
    let place = StreamPath { conversation: id.as_str().to_owned(), dialect: dialect.to_owned() };
    let asked =
        StreamParams { wanted: StreamedRuns::Run(run), ends_with_run: true, modes: Vec::new(), mask: None };
    let open = open(&reading.work, OpenKind::Stream)?;
    answer(reading, &place, asked, (Some(Caller::default()), open)).await
}

/// Adds the headers of this encoding to `response`: its type, those that its clients expect, and those that
/// keep caches and proxies from holding it back.
pub(super) fn with_headers(encoding: &EncoderSpec, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(encoding.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would otherwise hold events back until a buffer is full.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    for (name, value) in encoding.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
