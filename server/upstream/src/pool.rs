//! The connections to one upstream: those over HTTP/1.1 that are at rest, and those over HTTP/2, on which calls are put as long as there
//! is room, in the first one before all others, so that those that are not needed any more go.

use std::error::Error;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Body;
use parking_lot::Mutex;

use crate::connect::{Connector, PULSE, is_http2};
use crate::error::reason;
use crate::http1::Http1;
use crate::http2::Http2;

/// How long a connection that nobody uses is kept. Longer than a short tool takes, shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);

/// How often it is looked for those.
const SWEEP: Duration = Duration::from_secs(5);

/// The connections, and how more are made.
#[derive(Debug)]
pub(crate) struct Pool<B> {
    connector: Connector,
    open: Mutex<Open<B>>,
}

#[derive(Debug)]
struct Open<B> {
    /// At rest; the one that was used last is used next.
    resting: Vec<Http1<B>>,
    shared: Vec<Shared<B>>,
    /// Somebody drops those that nobody uses.
    is_swept: bool,
}

/// A connection that calls share: each of them holds it as long as it is on its way.
#[derive(Debug)]
struct Shared<B> {
    connection: Arc<Http2<B>>,
    /// When it was seen in use last.
    used_at: Instant,
}

impl<B> Shared<B> {
    /// Calls that are on their way over it. More begin under the lock of the pool alone.
    fn calls(&self) -> usize {
        Arc::strong_count(&self.connection).saturating_sub(1)
    }
}

/// A connection for one request.
#[derive(Debug)]
pub(crate) enum Place<B> {
    /// It has the connection to itself until its answer is over.
    Own(Http1<B>),
    /// One of many on it, until this is dropped.
    Shared(Arc<Http2<B>>),
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// Without any as yet.
    pub(crate) fn new(connector: Connector) -> Self {
        let open = Open { resting: Vec::new(), shared: Vec::new(), is_swept: false };
        Self { connector, open: Mutex::new(open) }
    }

    /// A place on a connection that is there.
    pub(crate) fn take(&self) -> Option<Place<B>> {
        let mut open = self.open.lock();
        open.shared.retain(|shared| !shared.connection.is_closed());
        let has_room = |shared: &&mut Shared<B>| shared.calls() < shared.connection.calls_max();
        if let Some(shared) = open.shared.iter_mut().find(has_room) {
            shared.used_at = Instant::now();
            return Some(Place::Shared(Arc::clone(&shared.connection)));
        }
        while let Some(connection) = open.resting.pop() {
            if connection.is_usable() {
                return Some(Place::Own(connection));
            }
        }
        None
    }

    /// A place on a new connection; else why there is none.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Place<B>, String> {
        let stream = self.connector.connect().await?;
        if !is_http2(&stream) {
            return Http1::new(stream, IDLE).await.map(Place::Own).map_err(|error| reason(&error));
        }
        let connection = Arc::new(Http2::new(stream, PULSE).await.map_err(|error| reason(&error))?);
        self.share(Arc::clone(&connection));
        Ok(Place::Shared(connection))
    }

    /// Adds a connection on which calls find a place.
    pub(crate) fn share(self: &Arc<Self>, connection: Arc<Http2<B>>) {
        let mut open = self.open.lock();
        open.shared.push(Shared { connection, used_at: Instant::now() });
        self.sweep(&mut open);
    }

    /// Takes a connection back once its answer is over.
    pub(crate) fn give_back(self: &Arc<Self>, mut connection: Http1<B>) {
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            if connection.rest().await
                && let Some(pool) = pool.upgrade()
            {
                let mut open = pool.open.lock();
                open.resting.push(connection);
                pool.sweep(&mut open);
            }
        });
    }

    /// Sees to it that what nobody uses is dropped.
    fn sweep(self: &Arc<Self>, open: &mut Open<B>) {
        if !std::mem::replace(&mut open.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Drops what nobody uses. False when nothing is left.
    fn drop_unused(&self) -> bool {
        let mut open = self.open.lock();
        open.resting.retain(|connection| !connection.is_expired());
        open.shared.retain_mut(|shared| {
            if shared.calls() > 0 {
                shared.used_at = Instant::now();
            }
            !shared.connection.is_closed() && shared.used_at.elapsed() < IDLE
        });
        open.is_swept = !open.resting.is_empty() || !open.shared.is_empty();
        open.is_swept
    }
}

/// Drops what nobody uses until nothing is left of the pool.
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
