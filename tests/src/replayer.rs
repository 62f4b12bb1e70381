//! A server in place of a model's that answers with recordings: which one, the request says in a header. Streams come in
//! pieces that are cut anywhere, some of them packed where the caller takes that.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::stand_in::StandIn;

/// The header that names the recording.
pub const RECORDING: &str = "x-recording";

/// Lengths of pieces, one after the other and again from the first.
const PIECES: [usize; 7] = [1, 300, 17, 4_096, 64, 2, 1_000];

/// A call that was recorded, with its answer.
#[derive(Debug, Clone)]
pub struct RecordedExchange {
    /// What it is asked by.
    pub name: String,
    /// The dialect, in the words of the recordings.
    pub dialect: String,
    /// The path that it was sent to.
    pub path: String,
    /// The body of the request.
    pub request: Value,
    /// The body of the answer.
    pub answer: String,
}

/// The exchanges in `folder`, in the order of the calls in each file. Empty where the folder is missing.
pub fn exchanges(folder: &Path) -> Vec<RecordedExchange> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    files.sort();
    let read = |(number, file): (usize, &std::path::PathBuf)| {
        let calls: Vec<Value> = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let exchange = |(call, value): (usize, &Value)| {
            let text = |name: &str| value[name].as_str().map(str::to_owned);
            Some(RecordedExchange {
                name: format!("{number}-{call}"),
                dialect: text("dialect")?,
                path: text("path")?,
                request: value["request"].clone(),
                answer: text("response_stream")?,
            })
        };
        Some(calls.iter().enumerate().filter_map(exchange).collect::<Vec<_>>())
    };
    files.iter().enumerate().filter_map(read).flatten().collect()
}

type RecordedAnswers = Arc<BTreeMap<String, String>>;

/// Starts one that knows `exchanges`.
///
/// # Panics
/// When there is no free port.
pub async fn start(exchanges: &[RecordedExchange]) -> StandIn {
    let known = exchanges.iter().map(|exchange| (exchange.name.clone(), exchange.answer.clone()));
    let known: RecordedAnswers = Arc::new(known.collect());
    StandIn::start(Router::new().fallback(answer).with_state(known)).await
}

/// Takes the whole request before it answers, as models do.
async fn answer(State(known): State<RecordedAnswers>, headers: HeaderMap, _request: Bytes) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some(answer) = known.get(text(RECORDING)) else {
        return (StatusCode::NOT_FOUND, "no such recording").into_response();
    };
    let kind =
        if answer.trim_start().starts_with(['{', '[']) { "application/json" } else { "text/event-stream" };
    // Every other one is packed, where that is wanted.
    let packs = text(RECORDING).ends_with(['1', '3', '5']) && text("accept-encoding").contains("gzip");
    let bytes = if packs { gzip(answer.as_bytes()) } else { answer.clone().into_bytes() };
    let mut rest = bytes.as_slice();
    let mut pieces = Vec::new();
    for length in PIECES.iter().cycle() {
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        if piece.is_empty() {
            break;
        }
        pieces.push(Ok::<_, std::io::Error>(piece.to_vec()));
        rest = after;
    }
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let mut response = ([(header::CONTENT_TYPE, kind)], body).into_response();
    if packs {
        response.headers_mut().insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
    }
    response
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default()
}
