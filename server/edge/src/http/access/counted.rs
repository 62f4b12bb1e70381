//! Bodies whose bytes are counted for their principal and address, in lumps.
//!
//! ```text
//! body ── frames ──▶ CountedBody ── frames ──▶ handler, or connection
//!                        └─ every 64 KiB, and at the end ──▶ Traffic: do they owe?
//! ```
//!
//! A body that comes in waits when they owe, so that its sender becomes slower. One that goes out goes on: what has begun is finished,
//! and the next request is refused.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::access::{CountedFor, Traffic};

/// So many bytes are counted at once.
const LUMP_BYTES: u64 = 64 << 10;

/// The longest wait between two frames of a body that comes in: shorter than handlers wait for a byte ([`model::limits::BODY_IDLE_MS`]).
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What becomes of a body whose principal or address owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverQuotaBody {
    /// The body waits.
    Waits,
    /// The body goes on.
    GoesOn,
}

/// A body, and whose it is. The connection or the handler owns it; when it is dropped the rest is counted.
#[derive(Debug)]
struct CountedBody {
    body: Body,
    traffic: Arc<Traffic>,
    whose: CountedFor,
    owing: OverQuotaBody,
    /// Bytes that passed and are not counted yet.
    uncounted: u64,
    /// The wait that goes on.
    wait: Option<Pin<Box<Sleep>>>,
}

/// `body`, which is counted in `traffic` as it passes. What is small and whole is counted at once.
pub(super) fn counted(body: Body, traffic: &Arc<Traffic>, whose: CountedFor, owing: OverQuotaBody) -> Body {
    match HttpBody::size_hint(&body).exact() {
        Some(0) => body,
        Some(bytes) if bytes <= LUMP_BYTES => {
            traffic.count(&whose, bytes);
            body
        }
        _ => Body::new(CountedBody {
            body,
            traffic: Arc::clone(traffic),
            whose,
            owing,
            uncounted: 0,
            wait: None,
        }),
    }
}

impl CountedBody {
    /// Counts what passed since the last time.
    fn count(&mut self) {
        let owed = self.traffic.count(&self.whose, std::mem::take(&mut self.uncounted));
        if self.owing == OverQuotaBody::Waits && !owed.is_zero() {
            let owed = self.traffic.owes(&self.whose);
            self.wait = owed.map(|(owed, _)| Box::pin(sleep(owed.min(WAIT_MAX))));
        }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        self.uncounted += data.map_or(0, |data| data.len() as u64);
        if self.uncounted >= LUMP_BYTES {
            self.count();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        if self.uncounted > 0 {
            self.traffic.count(&self.whose, self.uncounted);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is counted, and who waits.

    use std::convert::Infallible;

    use access::Quotas;
    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use tokio::time::Instant;

    use super::*;
    use crate::access::Counted;

    fn traffic() -> Arc<Traffic> {
        Counted::new(Quotas { received_mib_per_minute: 1, ..Quotas::default() }).received
    }

    /// A principal whose address is not known.
    fn whose(principal: &str) -> CountedFor {
        CountedFor::new(Some(principal), None)
    }

    /// A body of so many pieces of 64 KiB.
    fn pieces(count: usize) -> Body {
        let piece = || Ok::<_, Infallible>(Bytes::from(vec![b'x'; 64 << 10]));
        Body::from_stream(stream::iter((0..count).map(move |_| piece())))
    }

    /// Reads all of a body; gives its length.
    async fn read(body: Body) -> usize {
        body.collect().await.unwrap().to_bytes().len()
    }

    #[tokio::test(start_paused = true)]
    async fn i7_a_body_over_the_quota_waits_and_another_principal_s_does_not() {
        let (traffic, began) = (traffic(), Instant::now());
        let of = |count: usize, who: &str| counted(pieces(count), &traffic, whose(who), OverQuotaBody::Waits);
        assert_eq!(read(of(16, "ann")).await, 1 << 20);
        assert_eq!(began.elapsed(), Duration::ZERO, "a minute's worth");
        // Three sixteenths of a minute.
        assert_eq!(read(of(3, "ann")).await, 3 << 16);
        let slow = began.elapsed();
        assert!(slow > Duration::from_secs(11) && slow < Duration::from_secs(12), "{slow:?}");
        assert_eq!(read(of(16, "bob")).await, 1 << 20);
        assert_eq!(began.elapsed(), slow, "others are not slowed down");
        assert!(traffic.totals().0 == (35 << 16) && traffic.totals().1 > 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_out_goes_on_and_is_counted_to_its_last_byte() {
        let (traffic, began) = (traffic(), Instant::now());
        let body = counted(pieces(40), &traffic, whose("ann"), OverQuotaBody::GoesOn);
        assert_eq!(read(body).await, 40 << 16);
        assert_eq!((began.elapsed(), traffic.totals().0), (Duration::ZERO, 40 << 16));
        assert!(traffic.owes(&whose("ann")).is_some() && traffic.owes(&whose("bob")).is_none());
        let small = counted(Body::from("small"), &traffic, whose("bob"), OverQuotaBody::GoesOn);
        assert_eq!((read(small).await, traffic.totals().0), (5, (40 << 16) + 5));
        drop(counted(pieces(1), &traffic, whose("bob"), OverQuotaBody::GoesOn));
        assert_eq!(traffic.totals().0, (40 << 16) + 5, "what did not pass does not count");
    }
}
