//! The running hub: accepts connections, routes requests, runs what happens beside the traffic, and drains at
//! the end (invariant I13).
//!
//! ```text
//! listener ─▶ entry (bounds, TLS) ─▶ connection: HTTP/1.1; over TLS also http2
//!    ─▶ request_span: the trace ─▶ guard: origin ─▶ recognise: another hub? ─▶ admit: who, may they ─▶ pass on to the owner ─▶ handler
//! beside: list, deadlines of sockets, upkeep, orphans, presence, health, access, retention, sinks, spans, rows
//! end: shutdown ─▶ drain ─▶ agents' tools, proxy, spans, log are closed
//! ```

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{self, any, get, post};
use event_log::blocking;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use model::code::ErrorCode;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;
use tower_http::compression::predicate::{DefaultPredicate, Predicate as _, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};

use crate::ServeError;
use crate::http::access;
use crate::http::{AppState, OwnerRoute};
use crate::http::{
    audit, budgets, commands, compat, conversations, delete, events, export, figures, health, help, hubs,
    import, ingest, native, openapi, page, results, schema, search, stream, traces as spans, upstreams,
};
use crate::inbound::caller::Peer;
use crate::inbound::guard;
use crate::inbound::patience::Patient;
use crate::inbound::problem::Problem;
use crate::inbound::request_span;
use crate::slow;
use crate::state::Shared;
use crate::ws;
use crate::{frozen, peers, proxy, retention, sink, traces};
use event_log::clock;
use hub::MemoryBounds;

mod entry;
mod http2;
mod relay;
mod unread;

use unread::BodyEnd;

/// The least time between two rounds of upkeep.
const ROUND_MIN: Duration = Duration::from_millis(100);

/// Answers with fewer bytes are not compressed: it would save less than the headers for it cost.
const COMPRESSED_BYTES_MIN: u16 = 1 << 10;

/// How long a connection is silent before the kernel checks that its peer is still there.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Serves until `shutdown` is ready or another hub has taken over the log, then drains and closes the log. The
/// error says what was not written, or that it was taken over.
/// Dropping the future stops at once, without a drain: the log counts that as an unclean stop.
pub(crate) async fn run(
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let router = router(&shared);
    tracing::info!(%address, "listening");
    let mut shutdown = std::pin::pin!(shutdown);
    let fleet = shared.fanout.fleet.run(shared.config.fleet_interval);
    let watchdog = shared.sockets.watch(shared.config.shortest_deadline());
    let upkeep = upkeep(&shared);
    let orphans = shared.fanout.watch_orphans();
    let presence = shared.fanout.tell_presence();
    let health = shared.watch_log();
    let certificate = shared.watch_certificate();
    let access = shared.gate.watch(&shared.egress, || known_changed(&shared));
    let sessions = {
        // It waits for the database, which must not keep this task from accepting.
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { shared.gate.follow_sessions(|| shared.sockets.wake_due(true)).await })
    };
    let unfinished = proxy::read_back(&shared.proxy);
    sink::start(&shared.hub, &shared.config.sinks, &shared.tasks, &shared.drain);
    shared.agents.resume_all(unfinished.iter().map(|found| found.id().clone()).collect());
    let retention =
        retention::run(&shared.hub, &shared.fanout, shared.config.retain, shared.config.retain_every);
    let mut proxied = tokio::spawn(proxy::keep_up(Arc::clone(&shared.proxy)));
    let rows = peers::watch_rows(&shared.ownership);
    let carrying = hubs::carry::start(OwnerRoute::of(&shared));
    let balancing = tokio::spawn(hubs::balancing::run(Arc::clone(&shared)));
    let traces = traces::run(&shared.traces);
    let copies = frozen::keep_up(&shared.copies, hubs::moving::of_copies(&shared));
    // None of these ends by itself.
    tokio::select! {
        () = &mut shutdown => {}
        () = accept(&shared, &listener, &router) => {}
        () = fleet => {}
        () = watchdog => {}
        () = upkeep => {}
        () = orphans => {}
        () = presence => {}
        () = health => {}
        () = retention => {}
        () = access => {}
        () = certificate => {}
        () = traces => {}
        () = copies => {}
        () = rows => {}
        () = overtaken(&shared) => tracing::error!("another hub has taken over; this one ends"),
        _ = &mut proxied => tracing::error!("the upkeep of the proxy broke off"),
    }
    proxied.abort();
    sessions.abort();
    balancing.abort();
    drop(listener);
    drain(&shared).await;
    // These publish, also into conversations of other hubs.
    blocking(|| {
        proxy::close(&shared.proxy);
        shared.traces.flush();
    });
    hubs::carry::finish(&shared.ownership, carrying).await;
    shared.tools.close().await;
    // Nothing is published any more, so the log ends well and its rows are up to date.
    let closed = blocking(|| {
        shared.hub.release_all_withheld();
        shared.hub.tell_rows();
        shared.hub.heal();
        shared.hub.log().close()
    });
    if shared.hub.log().progress().borrow().is_overtaken {
        if let Err(unwritten) = &closed {
            tracing::error!(%unwritten, "not everything was written before another hub took over");
        }
        return Err(ServeError::Overtaken);
    }
    closed.map_err(|unwritten| ServeError::Unwritten(Box::new(unwritten)))
}

/// Ends what somebody has open or has set going who is no longer known: sockets look for themselves, runs of agents are stopped.
fn known_changed(shared: &Shared) {
    shared.sockets.wake_due(true);
    shared.asked.stop_revoked(&shared.agents, &shared.gate);
}

/// Ready when another hub has taken over the log. What this one has in memory is then a past that the others
/// have gone on from. May be cancelled.
async fn overtaken(shared: &Shared) {
    let mut progress = shared.hub.log().progress();
    if progress.wait_for(|progress| progress.is_overtaken).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Runs the hub's upkeep in rounds: one for each `upkeep` of the settings, earlier when memory fills up.
/// Never returns.
async fn upkeep(shared: &Shared) {
    let bounds = MemoryBounds::idle_after(shared.config.idle, shared.config.memory_target);
    loop {
        // While memory fills faster, rounds follow each other as fast as the log takes what leaves.
        tokio::time::sleep(shared.config.upkeep.min(ROUND_MIN)).await;
        let rest = shared.config.upkeep.saturating_sub(ROUND_MIN);
        drop(tokio::time::timeout(rest, shared.hub.crowded()).await);
        let hub = Arc::clone(&shared.hub);
        // On another thread than the task that accepts. A round is finished even if the hub stops meanwhile.
        let work = tokio::task::spawn_blocking(move || hub.keep_up(clock::now_ms(), bounds));
        if let Err(error) = work.await {
            tracing::error!(%error, "the upkeep of the hub broke off");
        }
    }
}

/// Accepts connections, each served by a task of its own. Never returns; cancel it to stop.
async fn accept(shared: &Arc<Shared>, listener: &TcpListener, router: &Router) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => entry::enter(shared, stream, from, router),
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                // Out of file descriptors: without a pause the next attempt would fail at once, and so on.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Tells all connections to end, and waits until they have or the time for draining is over (I13). Streams
/// end, sockets get `bye`, and requests are finished; what is still open after that time is cut when the
/// process ends.
async fn drain(shared: &Shared) {
    tracing::info!("draining");
    shared.drain.cancel();
    shared.tasks.close();
    let gone = async {
        // Sockets check the time when they are woken, so they are woken until all are closed.
        loop {
            shared.sockets.wake_due(true);
            let step = tokio::time::sleep(Duration::from_millis(50));
            tokio::select! {
                () = shared.tasks.wait() => return,
                () = step => {}
            }
        }
    };
    if tokio::time::timeout(shared.config.drain, gone).await.is_err() {
        tracing::warn!(open = shared.tasks.len(), "the drain took too long, cutting what is open");
    }
}

/// Makes the kernel send at once what is written, and leave with us what it cannot send yet: that can still
/// be conflated (I8). Also lets the kernel find peers that are gone.
fn tune(stream: &TcpStream) -> std::io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(model::limits::UNSENT_BYTES_MAX)?;
    // A body may be silent for hours; the kernel finds out whether its sender is still there.
    let alive = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE);
    socket2::SockRef::from(stream).set_tcp_keepalive(&alive)?;
    stream.set_nodelay(true)
}

/// Serves the requests of one connection until it ends or the hub drains. Every request gets the connection's
/// [`ConnectionInfo`](crate::inbound::patience::ConnectionInfo) and its peer as extensions.
async fn connection(shared: Arc<Shared>, stream: TcpStream, peer: Peer, router: Router) {
    if let Err(error) = tune(&stream) {
        tracing::debug!(%error, "the connection stays as the kernel made it");
    }
    let stream = Patient::new(stream, shared.config.reader_silent);
    let line = Arc::clone(stream.line());
    let has_asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&has_asked);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        asks.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(Arc::clone(&line));
        request.extensions_mut().insert(peer);
        let (request, end) = BodyEnd::watch(request);
        let answer = router.clone().oneshot(request);
        async move { answer.await.map(|response| end.tell(response)) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.max_buf_size(64 << 10).timer(TokioTimer::new()).header_read_timeout(shared.gate.head_within());
    // For proxied calls, whose upstreams may depend on the case.
    builder.preserve_header_case(true);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let served = tokio::select! {
        served = &mut serving => served,
        () = shared.drain.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        // One that is at rest between two requests ends in the same way, and is no attack.
        if error.is_timeout() && !has_asked.load(Ordering::Relaxed) {
            slow::HEADS.one();
        }
        tracing::debug!(%error, "connection ended");
    }
}

/// The routes whose answers are compressed for clients that accept it. Streams (SSE), proxied answers and the
/// doors, whose clients are other programs, are not among them, nor the files of the page, which are
/// compressed when they are built.
fn compressed() -> Router<AppState> {
    let worth_it = DefaultPredicate::new().and(SizeAbove::new(COMPRESSED_BYTES_MIN));
    Router::new()
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .route("/schema/{name}", get(schema::schema))
        .route("/v1/search", get(search::search))
        .route("/v1/tools", get(search::tools))
        .route("/v1/series", get(figures::series))
        .route("/v1/usage", get(figures::usage))
        .route("/v1/agents", get(commands::agents))
        .route("/v1/upstreams", get(upstreams::upstreams))
        .route("/v1/conversations", get(conversations::list))
        .route("/v1/access", get(access::whoami))
        .route("/v1/audit", get(audit::audit))
        .route("/v1/budgets", get(budgets::budgets))
        .route("/v1/load", get(hubs::balancing::load))
        .route("/v1/shares", get(access::shares).post(access::share))
        .route("/v1/conversations/{conversation}", get(conversations::one).delete(delete::delete))
        .route(
            "/v1/conversations/{conversation}/events",
            get(events::events).post(native::publish).put(import::import),
        )
        .route("/v1/conversations/{conversation}/export/{format}", get(export::export))
        .route("/v1/conversations/{conversation}/results/{hash}", get(results::result))
        .route("/help", get(help::contents))
        .route("/help/{*document}", get(help::document))
        // Compression runs on threads that serve sockets too, so it uses the fastest level.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it))
}

/// All routes, with the checks that each request passes first: the layer that is added last is the first. A
/// route without a line in `server/access/src/routes.rs` answers 404.
fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/c/{conversation}", get(page::index))
        .route("/wall", get(page::index))
        .route("/runs", get(page::overview))
        .route("/dashboard", get(page::overview))
        .route("/search", get(page::overview))
        .route("/new", get(page::index))
        .route("/image", get(page::image))
        .route("/embed", get(page::embed))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/login", get(access::form).post(access::log_in))
        .route("/login/oidc", get(access::begin_login))
        .route("/login/callback", get(access::end_login))
        .route("/logout", post(access::log_out))
        .route("/s/{secret}", get(access::follow).post(access::follow_anyway))
        .route("/v1/shares/{id}", routing::delete(access::unshare))
        .route("/v1/ws", get(ws::upgrade))
        .route("/v1/events", get(events::several))
        .route("/v1/ingest/{dialect}/{conversation}", post(ingest::ingest))
        .route("/v1/traces", post(spans::take))
        .route("/v1/conversations/{conversation}/commands", post(commands::command))
        .route("/v1/conversations/{conversation}/move", post(hubs::moving::give))
        .route("/v1/conversations/{conversation}/wait", get(conversations::wait))
        .route("/v1/conversations/{conversation}/stream/{dialect}", get(stream::get).post(stream::post))
        .route(
            "/v1/conversations/{conversation}/stream/{dialect}/{*rest}",
            get(stream::get).post(stream::post),
        )
        .route("/v1/chat/completions", post(compat::openai::chat))
        .route("/v1/responses", post(compat::openai::responses::create))
        .route("/v1/responses/{id}", get(compat::openai::responses::retrieve))
        .route("/v1/models", get(compat::openai::models))
        .route("/v1/models/{model}", get(compat::openai::model))
        .merge(compat::routes())
        .merge(compressed())
        .route("/proxy/{upstream}", any(proxy::call))
        .route("/proxy/{upstream}/{*path}", any(proxy::call))
        .fallback(elsewhere)
        .method_not_allowed_fallback(|| async {
            Problem::new(ErrorCode::MethodNotAllowed, "this path does not take this method")
        })
        .layer(from_fn_with_state(AppState::of(shared), hubs::pass::pass_on))
        .layer(from_fn_with_state(AppState::of(shared), access::admit))
        .layer(from_fn_with_state(AppState::of(shared), hubs::known::recognise))
        .layer(from_fn_with_state(Arc::clone(&shared.config), guard::guard))
        .layer(request_span::layer())
        .with_state(AppState::of(shared))
}

/// Any path without a route: the refusal of a path of OpenAI's API that is not served, else what the page has
/// there.
async fn elsewhere(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match compat::openai::unserved(&method, uri.path()) {
        Some(refusal) => refusal,
        None => page::file(shared.config.page, &method, uri.path(), &headers),
    }
}
