//! A server in place of a model's, of whatever make: it has an address, and stops when nobody needs it any more.

use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running server. Stopped when dropped.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl StandIn {
    /// Serves `app` on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) async fn start(app: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let serving = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("the server goes on until it is stopped");
        });
        Self { address, serving }
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The value of `--upstream` that gives it the name `name`.
    pub fn named(&self, name: &str) -> String {
        format!("{name}=http://{}", self.address)
    }

    /// The base URL of the server with `path` added.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
