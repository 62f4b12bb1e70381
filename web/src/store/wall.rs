//! The wall in place of a conversation.

use leptos::prelude::*;

use super::Store;
use crate::browser;
use crate::page_modules::PageModule;
use crate::route;

impl Store {
    /// Shows or hides the wall.
    pub(crate) fn show_wall(self, is_on: bool) {
        if self.panel.wall.get_untracked() == is_on {
            return;
        }
        if is_on {
            self.reading.recording.set(None);
        }
        self.panel.show_wall(is_on, || self.reading.model(|model| model.conversation().cloned()));
    }

    /// Navigates to the wall, or back to the conversation that was open before.
    pub(crate) fn toggle_wall(self) {
        if self.panel.wall.get_untracked() {
            let before = self.panel.before_wall();
            browser::follow_link(&before.map_or_else(|| "/".to_owned(), |id| route::path_of(&id)));
        } else {
            browser::follow_link(route::WALL);
            let focus = || browser::after(0, || browser::focus("wall"));
            self.modules.with(PageModule::Wall, focus);
        }
    }
}
