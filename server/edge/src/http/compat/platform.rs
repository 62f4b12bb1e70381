//! The API of LangGraph's platform, for clients of `@langchain/langgraph-sdk`, its `useStream` and the Python
//! package. An assistant is an agent of the hub, a thread a conversation, a checkpoint a place in it between
//! two messages or runs.
//!
//! ```text
//! POST …/runs/stream ── wire ──▶ RunRequest ── start ──▶ Begun ── told ──▶ events in the modes that were asked for
//!                                  └─ a checkpoint that is not the end, or a message said anew: a fork, the thread goes on there
//! GET …/state, POST …/history ──▶ states: every place of the thread and of its forks
//! ```
//!
//! A run goes on when its client hangs up, unless the request says `on_disconnect: "cancel"`; the client
//! joins it again by its id. Answers fail in the platform's form, a status and `{"detail": "…"}`. Handlers
//! document their paths below the door, such as `/threads/{thread}/runs`.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Extension, Router};
use model::limits::REQUEST_BYTES_MAX;

use crate::http::AppState;

mod assistants;
mod fault;
mod runs;
mod start;
mod states;
mod threads;
mod told;
mod wire;

/// The door of a request: its key in `[compat]`.
#[derive(Debug, Clone, Copy)]
struct DoorName(&'static str);

/// The routes, below each address where clients look for them. Bernard's page has a server of its own in
/// front, at `/api`.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .nest("/compat/langgraph", paths("langgraph"))
        .nest("/compat/bernard", paths("bernard"))
        .nest("/compat/bernard/api", paths("bernard"))
}

/// The routes of one door, relative to its address. Each handler gets the door as an extension. Bodies have
/// at most `REQUEST_BYTES_MAX` bytes.
fn paths(door: &'static str) -> Router<AppState> {
    let assistants = Router::new()
        .route("/ok", get(assistants::ok))
        .route("/info", get(assistants::info))
        .route("/assistants", post(assistants::create))
        .route("/assistants/search", post(assistants::search))
        .route("/assistants/count", post(assistants::count))
        .route("/assistants/{assistant}", get(assistants::get))
        .route("/assistants/{assistant}/graph", get(assistants::graph))
        .route("/assistants/{assistant}/schemas", get(assistants::schemas))
        .route("/assistants/{assistant}/subgraphs", get(assistants::subgraphs))
        .route("/assistants/{assistant}/versions", post(assistants::versions));
    let threads = Router::new()
        .route("/threads", post(threads::create))
        .route("/threads/search", post(threads::search))
        .route("/threads/count", post(threads::count))
        .route("/threads/{thread}", get(threads::get).patch(threads::update).delete(threads::delete))
        .route("/threads/{thread}/copy", post(threads::copy))
        .route(
            "/threads/{thread}/state",
            get(states::current).post(states::update).patch(threads::update).put(states::update),
        )
        .route("/threads/{thread}/state/checkpoint", post(states::at_checkpoint))
        .route("/threads/{thread}/state/{checkpoint}", get(states::at))
        .route("/threads/{thread}/history", get(states::history_by_query).post(states::history));
    let runs = Router::new()
        .route("/threads/{thread}/runs", get(runs::list).post(runs::create))
        .route("/threads/{thread}/runs/stream", post(runs::stream))
        .route("/threads/{thread}/runs/wait", post(runs::wait))
        .route("/threads/{thread}/runs/{run}", get(runs::get).delete(runs::delete))
        .route("/threads/{thread}/runs/{run}/cancel", post(runs::cancel))
        .route("/threads/{thread}/runs/{run}/join", get(runs::join))
        .route("/threads/{thread}/runs/{run}/wait", get(runs::join))
        .route("/threads/{thread}/runs/{run}/stream", get(runs::join_stream))
        .route("/threads/{thread}/stream", get(runs::join_thread))
        .route("/runs", post(runs::create))
        .route("/runs/stream", post(runs::stream))
        .route("/runs/wait", post(runs::wait));
    let all = assistants.merge(threads).merge(runs);
    all.layer(Extension(DoorName(door))).layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
}
