//! Conversations as server-sent events: the same frames as on the WebSocket, each with the place of the whole stream as
//! `id`. Several conversations may share one stream, since browsers open six connections to a hub and no more.
//!
//! The reader is a cursor here too. A frame is made only when the connection asks for the next, so a slow reader finds
//! everything that came meanwhile in one frame, or the snapshot.

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

use crate::state::Shared;
use crate::work::Open;

mod place;

use place::StreamPosition;
pub(super) use place::positions;

use super::conversations::Seat;

/// Between two comments on a silent stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// A reader of some conversations.
#[derive(Debug)]
struct Reader {
    shared: Arc<Shared>,
    places: Vec<StreamPosition>,
    /// What is ready to be sent.
    ready: VecDeque<Bytes>,
    /// Its place among the streams.
    _open: Open,
}

/// The answer that never ends; `after` says for each seat where the client stands, as far as it said so.
pub(super) fn stream(
    shared: Arc<Shared>,
    (open, seats): (Open, Vec<Seat>),
    (lens, mask): (&Lens, Option<&Arc<Mask>>),
    mut after: Vec<Option<Position>>,
) -> Response {
    after.resize(seats.len(), None);
    let places = seats.into_iter().zip(after).zip(0..);
    let places = places
        .map(|((seat, after), sub)| StreamPosition::new(seat, sub, (lens, mask), after.as_ref()))
        .collect();
    let begin = Bytes::from(format!("retry: {}\n\n", shared.config.retry.as_millis()));
    let reader = Reader { shared, places, ready: VecDeque::from([begin]), _open: open };
    let pieces = stream::unfold(reader, |mut reader| async move {
        let piece = reader.piece().await?;
        Some((Ok::<_, Infallible>(piece), reader))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // nginx would collect events until a buffer is full.
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

impl Reader {
    /// The next piece of the stream; nothing when the hub stops.
    async fn piece(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let conversations: Vec<_> = self.places.iter().map(StreamPosition::conversation).collect();
            let mut moved: Vec<_> = conversations.iter().map(|known| Box::pin(known.moved())).collect();
            for moved in &mut moved {
                Pin::as_mut(moved).enable();
            }
            if self.advance() {
                continue;
            }
            let drain = self.shared.drain.clone();
            tokio::select! {
                _ = select_all(moved) => {}
                () = tokio::time::sleep(COMMENT_EVERY) => self.rest(),
                () = drain.cancelled() => return None,
            }
        }
    }

    /// Takes what is new in any of the conversations; false when nothing is.
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

    /// Says something on a silent stream: where it is, or just that it is there.
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
