//! The position of a stream in one conversation, and what comes next there.

use std::sync::Arc;

use axum::body::Bytes;
use model::frame::{ServerFrame, SubscriptionId};
use model::limits::BATCH_BYTES_TARGET;
use model::{Lens, Mask, Position, Seq};

use crate::http::conversations::HttpViewer;
use hub::wire;
use hub::{Conversation, Cursor, Slice};
use hub::{FrameCache, Snapshot, SnapshotNeed};

/// An event of the stream: its name, and its JSON in pieces without line breaks. Pieces that other readers
/// get too are shared.
#[derive(Debug)]
pub(super) struct Event(&'static str, Vec<Bytes>);

impl Event {
    /// The event as bytes on the wire. Without an id the position of the client does not change.
    pub(super) fn with_id(self, id: Option<&str>) -> impl Iterator<Item = Bytes> {
        let Self(name, json) = self;
        let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        let head = Bytes::from(format!("{id}event: {name}\ndata: "));
        std::iter::once(head).chain(json).chain([Bytes::from_static(b"\n\n")])
    }
}

/// The position of a stream in one conversation: what a subscription is on a socket. Owned by the stream's
/// reader. Dropping it leaves the conversation as a viewer.
#[derive(Debug)]
pub(super) struct StreamPosition {
    /// The conversation, entered as a viewer.
    viewer: HttpViewer,
    /// The index of the conversation in the stream.
    sub: SubscriptionId,
    /// What is shared with viewers who look through the same lens.
    frame_cache: Arc<FrameCache>,
    /// Up to where the conversation was read; `None` if the snapshot comes next.
    cursor: Option<Cursor>,
    /// The last seq that the client was told of.
    told: Seq,
    /// The key of what the client was last told of the viewers; 0 before the first time.
    presence: usize,
}

impl StreamPosition {
    /// Begins after the client's position, if the conversation can be continued from it, otherwise with the
    /// snapshot.
    pub(super) fn new(
        viewer: HttpViewer,
        sub: SubscriptionId,
        (lens, mask): (&Lens, Option<&Arc<Mask>>),
        after: Option<&Position>,
    ) -> Self {
        let frame_cache = viewer.conversation.frame_caches.of(lens, mask);
        let known = after.filter(|after| after.epoch == *viewer.conversation.epoch());
        let known = known.filter(|after| after.seq <= viewer.conversation.head());
        let cursor = known.map(|after| Cursor { seq: after.seq, tick: 0 });
        let told = known.map_or(0, |after| after.seq);
        Self { viewer, sub, frame_cache, cursor, told, presence: 0 }
    }

    pub(super) fn conversation(&self) -> Arc<Conversation> {
        Arc::clone(&self.viewer.conversation)
    }

    /// The position of the client once it has what was sent; `None` before the first snapshot.
    pub(super) fn position(&self) -> Option<Position> {
        let epoch = self.viewer.conversation.epoch().clone();
        self.cursor.map(|_| Position { epoch, seq: self.told })
    }

    /// The next events of the stream, each with whether it changes the client's position. Empty if nothing is
    /// new. What comes is one batch from the cursor, or the snapshot if that is cheaper or the ring no longer
    /// has what follows (I2).
    pub(super) fn news(&mut self) -> Vec<(Event, bool)> {
        let mut news = Vec::new();
        let conversation = &self.viewer.conversation;
        let told = conversation.presence.told();
        let (key, names) = told.for_role(self.frame_cache.mask().map(AsRef::as_ref));
        let is_counted = conversation.presence.times() > 0 && !conversation.presence.is_stale();
        if is_counted && key != self.presence {
            self.presence = key;
            let frame =
                ServerFrame::Presence { sub: self.sub, viewers: told.viewers as u64, names: names.to_vec() };
            news.push((
                Event("presence", vec![serde_json::to_vec(&frame).unwrap_or_default().into()]),
                false,
            ));
        }
        loop {
            let conversation = &self.viewer.conversation;
            let near = |cursor: &Cursor| {
                self.frame_cache.snapshot_need(conversation, cursor.seq) == SnapshotNeed::No
            };
            let slice =
                self.cursor.filter(near).and_then(|cursor| conversation.next(cursor, BATCH_BYTES_TARGET));
            let Some(slice) = slice.and_then(|slice| self.frame_cache.visible(conversation, slice)) else {
                self.snapshot(&mut news);
                return news;
            };
            self.cursor = Some(slice.cursor);
            if !slice.events.is_empty() || !slice.ephemera.is_empty() {
                news.push((self.batch(&Slice { from: self.told + 1, ..slice }), true));
                return news;
            }
            if slice.to >= slice.head {
                return news;
            }
        }
    }

    /// An event that tells the head, if it is further than the client knows.
    pub(super) fn cover(&mut self) -> Option<Event> {
        let cursor = self.cursor.filter(|cursor| cursor.seq > self.told)?;
        Some(self.batch(&Slice::nothing(self.told, cursor)))
    }

    /// A batch event of `slice`.
    fn batch(&mut self, slice: &Slice) -> Event {
        self.told = slice.to;
        Event("batch", vec![self.frame_cache.ready(slice, self.sub).json(self.sub).into()])
    }

    /// The events of the snapshot, one for each piece. Only the last has the position as its id: a client
    /// that was cut between two pieces gets the snapshot again.
    fn snapshot(&mut self, news: &mut Vec<(Event, bool)>) {
        let conversation = &self.viewer.conversation;
        let Snapshot { seq, pieces } = self.frame_cache.snapshot(conversation);
        self.cursor = Some(Cursor { seq, tick: 0 });
        self.told = seq;
        for (number, piece) in pieces.iter().enumerate() {
            let more = number + 1 < pieces.len();
            let json = wire::snapshot_json(self.sub, conversation.epoch(), seq, piece, more);
            news.push((Event("snap", json.into()), !more));
        }
    }
}

/// The position of a stream in all its conversations: positions separated by commas, a dash for a
/// conversation without one.
pub(in crate::http) fn positions(positions: impl Iterator<Item = Option<Position>>) -> String {
    let words = positions.map(|position| position.map_or_else(|| "-".to_owned(), |known| known.to_string()));
    words.collect::<Vec<_>>().join(",")
}
