//! Requests for a protocol upgrade, after which the protocol owns the connection. Such a connection is never
//! pooled and its request never sent again.

use std::error::Error;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::http::header::HOST;
use hyper::http::{HeaderValue, Uri};
use hyper::{Request, Response};

use crate::connect::Stream;
use crate::error::{SendError, reason};
use crate::http1;

/// Sends `request` over a new connection and returns the answer, whatever its status. Fails with `Failed` if
/// the connection breaks before. After 101 the connection belongs to whoever takes it from the answer;
/// otherwise it ends with the answer.
pub(crate) async fn upgrade<B>(
    stream: Stream,
    mut request: Request<B>,
) -> Result<Response<Incoming>, SendError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let failed = |error: hyper::Error| SendError::Failed(reason(&error));
    let (mut sender, connection) = http1::builder().handshake(stream).await.map_err(failed)?;
    // Ends with the answer, or passes the connection to the upgrade.
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(reason = reason(&error), "a connection for another protocol broke");
        }
    });
    name_host(&mut request);
    sender.send_request(request).await.map_err(failed)
}

/// Puts the `Host` header first, and only the path into the request line.
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
