//! Reads when an answer asks the client to return (RFC 9110, section 10.2.3).
//!
//! ```text
//! Retry-After-Ms: 1500                             some vendors, in milliseconds; comes first
//! Retry-After: 2                                   seconds, perhaps with a fraction
//! Retry-After: Wed, 25 Nov 2026 10:00:00 GMT       a date, compared with `Date`
//! ```

use std::time::{Duration, UNIX_EPOCH};

use httpdate::parse_http_date;
use hyper::http::HeaderMap;
use hyper::http::header::DATE;

/// The delay that an answer with these `headers` asks for, in milliseconds. `now_ms` is in milliseconds since
/// 1970; dates are compared with the answering server's clock if it sends one. `None` without such a header
/// or for a value that is none. It has no upper bound: callers decide how long they wait.
pub fn retry_after_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let ms = number("retry-after-ms").or_else(|| number("retry-after").map(|seconds| seconds * 1_000.0));
    let span = if let Some(ms) = ms {
        Duration::try_from_secs_f64(ms / 1_000.0).ok()?
    } else {
        let date = |name: &str| parse_http_date(text(name)?).ok();
        let now = date(DATE.as_str()).unwrap_or_else(|| UNIX_EPOCH + Duration::from_millis(now_ms));
        // A date in the past means now.
        date("retry-after")?.duration_since(now).unwrap_or_default()
    };
    u64::try_from(span.as_millis()).ok()
}

#[cfg(test)]
mod tests;
