//! What people made of a conversation, as all their changes together left it: of each field the last change counts.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::event::{LabelChange, Rating};
use crate::ids::{MessageId, RunId};
use crate::limits::RATINGS_MAX;

/// What people made of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Label"))]
pub struct ConversationLabels {
    /// The title that somebody gave it. It counts before the title that its runs say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it stands before the others in the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Whether the list leaves it out unless it is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The tags of the conversation, at most [`crate::limits::LABEL_TAGS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub tags: Vec<CompactString>,
    /// A note about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What they think of runs and messages, at most [`RATINGS_MAX`], each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
    /// Who made the last change, where the hub knew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<CompactString>,
}

impl ConversationLabels {
    /// Whether nobody has made anything of the conversation.
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }

    /// A copy within the bounds, for a state that comes from elsewhere.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let mut bounded = Self::default();
        for change in self.as_changes() {
            bounded.take(&change);
        }
        bounded
    }

    /// Applies a change. What is over its bound is cut, since histories from elsewhere are folded as they came.
    pub(crate) fn take(&mut self, change: &LabelChange) {
        let mut change = change.clone();
        change.cut(drop);
        let LabelChange { title, pinned, archived, tags, note, rating, by } = change;
        let text = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        if let Some(rating) = rating {
            self.rate(Rating { by: by.clone(), ..rating });
        }
        self.by = by;
        self.pinned = pinned.unwrap_or(self.pinned);
        self.archived = archived.unwrap_or(self.archived);
        if let Some(title) = title {
            self.title = text(title);
        }
        if let Some(tags) = tags {
            self.tags = tags;
        }
        if let Some(note) = note {
            self.note = text(note);
        }
    }

    /// Takes a rating in the place of the one before; one that says neither good nor bad takes that back. Of more than
    /// [`RATINGS_MAX`] the first ones stay.
    fn rate(&mut self, rating: Rating) {
        let before = self.ratings.iter().position(|other| other.is_of_same(&rating));
        match (before, rating.good) {
            (Some(place), None) => drop(self.ratings.remove(place)),
            (Some(place), Some(_)) => self.ratings.splice(place..=place, [rating]).for_each(drop),
            (None, Some(_)) if self.ratings.len() < RATINGS_MAX => self.ratings.push(rating),
            (None, _) => {}
        }
    }

    /// The rating of a run.
    pub fn rating_of_run(&self, run: &RunId) -> Option<&Rating> {
        self.ratings.iter().find(|rating| rating.run.as_ref() == Some(run))
    }

    /// The rating of a message.
    pub fn rating_of_message(&self, message: &MessageId) -> Option<&Rating> {
        self.ratings.iter().find(|rating| rating.message.as_ref() == Some(message))
    }

    /// The changes that make an empty label this one; nothing for an empty label.
    pub(crate) fn as_changes(&self) -> Vec<LabelChange> {
        let ratings = self.ratings.iter().map(|rating| LabelChange {
            by: rating.by.clone(),
            rating: Some(Rating { by: None, ..rating.clone() }),
            ..LabelChange::default()
        });
        // Last, since who made the last change is not always who rated last.
        ratings.chain(self.as_change()).collect()
    }

    /// The one change that makes a label without anything but ratings this one.
    fn as_change(&self) -> Option<LabelChange> {
        let change = || LabelChange {
            title: self.title.clone(),
            pinned: self.pinned.then_some(true),
            archived: self.archived.then_some(true),
            tags: Some(self.tags.clone()).filter(|tags| !tags.is_empty()),
            note: self.note.clone(),
            rating: None,
            by: self.by.clone(),
        };
        (!self.is_clear()).then(change)
    }
}
