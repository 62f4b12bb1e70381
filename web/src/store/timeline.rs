//! The timeline's height, which the address keeps, and looking at one sub-agent alone.

use leptos::prelude::*;

use super::{AgentKey, Sheet, Store, Tab};
use crate::browser;
use crate::route::{self, Looks};
use crate::timeline::Drawer;

/// The reader's setting: the height that it opens with.
const SETTING: &str = "timeline";

impl Store {
    /// How high the address says that it stands.
    pub(super) fn first_drawer(is_bare: bool) -> Drawer {
        let query = browser::window().location().search().unwrap_or_default();
        Looks::parse(&query).timeline.filter(|_| !is_bare).unwrap_or_default()
    }

    /// Opens the timeline as high as it last was, or closes it.
    pub(crate) fn toggle_timeline(self) {
        let kept = browser::setting(SETTING).and_then(|word| Drawer::parse(&word));
        let open = kept.filter(|drawer| *drawer != Drawer::Closed).unwrap_or(Drawer::Low);
        let next = if self.drawer.get_untracked() == Drawer::Closed { open } else { Drawer::Closed };
        self.set_drawer(next);
    }

    /// Makes the timeline so high.
    pub(crate) fn set_drawer(self, drawer: Drawer) {
        if drawer != Drawer::Closed {
            browser::keep_setting(SETTING, drawer.word());
        }
        self.drawer.set(drawer);
    }

    /// Keeps the height in the address, for as long as the page lives.
    pub(crate) fn keep_drawer_in_address(self) {
        Effect::new(move |_| {
            self.conversation.track();
            let drawer = self.drawer.get();
            let location = browser::window().location();
            let (path, query) =
                (location.pathname().unwrap_or_default(), location.search().unwrap_or_default());
            let wanted = route::with_timeline(&query, drawer);
            if wanted != query {
                browser::replace_address(&format!("{path}{wanted}"));
            }
        });
    }

    /// Reduces transcript, tools and timeline to a sub-agent, or shows everything again.
    pub(crate) fn look_only_at(self, agent: Option<AgentKey>) {
        self.only.set(agent);
        self.sheet.set(Sheet::None);
        self.follow();
    }

    /// Shows a sub-agent in the panel.
    pub(crate) fn inspect(self, agent: Option<AgentKey>) {
        self.agent.set(agent);
        self.show_tab(Tab::Agents);
    }

    /// Another conversation is looked at: nothing of the way in which this one was counts for it.
    pub(super) fn forget_looks(self) {
        self.end_replay();
        if self.only.with_untracked(Option::is_some) {
            self.only.set(None);
        }
        if self.agent.with_untracked(Option::is_some) {
            self.agent.set(None);
        }
    }
}
