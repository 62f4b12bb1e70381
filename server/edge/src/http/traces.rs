//! `POST /v1/traces`: spans in the form of OpenTelemetry's exporters (OTLP over HTTP), as protobuf or JSON,
//! plain or with gzip. [`crate::traces::Traces`] turns them into events.

use std::io::Read as _;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use event_log::{blocking, reached, room};
use exchange::spans::otlp::{self, OtlpEncoding};
use flate2::read::MultiGzDecoder;
use model::code::ErrorCode;
use model::limits::EXPORT_BYTES_MAX;

use super::body;
use crate::inbound::params;
use crate::inbound::problem::Problem;
use crate::traces::Traces;
use hub::Hub;
use tokio_util::sync::CancellationToken;

/// Publishes the spans in the body, at most `EXPORT_BYTES_MAX` bytes, packed and unpacked. The answer, in the
/// encoding of the request, counts the spans that were refused, as OTLP requires. Waits for the durability
/// that was asked for. 400 for a body that cannot be read, 413 beyond the limit, 415 for another type or
/// compression, 503 while the hub drains.
pub(crate) async fn take(
    State(hub): State<Arc<Hub>>,
    State(traces): State<Arc<Traces>>,
    State(drain): State<CancellationToken>,
    request: Request,
) -> Result<Response, Problem> {
    let encoding = encoding(request.headers())?;
    let is_packed = is_packed(request.headers())?;
    let durability = params::durability(request.headers(), hub.log().durability())?;
    if drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    room(hub.log()).await;
    let body = body::whole(request.into_body(), EXPORT_BYTES_MAX).await?;
    let (rejected, message, ticket) = blocking(|| {
        let body = if is_packed { unpacked(&body)?.into() } else { body };
        let export = otlp::read(encoding, &body).map_err(|error| Problem::bad_request(error.to_string()))?;
        let taken = traces.take(export.spans, durability);
        let mut message = export.message;
        if taken.rejected > 0 && message.is_empty() {
            message = String::from("a trace has more spans than the limit");
        }
        Ok::<_, Problem>((export.rejected + taken.rejected, message, taken.ticket))
    })?;
    reached(hub.log(), ticket, durability).await?;
    let kind = match encoding {
        OtlpEncoding::Protobuf => "application/x-protobuf",
        OtlpEncoding::Json => "application/json",
    };
    let answer = Bytes::from(otlp::answer(encoding, rejected, &message));
    Ok(([(CONTENT_TYPE, kind)], answer).into_response())
}

/// The encoding that `Content-Type` names. Fails with `unsupported_encoding`.
fn encoding(headers: &HeaderMap) -> Result<OtlpEncoding, Problem> {
    let kind = params::text(headers, CONTENT_TYPE.as_str())?.unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-protobuf" | "application/protobuf" => Ok(OtlpEncoding::Protobuf),
        "application/json" => Ok(OtlpEncoding::Json),
        other => {
            let detail = format!("{other:?} is neither application/x-protobuf nor application/json");
            Err(Problem::new(ErrorCode::UnsupportedEncoding, detail))
        }
    }
}

/// Whether the body is compressed with gzip; a problem for other compressions.
fn is_packed(headers: &HeaderMap) -> Result<bool, Problem> {
    match params::text(headers, CONTENT_ENCODING.as_str())?.unwrap_or_default() {
        "" | "identity" | "none" => Ok(false),
        "gzip" => Ok(true),
        other => {
            let detail = format!("the body is compressed with {other:?}; send it with gzip or as it is");
            Err(Problem::new(ErrorCode::UnsupportedEncoding, detail))
        }
    }
}

/// Decompresses a body, within the same limit. Fails with `bad_request` for damaged input and `too_large`
/// beyond the limit. Blocks for as long as it takes.
fn unpacked(body: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut unpacked = Vec::new();
    // One byte more than the limit shows that the limit was exceeded.
    let mut packed = MultiGzDecoder::new(body).take(EXPORT_BYTES_MAX as u64 + 1);
    packed
        .read_to_end(&mut unpacked)
        .map_err(|error| Problem::bad_request(format!("the body is not gzip: {error}")))?;
    if unpacked.len() > EXPORT_BYTES_MAX { Err(too_large()) } else { Ok(unpacked) }
}

/// The problem for a body over the limit.
fn too_large() -> Problem {
    let detail =
        format!("the body is cut, or has more than {EXPORT_BYTES_MAX} bytes; export fewer spans at once");
    Problem::new(ErrorCode::TooLarge, detail)
}
