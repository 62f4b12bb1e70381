//! What the reader has seen of each conversation, kept in the browser: what came since is marked, and a failure that was
//! looked at does not ask for anybody any more.

use indexmap::IndexMap;
use model::frame::ConversationRow;
use model::{ConversationId, Epoch, Position, Seq};

/// Conversations that are remembered; of more those are forgotten whose newest event is oldest.
pub const SEEN_MAX: usize = 500;

/// How far one conversation was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    epoch: Epoch,
    seq: Seq,
    /// When the newest event of it was, by the hub's clock.
    at: u64,
}

/// The last event that the reader has seen of each conversation. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// When the reader was here for the first time: nothing older is called unread.
    from: u64,
    /// The newest time of what was forgotten: what is as old counts as seen.
    floor: u64,
    places: IndexMap<ConversationId, Place>,
}

/// As it is kept: `from`, `floor`, and the places.
type Kept = (u64, u64, Vec<(ConversationId, Epoch, Seq, u64)>);

impl Seen {
    /// As it was kept; of a reader who is here for the first time, at `now`, where nothing was.
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

    /// How it is kept.
    pub fn text(&self) -> String {
        let places = self.places.iter().map(|(id, it)| (id, &it.epoch, it.seq, it.at));
        serde_json::to_string(&(self.from, self.floor, places.collect::<Vec<_>>())).unwrap_or_default()
    }

    /// Notes that `conversation` was seen up to `position`, whose event was at `at`; false when that was known.
    pub fn see(&mut self, conversation: &ConversationId, position: &Position, at: u64) -> bool {
        let place = Place { epoch: position.epoch.clone(), seq: position.seq, at };
        if self.places.get(conversation) == Some(&place) {
            return false;
        }
        self.places.insert(conversation.clone(), place);
        self.forget();
        true
    }

    /// Takes what another page of the same reader has seen.
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

    /// Whether all of `row` was seen; nothing where it was not looked at.
    fn has_seen(&self, row: &ConversationRow) -> Option<bool> {
        let place = self.places.get(&row.conversation)?;
        Some((place.epoch == row.epoch && row.head <= place.seq) || row.at <= place.at)
    }

    /// Whether something came since the reader looked.
    pub fn is_unread(&self, row: &ConversationRow) -> bool {
        self.has_seen(row).map_or(row.at > self.from.max(self.floor), |all| !all)
    }

    /// Whether the reader has seen how it ended. One who was never here has not, however old it is.
    pub fn knows_end(&self, row: &ConversationRow) -> bool {
        self.has_seen(row).unwrap_or(row.at <= self.floor)
    }

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
