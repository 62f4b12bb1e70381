//! Requests that ask for another protocol, which has the connection to itself from then on.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::http::header::HOST;
use hyper::http::{HeaderValue, Uri};
use hyper::{Request, Response};
use model::limits::PROXY_CONNECT_MS;

use crate::config::Upstream;
use crate::egress::Outside;
use crate::error::{SendError, reason};
use crate::send::{READ_AHEAD_BYTES, connect};

/// Sends `request` to `upstream` over a connection of its own, which must be there in time.
pub(crate) async fn upgrade<B>(
    upstream: &Upstream,
    outside: &Outside,
    mut request: Request<B>,
) -> Result<Response<Incoming>, SendError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let within = Duration::from_millis(PROXY_CONNECT_MS);
    let connected = tokio::time::timeout(within, connect(upstream, outside)).await;
    let connected =
        connected.unwrap_or_else(|_elapsed| Err(format!("no connection within {} s", within.as_secs())));
    let connection = connected.map_err(SendError::Unreachable)?;
    let failed = |error: hyper::Error| SendError::Failed(reason(&error));
    let mut builder = http1::Builder::new();
    builder.preserve_header_case(true).max_buf_size(READ_AHEAD_BYTES);
    let (mut sender, connection) = builder.handshake(connection.into_inner()).await.map_err(failed)?;
    // Ends with the answer, or hands the connection over to whoever takes it.
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(reason = reason(&error), "a connection for another protocol broke");
        }
    });
    name_host(&mut request);
    sender.send_request(request).await.map_err(failed)
}

/// Says in the headers, and there first, which host is meant; the line of the request has the path alone.
fn name_host<B>(request: &mut Request<B>) {
    let uri = request.uri();
    let host = uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    let path = uri.path_and_query().map_or_else(Uri::default, |path| Uri::from(path.clone()));
    *request.uri_mut() = path;
    let rest = std::mem::take(request.headers_mut());
    let headers = request.headers_mut();
    headers.extend(host.map(|host| (HOST, host)));
    headers.extend(rest);
}
