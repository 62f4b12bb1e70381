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
pub(crate) enum Keep {
    /// Nothing: once some of it was taken, there is no further attempt.
    Nothing,
    /// Everything, while it is short.
    Short,
}

/// An attempt to send a body, and the handle from which the next attempt is made. Attempts share the body;
/// only the newest reads it, an older one waits for ever.
#[derive(Debug)]
pub(crate) struct Replay<B> {
    whole: Arc<Mutex<Whole<B>>>,
    /// The number of this attempt; 0 for the handle.
    attempt: u32,
}

/// The body, shared by its attempts.
#[derive(Debug)]
struct Whole<B> {
    /// What the caller sends.
    body: B,
    /// The number of the attempt that may read, and what is kept of what it reads.
    attempt: u32,
    keep: Keep,
    /// Whether the attempt has read from the body.
    is_taken: bool,
    /// Whether the body has ended.
    is_over: bool,
    /// The pieces that were read in this attempt.
    kept: VecDeque<Piece>,
    /// The bytes of these pieces.
    kept_bytes: u64,
    /// The pieces of earlier attempts that are to be sent again.
    next: VecDeque<Piece>,
    /// Whether not everything that was read is kept.
    is_lost: bool,
}

impl<B> Whole<B> {
    /// Keeps a piece, or drops everything if the body is too long.
    fn keep(&mut self, piece: Piece) {
        if self.is_lost {
            return;
        }
        self.kept_bytes = self.kept_bytes.saturating_add(piece.len());
        self.kept.push_back(piece);
        let is_short = self.kept_bytes <= KEPT_BYTES_MAX && self.kept.len() <= PIECES_MAX;
        if self.keep == Keep::Nothing || !is_short {
            self.lose();
        }
    }

    /// Drops what is kept: there is no further attempt.
    fn lose(&mut self) {
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
        self.is_lost = true;
    }
}

/// A frame that can be copied.
#[derive(Debug, Clone)]
enum Piece {
    /// Bytes, shared with what is sent.
    Data(Bytes),
    /// Trailers, at the end.
    Trailers(Box<HeaderMap>),
}

impl Piece {
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

impl<B> Replay<B> {
    /// A body that can be sent again, as long as its beginning is kept.
    pub(crate) fn new(body: B) -> Self {
        let whole = Whole {
            body,
            attempt: 0,
            keep: Keep::Nothing,
            is_taken: false,
            is_over: false,
            kept: VecDeque::new(),
            kept_bytes: 0,
            next: VecDeque::new(),
            is_lost: false,
        };
        Self { whole: Arc::new(Mutex::new(whole)), attempt: 0 }
    }

    /// The body for another attempt, from its beginning. Earlier attempts get no more of it.
    pub(crate) fn attempt(&mut self, keep: Keep) -> Self {
        let mut whole = self.whole.lock();
        let rest = std::mem::take(&mut whole.next);
        whole.next = std::mem::take(&mut whole.kept);
        whole.next.extend(rest);
        whole.kept_bytes = 0;
        whole.attempt = whole.attempt.saturating_add(1);
        whole.keep = keep;
        whole.is_taken = false;
        Self { whole: Arc::clone(&self.whole), attempt: whole.attempt }
    }

    /// Notes that the answer has begun: there is no further attempt.
    pub(crate) fn answered(&self) {
        self.whole.lock().lose();
    }

    /// Whether everything that another attempt needs is kept.
    pub(crate) fn is_whole(&self) -> bool {
        !self.whole.lock().is_lost
    }

    /// Whether this attempt has read from the body. Over HTTP/2 the request has a place then.
    pub(crate) fn is_taken(&self) -> bool {
        self.whole.lock().is_taken
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Replay<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let whole = &mut *self.whole.lock();
        // The task that sends an abandoned attempt may not have ended yet.
        if whole.attempt != self.attempt {
            return Poll::Pending;
        }
        whole.is_taken = true;
        if let Some(piece) = whole.next.pop_front() {
            whole.keep(piece.clone());
            return Poll::Ready(Some(Ok(piece.frame())));
        }
        if whole.is_over {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut whole.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) if !whole.is_lost => {
                if let Some(piece) = Piece::of(frame) {
                    whole.keep(piece);
                }
            }
            Poll::Ready(None) => whole.is_over = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let whole = self.whole.lock();
        whole.next.is_empty() && (whole.is_over || whole.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let whole = self.whole.lock();
        let ahead = whole.next.iter().map(Piece::len).sum();
        let rest = if whole.is_over { SizeHint::with_exact(0) } else { whole.body.size_hint() };
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
