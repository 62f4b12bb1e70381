//! The timeline's height, the view in the address, and the reduction to one sub-agent.

use leptos::prelude::*;

use super::{AgentKey, Sheet, Store, Tab};
use crate::browser;
use crate::open::Level;
use crate::route::{self, KEPT, Looks};
use crate::timeline::Drawer;

/// How long the reader must pause before the query is written into the address, in milliseconds.
const TYPED_MS: i32 = 300;

/// The setting with the last height of the open timeline.
const SETTING: &str = "timeline";

impl Store {
    /// The height in the address, with which a page begins; closed on the bare page.
    pub(super) fn first_drawer(is_bare: bool) -> Drawer {
        let query = browser::window().location().search().unwrap_or_default();
        Looks::parse(&query).timeline.filter(|_| !is_bare).unwrap_or_default()
    }

    /// Opens the timeline at its last height, or closes it.
    pub(crate) fn toggle_timeline(self) {
        let kept = browser::setting(SETTING).and_then(|word| Drawer::parse(&word));
        let open = kept.filter(|drawer| *drawer != Drawer::Closed).unwrap_or(Drawer::Lanes);
        let next = if self.panel.drawer.get_untracked() == Drawer::Closed { open } else { Drawer::Closed };
        self.set_drawer(next);
    }

    /// Sets the height of the timeline, and stores it unless it is closed.
    pub(crate) fn set_drawer(self, drawer: Drawer) {
        if drawer != Drawer::Closed {
            browser::keep_setting(SETTING, drawer.word());
        }
        self.panel.drawer.set(drawer);
    }

    /// Keeps the view in the address, for as long as the page is open.
    pub(crate) fn keep_looks_in_address(self) {
        Effect::new(move |_| {
            self.reading.conversation.track();
            self.panel.drawer.track();
            self.reading.level.track();
            // The filter too: a navigation, as to a recording, leaves it out of the address while the list stays filtered.
            self.write_address(&["q", "level", "timeline"]);
        });
        Effect::new(move |_| {
            self.panel.tab.track();
            self.reading.is_pattern.track();
            let (query, filter) = (self.reading.query.get(), self.panel.filter.get());
            // Browsers accept only a few changes of the address per second.
            browser::after(TYPED_MS, move || {
                if self.reading.query.with_untracked(|now| *now == query)
                    && self.panel.filter.with_untracked(|now| *now == filter)
                {
                    self.write_address(&KEPT);
                }
            });
        });
    }

    /// Replaces the parameters `names` of the address by the view; a parameter without a value is removed.
    /// Nothing on the bare page; on the wall the filter alone. The level is left out if it is the usual one and the
    /// reader's setting too.
    pub(crate) fn write_address(self, names: &[&str]) {
        if self.reading.is_bare {
            return;
        }
        let is_wall = self.panel.wall.get_untracked();
        let location = browser::window().location();
        let (path, query) = (location.pathname().unwrap_or_default(), location.search().unwrap_or_default());
        let is_kept = |name: &str| names.contains(&name);
        let is_conversation = route::conversation_of(&path).is_some();
        let level = self.reading.level.get_untracked();
        let own = browser::setting("level").and_then(|word| Level::parse(&word)).unwrap_or_default();
        let is_plain = level == Level::default() && own == level;
        let drawer = self.panel.drawer.get_untracked();
        let filter = self.panel.filter.with_untracked(|text| text.trim().to_owned());
        let looks = Looks {
            filter: Some(filter).filter(|text| is_kept("q") && !text.is_empty()),
            level: (is_kept("level") && is_conversation && !is_plain).then_some(level),
            find: self.finding().filter(|_| is_kept("find") && is_conversation),
            is_pattern: self.reading.is_pattern.get_untracked(),
            timeline: (is_kept("timeline") && !is_wall && drawer != Drawer::Closed).then_some(drawer),
            ..Looks::default()
        };
        let wanted = route::with_looks(&query, names, &looks);
        if wanted != query {
            browser::replace_address(&format!("{path}{wanted}"));
        }
    }

    /// The query of Find, if the Find tab is shown.
    pub(super) fn finding(self) -> Option<String> {
        let query = self.reading.query.get_untracked();
        let is_finding = self.panel.tab.get_untracked() == Tab::Find && !query.trim().is_empty();
        is_finding.then(|| query.trim().to_owned())
    }

    /// Reduces conversation, panel and timeline to a sub-agent; `None` shows everything again.
    pub(crate) fn look_only_at(self, agent: Option<AgentKey>) {
        self.reading.only.set(agent);
        self.panel.sheet.set(Sheet::None);
        self.reading.follow();
    }

    /// Shows a sub-agent in the panel; `None` shows the tree.
    pub(crate) fn inspect(self, agent: Option<AgentKey>) {
        self.panel.agent.set(agent);
        self.panel.show_tab(Tab::Agents);
    }

    /// Resets the view for another conversation: the replay, the sought hit, and the reduction to a
    /// sub-agent.
    pub(super) fn forget_looks(self) {
        self.end_replay();
        if self.reading.sought.with_untracked(Option::is_some) {
            self.reading.sought.set(None);
        }
        if self.reading.only.with_untracked(Option::is_some) {
            self.reading.only.set(None);
        }
        if self.panel.agent.with_untracked(Option::is_some) {
            self.panel.agent.set(None);
        }
    }
}
