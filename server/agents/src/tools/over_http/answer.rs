//! The types of a tool server's answers, and the meaning of those that are not a success.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{HEADER_SESSION_ID, JSON_MIME_TYPE as JSON};
use rmcp::transport::streamable_http_client::{HttpStatusError, SseError, StreamableHttpPostResponse};
use sse_stream::{Sse, SseStream};
use upstream::ResponseBody;

use super::gauge::gauged;
use super::{Failure, unanswered};

/// Most bytes that are read of an answer that only says what is wrong.
const COMPLAINT_BYTES_MAX: usize = 4 << 10;

/// The media type of an answer.
pub(super) fn media(response: &Response<ResponseBody>) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Whether an answer has the media type `wanted`.
pub(super) fn is(response: &Response<ResponseBody>, wanted: &str) -> bool {
    let media = media(response).unwrap_or_default();
    media.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case(wanted))
}

/// The session that an answer names.
pub(super) fn session(response: &Response<ResponseBody>) -> Option<String> {
    response.headers().get(HEADER_SESSION_ID)?.to_str().ok().map(str::to_owned)
}

/// The events of an answer, none larger than `max` bytes.
pub(super) fn events(body: ResponseBody, max: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(gauged(body.into_data_stream(), max)).boxed()
}

/// Reads a body that is not a stream, of at most `max` bytes.
pub(super) async fn whole(body: ResponseBody, max: usize) -> Result<Bytes, Failure> {
    let came = Limited::new(body, max).collect().await;
    came.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            unanswered(&format!("its answer has more than {max} bytes"))
        } else {
            unanswered(&format!("its answer broke off: {error}"))
        }
    })
}

/// The meaning of an answer without success to whoever sent `message`. An error of the protocol in the body
/// is an answer; everything else is a failure. `max` bounds a body of JSON, in bytes.
pub(super) async fn complaint(
    response: Response<ResponseBody>,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    max: usize,
) -> Result<StreamableHttpPostResponse, Failure> {
    let status = response.status();
    if wants_a_key(status) || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(refused(response).await);
    }
    let (named, session) = (failure(&response), session(&response));
    let is_json = is(&response, JSON);
    let max = if is_json { max } else { COMPLAINT_BYTES_MAX };
    let body = whole(response.into_body(), max).await.unwrap_or_default();
    let said = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok().filter(|_| is_json);
    let said = said.and_then(|said| if let JsonRpcMessage::Error(error) = said { Some(error) } else { None });
    // Servers that know only older versions of the protocol reject the question about its version. Whoever
    // asked then goes on with an older version, but only if this answers exactly that question.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !has_session
        && status.is_client_error()
    {
        let error = said.map_or_else(
            || ErrorData::invalid_request(format!("it answered {status}"), None),
            |said| said.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match said {
        Some(error) => Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session)),
        None => Err(named.unwrap_or_else(|| unanswered(&told(status, &body)))),
    }
}

/// Whether the status means that a key is missing or wrong.
fn wants_a_key(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// A failure that may pass, with the time to wait.
fn failure(response: &Response<ResponseBody>) -> Option<Failure> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    Some(HttpStatusError::new(status.as_u16(), after.map(str::to_owned)).into())
}

/// The failure of a request that was refused.
pub(super) async fn refused(response: Response<ResponseBody>) -> Failure {
    let status = response.status();
    if wants_a_key(status) {
        let wanted = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let wanted = wanted.map(|wanted| format!(" ({wanted})")).unwrap_or_default();
        return unanswered(&format!("it answered {status}: it wants a key, or another one{wanted}"));
    }
    if let Some(failure) = failure(&response) {
        return failure;
    }
    unanswered(&told(status, &whole(response.into_body(), COMPLAINT_BYTES_MAX).await.unwrap_or_default()))
}

/// The answer in words. Of the body at most 200 characters.
fn told(status: StatusCode, body: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
    let text = text.trim();
    if text.is_empty() { format!("it answered {status}") } else { format!("it answered {status}: {text}") }
}
