//! Conversations as server-sent events: the same frames as on the WebSocket. The `id` of an event is the
//! position of the whole stream. Several conversations may share one stream, because browsers open at most
//! six connections to a host.
//!
//! Here too the reader is a cursor. A frame is made only when the connection asks for the next one, so a slow
//! reader gets everything that came meanwhile in one frame, or the snapshot.
//!
//! ```text
//! retry: 500
//!
//! id: 3k9f…:42
//! event: snap | batch | presence
//! data: {…}                                 one frame of the protocol
//!
//! :                                         a comment, after 15 s of silence
//! ```

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::select_all;
use futures_util::stream;
use model::{Lens, Mask, Position};

use crate::http::Reading;
use crate::work::Open;

mod place;

use place::StreamPosition;
pub(super) use place::positions;

use super::conversations::HttpViewer;

/// The time between two comments on a silent stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// The reader of one stream. The body of the answer owns it. Dropping it, when the client leaves, ends its
/// views of the conversations.
#[derive(Debug)]
struct Reader {
    reading: Reading,
    /// The position in each conversation, in the order of the request.
    places: Vec<StreamPosition>,
    /// Bytes that are to be sent next: at most the frames of one look at all conversations.
    ready: VecDeque<Bytes>,
    /// The place of the stream among those that are open.
    _open: Open,
}

/// Answers with a stream that ends only with its client or the hub. `after` has the position of the client in
/// each conversation, as far as it said one.
pub(super) fn stream(
    reading: Reading,
    (open, viewers): (Open, Vec<HttpViewer>),
    (lens, mask): (&Lens, Option<&Arc<Mask>>),
    mut after: Vec<Option<Position>>,
) -> Response {
    after.resize(viewers.len(), None);
    let places = viewers.into_iter().zip(after).zip(0..);
    let places = places
        .map(|((viewer, after), sub)| StreamPosition::new(viewer, sub, (lens, mask), after.as_ref()))
        .collect();
    let begin = Bytes::from(format!("retry: {}\n\n", reading.config.retry.as_millis()));
    let reader = Reader { reading, places, ready: VecDeque::from([begin]), _open: open };
    let pieces = stream::unfold(reader, |mut reader| async move {
        let piece = reader.piece().await?;
        Some((Ok::<_, Infallible>(piece), reader))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // nginx would otherwise hold events back until a buffer is full.
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

impl Reader {
    /// The next piece of the stream; `None` when the hub drains. Cancelling loses nothing: what was taken
    /// from the conversations is in `ready` first.
    async fn piece(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let conversations: Vec<_> = self.places.iter().map(StreamPosition::conversation).collect();
            let mut appended: Vec<_> = conversations.iter().map(|known| Box::pin(known.appended())).collect();
            for appended in &mut appended {
                Pin::as_mut(appended).enable();
            }
            if self.advance() {
                continue;
            }
            // It was deleted, or taken over: the client comes back, and begins with what is there now.
            if conversations.iter().any(|known| known.is_over()) {
                return None;
            }
            let drain = self.reading.drain.clone();
            tokio::select! {
                _ = select_all(appended) => {}
                () = tokio::time::sleep(COMMENT_EVERY) => self.rest(),
                () = drain.cancelled() => return None,
            }
        }
    }

    /// Takes what is new in any of the conversations; false if nothing is.
    fn advance(&mut self) -> bool {
        for number in 0..self.places.len() {
            let news = self.places.get_mut(number).map(StreamPosition::news).unwrap_or_default();
            for (event, moves) in news {
                let id = moves.then(|| positions(self.places.iter().map(StreamPosition::position)));
                self.ready.extend(event.with_id(id.as_deref()));
            }
        }
        !self.ready.is_empty()
    }

    /// Sends something on a silent stream: the head if the client does not know it, otherwise a comment.
    fn rest(&mut self) {
        for number in 0..self.places.len() {
            let Some(event) = self.places.get_mut(number).and_then(StreamPosition::cover) else { continue };
            let id = positions(self.places.iter().map(StreamPosition::position));
            self.ready.extend(event.with_id(Some(&id)));
        }
        if self.ready.is_empty() {
            self.ready.push_back(Bytes::from_static(b": \n\n"));
        }
    }
}
