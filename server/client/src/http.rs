//! Requests to one hub over HTTP.

use std::error::Error;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use serde::Deserialize;
use upstream::{ResponseBody, SendError, Sender, reason};
use url::Url;

use super::egress::EGRESS;
use super::{HubAddress, PublishError};

/// How much of an answer is read, in bytes, where it is a short document: an acknowledgement or a refusal.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The body of a request.
pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// A body that is complete.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Sends requests to one hub, without a proxy of the environment. Cheap to clone; clones share their
/// connections.
#[derive(Debug, Clone)]
pub(super) struct Http {
    /// The hub, whose token is sent with each request.
    address: HubAddress,
    /// The sender, or why there is none.
    sender: Result<Sender<Body>, String>,
}

impl Http {
    /// A sender for the hub at `address`. It connects with the first request.
    pub(super) fn new(address: HubAddress) -> Self {
        let upstream = address.upstream().map_err(|error| reason(&error));
        let sender = upstream.and_then(|hub| EGRESS.sender(&hub).map_err(|error| error.to_string()));
        Self { address, sender }
    }

    /// Sends a request with the token of the hub. Fails with `Unreachable` if nothing was sent, with `Broken`
    /// if it is unknown what the hub took, and with `Refused` for any answer other than a success.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: impl IntoIterator<Item = (HeaderName, &str)>,
        body: Body,
    ) -> Result<Response<ResponseBody>, PublishError> {
        self.address.check_secrecy().map_err(|error| self.unreachable(error.to_string()))?;
        let sender = self.sender.as_ref().map_err(|why| self.unreachable(why.clone()))?;
        let mut request = Request::builder().method(method).uri(self.address.target(url));
        request = request.header(ACCEPT, "*/*");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(value) = authorization(&self.address, url) {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(body).map_err(|error| self.unreachable(error.to_string()))?;
        let answer = sender.send(request).await.map_err(|error| match error {
            SendError::Unreachable(why) => self.unreachable(why),
            SendError::Failed(why) => self.broken(why),
        })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let message = message(&self.beginning(answer).await?);
        Err(PublishError::Refused { url: self.address.clone(), status: status.as_u16(), message })
    }

    /// The beginning of an answer, at most [`ANSWER_BYTES_MAX`].
    pub(super) async fn beginning(&self, answer: Response<ResponseBody>) -> Result<Vec<u8>, PublishError> {
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            let room = ANSWER_BYTES_MAX.saturating_sub(text.len()).min(piece.len());
            text.extend_from_slice(piece.get(..room).unwrap_or_default());
            if text.len() >= ANSWER_BYTES_MAX {
                break;
            }
        }
        Ok(text)
    }

    /// The next piece of an answer; `None` at its end.
    pub(super) async fn piece(&self, body: &mut ResponseBody) -> Result<Option<Bytes>, PublishError> {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| self.broken(reason(&error)))?;
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// The error of a broken connection.
    pub(super) fn broken(&self, cause: String) -> PublishError {
        PublishError::Broken { url: self.address.clone(), cause }
    }

    /// The error of a connection that could not be made.
    fn unreachable(&self, cause: String) -> PublishError {
        PublishError::Unreachable { url: self.address.clone(), cause }
    }
}

/// The token of the hub; otherwise the user name and password in its URL, which a server in front of it may
/// need.
fn authorization(address: &HubAddress, url: &Url) -> Option<HeaderValue> {
    let text = match address.token() {
        Some(token) => format!("Bearer {token}"),
        None if url.username().is_empty() && url.password().is_none() => return None,
        None => {
            let plain =
                |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
            let pair = format!("{}:{}", plain(url.username()), plain(url.password().unwrap_or_default()));
            format!("Basic {}", STANDARD.encode(pair))
        }
    };
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The message of a refusal: from a problem document or an error in OpenAI's form, otherwise the beginning of the text.
fn message(text: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Problem {
        code: String,
        detail: Option<String>,
    }
    #[derive(Deserialize)]
    struct Fault {
        code: Option<String>,
        message: String,
    }
    #[derive(Deserialize)]
    struct Faulty {
        error: Fault,
    }
    if let Ok(problem) = serde_json::from_slice::<Problem>(text) {
        return format!("{}: {}", problem.code, problem.detail.unwrap_or_default());
    }
    if let Ok(Faulty { error }) = serde_json::from_slice(text) {
        return error.code.map_or_else(String::new, |code| format!("{code}: ")) + &error.message;
    }
    String::from_utf8_lossy(text).chars().take(200).collect()
}

#[cfg(test)]
mod tests;
