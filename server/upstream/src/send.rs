//! One request to an upstream, and whether it is sent again where its connection turns out to be dead: only where the
//! upstream surely did not take it, or where it does no harm (RFC 9110, 9.2.2; RFC 9113, 8.7).
//!
//! ```text
//!             ┌─ nothing of it was sent, over a connection that was there before
//!             ├─ the upstream refused its stream, or ended the connection before it
//! failure ────┤─ a method that does no harm twice, without a body, over a connection that was there before
//!             └─ else: the caller is told
//! ```

use std::any::Any;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::TrySendError;
use hyper::http::header::PROXY_AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::http::{HeaderValue, Request, Response};
use model::limits::PROXY_CONNECT_MS;

use crate::config::Upstream;
use crate::connect::Connector;
use crate::error::{SendError, reason};
use crate::http1::Form;
use crate::http2::Http2;
use crate::pool::{Place, Pool};
use crate::replay::{Keep, Replay};
use crate::surroundings::{Surroundings, TlsError};

/// How long a request may wait for a place on a connection.
const PLACE_WITHIN: Duration = Duration::from_millis(PROXY_CONNECT_MS + 5_000);

/// Sends requests to one upstream. Cheap to clone; clones share their connections, which are closed when the last one is
/// dropped and their calls are over.
#[derive(Debug)]
pub struct Sender<B> {
    pool: Arc<Pool<B>>,
    form: Form,
    /// What a proxy before it wants to see with each call.
    key: Option<HeaderValue>,
}

impl<B> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self { pool: Arc::clone(&self.pool), form: self.form, key: self.key.clone() }
    }
}

/// What came of a request over one connection. One of which nothing was sent comes back with the error.
type Sent<A, B> = Result<Response<A>, TrySendError<Request<Replay<B>>>>;

/// What matters of a request where it may be sent again.
#[derive(Debug, Clone, Copy)]
struct Nature {
    is_idempotent: bool,
    has_body: bool,
}

impl<B> Sender<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// For one upstream.
    pub(crate) fn new(upstream: &Upstream, surroundings: &Surroundings) -> Result<Self, TlsError> {
        let detour = surroundings.detour(upstream);
        if let Some(proxy) = detour.place() {
            tracing::info!(upstream = upstream.name(), %proxy, "is reached through the proxy of the environment");
        }
        let form = if detour.is_asked() { Form::Absolute } else { Form::Origin };
        let pool = Pool::new(Connector::new(upstream, surroundings)?);
        Ok(Self { pool: Arc::new(pool), form, key: detour.key().cloned() })
    }

    /// What a proxy before the upstream wants to see with each call, and may repeat in its errors.
    pub fn key(&self) -> Option<&HeaderValue> {
        self.key.as_ref()
    }

    /// Sends a request. To drop this, or the body of the answer, breaks the request off.
    pub async fn send(&self, request: Request<B>) -> Result<Response<ResponseBody>, SendError> {
        let (mut head, body) = request.into_parts();
        if let Some(key) = &self.key {
            head.headers.insert(PROXY_AUTHORIZATION, key.clone());
        }
        let nature = Nature { is_idempotent: head.method.is_idempotent(), has_body: !body.is_end_stream() };
        let mut replay = Replay::new(body);
        let mut is_repeated = false;
        loop {
            let known = self.pool.take();
            let is_new = known.is_none();
            let place = match known {
                Some(place) => place,
                // Large, and seldom wanted.
                None => Box::pin(self.pool.connect()).await.map_err(SendError::Unreachable)?,
            };
            let failure = match self.attempt(place, head.clone(), &mut replay, nature).await? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let (is_unsent, error) = (failure.message().is_some(), failure.into_error());
            let may_be_sent_again = if is_unsent {
                // A connection that was there before is gone now; a new one that takes nothing is the answer.
                !is_new
            } else {
                !is_repeated && replay.is_whole() && nature.may_be_repeated(&error, is_new)
            };
            if !may_be_sent_again {
                return Err(SendError::Failed(reason(&error)));
            }
            is_repeated |= !is_unsent;
            tracing::debug!(reason = reason(&error), "a request is sent again");
        }
    }

    /// Sends the request over one connection. An upstream that gives it no place in time is given up.
    async fn attempt(
        &self,
        place: Place<B>,
        head: Parts,
        replay: &mut Replay<B>,
        nature: Nature,
    ) -> Result<Sent<ResponseBody, B>, SendError> {
        match place {
            Place::Own(mut connection) => {
                let sent = connection.send(head, replay.attempt(Keep::Nothing), self.form).await;
                Ok(sent.map(|answer| {
                    self.pool.give_back(connection);
                    answer.map(|body| ResponseBody { body, _connection: None })
                }))
            }
            Place::Shared(connection) => {
                let sent = place_in_time(&connection, head, replay, nature).await?;
                Ok(sent.map(|answer| {
                    replay.answered();
                    answer.map(|body| ResponseBody { body, _connection: Some(connection) })
                }))
            }
        }
    }
}

/// Sends a request over a connection that others share.
async fn place_in_time<B>(
    connection: &Http2<B>,
    head: Parts,
    replay: &mut Replay<B>,
    nature: Nature,
) -> Result<Sent<Incoming, B>, SendError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let sending = connection.send(head, replay.attempt(Keep::Short));
    tokio::pin!(sending);
    match tokio::time::timeout(PLACE_WITHIN, &mut sending).await {
        Ok(sent) => Ok(sent),
        // Its body is wanted once it has a place. Of one without a body nobody knows.
        Err(_elapsed) if replay.is_taken() || !nature.has_body && !connection.is_shut() => Ok(sending.await),
        Err(_elapsed) => {
            let seconds = PLACE_WITHIN.as_secs();
            let why = format!("it had no connection free for this call within {seconds} s");
            Err(SendError::Unreachable(why))
        }
    }
}

impl Nature {
    /// Whether such a request may be sent again after `error`, which came after it was sent.
    fn may_be_repeated(self, error: &hyper::Error, is_new: bool) -> bool {
        let Self { is_idempotent, has_body } = self;
        // Without a body it was on its way as a whole when the other side ended.
        is_refused(error)
            || is_left(error) && (is_idempotent || has_body)
            || is_idempotent && !has_body && !is_new && is_end(error)
    }
}

/// Whether the other side says that it did not take the request, over HTTP/2 (RFC 9113, 8.7).
fn is_refused(error: &hyper::Error) -> bool {
    told(error).any(|error| error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// Whether the other side ends the connection in order, over HTTP/2, and says that it did not come to the request. A few
/// say so of one that they answer.
fn is_left(error: &hyper::Error) -> bool {
    told(error).any(|error| error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
}

/// What the other side said over HTTP/2.
fn told(error: &hyper::Error) -> impl Iterator<Item = &h2::Error> {
    let all = causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>());
    all.filter(|error| error.is_remote())
}

/// Whether the connection ended in place of an answer.
fn is_end(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || causes(error).any(<dyn Error>::is::<io::Error>)
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| error.source())
}

/// The body of an answer as it comes. Its call is on its way until this is dropped.
#[derive(Debug)]
pub struct ResponseBody {
    body: Incoming,
    /// One that others share, on which this call has a place.
    _connection: Option<Arc<dyn Any + Send + Sync>>,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
