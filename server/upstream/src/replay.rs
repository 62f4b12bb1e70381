//! The body of a request that may have to be sent again: over HTTP/2 what was taken of it is kept as long as it is short and
//! its answer has not begun. Over HTTP/1.1 nothing is kept: a request of which something was sent is not sent again with a body.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::http::HeaderMap;
use parking_lot::Mutex;

/// Most bytes of a body that are kept.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// Most pieces of a body that are kept: each costs more than its bytes.
const PIECES_MAX: usize = 1_024;

/// What is kept of a body during one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: once some of it was taken there is no other attempt.
    Nothing,
    /// All of it, while it is short.
    Short,
}

/// One attempt to send a body, and the hold on it with which the next one can be made.
#[derive(Debug)]
pub(crate) struct Replay<B> {
    whole: Arc<Mutex<Whole<B>>>,
    attempt: u32,
}

#[derive(Debug)]
struct Whole<B> {
    body: B,
    /// The attempt that may take from it, and what is kept of what that takes.
    attempt: u32,
    keep: Keep,
    /// Some of it was asked for in this attempt.
    is_taken: bool,
    /// Nothing more comes of it.
    is_over: bool,
    /// What was taken of it.
    kept: VecDeque<Piece>,
    kept_bytes: u64,
    /// What of that is to be sent again.
    next: VecDeque<Piece>,
    /// Not all that was taken is kept.
    is_lost: bool,
}

impl<B> Whole<B> {
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

    fn lose(&mut self) {
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
        self.is_lost = true;
    }
}

/// A frame, as it can be had twice.
#[derive(Debug, Clone)]
enum Piece {
    Data(Bytes),
    Trailers(Box<HeaderMap>),
}

impl Piece {
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

    fn len(&self) -> u64 {
        match self {
            Self::Data(bytes) => bytes.len() as u64,
            Self::Trailers(_) => 0,
        }
    }
}

impl<B> Replay<B> {
    /// Keeps the beginning of `body`, so that it can be sent again.
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

    /// The body for one more attempt, from its beginning. What was given before gives nothing any more.
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

    /// The answer begins: there is no other attempt.
    pub(crate) fn answered(&self) {
        self.whole.lock().lose();
    }

    /// Whether there is all that another attempt needs.
    pub(crate) fn is_whole(&self) -> bool {
        !self.whole.lock().is_lost
    }

    /// Whether some of it was asked for in this attempt: over HTTP/2 the request has a place then.
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
        // What sends one that was given up may be about to end, and not have ended.
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
