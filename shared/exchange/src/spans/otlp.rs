//! OTLP: the body of an export (`ExportTraceServiceRequest`) in its two encodings, and the answer to it.
//!
//! Both readers are total: a body that is none is refused as a whole, a span that is none is rejected alone and counted.

use serde_json::json;

use super::FinishedSpan;
use model::limits::{NAME_BYTES_MAX, SPAN_ATTRIBUTES_MAX, SPANS_PER_EXPORT_MAX};

mod json_form;
mod protobuf;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpEncoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// What a body holds.
#[derive(Debug, Default, PartialEq)]
pub struct OtlpExport {
    /// The spans.
    pub spans: Vec<FinishedSpan>,
    /// Spans that were not taken.
    pub rejected: u64,
    /// Why not, or what else was odd; empty when all is well.
    pub message: String,
}

/// A body that is no export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is no ExportTraceServiceRequest: {0}")]
pub struct OtlpError(String);

/// What `body` holds.
pub fn read(encoding: OtlpEncoding, body: &[u8]) -> Result<OtlpExport, OtlpError> {
    match encoding {
        OtlpEncoding::Protobuf => protobuf::read(body),
        OtlpEncoding::Json => json_form::read(body),
    }
}

/// The answer (`ExportTraceServiceResponse`) to an export of which `rejected` spans were not taken.
pub fn answer(encoding: OtlpEncoding, rejected: u64, message: &str) -> Vec<u8> {
    match encoding {
        OtlpEncoding::Protobuf => protobuf::answer(rejected, message),
        OtlpEncoding::Json if rejected == 0 && message.is_empty() => b"{}".to_vec(),
        OtlpEncoding::Json => {
            json!({"partialSuccess": {"rejectedSpans": rejected.to_string(), "errorMessage": message}})
                .to_string()
                .into_bytes()
        }
    }
}

impl OtlpExport {
    /// Adds a span that was read, if it is one and there is room.
    fn add(&mut self, span: Result<FinishedSpan, &'static str>) {
        match span {
            Err(why) => self.reject(why),
            Ok(span) if span.trace == [0; 16] || span.id == [0; 8] => self.reject("a span without ids"),
            Ok(_) if self.spans.len() >= SPANS_PER_EXPORT_MAX => {
                self.reject("more spans in one export than the limit");
            }
            Ok(mut span) => {
                span.parent = span.parent.filter(|parent| *parent != [0; 8] && *parent != span.id);
                if span.attributes.len() > SPAN_ATTRIBUTES_MAX {
                    return self.reject("more attributes on one span than the limit");
                }
                self.spans.push(span);
            }
        }
    }

    /// One more span is not taken; the first reason is told.
    fn reject(&mut self, why: &str) {
        self.rejected = self.rejected.saturating_add(1);
        if self.message.is_empty() {
            why.clone_into(&mut self.message);
        }
    }
}

/// The name of a program or of an instrumentation, which each of its spans is given: the rest of a long one is cut, so that a
/// body does not become as many copies of it as it has spans.
fn name(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME_BYTES_MAX)).unwrap_or_default()
}

/// An id of `N` bytes; all zero when it has another length.
fn id<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
