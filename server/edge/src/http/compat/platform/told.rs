//! A run for its caller: as a stream of events, each with an id from which the stream can be taken up again,
//! or as the values at its end.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::{Caller, EncodeOptions, encoding, langgraph};
use futures_util::stream;
use model::event::RunStatus;
use model::view::{RunView, TopItem};
use model::{ConversationId, RunId, code::ErrorCode};
use serde_json::{Value, json};

use super::fault::Fault;
use super::states::{Branch, Thread, failure, waiting};
use crate::http::compat::Begun;
use crate::http::compat::answer::{told as headers_of, with_left_out};
use crate::http::conversations::HttpViewer;
use crate::http::stream::reader::{Answering, Reader, StartAt};
use crate::http::stream::with_headers;
use crate::state::Shared;
use agents::Refusal;
use agents::RunAddress;
use agents::Started;
use hub::Conversation;

/// The dialect of its answers.
const DIALECT: &str = "langgraph";

/// What a caller wants to be told of a run.
#[derive(Debug)]
pub(super) struct RunStreamOptions {
    /// The name of the thread, under which the caller knows the conversation.
    pub(super) thread: ConversationId,
    /// The modes of the stream, as the platform calls the kinds of events in it; never empty.
    pub(super) modes: Vec<String>,
    /// Whether the run is stopped when the caller hangs up.
    pub(super) stops_on_hang_up: bool,
    /// What of the request the hub ignores, by name.
    pub(super) left_out: Vec<String>,
}

/// Stops its run when it is dropped while it still has one: the caller has hung up. The body of the answer
/// owns it and takes the run out at the end of the stream.
#[derive(Debug)]
struct StopOnHangUp {
    shared: Arc<Shared>,
    /// The run to be stopped; `None` if it goes on whatever the caller does, or is over.
    place: Option<RunAddress>,
}

impl Drop for StopOnHangUp {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.shared.agents.stop(&place);
        }
    }
}

/// Streams the run that a request has begun, from its beginning, or from where it waited. Adds the headers of
/// the hub and of the platform.
pub(super) async fn stream_of(
    shared: &Arc<Shared>,
    begun: Begun,
    wanted: RunStreamOptions,
) -> Result<Response, Fault> {
    let headers = headers_of(&begun);
    let Begun { viewer, started, has_waited, .. } = begun;
    let from = if has_waited { StartAt::GoesOn } else { StartAt::Beginning };
    let mut response = told(shared, viewer, &started, from, wanted).await?;
    response.headers_mut().extend(headers);
    Ok(response)
}

/// Streams a run from a place in it, each event with an id from which the stream can be taken up again. Ends
/// with the run or where it waits for a person.
pub(super) async fn told(
    shared: &Arc<Shared>,
    viewer: HttpViewer,
    started: &Started,
    from: StartAt,
    wanted: RunStreamOptions,
) -> Result<Response, Fault> {
    let RunStreamOptions { thread, modes, stops_on_hang_up, left_out } = wanted;
    let encoding = encoding(DIALECT)
        .ok_or_else(|| Fault::from(Refusal::new(ErrorCode::Internal, "a door without a dialect")))?;
    let run = started.place.run.clone();
    let options = EncodeOptions {
        conversation: thread.as_str().into(),
        caller: Some(Caller::default()),
        modes: modes.iter().map(CompactString::new).collect(),
        earlier: earlier(&viewer, &run),
    };
    let is_waiting = shared.agents.is_waiting(&started.place);
    let answering = Answering { says_cancelled: true, is_waiting };
    let encoder = encoding.encoder(&options);
    let ping = shared.config.ping(encoding, Some(DIALECT));
    let mut reader =
        Reader::answering(viewer, encoder, encoding, started, answering).with_places().with_ping(ping);
    let first = reader.begin_at(from).await;
    let leash =
        StopOnHangUp { shared: Arc::clone(shared), place: stops_on_hang_up.then(|| started.place.clone()) };
    let pieces = stream::unfold((reader, leash, first), |(mut reader, mut leash, first)| async move {
        if let Some(first) = first.filter(|first| !first.is_empty()) {
            return Some((Ok::<_, Infallible>(first), (reader, leash, None)));
        }
        let piece = reader.piece().await;
        if piece.is_none() {
            // The run has ended, so the caller has not hung up.
            leash.place = None;
        }
        Some((Ok(piece?), (reader, leash, None)))
    });
    let mut response = with_headers(encoding, Body::from_stream(pieces).into_response());
    locate(&mut response, &thread, &run, &modes);
    Ok(with_left_out(response, &left_out))
}

/// The messages before a run, in the platform's form: the mode `values` repeats them in each of its events.
fn earlier(viewer: &HttpViewer, run: &RunId) -> Vec<Value> {
    let mut view = viewer.conversation.view();
    let place = view.items.iter().position(|item| matches!(item, TopItem::Run(id) if id == run));
    view.items.truncate(place.unwrap_or(view.items.len()));
    langgraph::messages(&view).into_iter().flatten().collect()
}

/// Adds headers that say where the run is (`Content-Location`) and where its stream can be taken up again in
/// the same modes (`Location`).
pub(super) fn locate(response: &mut Response, thread: &ConversationId, run: &RunId, modes: &[String]) {
    let place = format!("/threads/{thread}/runs/{run}");
    let modes: Vec<String> = modes.iter().map(|mode| format!("stream_mode={mode}")).collect();
    let again = format!("{place}/stream?{}", modes.join("&"));
    let told = [(header::CONTENT_LOCATION, place), (header::LOCATION, again)];
    for (name, value) in told {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
}

/// Waits until a run is over or waits for a person. Fails with 503 when the hub drains. There is no other
/// limit of time.
pub(super) async fn settled(
    shared: &Arc<Shared>,
    conversation: &Conversation,
    place: &RunAddress,
) -> Result<(), Fault> {
    loop {
        let mut appended = std::pin::pin!(conversation.appended());
        appended.as_mut().enable();
        let mut is_waiting = shared.agents.is_waiting(place);
        let waits = is_waiting.as_ref().is_some_and(|it| *it.borrow());
        let is_over = conversation.read_view(|view| {
            let run = view.runs.get(&place.run);
            run.is_none_or(|run| !run.is_running() || (waits && !waiting(run).is_empty()))
        });
        if is_over {
            return Ok(());
        }
        let changed = async {
            if let Some(is_waiting) = &mut is_waiting
                && is_waiting.changed().await.is_ok()
            {
                return;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = appended => {}
            () = changed => {}
            () = shared.drain.cancelled() => {
                return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops, and the run with it").into());
            }
        }
    }
}

/// The values at the end of a run: the messages of the thread, with `__error__` if the run failed, with
/// `__interrupt__` if it waits.
pub(super) async fn values(shared: &Shared, thread: &ConversationId, run: &RunId) -> Result<Value, Fault> {
    let thread = Thread::read(shared, thread).await?;
    let mut values = thread.values();
    let known = thread.branches.iter().find_map(|branch: &Branch| branch.view.runs.get(run));
    if let (Some(run), Some(fields)) = (known, values.as_object_mut()) {
        add_end(run, fields);
    }
    Ok(values)
}

/// Adds the questions or the error of a run.
fn add_end(run: &RunView, fields: &mut serde_json::Map<String, Value>) {
    if let Some(interrupt) = langgraph::interrupt(run) {
        fields.insert("__interrupt__".into(), json!([interrupt]));
    }
    if matches!(run.status, RunStatus::Error | RunStatus::Interrupted) {
        fields.insert("__error__".into(), failure(run));
    }
}
