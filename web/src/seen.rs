//! What the reader has seen of each conversation, kept in the browser. Newer events make a conversation
//! unread, and a failure that was seen no longer needs the reader.

use indexmap::IndexMap;
use model::frame::ConversationRow;
use model::{ConversationId, Epoch, Position, Seq};

/// The most conversations that are remembered. Of more, those with the oldest newest event are forgotten.
pub const SEEN_MAX: usize = 500;

/// The place up to which a conversation was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    epoch: Epoch,
    seq: Seq,
    /// The hub's time of the newest seen event.
    at: u64,
}

/// What the reader has seen. All times are in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// When the reader was here for the first time: nothing older is unread.
    from: u64,
    /// The newest time of what was forgotten; anything up to then counts as seen.
    floor: u64,
    places: IndexMap<ConversationId, Place>,
}

/// The stored form: `from`, `floor`, and the places.
type Kept = (u64, u64, Vec<(ConversationId, Epoch, Seq, u64)>);

impl Seen {
    /// Reads the stored form. Without one, the reader is here for the first time at `now`.
    pub fn parse(kept: Option<&str>, now: u64) -> Self {
        let Some((from, floor, places)) = kept.and_then(|text| serde_json::from_str::<Kept>(text).ok())
        else {
            return Self { from: now, ..Self::default() };
        };
        let place = |(id, epoch, seq, at)| (id, Place { epoch, seq, at });
        let mut seen = Self { from, floor, places: places.into_iter().map(place).collect() };
        seen.forget();
        seen
    }

    /// The text in which it is stored.
    pub fn text(&self) -> String {
        let places = self.places.iter().map(|(id, it)| (id, &it.epoch, it.seq, it.at));
        serde_json::to_string(&(self.from, self.floor, places.collect::<Vec<_>>())).unwrap_or_default()
    }

    /// Notes that `conversation` was seen up to `position`, whose event was at `at`. False if nothing
    /// changed.
    pub fn see(&mut self, conversation: &ConversationId, position: &Position, at: u64) -> bool {
        let place = Place { epoch: position.epoch.clone(), seq: position.seq, at };
        if self.places.get(conversation) == Some(&place) {
            return false;
        }
        self.places.insert(conversation.clone(), place);
        self.forget();
        true
    }

    /// How far `conversation` was seen, and when the newest event of that came; `None` if it was never opened.
    pub fn place(&self, conversation: &ConversationId) -> Option<(Position, u64)> {
        let place = self.places.get(conversation)?;
        Some((Position { epoch: place.epoch.clone(), seq: place.seq }, place.at))
    }

    /// Adds what another page of the same reader has seen.
    pub fn join(&mut self, other: Self) {
        (self.from, self.floor) = (self.from.min(other.from), self.floor.max(other.floor));
        for (id, place) in other.places {
            match self.places.get(&id) {
                Some(own) if own.at > place.at || (own.at == place.at && own.seq >= place.seq) => {}
                _ => drop(self.places.insert(id, place)),
            }
        }
        self.forget();
    }

    /// Whether all of `row` was seen; `None` if the conversation was never opened.
    fn has_seen(&self, row: &ConversationRow) -> Option<bool> {
        let place = self.places.get(&row.conversation)?;
        Some((place.epoch == row.epoch && row.head <= place.seq) || row.at <= place.at)
    }

    /// Whether events were added since the reader looked.
    pub fn is_unread(&self, row: &ConversationRow) -> bool {
        self.has_seen(row).map_or(row.at > self.from.max(self.floor), |all| !all)
    }

    /// Whether the reader has seen how the conversation ended. A conversation that was never opened has not
    /// been seen, however old it is.
    pub fn knows_end(&self, row: &ConversationRow) -> bool {
        self.has_seen(row).unwrap_or(row.at <= self.floor)
    }

    /// Forgets conversations beyond [`SEEN_MAX`].
    fn forget(&mut self) {
        while self.places.len() > SEEN_MAX {
            let oldest = self.places.values().enumerate().min_by_key(|(_, place)| place.at);
            let Some((at, place)) = oldest else { return };
            self.floor = self.floor.max(place.at);
            self.places.swap_remove_index(at);
        }
    }
}

#[cfg(test)]
mod tests;
