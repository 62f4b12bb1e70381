//! `GET /v1/conversations/{c}/results/{hash}`: the whole of a result that was too large for its event. The
//! event has the beginning of it and a `ref` with this hash.

use std::io::Write as _;
use std::sync::Arc;

use access::Denial;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;

use super::conversations::find;
use super::spool::{Spool, turn};
use crate::inbound::caller::Caller;
use crate::inbound::params::Path;
use crate::inbound::problem::Problem;
use crate::work::Task;
use crate::work::Work;
use hub::Hub;

/// Caching: a hash never stands for other contents. The result may contain secrets, so only the reader's own
/// browser may keep it.
const CACHE: &str = "private, max-age=31536000, immutable";

/// Answers with the result that has this hash, as JSON. 304 if the client has it, 400 for what is no hash,
/// 403 if the caller's role hides the result or there is none, 404 for an unknown conversation, 410 if the
/// log does not have it.
pub(crate) async fn result(
    State(hub): State<Arc<Hub>>,
    State(work): State<Arc<Work>>,
    caller: Caller,
    Path((name, hash)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let conversation = find(&hub, &work, &name).await?;
    // In older logs hashes have 16 digits.
    if !matches!(hash.len(), 16 | 32) || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Problem::bad_request(format!(
            "{hash:?} is not a hash: it has 32 hex digits, or 16 in older logs"
        )));
    }
    // In the same words whether or not there is such a result.
    if let Some(mask) = caller.mask()
        && !conversation.read_view(|view| mask.shows_result(view, &hash))
    {
        return Err(Denial::Hidden.into());
    }
    let tag = format!("\"{hash}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|it| it.trim().trim_start_matches("W/") == tag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let turn = turn(&work, Task::Small).await?;
    let Some(json) = hub.whole_result(&conversation, &hash).await? else {
        let detail = format!("the log has no result {hash} of {name:?}; it may have kept less than was said");
        return Err(Problem::new(ErrorCode::Gone, detail));
    };
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CACHE_CONTROL, CACHE.to_owned()),
        (header::ETAG, tag),
    ];
    let make = move |spool: &mut Spool| Ok(spool.write_all(json.as_bytes())?);
    let ((), body) = turn.spooled(make).await?;
    Ok((headers, body).into_response())
}
