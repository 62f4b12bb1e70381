//! Two conversations beside each other: going there, and back.

use leptos::prelude::*;
use model::ConversationId;

use super::Store;
use crate::browser;
use crate::route::{self, Looks};

/// The address at which `other` stands beside `own`.
pub(crate) fn compare_link(own: &ConversationId, other: &ConversationId) -> String {
    route::link(own, &Looks { compare: Some(other.clone()), ..Looks::default() })
}

impl Store {
    /// Goes to this conversation beside `other`.
    pub(crate) fn compare_with(self, other: &ConversationId) {
        if let Some(own) = self.reading.conversation.get_untracked() {
            browser::follow_link(&compare_link(&own, other));
        }
    }

    /// Goes to this conversation alone.
    pub(crate) fn end_compare(self) {
        if let Some(own) = self.reading.conversation.get_untracked() {
            browser::follow_link(&route::path_of(&own));
        }
    }
}
