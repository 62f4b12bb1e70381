//! The store of links: by which links others are shown the open conversation, and by which one the reader is here. The hub is asked when it has said
//! what the reader may do, and after each change that this page makes. The rules are in [`crate::sharing`], which does not use the browser.

use leptos::prelude::*;
use model::MessageId;

use super::{OpenDialog, Store};
use crate::sharing;

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct SharingStore {
    /// The hub's answer about links to the open conversation; `None` until it has answered, and for whoever follows a link. It is read where links
    /// are drawn, since few readers need that.
    pub(crate) links: RwSignal<Option<String>>,
    /// The turn that the dialog offers to share, by the message that begins it.
    pub(crate) turn: RwSignal<Option<MessageId>>,
}

impl SharingStore {
    /// A store that knows nothing.
    pub(super) fn new() -> Self {
        Self { links: RwSignal::new(None), turn: RwSignal::new(None) }
    }
}

impl Store {
    /// How many links lead to the open conversation, as far as the reader is told. Tracks it.
    pub(crate) fn link_count(self) -> usize {
        self.sharing.links.with(|links| links.as_deref().map_or(0, sharing::count))
    }

    /// The hub's answer about the link by which the reader sees the open conversation. Tracks it.
    pub(crate) fn answer_about_link(self) -> Option<String> {
        self.access(|access| access.answer_about_link().map(str::to_owned)).flatten()
    }

    /// Opens the dialog about links, for the turn that begins with the message `turn`, or for the conversation.
    pub(crate) fn open_sharing(self, turn: Option<MessageId>) {
        self.sharing.turn.set(turn);
        self.open_dialog(OpenDialog::Share);
    }
}
