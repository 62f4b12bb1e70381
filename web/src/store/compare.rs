//! The comparison of two conversations: opening and closing it.

use leptos::prelude::*;
use model::ConversationId;

use super::Store;
use crate::browser;
use crate::route::{self, Looks};

/// The address of `own` with `other` beside it.
pub(crate) fn compare_link(own: &ConversationId, other: &ConversationId) -> String {
    route::link(own, &Looks { compare: Some(other.clone()), ..Looks::default() })
}

impl Store {
    /// Shows `other` beside the open conversation.
    pub(crate) fn compare_with(self, other: &ConversationId) {
        if let Some(own) = self.reading.conversation.get_untracked() {
            browser::follow_link(&compare_link(&own, other));
        }
    }

    /// Shows the open conversation alone.
    pub(crate) fn end_compare(self) {
        if let Some(own) = self.reading.conversation.get_untracked() {
            browser::follow_link(&route::path_of(&own));
        }
    }
}
