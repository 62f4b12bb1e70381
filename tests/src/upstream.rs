//! A server in place of a model's: answers each request with a stream that was written for it, in the exact shape of
//! the API.
//!
//! | request | answer |
//! |---|---|
//! | holds what came of a call | `answer.sse` |
//! | may call `task`, and has not | `task.sse` |
//! | any other | `call.sse` |

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::stand_in::StandIn;
use crate::wait::patiently;

/// The folder of the streams.
const STREAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream");

/// The APIs: how their paths end, and the folder with their streams.
const APIS: [(&str, &str); 3] =
    [("/chat/completions", "chat"), ("/responses", "responses"), ("/messages", "messages")];

/// Starts it.
///
/// # Panics
/// When there is no free port.
pub async fn start() -> StandIn {
    let (server, gate) = start_gated().await;
    gate.open();
    server
}

/// Starts one whose answers to what came of calls wait until its gate opens.
///
/// # Panics
/// When there is no free port.
pub async fn start_gated() -> (StandIn, UpstreamGate) {
    let gate = UpstreamGate(Arc::new((Notify::new(), Semaphore::new(0))));
    let app = Router::new().fallback(answer).with_state(gate.clone());
    (StandIn::start(app).await, gate)
}

/// What keeps an agent waiting in the middle of its run.
#[derive(Debug, Clone)]
pub struct UpstreamGate(Arc<(Notify, Semaphore)>);

impl UpstreamGate {
    /// Waits until somebody stands before it.
    pub async fn reached(&self) {
        patiently("an agent with a result", self.0.0.notified()).await;
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.0.1.close();
    }

    async fn pass(&self) {
        self.0.0.notify_one();
        // Nobody ever gets a permit: it opens for all at once.
        drop(self.0.1.acquire().await);
    }
}

async fn answer(State(gate): State<UpstreamGate>, uri: Uri, body: Bytes) -> Response {
    let api = APIS.iter().find(|(ending, _)| uri.path().ends_with(ending));
    let request = serde_json::from_slice(&body).ok();
    let (Some((_, folder)), Some(request)) = (api, request) else {
        return (StatusCode::NOT_FOUND, format!("nothing is written for {uri}")).into_response();
    };
    if has_result(&request) {
        gate.pass().await;
    }
    let file = Path::new(STREAMS).join(folder).join(stream_for(&request));
    match std::fs::read(&file) {
        Ok(stream) => ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response(),
        Err(error) => (StatusCode::NOT_FOUND, format!("{}: {error}", file.display())).into_response(),
    }
}

fn stream_for(request: &Value) -> &'static str {
    if has_result(request) {
        "answer.sse"
    } else if may_delegate(request) {
        "task.sse"
    } else {
        "call.sse"
    }
}

/// Whether what came of a call is among the messages, in the words of any of the APIs.
fn has_result(request: &Value) -> bool {
    let said = |list: &str| request[list].as_array().cloned().unwrap_or_default();
    let is_result = |item: &Value| {
        let is_block = item["content"].as_array().is_some_and(|blocks| blocks.iter().any(is_result_block));
        is_block || item["role"] == "tool" || item["type"] == "function_call_output"
    };
    said("messages").iter().chain(&said("input")).any(is_result)
}

fn is_result_block(block: &Value) -> bool {
    block["type"] == "tool_result"
}

fn may_delegate(request: &Value) -> bool {
    request["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "task"))
}
