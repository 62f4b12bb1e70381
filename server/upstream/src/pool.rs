//! The connections to one upstream: idle ones over HTTP/1.1, and shared ones over HTTP/2. A call is put on
//! the first shared connection with room, so that the others become idle and are closed.
//!
//! ```text
//! call ─▶ reuse: room on a shared connection, or an idle one that is usable ─▶ ConnectionSlot
//!    └─ none ─▶ connect: HTTP/2 is shared from now on, HTTP/1.1 belongs to this call
//! ConnectionSlot::Own ─▶ answer over ─▶ give_back ─▶ idle ─▶ 30 s unused: closed
//! ```
//!
//! The number of connections has no bound: a call that finds no room makes one.

use std::error::Error;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use parking_lot::Mutex;

use crate::connect::{Connector, KEEP_ALIVE, is_http2};
use crate::error::reason;
use crate::http1::Http1;
use crate::http2::Http2;

/// How long an unused connection is kept: longer than a short tool call takes, shorter than servers keep
/// theirs.
const IDLE: Duration = Duration::from_secs(30);

/// The time between two searches for unused connections.
const SWEEP: Duration = Duration::from_secs(5);

/// The connections, and the connector for more. Shared by the clones of one sender. Dropping the last closes
/// connections whose calls are over.
#[derive(Debug)]
pub(crate) struct Pool<B> {
    connector: Connector,
    open: Mutex<OpenConnections<B>>,
}

/// The connections that are open.
#[derive(Debug)]
struct OpenConnections<B> {
    /// Idle connections over HTTP/1.1; the one used last is used next.
    idle: Vec<Http1<B>>,
    /// Connections over HTTP/2, each shared by several requests.
    shared: Vec<SharedConnection<B>>,
    /// Whether a task drops unused connections.
    is_swept: bool,
}

/// A shared connection. Each call holds a reference while it is in progress.
#[derive(Debug)]
struct SharedConnection<B> {
    connection: Arc<Http2<B>>,
    /// The moment at which it was last seen in use.
    used_at: Instant,
}

impl<B> SharedConnection<B> {
    /// The number of calls in progress. It can only grow under the pool's lock.
    fn calls(&self) -> usize {
        Arc::strong_count(&self.connection).saturating_sub(1)
    }
}

/// A connection, or a share of one, on which one request can be sent.
#[derive(Debug)]
pub(crate) enum ConnectionSlot<B> {
    /// The whole connection, until the answer is over.
    Own(Http1<B>),
    /// A place on a shared connection, until this is dropped.
    Shared(Arc<Http2<B>>),
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// A pool without connections.
    pub(crate) fn new(connector: Connector) -> Self {
        let open = OpenConnections { idle: Vec::new(), shared: Vec::new(), is_swept: false };
        Self { connector, open: Mutex::new(open) }
    }

    /// Whether the upstream is reached without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.connector.is_plain()
    }

    /// A place on an existing connection, if one has room.
    pub(crate) fn reuse(&self) -> Option<ConnectionSlot<B>> {
        let mut open = self.open.lock();
        open.shared.retain(|shared| !shared.connection.is_closed());
        let has_room = |shared: &&mut SharedConnection<B>| shared.calls() < shared.connection.calls_max();
        if let Some(shared) = open.shared.iter_mut().find(has_room) {
            shared.used_at = Instant::now();
            return Some(ConnectionSlot::Shared(Arc::clone(&shared.connection)));
        }
        while let Some(connection) = open.idle.pop() {
            if connection.is_usable() {
                return Some(ConnectionSlot::Own(connection));
            }
        }
        None
    }

    /// A place on a new connection. The error says why there is none, for people. Dropping the future gives
    /// up the attempt.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<ConnectionSlot<B>, String> {
        let stream = self.connector.connect().await?;
        if !is_http2(&stream) {
            return Http1::new(stream, IDLE).await.map(ConnectionSlot::Own).map_err(|error| reason(&error));
        }
        let connection = Arc::new(Http2::new(stream, KEEP_ALIVE).await.map_err(|error| reason(&error))?);
        self.share(Arc::clone(&connection));
        Ok(ConnectionSlot::Shared(connection))
    }

    /// Adds a shared connection.
    pub(crate) fn share(self: &Arc<Self>, connection: Arc<Http2<B>>) {
        let mut open = self.open.lock();
        open.shared.push(SharedConnection { connection, used_at: Instant::now() });
        self.sweep(&mut open);
    }

    /// Takes a connection back once its answer is over. It returns at once and waits in a task.
    pub(crate) fn give_back(self: &Arc<Self>, mut connection: Http1<B>) {
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            if connection.until_idle().await
                && let Some(pool) = pool.upgrade()
            {
                let mut open = pool.open.lock();
                open.idle.push(connection);
                pool.sweep(&mut open);
            }
        });
    }

    /// Starts the task that drops unused connections, unless it runs.
    fn sweep(self: &Arc<Self>, open: &mut OpenConnections<B>) {
        if !std::mem::replace(&mut open.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Drops unused connections. False if none is left.
    fn drop_unused(&self) -> bool {
        let mut open = self.open.lock();
        open.idle.retain(|connection| !connection.is_expired());
        open.shared.retain_mut(|shared| {
            if shared.calls() > 0 {
                shared.used_at = Instant::now();
            }
            !shared.connection.is_closed() && shared.used_at.elapsed() < IDLE
        });
        open.is_swept = !open.idle.is_empty() || !open.shared.is_empty();
        open.is_swept
    }
}

/// Drops unused connections until none is left or the pool is dropped.
async fn sweep<B>(pool: Weak<Pool<B>>)
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    loop {
        tokio::time::sleep(SWEEP).await;
        if !pool.upgrade().is_some_and(|pool| pool.drop_unused()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
