//! The body of a request that may have to be sent again: keeps what was taken of it, over HTTP/1.1 as long as nothing of
//! the request is written, over HTTP/2 as long as it is short.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::http::{Extensions, HeaderMap};
use hyper_util::client::legacy::connect::CaptureConnection;
use parking_lot::Mutex;

use crate::link::LinkState;

/// Most bytes of a body that are kept of a request over HTTP/2, until its answer begins.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// Most pieces of a body that are kept: each costs more than its bytes.
const PIECES_MAX: usize = 1_024;

/// One attempt to send a body, and the hold on it with which the next one can be made.
#[derive(Debug)]
pub(crate) struct Again<B> {
    whole: Arc<Mutex<Whole<B>>>,
    attempt: Arc<Attempt>,
}

#[derive(Debug)]
struct Whole<B> {
    body: B,
    /// Who may take from it.
    attempt: Arc<Attempt>,
    /// Nothing more comes of it.
    is_over: bool,
    /// What was taken of it.
    kept: VecDeque<ReplayedFrame>,
    kept_bytes: u64,
    /// What of that is to be sent again.
    next: VecDeque<ReplayedFrame>,
    /// Not all that was taken is kept.
    is_lost: bool,
}

impl<B> Whole<B> {
    fn keep(&mut self, piece: ReplayedFrame, bytes_max: u64) {
        self.kept_bytes = self.kept_bytes.saturating_add(piece.len());
        self.kept.push_back(piece);
        if self.kept_bytes > bytes_max || self.kept.len() > PIECES_MAX {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
        self.is_lost = true;
    }
}

/// What becomes of one request over one connection.
#[derive(Debug, Default)]
struct Attempt {
    captured: Mutex<Option<CaptureConnection>>,
    standing: Mutex<Option<Arc<LinkState>>>,
    /// Its connection has turned to it.
    is_begun: AtomicBool,
    /// Its body is wanted, or there is none.
    is_taken: AtomicBool,
}

/// A frame, as it can be had twice.
#[derive(Debug, Clone)]
enum ReplayedFrame {
    Data(Bytes),
    Trailers(Box<HeaderMap>),
}

impl ReplayedFrame {
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

impl<B> Again<B> {
    /// Keeps the beginning of `body`, so that it can be sent again.
    pub(crate) fn new(body: B) -> Self {
        let attempt = Arc::<Attempt>::default();
        let whole = Whole {
            body,
            attempt: Arc::clone(&attempt),
            is_over: false,
            kept: VecDeque::new(),
            kept_bytes: 0,
            next: VecDeque::new(),
            is_lost: false,
        };
        Self { whole: Arc::new(Mutex::new(whole)), attempt }
    }

    /// The body for one more attempt, from its beginning. What was given before gives nothing any more.
    pub(crate) fn attempt(&mut self) -> Self {
        let mut whole = self.whole.lock();
        let rest = std::mem::take(&mut whole.next);
        whole.next = std::mem::take(&mut whole.kept);
        whole.next.extend(rest);
        whole.kept_bytes = 0;
        self.attempt = Arc::default();
        whole.attempt = Arc::clone(&self.attempt);
        drop(whole);
        Self { whole: Arc::clone(&self.whole), attempt: Arc::clone(&self.attempt) }
    }

    /// This attempt is made over the connection that will be `captured`.
    pub(crate) fn over(&self, captured: CaptureConnection) {
        *self.attempt.captured.lock() = Some(captured);
    }

    /// The answer begins: there is no other attempt.
    pub(crate) fn answered(&self) {
        self.whole.lock().lose();
    }

    /// Whether there is all that another attempt needs.
    pub(crate) fn is_whole(&self) -> bool {
        !self.whole.lock().is_lost
    }

    /// Whether the upstream takes this attempt: it has a connection, and on it a place.
    pub(crate) fn is_taken(&self) -> bool {
        self.attempt.is_taken.load(Ordering::Relaxed)
    }

    /// Whether the connection of this attempt lets no call through.
    pub(crate) fn is_shut(&self) -> bool {
        self.attempt.standing.lock().as_ref().is_some_and(|standing| standing.is_shut())
    }
}

impl Attempt {
    /// The connection has turned to this request, and writes nothing of it before this returns.
    fn begin(&self) {
        if self.is_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(captured) = self.captured.lock().take() else { return };
        let mut extras = Extensions::new();
        if let Some(connected) = captured.connection_metadata().as_ref() {
            connected.get_extras(&mut extras);
        }
        let standing = extras.remove::<Arc<LinkState>>();
        if let Some(standing) = &standing {
            standing.begin();
        }
        *self.standing.lock() = standing;
    }

    /// How many bytes of the body are kept.
    fn keeps(&self) -> u64 {
        match self.standing.lock().as_ref().filter(|standing| !standing.is_shared()) {
            // It hands over no more than it can write at once.
            Some(standing) if standing.is_unwritten() => u64::MAX,
            Some(_written) => 0,
            None => KEPT_BYTES_MAX,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Again<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.attempt.is_taken.store(true, Ordering::Relaxed);
        let whole = &mut *self.whole.lock();
        // What sends one that was given up may be about to end, and not have ended.
        if !Arc::ptr_eq(&whole.attempt, &self.attempt) {
            return Poll::Pending;
        }
        let keeps = self.attempt.keeps();
        if keeps == 0 {
            whole.lose();
        }
        if let Some(piece) = whole.next.pop_front() {
            if !whole.is_lost {
                whole.keep(piece.clone(), keeps);
            }
            return Poll::Ready(Some(Ok(piece.frame())));
        }
        if whole.is_over {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut whole.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) if !whole.is_lost => {
                if let Some(piece) = ReplayedFrame::of(frame) {
                    whole.keep(piece, keeps);
                }
            }
            Poll::Ready(None) => whole.is_over = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        // What sends it asks this first, before it writes anything of the request.
        self.attempt.begin();
        let whole = self.whole.lock();
        let is_over = whole.next.is_empty() && (whole.is_over || whole.body.is_end_stream());
        if is_over {
            self.attempt.is_taken.store(true, Ordering::Relaxed);
        }
        is_over
    }

    fn size_hint(&self) -> SizeHint {
        let whole = self.whole.lock();
        let ahead = whole.next.iter().map(ReplayedFrame::len).sum();
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
