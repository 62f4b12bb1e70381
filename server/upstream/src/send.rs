//! Sends a request to an upstream, and again if its connection turns out to be dead: only if the upstream
//! certainly did not take it, or if repeating it is harmless (RFC 9110, 9.2.2; RFC 9113, 8.7).
//!
//! ```text
//!             ┌─ nothing of it was sent, over a connection that was there before
//!             ├─ the upstream refused its stream, or ended the connection before it
//! failure ────┤─ an idempotent method without a body, over a connection that was there before
//!             └─ otherwise: the caller gets the error
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
use crate::error::{SendError, not_http, reason};
use crate::http1::RequestTarget;
use crate::http2::Http2;
use crate::machine::{MachineSettings, TlsError};
use crate::pool::{ConnectionSlot, Pool};
use crate::replay::{Buffering, ReplayBody};

/// How long a request may wait for a place on a connection.
const SLOT_WITHIN: Duration = Duration::from_millis(PROXY_CONNECT_MS + 5_000);

/// Sends requests to one upstream. Clones are cheap and share the connections, which are closed when the last
/// clone is dropped and their calls are over.
#[derive(Debug)]
pub struct Sender<B> {
    pool: Arc<Pool<B>>,
    /// What the request line names.
    target: RequestTarget,
    /// The `Proxy-Authorization` for a forwarding proxy.
    proxy_authorization: Option<HeaderValue>,
}

impl<B> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self {
            pool: Arc::clone(&self.pool),
            target: self.target,
            proxy_authorization: self.proxy_authorization.clone(),
        }
    }
}

/// The result of a request over one connection. The error contains the request if nothing of it was sent.
type SendOutcome<A, B> = Result<Response<A>, TrySendError<Request<ReplayBody<B>>>>;

/// The properties of a request that decide whether it may be sent again.
#[derive(Debug, Clone, Copy)]
struct RequestTraits {
    /// Whether its method may be repeated (RFC 9110, 9.2.2).
    is_idempotent: bool,
    /// Whether it has a body, whose beginning would be needed again.
    has_body: bool,
}

impl<B> Sender<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// A sender for one upstream.
    pub(crate) fn new(upstream: &Upstream, machine: &MachineSettings) -> Result<Self, TlsError> {
        let route = machine.route(upstream);
        if let Some(proxy) = route.address() {
            tracing::info!(upstream = upstream.name(), %proxy, "is reached through the proxy of the environment");
        }
        let target = if route.is_forwarded() { RequestTarget::Absolute } else { RequestTarget::Origin };
        let pool = Pool::new(Connector::new(upstream, machine)?);
        Ok(Self { pool: Arc::new(pool), target, proxy_authorization: route.authorization().cloned() })
    }

    /// The `Proxy-Authorization` for a forwarding proxy, which may repeat it in its errors.
    pub fn proxy_authorization(&self) -> Option<&HeaderValue> {
        self.proxy_authorization.as_ref()
    }

    /// Sends a request. Dropping the future or the body of the answer cancels the request.
    ///
    /// Fails with [`SendError::Unreachable`] if no connection or no place on one is to be had: the upstream
    /// received nothing. Fails with [`SendError::Failed`] if the request was sent, at least in part, and has
    /// no answer. There is no limit of time for the answer.
    pub async fn send(&self, request: Request<B>) -> Result<Response<ResponseBody>, SendError> {
        let (mut head, body) = request.into_parts();
        if let Some(proxy_authorization) = &self.proxy_authorization {
            head.headers.insert(PROXY_AUTHORIZATION, proxy_authorization.clone());
        }
        let traits =
            RequestTraits { is_idempotent: head.method.is_idempotent(), has_body: !body.is_end_stream() };
        let mut replay = ReplayBody::new(body);
        let mut is_repeated = false;
        loop {
            let reused = self.pool.reuse();
            let is_new = reused.is_none();
            let slot = match reused {
                Some(slot) => slot,
                // Boxed, since the future is large and seldom needed.
                None => Box::pin(self.pool.connect()).await.map_err(SendError::Unreachable)?,
            };
            let failure = match self.attempt(slot, head.clone(), &mut replay, traits).await? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let (is_unsent, error) = (failure.message().is_some(), failure.into_error());
            let may_be_sent_again = if is_unsent {
                // An old connection may have closed since; a new one that takes nothing is a failure.
                !is_new
            } else {
                !is_repeated && replay.is_repeatable() && traits.may_be_repeated(&error, is_new)
            };
            if !may_be_sent_again {
                let is_not_http = error.is_parse() && self.pool.is_plain();
                return Err(SendError::Failed(if is_not_http { not_http(&error) } else { reason(&error) }));
            }
            is_repeated |= !is_unsent;
            tracing::debug!(reason = reason(&error), "a request is sent again");
        }
    }

    /// Sends the request over one connection. The error is returned if an upstream gives it no place in time.
    async fn attempt(
        &self,
        slot: ConnectionSlot<B>,
        head: Parts,
        replay: &mut ReplayBody<B>,
        traits: RequestTraits,
    ) -> Result<SendOutcome<ResponseBody, B>, SendError> {
        match slot {
            ConnectionSlot::Own(mut connection) => {
                let sent = connection.send(head, replay.attempt(Buffering::Nothing), self.target).await;
                Ok(sent.map(|answer| {
                    self.pool.give_back(connection);
                    answer.map(|body| ResponseBody { body, _connection: None })
                }))
            }
            ConnectionSlot::Shared(connection) => {
                let sent = send_in_time(&connection, head, replay, traits).await?;
                Ok(sent.map(|answer| {
                    replay.answered();
                    answer.map(|body| ResponseBody { body, _connection: Some(connection) })
                }))
            }
        }
    }
}

/// Sends a request over a shared connection, if it gets a place within [`SLOT_WITHIN`].
async fn send_in_time<B>(
    connection: &Http2<B>,
    head: Parts,
    replay: &mut ReplayBody<B>,
    traits: RequestTraits,
) -> Result<SendOutcome<Incoming, B>, SendError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let sending = connection.send(head, replay.attempt(Buffering::Short));
    tokio::pin!(sending);
    match tokio::time::timeout(SLOT_WITHIN, &mut sending).await {
        Ok(sent) => Ok(sent),
        // The body is read once the request has a place. For a request without a body that is unknown.
        Err(_elapsed) if replay.is_read() || !traits.has_body && !connection.is_shut() => Ok(sending.await),
        Err(_elapsed) => {
            let seconds = SLOT_WITHIN.as_secs();
            let why = format!("it had no connection free for this call within {seconds} s");
            Err(SendError::Unreachable(why))
        }
    }
}

impl RequestTraits {
    /// Whether the request may be sent again after `error`, which occurred after it was sent.
    fn may_be_repeated(self, error: &hyper::Error, is_new: bool) -> bool {
        let Self { is_idempotent, has_body } = self;
        // A request without a body was sent completely when the other side closed.
        is_refused(error)
            || is_graceful_shutdown(error) && (is_idempotent || has_body)
            || is_idempotent && !has_body && !is_new && is_closed_early(error)
    }
}

/// Whether the other side says that it did not take the request, over HTTP/2 (RFC 9113, 8.7).
fn is_refused(error: &hyper::Error) -> bool {
    remote_errors(error).any(|error| error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// Whether the other side closes the connection in order (GOAWAY without an error), over HTTP/2, and says that it did not process the
/// request. A few servers say so about a request that they answer.
fn is_graceful_shutdown(error: &hyper::Error) -> bool {
    remote_errors(error).any(|error| error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
}

/// The HTTP/2 errors that the other side sent.
fn remote_errors(error: &hyper::Error) -> impl Iterator<Item = &h2::Error> {
    let all = causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>());
    all.filter(|error| error.is_remote())
}

/// Whether the connection was closed in place of an answer.
fn is_closed_early(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || causes(error).any(<dyn Error>::is::<io::Error>)
}

/// An error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| error.source())
}

/// The body of an answer, as it arrives. Its call is in progress until this is dropped; dropping it early
/// cancels the request. Nothing but a bounded window is read ahead of the reader.
#[derive(Debug)]
pub struct ResponseBody {
    body: Incoming,
    /// The shared connection on which this call has a place.
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
