//! Small documents of others, through the one way out: bounded in bytes and time, and from where the settings
//! say. A redirection is not followed: it is an answer other than the document. Used for keys of issuers and
//! for the login at a provider.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, StatusCode};
use upstream::{Egress, Sender, Upstream};

/// Largest document that is taken, in bytes.
pub(super) const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// How long one fetch may take.
const FETCH_WITHIN: Duration = Duration::from_secs(10);

/// Asks for the document at the address of `upstream`. Fails as [`send`] does.
pub(super) async fn get(egress: &Egress, upstream: &Upstream) -> Result<Vec<u8>, String> {
    let address = upstream.uri("").ok_or("its address is not a URL")?;
    let request = Request::get(address).header("accept", "application/json").body(Full::default());
    send(egress, upstream, request.map_err(|error| error.to_string())?).await
}

/// Sends `request` to `upstream`; the body of its answer if that is 200. Fails, with a text for people that
/// holds nothing of the request, if the connection fails, for any other status, for more than
/// [`DOCUMENT_BYTES_MAX`] bytes, and after [`FETCH_WITHIN`].
pub(super) async fn send(
    egress: &Egress,
    upstream: &Upstream,
    request: Request<Full<Bytes>>,
) -> Result<Vec<u8>, String> {
    let sender: Sender<Full<Bytes>> = egress.sender(upstream).map_err(|error| error.to_string())?;
    let asked = async {
        let answer = sender.send(request).await.map_err(|error| error.to_string())?;
        if answer.status() != StatusCode::OK {
            return Err(format!("it answers with {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await;
        let body = body.map_err(|error| {
            format!("its answer cannot be read, or has over {DOCUMENT_BYTES_MAX} bytes: {error}")
        })?;
        Ok(body.to_bytes().to_vec())
    };
    let asked = tokio::time::timeout(FETCH_WITHIN, asked).await;
    asked.map_err(|_elapsed| format!("it does not answer within {} s", FETCH_WITHIN.as_secs()))?
}
