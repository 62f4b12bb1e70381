//! Bodies that pass through, with a copy for the tape. Frames go on as they came: data, trailers, and the
//! error of a body that broke off (I12). Nothing is read ahead of the receiver, so a slow reader slows the
//! sender down.
//!
//! The copy shares the bytes and is never waited for; what the tape has no room for is missing in the
//! recording alone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue};
use hyper::body::{Frame, SizeHint};
use upstream::ResponseBody;

use super::headers::strike_trailers;
use super::lent::KeyMask;
use super::tape::{End, RequestState, Tape};
use crate::inbound::patience::ConnectionInfo;

/// The error of a body.
type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request on its way to the upstream. Dropping it before its end tells the tape that the rest
/// was not sent.
#[derive(Debug)]
pub(super) struct RequestBody {
    /// The body as the caller sends it.
    body: Body,
    /// Where the copy goes; `None` for calls that are not recorded.
    tape: Option<Arc<Tape>>,
}

impl RequestBody {
    /// Wraps `body`, which is copied to `tape` if there is one.
    pub(super) fn new(body: Body, tape: Option<Arc<Tape>>) -> Self {
        let asking = Self { body, tape };
        if asking.body.is_end_stream() {
            asking.over(RequestState::Whole);
        }
        asking
    }

    /// Tells the tape how the request ended.
    fn over(&self, how: RequestState) {
        if let Some(tape) = &self.tape {
            tape.asked(how);
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut polled = Pin::new(&mut self.body).poll_frame(context);
        match &mut polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(trailers) = frame.trailers_mut() {
                    strike_trailers(trailers);
                }
                if let (Some(tape), Some(bytes)) = (&self.tape, frame.data_ref()) {
                    tape.ask(bytes);
                }
                if self.body.is_end_stream() {
                    self.over(RequestState::Whole);
                }
            }
            Poll::Ready(None) => self.over(RequestState::Whole),
            Poll::Ready(Some(Err(_))) => self.over(RequestState::Broken),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // Has no effect after the end, which was told before. Otherwise the upstream did not want the rest.
        self.over(RequestState::Broken);
    }
}

/// The body of an answer on its way to the caller. Dropping it before its end tells the tape that the caller
/// hung up.
#[derive(Debug)]
pub(super) struct AnswerBody {
    /// The body as the upstream sends it.
    body: ResponseBody,
    /// Where the copy goes; `None` for calls that are not recorded.
    tape: Option<Recorded>,
    /// The caller's connection, which is lenient as long as this lives.
    line: Option<Arc<ConnectionInfo>>,
    /// Keeps the hub's key out of the body; `None` if the caller's own was sent.
    mask: Option<KeyMask>,
    /// Set once the upstream's body broke off and the caller is to learn of it.
    cut: Option<DeferredBodyError>,
}

/// An error of the upstream's body that the caller gets once it has everything before it.
#[derive(Debug)]
struct DeferredBodyError {
    error: hyper::Error,
    /// How often everything had been written out when it was last looked.
    flushes: u64,
    /// How many empty frames are still to be sent behind the bytes, so that a stream of HTTP/2 is written out again.
    markers: u8,
}

/// Empty frames behind an answer that breaks off over HTTP/2. A flush that ends after the first may have begun before the last bytes
/// were given to the connection; one that ends after the second has not.
const MARKERS: u8 = 2;

/// A tape that always learns of the end of its call: dropping this tells it that the caller hung up, unless
/// another end was told before.
#[derive(Debug)]
pub(super) struct Recorded(Arc<Tape>);

impl Recorded {
    /// Wraps the tape of a call.
    pub(super) fn new(tape: Arc<Tape>) -> Self {
        Self(tape)
    }

    /// The tape of the call.
    pub(super) fn tape(&self) -> Arc<Tape> {
        Arc::clone(&self.0)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // Has no effect if another end was told before.
        self.0.end(End::HungUp);
    }
}

impl AnswerBody {
    /// Wraps `body`, which is copied to `tape` if there is one. `line` is the caller's connection.
    pub(super) fn new(body: ResponseBody, tape: Option<Recorded>, line: Option<Arc<ConnectionInfo>>) -> Self {
        let answering = Self { body, tape, line, mask: None, cut: None };
        if answering.body.is_end_stream() {
            answering.over(End::Whole);
        }
        answering
    }

    /// Hides the key that was `lent`: its bytes become stars.
    pub(super) fn masked(mut self, lent: Option<&HeaderValue>) -> Self {
        self.mask = lent.map(KeyMask::new);
        self
    }

    /// A piece of the body as the caller gets it.
    fn shown(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let is_last = self.body.is_end_stream();
        let Some(mask) = &mut self.mask else { return frame };
        match frame.into_data() {
            Ok(bytes) if is_last => {
                let shown = mask.feed(&bytes);
                Frame::data(mask.rest().map_or(shown.clone(), |rest| [shown, rest].concat().into()))
            }
            Ok(bytes) => Frame::data(mask.feed(&bytes)),
            // Nothing that the upstream says after its answer is worth a key; what waits of the body goes in place of it.
            Err(_trailers) => mask.rest().map_or_else(|| Frame::trailers(HeaderMap::new()), Frame::data),
        }
    }

    /// Tells the tape how the answer ended.
    fn over(&self, end: End) {
        if let Some(recorded) = &self.tape {
            recorded.0.end(end);
        }
    }

    /// Breaks the connection off as the upstream did, but only once everything before it has been written
    /// out: otherwise that would be lost. Over HTTP/2 only the stream is reset, and what its window has no room for is lost.
    fn poll_cut(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let (Some(line), Some(cut)) = (&self.line, &mut self.cut) {
            if cut.markers < MARKERS && line.flushes_after(cut.flushes, context).is_pending() {
                return Poll::Pending;
            }
            if let Some(left) = cut.markers.checked_sub(1) {
                (cut.flushes, cut.markers) = (line.flushes(), left);
                return Poll::Ready(Some(Ok(Frame::data(Bytes::new()))));
            }
        }
        Poll::Ready(self.cut.take().map(|cut| Err(Broken::from(cut.error))))
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        if this.cut.is_some() {
            return this.poll_cut(context);
        }
        match std::task::ready!(Pin::new(&mut this.body).poll_frame(context)) {
            None => {
                this.over(End::Whole);
                let rest = this.mask.as_mut().and_then(KeyMask::rest);
                Poll::Ready(rest.map(|rest| Ok(Frame::data(rest))))
            }
            Some(Ok(mut frame)) => {
                if let Some(trailers) = frame.trailers_mut() {
                    strike_trailers(trailers);
                }
                if let (Some(recorded), Some(bytes)) = (&this.tape, frame.data_ref()) {
                    recorded.0.say(bytes);
                }
                if this.body.is_end_stream() {
                    this.over(End::Whole);
                }
                Poll::Ready(Some(Ok(this.shown(frame))))
            }
            Some(Err(error)) => {
                let reason = upstream::reason(&error);
                tracing::debug!(reason, "an upstream broke off");
                this.over(End::Cut(reason));
                let flushes = this.line.as_ref().map_or(0, |line| line.flushes());
                if let Some(line) = &this.line {
                    line.be_lenient(false);
                }
                let markers =
                    if this.line.as_ref().is_some_and(|line| line.is_stream()) { MARKERS } else { 0 };
                this.cut = Some(DeferredBodyError { error, flushes, markers });
                this.poll_cut(context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let is_held = self.mask.as_ref().is_some_and(KeyMask::is_holding);
        self.cut.is_none() && !is_held && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.be_lenient(false);
        }
    }
}
