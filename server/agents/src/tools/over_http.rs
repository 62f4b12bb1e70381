//! Streamable HTTP to a tool server, over the hub's own connections: its TLS, its root certificates, and
//! those that the settings add. Failures are put into words that name the cause.
//!
//! ```text
//! POST message   202, 204         nothing to read
//!                200, JSON        one message
//!                200, events      a stream of messages
//!                404 in a session the session has expired: the library begins another
//!                401, 403, 429    a failure
//!                other            an error of the protocol if the body is one, else a failure
//! GET            200, events      what the server says by itself; 405: it says nothing
//! DELETE         2xx, 405         the session is over
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use parking_lot::Mutex;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE as EVENTS, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE as JSON,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use upstream::{ResponseBody, SendError};

use crate::way::Way;

mod answer;
mod gauge;

use answer::{complaint, events, is, media, refused, session, whole};

/// Most redirects that one request follows.
const MOVES_MAX: usize = 4;

/// The HTTP client of one tool server. Clones share the newest failure.
#[derive(Debug, Clone)]
pub(super) struct OverHttp {
    /// What sends its requests.
    way: Way,
    /// The newest failure, in words.
    fault: Arc<Mutex<Option<String>>>,
}

/// The failure of a request that got no usable answer, in words for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unanswered(String);

/// What a request fails with, in the library's terms.
type Failure = StreamableHttpError<Unanswered>;

/// A request, as often as it has to be sent.
struct ToolHttpRequest {
    method: Method,
    /// The URL in the settings; redirects change only the request that is sent.
    uri: Arc<str>,
    headers: HeaderMap,
    body: Bytes,
}

impl ToolHttpRequest {
    /// Makes a request with the headers that all requests have.
    fn new(
        method: Method,
        uri: Arc<str>,
        session: Option<&str>,
        key: Option<&str>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Self, Failure> {
        let mut headers = HeaderMap::from_iter(more);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("fanlight/", env!("CARGO_PKG_VERSION"))));
        let mut asked = Self { method, uri, headers, body: Bytes::new() };
        if let Some(session) = session {
            asked.put(HEADER_SESSION_ID, session)?;
        }
        if let Some(key) = key {
            asked.put(AUTHORIZATION.as_str(), &format!("Bearer {key}"))?;
        }
        Ok(asked)
    }

    /// Adds a header to the request. Fails if it is not valid.
    fn put(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_odd| unanswered("a header has an invalid name"))?;
        let value = HeaderValue::from_str(value);
        let value =
            value.map_err(|_odd| unanswered(&format!("the value of the header {name} cannot be sent")))?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// The request for this address.
    fn at(&self, uri: &Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// A failure with these words.
fn unanswered(why: &str) -> Failure {
    StreamableHttpError::Client(Unanswered(why.to_owned()))
}

/// The words for a failure of a request or its answer.
pub(super) fn why(error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.downcast_ref::<Failure>() {
        Some(StreamableHttpError::Client(Unanswered(why))) => why.clone(),
        Some(StreamableHttpError::HttpStatus(answer)) => format!("it answered {answer}"),
        _ => error.to_string(),
    }
}

impl OverHttp {
    /// Makes a client that sends over `way`.
    pub(super) fn new(way: Way) -> Self {
        Self { way, fault: Arc::default() }
    }

    /// Where the newest failure is stored, in words.
    pub(super) fn faults(&self) -> Arc<Mutex<Option<String>>> {
        Arc::clone(&self.fault)
    }

    /// Stores a failure, and passes it on.
    fn noted<T>(&self, came: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(StreamableHttpError::Client(Unanswered(why))) = &came {
            *self.fault.lock() = Some(why.clone());
        }
        came
    }

    /// Sends a request, and follows redirects to other paths of the same server.
    async fn send(&self, asked: ToolHttpRequest) -> Result<Response<ResponseBody>, Failure> {
        let mut uri: Uri = asked.uri.parse().map_err(|_odd| unanswered("its URL is invalid"))?;
        for _ in 0..MOVES_MAX {
            let response = self.way.send(asked.at(&uri)).await.map_err(|fault| match fault {
                SendError::Unreachable(why) => unanswered(&format!("it cannot be reached: {why}")),
                SendError::Failed(why) => unanswered(&format!("it gave no answer: {why}")),
            })?;
            let moves = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
            if !moves.contains(&response.status()) {
                return Ok(response);
            }
            uri = moved(&uri, response.headers()).ok_or_else(|| unanswered("it sends to another server"))?;
        }
        Err(unanswered("it sends from one place to the next"))
    }

    /// Opens a stream of events.
    async fn get(
        &self,
        asked: ToolHttpRequest,
        max: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let response = self.send(asked).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(refused(response).await),
            _ if is(&response, EVENTS) => Ok(events(response.into_body(), max)),
            _ => Err(StreamableHttpError::UnexpectedContentType(media(&response))),
        }
    }

    /// Sends a message and reads the answer: none, a stream of events, or one message.
    async fn post(
        &self,
        mut asked: ToolHttpRequest,
        message: &ClientJsonRpcMessage,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        asked.put(CONTENT_TYPE.as_str(), JSON)?;
        asked.body = serde_json::to_vec(message)?.into();
        let has_session = asked.headers.contains_key(HEADER_SESSION_ID);
        let response = self.send(asked).await?;
        let status = response.status();
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return complaint(response, message, has_session, limits.max_json_response_size).await;
        }
        let session = session(&response);
        if is(&response, EVENTS) {
            let events = events(response.into_body(), limits.max_sse_event_size);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        // Nobody waits for the answer to a message that is not a request, whatever it is.
        let is_awaited = matches!(message, ClientJsonRpcMessage::Request(_));
        if !is(&response, JSON) {
            return if is_awaited {
                Err(StreamableHttpError::UnexpectedContentType(media(&response)))
            } else {
                Ok(StreamableHttpPostResponse::Accepted)
            };
        }
        let body = whole(response.into_body(), limits.max_json_response_size).await?;
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(_odd) if !is_awaited => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(unanswered(&format!("its answer is not a message of the protocol: {error}"))),
        }
    }
}

impl StreamableHttpClient for OverHttp {
    type Error = Unanswered;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let asked = ToolHttpRequest::new(
            Method::POST,
            uri,
            session_id.as_deref(),
            auth_header.as_deref(),
            custom_headers,
        )?;
        let came = self.post(asked, &message, limits).await;
        self.noted(came)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let asked = ToolHttpRequest::new(
            Method::DELETE,
            uri,
            Some(&session_id),
            auth_header.as_deref(),
            custom_headers,
        )?;
        let response = self.send(asked).await?;
        // Servers that do not end sessions on request let them expire.
        if response.status().is_success() || response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(refused(response).await)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let max = model::limits::TOOL_MESSAGE_BYTES_MAX;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            max,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut asked = ToolHttpRequest::new(
            Method::GET,
            uri,
            session_id.as_deref(),
            auth_header.as_deref(),
            custom_headers,
        )?;
        if let Some(last) = last_event_id {
            asked.put(HEADER_LAST_EVENT_ID, &last)?;
        }
        let came = self.get(asked, max_sse_event_size).await;
        self.noted(came)
    }
}

/// The target of a redirect: another path of the same server. `None` for another server, because the request
/// may contain a key.
fn moved(from: &Uri, headers: &HeaderMap) -> Option<Uri> {
    let to: Uri = headers.get(LOCATION)?.to_str().ok()?.parse().ok()?;
    let is_same = |to: &Uri| to.scheme() == from.scheme() && to.authority() == from.authority();
    if to.authority().is_some() {
        return Some(to).filter(is_same);
    }
    let path = to
        .path_and_query()
        .filter(|path| path.as_str().starts_with('/') && !path.as_str().starts_with("//"))?;
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(path.clone());
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests;
