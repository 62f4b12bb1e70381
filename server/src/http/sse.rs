//! A conversation as server-sent events: the same frames as on the WebSocket, each with its position as `id`.
//!
//! The reader is a cursor here too. A frame is made only when the connection asks for the next, so a slow reader finds
//! everything that came meanwhile in one frame, or the snapshot.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use shared::limits::{BATCH_BYTES_TARGET, SNAPSHOT_WHEN_BEHIND_BYTES};
use shared::{Position, Seq, snapshot};

use super::conversations::Seat;
use crate::hub::Cursor;
use crate::wire;

/// Between two comments on a silent stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// A reader and its place.
#[derive(Debug)]
struct Reader {
    seat: Seat,
    /// Nothing: the snapshot comes next.
    cursor: Option<Cursor>,
    begun: bool,
}

/// The answer that never ends.
pub(super) fn stream(seat: Seat, after: Option<Position>) -> Response {
    let known = after.filter(|after| after.epoch == *seat.conversation.epoch());
    let known = known.filter(|after| after.seq <= seat.conversation.head());
    let cursor = known.map(|after| Cursor { seq: after.seq, tick: 0 });
    let reader = Reader { seat, cursor, begun: false };
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
        if !self.begun {
            self.begun = true;
            let retry = self.seat.shared.config.retry.as_millis();
            return Some(Bytes::from(format!("retry: {retry}\n\n")));
        }
        let shared = std::sync::Arc::clone(&self.seat.shared);
        let conversation = std::sync::Arc::clone(&self.seat.conversation);
        loop {
            let mut moved = std::pin::pin!(conversation.moved());
            moved.as_mut().enable();
            if let Some(piece) = self.ready() {
                return Some(piece);
            }
            tokio::select! {
                () = moved => {}
                () = tokio::time::sleep(COMMENT_EVERY) => return Some(Bytes::from_static(b": \n\n")),
                () = shared.drain.cancelled() => return None,
            }
        }
    }

    /// What comes after the cursor, if anything.
    fn ready(&mut self) -> Option<Bytes> {
        let near = |cursor: &Cursor| {
            let behind = self.seat.conversation.bytes_after(cursor.seq);
            behind.is_some_and(|bytes| bytes <= 4 * SNAPSHOT_WHEN_BEHIND_BYTES as u64)
        };
        let cursor = self.cursor.filter(near);
        let slice = cursor.and_then(|cursor| self.seat.conversation.next(cursor, BATCH_BYTES_TARGET));
        let Some(slice) = slice else { return Some(self.snapshot()) };
        if slice.is_empty() {
            return None;
        }
        self.cursor = Some(slice.cursor);
        let json = wire::batch_json(0, &slice);
        Some(self.event("batch", slice.to, &json))
    }

    fn snapshot(&mut self) -> Bytes {
        let view = self.seat.conversation.view();
        let seq = view.seq;
        self.cursor = Some(Cursor { seq, tick: 0 });
        let json =
            wire::snapshot_json(0, self.seat.conversation.epoch(), seq, &snapshot::encode(&view), false);
        self.event("snap", seq, &json)
    }

    /// JSON holds no line break, so one `data` line is enough.
    fn event(&self, name: &str, seq: Seq, json: &[u8]) -> Bytes {
        let epoch = self.seat.conversation.epoch();
        let mut event = format!("id: {epoch}:{seq}\nevent: {name}\ndata: ").into_bytes();
        event.extend_from_slice(json);
        event.extend_from_slice(b"\n\n");
        Bytes::from(event)
    }
}
