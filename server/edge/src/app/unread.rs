//! Tells a client of HTTP/1.1 when its connection ends with an answer: a request that is answered before its
//! body has ended leaves bytes on the connection that nobody will read, so the server closes it. Without
//! `Connection: close` (RFC 9112, 9.6) the client may send its next request on it, and lose that request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::{Frame, SizeHint};

/// Whether the body of one request was read to its end.
#[derive(Debug)]
pub(super) struct BodyEnd(Option<Arc<AtomicBool>>);

impl BodyEnd {
    /// Watches the body of `request`. A request without a body costs nothing.
    pub(super) fn watch<B>(request: Request<B>) -> (Request<Body>, Self)
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        if request.body().is_end_stream() {
            return (request.map(Body::new), Self(None));
        }
        let ended = Arc::new(AtomicBool::new(false));
        let watched = request.map(|body| Body::new(Watched { body, ended: Arc::clone(&ended) }));
        (watched, Self(Some(ended)))
    }

    /// Adds `Connection: close` to an answer that comes before the end of the body. A change of protocols is
    /// left as it is.
    pub(super) fn tell<B>(&self, mut response: Response<B>) -> Response<B> {
        let is_left = self.0.as_ref().is_some_and(|ended| !ended.load(Ordering::Acquire));
        if is_left && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A body that notes when it was read to its end.
struct Watched<B> {
    body: B,
    ended: Arc<AtomicBool>,
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    //! Tests which answers say that the connection ends.

    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    fn says_close(end: &BodyEnd, status: StatusCode) -> bool {
        let mut response = Response::new(());
        *response.status_mut() = status;
        end.tell(response).headers().get(header::CONNECTION).is_some()
    }

    #[tokio::test]
    async fn an_answer_before_the_end_of_the_body_says_that_the_connection_ends() {
        let pieces = stream::iter(["a", "b"].map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
        let (request, end) = BodyEnd::watch(Request::new(Body::from_stream(pieces)));
        let mut body = request.into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
        assert!(says_close(&end, StatusCode::UNAUTHORIZED));
        assert!(!says_close(&end, StatusCode::SWITCHING_PROTOCOLS));
        body.collect().await.unwrap();
        assert!(!says_close(&end, StatusCode::OK), "all was read");
    }

    #[tokio::test]
    async fn a_request_without_a_body_leaves_the_connection_open() {
        let (_request, end) = BodyEnd::watch(Request::new(Body::empty()));
        assert!(!says_close(&end, StatusCode::NOT_FOUND));
    }

    #[tokio::test]
    async fn a_body_of_a_known_length_ends_with_its_last_byte() {
        let (request, end) = BodyEnd::watch(Request::new(Body::from("whole")));
        let mut body = request.into_body();
        assert!(says_close(&end, StatusCode::OK));
        body.frame().await.unwrap().unwrap();
        assert!(!says_close(&end, StatusCode::OK));
    }
}
