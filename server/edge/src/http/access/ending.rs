//! Bodies that end when their sender or reader is no longer admitted.
//!
//! ```text
//! body ── frames ──▶ Ending ── frames ──▶ connection
//! Gate::over ── ready with a denial ──▶ the body is dropped; the last thing is an error, or an event `bye`
//! ```
//!
//! An error makes the server cut the connection, so that nobody takes a part for the whole.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use access::Denial;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use model::code::CloseCode;

/// Ready with the reason when the admission is over.
type Over = Pin<Box<dyn Future<Output = Denial> + Send>>;

/// Bodies of a known length up to this, in bytes, are passed on whole: they end by themselves soon.
const WHOLE_BYTES_MAX: u64 = 64 << 10;

/// A body, and what may end it early. The connection owns it; dropping it drops both, and with them whatever
/// the future holds.
pub(super) struct Ending {
    /// The body that is passed on; empty once it was cut off.
    body: Body,
    /// `None` for a small body, and after it has happened.
    over: Option<Over>,
    /// Whether the last event says why the stream ends.
    says_goodbye: bool,
    /// Whether the body was cut off, so that nothing more comes.
    is_over: bool,
}

impl Ending {
    /// Wraps `body`, which is cut off when `over` is ready. A body of at most [`WHOLE_BYTES_MAX`] bytes is
    /// never cut, and `over` is dropped at once.
    pub(super) fn wrap(body: Body, over: impl Future<Output = Denial> + Send + 'static) -> Self {
        let is_small = HttpBody::size_hint(&body).exact().is_some_and(|size| size <= WHOLE_BYTES_MAX);
        let is_there = body.is_end_stream() || is_small;
        let over = (!is_there).then(|| -> Over { Box::pin(over) });
        Self { body, over, says_goodbye: false, is_over: false }
    }

    /// Makes a stream of events end with an event that says why.
    pub(super) fn with_goodbye(self) -> Self {
        Self { says_goodbye: true, ..self }
    }

    /// Turns it into a body; the original one if nothing can end it early.
    pub(super) fn into_body(self) -> Body {
        if self.over.is_none() { self.body } else { Body::new(self) }
    }
}

impl From<Ending> for Body {
    fn from(ending: Ending) -> Self {
        ending.into_body()
    }
}

/// The error of a body that ends since its caller may no longer have it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BodyRevoked(Denial);

/// The last event of a stream: a `bye` with the close code and the reason.
fn goodbye(denial: Denial) -> Bytes {
    let code = CloseCode::Unauthenticated.number();
    let told = serde_json::json!({ "t": "bye", "code": code, "reconnect": false, "retry_ms": 0, "reason": denial.to_string() });
    Bytes::from(format!("event: bye\ndata: {told}\n\n"))
}

impl HttpBody for Ending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(over) = &mut self.over
            && let Poll::Ready(denial) = over.as_mut().poll(context)
        {
            self.over = None;
            self.is_over = true;
            // The inner body is dropped, and with it whatever produces it.
            self.body = Body::empty();
            let last = if self.says_goodbye {
                Ok(Frame::data(goodbye(denial)))
            } else {
                // An error, so that the reader does not take the part for the whole.
                Err(axum::Error::new(BodyRevoked(denial)))
            };
            return Poll::Ready(Some(last));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

/// Reads all of a body into memory.
#[cfg(test)]
async fn collected(body: Body) -> Result<Bytes, axum::Error> {
    use http_body_util::BodyExt as _;

    Ok(body.collect().await?.to_bytes())
}

#[cfg(test)]
mod tests {
    //! Tests of how bodies end.

    use std::convert::Infallible;
    use std::future::{pending, ready};

    use futures_util::stream;

    use super::*;

    fn endless() -> Body {
        Body::from_stream(stream::pending::<Result<Bytes, Infallible>>())
    }

    #[tokio::test]
    async fn a_body_that_is_not_over_passes_as_it_is() {
        let pieces = stream::iter(["a", "b"].map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
        let body = Ending::wrap(Body::from_stream(pieces), pending()).into_body();
        assert_eq!(collected(body).await.unwrap(), "ab");
        let whole = Ending::wrap(Body::from("whole"), ready(Denial::Expired)).into_body();
        assert_eq!(collected(whole).await.unwrap(), "whole", "what is there already is not cut");
    }

    #[tokio::test]
    async fn a_stream_is_cut_when_its_reader_is_not_let_in_any_more() {
        let cut = collected(Ending::wrap(endless(), ready(Denial::Expired)).into_body()).await.unwrap_err();
        assert!(cut.to_string().contains("expired"), "{cut}");
    }

    #[tokio::test]
    async fn events_end_with_one_that_says_why() {
        let body = Ending::wrap(endless(), ready(Denial::Unknown)).with_goodbye().into_body();
        let said = collected(body).await.unwrap();
        let said = String::from_utf8(said.to_vec()).unwrap();
        assert!(said.starts_with("event: bye\ndata: {") && said.ends_with("}\n\n"), "{said}");
        assert!(said.contains("4401") && said.contains("\"reconnect\":false"), "{said}");
    }
}
