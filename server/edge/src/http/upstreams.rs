//! `GET /v1/upstreams`: the upstreams of the proxy, so that the page can say what to put into a client's
//! settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::proxy::Proxy;

/// The answer: the upstreams, ordered by name.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    upstreams: Vec<Row>,
}

/// An upstream, without its keys.
#[derive(Debug, Serialize)]
struct Row {
    /// The name in the paths of the proxy.
    name: String,
    /// The API that it speaks: `openai`, `anthropic`, `gemini` or `ollama`.
    api: &'static str,
    /// Scheme and host of its address.
    url: String,
}

/// Answers with the name, the API and the address of each upstream.
pub(crate) async fn upstreams(State(proxy): State<Arc<Proxy>>) -> Json<List> {
    let rows = proxy.upstreams().map(|upstream| Row {
        name: upstream.name().to_owned(),
        api: upstream.api().name(),
        url: upstream.place(),
    });
    Json(List { upstreams: rows.collect() })
}
