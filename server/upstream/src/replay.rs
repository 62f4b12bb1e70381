//! The body of a request that may have to be sent again. Over HTTP/2 the taken part is kept while it is short
//! and the answer has not begun. Over HTTP/1.1 nothing is kept: a request with a body is not sent again once
//! some of it was sent.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::http::HeaderMap;
use parking_lot::Mutex;

/// The most bytes of a body that are kept.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// The most pieces of a body that are kept: each costs more than its bytes.
const PIECES_MAX: usize = 1_024;

/// What is kept of a body during an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffering {
    /// Nothing: once some of it was taken, there is no further attempt.
    Nothing,
    /// Everything, while it is short.
    Short,
}

/// An attempt to send a body, and the handle from which the next attempt is made. Attempts share the body;
/// only the newest reads it, an older one waits for ever.
#[derive(Debug)]
pub(crate) struct ReplayBody<B> {
    shared: Arc<Mutex<SharedBody<B>>>,
    /// The number of this attempt; 0 for the handle.
    attempt: u32,
}

/// The body, shared by its attempts.
#[derive(Debug)]
struct SharedBody<B> {
    /// What the caller sends.
    body: B,
    /// The number of the attempt that may read, and what is kept of what it reads.
    attempt: u32,
    buffering: Buffering,
    /// Whether the attempt has read from the body.
    is_read: bool,
    /// Whether the body has ended.
    is_over: bool,
    /// The pieces that were read in this attempt.
    kept: VecDeque<BodyFrame>,
    /// The bytes of these pieces.
    kept_bytes: u64,
    /// The pieces of earlier attempts that are to be sent again.
    next: VecDeque<BodyFrame>,
    /// Whether not everything that was read is kept.
    is_lost: bool,
}

impl<B> SharedBody<B> {
    /// Keeps a piece, or drops everything if the body is too long.
    fn keep(&mut self, frame_copy: BodyFrame) {
        if self.is_lost {
            return;
        }
        self.kept_bytes = self.kept_bytes.saturating_add(frame_copy.len());
        self.kept.push_back(frame_copy);
        let is_short = self.kept_bytes <= KEPT_BYTES_MAX && self.kept.len() <= PIECES_MAX;
        if self.buffering == Buffering::Nothing || !is_short {
            self.discard();
        }
    }

    /// Drops what is kept: there is no further attempt.
    fn discard(&mut self) {
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
        self.is_lost = true;
    }
}

/// A frame that can be copied.
#[derive(Debug, Clone)]
enum BodyFrame {
    /// Bytes, shared with what is sent.
    Data(Bytes),
    /// Trailers, at the end.
    Trailers(Box<HeaderMap>),
}

impl BodyFrame {
    /// A copy of `frame`; `None` for a kind of frame that HTTP does not have now.
    fn of(frame: &Frame<Bytes>) -> Option<Self> {
        let data = frame.data_ref().cloned().map(Self::Data);
        data.or_else(|| frame.trailers_ref().cloned().map(Box::new).map(Self::Trailers))
    }

    fn frame(self) -> Frame<Bytes> {
        match self {
            Self::Data(bytes) => Frame::data(bytes),
            Self::Trailers(trailers) => Frame::trailers(*trailers),
        }
    }

    /// How many bytes of the body it has.
    fn len(&self) -> u64 {
        match self {
            Self::Data(bytes) => bytes.len() as u64,
            Self::Trailers(_) => 0,
        }
    }
}

impl<B> ReplayBody<B> {
    /// A body that can be sent again, as long as its beginning is kept.
    pub(crate) fn new(body: B) -> Self {
        let shared = SharedBody {
            body,
            attempt: 0,
            buffering: Buffering::Nothing,
            is_read: false,
            is_over: false,
            kept: VecDeque::new(),
            kept_bytes: 0,
            next: VecDeque::new(),
            is_lost: false,
        };
        Self { shared: Arc::new(Mutex::new(shared)), attempt: 0 }
    }

    /// The body for another attempt, from its beginning. Earlier attempts get no more of it.
    pub(crate) fn attempt(&mut self, buffering: Buffering) -> Self {
        let mut shared = self.shared.lock();
        let rest = std::mem::take(&mut shared.next);
        shared.next = std::mem::take(&mut shared.kept);
        shared.next.extend(rest);
        shared.kept_bytes = 0;
        shared.attempt = shared.attempt.saturating_add(1);
        shared.buffering = buffering;
        shared.is_read = false;
        Self { shared: Arc::clone(&self.shared), attempt: shared.attempt }
    }

    /// Notes that the answer has begun: there is no further attempt.
    pub(crate) fn answered(&self) {
        self.shared.lock().discard();
    }

    /// Whether everything that another attempt needs is kept.
    pub(crate) fn is_repeatable(&self) -> bool {
        !self.shared.lock().is_lost
    }

    /// Whether this attempt has read from the body. Over HTTP/2 the request has a place then.
    pub(crate) fn is_read(&self) -> bool {
        self.shared.lock().is_read
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ReplayBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let shared = &mut *self.shared.lock();
        // The task that sends an abandoned attempt may not have ended yet.
        if shared.attempt != self.attempt {
            return Poll::Pending;
        }
        shared.is_read = true;
        if let Some(frame_copy) = shared.next.pop_front() {
            shared.keep(frame_copy.clone());
            return Poll::Ready(Some(Ok(frame_copy.frame())));
        }
        if shared.is_over {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut shared.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) if !shared.is_lost => {
                if let Some(frame_copy) = BodyFrame::of(frame) {
                    shared.keep(frame_copy);
                }
            }
            Poll::Ready(None) => shared.is_over = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let shared = self.shared.lock();
        shared.next.is_empty() && (shared.is_over || shared.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let shared = self.shared.lock();
        let ahead = shared.next.iter().map(BodyFrame::len).sum();
        let rest = if shared.is_over { SizeHint::with_exact(0) } else { shared.body.size_hint() };
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(ahead));
        }
        hint.set_lower(rest.lower().saturating_add(ahead));
        hint
    }
}

#[cfg(test)]
mod tests;
