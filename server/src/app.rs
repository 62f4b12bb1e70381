//! The whole hub put together: accepts connections, routes requests, drains at the end.

use std::future::Future;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;

/// Serves until `shutdown`, then drains.
pub(crate) async fn run(
    config: Config,
    listener: TcpListener,
    address: SocketAddr,
    shutdown: impl Future<Output = ()> + Send,
) {
    let router = router();
    let tasks = TaskTracker::new();
    let stop = CancellationToken::new();
    tracing::info!(%address, "listening");
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => {
                    tasks.spawn(connection(stream, router.clone(), stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    // Out of file descriptors: the next try would fail at once and spin.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    tracing::info!("draining");
    stop.cancel();
    tasks.close();
    if tokio::time::timeout(config.drain, tasks.wait()).await.is_err() {
        tracing::warn!(open = tasks.len(), "drain took too long, cutting what is open");
    }
}

/// Serves the requests of one connection.
async fn connection(stream: TcpStream, router: Router, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let service = TowerToHyperService::new(router);
    let mut builder = hyper::server::conn::http1::Builder::new();
    // The smallest that hyper takes: thousands of sockets begin as such a connection.
    builder.max_buf_size(64 << 10).timer(hyper_util::rt::TokioTimer::new());
    let serving = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}

fn router() -> Router {
    Router::new().route("/healthz", get(|| async { "ok\n" }))
}
