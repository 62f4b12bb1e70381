//! The store of rights: what the reader may do in the open conversation, so that the page offers nothing that the hub
//! would refuse.
//!
//! The hub is asked after each welcome and for each conversation that is opened. Until it has answered, nothing is
//! offered and nothing is said about it. Answers are kept until the next welcome, since a session whose grants
//! change ends. The rules are in [`crate::rights`], which does not use the browser.

use leptos::prelude::*;
use model::ConversationId;

use super::Store;
use crate::browser;
use crate::rights::{self, Access, ReaderAction};
use crate::sharing;

/// The most conversations whose answers are kept; the oldest is dropped.
const KEPT_MAX: usize = 64;

/// Why the hub is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// The hub has welcomed the page.
    Welcome,
    /// Another conversation was opened.
    Opened,
}

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct RightsStore {
    /// The answers by conversation, the newest last; `None` is asked about no conversation.
    known: RwSignal<Vec<(Option<ConversationId>, Access)>>,
}

impl RightsStore {
    /// A store that knows nothing.
    pub(super) fn new() -> Self {
        Self { known: RwSignal::new(Vec::new()) }
    }

    /// Reads what is known of `conversation`: of a hub without access control any answer will do. Tracks it.
    fn read<T>(self, conversation: Option<&ConversationId>, read: impl FnOnce(&Access) -> T) -> Option<T> {
        self.known.with(|known| {
            let is_it = |(of, access): &&(Option<ConversationId>, Access)| {
                access.is_open() || of.as_ref() == conversation
            };
            known.iter().rev().find(is_it).map(|(_, access)| read(access))
        })
    }

    /// Notes an answer; the only one if it came after a welcome.
    fn note(self, of: Option<ConversationId>, access: Access, occasion: Occasion) {
        self.known.update(|known| {
            known.retain(|(known, _)| occasion == Occasion::Opened && *known != of);
            if known.len() >= KEPT_MAX {
                known.remove(0);
            }
            known.push((of, access));
        });
    }
}

impl Store {
    /// Asks the hub what the reader may do in the open conversation: `GET /v1/access`, after each welcome.
    pub(super) fn ask_rights(self) {
        self.ask_rights_of(Occasion::Welcome);
    }

    /// Asks the same when another conversation was opened, unless it is known; links to it are asked for all the same, since others may have made some.
    pub(super) fn ask_rights_here(self) {
        self.sharing.links.set(None);
        if self.link.status.with_untracked(crate::link::Status::has_socket) {
            self.ask_rights_of(Occasion::Opened);
        }
    }

    /// Asks the hub for the links to the open conversation again.
    pub(crate) fn ask_links(self) {
        self.ask_rights_of(Occasion::Opened);
    }

    /// Asks the hub. The bare page and one without a session take no commands and do not ask.
    fn ask_rights_of(self, occasion: Occasion) {
        if self.reading.is_bare || self.reading.is_beside {
            return;
        }
        let here = self.reading.model(|model| model.conversation().cloned());
        leptos::task::spawn_local(async move {
            let sees_links = || untrack(|| self.rights.read(here.as_ref(), Access::may_see_links));
            if occasion == Occasion::Welcome || sees_links().is_none() {
                // If the hub cannot be reached for a moment, what is known stays.
                let Ok(answer) = browser::fetch_text(&rights::path(here.as_ref())).await else { return };
                if let Some(access) = Access::read(&answer) {
                    self.rights.note(here.clone(), access, occasion);
                }
            }
            let Some(conversation) = here.as_ref().filter(|_| sees_links() == Some(true)) else { return };
            let Ok(answer) = browser::fetch_text(&sharing::path(conversation)).await else { return };
            // Another one may have been opened meanwhile.
            if self.reading.model(|model| model.conversation() == here.as_ref()) {
                self.sharing.links.set(Some(answer));
            }
        });
    }

    /// Reads what is known of the open conversation. Tracks it.
    pub(super) fn access<T>(self, read: impl FnOnce(&Access) -> T) -> Option<T> {
        let here = self.reading.conversation.get();
        self.rights.read(here.as_ref(), read)
    }

    /// Whether the reader may do that in the open conversation. False until the hub has answered. Tracks it.
    pub(crate) fn may(self, action: ReaderAction) -> bool {
        self.access(|access| access.may(action)).unwrap_or(false)
    }

    /// Why the reader may not do that in the open conversation; `None` if they may, and until the hub has
    /// answered. Tracks it.
    pub(crate) fn why_not(self, action: ReaderAction) -> Option<&'static str> {
        self.access(|access| access.why_not(action)).flatten()
    }

    /// What the names of new conversations begin with; `None` if the reader may begin none, and until the hub
    /// has answered. Tracks it.
    pub(crate) fn beginning(self) -> Option<String> {
        let any = || self.rights.known.with(|known| known.last().map(|(_, access)| access.clone()));
        any().and_then(|access| access.beginning().map(str::to_owned))
    }

    /// Why the reader may not write here, to a conversation or to a new one; `None` if they may, and until the
    /// hub has answered. Tracks it.
    pub(crate) fn why_silent(self) -> Option<&'static str> {
        if self.reading.conversation.with(Option::is_some) {
            return self.why_not(ReaderAction::Say);
        }
        let is_known = self.rights.known.with(|known| !known.is_empty());
        (is_known && self.beginning().is_none()).then_some(rights::NO_BEGINNING)
    }

    /// Whether the reader may write here, to a conversation or to a new one. Tracks it.
    pub(crate) fn may_say(self) -> bool {
        let is_open = self.reading.conversation.with(Option::is_some);
        if is_open { self.may(ReaderAction::Say) } else { self.beginning().is_some() }
    }
}
