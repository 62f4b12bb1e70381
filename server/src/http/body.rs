//! Bodies of requests that are read as a whole: within a number of bytes, and as long as bytes come.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use http_body_util::BodyExt as _;
use shared::code::ErrorCode;
use shared::limits::BODY_IDLE_MS;

use super::params;
use super::problem::Problem;
use super::spool::Spool;
use crate::log::blocking;
use crate::work::Work;

/// How long a body may bring nothing.
pub(crate) const IDLE: Duration = Duration::from_millis(BODY_IDLE_MS);

/// How long, and how much, a body that is over its limit is still read and thrown away. A client that writes all of its body
/// before it reads gets the answer so, and not a connection that was reset.
const DISCARD: Duration = Duration::from_secs(2);

/// See [`DISCARD`], in bytes.
const DISCARD_BYTES_MAX: usize = 64 << 20;

/// Room that is made at once for what a request says that it will send.
const ROOM_BYTES_MAX: u64 = 1 << 20;

/// The body of `request`, which must not be compressed.
pub(crate) async fn plain(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    params::plain(request.headers())?;
    whole(request.into_body(), bytes_max).await
}

/// The body of `request`, which must not be compressed, in a file where it is large: who sends slowly holds no memory.
pub(super) async fn spooled(request: Request, bytes_max: usize, work: &Arc<Work>) -> Result<Spool, Problem> {
    params::plain(request.headers())?;
    let mut spool = Spool::new(Arc::clone(work));
    taken(request.into_body(), bytes_max, |bytes| Ok(blocking(|| spool.write_all(bytes))?)).await?;
    spool.rewound()
}

/// All of `body`, in memory. A body over the limit, one that breaks off and one that brings nothing for too long are told apart.
pub(crate) async fn whole(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let announced = body.size_hint().lower();
    let mut whole = Vec::with_capacity(usize::try_from(announced.min(ROOM_BYTES_MAX)).unwrap_or(0));
    let keep = |bytes: &[u8]| {
        whole.extend_from_slice(bytes);
        Ok(())
    };
    taken(body, bytes_max, keep).await?;
    Ok(Bytes::from(whole))
}

/// Gives all of `body` to `keep`, as it comes.
async fn taken(
    mut body: Body,
    bytes_max: usize,
    mut keep: impl FnMut(&[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(body, bytes_max).await);
    }
    let mut count = 0_usize;
    loop {
        let Ok(frame) = tokio::time::timeout(IDLE, body.frame()).await else { return Err(idle()) };
        let Some(frame) = frame else { return Ok(()) };
        let bytes = frame.map_err(|error| broken(&error))?.into_data().unwrap_or_default();
        count = count.saturating_add(bytes.len());
        if count > bytes_max {
            return Err(too_large(body, bytes_max).await);
        }
        keep(&bytes)?;
    }
}

/// The body has more than `bytes_max` bytes. What is left of it is read and thrown away, within [`DISCARD`].
async fn too_large(mut body: Body, bytes_max: usize) -> Problem {
    let discard = async {
        let mut bytes = 0_usize;
        while bytes < DISCARD_BYTES_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            bytes = bytes.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        }
    };
    // Whoever is slower than that may miss the answer, and nothing else.
    drop(tokio::time::timeout(DISCARD, discard).await);
    Problem::new(ErrorCode::TooLarge, format!("the body has more than {bytes_max} bytes"))
}

/// The body broke off.
pub(crate) fn broken(error: &axum::Error) -> Problem {
    Problem::bad_request(format!("the body stopped half-way: {error}"))
}

/// The body brings nothing.
pub(crate) fn idle() -> Problem {
    Problem::new(ErrorCode::BodyTimeout, format!("no byte of the body came for {} s", IDLE.as_secs()))
}

#[cfg(test)]
mod tests;
