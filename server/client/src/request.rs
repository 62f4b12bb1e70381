//! Requests whose answer is read as it comes.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::{Method, Response};
use upstream::ResponseBody;
use url::Url;

use super::http::{Http, whole};
use super::{HubAddress, PublishError};

/// The answer to a request, of which the body is read piece by piece. Dropping it ends the connection where the body has not come to its
/// end, which a hub may take for a caller that hangs up.
#[derive(Debug)]
pub struct HubAnswer {
    http: Http,
    headers: HeaderMap,
    body: ResponseBody,
}

impl HubAnswer {
    /// A header of the answer as text; `None` if it is not there or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next piece of the body; `None` at its end. Fails with `Broken` if the connection breaks before. Can be cancelled.
    pub async fn next(&mut self) -> Result<Option<Bytes>, PublishError> {
        self.http.piece(&mut self.body).await
    }
}

/// Sends JSON to `url`, which must be one of the hub at `address`, with its token. Returns when the head of the answer is there; fails
/// with `Refused` for any other than a success.
pub async fn post(
    address: &HubAddress,
    url: &Url,
    headers: impl IntoIterator<Item = (HeaderName, &str)>,
    json: String,
) -> Result<HubAnswer, PublishError> {
    let http = Http::new(address.clone());
    let headers = headers.into_iter().chain([(CONTENT_TYPE, "application/json")]);
    let (head, body) = Response::into_parts(http.send(Method::POST, url, headers, whole(json)).await?);
    Ok(HubAnswer { http, headers: head.headers, body })
}
