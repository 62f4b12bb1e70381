//! One span of the trace for each request: its method, its route as it is declared, who asks, the status of the answer and how long that
//! took. It is at the level `debug`, so a hub at the default level makes none.
//!
//! ```text
//! DEBUG request{method=GET route=/v1/conversations/{conversation} principal="ann" status=200 latency_ms=3}: … answered
//! ```
//!
//! The path, the query and the headers are not part of it: they have names, tokens and keys of callers.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::Response;
use tower_http::classify::{ServerErrorsAsFailures, SharedClassifier};
use tower_http::trace::TraceLayer;
use tracing::Span;
use tracing::field::Empty;

/// Most bytes of a method that are shown. Those of HTTP are shorter; a client may make up others.
const METHOD_BYTES_MAX: usize = 16;

/// The route of a request that none was declared for: it is served with files of the page, or refused.
const NO_ROUTE: &str = "none";

/// Makes and ends the spans. A failure of the server is no record of its own: whoever handles it logs the cause.
type RequestSpans = TraceLayer<
    SharedClassifier<ServerErrorsAsFailures>,
    fn(&Request) -> Span,
    (),
    fn(&Response<axum::body::Body>, Duration, &Span),
    (),
    (),
    (),
>;

/// The layer of the router that makes a span for each request. It is the outermost one, so that refusals are in it.
pub(crate) fn layer() -> RequestSpans {
    TraceLayer::new_for_http()
        .make_span_with(begin as fn(&Request) -> Span)
        .on_request(())
        .on_response(answered as fn(&Response<axum::body::Body>, Duration, &Span))
        .on_body_chunk(())
        .on_eos(())
        .on_failure(())
}

/// Notes who sends the request at hand, in its span if there is one.
pub(crate) fn note_principal(name: &str) {
    Span::current().record("principal", name);
}

/// The span of a request. What is not known yet is empty.
fn begin(request: &Request) -> Span {
    let method = request.method().as_str();
    let method = method.get(..METHOD_BYTES_MAX).unwrap_or(method);
    let route = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str);
    tracing::debug_span!(
        "request",
        %method,
        %route,
        principal = Empty,
        status = Empty,
        latency_ms = Empty
    )
}

/// Notes the answer. What took `latency` is its head: the body of a stream may go on for hours.
fn answered(answer: &Response<axum::body::Body>, latency: Duration, span: &Span) {
    span.record("status", answer.status().as_u16());
    span.record("latency_ms", u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
    tracing::debug!("answered");
}
