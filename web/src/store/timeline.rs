//! The timeline's height, what of the page the address keeps, and looking at one sub-agent alone.

use leptos::prelude::*;

use super::{AgentKey, Sheet, Store, Tab};
use crate::browser;
use crate::open::Level;
use crate::route::{self, KEPT, Looks};
use crate::timeline::Drawer;

/// How long the reader does not type before the address has the word, in milliseconds.
const TYPED_MS: i32 = 300;

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
        let next = if self.panel.drawer.get_untracked() == Drawer::Closed { open } else { Drawer::Closed };
        self.set_drawer(next);
    }

    /// Makes the timeline so high.
    pub(crate) fn set_drawer(self, drawer: Drawer) {
        if drawer != Drawer::Closed {
            browser::keep_setting(SETTING, drawer.word());
        }
        self.panel.drawer.set(drawer);
    }

    /// Keeps what is looked at in the address, for as long as the page lives.
    pub(crate) fn keep_looks_in_address(self) {
        Effect::new(move |_| {
            self.reading.conversation.track();
            self.panel.drawer.track();
            self.reading.level.track();
            self.write_address(&["level", "timeline"]);
        });
        Effect::new(move |_| {
            self.panel.tab.track();
            self.reading.is_pattern.track();
            let query = self.reading.query.get();
            // Browsers take no more than a few changes of the address a second.
            browser::after(TYPED_MS, move || {
                if self.reading.query.with_untracked(|now| *now == query) {
                    self.write_address(&KEPT);
                }
            });
        });
    }

    /// Writes what is looked at into the address in the place of `names`, which leave it where nothing is to be said.
    pub(crate) fn write_address(self, names: &[&str]) {
        if self.reading.is_bare || self.panel.wall.get_untracked() {
            return;
        }
        let location = browser::window().location();
        let (path, query) = (location.pathname().unwrap_or_default(), location.search().unwrap_or_default());
        let is_kept = |name: &str| names.contains(&name);
        let is_conversation = route::conversation_of(&path).is_some();
        let level = self.reading.level.get_untracked();
        let own = browser::setting("level").and_then(|word| Level::parse(&word)).unwrap_or_default();
        let is_plain = level == Level::default() && own == level;
        let drawer = self.panel.drawer.get_untracked();
        let looks = Looks {
            level: (is_kept("level") && is_conversation && !is_plain).then_some(level),
            find: self.finding().filter(|_| is_kept("find") && is_conversation),
            is_pattern: self.reading.is_pattern.get_untracked(),
            timeline: (is_kept("timeline") && drawer != Drawer::Closed).then_some(drawer),
            ..Looks::default()
        };
        let wanted = route::with_looks(&query, names, &looks);
        if wanted != query {
            browser::replace_address(&format!("{path}{wanted}"));
        }
    }

    /// What is looked for; nothing while nobody does.
    pub(super) fn finding(self) -> Option<String> {
        let query = self.reading.query.get_untracked();
        let is_finding = self.panel.tab.get_untracked() == Tab::Find && !query.trim().is_empty();
        is_finding.then(|| query.trim().to_owned())
    }

    /// Reduces transcript, tools and timeline to a sub-agent, or shows everything again.
    pub(crate) fn look_only_at(self, agent: Option<AgentKey>) {
        self.reading.only.set(agent);
        self.panel.sheet.set(Sheet::None);
        self.reading.follow();
    }

    /// Shows a sub-agent in the panel.
    pub(crate) fn inspect(self, agent: Option<AgentKey>) {
        self.panel.agent.set(agent);
        self.panel.show_tab(Tab::Agents);
    }

    /// Another conversation is looked at: nothing of the way in which this one was counts for it.
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
