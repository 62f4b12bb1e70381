//! OTLP: reads the body of an export (`ExportTraceServiceRequest`) in its two encodings, and writes the
//! answer to it.
//!
//! Both readers accept any bytes: a body that is no export is refused as a whole, a damaged span is rejected
//! alone and counted.

use serde_json::json;

use super::FinishedSpan;
use model::limits::{NAME_BYTES_MAX, SPAN_ATTRIBUTES_MAX, SPANS_PER_EXPORT_MAX};

mod json_form;
mod protobuf;

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpEncoding {
    /// Protocol buffers, `application/x-protobuf`.
    Protobuf,
    /// JSON, `application/json`.
    Json,
}

/// The content of a body.
#[derive(Debug, Default, PartialEq)]
pub struct OtlpExport {
    /// The spans of the body that have ended.
    pub spans: Vec<FinishedSpan>,
    /// The number of spans that were rejected.
    pub rejected: u64,
    /// The reason for the first rejection; empty if there is none.
    pub message: String,
}

/// The body is not an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is no ExportTraceServiceRequest: {0}")]
pub struct OtlpError(String);

/// Reads `body`. Fails if it is not an export; damaged spans are only counted.
pub fn read(encoding: OtlpEncoding, body: &[u8]) -> Result<OtlpExport, OtlpError> {
    match encoding {
        OtlpEncoding::Protobuf => protobuf::read(body),
        OtlpEncoding::Json => json_form::read(body),
    }
}

/// The answer (`ExportTraceServiceResponse`) to an export of which `rejected` spans were not taken, in the
/// encoding of the export.
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
    /// Adds a span, unless it is damaged or over a limit: then it is rejected.
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

    /// Counts a rejected span. The first reason is kept.
    fn reject(&mut self, why: &str) {
        self.rejected = self.rejected.saturating_add(1);
        if self.message.is_empty() {
            why.clone_into(&mut self.message);
        }
    }
}

/// The name of a program or of an instrumentation, cut if it is long. Each span gets a copy of it, so that a
/// body with a long name and many spans would take much memory.
fn name(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME_BYTES_MAX)).unwrap_or_default()
}

/// An id of `N` bytes; all zero if the length differs.
fn id<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
