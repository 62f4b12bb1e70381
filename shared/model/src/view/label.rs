//! What people made of a conversation, as all their changes together left it: of each field the last change counts.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::event::LabelChange;

/// What people made of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Label {
    /// The title that somebody gave it. It counts before the title that its runs say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it stands before the others in the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Whether the list leaves it out unless it is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Its tags, at most [`crate::limits::LABEL_TAGS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub tags: Vec<CompactString>,
    /// A note about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who made the last change, where the hub knew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<CompactString>,
}

impl Label {
    /// Whether nobody has made anything of the conversation.
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }

    /// The same within the bounds; for a state that comes from elsewhere.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let mut bounded = Self::default();
        if let Some(change) = self.as_change() {
            bounded.take(&change);
        }
        bounded
    }

    /// Applies a change. What is over its bound is cut, since histories from elsewhere are folded as they came.
    pub(crate) fn take(&mut self, change: &LabelChange) {
        let mut change = change.clone();
        change.cut(drop);
        let LabelChange { title, pinned, archived, tags, note, by } = change;
        let text = |text: String| Some(text).filter(|text| !text.trim().is_empty());
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

    /// The one change that makes an empty label this one; nothing for an empty label.
    pub(crate) fn as_change(&self) -> Option<LabelChange> {
        let change = || LabelChange {
            title: self.title.clone(),
            pinned: self.pinned.then_some(true),
            archived: self.archived.then_some(true),
            tags: Some(self.tags.clone()).filter(|tags| !tags.is_empty()),
            note: self.note.clone(),
            by: self.by.clone(),
        };
        (!self.is_clear()).then(change)
    }
}
